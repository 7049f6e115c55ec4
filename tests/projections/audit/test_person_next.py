"""List what a person said behind a compaction."""

from __future__ import annotations

from eventstore.memory import MemoryLog
from eventstore.records import Compaction
from projections.audit.session import audit
from tests.support.claude_code import SESSION, answer, boundary, bring, call, result, said, summary
from tests.support.talk import assistant, user

REFUSED = "The user doesn't want to proceed with this tool use. STOP what you are doing."


def compacts(story):
    story.add(Compaction(summary="s", first_kept_entry_id="", tokens_before=9))


def followed(log, session="s"):
    """The numbers of the messages and of the refusals behind each compaction."""
    return [
        (
            [each.seq for each in found.metrics.next.messages],
            [each.seq for each in found.metrics.next.refusals],
        )
        for found in audit(log, session).compactions
    ]


def test_messages_of_the_person_are_listed(story):
    story.says(user("go"))
    compacts(story)
    story.says(assistant("done"), user("and now?"), assistant("more"), user("thanks"))
    assert followed(story.log) == [([4, 6], [])]


def test_the_next_compaction_ends_the_list(story):
    story.says(user("go"))
    compacts(story)
    story.says(user("one"))
    compacts(story)
    story.says(user("two"))
    assert followed(story.log) == [([3], []), ([5], [])]


def test_a_refusal_counts_even_without_words(tmp_path):
    log = MemoryLog()
    bring(
        log,
        tmp_path / "s.jsonl",
        said("u", None, "go"),
        boundary("b", "u"),
        summary("s", "b"),
        answer("x", "s", "mx", call("c", "Bash", command="git push")),
        result("y", "x", "c", REFUSED, fails=True),
    )
    ((messages, refusals),) = followed(log, SESSION)
    assert messages == refusals
    assert len(refusals) == 1
