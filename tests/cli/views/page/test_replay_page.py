"""Labels of a replay's plot stay in it, and cover neither each other nor points; the page has every figure."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from cli.views.page.replay_page import Origin, _axis, _overlap, _points, replay_page
from cli.views.replay_table import failures_of
from compaction.replay.comparison import BoundaryFigures, Overlap, VariantSummary, summaries
from compaction.replay.results import ReplayedBoundary, Trial
from compaction.replay.statistics import FEWEST_SESSIONS

ORIGIN = Origin(store="./a-store", command="refold replay s --with one", made=1_700_000_000_000)
PRESETS = ("refold", "layered", "mask", "oh-my-pi", "opencode", "pi", "drop")


def summary(name: str, size: float, kept: float) -> VariantSummary:
    return VariantSummary(
        variant=name,
        trials=1,
        failed=0,
        size=size,
        needed_count=100,
        kept_count=round(100 * kept),
        kept_share=kept,
        probe_count=0,
        answered_count=0,
        answered_share=None,
        difference=None,
        overlap=None,
    )


def assert_readable(variants: list[VariantSummary]) -> None:
    points = _points(
        variants,
        _axis((each.size for each in variants), 74, 706),
        _axis((each.kept_share for each in variants), 332, 14),
    )
    boxes = [point.box for point in points]
    dots = [(point.x - 5, point.x + 5, point.y - 5, point.y + 5) for point in points]
    assert all(
        left >= 0 and right <= 720 and top >= 0 and bottom <= 380 for left, right, top, bottom in boxes
    )
    assert not any(_overlap(one, other) for one, other in combinations(boxes, 2))
    assert not any(_overlap(box, dot) for box in boxes for dot in dots)


def test_labels_of_the_presets_are_readable() -> None:
    sizes = (0.34, 0.11, 0.47, 0.22, 0.14, 0.36, 0.28)
    shares = (0.96, 0.88, 0.78, 0.94, 0.90, 0.96, 0.64)
    assert_readable([summary(*each) for each in zip(PRESETS, sizes, shares, strict=True)])


@pytest.mark.parametrize(("size", "kept"), [(0.0, 0.0), (1.0, 1.0), (0.0, 1.0), (1.0, 0.0), (0.5, 0.5)])
def test_labels_of_equal_variants_are_readable_in_every_corner(size: float, kept: float) -> None:
    assert_readable([summary(name, size, kept) for name in PRESETS])


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=6))
def test_labels_of_any_six_variants_are_readable(places: list[tuple[float, float]]) -> None:
    assert_readable([summary(name, *each) for name, each in zip(PRESETS, places, strict=False)])


def figures(session: str, *, at: str = "recorded") -> BoundaryFigures:
    boundary = ReplayedBoundary(session=session, leaf="e9", seq=9, at=at, needed_count=10, probe_count=0)  # type: ignore[arg-type]
    counts = {"tokens_before": 100, "tokens_after": 50, "answered_count": 0}
    return BoundaryFigures(
        boundary=boundary,
        trials=[
            Trial(boundary=0, variant="one", kept_count=9, **counts),
            Trial(boundary=0, variant="two", kept_count=6, **counts),
            Trial(boundary=0, variant="three", error="nothing is to be done"),
        ],
        overlaps=[None, Overlap(both=5, first_only=4, variant_only=1, neither=0), None],
    )


def page(results: list[BoundaryFigures]) -> str:
    shown = summaries(results, ["one", "two", "three"])
    return replay_page(results, [], shown, origin=ORIGIN, is_extractive=True).decode()


def test_the_page_has_paired_intervals_from_eight_sessions_on() -> None:
    text = page([figures(f"s{number}") for number in range(FEWEST_SESSIONS)])
    assert "-30.0 (-30.0 to -30.0)" in text
    assert "-30.0 (" not in page([figures("s")])


def test_the_page_says_who_kept_what_at_recorded_boundaries() -> None:
    assert "needed and kept by" in page([figures("s")])
    assert "needed and kept by" not in page([figures("s", at="clean")])


def test_the_page_says_why_a_variant_has_no_result() -> None:
    assert "three has no result at 1 boundary: nothing is to be done" in page([figures("s")])


def test_the_page_names_what_was_replayed_from_where_when_and_by_which_command() -> None:
    text = page([figures("s"), figures("t")])
    shown = (ORIGIN.store, ORIGIN.command, "2023-11-14 22:13:20 UTC", "<bdi>s</bdi>", "<bdi>t</bdi>")
    assert [each for each in shown if each not in text] == []
    assert "<h1>2 recorded boundaries in 2 sessions</h1>" in text


@given(st.lists(st.floats(0, 1.5), min_size=1))
def test_an_axis_has_room_for_all_values_and_for_little_else(shares: list[float]) -> None:
    axis = _axis(shares, 0, 1000)
    places = [axis.at(each) for each in shares]
    assert 0 <= min(places) <= max(places) <= 1000
    at, labels = zip(*axis.ticks, strict=True)
    assert (at[0], at[-1]) == (0, 1000)
    assert len(labels) >= 3
    assert axis.high <= 100 or max(shares) > 1
    assert axis.high - axis.low <= max(100 * (max(shares) - min(shares)) + 2 * axis.step, 2 * axis.step)


def test_the_plot_names_both_of_its_axes() -> None:
    text = page([figures("s")])
    assert "share of the size left" in text
    assert "share of needed things kept" in text


def test_a_note_says_if_variants_have_no_boundary_in_common() -> None:
    one, two = figures("s"), figures("t")
    failed = Trial(boundary=0, variant="two", error="no cut")
    one = structs.replace(one, trials=[one.trials[0], failed])
    two = structs.replace(two, trials=[structs.replace(failed, variant="one"), two.trials[1]])
    shown = summaries([one, two], ["one", "two"])
    assert next(failures_of([one, two], shown)).startswith("there is nothing to compare")
