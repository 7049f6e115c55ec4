"""Make the made-up harness's request from a path.

Records of one group are one message, a record may be several, a compaction lists what it keeps, and a session may go on
from an entry of another one.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

import msgspec
import pytest

from eventstore.event import Event
from eventstore.harnesses import node_of
from eventstore.log import Snapshot
from eventstore.paths import LazyEvent, event, events_of_kinds
from eventstore.records import Link, TextReplacement, record_of
from projections.context.build import context_at
from projections.context.cursor import resolve_cursor
from projections.context.parts import Part
from projections.rules.base import Check, EntryRef, Gap, Rules, Selection
from tests.support.madeup.format import VERSION


class MadeUpRules(Rules):
    name = "madeup"
    format = VERSION
    kinds = frozenset({"message"})
    arranges = True

    def select(self, snapshot: Snapshot, leaf: LazyEvent) -> Selection:
        selected = super().select(snapshot, leaf)
        prefix = None if selected.compaction else _prefix(snapshot, leaf.session)
        return msgspec.structs.replace(selected, prefix=prefix)

    arranged = 0
    """Parts that were arranged so far, to see what a walk costs."""

    def arrange(
        self,
        snapshot: Snapshot,
        leaf: LazyEvent,  # noqa: ARG002
        parts: Sequence[Part],
    ) -> Sequence[Part]:
        MadeUpRules.arranged += len(parts)
        return [_joined(list(each)) for _, each in groupby(parts, lambda part: _group(snapshot, part))]

    def settled(self, snapshot: Snapshot, parts: Sequence[Part]) -> int:
        """Return the place of the first part of the newest group."""
        newest = [_group(snapshot, part) for part in parts[-1:]]
        of_others = (
            place for place in range(len(parts), 0, -1) if _group(snapshot, parts[place - 1]) not in newest
        )
        return next(of_others, 0)

    def show(self, entry: Event | LazyEvent, record: bytes) -> Sequence[bytes]:
        if entry.kind == "compaction":
            return (_encode({"who": "model", "text": f"So far: {json.loads(record)['text']}"}),)
        return [_encode(each) for each in json.loads(record).get("messages", ())]

    def rewrite(self, messages: Sequence[bytes], shown: Sequence[TextReplacement]) -> Sequence[bytes]:
        """Show the texts instead; an empty one shows nothing of the record."""
        texts: dict[int | str, str] = {change.call or change.block or 0: change.text for change in shown}
        decoded = enumerate(map(json.loads, messages))
        rewritten = (
            (fields, texts.get(fields.get("answers", ""), texts.get(place))) for place, fields in decoded
        )
        return [
            _encode(fields if text is None else {**fields, "text": text})
            for fields, text in rewritten
            if text != ""
        ]

    def checks(self, snapshot: Snapshot, session: str) -> Iterator[Check]:
        """Yield a check for each tally: the messages that there were at an entry."""
        for each in events_of_kinds(snapshot, session, {"note"}):
            fields = json.loads(each.body)
            if fields["kind"] == "tally":
                cursor = resolve_cursor(snapshot, session, leaf=fields["at"])
                yield Check(
                    name="tallies",
                    event=each.id,
                    seq=each.seq,
                    expected=fields["count"],
                    found=(found := len(context_at(snapshot, cursor).parts)),
                    passed=found == fields["count"],
                )

    def gaps(self, snapshot: Snapshot, entries: Iterable[LazyEvent]) -> Iterator[Gap]:  # noqa: ARG002
        """Yield a gap for each entry behind which something was sent that is not in the file."""
        for each in entries:
            fields = json.loads(each.body) if each.format == VERSION else {}
            if "unsaid" in fields:
                yield Gap(what=fields["unsaid"], event=each.id, seq=each.seq, tokens=fields.get("size"))

    def placeholder(self, text: str, time: int | None) -> bytes:  # noqa: ARG002
        return _encode({"who": "person", "text": text})


def _group(snapshot: Snapshot, part: Part) -> str:
    return node_of(event(snapshot, part.session, part.seq)).group or f"{part.key}"


def _encode(message: object) -> bytes:
    return json.dumps(message).encode()


def _joined(parts: list[Part]) -> Part:
    first, *others = parts
    if not others:
        return first
    messages = [json.loads(part.raw) for part in parts]
    joined = {**messages[-1], "text": " ".join(message["text"] for message in messages)}
    return first.merged_with(_encode(joined), others)


def _prefix(snapshot: Snapshot, session: str) -> EntryRef | None:
    return next(_places(snapshot, session), None)


def _places(snapshot: Snapshot, session: str) -> Iterator[EntryRef]:
    for each in events_of_kinds(snapshot, session, {"link"}):
        link = record_of("link", each.body)
        if each.id.startswith("link-") and isinstance(link, Link) and link.event:
            yield EntryRef(link.session, link.event)


RULES: Final = MadeUpRules()


def register(patch: pytest.MonkeyPatch) -> None:
    """Put the rules where those of its harness are looked for."""
    patch.setitem(sys.modules, "projections.rules.madeup", sys.modules[__name__])
