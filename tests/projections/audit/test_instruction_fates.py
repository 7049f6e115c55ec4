"""Find instructions again in summaries and kept messages, and what contradicts them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from eventstore.memory import MemoryLog
from eventstore.records import Compaction, CustomMessage, Rewrite, TextReplacement
from projections.audit.instruction_fates import Rule
from projections.audit.instruction_fates import instructions as instructions_of
from projections.mentions.message_facts import SessionFacts
from tests.projections.test_replacement import replacements
from tests.support.claude_code import SESSION, answer, attached, boundary, bring, said, summary
from tests.support.events import NOW
from tests.support.examples import examples
from tests.support.native import native_events
from tests.support.talk import assistant, call, shell, text, user


def instructions(replacement):
    return instructions_of(replacement, SessionFacts())


@pytest.fixture
def after(story):
    """From what a user said, a summary of it, and messages that are kept, to what became of the instructions."""

    def measured(said, summary, *kept):
        story.says(user(said))
        first_kept, *_ = [*story.says(*kept), ""]
        story.add(Compaction(summary=summary, first_kept_entry_id=first_kept, tokens_before=1))
        return instructions(replacements(story.log)[0])

    return measured


def fates(measured):
    return [(each.state, each.similarity) for each in measured.rules]


@pytest.mark.parametrize(
    "summary",
    [
        "Never commit without asking.",
        "The user says, and has said it more than once: “**never** commit\n  without `asking`!” and more.",
        "## Rules\n- NEVER commit without asking",
    ],
)
def test_what_stands_in_the_summary_is_kept(after, summary):
    assert fates(after("Never commit without asking.", summary)) == [("kept", 1.0)]


def test_what_a_kept_message_repeats_is_kept(after):
    assert fates(after("use tabs", "nothing", user("ok"), assistant("I will use tabs."))) == [("kept", 1.0)]


def test_what_a_kept_call_wrote_is_kept(after):
    written = assistant(call("write", path="AGENTS.md", content="# Rules\nuse tabs\nand more"))
    assert fates(after("use tabs", "nothing", written)) == [("kept", 1.0)]


@pytest.mark.parametrize(
    "summary", ["Do not commit unless asked", "The user wants no commits without being asked first"]
)
def test_the_same_in_other_words_is_kept(after, summary):
    assert fates(after("Never commit without asking.", summary)) == [("kept", 1.0)]


@pytest.mark.parametrize(
    ("summary", "expected"),
    [("red walls, used", ("kept", 0.6)), ("red walls", ("gone", 0.4)), ("nothing", ("gone", 0.0))],
)
def test_three_words_of_five_are_enough_and_two_are_not(after, summary, expected):
    assert fates(after("always use red green blue walls", summary)) == [expected]


@pytest.mark.parametrize(
    ("said", "note"),
    [
        ("mock.patch is silly though, i dont like mock in tests at all", "User: NO mock; silent if ok"),
        (
            "the day comes from the argument, i dont want a clock read anywhere",
            "Rules: Python 3.11 (no clock, no class zoo)",
        ),
    ],
)
def test_a_terse_note_in_a_summary_keeps_a_rule(after, said, note):
    assert [state for state, _ in fates(after(said, note))] == ["kept"]


@pytest.mark.parametrize(
    "note", ["mock", "tests; mock.patch", "ran tests (mock)", "no class zoo", "do not use", "why no mock?"]
)
def test_a_note_about_something_else_does_not(after, note):
    assert [state for state, _ in fates(after("i dont like mock in tests at all", note))] == ["gone"]


@pytest.mark.parametrize(
    ("rule", "note"),
    [
        ("i dont like mock in tests at all", "Parser written (no tests)"),
        ("never push to main without asking me", "Status: not on main"),
        ("never commit secrets to the repo", "State: no commit; clean"),
        ("never run the migrations without a backup", "Files: (no backup)"),
    ],
)
def test_a_status_in_the_words_of_a_rule_does_not_say_it(after, rule, note):
    assert [state for state, _ in fates(after(rule, note))] == ["gone"]


@pytest.mark.parametrize("thing", ["docs", "repo"])
def test_a_rule_about_the_docs_can_be_noted_as_any_other(after, thing):
    assert [state for state, _ in fates(after(f"dont ever write {thing} here", f"User: no {thing}"))] == [
        "kept"
    ]


@pytest.mark.parametrize(
    ("then", "open_tasks"),
    [("go on", []), ("you have to write the parser for invoices", ["write the parser for invoices"])],
)
def test_a_task_that_is_given_again_was_not_done(story, then, open_tasks):
    story.says(user("write the parser for invoices"), assistant("Ok."))
    story.add(Compaction(summary="in short", first_kept_entry_id="", tokens_before=1))
    story.says(assistant("Done."), user(then))
    assert [task.text for task in instructions(replacements(story.log)[0]).unfinished] == open_tasks


@pytest.mark.parametrize("mark", [":", ";", " -", " because", ", so that"])
def test_what_explains_an_instruction_is_not_compared(after, mark):
    said = f"Never limit /healthz and /readyz{mark} a balancer polls both and takes instances out."
    assert fates(after(said, "/healthz and /readyz are never limited")) == [("kept", 1.0)]


@pytest.mark.parametrize(
    ("said", "summary"),
    [
        ("always fix this: red green blue", "it was always fixed"),
        ("the red green walls: always use blue ones", "the red green walls"),
    ],
)
def test_what_follows_too_little_or_no_order_is_compared(after, said, summary):
    assert [fate for fate, _ in fates(after(said, summary))] == ["gone"]


@pytest.mark.parametrize(
    ("said", "summary"),
    [
        ("Never push.", "push"),
        ("Never push.", "Push when it is done."),
        ("always push it", "never push it"),
        ("use tabs", "Do not use tabs."),
        ("Use tabs, not spaces.", "Use spaces, not tabs."),
    ],
)
def test_an_order_and_its_prohibition_are_not_alike(after, said, summary):
    assert [fate for fate, _ in fates(after(said, summary))] == ["gone"]


def test_a_rule_says_who_gave_it_and_what_is_nearest(after):
    measured = after(
        "Well. Always rename foo.py to bar.py.", "- moved foo.py\n- to bar.py it is always renamed"
    )
    assert measured.rules == [
        Rule(
            text="Always rename foo.py to bar.py.",
            event="e1",
            seq=1,
            state="kept",
            similarity=2 / 3,
            nearest="to bar.py it is always renamed",
            broken_by=[],
            repeated_by=[],
        )
    ]


def test_the_nearest_line_is_cut(after):
    (only,) = after("always use tabs", "x" * 400 + " tabs").rules
    assert only.nearest == "x" * 300


def test_figures_add_up(after):
    measured = after(
        "Use tabs. Never push. Always add red tests.", "Use tabs. Always adds tests.", user("No emojis.")
    )
    assert (measured.total, measured.kept, measured.gone, measured.tail, measured.share) == (
        3,
        2,
        1,
        1,
        2 / 3,
    )


def test_a_limit_of_a_task_is_neither_rule_nor_task(after):
    measured = after("keep buttons narrow", "nothing")
    assert (measured.total, measured.tasks) == (0, 0)


def test_a_task_is_no_rule(after):
    measured = after("Add a test for the parser.", "nothing")
    assert (measured.total, measured.tasks) == (0, 1)


def test_without_instructions_there_is_no_share(after):
    assert after("why is it slow?", "nothing").share is None


def test_an_instruction_given_again_counts_once_by_its_first_message(story):
    story.says(user("Use tabs."), user([text("**use** tabs"), text("!")]))
    story.add(Compaction(summary="nothing", first_kept_entry_id="", tokens_before=1))
    (only,) = replacements(story.log)
    assert [(each.text, each.event) for each in instructions(only).rules] == [("Use tabs.", "e1")]


def test_only_what_the_user_says_is_the_users(story):
    story.says(assistant("Use tabs."), shell("echo", "Use tabs."))
    story.add(CustomMessage(custom_type="x", content="Use tabs."))
    story.add(Compaction(summary="nothing", first_kept_entry_id="", tokens_before=1))
    assert instructions(replacements(story.log)[0]).total == 0


def test_a_rule_in_a_kept_message_is_in_the_tail(after):
    measured = after("hello", "nothing", user("Use tabs."))
    assert (measured.total, fates(measured)) == (0, [("tail", 1.0)])


def test_a_shell_command_that_the_model_does_not_see_keeps_nothing(after):
    hidden = shell("echo use tabs", excludeFromContext=True)
    assert fates(after("use tabs", "nothing", hidden)) == [("gone", 0.0)]


def test_a_rewrite_of_what_the_user_said_is_measured_too(story):
    story.says(user("Use tabs. Never push."))
    story.add(Rewrite(reason="prune", targets=[TextReplacement(target="e1", text="use tabs")]))
    assert fates(instructions(replacements(story.log)[0])) == [("kept", 1.0), ("gone", 0.0)]


@settings(max_examples=examples(150))
@given(appended=native_events())
def test_totals_add_up_whatever_a_session_holds(appended):
    log = MemoryLog(clock=lambda: NOW)
    log.append("s", appended)
    for replacement in replacements(log):
        found = instructions(replacement)
        assert found.total == found.kept + found.gone == len(found.rules) - found.tail


def compacted(first_kept, summary):
    return Compaction(summary=summary, first_kept_entry_id=first_kept, tokens_before=1)


def measured_of(story):
    return [instructions(each) for each in replacements(story.log)]


def test_an_instruction_that_the_summary_before_told_is_gone_when_the_next_one_does_not(story):
    story.says(user("Never touch the migrations."), assistant("ok"))
    story.add(compacted("e2", "Never touch the migrations."))
    story.says(user("next"), assistant("done"))
    story.add(compacted("e5", "All went well."))
    second = measured_of(story)[1]
    assert [(each.text, each.seq, each.state) for each in second.rules] == [
        ("Never touch the migrations.", 1, "gone")
    ]


def test_an_instruction_that_was_gone_before_is_not_lost_again(story):
    story.says(user("Never touch the migrations."), assistant("ok"))
    story.add(compacted("e2", "All went well."))
    story.says(user("next"), assistant("done"))
    story.add(compacted("e5", "All went well."))
    assert measured_of(story)[1].total == 0


def test_a_rule_typed_while_the_model_worked_in_claude_code_is_the_users(log, tmp_path):
    queued = {"type": "queued_command", "prompt": "never touch vendor/", "commandMode": "prompt"}
    notified = {"type": "queued_command", "prompt": "never mind", "commandMode": "task-notification"}
    lines = (
        said("u", None, "add a parser"),
        answer("a", "u", "m1", "reading"),
        attached("q", "a", queued),
        attached("n", "q", notified),
        answer("b", "n", "m2", "done"),
        boundary("c", "b"),
        summary("s", "c"),
        said("v", "s", "go on"),
    )
    bring(log, tmp_path / f"{SESSION}.jsonl", *lines)
    (found,) = instructions(replacements(log, SESSION)[0]).rules
    assert (found.text, found.state) == ("never touch vendor/", "gone")
