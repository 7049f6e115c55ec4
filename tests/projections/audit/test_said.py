"""Messages of a person, and which of them stand in the context."""

from __future__ import annotations

from eventstore.records import Compaction
from projections.audit.said import said_messages
from projections.context.cursor import resolve_cursor
from tests.support.talk import assistant, user


def states(story):
    with story.log.snapshot() as snapshot:
        found = said_messages(snapshot, resolve_cursor(snapshot, "s"))
    return [(each.seq, each.text, each.stands) for each in found]


def test_messages_in_the_context_stand_there(story):
    story.says(user("use tabs"), assistant("ok"), user("go on"))
    assert states(story) == [(1, "use tabs", True), (3, "go on", True)]


def test_a_message_that_left_does_not_stand(story):
    story.says(user("use tabs"), assistant("ok"))
    story.add(Compaction(summary="The user wants tabs.", first_kept_entry_id="", tokens_before=9))
    assert states(story) == [(1, "use tabs", False)]


def test_a_message_that_a_summary_quotes_stands(story):
    story.says(user("use\n  tabs"), assistant("ok"))
    story.add(Compaction(summary="The user: “use tabs”.", first_kept_entry_id="", tokens_before=9))
    assert states(story) == [(1, "use\n  tabs", True)]


def test_marks_of_a_quotation_part_no_words(story):
    story.says(user("use tabs\n\n1. never push\n2. be brief"), assistant("ok"), user("> they wrote\n> this"))
    summary = (
        "The user said:\n  > use tabs\n  >\n  > 1. never push\n  > 2. be brief\n\n> > they wrote\n> > this"
    )
    story.add(Compaction(summary=summary, first_kept_entry_id="", tokens_before=9))
    assert [stands for _, _, stands in states(story)] == [True, True]


def test_other_words_between_lines_part_them(story):
    story.says(user("use tabs\nnever push"), assistant("ok"))
    story.add(Compaction(summary="> use tabs\nand\n> never push", first_kept_entry_id="", tokens_before=9))
    assert [stands for _, _, stands in states(story)] == [False]
