"""Recorded runs are compared again: as many requests equal refold's contexts as docs/checks.md says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.wire.blocks import context_blocks
from tests.wire.compare import GAPS, compare
from tests.wire.install import RELEASES
from tests.wire.masking import mask, mask_prompts
from tests.wire.recording import RECORDED, fixture, unpacked
from tests.wire.table import PAGE, Row, rows

RELEASED = [(harness, version) for harness, versions in RELEASES.items() for version in versions]
LARGEST = 2 << 20
OF_A_MACHINE = re.compile(
    r"(?<!/mnt)/tmp/|(?<![\w<])/root\b|/Users/|\b(?!127\.0\.0\.1)(?:\d{1,3}\.){3}\d{1,3}\b"
)


@pytest.fixture(scope="module")
def runs() -> Iterator[dict[tuple[str, str], Path]]:
    """All recorded runs, unpacked."""
    with ExitStack() as stack:
        yield {release: stack.enter_context(unpacked(fixture(*release))) for release in RELEASED}


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASED, ids="-".join)
def test_the_page_says_what_is_equal(runs: dict[tuple[str, str], Path], release: tuple[str, str]) -> None:
    row = rows()[release]
    counted = Row.of(*release, row.date, compare(runs[release]))
    assert counted.equal >= row.equal, f"fewer are equal: {counted}"
    assert counted == row, "the page is old: python -m tests.wire all --recorded"


@pytest.mark.slow
def test_a_falling_count_fails(runs: dict[tuple[str, str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.wire.contexts.context_blocks", lambda *given: context_blocks(*given)[1:])
    with pytest.raises(AssertionError, match="fewer are equal"):
        test_the_page_says_what_is_equal(runs, ("pi", "0.87.1"))


@pytest.mark.slow
def test_claude_codes_fold_alone_nearly_suffices() -> None:
    with unpacked(fixture("claude-code", "2.1.332")) as run:
        for path in run.glob("*/sessions/**/*.jsonl"):
            lines = path.read_text("utf-8").splitlines(keepends=True)
            path.write_text("".join(line for line in lines if '"type":"api-request' not in line), "utf-8")
        counts = compare(run)
    assert (counts.compared, counts.equal) == (98, 96)


def test_the_page_lists_the_gaps() -> None:
    listed = PAGE.read_text("utf-8").partition("\n## What real programs send\n")[2]
    assert all(f"\n- {gap}\n" in listed for gap in GAPS)


def test_every_release_of_the_page_is_recorded() -> None:
    assert set(rows()) == set(RELEASED)
    assert {path.name for path in RECORDED.iterdir()} == {fixture(*release).name for release in RELEASED}


@pytest.mark.slow
def test_fixtures_are_small_and_name_no_machine(runs: dict[tuple[str, str], Path]) -> None:
    assert sum(path.stat().st_size for path in RECORDED.iterdir()) < LARGEST
    files = [path for run in runs.values() for path in run.rglob("*.jsonl")]
    assert len(files) > 100
    named = {(path.name, found) for path in files for found in OF_A_MACHINE.findall(path.read_text("utf-8"))}
    assert named == set()


@pytest.mark.slow
def test_fixtures_have_no_sentences_of_harnesses(runs: dict[tuple[str, str], Path]) -> None:
    for path in (path for run in runs.values() for path in run.rglob("*.jsonl")):
        masking = mask if path.name == "requests.jsonl" else mask_prompts
        for line in path.read_text("utf-8").splitlines():
            assert masking(json.loads(line)) == json.loads(line), path
