"""A person's pushback, and a model's concessions, in sentences that were made up for it."""

from __future__ import annotations

import pytest

from projections.mentions.pushback import concedes, pushback


@pytest.mark.parametrize(
    "words",
    [
        "you were supposed to keep the old API",
        "i asked for a dry run, not a real one",
        "not npm, pnpm",
        "we use pnpm here, not npm",
        "please don't do that",
        "what happened to the tooltip code?",
        "where did the tests go?",
        "where is the retry logic we had?",
        "this worked before",
        "bring back the old version",
        "you're in the wrong branch",
        "use the existing helper instead of writing a new one",
        "there is already a function for this",
        "didn't we fix this?",
        "i thought this was fixed",
        "it doesn't work",
        "still crashes",
        "same error",
        "you should be using the store",
        "have you even read the file?",
        "did you read the plan?",
        "are you sure?",
        "hang on, that is not the right approach",
        "why is the old code gone?",
        "i did not ask you to commit",
        "never commit without asking",
        "who told you to push?",
        "incorrect",
        "you did this already",
        "no, use the other parser",
        "as I said, no new files",
    ],
)
def test_a_person_pushes_back(words):
    assert pushback(words) >= 1
    assert pushback(words.capitalize()) >= 1


@pytest.mark.parametrize(
    "words",
    [
        "continue",
        "ok, go on with the next step",
        "add a test for the parser",
        "please commit and push",
        "can you explain how the store works?",
        "looks good, thanks",
        "no problem, continue",
        "let's add an option for this",
        "create a new branch and open a PR",
        "don't forget to update the changelog",
        "make sure that the tests pass",
        "use pnpm",
        "why is this slow?",
        "where is the config file?",
        "it works now",
        "i want you to remove the old code",
        "what happened in the last run?",
        "thanks, that fixed it",
        "keep going, I will be back in an hour",
        "which parts are still open?",
        "what is still missing?",
        "does it still need the flag?",
        "return early instead of adding a branch",
    ],
)
def test_a_person_asks_for_something_new(words):
    assert pushback(words) < 1


@pytest.mark.parametrize(
    ("answer", "does"),
    [
        ("You're right, it does.", True),
        ("Ah, good catch!", True),
        ("Sorry, I missed that.", True),
        ("The right file is store.py.", False),
        ("Done: you were right to ask.", False),
    ],
)
def test_a_model_concedes(answer, does):
    assert concedes(answer) == does


@pytest.mark.parametrize(
    "message",
    [
        "Great, the build still passes.",
        "Everything still looks good, go on",
        "the login page still loads fine, now add logout",
        "Can you compare what we had before with the new plan?",
        "we are not done yet, not today",
    ],
)
def test_good_news_and_plans_push_back_against_nothing(message):
    assert pushback(message) < 1
