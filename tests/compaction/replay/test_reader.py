"""Other words of a context count if a model quotes them, and if they stand there."""

from __future__ import annotations

import json
from random import Random

import pytest

from compaction.prompts import Prompt
from compaction.replay.kept import kept_in, still_there_prompt
from compaction.replay.results import Claim, Counts
from compaction.summarizers import SummarizerError
from tests.compaction.replay.test_kept import WORDS, parts_of


def claim(number: int, words: str) -> Claim:
    return Claim(kind="fact", claim=f"fact {number}", quotes=[f"{words} is {number}"])


@pytest.mark.parametrize("seed", range(5))
def test_planted_paraphrases_are_found(seed: int) -> None:
    random = Random(seed)
    words = [" ".join(random.choices(WORDS, k=6)) for _ in range(100)]
    claims = [claim(number, each) for number, each in enumerate(words)]
    planted = set(random.sample(range(100), 50))
    said = {
        number: f"by now {number} equals {' '.join(reversed(words[number].split()))}" for number in planted
    }
    parts = parts_of(*said.values())
    # This model claims to have found everything; what was cut it makes up.
    answer = json.dumps(
        {str(number + 1): said.get(number, f"invented words {number}") for number in range(100)}
    )
    kept = kept_in(parts, claims, lambda _: answer)
    found = {each.claim for each in kept.standings}
    assert len(found & planted) / len(found) >= 0.95
    assert len(found & planted) / len(planted) >= 0.95
    assert (kept.facts, kept.read) == (0, Counts(facts=len(found)))


def test_only_what_is_not_there_is_asked() -> None:
    asked: list[str] = []

    def ask(prompt: Prompt) -> str:
        asked.append(prompt.text)
        return '{"1": null}'

    claims = [claim(1, "the literal fact"), claim(2, "another fact")]
    kept = kept_in(parts_of("so the literal fact is 1 here"), claims, ask)
    assert (kept.facts, kept.read) == (1, Counts())
    (text,) = asked
    assert "fact 2" in text
    assert "fact 1" not in text
    assert kept_in(parts_of("the literal fact is 1"), claims[:1], ask).read == Counts()
    assert len(asked) == 1


def test_an_answer_of_another_shape_counts_nothing() -> None:
    kept = kept_in(parts_of("something else"), [claim(1, "a fact")], lambda _: "I found nothing.")
    assert (kept.read, kept.unread) == (None, "summarizer reader: its answer has no JSON object")


def test_an_answer_that_failed_counts_nothing() -> None:
    def ask(prompt: Prompt) -> str:
        raise SummarizerError("m", f"no answer to {len(prompt.template.sections)}")

    assert (
        kept_in(parts_of("something else"), [claim(1, "a fact")], ask).unread
        == "summarizer m: no answer to 0"
    )


def test_a_long_context_fits_into_a_request() -> None:
    parts = parts_of(*["many words here " * 5_000] * 20)
    assert len(still_there_prompt(parts, [claim(1, "a fact")]).text) < 260_000
