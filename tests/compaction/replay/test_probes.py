"""Ask compacted contexts what was modified, forbidden and asked for, and which command failed."""

from __future__ import annotations

from collections import Counter

import pytest

from compaction.replay.probes import MOST_OF_A_QUESTION, answered, probes_at
from eventstore.memory import MemoryLog
from projections.context.build import context_at
from projections.context.cursor import path, resolve_cursor
from projections.mentions.message_facts import SessionFacts
from tests.support.talk import Story, assistant, call, result, user


@pytest.fixture
def story() -> Story:
    return Story(MemoryLog(clock=lambda: 0))


def found(story: Story) -> tuple[Counter[str], int]:
    """The number of probes by question, and how many the whole context answers."""
    with story.log.snapshot() as snapshot:
        cursor = resolve_cursor(snapshot, story.session)
        facts = SessionFacts()
        probes = probes_at(path(snapshot, cursor), facts)
        return Counter(probe.question for probe in probes), answered(
            probes, context_at(snapshot, cursor), facts
        )


def probes_answered_by(story: Story, *lines: str) -> int:
    """Return how many probes of a session a context of these messages answers."""
    other = Story(MemoryLog(clock=lambda: 0))
    other.says(*map(user, lines))
    with story.log.snapshot() as snapshot, other.log.snapshot() as others:
        facts = SessionFacts()
        probes = probes_at(path(snapshot, resolve_cursor(snapshot, story.session)), facts)
        return answered(probes, context_at(others, resolve_cursor(others, other.session)), SessionFacts())


def fails(story: Story, command: str, output: str) -> None:
    story.says(
        assistant(call("bash", "c1", command=command)),
        result(output, tool="bash", call_id="c1", is_error=True),
    )


def test_a_whole_context_answers_everything(story: Story) -> None:
    story.says(user("Repair the parser in this project. Never touch the generated files."))
    story.says(
        assistant(call("edit", "c0", path="src/parser.py", newText="x")),
        result("done", tool="edit", call_id="c0"),
    )
    fails(
        story, "cd /work && npm run check", "src/parser.py: missing semicolon\n\nCommand exited with code 1"
    )
    questions, answers = found(story)
    assert questions == {"modified": 1, "forbidden": 1, "failed": 1, "asked": 1}
    assert answers == 4


@pytest.mark.parametrize(
    ("said", "probes"),
    [
        ("Never touch the generated files.", 1),
        ("Please don't change anything under vendor/parsers.", 1),
        ("I don't know why the build fails.", 0),
        ("Don't worry about formatting problems yet.", 0),
    ],
)
def test_only_rules_that_forbid_are_asked_for(story: Story, said: str, probes: int) -> None:
    story.says(user(f"Hello. {said}"))
    assert found(story)[0]["forbidden"] == probes


def test_an_empty_context_answers_nothing(story: Story) -> None:
    story.says(user("Never touch the generated files."))
    assert probes_answered_by(story, "Hello.") == 0


@pytest.mark.parametrize(
    ("line", "answers"),
    [
        ("src/parser.py was changed", 1),
        ("SRC/Parser.py was changed", 1),
        ("parser.py was changed", 0),
        ("src/parsers.py was changed", 0),
        ("src/parser.pyi was changed", 0),
        ("mysrc/parser.py was changed", 0),
        ("src/parser.py.bak was changed", 0),
        ("Changed: ./src/parser.py.", 1),
    ],
)
def test_a_file_is_named_by_its_folder_and_name(story: Story, line: str, answers: int) -> None:
    story.says(assistant(call("edit", "c0", path="/home/me/src/parser.py", newText="x")))
    assert probes_answered_by(story, line) == answers


def test_a_failure_needs_the_command_and_what_it_said(story: Story) -> None:
    fails(story, "cd /work && npm run check", "missing semicolon behind return\nCommand exited with code 1")
    assert probes_answered_by(story, "`npm run check` failed: missing semicolon behind the return") == 1
    assert probes_answered_by(story, "`npm run check` failed") == 0
    assert probes_answered_by(story, "there was a missing semicolon behind return") == 0


def test_words_count_in_one_paragraph_only(story: Story) -> None:
    story.says(user("Never touch generated files without asking"))
    assert probes_answered_by(story, "The user: never touch generated files without asking.") == 2
    assert (
        probes_answered_by(story, "Never touch it.\n\nThe generated files grow.\n\nWithout asking, go on.")
        == 0
    )


def test_no_question_has_more_than_its_newest_answers(story: Story) -> None:
    story.says(*(user(f"Please write chapter number{number} about history") for number in range(30)))
    questions, _ = found(story)
    assert questions == {"asked": MOST_OF_A_QUESTION}


def test_an_edit_that_failed_modified_nothing(story: Story) -> None:
    story.says(
        assistant(call("edit", "c0", path="src/parser.py", newText="x")),
        result("no such text", tool="edit", call_id="c0", is_error=True),
    )
    questions, _ = found(story)
    assert questions == {}
