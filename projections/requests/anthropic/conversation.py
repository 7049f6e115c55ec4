"""Put messages in the API's order: alternating roles, calls answered in the next message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from eventstore.harnesses.refold.blocks import COMPACTION, OF_RESULTS, OF_USERS
from eventstore.javascript import well_formed
from eventstore.views import Message
from projections.requests.anthropic.blocks import (
    Block,
    plain_text,
    strip_end,
    tool_result_block,
    tool_use_block,
)
from projections.requests.anthropic.contents import ToolUse
from projections.requests.anthropic.native import RenderedMessage
from projections.requests.repairs import RepairRule, Repairs
from projections.requests.tool_calls import CallIds

_BEGINNING: Final = "(The beginning of this conversation is not recorded.)"
_OF_RESULTS_ALONE: Final = frozenset(OF_RESULTS) - frozenset(OF_USERS)
_NO_RESULT: Final = "No result of this call was recorded."


class RequestMessage(msgspec.Struct):
    """A message of the API: tool results, which come first, and other blocks.

    If not `is_settled`, it holds a placeholder for a result that may still come.
    """

    role: str
    results: list[Block] = msgspec.field(default_factory=list)
    others: list[Block] = msgspec.field(default_factory=list)
    is_settled: bool = True

    @property
    def blocks(self) -> list[Block]:
        return self.results + self.others


class _Waiting(msgspec.Struct, frozen=True):
    """A call without a result: its recorded id, the id sent, its tool and its event."""

    recorded: str
    sent: str
    tool: str
    event: str


class Conversation:
    """The turns of a request, built message by message.

    A message depends only on those before it, and a call only on what follows up to the assistant's next
    message that no call begins. So a growing conversation keeps its prefix, and with it the provider's cache.
    """

    def __init__(self, repairs: Repairs) -> None:
        self._turns: list[RequestMessage] = []
        self._repairs = repairs
        self._ids = CallIds()
        self._waiting: list[_Waiting] = []
        self._answered: set[str] = set()
        self._newest = ""

    def user(self, blocks: list[Block]) -> None:
        """Add the user's words, or text presented as such."""
        if blocks:
            self._users_turn().others.extend(blocks)

    def assistant(self, event: str, blocks: list[Block | ToolUse]) -> None:
        """Add an assistant message. Earlier calls without a result get a placeholder result.

        Except that a call directly behind the assistant's turn is parallel: Codex records each call by itself.
        """
        is_behind = bool(self._turns) and self._turns[-1].role == "assistant"
        if not (is_behind and isinstance(blocks[0], ToolUse)):
            self._answer_the_waiting()
        if not self._turns and not _is_compaction(blocks[0]):
            self._repairs.of(event)(RepairRule.FIRST_MESSAGE, "a user message replaces the missing beginning")
            self.user([plain_text(_BEGINNING)])
        if not self._turns or self._turns[-1].role == "user":
            self._turns.append(RequestMessage("assistant"))
        self._newest, self._answered = event, set()
        self._turns[-1].others.extend(
            self._called(event, block) if isinstance(block, ToolUse) else block for block in blocks
        )

    def result(self, message: RenderedMessage, read: Callable[[], list[Block]]) -> None:
        """Add a tool result. It becomes text if no call of the previous message waits for it.

        `read` returns its content, which is not needed if the result is sent as it was recorded.
        """
        view, note = message.view, self._repairs.of(message.event)
        waiting = next((each for each in self._waiting if each.recorded == view.tool_call_id), None)
        is_unchanged = waiting is not None and message.result and waiting.sent == waiting.recorded
        content = [] if is_unchanged else read()
        if waiting is None:
            is_second = view.tool_call_id in self._answered
            note(
                RepairRule.DUPLICATE_RESULT if is_second else RepairRule.ORPHAN_RESULT,
                "the result is sent as text",
            )
            shown = [block for block in content if block.type not in _OF_RESULTS_ALONE]
            if len(shown) < len(content):
                note(RepairRule.BLOCK, "a block that only a result may hold is left out")
            self.user([plain_text(_lead_in(view)), *shown])
            return
        turn = self._users_turn()
        if turn.others:
            note(RepairRule.RESULT_ORDER, "the result is moved before later content")
        if is_unchanged:
            turn.results.append(Block("tool_result", message.result))
        else:
            turn.results.append(tool_result_block(waiting.sent, content, is_error=view.is_error))
        self._waiting.remove(waiting)
        self._answered.add(waiting.recorded)

    def end(self) -> list[RequestMessage]:
        """Return the turns, with every call answered."""
        if self._waiting:
            self._answer_the_waiting()
            self._turns[-1].is_settled = False
        if self._turns and self._turns[-1].role == "assistant":
            self._strip_the_end(self._turns[-1].others)
        return self._turns

    def _users_turn(self) -> RequestMessage:
        if not self._turns or self._turns[-1].role == "assistant":
            self._turns.append(RequestMessage("user"))
        return self._turns[-1]

    def _called(self, event: str, call: ToolUse) -> Block:
        sent = self._ids.take(call.id, self._repairs.of(event))
        self._waiting.append(_Waiting(call.id, sent, call.name, event))
        if call.recorded and sent == call.id:
            return Block("tool_use", call.recorded)
        return tool_use_block(sent, call.name, call.input, call.extra)

    def _answer_the_waiting(self) -> None:
        for call in self._waiting:
            note = self._repairs.of(call.event)
            note(RepairRule.MISSING_RESULT, f"an error stands in for the result of {call.tool} ({call.sent})")
            error = tool_result_block(call.sent, [plain_text(_NO_RESULT)], is_error=True)
            self._users_turn().results.append(error)
        self._waiting = []

    def _strip_the_end(self, blocks: list[Block]) -> None:
        if blocks[-1].type == "text" and (shorter := strip_end(blocks[-1])) != blocks[-1]:
            self._repairs.of(self._newest)(RepairRule.FINAL_SPACE, "trailing white space is left out")
            blocks[-1] = shorter


def _is_compaction(block: Block | ToolUse) -> bool:
    return isinstance(block, Block) and block.type == COMPACTION


def _lead_in(result: Message) -> str:
    what = "Error" if result.is_error else "Result"
    tool = f" of the tool {well_formed(result.tool_name)}" if result.tool_name else ""
    return f"{what} of an earlier call{tool}:"
