"""Reading a Claude Code file takes a time that grows with the file, whatever its records name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from eventstore.files.matching import FROM_START, SessionMatcher
from eventstore.harnesses.claude_code.transcript_file import ClaudeCodeFile
from eventstore.harnesses.claude_code.transcript_reader import TranscriptReader
from eventstore.harnesses.source import Source
from eventstore.memory import MemoryLog, _State
from tests.support.claude_code import SESSION, boundary, bring, note, said, summary
from tests.support.events import events
from tests.support.growth import NO_SQUARE, times_as_long


def talk(count: int) -> Iterator[tuple[str, str | None]]:
    """The ids of so many records, and of the record before each."""
    yield from ((own, above) for above, own in pairwise((None, *(f"u-{each}" for each in range(count)))))


def with_last_prompts(count: int) -> Iterator[bytes]:
    for own, above in talk(count):
        yield said(own, above, "go on")
        yield note("last-prompt", leafUuid=own, lastPrompt="go on")


def with_one_id(count: int) -> Iterator[bytes]:
    yield from (said("u", None, f"go on {number}") for number in range(count))


def with_missing_parents(count: int) -> Iterator[bytes]:
    yield from (said(f"u-{number}", f"gone-{number}", "go on") for number in range(count))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lines", "few"), [(with_last_prompts, 800), (with_one_id, 300), (with_missing_parents, 500)]
)
def test_a_long_file_is_read_in_a_time_that_grows_with_it(
    tmp_path: Path, lines: Callable[[int], Iterator[bytes]], few: int
) -> None:
    def written(count: int) -> Path:
        path = tmp_path / f"{count}.jsonl"
        path.write_bytes(b"".join(each + b"\n" for each in lines(count)))
        return path

    assert times_as_long(read, written(few), written(8 * few)) < NO_SQUARE


def compacted(count: int) -> list[bytes]:
    """Lines of so many compactions, each of which keeps four messages."""
    lines, above = [], None
    for number in range(count):
        talked = [f"u-{number}-{each}" for each in range(6)]
        lines += [
            said(own, before, "go on") for own, before in zip(talked, [above, *talked[:-1]], strict=True)
        ]
        run = {"headUuid": talked[2], "tailUuid": talked[-1], "anchorUuid": f"s-{number}"}
        lines.append(boundary(f"b-{number}", talked[-1], preservedSegment=run))
        lines.append(summary(f"s-{number}", f"b-{number}"))
        above = talked[-1]
    return lines


def test_growth_behind_many_compactions_reads_as_many_events_as_behind_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[int] = []
    frame = _State.frame
    monkeypatch.setattr(_State, "frame", lambda *about: (reads.append(1), frame(*about))[1])

    def grow(count: int) -> int:
        log, path, lines = MemoryLog(), tmp_path / f"{count}.jsonl", compacted(count)
        bring(log, path, *lines, said("u", f"u-{count - 1}-5", "more"))
        reads.clear()
        bring(log, path, *lines, said("u", f"u-{count - 1}-5", "more"), said("v", "u", "and more"))
        assert parents(log)["v"] == "u"
        return len(reads)

    assert grow(3) == grow(24)


def test_growth_from_a_message_that_an_earlier_compaction_keeps_is_below_its_summary(tmp_path: Path) -> None:
    log, path, lines = MemoryLog(), tmp_path / "file.jsonl", compacted(3)
    bring(log, path, *lines)
    bring(log, path, *lines, said("v", "u-1-3", "again"), said("w", "u-2-5", "and again"))
    assert [parents(log)[each] for each in ("v", "w")] == ["s-1", "s-2"]


def parents(log: MemoryLog) -> dict[str, str | None]:
    return {each.id: each.parent for each in events(log, SESSION)}


def read(path: Path) -> TranscriptReader:
    with path.open("rb") as file:
        source = Source(file, path, str(path))
        reader = SessionMatcher(MemoryLog(), source, ClaudeCodeFile(source), None).reader(FROM_START)
        for _ in reader.pieces():
            pass
    assert isinstance(reader, TranscriptReader)
    return reader
