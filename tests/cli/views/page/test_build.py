"""The verdicts, figures and sections of the page."""

from __future__ import annotations

import re
from typing import Any

import pytest
from msgspec import structs

from cli.views.model import AuditedReplacement, audit_view
from cli.views.page.build import build_page, figures, models, sections_of, verdicts
from cli.views.page.charts import cost_chart
from cli.views.page.material import Material
from cli.views.page.parts import BarSegment, LabelledValue, Page, Row, Section, Verdict
from compaction.branching.move import go
from compaction.composing import record_compaction
from compaction.rewriting import record_rewrite
from eventstore import EventLog
from eventstore.records import SessionInfo, TextReplacement
from tests.cli.views.page.reading import lines_in, material_of
from tests.support.measured import audit, compaction, ref, size
from tests.support.pi_files import bring, header, said
from tests.support.talk import Story, assistant, user


def found_in(replaced: AuditedReplacement) -> list[Verdict]:
    (view,) = audit_view(audit(replaced)).replacements
    return verdicts(view)


def bad(**given: Any) -> list[str]:
    return [each.text for each in found_in(compaction(9, **given)) if each.is_bad]


def test_without_conditions_there_is_no_verdict() -> None:
    assert found_in(compaction(9)) == []


def test_conditions_are_verdicts() -> None:
    assert bad(size=size(10, 10), conditions=["no-gain"]) == [
        "the context is hardly smaller, recomputed: 10 -> 10 tokens"
    ]


def test_what_was_undone_is_said_and_is_nothing_bad() -> None:
    found = found_in(compaction(9, undone=True, conditions=["no-gain"]))
    assert [each.is_bad for each in found] == [False, True]


@pytest.fixture
def begun(store: EventLog) -> Story:
    told = Story(store)
    told.says(user("x" * 40))
    return told


def answer(begun: Story, **usage: Any) -> None:
    begun.says(assistant("y" * 40, usage=usage))


def numbered(found: list[Any]) -> dict[str, tuple[str, list[str]]]:
    """From the name of each figure to its value and the numbers of its note."""
    return {each.name: (each.value, re.findall(r"[\d,]+", each.note.replace(", ", " "))) for each in found}


def shown(begun: Story) -> dict[str, tuple[str, list[str]]]:
    return numbered(figures(material_of(begun.log)))


def test_a_session_without_calls_has_its_size_alone(begun: Story) -> None:
    assert shown(begun) == {
        "context at the end": ("10", ["1"]),
        "entries": ("1", ["1"]),
        "compactions": ("0", []),
    }


def test_calls_are_summed(begun: Story) -> None:
    answer(begun, input=100, output=5, cacheRead=300, cacheWrite=0)
    answer(begun, input=0, output=6, cacheRead=500, cacheWrite=100)
    found = shown(begun)
    assert found["sent"] == ("1k", ["2"])
    assert found["from the cache"] == ("80%", ["100"])
    assert found["output"] == ("11", [])


@pytest.mark.parametrize(
    ("tokens", "short"),
    [
        (999, "999"),
        (1000, "1k"),
        (9_520, "9.52k"),
        (959_800, "960k"),
        (56_400_000, "56.4M"),
        (10**12, "1,000G"),
    ],
)
def test_a_large_number_is_short(begun: Story, tokens: int, short: str) -> None:
    answer(begun, input=tokens)
    assert shown(begun)["sent"][0] == short


def test_a_cost_tells_where_it_comes_from(begun: Story) -> None:
    answer(begun, input=1, cost={"total": 0.25})
    assert shown(begun)["cost"] == ("$0.25", [])
    answer(begun, input=1)
    assert shown(begun)["cost"] == ("$0.25+", ["1"])


def test_output_recorded_in_part_makes_figures_too_low(begun: Story) -> None:
    priced = {"provider": "anthropic", "model": "claude-opus-4-5"}
    begun.says(assistant("y" * 81, usage={"input": 100_000, "output": 10}) | priced)
    material = material_of(begun.log)
    found = {each.name: each for each in figures(material)}
    too_low = ", too low: 1 call with a part of the output only"
    for name, value in (("output", "10+"), ("cost", "$0.50+")):
        assert (found[name].value, found[name].note.endswith(too_low)) == (value, True)
    chart = cost_chart(material)
    assert chart is not None
    assert chart.label.endswith("$0.50+ in all")


def test_a_recorded_cost_of_nothing_is_explained(begun: Story) -> None:
    answer(begun, input=1, cost={"total": 0})
    (cost,) = (each for each in figures(material_of(begun.log)) if each.name == "cost")
    assert (cost.value, cost.note) == ("$0.00", "as recorded, as with a subscription")


@pytest.mark.slow
def test_the_demo_counts_what_is_beside_its_compactions(demo: Material) -> None:
    found = numbered(figures(demo))
    assert found["compactions"] == ("3", ["1", "1"])
    assert found["entries"] == ("167", ["3"])


def test_what_was_computed_comes_before_sizes_and_cost(demo: Material) -> None:
    found = list(figures(demo))
    row = demo.view.row
    assert [(each.name, each.value) for each in found[:2]] == [
        ("read again", str(row.fetched)),
        ("said next", str(row.messages)),
    ]
    assert found[-1].name == "cost"


def test_uncovered_messages_are_the_first_figure(demo: Material) -> None:
    uncovered = compaction(30, uncovered=[ref(each) for each in range(66)], conditions=["uncovered"])
    first, *_ = figures(structs.replace(demo, view=audit_view(audit(uncovered))))
    assert (first.name, first.value) == ("messages uncovered", "66")


def test_models_are_those_that_wrote_the_one_that_wrote_most_first(begun: Story) -> None:
    begun.says(assistant("a", model="n"), assistant("b"), assistant("c"))
    assert models(material_of(begun.log)) == ["p/m", "p/n"]


@pytest.fixture
def sized(store: EventLog) -> Story:
    told = Story(store)
    told.says(user("x" * 240), assistant("x" * 120), user("x" * 40))
    return told


def views(sized: Story) -> list[Section]:
    material = material_of(sized.log)
    return sections_of(material, lines_in(material))


def test_a_session_without_replacements_has_none(sized: Story) -> None:
    assert views(sized) == []


def test_the_bars_of_a_compaction_are_what_it_removed_kept_and_added(sized: Story) -> None:
    # 60 and 30 tokens removed, 10 kept, a summary of 5.
    record_compaction(sized.writer, summary="x" * 20, first_kept="e3")
    (view,) = views(sized)
    assert view.bar_before == [
        BarSegment(name="removed", tokens=90, start=0, width=90),
        BarSegment(name="kept", tokens=10, start=90, width=10),
    ]
    assert view.bar_after == [
        BarSegment(name="added", tokens=5, start=0, width=5),
        BarSegment(name="kept", tokens=10, start=5, width=10),
    ]


def test_every_message_of_both_contexts_is_a_row(sized: Story) -> None:
    record_compaction(sized.writer, summary="In short.", first_kept="e3")
    (view,) = views(sized)
    assert [(row.seq, row.name, row.tokens, row.fate) for row in view.before] == [
        (1, "user", 60, "summarized"),
        (2, "assistant", 30, "summarized"),
        (3, "user", 10, "kept"),
    ]
    assert view.after[0] == Row(seq=4, name="compaction", text="In short.", tokens=3, fate="new")


def test_a_rewritten_message_shows_what_stands_there_now(sized: Story) -> None:
    record_rewrite(sized.writer, targets=[TextReplacement(target="e2", text="[pruned]")], reason="prune")
    (view,) = views(sized)
    assert (view.before[1].text, view.after[1].text) == ("x" * 120, "[pruned]")


def test_a_compaction_tells_who_made_it_and_of_what(sized: Story) -> None:
    record_compaction(sized.writer, summary="x" * 20, first_kept="e3", reason="manual")
    (view,) = views(sized)
    told = [(fact.name, fact.seq, re.findall(r"\d+", fact.value)) for fact in view.facts[2:]]
    assert told == [
        ("messages", 0, ["2", "1", "0"]),
        ("kept from", 3, []),
        ("context before, in tokens", 0, ["100", "100"]),
        ("context after, in tokens", 0, ["15", "15"]),
    ]
    model, record = view.facts[:2]
    assert model == LabelledValue(name="model", value="p/m")
    assert ("refold/1" in record.value, "manual" in record.value) == (True, True)


def test_a_branch_summary_tells_where_it_stands_and_what_it_is_about(sized: Story) -> None:
    go(sized.writer, "e2", summary="Tried.")
    (view,) = views(sized)
    assert [(fact.seq, re.findall(r"\d+", fact.value)) for fact in view.facts] == [
        (0, ["1"]),
        (3, []),
        (2, []),
    ]


def test_a_compaction_that_makes_the_context_larger_is_marked(sized: Story) -> None:
    record_compaction(sized.writer, summary="x" * 800, first_kept="e3")
    assert [view.replacement.grew for view in views(sized)] == [True]


def test_a_branch_summary_adds_to_the_context_by_its_nature(sized: Story) -> None:
    go(sized.writer, "e1", summary="Tried." * 200)
    (view,) = views(sized)
    assert not view.replacement.grew


def test_a_rewrite_has_neither_files_nor_a_summary(sized: Story) -> None:
    record_rewrite(sized.writer, targets=[TextReplacement(target="e2", text="")], reason="prune")
    (view,) = views(sized)
    assert (view.replacement.files, view.summary) == (None, None)


def test_the_worst_comes_first_and_is_open(demo: Material) -> None:
    found = sections_of(demo, lines_in(demo))
    assert [view.replacement.seq for view in found] == [each.seq for each in demo.view.worst]
    assert [view.is_open for view in found] == [True, False, False, False, False]


def test_names_are_those_of_the_audit(demo: Material) -> None:
    names = {
        view.replacement.name.capitalize(): view.replacement.sign
        for view in sections_of(demo, lines_in(demo))
    }
    compactions = {f"Compaction {number}": "∑" for number in (1, 2, 3)}
    assert names == {**compactions, "Branch summary 1": "⤷", "Rewrite 1": "✂"}


def page(story: Story, **where: Any) -> Page:
    return build_page(material_of(story.log, **where))


def test_a_session_is_called_by_its_title(story: Story) -> None:
    story.says(user("the first request"))
    story.add(SessionInfo(name="A title"))
    assert page(story).title == "A title"


def test_without_one_by_its_first_request_cut(story: Story) -> None:
    story.says(user("x" * 500))
    assert page(story).title == "x" * 119 + "…"


def test_without_either_by_its_id(story: Story) -> None:
    story.add(SessionInfo(cwd="/src"))
    assert page(story).title == "s"


def test_dates_are_those_of_the_first_and_the_last_entry(store: EventLog, tmp_path) -> None:
    content = header() + said("a", "e1", None) + said("b", "e2", "e1").replace(b"2025-11-20", b"2025-11-21")
    session = bring(store, tmp_path, content).id
    assert build_page(material_of(store, session)).dates == "2025-11-20 23:33 to 2025-11-21 23:33 UTC"


def test_on_one_day_the_date_stands_once(story: Story) -> None:
    story.says(user("a"), user("b"))
    assert page(story).dates == "1970-01-01 00:00 to 00:00 UTC"


def test_how_tokens_were_counted_is_shown(story: Story) -> None:
    story.says(user("a"))
    assert ("utf16/4" in page(story).note, "estimate" in page(story).note) == (True, True)


def test_replacements_stand_in_order_of_the_log_and_once_more_the_worst_first(demo_page: Page) -> None:
    assert [each.replacement.seq for each in demo_page.replacements] == [28, 69, 103, 131, 166]
    assert sorted(each.replacement.seq for each in demo_page.worst) == [28, 69, 103, 131, 166]


def test_marks_and_tree_lines_of_replacements_lead_to_their_sections(demo_page: Page) -> None:
    assert demo_page.context is not None
    sections = {f"r-{seq}" for seq in (28, 69, 103, 131, 166)}
    assert {mark.target for mark in demo_page.context.marks if mark.target.startswith("r-")} == sections
    assert {line.target for line in demo_page.tree if line.target.startswith("r-")} == sections


def test_every_event_is_listed(demo: Material, demo_page: Page) -> None:
    listed = [event.seq for group in demo_page.groups for event in group.events]
    assert listed == [event.seq for event in demo.events]
