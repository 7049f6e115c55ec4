"""Later contexts have what was given back, or have lost it."""

from __future__ import annotations

from cli.views.readings import given_back_text
from eventstore.paths import event
from eventstore.records import Compaction, Note
from projections.audit.session import audit
from projections.person_text import CUT, GIVEN_BACK, as_quoted
from tests.support.talk import Story, assistant, user


def compact(story: Story, summary: str, *given: tuple[str, int, str]) -> None:
    """Compact with a summary; what is given back is a note before it and a message behind it."""
    quotations = [{"event": event, "seq": seq, "quote": quote} for event, seq, quote in given]
    text = "\n".join([GIVEN_BACK, *(f"#{seq} {as_quoted(quote)}" for _, seq, quote in given)])
    if given:
        data = {"type": "given-back", "text": text, "rules": quotations, "messages": [], "files": ["/p/a.py"]}
        with story.log.snapshot() as snapshot:
            above = event(snapshot, "s", snapshot.head("s").leaf).id
        story.add(Note(target_id=above, data=data))
    story.add(Compaction(summary=summary, first_kept_entry_id="", tokens_before=9))
    story.says(user(text) if given else user("Hm."), assistant("Yes."))


def fates(story: Story) -> list[list[list[str]]]:
    """Return the states of each quotation, by compaction; first if it arrived."""
    return [
        [[str(each.arrived), *(fate.state for fate in each.fates)] for each in given.quotations]
        for given in audit(story.log, "s").given_back
    ]


def test_each_later_window_is_asked(story: Story) -> None:
    first, _, second, *_ = story.says(
        user("Use tabs.\nAlways."), assistant("ok"), user("No push."), assistant("ok")
    )
    tabs, push = (first, 1, "Use tabs.\nAlways."), (second, 3, "No push.")
    compact(story, "Work.", tabs, push)
    compact(story, "The user said: No push.", tabs)
    compact(story, "More work.")
    assert fates(story) == [
        [["True", "given back again", "gone"], ["True", "kept", "gone"]],
        [["True", "gone"]],
    ]


def test_words_that_never_arrived_are_told(story: Story) -> None:
    (first, _) = story.says(user("Use tabs."), assistant("ok"))
    story.add(
        Note(
            target_id=first,
            data={
                "type": "given-back",
                "text": "x" * 41,
                "rules": [],
                "files": [],
                "messages": [{"event": first, "seq": 1, "quote": f"Use tabs{CUT}"}],
            },
        )
    )
    story.add(Compaction(summary="Work.", first_kept_entry_id="", tokens_before=9))
    (given,) = audit(story.log, "s").given_back
    assert given_back_text(given, {given.boundary: "#4"}) == (
        "given back at #4: 1 quotation, about 11 tokens (1 not in the context)"
    )


def test_a_note_that_is_none_is_left_out(story: Story) -> None:
    (first, _) = story.says(user("Use tabs."), assistant("ok"))
    story.add(Note(target_id=first, data={"type": "given-back", "text": 1}))
    story.add(Compaction(summary="Work.", first_kept_entry_id="", tokens_before=9))
    assert audit(story.log, "s").given_back == []
