"""Playing a session: who speaks is appended, the clock goes on, and the harness looks after the context."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256
from typing import Final

from cli.demo import cast, harness
from cli.demo.provider import PROVIDER, Provider
from cli.demo.tools import Call, Disk
from eventstore.log import EventLog
from eventstore.records import CustomMessage, Label, ModelChange, Record, SessionInfo, ThinkingLevelChange
from eventstore.writing import SessionWriter
from projections.context.build import build_context

_START: Final = datetime(2026, 3, 4, 9, 12, tzinfo=UTC)
_SPREAD: Final = 0x9E3779B1
"""Odd, so that multiplying by it permutes the 32-bit numbers: counted ids that look drawn."""

_TOKENS_A_SECOND: Final = 70


class Stage:
    """A session as it is played. Methods by which somebody says or sets something give the id of the entry."""

    def __init__(self, log: EventLog, session: str, disk: Disk) -> None:
        self.disk = disk
        self._log, self._session = log, session
        self._now = int(_START.timestamp() * 1000)
        self._ids = self._calls = 0
        self._provider = Provider()
        self._writer = SessionWriter(log, session, clock=lambda: self._now, new_id=self._next_id)
        self._maintainer = harness.maintainer(lambda: self._now)

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
        """The model answers, and the tools that it calls answer it; after a turn the harness looks at the context."""
        context = build_context(self._log, self._session)
        call_ids = [self._next_call_id() for _ in calls]
        named = zip(call_ids, calls, strict=True)
        blocks = cast.assistant(
            thinking, text, [cast.tool_call(call_id, call.name, call.arguments) for call_id, call in named]
        )
        model = str(context.settings.model.model_id) if context.settings.model else ""
        usage = self._provider.usage(model, context.parts, blocks, now=self._now)
        message = {
            "role": "assistant",
            "content": blocks,
            "api": "anthropic-messages",
            "provider": PROVIDER,
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
        if not calls:
            self._maintainer.after_turn(self._writer)
        return answer

    def extension(self, custom_type: str, content: str, *, after: int = 90) -> str:
        """An extension puts a message before the model."""
        return self._record(CustomMessage(custom_type=custom_type, content=cast.prose(content)), after=after)

    def uses(self, model: str) -> str:
        """Another model from here on."""
        return self._record(ModelChange(provider=PROVIDER, model_id=model))

    def thinks(self, level: str) -> str:
        """Another thinking level from here on."""
        return self._record(ThinkingLevelChange(thinking_level=level))

    def labels(self, target: str, label: str) -> str:
        """Name an entry."""
        return self._record(Label(target_id=target, label=label))

    def compacts(self) -> None:
        """The person asks for a compaction."""
        self._pass(5)
        self._maintainer.compact(self._writer)

    def gives_up_for(self, target: str) -> None:
        """Go back to an entry, and take a summary of the branch along."""
        self._pass(15)
        harness.navigator(summarizes=True).go(self._writer, target)

    def moves(self, target: str) -> None:
        """Stand elsewhere."""
        self._pass(10)
        harness.navigator(summarizes=False).go(self._writer, target)

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
