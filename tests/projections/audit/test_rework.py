"""Find work that is done again after replacements, worked out by hand."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import given

from eventstore.files.importing import import_file
from eventstore.records import BranchSummary, Compaction, Rewrite, TextReplacement, Undone
from projections.audit.rework import RepeatedCall, RepeatedError, Rereads, rework
from projections.mentions.message_facts import SessionFacts
from tests.projections.test_replacement import replacements
from tests.support.mentions import sessions, told
from tests.support.talk import assistant, call, result, shell, user

ERROR = "ValueError: bad header in line 7"


def rework_in(log, session="s"):
    facts = SessionFacts()
    return [rework(each, facts) for each in replacements(log, session)]


def repeated(log):
    """Return the pairs of a message and its repeat after the last replacement."""
    return [(each.first, each.again) for each in rework_in(log)[-1].repeats]


def rereads(log):
    found = rework_in(log)[-1].rereads
    return found.next3, found.next10, found.all


class Worker:
    """Calls tools in a story: every call is a message, and its result the next."""

    def __init__(self, story):
        self.story, self.ids = story, count()

    def does(self, tool, *, fails=False, gives="done", **arguments):
        """The id of the message with the call."""
        call_id = f"c{next(self.ids)}"
        answer = result(gives, tool=tool, call_id=call_id, is_error=fails)
        return self.story.says(assistant(call(tool, call_id, **arguments)), answer)[0]

    def compacts(self, first_kept=""):
        return self.story.add(Compaction(summary="s", first_kept_entry_id=first_kept, tokens_before=9))

    @property
    def log(self):
        return self.story.log


@pytest.fixture
def worker(story):
    story.says(user("go"))
    return Worker(story)


def test_a_call_whose_result_was_removed_is_repeated(worker):
    first = worker.does("bash", command="make")
    worker.compacts()
    worker.does("bash", command="ls")
    again = worker.does("bash", command="make")
    (only,) = rework_in(worker.log)
    assert (only.calls, only.repeated, only.repeats) == (
        2,
        1,
        [
            RepeatedCall(
                tool="bash",
                target="make",
                first=first,
                first_seq=2,
                again=again,
                again_seq=7,
                after_calls=2,
            )
        ],
    )


def test_a_repeat_is_of_the_last_such_call(worker):
    worker.does("bash", command="make")
    second = worker.does("bash", command="make")
    worker.compacts()
    assert repeated_after(worker, "bash", command="make") == [second]


def repeated_after(worker, tool, **arguments):
    """Make a further call, and return the messages that it repeats."""
    again = worker.does(tool, **arguments)
    return [first for first, by in repeated(worker.log) if by == again]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("bash", {"command": "make all"}),
        ("shell", {"command": "make"}),
        ("bash", {"command": "make", "t": 1}),
    ],
)
def test_another_tool_or_other_arguments_are_another_call(worker, tool, arguments):
    worker.does("bash", command="make")
    worker.compacts()
    assert repeated_after(worker, tool, **arguments) == []


def test_a_call_whose_result_was_kept_is_not_lost(worker):
    worker.does("bash", command="make")
    kept = worker.does("bash", command="make")
    worker.compacts(kept)
    assert repeated_after(worker, "bash", command="make") == []


def test_a_call_without_a_result_has_none_to_lose(worker):
    worker.story.says(assistant(call("bash", command="make")))
    worker.compacts()
    assert repeated_after(worker, "bash", command="make") == []


def test_what_was_done_before_an_earlier_compaction_was_lost_by_that_one(worker):
    worker.does("bash", command="make")
    worker.compacts()
    worker.compacts()
    worker.does("bash", command="make")
    assert [each.repeated for each in rework_in(worker.log)] == [1, 0]


def test_a_repeat_counts_against_the_newest_replacement_that_lost_its_result(worker):
    worker.does("bash", command="make")
    worker.compacts()
    worker.does("bash", command="make")
    worker.compacts()
    worker.does("bash", command="make")
    assert [[each.again_seq for each in found.repeats] for found in rework_in(worker.log)] == [[5], [8]]


def test_a_call_that_is_made_again_and_again_counts_once(worker):
    worker.does("bash", command="make")
    worker.compacts()
    for _ in range(3):
        worker.does("bash", command="make")
    assert rework_in(worker.log)[0].repeated == 1


@pytest.mark.parametrize("place", ["before", "after"])
def test_a_shell_command_after_a_write_is_no_repeat(worker, place):
    worker.does("bash", command="make")
    if place == "before":
        worker.does("edit", path="a.py")
    worker.compacts()
    if place == "after":
        worker.does("apply_patch", input="*** Update File: b.py")
    assert repeated_after(worker, "bash", command="make") == []


def test_a_write_that_failed_makes_no_difference(worker):
    first = worker.does("bash", command="make")
    worker.does("edit", path="a.py", fails=True)
    worker.compacts()
    assert repeated_after(worker, "bash", command="make") == [first]


def test_a_read_is_no_repeat_once_its_file_was_written(worker):
    worker.does("read", path="a.py")
    worker.compacts()
    worker.does("write", path="a.py", content="x")
    assert repeated_after(worker, "read", path="a.py") == []


def test_a_read_is_a_repeat_whatever_else_was_written(worker):
    first = worker.does("read", path="a.py")
    worker.compacts()
    worker.does("write", path="b.py", content="x")
    assert repeated_after(worker, "read", path="a.py") == [first]


def test_the_same_edit_again_is_a_repeat(worker):
    first = worker.does("edit", path="a.py", oldText="x", newText="y")
    worker.compacts()
    assert repeated_after(worker, "edit", path="a.py", oldText="x", newText="y") == [first]


def test_a_call_that_failed_is_repeated_like_any_other(worker):
    first = worker.does("bash", command="make", fails=True)
    worker.compacts()
    assert repeated_after(worker, "bash", command="make") == [first]


@pytest.mark.parametrize(
    ("tool", "arguments", "target"),
    [
        ("read", {"path": "a.py", "limit": 5}, "a.py"),
        ("bash", {"command": "make"}, "make"),
        ("grep", {"pattern": "x", "all": True}, '{"all":true,"pattern":"x"}'),
        ("apply_patch", {"input": "*** Add File: a\n*** Delete File: b"}, "a, b"),
    ],
)
def test_a_repeat_says_what_it_is_about(worker, tool, arguments, target):
    worker.does(tool, **arguments)
    worker.compacts()
    worker.does(tool, **arguments)
    assert [each.target for each in rework_in(worker.log)[0].repeats] == [target]


def test_a_result_that_a_rewrite_shows_otherwise_is_lost(worker):
    first = worker.does("bash", command="make")
    worker.story.add(Rewrite(reason="prune", targets=[TextReplacement(target="e3", text="[pruned]")]))
    assert repeated_after(worker, "bash", command="make") == [first]


def test_a_result_that_a_rewrite_took_is_not_lost_again_by_a_compaction(worker):
    worker.does("bash", command="make")
    worker.story.add(Rewrite(reason="prune", targets=[TextReplacement(target="e3", text="[pruned]")]))
    worker.compacts()
    worker.does("bash", command="make")
    assert [each.repeated for each in rework_in(worker.log)] == [1, 0]


def test_a_pruned_result_that_is_kept_does_not_show_what_was_lost(worker):
    first = worker.does("bash", command="make")
    kept = worker.does("bash", command="make")
    worker.story.add(Rewrite(reason="prune", targets=[TextReplacement(target="e5", text="[pruned]")]))
    worker.compacts(kept)
    assert repeated_after(worker, "bash", command="make") == [first]


def test_what_a_branch_that_was_left_did_is_lost(worker):
    first = worker.does("bash", command="make")
    worker.story.add(BranchSummary(from_id="e1", summary="s", left="e3"), parent="e1")
    assert repeated_after(worker, "bash", command="make") == [first]


def test_what_was_done_on_another_branch_is_no_rework(worker):
    worker.does("bash", command="make")
    worker.compacts()
    worker.does("bash", command="make")
    worker.story.add(Undone(target_id="e1"), parent="e4")
    worker.does("bash", command="ls")
    assert (rework_in(worker.log)[0].calls, repeated(worker.log)) == (1, [])


def test_files_are_read_again_within_three_ten_and_all_calls(worker):
    for name in ("a", "b", "c"):
        worker.does("read", path=name)
    worker.compacts()
    for number in range(12):
        worker.does("read", path={2: "a", 9: "b", 10: "c"}.get(number, f"new {number}"))
    assert rework_in(worker.log)[0].rereads == Rereads(next3=1, next10=2, all=3)


def test_other_lines_of_a_file_are_a_reread(worker):
    worker.does("read", path="a.py", offset=1)
    worker.compacts()
    worker.does("read", path="a.py:50-200")
    assert (rereads(worker.log), repeated(worker.log)) == ((1, 1, 1), [])


def test_a_file_counts_once(worker):
    worker.does("read", path="a.py", offset=1)
    worker.does("read", path="a.py", offset=2)
    worker.compacts()
    worker.does("read", path="a.py", offset=3)
    worker.does("read", path="a.py", offset=4)
    assert rereads(worker.log) == (1, 1, 1)


def test_a_file_that_is_still_shown_is_not_read_again(worker):
    worker.does("read", path="a.py")
    kept = worker.does("read", path="a.py", offset=9)
    worker.compacts(kept)
    worker.does("read", path="a.py")
    assert rereads(worker.log) == (0, 0, 0)


def test_a_failed_read_shows_no_file(worker):
    worker.does("read", path="a.py")
    kept = worker.does("read", path="a.py", offset=9, fails=True)
    worker.compacts(kept)
    worker.does("read", path="a.py")
    assert rereads(worker.log) == (1, 1, 1)


@pytest.mark.parametrize("place", ["before", "after"])
def test_a_file_that_was_written_since_has_to_be_read(worker, place):
    worker.does("read", path="a.py")
    if place == "before":
        worker.does("edit", path="a.py")
    worker.compacts()
    if place == "after":
        worker.does("edit", path="a.py")
    worker.does("read", path="a.py")
    assert rereads(worker.log) == (0, 0, 0)


@pytest.mark.parametrize(("tool", "fails"), [("read", True), ("write", False)])
def test_a_file_that_was_not_read_is_not_read_again(worker, tool, fails):
    worker.does(tool, path="a.py", fails=fails)
    worker.compacts()
    worker.does("read", path="a.py")
    assert rereads(worker.log) == (0, 0, 0)


def test_rounds_pass_until_something_new_is_called(worker):
    worker.does("bash", command="make")
    worker.does("read", path="a.py")
    worker.compacts("e4")
    worker.story.says(assistant("thinking aloud"))
    worker.does("bash", command="make")
    worker.does("read", path="a.py")
    worker.does("bash", command="make test")
    assert rework_in(worker.log)[0].rounds_to_new_action == 2


def test_a_round_that_calls_one_new_thing_is_new(worker):
    worker.does("bash", command="make")
    worker.compacts()
    worker.story.says(assistant(call("bash", "x", command="make"), call("bash", "y", command="ls")))
    assert rework_in(worker.log)[0].rounds_to_new_action == 0


def test_where_nothing_new_was_called_there_are_no_rounds_to_it(worker):
    worker.does("bash", command="make")
    worker.compacts()
    worker.does("bash", command="make")
    assert rework_in(worker.log)[0].rounds_to_new_action is None


def test_an_error_that_was_removed_is_met_again(worker):
    worker.does("bash", command="make", gives=ERROR, fails=True)
    worker.does("bash", command="make", gives=ERROR, fails=True)
    worker.compacts()
    worker.does("bash", command="make test", gives=ERROR)
    worker.does("bash", command="make test", gives=ERROR)
    assert rework_in(worker.log)[0].errors == [
        RepeatedError(error=ERROR, first="e3", first_seq=3, again="e8", again_seq=8)
    ]


@pytest.mark.parametrize(
    "error",
    ["FAIL example.org/cli/strategy [build failed]", "FAIL example.org/cli 2.933s", "ERROR task failed"],
)
def test_a_line_that_only_says_that_something_failed_is_not_the_same_error(worker, error):
    worker.does("bash", command="make", gives=error, fails=True)
    worker.compacts()
    worker.does("bash", command="make test", gives=error)
    assert rework_in(worker.log)[0].errors == []


def test_an_error_of_a_command_that_the_person_ran_counts(worker):
    worker.story.says(shell("make", ERROR, exitCode=1))
    worker.compacts()
    worker.story.says(shell("make", ERROR, exitCode=1))
    assert [(each.first, each.again) for each in rework_in(worker.log)[0].errors] == [("e2", "e4")]


def test_an_error_that_is_still_shown_is_not_lost(worker):
    worker.does("bash", command="make", gives=ERROR)
    kept = worker.does("bash", command="make", gives=ERROR)
    worker.compacts(kept)
    worker.does("bash", command="make", gives=ERROR)
    assert rework_in(worker.log)[0].errors == []


def test_talk_of_an_error_is_no_error(worker):
    worker.story.says(user(ERROR))
    worker.compacts()
    worker.does("bash", command="make", gives=ERROR)
    worker.story.says(assistant(ERROR))
    assert rework_in(worker.log)[0].errors == []


def test_without_anything_later_there_is_no_rework(worker):
    worker.does("bash", command="make")
    worker.compacts()
    (only,) = rework_in(worker.log)
    assert (only.calls, only.repeated, only.rounds_to_new_action, only.errors) == (0, 0, None, [])


@given(steps=sessions)
def test_figures_hold_together(steps):
    for found in rework_in(told(steps)):
        windows = found.rereads
        assert found.repeated == len(found.repeats) <= found.calls
        assert windows.next3 <= windows.next10 <= windows.all
        assert all(
            each.first_seq < each.again_seq and each.after_calls <= found.calls for each in found.repeats
        )
        assert len({(each.tool, each.target) for each in found.repeats}) == found.repeated


def test_a_real_session_did_little_again(store, corpus):
    session = import_file(store, corpus / "pi" / "pi-mono-before-compaction.v3.jsonl").id
    first, second = rework_in(store, session)
    assert (first.calls, [each.after_calls for each in first.repeats], first.rereads) == (
        285,
        [51],
        Rereads(next3=1, next10=1, all=1),
    )
    assert (second.calls, second.repeated, second.rereads) == (157, 0, Rereads(next3=0, next10=0, all=1))
