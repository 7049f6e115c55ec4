"""Rules that stand, tasks that are done once, and sentences that are neither."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.mentions.instructions import instructions_in, mended
from projections.mentions.standing_rules import InstructionKind, find_instructions, kind_of_sentence
from tests.labels.rules import labelled_sentences
from tests.support.growth import NO_SQUARE, times_as_long

RULE, LIMIT, TASK = InstructionKind.RULE, InstructionKind.LIMIT, InstructionKind.TASK


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("Never commit without asking.", RULE),
        ("Use tabs, not spaces.", RULE),
        ("read a.ts (don't read all of it)", LIMIT),
        ("I think a class for it is overkill", LIMIT),
        ("can we make it so we keep the old code around?", RULE),
        ("plase don't rewrite teh changelog.md make surgical edits", RULE),
        ("Add a test for the parser.", TASK),
        ("Don't forget to push.", TASK),
        ("Don't push yet.", TASK),
        ("Never push, not even today.", RULE),
        ("let's keep the public API unchanged", RULE),
        ("let's not add dependencies", RULE),
        ("lets not add dependencies", RULE),
        ("this lets nobody add dependencies", None),
        ("for future reference, save my prompts", RULE),
        ("put the memo into a file for future reference", TASK),
        ("if something seems difficult consult me first before acting", RULE),
        ("if the server answers tell me the port", None),
        ("the config stays in pyproject.toml", RULE),
        ("I want every function documented", RULE),
        ("stay away from the legacy folder", RULE),
        ("treat warnings as errors", RULE),
        ("please use british spelling", RULE),
        ("don't force push from now on", RULE),
        ("fix the import, never change a test, and rerun it", RULE),
        ("fix the import, don't change the test, and rerun it", LIMIT),
        ("should be smaller, don't change the layout, look at the css", LIMIT),
        ("fix the bug in store.py, don't touch the tests now", TASK),
        ("can you add a test for the parser?", TASK),
        ("remove it, it is never used", TASK),
        ("propose where each of these files should go.", TASK),
        ("ok, do nothing, can we add some tests?", RULE),
        ("the second session should just do nothing", RULE),
        ("let's store it there, can you show it?", None),
        ("it may not be exercised in practice", None),
        ("Why is it slow?", None),
        ("please do no t use jquery", RULE),
        ("only touch src/", RULE),
        ("no one-liners", LIMIT),
        ("surgical edits only", RULE),
        ("nothing in legacy/ gets touched", RULE),
        ("from here on use tabs", RULE),
        ("write tests for everything you add", RULE),
        ("for commits, use the imperative mood", RULE),
        ("in the docs prefer short sentences", RULE),
        ("let me review each change before you go on", RULE),
        ("looks good but don't crowd the page", LIMIT),
        ("open a new window and stop using the old tools", RULE),
        ("I want the copy to not use symlinks at all", RULE),
        ("use descriptive names", RULE),
        ("make sure you're not touching other services", RULE),
        ("make sure to run it after you change it", LIMIT),
        ("you should be using the test helpers", RULE),
        ("don't change it without asking", RULE),
        ("please write it without asking", TASK),
        ("remember to create the repository", TASK),
        ("only commit the files of this fix", TASK),
        ("no undo that, keep it marked as failed", LIMIT),
        ("add a suffix to each image", TASK),
        ("change the agent to prevent this in the future", TASK),
        ("use the second option", TASK),
        ("use a parser that handles unicode", TASK),
        ("let's use go instead of rust", TASK),
        ("please dont stop until it is finished", TASK),
        ("find out why the always-on flag is ignored", TASK),
        ("keep it as a fallback if the new one fails", LIMIT),
        ("plan this feature before you write any code", LIMIT),
        ("simplify the app so that when you take a photo it shows up here", TASK),
        ("I get an error when trying to log in, please help", TASK),
        ("can it see you?", None),
        ('"never push" is what it says', None),
        ("no additional components", LIMIT),
        ("don't resize it", LIMIT),
        ("only look at the last twelve months", LIMIT),
        ("keep buttons narrow", LIMIT),
        ("always resize it", RULE),
        ("no comments in the code", RULE),
        ("keep commits small", RULE),
        ("don't use jquery", RULE),
        ("don't resize images unless I say so", RULE),
        ("the summary should not hold paths", RULE),
        ("add a log that holds the date, you shall never delete from it", RULE),
        ("log this here, and do so in all future sessions", RULE),
        ("prepare all candidates and ask me to decide", RULE),
        ("let's ensure no spaces in names of variables", RULE),
        ("I prefer FastAPI", RULE),
        ("everything users enter should be stored in SQL", RULE),
        ("I don't want a quick fix", RULE),
        ("I do not want default data", RULE),
        ("maintain the goals of clean code", RULE),
        ("don't edit the plan itself", LIMIT),
        ("be sure if you completed the task", TASK),
        ("ugh, use hex values in the themes, no names", RULE),
        ("I prefer the blue one", LIMIT),
        ("we should write the tests first", RULE),
        ("follow docs/plan.md exactly", TASK),
        ("keep the sidebar and the footer", TASK),
        ("for now hide the videos always", TASK),
    ],
)
def test_a_rule_stands_and_a_task_is_done_once(sentence: str, kind: InstructionKind | None) -> None:
    assert kind_of_sentence(sentence) is kind


@pytest.mark.parametrize(
    "sentence",
    [
        "let's keep going",
        "no, the header should stay as it is",
        "that must never happen",
        "this should never have worked",
        "I'd rather do the second one",
        "I prefer option 2",
        "I like the latter more.",
        "I don't want it to do that",
        "it should not crash",
        "all icons should be present there",
        "I don't want to disable it",
        "no let's keep going",
        "I will send them from now on",
        "avoid the flicker when scrolling",
        "no our next step is to make it faster",
        "let's commit this state before deploying",
        "I don't want to spend time on this now",
        "the service stays down after the restart",
    ],
)
def test_choices_reports_and_answers_are_no_rules(sentence: str) -> None:
    assert kind_of_sentence(sentence) is not RULE


@pytest.mark.parametrize("is_held_out", [False, True])
def test_nine_rules_of_ten_are_told_from_tasks(*, is_held_out: bool) -> None:
    sentences = [each for each in labelled_sentences() if each.is_held_out == is_held_out]
    assert len(sentences) > 80
    labelled = {each.text for each in sentences if each.label == "rule"}
    found = {each.text for each in sentences if kind_of_sentence(each.text) is RULE}
    assert len(found & labelled) / len(found) >= 0.9
    assert len(found & labelled) / len(labelled) >= 0.85


def test_most_sentences_that_are_no_rules_are_told_apart_too() -> None:
    others = [each for each in labelled_sentences() if each.label != "rule"]
    right = [each for each in others if (kind_of_sentence(each.text) or "none") == each.label]
    assert len(right) / len(others) >= 0.9


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("plase", "please"),
        ("nevver", "never"),
        ("alwyas", "always"),
        ("edti", "edit"),
        ("rewrte", "rewrite"),
        ("teh", "the"),
        ("every", "every"),
        ("ready", "ready"),
        ("rewrites", "rewrites"),
        ("rest", "rest"),
        ("edgy", "edgy"),
        ("eit", "eit"),
    ],
)
def test_typing_errors_are_mended_and_other_words_are_not(word: str, meant: str) -> None:
    assert mended(word, frozenset({"edit", "read", "rewrite", "reset"})) == meant


def test_a_verb_is_mended_only_where_an_order_may_stand() -> None:
    assert kind_of_sentence("edti the readme") is TASK
    assert kind_of_sentence("the edti of the readme") is None


@pytest.mark.parametrize(
    "inserted",
    [
        "Base directory for this skill: /skills/review\n\nNever commit.",
        "# AGENTS.md instructions for /work\n\nNever commit.",
        "Implement the following plan:\n\nNever commit.",
        "<system-reminder>\nNever commit.\n</system-reminder>",
        "<skill>\nNever commit.\n</skill>",
    ],
)
def test_what_a_harness_or_a_skill_inserted_is_no_rule_of_the_users(inserted: str) -> None:
    assert find_instructions(inserted) == []


@given(st.text(max_size=200))
def test_every_instruction_of_a_text_has_a_kind(text: str) -> None:
    found = [each.text for each in find_instructions(text)]
    assert set(instructions_in(text)) <= set(found)
    assert len(found) == len(set(found))


@pytest.mark.parametrize(
    "piece", ["never push ", "keep it, ", "use (a) ", "no no ", "every x must ", "if a "]
)
def test_time_does_not_grow_with_the_square_of_a_sentence(piece: str) -> None:
    def classify(text: str) -> None:
        kind_of_sentence.__wrapped__(text[:600])

    assert times_as_long(classify, piece * 20, piece * 40) < NO_SQUARE


def test_a_specification_sets_rules_only_where_it_says_so() -> None:
    said = "No comments in the code.\nNever push."
    kinds = [each.kind for each in find_instructions(f"{said}\n\n{'It shows the list. ' * 120}")]
    assert kinds == [LIMIT, RULE]
    assert [each.kind for each in find_instructions(said)] == [RULE, RULE]


def test_sentences_of_a_pasted_review_are_no_instructions_but_those_before_it_are() -> None:
    review = (
        "All reviews are in.\n\n## Code review\n\n- Keep the codec for the fallback.\n- Never log tokens.\n"
    )
    found = find_instructions(f"Never push to main. Fix what is right in this:\n\n{review}")
    assert [each.text for each in found] == ["Never push to main.", "Fix what is right in this:"]
    assert find_instructions("## Rules\n\n- Never log tokens.\n")[0].kind is RULE
