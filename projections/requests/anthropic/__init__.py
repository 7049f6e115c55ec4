"""Render a context as a request to Anthropic's Messages API, repairing what it would refuse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, Final

import msgspec

from eventstore.errors import BadInputError
from eventstore.harnesses.refold.blocks import COMPACTION
from eventstore.views import Message
from projections.context.parts import Context
from projections.placements import substitute_text
from projections.requests.anthropic.blocks import (
    Block,
    has_breakpoint,
    text_block,
    with_breakpoint,
)
from projections.requests.anthropic.contents import Contents
from projections.requests.anthropic.conversation import Conversation, RequestMessage
from projections.requests.anthropic.native import RenderedMessage, read_part, since_compaction
from projections.requests.author import Author, author_of
from projections.requests.encoded_text import encode_text, is_blank
from projections.requests.rendered import REQUEST_SIZE, Rendered, Violation
from projections.requests.repairs import Note, RepairRule, Repairs, unnoted
from projections.requests.tool_calls import tool_name

MOST_BREAKPOINTS: Final = 4
MOST_MESSAGES: Final = 100_000
LARGEST_BODY: Final = 32 * 2**20
"""The rule of a body that a shorter conversation would not break."""


class Breakpoints(msgspec.Struct, frozen=True):
    """Positions of cache breakpoints: after the tools, the system prompt, or a numbered turn."""

    tools: bool
    system: bool
    turns: frozenset[int]


_PREFIX: Final = -1
"""Stands in for a turn's number: what comes before all turns."""


def breakpoints(
    turns: Sequence[RequestMessage], most: int, *, has_tools: bool, has_system: bool, taken: int = 0
) -> Breakpoints:
    """Choose up to `most` breakpoints where the next request most likely shares its prefix.

    `taken` breakpoints are already set and count towards the API's limit. The API reads tools, then the
    system prompt, then messages, so one breakpoint after the system prompt covers the tools too. First comes
    the newest settled user turn, which covers this whole request; then system prompt and tools, which other
    conversations share; then the earlier user turns, where previous requests ended, so that the API finds
    them within the 20 blocks that it looks back.
    """
    most = max(min(most, MOST_BREAKPOINTS - taken), 0)
    wanted = set(islice(_in_order(turns, has_prefix=has_tools or has_system), most))
    return Breakpoints(
        tools=_PREFIX in wanted and not has_system,
        system=_PREFIX in wanted and has_system,
        turns=frozenset(wanted - {_PREFIX}),
    )


def _in_order(turns: Sequence[RequestMessage], *, has_prefix: bool) -> Iterator[int]:
    users = [
        number
        for number in range(len(turns) - 1, -1, -1)
        if turns[number].role == "user" and turns[number].is_settled
    ]
    yield from users[:1]
    if has_prefix:
        yield _PREFIX
    yield from users[1:]


DEFAULT_MAX_TOKENS: Final = 8192
"""An output length that every current model supports."""
_PROVIDER: Final = "anthropic"
_SENT_AS_USER: Final = ("user", "custom")
_NOTHING_IN_IT: Final = "left out: it is empty"


def render(
    context: Context,
    *,
    model: str | None = None,
    max_tokens: int = DEFAULT_MAX_TOKENS,
    system: str | None = None,
    tools: bytes | None = None,
    cache_breakpoints: int = 0,
    forbids_tools: bool = False,
    calls: str = "",
    caches_messages: bool = False,
    streams: bool = False,
) -> Rendered:
    """Return the body of the request that a model is sent at a context's leaf.

    The same context gives the same bytes. `model` defaults to the context's; another must be one of Anthropic's.
    `system` and `tools`, a JSON list of definitions, are not in the log; a blank prompt is left out.
    `cache_breakpoints` is the number of breakpoints to set; `caches_messages` lets the API set one itself.
    `forbids_tools`: the model may call none. `calls`: it must call this one. `streams`: the answer arrives as
    events. What no repair can fix becomes a violation: no messages, no model, too large.
    Raises BadInputError for invalid tools.
    """
    system = None if system is None or is_blank(system) else system
    messages, left_out = since_compaction([read_part(part) for part in context.parts])
    repairs, author = Repairs(left_out), author_of(context, model, provider=_PROVIDER)
    if context.expanded:
        note = repairs.of(context.expanded)
        note(RepairRule.NATIVE_HISTORY, "messages replace a history that only another provider can read")
    turns = _turns(messages, Contents(messages, author), repairs)
    definitions = None if tools is None else _definitions(tools)
    marks = breakpoints(
        turns,
        cache_breakpoints,
        has_tools=bool(definitions),
        has_system=bool(system),
        taken=caches_messages + _count_given_breakpoints(definitions or [], turns),
    )
    fields = [b'"model":%s' % encode_text(author.model, unnoted), b'"max_tokens":%d' % max_tokens]
    if definitions is not None:
        fields.append(b'"tools":[%s]' % _joined(definitions, is_cached=marks.tools))
    if system is not None:
        fields.append(b'"system":' + _system(system, is_cached=marks.system))
    fields.append(b'"messages":[%s]' % b",".join(_messages(turns, marks)))
    if definitions and forbids_tools:
        fields.append(b'"tool_choice":{"type":"none"}')
    if calls:
        fields.append(b'"tool_choice":{"type":"tool","name":%s}' % encode_text(calls, unnoted))
    if caches_messages:
        fields.append(b'"cache_control":{"type":"ephemeral"}')
    if streams:
        fields.append(b'"stream":true')
    body = b"{%s}" % b",".join(fields)
    violations = tuple(_violations(author, len(turns), len(body)))
    return Rendered(body=body, repairs=tuple(repairs.made), violations=violations)


def _violations(author: Author, messages: int, size: int) -> Iterator[Violation]:
    """Yield what the API would refuse whatever is repaired."""
    if not author.model.strip():
        yield Violation(rule="model", path="model", problem="no model is named")
    if not 0 < messages <= MOST_MESSAGES:
        problem = f"it has {messages:,} messages, not 1 to {MOST_MESSAGES:,}"
        yield Violation(rule="messages", path="messages", problem=problem)
    if size > LARGEST_BODY:
        yield Violation(rule=REQUEST_SIZE, path="", problem=f"it has {size:,} bytes, more than 32 MB")


def _turns(messages: list[RenderedMessage], contents: Contents, repairs: Repairs) -> list[RequestMessage]:
    conversation = Conversation(repairs)
    for number, message in enumerate(messages):
        view, event, note = message.view, message.event, repairs.of(message.event)
        if view.role == "assistant":
            if blocks := contents.of_assistant(number, note):
                conversation.assistant(event, blocks)
            else:
                note(RepairRule.EMPTY_MESSAGE, _NOTHING_IN_IT)
        elif view.role == "toolResult":
            conversation.result(message, partial(contents.of_user, number, note))
        elif view.role in _SENT_AS_USER:
            if user_blocks := contents.of_user(number, note):
                conversation.user(user_blocks)
            else:
                note(RepairRule.EMPTY_MESSAGE, _NOTHING_IN_IT)
        else:
            conversation.user(_stand_in(view, note))
    return conversation.end()


def _stand_in(message: Message, note: Note) -> list[Block]:
    """Return the blocks that replace a message; none for a hidden command or an unknown role."""
    text = substitute_text(message)
    if text is None:
        note(RepairRule.UNKNOWN_ROLE, f"a message of role {message.role[:80]!r} is left out")
    return [text_block(text, note)] if text else []


def _definitions(tools: bytes) -> list[bytes]:
    """Return the JSON of each tool's definition."""
    names = set[str]()
    try:
        for number, tool in enumerate(msgspec.json.decode(tools, type=list[dict[str, Any]])):
            if problem := _problem_of_tool(tool, names):
                raise BadInputError(f"tools[{number}]", problem, "give a list of definitions")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInputError(
            "tools", f"is not a JSON list of objects ({error})", "give a list of definitions"
        ) from None
    return [bytes(tool) for tool in msgspec.json.decode(tools, type=list[msgspec.Raw])]


def _problem_of_tool(tool: dict[str, Any], names: set[str]) -> str:
    """Return the problem of a tool's definition, or "", and add its name to `names`."""
    name, schema = tool.get("name"), tool.get("input_schema")
    is_custom = tool.get("type") in (None, "custom")
    if name is None and not is_custom:
        return ""
    if not isinstance(name, str) or name != tool_name(name, unnoted):
        return "has no name of 1 to 128 letters, digits, _ and -"
    if name in names:
        return f"has the name {name!r} of an earlier tool"
    names.add(name)
    if is_custom and (not isinstance(schema, dict) or schema.get("type") != "object"):
        return "has no input_schema of an object"
    return ""


def _count_given_breakpoints(definitions: list[bytes], turns: list[RequestMessage]) -> int:
    """Count the cache breakpoints already in the tools and in a returned compaction block."""
    compaction = [block.json for turn in turns[:1] for block in turn.others[:1] if block.type == COMPACTION]
    return sum(map(has_breakpoint, [*definitions, *compaction]))


def _system(text: str, *, is_cached: bool) -> bytes:
    """Return the system prompt, as a block if a breakpoint follows it."""
    return (
        b"[%s]" % with_breakpoint(text_block(text, unnoted).json) if is_cached else encode_text(text, unnoted)
    )


def _messages(turns: list[RequestMessage], marks: Breakpoints) -> Iterator[bytes]:
    for number, turn in enumerate(turns):
        blocks = _joined([block.json for block in turn.blocks], is_cached=number in marks.turns)
        yield b'{"role":"%s","content":[%s]}' % (turn.role.encode(), blocks)


def _joined(items: list[bytes], *, is_cached: bool) -> bytes:
    """Join JSON values with commas; `is_cached` puts a breakpoint on the last."""
    if is_cached:
        items = [*items[:-1], with_breakpoint(items[-1])]
    return b",".join(items)
