"""Extract the facts of a conversation, with and without an earlier summary."""

from __future__ import annotations

import pytest

from compaction.summarizers.facts import FactKind, collect_facts, mentioned_names
from projections.mentions.path_names import PathIndex
from tests.support.contexts import context_of
from tests.support.talk import assistant, call, result, shell, thinking, user


def glean(*messages, previous=""):
    return collect_facts(context_of(*messages).parts, previous).lines


def texts(lines):
    """Lines as they stand, in the order of their places."""
    return [line.text for line in sorted(lines, key=lambda line: line.place)]


def listed(lines):
    return [(line.head, line.text) for line in lines if line.head]


def done(said="The parser works on all files now."):
    return assistant(said)


def test_the_goal_is_what_was_asked_for_last_and_what_at_first():
    found = glean(user("build the parser"), done(), user("test the parser"), done(), user("name the parser"))
    assert texts(found[FactKind.GOAL]) == ["name the parser", "at first: build the parser"]
    assert texts(found[FactKind.REQUEST]) == ["test the parser"]


def test_one_request_is_told_once():
    assert texts(glean(user("build the parser"))[FactKind.GOAL]) == ["build the parser"]


def test_a_word_to_go_on_is_no_goal():
    assert texts(glean(user("build the parser"), done(), user("go on"))[FactKind.GOAL]) == [
        "build the parser"
    ]


def test_a_word_is_the_goal_where_nothing_else_was_asked_for():
    assert texts(glean(user("Thanks!"))[FactKind.GOAL]) == ["Thanks!"]


def test_rules_are_told_word_for_word_in_their_order():
    found = glean(user("Hello. Use tabs. Is it done?"), done(), user("Never touch the tests."))
    assert texts(found[FactKind.RULE]) == ["Use tabs.", "Never touch the tests."]


def test_the_newest_rule_goes_in_first():
    found = glean(user("Use tabs."), done(), user("Use spaces."))
    assert [line.text for line in found[FactKind.RULE]] == ["Use spaces.", "Use tabs."]


def test_rules_of_the_model_are_none():
    assert glean(assistant("Use tabs."), result("Use tabs."))[FactKind.RULE] == []


def test_what_was_done_are_the_answers_of_turns_that_are_over():
    found = glean(
        user("build the parser"), done("The parser works."), user("test it"), assistant("a", call("ls"))
    )
    assert found[FactKind.DONE] == []
    found = glean(user("build the parser"), done(), user("test it"), done("All of its tests pass."))
    assert texts(found[FactKind.DONE]) == ["The parser works on all files now.", "All of its tests pass."]


def test_a_turn_in_the_middle_is_in_progress():
    found = glean(user("build it"), assistant("First the parser.", call("ls")))
    assert texts(found[FactKind.DOING]) == ["First the parser."]


def test_plans_and_questions_are_those_of_the_newest_turn():
    said = "Next comes the printer module. Shall I begin with it?"
    found = glean(user("build it"), done("Then comes the parser module."), user("more"), done(said))
    assert texts(found[FactKind.PLAN]) == ["Next comes the printer module."]
    assert texts(found[FactKind.QUESTION]) == ["open question: Shall I begin with it?"]


def test_commands_are_told_with_how_they_went_last():
    found = glean(
        assistant(call("bash", "c1", command="make")),
        result("error: it broke", call_id="c1", is_error=True),
        assistant(call("bash", "c2", command="make")),
        result("fine", call_id="c2"),
        assistant(call("bash", "c3", command="make test")),
        result("error: one failed", call_id="c3", is_error=True),
    )
    assert texts(found[FactKind.COMMAND]) == ["`make`: ok", "`make test`: failed"]
    assert texts(found[FactKind.FAILING]) == ["`make test` failed: error: one failed"]


def test_what_failed_in_an_earlier_turn_is_not_in_the_way():
    found = glean(user("build it"), shell("make", "it broke", exitCode=1), user("never mind"), done())
    assert (texts(found[FactKind.COMMAND]), found[FactKind.FAILING]) == (["`make`: failed"], [])


def test_files_are_told_by_folder_and_those_that_were_changed_say_so():
    found = glean(
        assistant(call("read", path="src/core/a.ts"), call("edit", path="src/core/b.ts")),
        user("see docs/c.md"),
    )
    assert listed(found[FactKind.CHANGED]) == [("src/core/", "b.ts (changed)")]
    assert sorted(listed(found[FactKind.FILE])) == [("docs/", "c.md"), ("src/core/", "a.ts")]


def test_a_file_in_several_forms_is_told_once():
    found = glean(assistant(call("read", path="/repo/src/a.ts")), user("src/a.ts and a.ts"))
    assert listed(found[FactKind.FILE]) == [("/repo/src/", "a.ts")]


def test_what_most_absolute_paths_are_in_is_told_once():
    found = glean(assistant(*(call("read", path=f"/home/me/repo/{name}/x-{name}.ts") for name in "abc")))
    assert texts(found[FactKind.FILE])[0] == ". is /home/me/repo/"
    assert sorted(listed(found[FactKind.FILE])) == [(f"./{name}/", f"x-{name}.ts") for name in "abc"]


def test_names_are_told_that_are_long_enough_to_tell_something():
    assert listed(glean(user("see `parseAll`, `ab` and https://a.example/x"))[FactKind.NAME]) == [
        ("names", "parseAll"),
        ("names", "https://a.example/x"),
    ]


def test_what_thinking_names_is_told():
    assert listed(glean(assistant(thinking("see `parseAll`")))[FactKind.NAME]) == [("names", "parseAll")]


def test_a_command_that_is_kept_from_the_model_is_not_told():
    found = glean(shell("make secret", "error: broken thing", excludeFromContext=True))
    assert [lines for lines in found.values() if lines] == []


def test_of_nothing_nothing_is_told():
    assert [lines for lines in glean().values() if lines] == []


BEFORE = """\
## Goal
- mend the printer
- at first: build the parser

## Constraints & Preferences
- Use tabs.

## Progress
### Done
- [x] The parser works.
- src/: a.ts (changed)
### In Progress
- [ ] Now the printer.
### Blocked
- `make` failed: no rule

## Key Decisions
- One lock instead of two.

## Next Steps
- the printer's tests
- before: the parser's tests
- open question: Is that all?

## Critical Context
- The port is free.
- `make`: failed
- error: no rule there (2 times)
- src/: b.ts
- names: parseAll
"""


def test_a_summary_before_is_carried_on():
    found = glean(user("test the printer"), done("All tests of it pass."), previous=BEFORE)
    assert texts(found[FactKind.GOAL]) == ["test the printer", "at first: build the parser"]
    assert texts(found[FactKind.REQUEST]) == ["mend the printer"]
    assert texts(found[FactKind.RULE])[0] == "Use tabs."
    assert texts(found[FactKind.DONE]) == ["The parser works.", "All tests of it pass."]
    assert texts(found[FactKind.DECISION]) == ["One lock instead of two."]
    assert texts(found[FactKind.NOTE]) == ["The port is free."]
    assert texts(found[FactKind.COMMAND]) == ["`make`: failed"]
    assert texts(found[FactKind.ERROR]) == ["error: no rule there (2 times)"]
    assert listed(found[FactKind.CHANGED]) == [("src/", "a.ts (changed)")]
    assert ("src/", "b.ts") in listed(found[FactKind.FILE])
    assert ("names", "parseAll") in listed(found[FactKind.NAME])


def test_what_may_no_longer_hold_is_carried_on_once_and_says_so():
    found = glean(user("test the printer"), done(), previous=BEFORE)
    assert texts(found[FactKind.PLAN]) == ["before: the printer's tests"]
    assert texts(found[FactKind.FAILING]) == ["before: `make` failed: no rule"]
    assert (found[FactKind.DOING], found[FactKind.QUESTION]) == ([], [])


def test_where_nothing_came_since_all_of_it_still_holds():
    found = glean(previous=BEFORE)
    assert texts(found[FactKind.GOAL]) == ["mend the printer", "at first: build the parser"]
    assert texts(found[FactKind.DOING]) == ["Now the printer."]
    assert texts(found[FactKind.PLAN]) == ["the printer's tests", "before: the parser's tests"]
    assert texts(found[FactKind.FAILING]) == ["`make` failed: no rule"]
    assert texts(found[FactKind.QUESTION]) == ["open question: Is that all?"]


def test_a_rule_that_was_all_of_the_goal_is_a_rule_when_the_goal_is_another():
    found = glean(user("test the printer"), previous="## Goal\n- Never touch the lexer.")
    assert "Never touch the lexer." in texts(found[FactKind.RULE])


def test_a_command_that_is_run_again_is_told_with_its_new_outcome():
    found = glean(shell("make", "fine"), previous=BEFORE)
    assert texts(found[FactKind.COMMAND]) == ["`make`: ok"]


def test_a_file_that_is_changed_after_it_was_read_is_one_that_was_changed():
    found = glean(assistant(call("edit", path="src/b.ts")), previous=BEFORE)
    assert sorted(listed(found[FactKind.CHANGED])) == [("src/", "a.ts (changed)"), ("src/", "b.ts (changed)")]


@pytest.mark.parametrize("role", ["compactionSummary", "branchSummary"])
def test_a_summary_among_the_messages_is_carried_on_as_one(role):
    found = glean({"role": role, "summary": "## Instructions\n- Use tabs."}, user("go on with it"))
    assert texts(found[FactKind.RULE])[0] == "Use tabs."


def test_so_is_the_document_of_a_handoff_and_no_other_message_of_an_extension():
    found = glean(
        {"role": "custom", "customType": "handoff", "content": "## Instructions\n- Use tabs."},
        {"role": "custom", "customType": "status", "content": "all is well"},
    )
    assert (texts(found[FactKind.RULE]), found[FactKind.NOTE]) == (["Use tabs."], [])


def test_a_text_names_its_paths_in_their_whole_forms():
    assert mentioned_names("see a.ts and `parseAll`", PathIndex(["/repo/src/a.ts"])) == {
        "/repo/src/a.ts",
        "parseAll",
    }


def test_a_turn_in_the_middle_goes_on_if_nothing_else_is_planned():
    found = glean(user("build it"), assistant("Now I will write the parser.", call("ls")))
    assert texts(found[FactKind.PLAN]) == ["go on with what is in progress"]
    found = glean(user("test it"), done(), previous="## Next Steps\n- go on with what is in progress")
    assert found[FactKind.PLAN] == []
