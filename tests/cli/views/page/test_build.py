"""The findings, figures and sections of the page."""

from __future__ import annotations

import re
from typing import Any

import pytest
from msgspec import structs

from cli.views.model import AuditedReplacement, audit_view
from cli.views.page.build import build_page, figures, models, others_used, sections_of, verdicts
from cli.views.page.material import Material
from cli.views.page.parts import BarSegment, LabelledValue, Page, Row, Section, Verdict
from compaction import record_branch_summary, record_compaction, record_rewrite
from eventstore import EventLog
from eventstore.records import SessionInfo, TextReplacement
from projections.audit.rework import RepeatedCall, RepeatedError, Rereads, Rework
from projections.audit.session import Counts
from tests.cli.views.page.reading import lines_in, material_of
from tests.support.measured import audit, compaction, finding, future_use, gone, instructions, loss, size
from tests.support.pi_files import bring, header, said
from tests.support.talk import Story, assistant, user


def found_in(replaced: AuditedReplacement) -> list[Verdict]:
    (view,) = audit_view(audit(replaced)).replacements
    return verdicts(view)


def bad(**given: Any) -> list[str]:
    return [each.text for each in found_in(compaction(9, **given)) if each.is_bad]


def rework(repeated: int, errors: int) -> Rework:
    repeat = RepeatedCall(
        tool="t", target="x", first="e1", first_seq=1, again="e9", again_seq=9, after_calls=1
    )
    error = RepeatedError(error="E", first="e1", first_seq=1, again="e9", again_seq=9)
    return Rework(
        calls=5,
        repeated=repeated,
        rereads=Rereads(next3=0, next10=0, all=0),
        rounds_to_new_action=None,
        repeats=[repeat] * repeated,
        errors=[error] * errors,
    )


def test_where_nothing_is_wrong_that_is_said() -> None:
    assert [each.is_bad for each in found_in(compaction(9))] == [False]


@pytest.mark.parametrize(
    ("given", "numbers", "about"),
    [
        ({"future_use": future_use(1, 3, loss("a"), loss("b"))}, ["2"], "needed"),
        ({"instructions": instructions(2, gone("Never."))}, ["1"], "rule"),
        ({"rework": rework(2, 0)}, ["2"], "calls"),
        ({"rework": rework(0, 1)}, ["1"], "error"),
    ],
)
def test_what_proves_no_trouble_is_counted_and_is_nothing_bad(
    given: dict[str, Any], numbers: list[str], about: str
) -> None:
    (said,) = found_in(compaction(9, **given))
    assert (re.findall(r"\d+", said.text), about in said.text, said.is_bad) == (numbers, True, False)


@pytest.mark.parametrize(
    ("given", "numbers", "about"),
    [
        ({"findings": [finding()]}, ["1"], "finding"),
        ({"messages": Counts(summarized=1, kept=0, dropped=2)}, ["2"], "messages"),
        ({"size": size(10, 10)}, [], "smaller"),
        ({"summary": " "}, [], "summary"),
    ],
)
def test_what_was_lost_is_said(given: dict[str, Any], numbers: list[str], about: str) -> None:
    (said,) = bad(**given)
    assert (re.findall(r"\d+", said), about in said) == (numbers, True)


def test_what_is_bad_comes_before_counts() -> None:
    found = found_in(compaction(9, summary="", future_use=future_use(0, 1, loss("a"))))
    assert [each.is_bad for each in found] == [True, False]


def test_what_was_undone_is_said_and_is_nothing_bad() -> None:
    found = found_in(compaction(9, summary="", undone=True))
    assert [each.is_bad for each in found] == [True, False]


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
    assert shown(begun) == {"context now": ("10", ["1"]), "entries": ("1", ["1"]), "compactions": ("0", [])}


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
    assert shown(begun)["cost"] == ("$0.25", ["1"])


def test_the_demo_counts_what_is_beside_its_compactions(demo: Material) -> None:
    found = numbered(figures(demo))
    assert found["compactions"] == ("3", ["1", "1"])
    assert found["entries"] == ("167", ["3"])


def test_what_was_lost_comes_before_sizes_and_cost(demo: Material) -> None:
    names = [each.name for each in figures(demo)]
    assert names[:3] == ["findings", "things not there", "context now"]
    assert names[-1] == "cost"
    row = demo.view.row
    assert [each.value for each in figures(demo)][:2] == [str(row.serious + row.minor), str(row.losses)]


def test_messages_that_were_dropped_are_the_first_figure(demo: Material) -> None:
    dropped = compaction(30, messages=Counts(summarized=9, kept=0, dropped=66))
    first, *_ = figures(structs.replace(demo, view=audit_view(audit(dropped))))
    assert (first.name, first.value) == ("messages dropped", "66")


def test_all_that_the_model_used_and_the_context_lacked_is_accounted_for() -> None:
    # Of 10 things 6 are still in context, 3 were named again and 1 is lost; the undone compaction counts nothing.
    seen = audit_view(
        audit(
            compaction(30, future_use=future_use(6, 10, loss("take"))),
            compaction(40, future_use=future_use(1, 2), undone=True),
        )
    )
    assert re.findall(r"\d+", others_used(seen)) == ["4", "3", "1"]


def test_nothing_is_said_of_others_if_all_that_the_model_used_was_still_in_context() -> None:
    assert others_used(audit_view(audit(compaction(30, future_use=future_use(6, 6))))) == ""


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
    assert view.after[0] == Row(seq=4, name="compaction", text="In short.", tokens=3, fate="new", losses=0)


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
        ("tokens before", 0, ["100", "100"]),
        ("tokens after", 0, ["15", "15"]),
    ]
    model, record = view.facts[:2]
    assert model == LabelledValue(name="model", value="p/m")
    assert ("refold/1" in record.value, "manual" in record.value) == (True, True)


def test_a_branch_summary_tells_where_it_stands_and_what_it_is_about(sized: Story) -> None:
    record_branch_summary(sized.writer, summary="Tried.", target="e1")
    (view,) = views(sized)
    assert [(fact.seq, re.findall(r"\d+", fact.value)) for fact in view.facts] == [
        (0, ["2"]),
        (3, []),
        (1, []),
    ]


def test_a_compaction_that_makes_the_context_larger_is_marked(sized: Story) -> None:
    record_compaction(sized.writer, summary="x" * 800, first_kept="e3")
    assert [view.replacement.grew for view in views(sized)] == [True]


def test_a_branch_summary_adds_to_the_context_by_its_nature(sized: Story) -> None:
    record_branch_summary(sized.writer, summary="Tried." * 200, target="e1")
    (view,) = views(sized)
    assert view.replacement.metrics.size.grew
    assert not view.replacement.grew


def test_a_rewrite_has_neither_files_nor_a_summary(sized: Story) -> None:
    record_rewrite(sized.writer, targets=[TextReplacement(target="e2", text="")], reason="prune")
    (view,) = views(sized)
    assert (view.replacement.files, view.summary) == (None, None)


def test_a_message_that_held_what_was_lost_tells_how_many_things(demo: Material) -> None:
    for view in sections_of(demo, lines_in(demo)):
        held = {loss.had_seq for loss in view.replacement.metrics.future_use.losses}
        assert {row.seq for row in view.before if row.losses} == held & {row.seq for row in view.before}


def test_the_worst_comes_first_and_is_open(demo: Material) -> None:
    found = sections_of(demo, lines_in(demo))
    shares = [view.replacement.metrics.future_use.share or 0 for view in found]
    assert shares == sorted(shares)
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
