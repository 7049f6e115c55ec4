"""Real session files of Claude Code: read whole, given back byte for byte."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from eventstore.files.exporting import export_original
from eventstore.files.importing import import_sessions
from eventstore.formats.claude_code.api_message import content_of, items_of, wire_of
from eventstore.memory import MemoryLog
from eventstore.verify import verify
from projections.audit.calls import session_calls
from projections.audit.checks import CLAIMS, JUMPS, PREFIXES, STRUCTURE, check_session
from projections.context.build import build_context, context_json
from projections.context.cursor import resolve_cursor
from projections.requests import request
from projections.rules.claude_code import COUNTS, RULES
from tests.support.events import events

FOLDER = "claude-code"
SNAPSHOTS = [f"0708a5fa-snap{number}.jsonl" for number in (1, 2, 3)]


def files(corpus: Path) -> list[Path]:
    return sorted((corpus / FOLDER).rglob("*.jsonl"))


def test_every_file_comes_back_byte_for_byte_and_once(corpus: Path) -> None:
    for path in files(corpus):
        log = MemoryLog()
        (imported,) = import_sessions(log, path)
        assert (imported.skipped, imported.orphans) == ([], [])
        assert imported.events == len(path.read_bytes().splitlines())
        assert b"".join(export_original(log, imported.id)) == path.read_bytes()
        assert [each.added for each in import_sessions(log, path)] == [0]
        assert verify(log).findings == []


def test_files_of_agents_are_sessions_beside_the_one_that_started_them(corpus: Path) -> None:
    log = MemoryLog()
    names = [each.id for path in files(corpus) for each in import_sessions(log, path)]
    agents = [name for name in names if "/agent-" in name]
    assert len(agents) == len(set(agents)) == 6
    assert {name.partition("/")[0] for name in agents} <= set(names)


@pytest.mark.parametrize("steps", [(0, 1, 2), (0, 2), (1, 2)])
def test_snapshots_one_after_another_are_the_last_alone(corpus: Path, steps: tuple[int, ...]) -> None:
    grown, alone = MemoryLog(), MemoryLog()
    last = corpus / FOLDER / SNAPSHOTS[steps[-1]]
    for step in steps:
        (imported,) = import_sessions(grown, corpus / FOLDER / SNAPSHOTS[step])
        assert (imported.rewritten, imported.diverged, imported.earlier) == (0, False, None)
    (once,) = import_sessions(alone, last)

    def records(log: MemoryLog) -> list[tuple[str, str | None, bytes]]:
        found = [each for each in events(log, once.id) if each.kind != "import"]
        return [(each.id, each.parent if each.is_entry else None, each.body) for each in found]

    assert records(grown) == records(alone)
    assert b"".join(export_original(grown, once.id)) == last.read_bytes()


def test_requests_hold_the_blocks_of_the_records_byte_for_byte(corpus: Path) -> None:
    for path in files(corpus):
        log = MemoryLog()
        (imported,) = import_sessions(log, path)
        context = build_context(log, imported.id)
        rendered = request(context)
        assert rendered.violations == ()
        assert {repair.rule.value for repair in rendered.repairs} <= {"missing-result"}
        blocks = [block for part in context.parts for block in items_of(content_of(wire_of(part.raw)))]
        assert [block for block in blocks if block not in rendered.body] == []


def test_records_agree_with_the_contexts(corpus: Path) -> None:
    passed, checked = Counter[str](), Counter[str]()
    for path in files(corpus):
        log = MemoryLog()
        (imported,) = import_sessions(log, path)
        for result in check_session(log, imported.id).results:
            checked[result.name] += result.checked
            passed[result.name] += result.passed
    exact = (COUNTS, PREFIXES, STRUCTURE, CLAIMS)
    assert {name: (passed[name], checked[name]) for name in exact} == {
        COUNTS: (34, 34),
        PREFIXES: (599, 599),
        STRUCTURE: (4, 4),
        CLAIMS: (4, 4),
    }
    assert passed[JUMPS] >= checked[JUMPS] - 16


def test_usage_counts_once_for_all_records_of_a_message(corpus: Path) -> None:
    log = MemoryLog()
    (imported,) = import_sessions(log, corpus / FOLDER / "aefcb05b.jsonl")
    with log.snapshot() as snapshot:
        calls = list(session_calls(snapshot, resolve_cursor(snapshot, imported.id)))
    assert sum(call.usage.output for call in calls) == 112_947


def test_a_plain_fold_of_the_file_gives_the_same_messages(corpus: Path) -> None:
    for path in files(corpus):
        if "subagents" in path.parts:
            continue
        log = MemoryLog()
        (imported,) = import_sessions(log, path)
        folded = RULES.plain_fold(path.read_bytes())
        assert folded is not None
        assert json.loads(folded)["messages"] == json.loads(context_json(log, imported.id))["messages"]
