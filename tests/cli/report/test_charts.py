from __future__ import annotations

from cli.views.page.charts import context_chart, cost_chart
from cli.views.page.material import Material
from projections.context.cursor import ROOT
from tests.cli.report.reading import material_of
from tests.support.talk import Story, assistant, user


def test_the_context_is_told_after_every_entry(story: Story) -> None:
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
