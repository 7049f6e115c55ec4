from __future__ import annotations

import json
from typing import Any

from cli.views.model import EventView
from cli.views.page.lines import GROUP, event_groups
from cli.views.page.material import outcomes
from cli.views.texts import LONGEST_TEXT
from compaction import record_compaction
from eventstore import EventLog
from eventstore.records import Label, ModelChange
from tests.cli.report.reading import lines_in, material_of, target
from tests.support.talk import Story, assistant, call, user


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
