"""Snapshots of a growing Claude Code file, cut between records and the parents that come after them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from eventstore.files.exporting import export_original
from eventstore.files.importing import import_sessions
from eventstore.harnesses.refold.events import compose
from eventstore.memory import MemoryLog
from eventstore.paths import entry_id, event
from eventstore.records import Label
from eventstore.verify import verify
from projections.audit.checks import check_session
from projections.context.build import build_context, context_json, harness_json
from projections.context.cursor import path, resolve_cursor
from projections.context.incremental import IncrementalContexts
from projections.overview import overviews
from projections.search import search
from projections.search.words import Query
from projections.tokens import counter
from projections.tree import tree
from projections.usage import answers
from tests.support.claude_code import (
    SESSION,
    answer,
    attached,
    boundary,
    bring,
    call,
    note,
    record,
    result,
    said,
    summary,
    system,
)
from tests.support.events import events


def _tree(rng: random.Random, most: float) -> list[bytes]:
    """The lines of a session with branches, each moved by up to `most` places; all parents are in the file."""
    lines = [said("u-0", None, "hello")]
    for number in range(1, rng.randint(3, 14)):
        parent = f"u-{number - 1 if rng.random() < 0.8 else rng.randrange(number)}"
        own = f"u-{number}"
        lines.append(
            rng.choice(
                (
                    said(own, parent, f"words {number}", at=number),
                    answer(own, parent, f"m-{number // 2}", f"answer {number}", at=number),
                    answer(own, parent, f"m-{number // 2}", call(f"c-{number}", file_path="/a"), at=number),
                    result(own, parent, f"c-{number - 1}", "output", at=number),
                    attached(own, parent, {"type": "diagnostics", "files": [number]}, at=number),
                    record(own, parent, "progress", data={}, at=number),
                )
            )
        )
    places = {line: place + rng.uniform(0, most) for place, line in enumerate(lines)}
    return sorted(lines, key=places.__getitem__)


def _seen(log: MemoryLog) -> tuple[str, bytes]:
    """The record from which the session continues, by its own id, and the context there."""
    with log.snapshot() as snapshot:
        leaf = event(snapshot, SESSION, snapshot.head(SESSION).leaf)
    return leaf.id, context_json(log, SESSION)


def _contexts(log: MemoryLog) -> dict[str, bytes]:
    """The context at each record, by its id."""
    entries = [each.id for each in events(log, SESSION) if each.is_entry]
    return {name: context_json(log, SESSION, leaf=name) for name in entries}


@pytest.mark.parametrize("end", [b"\n", b""])
@pytest.mark.parametrize("most", [3, 100])
@pytest.mark.parametrize("seed", range(8))
def test_snapshots_of_a_shuffled_file_are_the_last_alone(
    tmp_path: Path, seed: int, most: int, end: bytes
) -> None:
    for number in range(10):
        rng = random.Random(f"{seed}:{number}")
        lines = _tree(rng, most)
        alone, grown = MemoryLog(), MemoryLog()
        (once,) = bring(alone, tmp_path / "s.jsonl", *lines)
        for cut in sorted(rng.randint(1, len(lines)) for _ in range(rng.randint(1, 3))):
            (tmp_path / "s.jsonl").write_bytes(b"\n".join(lines[:cut]) + end)
            import_sessions(grown, tmp_path / "s.jsonl")
        (imported,) = bring(grown, tmp_path / "s.jsonl", *lines)
        assert (imported.rewritten, imported.diverged, imported.earlier) == (0, False, None)
        assert imported.events == once.events
        assert _contexts(grown) == _contexts(alone), number
        assert _seen(grown) == _seen(alone), number
        assert b"".join(export_original(grown, SESSION)) == (tmp_path / "s.jsonl").read_bytes()
        assert verify(grown).findings == []
        assert [each.added for each in import_sessions(grown, tmp_path / "s.jsonl")] == [0]


def test_a_line_whose_end_comes_later_is_one_line(tmp_path: Path) -> None:
    path, log = tmp_path / "s.jsonl", MemoryLog()
    lines = [said("u1", None, "first"), said("u2", "gone", "second")]
    path.write_bytes(b"\n".join(lines))
    (begun,) = import_sessions(log, path)
    assert [each.line for each in begun.orphans] == [2]
    for more in (b"\n", b"no record\n" + said("u3", "lost", "third"), b"\n" + said("u4", "u3", "fourth")):
        path.write_bytes(path.read_bytes() + more)
        (grown,) = import_sessions(log, path)
    (alone,) = import_sessions(MemoryLog(), path)
    assert [each.line for each in grown.orphans] == [2, 4]
    assert [each.line for each in grown.skipped] == [3]
    assert (grown.orphans, grown.skipped, grown.events) == (alone.orphans, alone.skipped, alone.events)
    assert b"".join(export_original(log, SESSION)) == path.read_bytes()


def test_a_parent_that_comes_with_a_later_import_leads_to_what_waited_for_it(tmp_path: Path) -> None:
    lines = [
        said("u1", None, "first"),
        answer("a1", "u1", "m1", call("c1")),
        answer("a3", "r2", "m2", "read"),
        said("u2", "a3", "next"),
        answer("a4", "u2", "m3", "done"),
    ]
    late = result("r2", "a1", "c1", "output")
    alone, grown = MemoryLog(), MemoryLog()
    bring(grown, tmp_path / "s.jsonl", *lines)
    bring(grown, tmp_path / "s.jsonl", *lines, late)
    bring(alone, tmp_path / "s.jsonl", *lines, late)
    assert _seen(grown) == _seen(alone)
    assert _seen(alone)[0] == "a4"
    # What follows goes on from there.
    for log in (grown, alone):
        bring(log, tmp_path / "s.jsonl", *lines, late, said("u3", "a4", "again"))
    assert _seen(grown) == _seen(alone)
    assert b"output" in _seen(grown)[1]


def test_a_parent_that_comes_late_does_not_lead_back_to_an_older_branch(tmp_path: Path) -> None:
    lines = [
        said("u1", None, "first", at=1),
        answer("a1", "u1", "m1", call("c1"), at=2),
        answer("a2", "r1", "m2", "read", at=4),
        said("u2", "u1", "better", at=5),
        answer("a3", "u2", "m3", "done", at=6),
    ]
    late = result("r1", "a1", "c1", "output", at=3)
    alone, grown = MemoryLog(), MemoryLog()
    bring(alone, tmp_path / "s.jsonl", *lines, late)
    bring(grown, tmp_path / "s.jsonl", *lines)
    bring(grown, tmp_path / "s.jsonl", *lines, late)
    assert [_seen(log)[0] for log in (alone, grown)] == ["a3", "a3"]
    assert [each.added for each in import_sessions(grown, tmp_path / "s.jsonl")] == [0]


_BEFORE = [
    said("u1", None, "first"),
    answer("a1", "u1", "m1", call("c1")),
]
_WAITING = [
    answer("a3", "r2", "m2", "read"),
    said("u2", "a3", "next zebra"),
    answer("a4", "u2", "m3", "done"),
    said("u3", "a4", "more"),
]
_LATE = result("r2", "a1", "c1", "output")
_NAMING = {
    "retraction": [system("x", "u3", "model_refusal_fallback", retractedMessageUuids=["a4"])],
    "snip": [system("x", "u3", "snip_boundary", snipMetadata={"removedUuids": ["u2", "a4"]})],
    "collapse": [
        note(
            "marble-origami-commit",
            collapseId="1",
            firstArchivedUuid="a3",
            lastArchivedUuid="a4",
            summaryContent="in short",
        )
    ],
    "replacement": [
        note("content-replacement", replacements=[{"toolUseId": "c1", "replacement": "<persisted-output>"}])
    ],
    "list": [
        boundary("x", "u3", preservedMessages={"anchorUuid": "s", "uuids": ["a4", "u3"]}),
        summary("s", "x"),
    ],
    "run": [
        boundary("x", "u3", preservedSegment={"headUuid": "u2", "anchorUuid": "s", "tailUuid": "u3"}),
        summary("s", "x"),
    ],
    "run before": [
        boundary("x", "u3", preservedSegment={"headUuid": "u2", "anchorUuid": "x", "tailUuid": "u3"}),
        summary("s", "x"),
    ],
    "snipped run": [
        system(
            "x",
            None,
            "compact_boundary",
            logicalParentUuid="u3",
            compactMetadata={"preservedSegment": {"headUuid": "u2", "anchorUuid": "s", "tailUuid": "u3"}},
            snipMetadata={"removedUuids": ["a4"]},
        ),
        summary("s", "x"),
    ],
}
"""Records that name others by their ids."""


@pytest.mark.parametrize("comes", ["with them", "later"])
@pytest.mark.parametrize("what", _NAMING)
def test_records_that_name_a_moved_one_reach_it(tmp_path: Path, what: str, comes: str) -> None:
    lines = [*_BEFORE, *_WAITING]
    lines += [*_NAMING[what], _LATE] if comes == "with them" else [_LATE, *_NAMING[what]]
    last = "s" if what not in ("retraction", "snip", "collapse", "replacement") else "x"
    lines.append(said("u4", last if what in _WITH_ID else "u3", "again"))
    alone, grown = MemoryLog(), MemoryLog()
    for cut in (lines.index(_LATE), lines.index(_LATE) + 1, len(lines)):
        bring(grown, tmp_path / "s.jsonl", *lines[:cut])
    bring(alone, tmp_path / "s.jsonl", *lines)
    assert _seen(grown) == _seen(alone)
    assert _contexts(grown) == _contexts(alone)
    assert check_session(grown, SESSION).failed == []
    assert verify(grown).findings == []
    (leaf,) = (part for part in build_context(grown, SESSION).parts if part.id == "u4")
    assert leaf.role == "user"
    tokens = counter("utf16/4")
    with grown.snapshot() as snapshot:
        cursor = resolve_cursor(snapshot, SESSION)
        along = IncrementalContexts(snapshot, cursor, path(snapshot, cursor))
        assert tokens.count(along.context_at(cursor.leaf).parts) == tokens.count(
            build_context(grown, SESSION).parts
        )


_WITH_ID = frozenset(_NAMING) - {"collapse", "replacement"}


def test_a_record_with_a_late_parent_counts_once(tmp_path: Path) -> None:
    lines = [*_BEFORE, *_WAITING, boundary("b", "u3"), summary("s", "b"), answer("a5", "s", "", "no group")]
    alone, grown = MemoryLog(), MemoryLog()
    bring(grown, tmp_path / "s.jsonl", *lines)
    lines += [_LATE, said("u4", "a5", "again")]
    for log in (grown, alone):
        bring(log, tmp_path / "s.jsonl", *lines)
    once, twice = ([_figures(log), _checks(log)] for log in (alone, grown))
    assert twice == once
    assert len(list(search(grown, None, Query("zebra"), limit=9))) == 1
    assert tree(grown, SESSION) == tree(alone, SESSION)


def _figures(log: MemoryLog) -> tuple[object, ...]:
    (found,) = overviews(log)
    with log.snapshot() as snapshot:
        said_at = [
            (each.event.id, entry_id(snapshot, SESSION, each.sent_at))
            for each in answers(snapshot, resolve_cursor(snapshot, SESSION))
        ]
    return found.spent, found.compactions, found.branches, sorted(said_at, key=str)


def _checks(log: MemoryLog) -> list[tuple[str, int, int]]:
    return [(each.name, each.checked, each.passed) for each in check_session(log, SESSION).results]


def test_a_label_stays_where_a_parent_comes_late(tmp_path: Path) -> None:
    log = MemoryLog()
    bring(log, tmp_path / "s.jsonl", *_BEFORE, *_WAITING)
    log.append(SESSION, [compose(Label(target_id="a4", label="here"), id="l", time=None, parent="u3")])
    bring(log, tmp_path / "s.jsonl", *_BEFORE, *_WAITING, _LATE)
    labels = {node.id: node.label for node in tree(log, SESSION).nodes}
    assert labels["a4"] == "here"
    assert {"u3", "l"} <= labels.keys()


def test_contexts_as_of_earlier_events_stay(tmp_path: Path) -> None:
    log, lines = MemoryLog(), [*_BEFORE, *_WAITING]
    bring(log, tmp_path / "s.jsonl", *lines)
    with log.snapshot() as snapshot:
        as_of = snapshot.head(SESSION).version
    before = context_json(log, SESSION)
    bring(log, tmp_path / "s.jsonl", *lines, _LATE)
    assert context_json(log, SESSION) != before
    assert context_json(log, SESSION, as_of=as_of) == before
    assert harness_json(build_context(log, SESSION, as_of=as_of)) == before
    assert [node.parent for node in tree(log, SESSION, as_of=as_of).nodes] == [
        None,
        "u1",
        "a1",
        "a3",
        "u2",
        "a4",
    ]


def test_a_summary_keeps_messages_that_come_after_it(tmp_path: Path) -> None:
    begun = [summary("s", "b"), said("u1", "u0", "kept"), answer("a", "u1", "m", "kept")]
    kept = {"anchorUuid": "b", "uuids": ["u1", "a"]}
    lines = [*begun, said("u0", None, "late"), boundary("b", "a", preservedMessages=kept)]
    log = MemoryLog()
    bring(log, tmp_path / "s.jsonl", *begun)
    bring(log, tmp_path / "s.jsonl", *lines)
    assert verify(log).findings == []
    assert b"kept" in context_json(log, SESSION, leaf="s")
