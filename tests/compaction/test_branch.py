"""Going elsewhere in a session's tree."""

from __future__ import annotations

import pytest

from compaction import move_to, record_branch_summary
from eventstore.errors import NotFoundError, VersionConflictError
from eventstore.records import Compaction, Decision, FileOperations, record_of
from projections.audit import audit
from projections.context import build_context
from projections.standpoint import ROOT
from projections.tree import tree
from tests.support.events import version
from tests.support.talk import assistant, call, texts_of, user


def summarize(story, target, summary="tried"):
    """Record a branch summary, and give its event and its record."""
    event = story[record_branch_summary(story.writer, summary=summary, target=target)]
    return event, record_of("branch_summary", event.body)


def test_a_move_puts_the_session_at_its_target(story):
    root, _ = story.says(user("root"), user("elsewhere"))
    moved = move_to(story.writer, root)
    assert (story[moved].parent, tree(story.log, "s").leaf) == (root, moved)


def test_a_move_shows_the_context_of_its_target(story):
    root, _ = story.says(user("root"), user("elsewhere"))
    move_to(story.writer, root)
    assert texts_of(build_context(story.log, "s")) == ["root"]


def test_a_move_says_where_from(story):
    root, left = story.says(user("root"), user("elsewhere"))
    moved = story[move_to(story.writer, root)]
    assert record_of("leaf_moved", moved.body).from_id == left


def test_a_move_to_the_root_starts_anew(story):
    story.says(user("root"))
    moved = move_to(story.writer, ROOT)
    assert (story[moved].parent, texts_of(build_context(story.log, "s"))) == (None, [])


def test_a_move_from_an_empty_tree_comes_from_nowhere(story):
    story.add(Decision(outcome="skip", reason="small"))
    moved = story[move_to(story.writer, ROOT)]
    assert record_of("leaf_moved", moved.body).from_id == ""


@pytest.mark.parametrize("target", ["ghost", "e2"])
def test_a_move_to_what_is_no_entry_is_refused_with_nothing_appended(story, target):
    story.says(user("root"))
    story.add(Decision(outcome="skip", reason="small"))
    with pytest.raises(NotFoundError):
        move_to(story.writer, target)
    assert version(story.log, "s") == 2


def test_a_move_while_somebody_appends_is_refused(story, interrupt):
    (root,) = story.says(user("root"))
    with pytest.raises(VersionConflictError) as refused:
        move_to(interrupt(story).writer, root)
    assert (refused.value.expected, refused.value.actual) == (1, 2)


def test_a_branch_summary_is_attached_at_its_target(story):
    root, _ = story.says(user("root"), user("left"))
    event, record = summarize(story, root)
    assert (event.parent, record.from_id) == (root, root)


def test_a_branch_summary_at_the_root_says_so(story):
    story.says(user("left"))
    event, record = summarize(story, ROOT)
    assert (event.parent, record.from_id) == (None, "root")


def test_a_branch_summary_names_the_leaf_that_was_left(story):
    root, _, left = story.says(user("root"), user("on the way"), user("left"))
    assert summarize(story, root)[1].left == left


def test_the_context_behind_a_branch_summary_is_the_targets_with_it(story):
    root, _ = story.says(user("root"), user("left"))
    summarize(story, root)
    assert texts_of(build_context(story.log, "s")) == ["root", "tried"]


def test_a_branch_summary_is_about_the_entries_below_the_common_one(story):
    root = story.says(user("root"))[0]
    elsewhere = story.says(user("elsewhere"))[0]
    move_to(story.writer, root)
    story.says(user("left"), user("left, too"))
    summarize(story, elsewhere)
    (found,) = audit(story.log, "s").branch_summaries
    # The move is one of them: it lies on the branch.
    assert (found.attached_to, found.entries) == (elsewhere, 3)


def test_a_branch_summary_lists_the_files_of_the_branch_that_was_left(story):
    root = story.says(assistant(call("read", path="root.py")))[0]
    story.says(assistant(call("read", path="left.py"), call("edit", path="changed.py")))
    record = summarize(story, root)[1]
    assert record.details == FileOperations(read_files=["left.py"], modified_files=["changed.py"])


def test_a_branch_summarys_files_stand_as_tags_at_its_end(story):
    root = story.says(user("root"))[0]
    story.says(assistant(call("read", path="left.py")))
    assert summarize(story, root)[1].summary == "tried\n\n<read-files>\nleft.py\n</read-files>"


def test_a_branch_summary_takes_files_from_before_a_compaction_on_the_branch(story):
    root = story.says(user("root"))[0]
    _, kept = story.says(assistant(call("read", path="left.py")), user("kept"))
    story.add(Compaction(summary="s", first_kept_entry_id=kept, tokens_before=9))
    assert summarize(story, root)[1].details.read_files == ["left.py"]


def test_a_branch_summary_does_not_believe_a_compaction_about_the_trunk(story):
    root = story.says(assistant(call("read", path="trunk.py")))[0]
    claim = FileOperations(read_files=["claimed.py"], modified_files=[])
    story.add(Compaction(summary="s", first_kept_entry_id=root, tokens_before=9, details=claim))
    assert summarize(story, root)[1].details == FileOperations(read_files=[], modified_files=[])


def test_a_branch_summary_takes_the_files_of_branches_that_were_left_before(story):
    root = story.says(user("root"))[0]
    story.says(assistant(call("read", path="first.py")))
    summarize(story, root)
    story.says(assistant(call("read", path="second.py")))
    assert summarize(story, root)[1].details.read_files == ["first.py", "second.py"]


def test_a_target_on_this_very_branch_leaves_nothing_to_summarize(story):
    (only,) = story.says(user("root"))
    with pytest.raises(NotFoundError, match="no entries to summarize before 'e1'"):
        record_branch_summary(story.writer, summary="tried", target=only)


def test_a_target_below_the_leaf_leaves_nothing_to_summarize(story):
    root, below = story.says(user("root"), user("below"))
    move_to(story.writer, root)
    with pytest.raises(NotFoundError, match=f"no entries to summarize before '{below}'"):
        record_branch_summary(story.writer, summary="tried", target=below)


def test_nothing_is_appended_where_there_is_nothing_to_summarize(story):
    (only,) = story.says(user("root"))
    with pytest.raises(NotFoundError):
        record_branch_summary(story.writer, summary="tried", target=only)
    assert version(story.log, "s") == 1


def test_a_branch_summary_while_somebody_appends_is_refused(story, interrupt):
    root, _ = story.says(user("root"), user("left"))
    with pytest.raises(VersionConflictError):
        record_branch_summary(interrupt(story).writer, summary="tried", target=root)
    assert texts_of(build_context(story.log, "s")) == ["root", "left", "me first"]
