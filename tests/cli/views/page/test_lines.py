"""The lines of the tree and of the list of events."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from cli.views.page.lines import GROUP, EventLine, event_groups, lines_of, tree_lines
from cli.views.page.material import outcomes
from cli.views.page.parts import EventView, TreeLine
from cli.views.texts import LONGEST_TEXT
from compaction.branching.move import move_to
from compaction.composing import record_compaction
from eventstore import EventLog
from eventstore.records import Custom, CustomMessage, Label, MessageRecord, ModelChange, Record, SessionInfo
from tests.cli.views.page.reading import lines_in, material_of, target
from tests.support.talk import PiSession, Story, assistant, call, result, user


def test_a_message_is_called_by_its_role(story: Story) -> None:
    (said,) = story.says(user("Hello,\nyou."))
    assert lines_of([story[said]]) == {1: EventLine(sign="", name="user", text="Hello, you.")}


def test_a_kind_that_turns_the_session_has_a_sign(story: Story) -> None:
    title = story.add(SessionInfo(name="A title"))
    assert lines_of([story[title]]) == {1: EventLine(sign="✎", name="session_info", text="A title")}


def test_another_kind_has_none(story: Story) -> None:
    note = story.add(Custom(custom_type="note"))
    assert lines_of([story[note]]) == {1: EventLine(sign="", name="custom", text="note")}


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (CustomMessage(custom_type="compaction_continue", content="Go on."), "Go on."),
        (MessageRecord(message=Raw(b'{"role":"user","content":"[Resuming] it"}')), "[Resuming] it"),
    ],
    ids=lambda value: getattr(value, "kind", None),
)
def test_what_goes_on_after_a_compaction_is_called_so_and_turns_nothing(
    story: Story, said: Record, text: str
) -> None:
    assert lines_of([story[story.add(said)]]) == {1: EventLine(sign="", name="continuation", text=text)}


def drawn(story: Story, **where: str) -> list[TreeLine]:
    material = material_of(story.log, **where)
    return list(tree_lines(material, lines_in(material), target))


def seen(lines: list[TreeLine]) -> list[tuple[int, str, int]]:
    """Of each line its level, its event's number, and how many entries it stands for."""
    return [(line.level, f"{line.sign}{line.seq}", line.hidden) for line in lines]


def test_turns_stand_alone_and_what_is_between_them_is_counted(story: Story) -> None:
    story.says(user("a"), assistant("b"), result("c"), assistant("d"), user("e"), assistant("f"))
    lines = drawn(story)
    assert seen(lines) == [(0, "●1", 0), (0, "2", 3), (0, "●5", 0), (0, "·6", 0)]
    assert lines[1].text == "#2 to #4"


def test_a_run_of_one_names_that_one(story: Story) -> None:
    story.says(user("a"), assistant("b"), user("c"))
    assert drawn(story)[1].text == "#2"


def test_a_branch_off_the_path_is_indented_and_comes_before_the_path_goes_on(story: Story) -> None:
    story.says(user("a"), assistant("b"), user("c"), assistant("d"))
    move_to(story.writer, "e2")
    story.says(user("another way"))
    lines = drawn(story)
    assert seen(lines) == [
        (0, "●1", 0),
        (0, "·2", 0),
        (1, "●3", 0),
        (1, "·4", 0),
        (0, "●6", 0),
    ]
    assert [line.is_aside for line in lines] == [False, False, True, True, False]


def test_the_leaf_is_marked_where_one_stands(story: Story) -> None:
    story.says(user("a"), user("b"))
    assert [line.is_leaf for line in drawn(story)] == [False, True]
    assert [line.is_leaf for line in drawn(story, leaf="e1")] == [True, False]


def test_any_entry_is_marked_as_the_leaf(story: Story) -> None:
    story.says(user("a"), assistant("b"), assistant("c"))
    note = story.add(Custom(custom_type="note"))
    story.says(assistant("d"))
    for leaf in ("e2", note):
        assert [line.seq for line in drawn(story, leaf=leaf) if line.is_leaf] == [story[leaf].seq]


def test_a_labelled_entry_stands_alone_with_its_label(story: Story) -> None:
    story.says(user("a"), assistant("b"), assistant("c"))
    story.add(Label(target_id="e2", label="here"))
    assert [(line.seq, line.label) for line in drawn(story)][:2] == [(1, ""), (2, "here")]


def test_a_line_leads_where_it_is_told_and_a_run_to_its_first_entry(story: Story) -> None:
    story.says(user("a"), assistant("b"), assistant("c"), user("d"))
    material = material_of(story.log)
    lines = tree_lines(material, lines_in(material), lambda seq: f"r-{seq}")
    assert [line.target for line in lines] == ["r-1", "e-2", "r-4"]


@pytest.mark.slow
def test_branches_off_branches_are_drawn_however_deep_they_are(store: EventLog, tmp_path: Path) -> None:
    session = PiSession()
    for number in range(1200):
        session.says(f"c{number}", user("on"))
    # Each of them has a younger sibling, and so is off the path of its parent.
    for number in reversed(range(1200)):
        session.says(f"s{number}", user("aside"), parent=f"c{number}")
    material = material_of(store, session.store_in(store, tmp_path))
    levels = [line.level for line in tree_lines(material, lines_in(material), target)]
    assert len(levels) == 2400
    assert max(levels) > 1000


def test_what_goes_on_after_a_compaction_is_counted_and_no_turn(story: Story) -> None:
    story.says(user("a"), assistant("b"), user("[Resuming] a"), assistant("c"), user("d"))
    assert seen(drawn(story)) == [(0, "●1", 0), (0, "2", 3), (0, "●5", 0)]


def listed(
    story: Story, *, whole: frozenset[int | None] | None = frozenset(), lead: Any = target
) -> list[EventView]:
    material = material_of(story.log, story.session)
    groups = event_groups(material, lines_in(material), outcomes(material), lead, whole=whole)
    return [event for group in groups for event in group.events]


def test_events_stand_in_order_of_the_log(story: Story) -> None:
    story.says(user("a"), assistant("b"))
    assert [(event.seq, event.name, event.line) for event in listed(story)] == [
        (1, "user", "a"),
        (2, "assistant", "b"),
    ]


def test_a_text_is_cut_and_what_is_left_out_is_counted(story: Story) -> None:
    story.says(user("x" * (LONGEST_TEXT + 5)))
    (event,) = listed(story)
    assert (len(event.text), event.left_out) == (LONGEST_TEXT, 5)


def test_a_text_that_a_loss_leads_to_is_whole(story: Story) -> None:
    story.says(user("x" * 5_000))
    (event,) = listed(story, whole=frozenset({1}))
    assert event.left_out == 0


def test_in_full_a_text_is_whole(story: Story) -> None:
    story.says(user("x" * (LONGEST_TEXT + 5)))
    (event,) = listed(story, whole=None)
    assert (len(event.text), event.left_out) == (LONGEST_TEXT + 5, 0)


def test_the_command_that_prints_all_quotes_the_session(store: EventLog) -> None:
    story = Story(store, session="it's; rm -rf ~")
    story.says(user("x"))
    assert listed(story)[0].show == """refold show 'it'"'"'s; rm -rf ~' '#1'"""


def test_calls_are_part_of_a_text(story: Story) -> None:
    story.says(assistant("I look.", call("read", path="a.py")))
    assert listed(story)[0].text == 'I look.\n→ read {"path":"a.py"}'


def test_an_event_that_is_no_message_shows_its_record(story: Story) -> None:
    story.add(ModelChange(provider="p", model_id="m"))
    (event,) = listed(story)
    assert json.loads(event.text)["modelId"] == "m"
    assert event.tokens is None


def test_tokens_are_those_of_the_message_as_recorded(story: Story) -> None:
    story.says(user("x" * 40))
    assert listed(story)[0].tokens == 10


def test_an_event_tells_what_took_it_out_of_the_context(story: Story) -> None:
    story.says(user("a"), user("b"))
    record_compaction(story.writer, summary="s", first_kept="e2")
    first, *_ = listed(story)
    assert (first.fate, first.taken_by, first.taken_sign) == ("summarized", 3, "∑")


def test_a_label_stands_with_its_event(story: Story) -> None:
    story.says(user("a"))
    story.add(Label(target_id="e1", label="here"))
    assert listed(story)[0].label == "here"


def test_an_event_leads_to_its_section_if_it_has_one(story: Story) -> None:
    story.says(user("a"), user("b"))
    leads = listed(story, lead=lambda seq: "r-2" if seq == 2 else f"e-{seq}")
    assert [event.target for event in leads] == ["", "r-2"]


def test_facts_of_a_call_are_its_model_and_what_its_provider_counted(story: Story) -> None:
    usage = {"input": 10, "output": 5, "cacheRead": 2000, "cacheWrite": 0, "cost": {"total": 0.5}}
    story.says(assistant("x", usage=usage))
    event_id, model, stopped, *counts, cost = listed(story)[0].facts
    assert (event_id, model, stopped.split()[-1], cost) == ("e1", "p/m", "stop", "$0.50")
    assert [count.split()[0] for count in counts] == ["2,010", "2,000", "0", "5"]


def test_events_stand_together_in_groups_with_their_day(story: Story) -> None:
    story.says(*[user("x")] * (GROUP + 1))
    material = material_of(story.log)
    groups = event_groups(material, lines_in(material), outcomes(material), target, whole=frozenset())
    assert [(group.first, group.last, len(group.events)) for group in groups] == [
        (1, GROUP, GROUP),
        (GROUP + 1, GROUP + 1, 1),
    ]
    assert groups[0].day == "1970-01-01"
