"""Statements of summaries about a person: planted ones are found, those with false proof refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from compaction.judge.checks import Checked, check_claims
from compaction.judge.claims import MOST_STATEMENTS, claims_in
from compaction.judge.material import Material, materials
from eventstore.memory import MemoryLog
from eventstore.records import Compaction
from projections.context.cursor import resolve_cursor
from tests.compaction.judge.lossy import answer, material_of, quote
from tests.support import claude_code
from tests.support.talk import Story, assistant, call, result, user

MADE = "The person approved the release to production on Friday."
"""Planted: nobody said it."""
TRUE = "They want small commits."
OLD = "They decided on SQLite."
SUMMARY = f"{TRUE} {MADE} {OLD} They said “ship it before the weekend”. They said “commit in small steps”."


def planted() -> Material:
    """A session whose second summary has statements that nobody made."""
    story = Story(MemoryLog())
    story.says(user("Take SQLite for the store."))
    story.add(Compaction(summary="Decision of the person: SQLite.", first_kept_entry_id="", tokens_before=9))
    story.says(
        user("Please commit in small steps, each with its test."),
        assistant("I will release to production on Friday, if you approve."),
        assistant(call("bash", "c1", command="cat plan.md")),
        result("APPROVED by the owner: release to production on Friday.", call_id="c1"),
        assistant(call("AskUserQuestion", "c2", question="Push to main?")),
        result("The answer to “Push to main?” is “No, never.”", tool="AskUserQuestion", call_id="c2"),
    )
    story.add(Compaction(summary=SUMMARY, first_kept_entry_id="", tokens_before=9))
    story.says(user("The release to production on Friday is approved."))
    return material_of(story, 1)


def checked(**claim: Any) -> Checked:
    found = claims_in(answer(statements=[{"said": [], **claim}]))
    assert found is not None
    return check_claims(found, planted())


FALSE: Final[list[tuple[dict[str, Any], str]]] = [
    # A file, the model, a call, and words behind the boundary are nobody's.
    ({"said": [quote(6, "APPROVED by the owner")]}, "no person said"),
    ({"said": [quote(4, "release to production on Friday, if you approve")]}, "no person said"),
    ({"said": [quote(5, "bash command: cat plan.md")]}, "no person said"),
    ({"said": [quote(10, "The release to production on Friday is approved.")]}, "no person said"),
    ({"said": [quote(3, "Please release on Friday")]}, "no person said"),
    ({"said": [quote(3, "steps")]}, "no person said"),
    # One false quotation spoils the claim.
    ({"said": [quote(3, "commit in small steps"), quote(6, "APPROVED by the owner")]}, "no person said"),
    ({"in_previous": "The person approved."}, "the previous summary does not say"),
    ({"sentence": "They want large commits."}, "the summary does not say it"),
    ({"sentence": "person"}, "the summary does not say it"),
    # What is nobody's must not stand where a person said it.
    ({"sentence": "They said “commit in small steps”."}, "a person said “commit in small steps” at #3"),
    ({"sentence": "commit in small steps"}, "a person said"),
]
"""Claims about statements, each without proof, and the reason why it is refused."""


@pytest.mark.parametrize(
    "sentence", [MADE, "approved the release to production", "They said “ship it before the weekend”."]
)
def test_planted_statements_are_nobodys(sentence: str) -> None:
    (found,) = checked(sentence=sentence).statements
    assert found.is_unfounded


@pytest.mark.parametrize(
    ("claim", "event"),
    [
        ({"sentence": TRUE, "said": [quote(3, "commit in small steps")]}, 3),
        ({"sentence": TRUE, "said": [quote(5, "commit in small steps")]}, 3),
        ({"sentence": TRUE, "said": [quote(8, "is “No, never.”")]}, 8),
    ],
)
def test_statements_rest_on_a_persons_words(claim: dict[str, Any], event: int) -> None:
    (found,) = checked(**claim).statements
    assert (found.is_unfounded, [each.seq for each in found.said]) == (False, [event])


def test_a_statement_may_rest_on_older_summaries() -> None:
    (found,) = checked(sentence=OLD, in_previous="Decision of the person: SQLite.").statements
    assert (found.is_unfounded, found.in_previous) == (False, "Decision of the person: SQLite.")


@pytest.mark.parametrize(("claim", "reason"), FALSE)
def test_a_false_statement_is_refused(claim: dict[str, Any], reason: str) -> None:
    found = checked(**{"sentence": MADE, **claim})
    assert found.statements == []
    assert reason in found.refused[0].reason


def test_a_short_answer_is_somebodys() -> None:
    story = Story(MemoryLog())
    story.says(assistant("Shall I add more tests?"), user("Yes."))
    story.add(Compaction(summary='They said "yes" to more tests.', first_kept_entry_id="", tokens_before=9))
    claims = claims_in(answer(statements=[{"sentence": 'They said "yes" to more tests.', "said": []}]))
    assert claims is not None
    (refused,) = check_claims(claims, material_of(story)).refused
    assert "a person said “yes” at #2" in refused.reason


def test_words_of_older_summaries_are_somebodys() -> None:
    story = Story(MemoryLog())
    story.says(user("Take SQLite."))
    for text in ("They said: take SQLite for all.", "They said: take SQLite for all. Done."):
        story.add(Compaction(summary=text, first_kept_entry_id="", tokens_before=9))
        story.says(user("Go on."))
    claims = claims_in(answer(statements=[{"sentence": "They said: take SQLite for all.", "said": []}]))
    assert claims is not None
    (refused,) = check_claims(claims, material_of(story, 1)).refused
    assert "the previous summary says" in refused.reason


REFUSAL: Final = (
    "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\n"
)
TOLD: Final = (
    'They said: "write it to a file, commit nothing". They refused the push. They asked for a review.'
    ' They said "and look at the last comment".'
)


def acts(tmp_path: Path, parent: str | None = None) -> Material:
    """A session of Claude Code in which a person acts, by other means than a message."""
    log = MemoryLog()
    lines = [
        claude_code.said("u1", parent, "Build it."),
        claude_code.answer("a1", "u1", "m1", claude_code.call("c1", "Bash", command="git push")),
        claude_code.note(
            "queue-operation", operation="enqueue", content="write it to a file, commit nothing"
        ),
        claude_code.result("r1", "a1", "c1", f"{REFUSAL}not yet", fails=True),
        claude_code.said("u2", "r1", "<command-name>/review</command-name>"),
        claude_code.boundary("b1", "u2"),
        claude_code.summary("s1", "b1", TOLD),
        claude_code.said("u3", "s1", "<command-args>and look at the last comment</command-args>"),
    ]
    session = claude_code.bring(log, tmp_path / "s.jsonl", *lines)[0].id
    with log.snapshot() as snapshot:
        return next(materials(snapshot, resolve_cursor(snapshot, session)))


def statement_of(material: Material, sentence: str, *said: str) -> Checked:
    seqs = {each.text: each.seq for each in material.before}
    quoted = [quote(next(seqs[text] for text in seqs if words in text), words) for words in said]
    found = claims_in(answer(statements=[{"sentence": sentence, "said": quoted}]))
    assert found is not None
    return check_claims(found, material)


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ('They said: "write it to a file, commit nothing".', "write it to a file, commit nothing"),
        ("They refused the push.", "The user doesn't want to proceed with this tool use"),
        ("They asked for a review.", "<command-name>/review"),
    ],
)
def test_statements_rest_on_a_persons_acts(tmp_path: Path, sentence: str, said: str) -> None:
    (found,) = statement_of(acts(tmp_path), sentence, said).statements
    assert not found.is_unfounded


@pytest.mark.parametrize("words", ["write it to a file, commit nothing", "and look at the last comment"])
def test_words_typed_beside_messages_are_somebodys(tmp_path: Path, words: str) -> None:
    found = statement_of(acts(tmp_path), next(each for each in TOLD.split(". ") if words in each))
    assert (found.statements, "a person said" in found.refused[0].reason) == ([], True)


def test_what_a_file_lacks_is_not_called_unsaid(tmp_path: Path) -> None:
    begun, midway = (
        statement_of(acts(tmp_path, parent), "They asked for a review.") for parent in (None, "u0")
    )
    assert (len(begun.statements), midway.statements) == (1, [])


def test_memory_files_that_no_record_has_are_noted(tmp_path: Path) -> None:
    assert (acts(tmp_path).lacks_memory, planted().lacks_memory) == (True, False)


def test_few_statements_of_an_answer_count() -> None:
    found = claims_in(answer(statements=[{"sentence": MADE, "said": []}] * 40))
    assert found is not None
    assert len(found.statements) == MOST_STATEMENTS
