from __future__ import annotations

import re

import pytest

from cli.views.model import Fact, Row, Section, Segment
from cli.views.page.build import sections_of
from cli.views.page.material import Material
from compaction import record_branch_summary, record_compaction, record_rewrite
from eventstore import EventLog
from eventstore.records import Shown
from tests.cli.report.reading import lines_in, material_of
from tests.support.talk import Story, assistant, user


@pytest.fixture
def story(store: EventLog) -> Story:
    told = Story(store)
    told.says(user("x" * 240), assistant("x" * 120), user("x" * 40))
    return told


def views(story: Story) -> list[Section]:
    material = material_of(story.log)
    return sections_of(material, lines_in(material))


def test_a_session_without_replacements_has_none(story: Story) -> None:
    assert views(story) == []


def test_the_bars_of_a_compaction_are_what_it_removed_kept_and_added(story: Story) -> None:
    # 60 and 30 tokens removed, 10 kept, a summary of 5.
    record_compaction(story.writer, summary="x" * 20, first_kept="e3")
    (view,) = views(story)
    assert view.bar_before == [
        Segment(name="removed", tokens=90, start=0, width=90),
        Segment(name="kept", tokens=10, start=90, width=10),
    ]
    assert view.bar_after == [
        Segment(name="added", tokens=5, start=0, width=5),
        Segment(name="kept", tokens=10, start=5, width=10),
    ]


def test_every_message_of_both_contexts_is_a_row(story: Story) -> None:
    record_compaction(story.writer, summary="In short.", first_kept="e3")
    (view,) = views(story)
    assert [(row.seq, row.name, row.tokens, row.fate) for row in view.before] == [
        (1, "user", 60, "summarized"),
        (2, "assistant", 30, "summarized"),
        (3, "user", 10, "kept"),
    ]
    assert view.after[0] == Row(seq=4, name="compaction", text="In short.", tokens=3, fate="new", losses=0)


def test_a_rewritten_message_shows_what_stands_there_now(story: Story) -> None:
    record_rewrite(story.writer, targets=[Shown(target="e2", shown="[pruned]")], reason="prune")
    (view,) = views(story)
    assert (view.before[1].text, view.after[1].text) == ("x" * 120, "[pruned]")


def test_a_compaction_tells_who_made_it_and_of_what(story: Story) -> None:
    record_compaction(story.writer, summary="x" * 20, first_kept="e3", reason="manual")
    (view,) = views(story)
    told = [(fact.name, fact.seq, re.findall(r"\d+", fact.value)) for fact in view.facts[2:]]
    assert told == [
        ("messages", 0, ["2", "1", "0"]),
        ("kept from", 3, []),
        ("tokens before", 0, ["100", "100"]),
        ("tokens after", 0, ["15", "15"]),
    ]
    model, record = view.facts[:2]
    assert model == Fact(name="model", value="p/m")
    assert ("refold/1" in record.value, "manual" in record.value) == (True, True)


def test_a_branch_summary_tells_where_it_stands_and_what_it_is_about(story: Story) -> None:
    record_branch_summary(story.writer, summary="Tried.", target="e1")
    (view,) = views(story)
    assert [(fact.seq, re.findall(r"\d+", fact.value)) for fact in view.facts] == [
        (0, ["2"]),
        (3, []),
        (1, []),
    ]


def test_a_compaction_that_makes_the_context_larger_is_marked(story: Story) -> None:
    record_compaction(story.writer, summary="x" * 800, first_kept="e3")
    assert [view.replacement.grew for view in views(story)] == [True]


def test_a_branch_summary_adds_to_the_context_by_its_nature(story: Story) -> None:
    record_branch_summary(story.writer, summary="Tried." * 200, target="e1")
    (view,) = views(story)
    assert view.replacement.metrics.size.grew
    assert not view.replacement.grew


def test_a_rewrite_has_neither_files_nor_a_summary(story: Story) -> None:
    record_rewrite(story.writer, targets=[Shown(target="e2", shown="")], reason="prune")
    (view,) = views(story)
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
