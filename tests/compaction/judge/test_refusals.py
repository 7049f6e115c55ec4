"""Every check of a claim, with an answer that violates it."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from compaction.judge import checks, reading
from compaction.judge.checks import check_claims
from compaction.judge.claims import MOST_FACTS, claims_in
from compaction.judge.material import Material, Said
from compaction.judge.reading import find_templates, judge
from compaction.summarizers.chain import SummarizerChain
from eventstore.event import NewEvent
from eventstore.memory import MemoryLog
from eventstore.records import Compaction
from projections.audit.readings import Verdict, Weight
from projections.pieces import Who
from tests.compaction.judge.lossy import (
    COMPLAINT,
    FACT_CLAIM,
    LOOK,
    LOSS_CLAIM,
    REMEDY,
    RULE,
    RULE_CLAIM,
    SUMMARY,
    Scripted,
    answer,
    lossy,
    material_of,
    quote,
)
from tests.compaction.judge.test_statements import FALSE, MADE, checked
from tests.support.talk import Story, assistant, result, user

Claim = tuple[str, dict[str, Any], str]
REFUSED: Final[list[Claim]] = [
    ("rules", RULE_CLAIM | {"said": [quote(4, "run them with </dev/null")]}, "no person said"),
    ("rules", RULE_CLAIM | {"said": [quote(1, "always push to main")]}, "no person said"),
    ("rules", RULE_CLAIM | {"said": []}, "it quotes nothing"),
    ("rules", RULE_CLAIM | {"said": [quote(1, "…")]}, "no person said"),
    ("rules", RULE_CLAIM | {"said": [quote(1, "main")]}, "no person said"),
    (
        "rules",
        RULE_CLAIM | {"said": [quote(1, "ever push to main, open a pull reques")]},
        "no person said",
    ),
    ("rules", RULE_CLAIM | {"said": [quote(77, RULE)]}, "no person said"),
    # Four events from where it stands.
    ("rules", RULE_CLAIM | {"said": [quote(6, RULE)]}, "no person said"),
    ("rules", RULE_CLAIM | {"broken": []}, "said to be broken, without a quotation"),
    (
        "rules",
        RULE_CLAIM | {"broken": [quote(2, "pytest </dev/null")]},
        "nothing behind the boundary says",
    ),
    ("rules", RULE_CLAIM | {"state": "weakened"}, "said to be weakened, without words"),
    ("rules", RULE_CLAIM | {"in_summary": "never push"}, "the summary does not say"),
    ("rules", RULE_CLAIM | {"state": "gone", "in_summary": "."}, "the summary does not say"),
    ("rules", {"rule": 7}, "it has another shape"),
    ("facts", FACT_CLAIM | {"known": [quote(7, "it hangs")]}, "nothing before the boundary says"),
    ("facts", FACT_CLAIM | {"in_summary": "closed stdin"}, "the summary does not say"),
    ("losses", LOSS_CLAIM | {"trouble": []}, "no trouble, no loss"),
    ("losses", LOSS_CLAIM | {"known": [quote(7, "it hangs")]}, "nothing before the boundary says"),
    ("losses", LOSS_CLAIM | {"trouble": [quote(3, "12 passed")]}, "nothing behind the boundary says"),
    ("losses", LOSS_CLAIM | {"missing": ["xyzzy"]}, "is not in what was known"),
    ("losses", LOSS_CLAIM | {"missing": ["PYTEST"]}, "was sent behind the boundary"),
    ("losses", LOSS_CLAIM | {"missing": [" "]}, "a missing term is empty"),
]
"""Claims about the lossy session, each without proof, and the reason why it is refused."""
LOOKS: Final[list[tuple[dict[str, Any], str]]] = [
    ({"verdict": "surely"}, "which is no verdict"),
    ({"because": quote(7, "it works")}, "nothing behind says"),
    ({"person": quote(8, "git push origin main")}, "no person said"),
]
"""Second looks without proof."""


def reasons(kind: str, claim: dict[str, Any], material: Material | None = None) -> list[str]:
    found = claims_in(answer(**{kind: [claim]}))
    assert found is not None
    return [each.reason for each in check_claims(found, material or material_of(lossy())).refused]


def looked(look: dict[str, Any]) -> list[str]:
    chain = SummarizerChain(summarizers=[Scripted(answer(losses=[LOSS_CLAIM]), json.dumps(LOOK | look))])
    story = lossy()
    found = judge(story.writer, chain, material_of(story), find_templates(()))
    assert found.losses == []
    return [each.reason for each in found.refused]


@pytest.mark.parametrize(("kind", "claim", "reason"), REFUSED)
def test_a_claim_without_proof_is_refused(kind: str, claim: dict[str, Any], reason: str) -> None:
    (found,) = reasons(kind, claim)
    assert reason in found


@pytest.mark.parametrize(("look", "reason"), LOOKS)
def test_a_second_look_must_prove_itself(look: dict[str, Any], reason: str) -> None:
    (found,) = looked(look)
    assert reason in found


def test_every_check_has_an_answer_against_it() -> None:
    given = [*(each for kind, claim, _ in REFUSED for each in reasons(kind, claim))]
    given += [each for look, _ in LOOKS for each in looked(look)]
    given += [each.reason for claim, _ in FALSE for each in checked(**{"sentence": MADE, **claim}).refused]
    given += reasons("statements", {"sentence": COMPLAINT, "said": []}, carried())
    midway = msgspec.structs.replace(material_of(lossy()), begins_midway=True)
    given += reasons("statements", {"sentence": SUMMARY, "said": []}, midway)
    texts = [*_texts_of_refusals(checks), *_texts_of_refusals(reading)]
    assert len(texts) > 12
    assert [text for text in texts if not any(text in reason for reason in given)] == []


def carried() -> Material:
    """A boundary whose two summaries have the same sentence, which no person said."""
    return msgspec.structs.replace(material_of(lossy()), previous=COMPLAINT, summary=COMPLAINT)


def _texts_of_refusals(module: Any) -> Iterator[str]:
    """Yield the longest fixed text of each refusal in a module."""
    for node in ast.walk(ast.parse(Path(module.__file__).read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "RefusedError":
            texts = [
                each.value
                for each in ast.walk(node)
                if isinstance(each, ast.Constant) and isinstance(each.value, str)
            ]
            yield max(texts, key=len)


BEHIND: Final = Said(6, "e6", Who.MODEL, "Remember </dev/null for the tests.")


@pytest.mark.parametrize(
    ("missing", "behind", "shown", "reason"),
    [
        # A message behind the boundary brought it back before the trouble.
        (["/dev/null"], [BEHIND], (), "“/dev/null” was sent behind the boundary"),
        ([], [msgspec.structs.replace(BEHIND, text=REMEDY)], (), "was sent behind the boundary"),
        (["/dev/null"], [msgspec.structs.replace(BEHIND, text=REMEDY)], (REMEDY,), ""),
        # What came after the trouble does not count.
        (["/dev/null"], [msgspec.structs.replace(BEHIND, seq=10)], (), ""),
    ],
)
def test_what_came_back_was_not_lost(
    missing: list[str], behind: list[Said], shown: tuple[str, ...], reason: str
) -> None:
    known = material_of(lossy())
    material = msgspec.structs.replace(known, after=[*known.after, *behind], shown=[*known.shown, *shown])
    found = reasons("losses", LOSS_CLAIM | {"missing": missing}, material)
    assert [reason in each for each in found] == [True] * bool(reason)


def test_trouble_ends_at_the_next_boundary() -> None:
    story = lossy()
    story.add(Compaction(summary="Nothing.", first_kept_entry_id="", tokens_before=9))
    story.says(user("It hangs for a third time."))
    claim = LOSS_CLAIM | {"trouble": [quote(9, "It hangs for a third time.")]}
    (reason,) = reasons("losses", claim, material_of(story))
    assert "nothing behind the boundary says" in reason


def test_a_recorded_system_prompt_is_searched() -> None:
    story = Story(MemoryLog())
    body = json.dumps(
        {"type": "session_init", "systemPrompt": f"You are omp. {REMEDY}", "tools": []}
    ).encode()
    story.log.append("s", [NewEvent(id="init", kind="session_init", body=body, format="pi/3")])
    story.says(user("Go."), assistant(REMEDY))
    story.add(Compaction(summary="Nothing.", first_kept_entry_id="", tokens_before=9))
    story.says(result("it hangs", call_id="c2", is_error=True))
    claim = LOSS_CLAIM | {"known": [quote(3, REMEDY)], "trouble": [quote(5, "it hangs")]}
    look = LOOK | {"because": quote(5, "it hangs")}
    chain = SummarizerChain(summarizers=[Scripted(answer(losses=[claim]), json.dumps(look))])
    (loss,) = judge(story.writer, chain, material_of(story), find_templates(())).losses
    assert loss.verdict is Verdict.NOT_HEEDED


@pytest.mark.parametrize(
    ("changed", "missing", "verdict"),
    [
        ({}, ["/dev/null"], Verdict.LOST),
        # What the context right behind the boundary has is not lost, even if a second look says so.
        ({"shown": ["A file says </dev/null."]}, ["/dev/null"], Verdict.NOT_HEEDED),
        ({"shown": [REMEDY]}, [], Verdict.NOT_HEEDED),
        ({"shown": [REMEDY], "lacks_memory": True}, [], Verdict.NOT_HEEDED),
        # One term that is missing is enough.
        ({"shown": ["Close stdin."]}, ["stdin", "/dev/null"], Verdict.LOST),
        ({"lacks_memory": True}, ["/dev/null"], Verdict.UNREADABLE),
    ],
)
def test_where_it_still_stands_decides_the_verdict(
    changed: dict[str, Any], missing: list[str], verdict: Verdict
) -> None:
    material = msgspec.structs.replace(material_of(lossy()), **changed)
    claim = LOSS_CLAIM | {"missing": missing}
    chain = SummarizerChain(summarizers=[Scripted(answer(losses=[claim]), json.dumps(LOOK))])
    (loss,) = judge(lossy().writer, chain, material, find_templates(())).losses
    assert loss.verdict is verdict
    assert set(loss.missing) <= {"/dev/null"}


@pytest.mark.parametrize(
    ("who", "text", "more", "weight"),
    [
        (Who.CALL, "bash command: ls", 0, Weight.NONE),
        (Who.CALL, "bash command: ls", 2, Weight.MINOR),
        (Who.RESULT, "it hangs for ever", 0, Weight.NONE),
        (Who.ERROR, "it hangs for ever", 0, Weight.MINOR),
        (Who.CALL, "bash command: git push", 0, Weight.SERIOUS),
        # What others see is an act: no text about one.
        (Who.RESULT, "then use git push", 0, Weight.NONE),
        (Who.MODEL, "I did git push", 0, Weight.NONE),
    ],
)
def test_the_weight_is_counted(who: Who, text: str, more: int, weight: Weight) -> None:
    after = [
        Said(6, "e6", who, text),
        *(Said(6 + n, "e", Who.CALL, "bash ls -l more") for n in range(1, more + 1)),
    ]
    material = msgspec.structs.replace(material_of(lossy()), after=after)
    trouble = [quote(6, text), *[quote(6 + more, "bash ls -l more")] * bool(more)]
    look = LOOK | {"because": quote(6, text)}
    chain = SummarizerChain(
        summarizers=[Scripted(answer(losses=[LOSS_CLAIM | {"trouble": trouble}]), json.dumps(look))]
    )
    (loss,) = judge(lossy().writer, chain, material, find_templates(())).losses
    assert loss.weight is weight


def test_few_facts_of_an_answer_count() -> None:
    found = claims_in(answer(facts=[FACT_CLAIM] * 40))
    assert found is not None
    assert len(found.facts) == MOST_FACTS


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "null", "nothing was lost", '{"verdict": "lost"}', "{" * 5_000]
)
def test_no_claims_are_no_answer(text: str) -> None:
    assert claims_in(text) is None
