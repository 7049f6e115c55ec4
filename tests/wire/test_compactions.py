"""Recorded compactions are compared again: presets of releases agree with programs as the page says."""

from __future__ import annotations

import msgspec
import pytest

from compaction.cuts import LastMessages
from compaction.policy.load import load_preset
from tests.wire import compactions
from tests.wire.compactions import HEAD, PRESETS, compare_compactions
from tests.wire.install import RELEASES
from tests.wire.recording import fixture, unpacked
from tests.wire.table import PAGE

ROWS = PAGE.read_text("utf-8").partition(HEAD)[2].splitlines()[: len(PRESETS)]


def test_the_newest_releases_have_presets() -> None:
    assert {*PRESETS} >= {(harness, versions[-1]) for harness, versions in RELEASES.items()}


@pytest.mark.slow
@pytest.mark.parametrize(("release", "row"), [*zip(PRESETS, ROWS, strict=True)], ids=map("-".join, PRESETS))
def test_presets_agree_as_the_page_says(release: tuple[str, str], row: str) -> None:
    with unpacked(fixture(*release)) as run:
        found = compare_compactions(run, *release).row(*release)
    assert found == row, "the page is old: python -m tests.wire.compactions"


@pytest.mark.slow
def test_another_cut_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    other = msgspec.structs.replace(load_preset("pi"), cut=LastMessages(messages=2))
    monkeypatch.setattr(compactions.Settings, "applied_to", lambda *_: other)
    with unpacked(fixture("pi", "0.87.1")) as run:
        found = compare_compactions(run, "pi", "0.87.1")
    assert found.same_decisions < found.requests
    assert found.same_cuts < found.compactions
