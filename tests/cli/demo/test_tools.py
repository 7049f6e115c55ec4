from __future__ import annotations

from cli.demo.tools import Outcome, bash, edit, read, write


def test_a_read_gives_the_file_as_it_is_at_that_moment() -> None:
    call = read("a.py")
    assert call.perform({"a.py": "one"}).text == "one"
    assert call.perform({"a.py": "two"}).text == "two"


def test_a_write_puts_the_whole_file_on_the_disk() -> None:
    disk = {"a.py": "old"}
    assert write("a.py", "x\ny\n").perform(disk) == Outcome("Wrote 2 lines to a.py.")
    assert disk == {"a.py": "x\ny\n"}


def test_an_edit_replaces_what_stands_there_once() -> None:
    disk = {"a.py": "one two"}
    assert not edit("a.py", "two", "three").perform(disk).is_error
    assert disk == {"a.py": "one three"}


def test_an_edit_of_what_stands_there_twice_or_never_changes_nothing() -> None:
    disk = {"a.py": "one one"}
    for old, count in (("one", 2), ("three", 0)):
        outcome = edit("a.py", old, "x").perform(disk)
        assert outcome == Outcome(
            f"a.py holds the old text {count} times, not once; nothing was changed.", is_error=True
        )
    assert disk == {"a.py": "one one"}


def test_a_command_that_failed_says_with_which_code() -> None:
    outcome = bash("pytest", "\n1 failed\n", exit_code=1).perform({})
    assert outcome == Outcome("1 failed\n\nCommand exited with code 1", is_error=True)


def test_a_command_that_prints_nothing_says_so() -> None:
    assert bash("true", "").perform({}) == Outcome("(no output)")
