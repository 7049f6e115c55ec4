"""Playing a session: who speaks is appended, the clock goes on, and what a model call costs is worked out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from itertools import takewhile
from typing import Any, Final, NamedTuple

import msgspec

from cli.demo import cast
from cli.demo.tools import Call, Disk
from compaction import move_to, record_branch_summary, record_compaction, record_rewrite
from compaction.compactor import Compactor
from compaction.cuts import KeepRecent
from compaction.part import Limits
from compaction.policies import Policy
from compaction.summarizers.asking import Asker
from compaction.summarizers.extractive import ExtractiveSummarizer
from eventstore.estimates import utf16_tokens
from eventstore.formats import view_of_message
from eventstore.log import EventLog
from eventstore.records import (
    CustomMessage,
    Label,
    ModelChange,
    Record,
    SessionInfo,
    Shown,
    ThinkingLevelChange,
)
from eventstore.writing import SessionWriter
from projections.context import Part, build_context
from projections.tokens import counter

_START: Final = datetime(2026, 3, 4, 9, 12, tzinfo=UTC)
_SPREAD: Final = 0x9E3779B1
"""Odd, so that multiplying by it permutes the 32-bit numbers: counted ids that look drawn."""

_PROVIDER: Final = "anthropic"
_OVERHEAD: Final = 9_000
"""Tokens of the system prompt and the tools, which no log shows."""
_UNCACHED: Final = 4
"""Tokens behind the last cache mark of a request."""
_CACHE_LIFE: Final = 5 * 60 * 1000
_TOKENS_A_SECOND: Final = 70


class Prices(NamedTuple):
    """Dollars for a million tokens, in the order of a usage's counts."""

    input: float
    output: float
    cache_read: float
    cache_write: float


_PRICES: Final = {
    "claude-sonnet-4-5": Prices(3, 15, 0.3, 3.75),
    "claude-opus-4-5": Prices(5, 25, 0.5, 6.25),
}


class _Cache(NamedTuple):
    """What a provider still holds of the request before: `time` is when that was made."""

    model: str
    time: int
    messages: list[bytes]

    def hit(self, model: str, now: int, messages: list[bytes]) -> int | None:
        """With how many messages a request begins that are held; None where nothing is, not even its prompt."""
        if model != self.model or now - self.time > _CACHE_LIFE:
            return None
        pairs = zip(self.messages, messages, strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


class Stage:
    """A session as it is played. Methods that append give the id of what they appended first."""

    def __init__(self, log: EventLog, session: str, disk: Disk) -> None:
        self.disk = disk
        self._log, self._session = log, session
        self._now = int(_START.timestamp() * 1000)
        self._ids = self._calls = 0
        self._cache = _Cache("", 0, [])
        self._writer = SessionWriter(log, session, clock=lambda: self._now, new_id=self._next_id)

    def opens(self, name: str, cwd: str) -> str:
        """Give the session a title and the folder that it works in."""
        return self._record(SessionInfo(name=name, cwd=cwd))

    def person(self, text: str, *, image: str | None = None, after: int = 45) -> str:
        """The person writes a message, `after` seconds of reading and typing."""
        self._pass(after)
        return self._writer.message(cast.user(text, image=image, time=self._now))

    def person_runs(self, command: str, output: str, *, exit_code: int = 0, after: int = 20) -> str:
        """The person runs a command in the harness, and the model will see it."""
        self._pass(after)
        return self._writer.message(cast.shell(command, output, exit_code=exit_code, time=self._now))

    def agent(self, *calls: Call, thinking: str = "", text: str = "") -> str:
        """The model answers; the tools that it calls answer it."""
        context = build_context(self._log, self._session)
        call_ids = [self._next_call_id() for _ in calls]
        named = zip(call_ids, calls, strict=True)
        blocks = cast.assistant(
            thinking, text, [cast.tool_call(call_id, call.name, call.arguments) for call_id, call in named]
        )
        model = str(context.settings.model.model_id) if context.settings.model else ""
        usage = self._usage(model, context.parts, blocks)
        message = {
            "role": "assistant",
            "content": blocks,
            "api": "anthropic-messages",
            "provider": _PROVIDER,
            "model": model,
            "usage": usage,
            "stopReason": "toolUse" if calls else "stop",
            "timestamp": self._now,
        }
        self._pass(2 + usage["output"] // _TOKENS_A_SECOND)
        answer = self._writer.message(message)
        for call_id, call in zip(call_ids, calls, strict=True):
            self._pass(call.seconds)
            outcome = call.perform(self.disk)
            result = cast.tool_result(
                call_id, call.name, outcome.text, is_error=outcome.is_error, time=self._now
            )
            self._writer.message(result)
        return answer

    def extension(self, custom_type: str, content: str, *, after: int = 90) -> str:
        """An extension puts a message before the model."""
        return self._record(CustomMessage(custom_type=custom_type, content=cast.prose(content)), after=after)

    def uses(self, model: str) -> str:
        """Another model from here on."""
        return self._record(ModelChange(provider=_PROVIDER, model_id=model))

    def thinks(self, level: str) -> str:
        """Another thinking level from here on."""
        return self._record(ThinkingLevelChange(thinking_level=level))

    def labels(self, target: str, label: str) -> str:
        """Name an entry."""
        return self._record(Label(target_id=target, label=label))

    def prunes(self, *, longer_than: int) -> str:
        """Show every tool result of more than so many tokens as the size that it had."""
        self._pass(1)
        targets = [
            Shown(target=part.id, shown=f"[Output truncated - {part.utf16} tokens]")
            for part in build_context(self._log, self._session).parts
            if part.role == "toolResult" and part.utf16 > longer_than
        ]
        return record_rewrite(self._writer, targets=targets, reason="prune")

    def compacts(self, summary: str, *, first_kept: str, reason: str) -> str:
        """Put a summary in place of what lies before an entry."""
        self._pass(25)
        return record_compaction(
            self._writer, summary=cast.prose(summary), first_kept=first_kept, reason=reason
        )

    def compacts_by(self, policy: Policy, *, keep: int) -> str:
        """Have a policy put a summary in place of all but the newest `keep` tokens, without a model."""
        self._pass(25)
        compactor = Compactor(
            policy=policy,
            asker=Asker(summarizers=[ExtractiveSummarizer()], seconds=lambda: 0.0),
            limits=Limits(window=200_000),
            tokens=counter(policy.counter),
        )
        return compactor.compact(self._writer, cut=KeepRecent(tokens=keep)).events[0]

    def leaves(self, summary: str, *, target: str) -> str:
        """Give the branch up, and take a summary of it along to the target."""
        self._pass(15)
        return record_branch_summary(self._writer, summary=cast.prose(summary), target=target)

    def moves(self, target: str) -> str:
        """Stand elsewhere."""
        self._pass(10)
        return move_to(self._writer, target)

    def leaf(self) -> str:
        """The id of where the session stands."""
        return build_context(self._log, self._session).leaf or ""

    def _record(self, record: Record, *, after: int = 3) -> str:
        self._pass(after)
        return self._writer.append(record)[0]

    def _pass(self, seconds: int) -> None:
        # No clock of a real session stands on whole seconds.
        self._now += seconds * 1000 + self._ids * 37 % 900

    def _next_id(self) -> str:
        self._ids += 1
        return f"{self._ids * _SPREAD & 0xFFFFFFFF:08x}"

    def _next_call_id(self) -> str:
        self._calls += 1
        return "toolu_" + sha256(f"{self._session} {self._calls}".encode()).hexdigest()[:24]

    def _usage(self, model: str, parts: Sequence[Part], blocks: list[dict[str, Any]]) -> dict[str, Any]:
        """What a provider would count of a request, and of the answer to it."""
        counts = [_counted(part.utf16) for part in parts]
        messages = [part.raw for part in parts]
        same = self._cache.hit(model, self._now, messages)
        self._cache = _Cache(model, self._now, messages)
        cached = 0 if same is None else _OVERHEAD + sum(counts[:same])
        written = _OVERHEAD + sum(counts) - cached - _UNCACHED
        output = _counted(utf16_tokens(view_of_message(_encode({"role": "assistant", "content": blocks}))))
        tokens = (_UNCACHED, output, cached, written)
        costs = [round(count * price / 1e6, 6) for count, price in zip(tokens, _PRICES[model], strict=True)]
        names = ("input", "output", "cacheRead", "cacheWrite")
        return {
            **dict(zip(names, tokens, strict=True)),
            "totalTokens": sum(tokens),
            "cost": {**dict(zip(names, costs, strict=True)), "total": round(sum(costs), 6)},
        }


def _counted(estimate: int) -> int:
    """Tokens that a provider counts where characters / 4 estimate so many: code has more than prose."""
    return estimate * 6 // 5


_encode: Final = msgspec.json.Encoder().encode
