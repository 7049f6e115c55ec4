"""Rules that stand, tasks that are done once, and sentences that are neither."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.mentions.instructions import instructions_in, mended
from projections.mentions.standing_rules import InstructionKind, find_instructions, kind_of
from tests.labels.rules import labelled_sentences
from tests.support.growth import NO_SQUARE, times_as_long

RULE, TASK = InstructionKind.RULE, InstructionKind.TASK


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("Never commit without asking.", RULE),
        ("Use tabs, not spaces.", RULE),
        ("read a.ts (don't read all of it)", RULE),
        ("I think a class for it is overkill", RULE),
        ("can we make it so we keep the old code around?", RULE),
        ("plase don't rewrite teh changelog.md make surgical edits", RULE),
        ("Add a test for the parser.", TASK),
        ("Don't forget to push.", TASK),
        ("Don't push yet.", TASK),
        ("Never push, not even today.", RULE),
        ("let's keep the public API unchanged", RULE),
        ("let's not add dependencies", RULE),
        ("the config stays in pyproject.toml", RULE),
        ("I want every function documented", RULE),
        ("stay away from the legacy folder", RULE),
        ("treat warnings as errors", RULE),
        ("please use british spelling", RULE),
        ("don't force push from now on", RULE),
        ("fix the import, never change a test, and rerun it", RULE),
        ("fix the import, don't change the test, and rerun it", TASK),
        ("should be smaller, don't change the layout, look at the css", TASK),
        ("fix the bug in store.py, don't touch the tests now", TASK),
        ("can you add a test for the parser?", TASK),
        ("remove it, it is never used", TASK),
        ("propose where each of these files should go.", TASK),
        ("ok, do nothing, can we add some tests?", RULE),
        ("the second session should just do nothing", RULE),
        ("let's store it there, can you show it?", None),
        ("it may not be exercised in practice", None),
        ("Why is it slow?", None),
        ("can it see you?", None),
        ('"never push" is what it says', None),
    ],
)
def test_a_rule_stands_and_a_task_is_done_once(sentence: str, kind: InstructionKind | None) -> None:
    assert kind_of(sentence) is kind


@pytest.mark.parametrize(
    "sentence",
    [
        "let's keep going",
        "no, the header should stay as it is",
        "that must never happen",
        "this should never have worked",
        "I'd rather do the second one",
        "I prefer option 2",
        "I don't want to spend time on this now",
        "the service stays down after the restart",
    ],
)
def test_choices_reports_and_answers_are_no_rules(sentence: str) -> None:
    assert kind_of(sentence) is not RULE


@pytest.mark.parametrize("is_held_out", [False, True])
def test_nine_rules_of_ten_are_told_from_tasks(*, is_held_out: bool) -> None:
    sentences = [each for each in labelled_sentences() if each.is_held_out == is_held_out]
    assert len(sentences) > 80
    labelled = {each.text for each in sentences if each.label == "rule"}
    found = {each.text for each in sentences if kind_of(each.text) is RULE}
    assert len(found & labelled) / len(found) >= 0.9
    assert len(found & labelled) / len(labelled) >= 0.85


def test_most_sentences_that_are_no_rules_are_told_apart_too() -> None:
    others = [each for each in labelled_sentences() if each.label != "rule"]
    right = [each for each in others if (kind_of(each.text) or "none") == each.label]
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
    assert kind_of("edti the readme") is TASK
    assert kind_of("the edti of the readme") is None


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
        kind_of.__wrapped__(text[:600])

    assert times_as_long(classify, piece * 20, piece * 40) < NO_SQUARE


def test_sentences_of_a_pasted_review_are_no_instructions_but_those_before_it_are() -> None:
    review = (
        "All reviews are in.\n\n## Code review\n\n- Keep the codec for the fallback.\n- Never log tokens.\n"
    )
    found = find_instructions(f"Never push to main. Fix what is right in this:\n\n{review}")
    assert [each.text for each in found] == ["Never push to main.", "Fix what is right in this:"]
    assert find_instructions("## Rules\n\n- Never log tokens.\n")[0].kind is RULE
