"""Read the lines of a Codex rollout, and the links that they imply."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, BinaryIO, Final

import msgspec

from eventstore.event import NewEvent
from eventstore.facts import facts_of_node
from eventstore.harnesses.codex.rollout_line import TYPES, VERSION, Line, kind_of, place_of
from eventstore.harnesses.codex.rollout_links import Links, id_of_ordinal
from eventstore.harnesses.codex.rollout_meaning import node_of
from eventstore.harnesses.codex.rollout_records import alone, records_in
from eventstore.harnesses.lines import count_type
from eventstore.harnesses.names import is_name, stored_id
from eventstore.harnesses.source import (
    LINE_END,
    Glue,
    KnownEvents,
    Piece,
    SessionReader,
    SourceRecord,
    SourceRemark,
    Tail,
    pieces_of_lines,
)
from eventstore.javascript import epoch_ms
from eventstore.node import SettingsView
from eventstore.records import Remark, Resume

_LONGEST_TYPE: Final = 40


class RolloutReader(SessionReader):
    """One reading of a rollout, from where an earlier one ended."""

    def __init__(
        self, file: BinaryIO, rollout: str, differs: str, resume: Resume, known: KnownEvents
    ) -> None:
        self._file, self._rollout, self._differs, self._known = file, rollout, differs, known
        self._offset, self._line = resume.offset, resume.line
        self._records: int = resume.state.get("records", 0)
        self._unknown: dict[str, int] = dict(resume.state.get("unknown", {}))
        self._unpaid: str = resume.state.get("unpaid", "")
        self._has_records: bool = resume.state.get("usageRecords", False)
        self._total: Any = resume.state.get("total")
        self._settings: list[str | None] = [*resume.state.get("settings", [])]
        self._seen = set[str]()
        self._copies = Counter[str]()
        self._links = Links(rollout, known, resume.state.get("links", {}))

    @property
    def line(self) -> int:
        return self._line

    @property
    def state(self) -> dict[str, Any]:
        return {
            "records": self._records,
            **({"unknown": dict(self._unknown)} if self._unknown else {}),
            **({"unpaid": self._unpaid} if self._unpaid else {}),
            **({"usageRecords": True} if self._has_records else {}),
            **({"total": self._total} if self._total else {}),
            **({"settings": [*self._settings]} if self._settings else {}),
            **({"links": links} if (links := self._links.state) else {}),
        }

    def records(self, session: int) -> int:  # noqa: ARG002  a file holds one
        return self._records

    def unknown(self, session: int) -> Mapping[str, int]:  # noqa: ARG002
        return self._unknown

    def orphans(self, session: int) -> Sequence[Remark]:  # noqa: ARG002  a record names no parent
        return ()

    def pieces(self) -> Iterator[Piece]:
        if self._differs and not self._offset:
            yield SourceRemark("differs", 0, self._differs)
        yield from pieces_of_lines(self._file, self._offset, self)
        yield from self._links.at_end()

    def whole(self, text: bytes, offset: int) -> NewEvent | Sequence[Piece]:  # noqa: ARG002
        found: NewEvent | Sequence[Piece]
        line, beside = alone(text), list[Piece]()
        if line is None:
            found = [*self._pieces_of(text + LINE_END.data)]
        elif (event := self._event(text, line, beside)) is None:
            found = [Glue(text + LINE_END.data), *beside]
        else:
            found = [SourceRecord(event, line=self._line), *beside, LINE_END] if beside else event
        self._line += 1
        return found

    def torn(self, text: bytes, offset: int) -> Iterator[Piece]:  # noqa: ARG002
        # Until the next piece is asked for, the state is that before this line.
        yield Tail()
        yield from self._pieces_of(text)

    def go_past(self) -> None:
        self._line += 1

    def _pieces_of(self, raw: bytes) -> Iterator[Piece]:
        """Yield the pieces of a line, however damaged it is."""
        found, at = records_in(raw), 0
        for start, stop, line in found.records:
            beside = list[Piece]()
            event = self._event(raw[start:stop], line, beside)
            if event is not None:
                if at < start:
                    yield Glue(raw[at:start])
                yield SourceRecord(event, line=self._line)
                at = stop
            yield from beside
        if at < len(raw):
            yield LINE_END if raw[at:] == LINE_END.data else Glue(raw[at:])
        if found.problem:
            yield SourceRemark("skipped", self._line, found.problem)
        if found.differs:
            yield SourceRemark("differs", self._line, found.differs)

    def _event(self, body: bytes, line: Line, beside: list[Piece]) -> NewEvent | None:
        """Return the event of a record, None if it cannot be read.

        Add the links that it implies, and a remark on it, to `beside`.
        """
        try:
            event = self._read(body, line)
        except Exception as error:  # noqa: BLE001  no record may keep the others from being read
            problem = f"cannot be read ({type(error).__name__})"
            beside.append(SourceRemark("skipped", self._line, problem))
            return None
        beside += self._links.of(event, line)
        return event

    def _read(self, body: bytes, line: Line) -> NewEvent:
        kind = self._kind(line)
        node = node_of(kind, line)
        facts = facts_of_node(node, kind, body)
        event_id = self._id(body, line)
        target = self._paid(line) if node.usage else None
        if target:
            facts = msgspec.structs.replace(facts, target=target)
        self._records += 1
        self._seen.add(event_id)
        if facts.role == "assistant" and not line.about.get("compaction_output"):
            self._unpaid = event_id
        if not isinstance(line.type, str) or line.type not in TYPES:
            count_type(self._unknown, line.type)
        return NewEvent(
            id=event_id,
            kind=kind,
            body=body,
            format=VERSION,
            parent=None,
            time=epoch_ms(line.timestamp),
            facts=facts,
            place=place_of(line),
        )

    def _kind(self, line: Line) -> str:
        """Return the kind of a record; settings that are sent again with each turn are notes."""
        kind = kind_of(line)
        if kind == "model_change":
            settings = node_of(kind, line).settings or SettingsView()
            model, effort, provider = (
                each if isinstance(each, str) else None
                for each in (settings.model, settings.thinking_level, settings.provider)
            )
            if line.type == "turn_context" and self._settings:
                # It names no provider.
                provider = self._settings[2]
            if [model, effort, provider] == self._settings:
                return "note"
            self._settings = [model, effort, provider]
        elif line.event == "thread_rolled_back":
            # The path may end above the newest settings now.
            self._settings = []
        return kind

    def _paid(self, line: Line) -> str:
        """Return the id of the item whose answer a usage is of, "" for none.

        A count is sent again when a turn begins, and for an answer that has a record of its own.
        """
        if line.type == "token_usage_record":
            self._has_records = True
        else:
            total = line.fields["info"].get("total_token_usage")
            is_repeat, self._total = total == self._total, total
            if is_repeat or self._has_records:
                return ""
        target, self._unpaid = self._unpaid, ""
        return target

    def _id(self, body: bytes, line: Line) -> str:
        """Return a record's id: of its ordinal, its item, or of what it holds, as copies have it."""
        ordinal, item = line.ordinal, line.fields.get("id") if line.type == "response_item" else None
        if isinstance(ordinal, int) and not isinstance(ordinal, bool):
            name = id_of_ordinal(self._rollout, ordinal)
        elif isinstance(item, str) and is_name(item):
            name = stored_id(item)
        else:
            named = line.fields.get("type", line.type)
            is_short = isinstance(named, str) and named.isascii() and len(named) <= _LONGEST_TYPE
            name = stored_id(
                f"{named if is_short else 'record'}-{sha256(line.raw if line.fields else body).hexdigest()[:16]}"
            )
        free = name
        while free in self._seen or self._known.body(0, free) is not None:
            self._copies[name] += 1
            free = f"{name}~{self._copies[name] + 1}"
        return free
