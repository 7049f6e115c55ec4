"""Find work that is done again after replacements, worked out by hand."""

from __future__ import annotations

from itertools import count

import pytest

from eventstore.records import Compaction, Rewrite, TextReplacement
from projections.audit.rework import FailedAgain, FetchedAgain, rework
from projections.tokens import counter
from tests.projections.test_replacement import replacements
from tests.support.measured import ref
from tests.support.talk import assistant, call, result, user

TEXT = "\n".join(f"line {number} of the parser" for number in range(1, 9))
NUMBERED = "\n".join(f"{number:6}→{line}" for number, line in enumerate(TEXT.splitlines(), 1))
TOKENS = counter("utf16/4")


class Worker:
    """Calls tools in a story: every call is a message, and its result the next."""

    def __init__(self, story):
        self.story, self.ids = story, count()

    def does(self, tool, *, fails=False, gives="done", **arguments):
        """Return the number of the result."""
        call_id = f"c{next(self.ids)}"
        answer = result(gives, tool=tool, call_id=call_id, is_error=fails)
        return self.story[self.story.says(assistant(call(tool, call_id, **arguments)), answer)[1]].seq

    def reads(self, path="a.py", gives=TEXT, **arguments):
        return self.does("read", path=path, gives=gives, **arguments)

    def fails(self, command="make", gives="no rule"):
        return self.does("bash", command=command, gives=gives, fails=True)

    def compacts(self, first_kept=""):
        return self.story.add(Compaction(summary="s", first_kept_entry_id=first_kept, tokens_before=9))

    def found(self):
        return [rework(each, TOKENS) for each in replacements(self.story.log, "s")]

    def fetched(self):
        return [(each.first.seq, each.again.seq) for each in self.found()[-1].fetched]

    def failed(self):
        return [(each.first.seq, each.again.seq) for each in self.found()[-1].failed]


@pytest.fixture
def worker(story):
    story.says(user("go"))
    return Worker(story)


def test_a_file_whose_content_left_is_fetched_again(worker):
    first = worker.reads()
    worker.compacts()
    again = worker.reads()
    (only,) = worker.found()
    assert (only.calls, only.failed) == (1, [])
    assert only.fetched == [
        FetchedAgain(file="a.py", first=ref(first), again=ref(again), tokens=TOKENS.of_text(TEXT))
    ]


def test_numbers_of_lines_make_no_difference(worker):
    worker.reads(gives=NUMBERED)
    worker.compacts()
    worker.reads()
    assert [each.tokens for each in worker.found()[0].fetched] == [TOKENS.of_text(TEXT)]


def test_only_lines_held_before_are_counted(worker):
    worker.reads()
    worker.compacts()
    worker.reads(gives=f"{TEXT}\nand one more")
    assert worker.found()[0].tokens == TOKENS.of_text(TEXT)


def test_a_part_first_read_is_not_fetched_again(worker):
    worker.reads()
    worker.compacts()
    worker.reads(gives=TEXT.replace("parser", "lexer"))
    assert worker.fetched() == []


def test_less_than_half_the_lines_is_other_content(worker):
    worker.reads(gives="\n".join(TEXT.splitlines()[:3]))
    worker.compacts()
    worker.reads()
    assert worker.fetched() == []


def test_content_that_is_still_shown_is_not_lost(worker):
    worker.reads()
    kept = worker.reads()
    worker.compacts(f"e{kept - 1}")
    worker.reads()
    assert worker.fetched() == []


def test_the_first_result_has_most_of_the_lines(worker):
    first = worker.reads()
    worker.reads(gives=TEXT.splitlines()[0])
    worker.compacts()
    again = worker.reads()
    assert worker.fetched() == [(first, again)]


def test_reminders_of_a_harness_are_no_content(worker):
    reminder = "<system-reminder>\nWhenever you read a file, think.\n</system-reminder>"
    worker.reads(gives=f"one line\n{reminder}")
    worker.compacts()
    worker.reads(gives=f"another line\n{reminder}")
    assert worker.fetched() == []


def test_content_counts_the_first_time_alone(worker):
    first = worker.reads()
    worker.compacts()
    again = worker.reads()
    worker.reads()
    assert worker.fetched() == [(first, again)]


def test_a_file_that_was_written_since_has_to_be_read(worker):
    worker.reads()
    worker.compacts()
    worker.does("edit", path="a.py")
    worker.reads()
    assert worker.fetched() == []


def test_a_write_that_failed_makes_no_difference(worker):
    first = worker.reads()
    worker.compacts()
    worker.does("edit", path="a.py", fails=True)
    again = worker.reads()
    assert worker.fetched() == [(first, again)]


def test_another_file_is_not_fetched_again(worker):
    worker.reads()
    worker.compacts()
    worker.reads(path="b.py")
    assert worker.fetched() == []


def test_a_result_that_a_rewrite_replaced_is_lost(worker):
    first = worker.reads()
    shown = TextReplacement(target=f"e{first}", text="[pruned]")
    worker.story.add(Rewrite(reason="prune", targets=[shown]))
    again = worker.reads()
    assert worker.fetched() == [(first, again)]


def test_the_next_compaction_ends_the_search(worker):
    worker.reads()
    worker.compacts()
    worker.compacts()
    worker.reads()
    assert [each.fetched for each in worker.found()] == [[], []]


def test_a_call_that_had_failed_fails_again(worker):
    first = worker.fails()
    worker.compacts()
    again = worker.fails()
    assert worker.found()[0].failed == [
        FailedAgain(tool="bash", target="make", first=ref(first), again=ref(again))
    ]


def test_another_call_that_fails_is_no_repetition(worker):
    worker.fails()
    worker.compacts()
    worker.fails("make all")
    assert worker.failed() == []


def test_arguments_are_equal_however_their_json_is_written(worker):
    first = worker.does("bash", command="make", timeout=1, fails=True)
    worker.compacts()
    again = worker.does("bash", timeout=1, command="make", fails=True)
    assert worker.failed() == [(first, again)]


def test_a_success_is_no_repeated_failure(worker):
    worker.fails()
    worker.compacts()
    worker.does("bash", command="make")
    assert worker.failed() == []


@pytest.mark.parametrize("place", ["before", "after"])
def test_a_failure_after_a_write_is_another_one(worker, place):
    worker.fails()
    if place == "before":
        worker.does("edit", path="a.py")
    worker.compacts()
    if place == "after":
        worker.does("edit", path="a.py")
    worker.fails()
    assert worker.failed() == []


def test_a_failure_still_shown_is_not_lost(worker):
    kept = worker.fails()
    worker.compacts(f"e{kept - 1}")
    worker.fails()
    assert worker.failed() == []


def test_without_anything_later_there_is_no_rework(worker):
    worker.reads()
    worker.compacts()
    (only,) = worker.found()
    assert (only.calls, only.fetched, only.failed, only.tokens) == (0, [], [], 0)
