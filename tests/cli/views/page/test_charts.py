"""The paths, ticks and marks of the charts."""

from __future__ import annotations

import re
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.views.model import audit_view
from cli.views.page.build import sections_of
from cli.views.page.charts import (
    LEFT,
    RIGHT,
    ChartMarker,
    Point,
    chart,
    chart_markers,
    context_chart,
    cost_chart,
)
from cli.views.page.material import Material
from cli.views.page.parts import Chart
from compaction.branching.move import move_to
from compaction.composing import record_compaction
from eventstore.records import ModelChange
from projections.context.cursor import ROOT
from tests.cli.views.page.reading import lines_in, material_of, target
from tests.support.measured import redone
from tests.support.talk import Story, assistant, user


def drawn(values: list[float], *places: ChartMarker, second: list[Point] | None = None) -> Chart:
    points = [Point(seq, value) for seq, value in enumerate(values, 1)]
    return chart(
        points, height=136, label="a", name=lambda tick: f"{tick:g}", places=places, second=second or []
    )


def place(seq: int, where: str = "above") -> ChartMarker:
    return ChartMarker(seq=seq, kind="k", title="t", target="e-1", where=where)  # type: ignore[arg-type]


def test_an_area_steps_from_the_left_end_to_the_right_and_closes_on_the_floor() -> None:
    # The plot is 100 high, from 10 to 110; the values are a half and all of it.
    assert drawn([50, 100]).area == f"M{LEFT} 110H{LEFT}V60H540V10H{RIGHT}V110Z"


def test_a_line_begins_at_its_first_value() -> None:
    assert drawn([50, 100]).line == f"M{LEFT} 60H{LEFT}V60H540V10H{RIGHT}"


def test_a_second_series_begins_where_it_has_its_first_value() -> None:
    assert drawn([0, 100], second=[Point(2, 50)]).second == f"M540 60H540V60H{RIGHT}"


def test_without_a_second_series_there_is_no_second_line() -> None:
    assert drawn([1]).second == ""


def test_a_second_series_that_is_higher_makes_the_axis_longer() -> None:
    assert drawn([10], second=[Point(1, 90)]).rows[-1].label == "100"


def test_rows_are_round_values_up_to_the_first_that_is_not_below_the_highest() -> None:
    assert [tick.label for tick in drawn([0, 37_000]).rows] == ["0", "10000", "20000", "30000", "40000"]


def test_a_series_of_nothing_has_an_axis_all_the_same() -> None:
    assert [tick.label for tick in drawn([0, 0]).rows] == ["0", "1"]


def test_columns_name_entries_at_equal_distances() -> None:
    assert [tick.label for tick in drawn([1] * 20).columns] == ["#1", "#4", "#7", "#10", "#13", "#16", "#19"]


def test_points_tell_the_value_of_every_entry() -> None:
    assert drawn([1_234_567, 0.25]).points == "1:1234567 2:0.25"


def test_marks_that_would_cover_each_other_stand_in_rows() -> None:
    marks = drawn([1] * 500, place(10), place(11), place(12)).marks
    assert [mark.y for mark in marks] == [13, 35, 57]


def test_marks_with_room_between_them_stand_in_one_row() -> None:
    marks = drawn([1] * 500, place(10), place(100)).marks
    assert [mark.y for mark in marks] == [13, 13]


def test_rows_of_marks_make_the_plot_lower() -> None:
    assert (drawn([1]).top, drawn([1], place(1)).top) == (10, 32)


@pytest.mark.parametrize(("where", "y"), [("curve", 54), ("floor", 110)])
def test_a_mark_stands_on_the_curve_or_on_the_floor(where: str, y: float) -> None:
    assert drawn([50, 100], place(1, where)).marks[0].y == y


def heights(line: str) -> list[float]:
    return [float(step.split("V")[1]) for step in line.split("H")[1:] if "V" in step]


@given(st.lists(st.integers(0, 100), min_size=1, max_size=30))
def test_a_larger_value_is_always_drawn_higher(values: list[int]) -> None:
    changes = [value for before, value in pairwise([-1, *values]) if value != before]
    drawn_heights = heights(drawn([float(value) for value in values]).line)
    assert len(changes) == len(drawn_heights)
    by_value = sorted(zip(changes, drawn_heights, strict=True))
    for (smaller, lower), (larger, higher) in pairwise(by_value):
        assert (lower > higher) == (larger > smaller)


@pytest.mark.slow
@given(st.integers(2000, 6000))
def test_of_entries_too_many_to_be_told_apart_the_highest_is_seen(count: int) -> None:
    values = [0.0] * count
    values[count // 2] = 100
    assert min(heights(drawn(values).line)) == 10


@pytest.mark.slow
def test_a_long_series_is_drawn_in_no_more_steps_than_can_be_seen() -> None:
    values = [float(number % 7) for number in range(50_000)]
    assert drawn(values).line.count("H") <= 2 * (RIGHT - LEFT) + 2


def test_the_context_is_shown_after_every_entry(story: Story) -> None:
    story.says(user("x" * 40), user("x" * 80))
    chart = context_chart(material_of(story.log), [])
    assert chart is not None
    assert chart.points == "1:10 2:30"
    assert chart.second == ""


def test_what_providers_measured_is_a_second_line(story: Story) -> None:
    story.says(user("x" * 40), assistant("y", tokens=100))
    chart = context_chart(material_of(story.log), [])
    assert chart is not None
    assert chart.second != ""
    assert chart.rows[-1].label == "100"


def test_an_empty_path_has_no_chart(story: Story) -> None:
    story.says(user("x"))
    material = material_of(story.log, leaf=ROOT)
    assert (context_chart(material, []), cost_chart(material)) == (None, None)


def test_costs_add_up_along_the_path(story: Story) -> None:
    for cost in (0.25, 0.5):
        usage = {"input": 1, "output": 1, "cost": {"total": cost}}
        story.says(user("x"), assistant("y", usage=usage))
    chart = cost_chart(material_of(story.log))
    assert chart is not None
    assert chart.points == "1:0 2:0.25 3:0.25 4:0.75"


def test_a_session_of_which_no_cost_is_known_has_no_chart_of_it(story: Story) -> None:
    story.says(user("x"), assistant("y", tokens=10))
    assert cost_chart(material_of(story.log)) is None


def test_the_demo_has_both(demo: Material) -> None:
    context, cost = context_chart(demo, []), cost_chart(demo)
    assert context is not None
    assert cost is not None
    assert len(context.points.split()) == len(cost.points.split()) == len(demo.path)


def marked(material: Material) -> list[ChartMarker]:
    lines = lines_in(material)
    return chart_markers(material, lines, sections_of(material, lines), target)


def titles(story: Story, **where: str) -> list[str]:
    return [place.title for place in marked(material_of(story.log, **where))]


def test_a_replacement_tells_its_sizes(story: Story) -> None:
    story.says(user("x" * 400), user("x" * 40))
    record_compaction(story.writer, summary="x" * 20, first_kept="e2")
    (title,) = titles(story)
    assert re.findall(r"#?\d+", title) == ["1", "#3", "110", "15"]


def test_a_change_of_the_model_tells_which_is_next(story: Story) -> None:
    story.add(ModelChange(provider="p", model_id="n"))
    (title,) = titles(story)
    assert (title.startswith("#1: "), title.endswith(" p n")) == (True, True)


def test_an_entry_that_another_branch_leaves_is_marked(story: Story) -> None:
    story.says(user("a"), assistant("b"))
    move_to(story.writer, "e1")
    (title,) = titles(story)
    assert re.findall(r"#?\d+", title) == ["#1", "1"]


def test_what_is_not_on_the_path_is_not_marked(story: Story) -> None:
    story.says(user("a"))
    story.add(ModelChange(provider="p", model_id="n"))
    story.says(user("b"))
    move_to(story.writer, "e1")
    (title,) = titles(story)
    assert re.findall(r"#?\d+", title) == ["#1", "1"]


def test_an_event_with_repeated_work_is_marked_once(story: Story) -> None:
    story.says(user("a"), user("b"))
    record_compaction(story.writer, summary="s", first_kept="e2")
    story.says(assistant("c"))
    material = material_of(story.log)
    (compaction,) = material.view.audit.compactions
    again = redone("one.py", "two.py", "three.py", "four.py", "two.py", again=4)
    metrics = msgspec.structs.replace(compaction.metrics, rework=msgspec.structs.replace(again, failed=[]))
    audit = msgspec.structs.replace(
        material.view.audit, compactions=[msgspec.structs.replace(compaction, metrics=metrics)]
    )
    found = marked(msgspec.structs.replace(material, view=audit_view(audit)))
    assert [(place.seq, place.kind, place.where) for place in found] == [
        (3, "compaction", "above"),
        (4, "again", "curve"),
    ]
    assert found[1].title == "#4 again: read one.py, read two.py, read three.py and 1 more"


def test_places_stand_in_order_of_the_path(demo: Material) -> None:
    found = [place.seq for place in marked(demo)]
    assert found == sorted(found)
    assert set(found) <= demo.path
