"""A compaction whose summary is at hand: what its record says is recomputed."""

from __future__ import annotations

import pytest

from compaction.composing import record_compaction
from compaction.rewriting import record_rewrite
from eventstore.errors import NotFoundError, VersionConflictError
from eventstore.records import (
    BranchSummary,
    Compaction,
    CustomMessage,
    FileOperations,
    TextReplacement,
    Undone,
    record_of,
)
from projections.audit.session import Counts, audit
from projections.context.build import build_context
from tests.support.events import version
from tests.support.talk import assistant, call, texts_of, user


def compact(story, first_kept, summary="all of it", **options):
    """Record a compaction, and give its record."""
    event = story[record_compaction(story.writer, summary=summary, first_kept=first_kept, **options)]
    return record_of("compaction", event.body)


def size(story):
    return sum(part.utf16 for part in build_context(story.log, "s").parts)


def long(tokens):
    return "x" * 4 * tokens


def test_the_summary_stands_in_place_of_what_was_before_the_first_kept(story):
    _, kept = story.says(user("old"), user("kept"))
    compact(story, kept)
    assert texts_of(build_context(story.log, "s")) == ["all of it", "kept"]


def test_a_compaction_is_the_new_leaf(story):
    (kept,) = story.says(user("kept"))
    compaction = record_compaction(story.writer, summary="s", first_kept=kept)
    assert build_context(story.log, "s").leaf == compaction


def test_a_record_says_why_by_which_policy_and_from_which_template(story):
    (kept,) = story.says(user("kept"))
    record = compact(story, kept, reason="threshold", policy="pi", template="compaction@2")
    assert (record.reason, record.policy, record.template) == ("threshold", "pi", "compaction@2")


def test_a_compaction_is_manual_unless_told_otherwise(story):
    (kept,) = story.says(user("kept"))
    assert compact(story, kept).reason == "manual"


def test_file_operations_are_those_of_everything_before_the_first_kept(story):
    story.says(assistant(call("read", path="r.py"), call("edit", path="m.py")))
    (kept,) = story.says(assistant(call("read", path="kept.py")))
    assert compact(story, kept).details == FileOperations(read_files=["r.py"], modified_files=["m.py"])


def test_file_operations_are_cumulative_over_compactions(story):
    story.says(assistant(call("read", path="first.py")))
    (kept,) = story.says(assistant(call("read", path="second.py")))
    compact(story, kept)
    (kept,) = story.says(user("kept"))
    assert compact(story, kept).details.read_files == ["first.py", "second.py"]


def test_an_older_record_is_not_believed_about_files(story):
    (first,) = story.says(assistant(call("read", path="a.py")))
    claim = FileOperations(read_files=["claimed.py"], modified_files=[])
    story.add(Compaction(summary="s", first_kept_entry_id=first, tokens_before=9, details=claim))
    (kept,) = story.says(user("kept"))
    assert compact(story, kept).details.read_files == ["a.py"]


def test_file_operations_stand_as_tags_at_the_end_of_the_summary(story):
    story.says(assistant(call("read", path="r.py"), call("edit", path="m.py")))
    (kept,) = story.says(user("kept"))
    assert compact(story, kept).summary == (
        "all of it\n\n<read-files>\nr.py\n</read-files>\n\n<modified-files>\nm.py\n</modified-files>"
    )


def test_tags_that_the_summary_came_with_are_replaced(story):
    _, kept = story.says(user("old"), user("kept"))
    summary = "all of it\n\n<read-files>\nmade-up.py\n</read-files>"
    assert compact(story, kept, summary).summary == "all of it"


def test_the_tokens_before_are_those_of_the_context_before(story):
    _, kept = story.says(user(long(10)), user(long(5)))
    before = size(story)
    assert compact(story, kept).tokens_before == before == 15


def test_the_tokens_after_are_those_of_the_context_after(story):
    _, kept = story.says(user(long(10)), user(long(5)))
    record = compact(story, kept, summary=long(2))
    assert record.tokens_after == size(story) == 7


def test_the_tokens_after_count_what_is_kept_as_rewrites_show_it(story):
    _, kept = story.says(user(long(10)), user(long(5)))
    record_rewrite(story.writer, targets=[TextReplacement(target=kept, text=long(1))], reason="prune")
    record = compact(story, kept, summary=long(2))
    assert record.tokens_after == size(story) == 3


def test_the_tokens_after_count_no_older_summary(story):
    _, kept = story.says(user(long(10)), user(long(5)))
    compact(story, kept, summary=long(4))
    record = compact(story, kept, summary=long(2))
    assert (record.tokens_before, record.tokens_after) == (9, size(story)) == (9, 7)


def test_the_tokens_after_count_what_is_kept_from_before_an_older_compaction(story):
    first, kept = story.says(user(long(10)), user(long(5)))
    compact(story, kept, summary=long(4))
    record = compact(story, first, summary=long(2))
    assert record.tokens_after == size(story) == 17


def test_the_tokens_count_messages_that_are_made_of_entries(story):
    (kept,) = story.says(user(long(1)))
    story.add(CustomMessage(custom_type="x", content=long(3)), BranchSummary(from_id=kept, summary=long(2)))
    record = compact(story, kept, summary=long(1))
    assert (record.tokens_before, record.tokens_after) == (6, size(story)) == (6, 7)


def test_a_compaction_behind_one_that_was_undone_summarizes_everything(story):
    _, two, kept = story.says(user(long(10)), user(long(5)), user(long(1)))
    undone = record_compaction(story.writer, summary="s", first_kept=two)
    story.add(Undone(target_id=undone))
    record = compact(story, kept)
    assert (record.tokens_before, audit(story.log, "s").compactions[1].messages) == (
        16,
        Counts(summarized=2, kept=1, uncovered=0),
    )


@pytest.mark.parametrize("first_kept", ["ghost", ""])
def test_a_first_kept_that_is_not_there_is_refused(story, first_kept):
    story.says(user("hello"))
    with pytest.raises(NotFoundError) as refused:
        record_compaction(story.writer, summary="s", first_kept=first_kept)
    assert refused.value.name == first_kept


def test_a_first_kept_on_another_branch_is_refused(story):
    root, elsewhere = story.says(user("root"), user("elsewhere"))
    story.add(CustomMessage(custom_type="x", content="here"), parent=root)
    with pytest.raises(NotFoundError) as refused:
        record_compaction(story.writer, summary="s", first_kept=elsewhere)
    assert refused.value.name == elsewhere


def test_nothing_is_appended_by_a_refusal(story):
    story.says(user("hello"))
    with pytest.raises(NotFoundError):
        record_compaction(story.writer, summary="s", first_kept="ghost")
    assert version(story.log, "s") == 1


def test_a_session_that_is_not_there_is_refused(story):
    with pytest.raises(NotFoundError) as refused:
        record_compaction(story.writer, summary="s", first_kept="e1")
    assert (refused.value.what, refused.value.name) == ("session", "s")


def test_a_compaction_of_what_somebody_appended_to_meanwhile_is_refused(story, interrupt):
    (kept,) = story.says(user("kept"))
    with pytest.raises(VersionConflictError) as refused:
        record_compaction(interrupt(story).writer, summary="s", first_kept=kept)
    assert (refused.value.expected, refused.value.actual) == (1, 2)


def test_a_refused_compaction_appends_nothing(story, interrupt):
    (kept,) = story.says(user("kept"))
    with pytest.raises(VersionConflictError):
        record_compaction(interrupt(story).writer, summary="s", first_kept=kept)
    assert texts_of(build_context(story.log, "s")) == ["kept", "me first"]


def test_a_refused_compaction_goes_through_when_it_is_made_again(story, interrupt):
    (kept,) = story.says(user("kept"))
    with pytest.raises(VersionConflictError):
        record_compaction(interrupt(story).writer, summary="s", first_kept=kept)
    record_compaction(story.writer, summary="s", first_kept=kept)
    assert texts_of(build_context(story.log, "s")) == ["s", "kept", "me first"]
