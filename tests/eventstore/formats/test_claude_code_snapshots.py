"""Snapshots of a growing Claude Code file, cut between records and the parents that come after them."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from eventstore.files.exporting import export_original
from eventstore.files.importing import import_sessions
from eventstore.memory import MemoryLog
from eventstore.verify import verify
from projections.context.build import build_context, context_json
from tests.support.claude_code import SESSION, answer, attached, bring, call, record, result, said
from tests.support.events import events

_COPY = re.compile(r"(?:~[0-9a-f]{8})+$")
"""The end of the ids of records that were copied to below their parents."""


def _tree(rng: random.Random, most: float) -> list[bytes]:
    """The lines of a session with branches, each moved by up to `most` places; all parents are in the file."""
    lines = [said("u-0", None, "hello")]
    for number in range(1, rng.randint(3, 14)):
        parent = f"u-{number - 1 if rng.random() < 0.8 else rng.randrange(number)}"
        own = f"u-{number}"
        lines.append(
            rng.choice(
                (
                    said(own, parent, f"words {number}"),
                    answer(own, parent, f"m-{number // 2}", f"answer {number}"),
                    answer(own, parent, f"m-{number // 2}", call(f"c-{number}", file_path="/a")),
                    result(own, parent, f"c-{number - 1}", "output"),
                    attached(own, parent, {"type": "diagnostics", "files": [number]}),
                    record(own, parent, "progress", data={}),
                )
            )
        )
    places = {line: place + rng.uniform(0, most) for place, line in enumerate(lines)}
    return sorted(lines, key=places.__getitem__)


def _seen(log: MemoryLog) -> tuple[str, bytes]:
    """The leaf of the session, by its record's own id, and the context there."""
    return _COPY.sub("", build_context(log, SESSION).leaf or ""), context_json(log, SESSION)


def _contexts(log: MemoryLog) -> dict[str, bytes]:
    """The context at each record, by its own id; of one that was copied, at the newest copy."""
    newest = {_COPY.sub("", each.id): each.id for each in events(log, SESSION) if each.is_entry}
    return {name: context_json(log, SESSION, leaf=leaf) for name, leaf in newest.items()}


@pytest.mark.parametrize("most", [3, 100])
@pytest.mark.parametrize("seed", range(8))
def test_snapshots_of_a_shuffled_file_are_the_last_alone(tmp_path: Path, seed: int, most: int) -> None:
    for number in range(10):
        rng = random.Random(f"{seed}:{number}")
        lines = _tree(rng, most)
        alone, grown = MemoryLog(), MemoryLog()
        (once,) = bring(alone, tmp_path / "s.jsonl", *lines)
        for cut in sorted(rng.randint(1, len(lines)) for _ in range(rng.randint(1, 3))):
            bring(grown, tmp_path / "s.jsonl", *lines[:cut])
        (imported,) = bring(grown, tmp_path / "s.jsonl", *lines)
        assert (imported.rewritten, imported.diverged, imported.earlier) == (0, False, None)
        assert imported.events == once.events
        assert _contexts(grown) == _contexts(alone), number
        # Of several branches, the newest is not the same in any order.
        assert most > 3 or _seen(grown) == _seen(alone), number
        assert b"".join(export_original(grown, SESSION)) == (tmp_path / "s.jsonl").read_bytes()
        assert verify(grown).findings == []
        assert [each.added for each in import_sessions(grown, tmp_path / "s.jsonl")] == [0]


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
