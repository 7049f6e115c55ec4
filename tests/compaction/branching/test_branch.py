"""Branch summaries: attached at the target, about what was left, with the files that the log says."""

from __future__ import annotations

import pytest

from compaction.branching.move import go, move_to
from compaction.branching.summarize import PREAMBLE, entries_for_summary
from eventstore.errors import BadInputError, NotFoundError, VersionConflictError
from eventstore.memory import MemoryLog
from eventstore.records import (
    BranchSummary,
    Compaction,
    FileOperations,
    Label,
    ModelChange,
    SessionInfo,
    Undone,
    record_of,
)
from projections.audit.session import audit
from projections.context.build import build_context
from projections.context.cursor import ROOT, path, resolve_cursor
from tests.support.events import NOW, version
from tests.support.talk import Story, assistant, call, result, texts_of, user


def summarize(story, target, summary="tried"):
    """Record a branch summary, and give its event and its record."""
    event = story[go(story.writer, target, summary=summary).events[0]]
    return event, record_of("branch_summary", event.body)


def test_a_branch_summary_is_attached_at_its_target(story):
    root, _ = story.says(assistant("root"), user("left"))
    event, record = summarize(story, root)
    assert (event.parent, record.from_id) == (root, root)


def test_a_branch_summary_at_the_root_says_so(story):
    story.says(user("left"))
    event, record = summarize(story, ROOT)
    assert (event.parent, record.from_id) == (None, "root")


def test_a_branch_summary_names_the_leaf_that_was_left(story):
    root, _, left = story.says(assistant("root"), user("on the way"), user("left"))
    assert summarize(story, root)[1].left == left


def test_the_context_behind_a_branch_summary_is_the_targets_with_it(story):
    root, _ = story.says(assistant("root"), user("left"))
    summarize(story, root)
    assert texts_of(build_context(story.log, "s")) == ["root", f"{PREAMBLE}\n\ntried"]


def test_a_branch_summary_says_first_what_it_is(story):
    root, _ = story.says(assistant("root"), user("left"))
    assert summarize(story, root)[1].summary == f"{PREAMBLE}\n\ntried"


def test_a_branch_summary_that_says_so_already_does_not_say_it_twice(story):
    root, _ = story.says(assistant("root"), user("left"))
    said = f"{PREAMBLE}\n\ntried"
    assert summarize(story, root, said)[1].summary == said


@pytest.mark.parametrize("summary", ["", " \n"])
def test_an_empty_branch_summary_is_refused_with_nothing_appended(story, summary):
    root, _ = story.says(assistant("root"), user("left"))
    with pytest.raises(BadInputError):
        go(story.writer, root, summary=summary)
    assert version(story.log, "s") == 2


def test_a_branch_summary_is_about_the_entries_below_the_common_one(story):
    root = story.says(assistant("root"))[0]
    elsewhere = story.says(assistant("elsewhere"))[0]
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
    root = story.says(assistant("root"))[0]
    story.says(assistant(call("read", path="left.py")))
    assert summarize(story, root)[1].summary.endswith("tried\n\n<read-files>\nleft.py\n</read-files>")


def test_a_branch_summary_takes_files_from_before_a_compaction_on_the_branch(story):
    root = story.says(assistant("root"))[0]
    _, kept = story.says(assistant(call("read", path="left.py")), user("kept"))
    story.add(Compaction(summary="s", first_kept_entry_id=kept, tokens_before=9))
    assert summarize(story, root)[1].details.read_files == ["left.py"]


def test_a_branch_summary_does_not_believe_a_compaction_about_the_trunk(story):
    root = story.says(assistant(call("read", path="trunk.py")))[0]
    claim = FileOperations(read_files=["claimed.py"], modified_files=[])
    story.add(Compaction(summary="s", first_kept_entry_id=root, tokens_before=9, details=claim))
    assert summarize(story, root)[1].details == FileOperations(read_files=[], modified_files=[])


def test_a_branch_summary_takes_the_files_of_branches_that_were_left_before(story):
    root = story.says(assistant("root"))[0]
    story.says(assistant(call("read", path="first.py")))
    summarize(story, root)
    story.says(assistant(call("read", path="second.py")))
    assert summarize(story, root)[1].details.read_files == ["first.py", "second.py"]


def test_a_target_on_this_very_branch_leaves_nothing_to_summarize(story):
    (only,) = story.says(assistant("root"))
    with pytest.raises(NotFoundError) as refused:
        go(story.writer, only, summary="tried")
    assert refused.value.name == "e1"


def test_a_target_below_the_leaf_leaves_nothing_to_summarize(story):
    root, below = story.says(assistant("root"), assistant("below"))
    move_to(story.writer, root)
    with pytest.raises(NotFoundError) as refused:
        go(story.writer, below, summary="tried")
    assert refused.value.name == below


def test_labels_titles_and_moves_alone_are_nothing_to_summarize(story):
    (root,) = story.says(assistant("root"))
    story.add(Label(target_id=root, label="here"), SessionInfo(name="a title"))
    with pytest.raises(NotFoundError) as refused:
        go(story.writer, root, summary="tried")
    assert refused.value.name == root


def test_where_there_is_nothing_to_summarize_before_the_root_it_says_so(story):
    story.add(SessionInfo(name="a title"))
    with pytest.raises(NotFoundError) as refused:
        go(story.writer, ROOT, summary="tried")
    assert refused.value.name == "root"


def test_nothing_is_appended_where_there_is_nothing_to_summarize(story):
    (only,) = story.says(assistant("root"))
    with pytest.raises(NotFoundError):
        go(story.writer, only, summary="tried")
    assert version(story.log, "s") == 1


def test_a_branch_summary_while_somebody_appends_is_refused(story, interrupt):
    root, _ = story.says(assistant("root"), user("left"))
    with pytest.raises(VersionConflictError):
        go(interrupt(story).writer, root, summary="tried")
    assert texts_of(build_context(story.log, "s")) == ["root", "left", "me first"]


def branch(*messages):
    """The entries of a session of these messages and records, oldest first."""
    story = Story(MemoryLog(clock=lambda: NOW))
    for message in messages:
        story.says(message) if isinstance(message, dict) else story.add(message)
    with story.log.snapshot() as snapshot:
        return path(snapshot, resolve_cursor(snapshot, "s"))


def chosen(entries, budget, **tokens):
    """The ids of those that go in, where every entry has 10 tokens but those that are said."""
    return [
        entry.id for entry in entries_for_summary(entries, budget, lambda entry: tokens.get(entry.id, 10))
    ]


SUMMARY = Compaction(summary="s", first_kept_entry_id="", tokens_before=9)
BRANCH_SUMMARY = BranchSummary(from_id="root", summary="s")


def test_what_fits_the_budget_goes_in_oldest_first():
    assert chosen(branch(user("a"), assistant("b"), result("c")), 30) == ["e1", "e2", "e3"]


def test_the_newest_go_in_before_the_oldest():
    assert chosen(branch(user("a"), assistant("b"), result("c")), 29) == ["e2", "e3"]


def test_nothing_older_than_the_first_that_does_not_fit_goes_in():
    assert chosen(branch(user("small"), user("large"), user("newest")), 25, e2=16, e1=1) == ["e3"]


@pytest.mark.parametrize("summary", [SUMMARY, BRANCH_SUMMARY])
def test_a_summary_that_does_not_fit_goes_in_while_a_tenth_of_the_budget_is_free(summary):
    entries = branch(user("old"), summary, user("newest"))
    assert chosen(entries, 100, e2=500, e3=89) == ["e2", "e3"]


@pytest.mark.parametrize("summary", [SUMMARY, BRANCH_SUMMARY])
def test_a_summary_that_does_not_fit_stays_out_where_less_is_free(summary):
    assert chosen(branch(user("old"), summary, user("newest")), 100, e2=500, e3=90) == ["e3"]


def test_a_summary_that_fits_ends_nothing():
    assert chosen(branch(user("old"), SUMMARY, user("newest")), 30) == ["e1", "e2", "e3"]


def test_entries_that_tell_a_model_nothing_do_not_go_in():
    entries = branch(user("a"), ModelChange(provider="p", model_id="m"), SessionInfo(name="a title"))
    assert chosen(entries, 100) == ["e1"]


def test_a_summary_that_was_undone_does_not_go_in():
    assert chosen(branch(user("a"), SUMMARY, Undone(target_id="e2"), user("b")), 100) == ["e1", "e4"]


def test_a_summary_whose_undo_was_undone_goes_in():
    entries = branch(user("a"), SUMMARY, Undone(target_id="e2"), Undone(target_id="e3"))
    assert chosen(entries, 100) == ["e1", "e2"]


def test_of_no_entries_none_go_in():
    assert chosen([], 100) == []


def test_no_budget_takes_nothing():
    assert chosen(branch(user("a")), 0) == []
