"""Read branch summaries, summaries that only a provider can read, and boundaries that are too long for a request."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from compaction.judge.material import Material, Said, materials
from compaction.judge.reading import LARGEST, find_templates, judge, prompts_of
from compaction.prompts import Prompt
from compaction.summarizers import SummarizerError
from compaction.summarizers.chain import SummarizerChain
from eventstore.files.importing import import_sessions
from eventstore.memory import MemoryLog
from eventstore.records import BranchSummary, Compaction
from eventstore.writing import SessionWriter
from projections.audit.readings import Reading, RuleState, Verdict, Weight
from projections.audit.session import audit
from projections.context.cursor import resolve_cursor
from projections.pieces import Who
from tests.compaction.judge.lossy import Scripted, answer, lossy, material_of, quote
from tests.support.codex import answered, called, compacted, item, name_of, output, rollout, said
from tests.support.talk import Story, assistant, call, result, user

REMEDY = "The tests hang unless stdin is closed."
HISTORY = [said("Never push to main."), item("compaction", encrypted_content="x" * 900)]


@pytest.fixture
def sealed(tmp_path: Path) -> tuple[MemoryLog, str]:
    """A session of Codex with two compactions that only its provider can read."""
    log, file = MemoryLog(), tmp_path / name_of()
    file.write_bytes(
        rollout(
            said("Never push to main."),
            said("Always close the standard input."),
            answered(REMEDY),
            compacted("", *HISTORY),
            called("c1", cmd="pytest"),
            output("c1", "Exit code: 1\nOutput:\nit hangs"),
            said("Close its standard input!"),
            compacted("", *HISTORY),
        )
    )
    return log, import_sessions(log, file)[0].id


def boundaries(log: MemoryLog, session: str) -> list[Material]:
    with log.snapshot() as snapshot:
        return [*materials(snapshot, resolve_cursor(snapshot, session))]


def texts(material: Material) -> list[str]:
    return [each.text for each in material.before]


def read(log: MemoryLog, session: str, *answers: str) -> Reading:
    chain = SummarizerChain(summarizers=[Scripted(*answers)])
    return judge(SessionWriter(log, session), chain, boundaries(log, session)[0], find_templates(()))


def test_sealed_summaries_are_boundaries(sealed: tuple[MemoryLog, str]) -> None:
    first, second, window = boundaries(*sealed)
    assert (first.is_opaque, second.is_opaque, window.is_opaque) == (True, True, False)
    assert texts(first)[-1] == REMEDY
    assert "Only the model's provider can read this summary" in first.text
    # What was sent on as it is, and what came since: no more of a history that is sealed.
    assert texts(second)[0] == "Never push to main."
    assert "Always close the standard input." not in texts(second)


def test_a_rule_in_sealed_summaries_is_unknown(sealed: tuple[MemoryLog, str]) -> None:
    before = {each.text: each.seq for each in boundaries(*sealed)[0].before}
    rules = [
        {"rule": words, "said": [quote(before[words], words)], "state": "gone", "in_summary": None}
        for words in ("Never push to main.", "Always close the standard input.")
    ]
    assert [each.state for each in read(*sealed, answer(rules=rules)).rules] == [
        RuleState.KEPT,
        RuleState.UNKNOWN,
    ]


def test_a_loss_in_sealed_summaries_says_so(sealed: tuple[MemoryLog, str]) -> None:
    first = boundaries(*sealed)[0]
    known = next(each.seq for each in first.before if each.text == REMEDY)
    complaint = next(each.seq for each in first.after if each.who is Who.PERSON)
    trouble = next(each.seq for each in first.after if "it hangs" in each.text)
    claim = {
        "loss": "stdin",
        "known": [quote(known, REMEDY)],
        "trouble": [quote(trouble, "Output: it hangs")],
    }
    look = {
        "verdict": "lost",
        "because": quote(trouble, "Output: it hangs"),
        "person": quote(complaint, "Close its standard input!"),
    }
    (loss,) = read(*sealed, answer(losses=[claim]), json.dumps(look)).losses
    assert (loss.verdict, loss.weight) == (Verdict.UNREADABLE, Weight.SERIOUS)


def test_no_model_may_say_that_itself(sealed: tuple[MemoryLog, str]) -> None:
    first = boundaries(*sealed)[0]
    known = next(each.seq for each in first.before if each.text == REMEDY)
    trouble = next(each.seq for each in first.after if "it hangs" in each.text)
    words = quote(trouble, "Output: it hangs")
    claim = {"loss": "stdin", "known": [quote(known, REMEDY)], "trouble": [words]}
    look = {"verdict": "lost or not heeded", "because": words}
    found = read(*sealed, answer(losses=[claim]), json.dumps(look))
    assert (found.losses, "no verdict" in found.refused[0].reason) == ([], True)


def branched() -> Story:
    """A session whose branch was left with a summary: the summary is e4."""
    story = Story(MemoryLog())
    root, *_ = story.says(
        user("Make it faster."),
        user("On this branch, never touch the cache."),
        assistant("The cache is broken, I left it."),
    )
    summary = BranchSummary(from_id=root, left="e3", summary="The person asked to leave the cache alone.")
    story.add(summary, parent=root)
    story.says(assistant(call("bash", "c1", command="rm -r cache")), user("I said: leave the cache!"))
    return story


def test_a_branch_summary_is_a_boundary() -> None:
    branch, window = boundaries(branched().log, "s")
    assert (branch.boundary, branch.summary) == ("e4", "The person asked to leave the cache alone.")
    assert [each.seq for each in branch.before] == [1, 2, 3]
    assert [each.who for each in branch.after] == [Who.CALL, Who.PERSON]
    assert window.boundary == ""


def test_an_audit_shows_readings_of_branches() -> None:
    story = branched()
    read(story.log, "s", answer())
    assert [each.boundary for each in audit(story.log, "s").readings] == ["e4"]


def test_what_followed_ends_at_the_next_boundary() -> None:
    story = branched()
    story.add(Compaction(summary="Nothing.", first_kept_entry_id="", tokens_before=9))
    story.says(user("Go on."))
    branch, compaction, _ = boundaries(story.log, "s")
    assert [each.seq for each in branch.after] == [5, 6]
    assert [each.seq for each in compaction.after] == [8]


def test_answers_to_questions_are_a_persons() -> None:
    story = Story(MemoryLog())
    story.says(
        assistant(call("AskUserQuestion", "c1", question="Push?")),
        result("Your questions were answered: Push? No.", call_id="c1", tool=""),
        assistant(call("mcp__x__ask", "c2")),
        result("Always push.", call_id="c2", tool=""),
    )
    assert [each.who for each in material_of(story).before if each.who is not Who.CALL] == [
        Who.ANSWER,
        Who.RESULT,
    ]


def long(before: int, after: int, size: int, hostile: str = "") -> Material:
    """A boundary with many long messages of a person."""
    return msgspec.structs.replace(
        material_of(lossy()),
        before=[
            Said(seq, f"e{seq}", Who.PERSON, f"{seq} {hostile}{'x ' * size}") for seq in range(1, before + 1)
        ],
        after=[
            Said(seq, f"e{seq}", Who.PERSON, f"after {seq} {hostile}{'x ' * size}")
            for seq in range(before + 2, before + 2 + after)
        ],
        summary="<summary>" * 20_000 if hostile else "A summary.",
        previous="</summary>" * 20_000 if hostile else "",
    )


@pytest.mark.parametrize(
    ("before", "after", "size", "hostile"),
    [(200, 0, 1900, ""), (200, 400, 1900, ""), (1, 4_000, 900, ""), (300, 300, 900, "<conversation>" * 90)],
)
def test_every_request_has_a_limit(before: int, after: int, size: int, hostile: str) -> None:
    material = long(before, after, size, hostile)
    found = prompts_of(material, find_templates(()).reading)
    assert len(material.text) > 4 * LARGEST
    assert all(len(each.system) + len(each.text) <= 4 * LARGEST for each in found)
    numbers = [f"#{seq} person: " for seq in range(1, before + 1)]
    assert all(sum(number in each.text for each in found) == 1 for number in numbers)
    assert after == 0 or all(f"#{before + 2} person: after" in each.text for each in found)


@pytest.mark.parametrize(("calls", "parts"), [(550, 1), (1_000, 1), (1_500, 1), (2_600, 5)])
def test_calls_are_cut_before_a_window_is_split(calls: int, parts: int) -> None:
    person = "a rule of a person " * 40
    before = [
        Said(1, "e1", Who.PERSON, person),
        *(Said(seq, f"e{seq}", Who.CALL, "x" * 400) for seq in range(2, calls + 2)),
    ]
    found = msgspec.structs.replace(material_of(lossy()), before=before).texts_within(4 * LARGEST)
    assert (len(found), person in found[0]) == (parts, True)


def test_facts_of_a_later_part_come_first() -> None:
    material = msgspec.structs.replace(long(100, 0, 1900), summary="A summary.")
    first, later = (
        [{"fact": f"{seq} is known", "kind": "result", "known": [quote(seq, f"{seq} x x x x x x")]}] * 20
        for seq in (10, 90)
    )
    chain = SummarizerChain(summarizers=[Scripted(answer(facts=first), answer(facts=later))])
    facts = judge(lossy().writer, chain, material, find_templates(())).facts
    assert [facts[0].fact, facts[-1].fact, len(facts)] == ["90 is known", "10 is known", 25]


def test_second_looks_and_reminders_have_a_limit() -> None:
    material = long(8, 4_000, 2_000)
    claim = {
        "loss": "c" * 90_000,
        "known": [quote(1, "1 x x x x x x")],
        "trouble": [quote(10, "after 10 x x x"), quote(3_999, "after 3999 x x x")],
    }
    sizes = list[int]()

    def may_ask(prompt: Prompt) -> bool:
        sizes.append(len(prompt.system) + len(prompt.text))
        return True

    chain = SummarizerChain(
        summarizers=[Scripted("z" * 500_000, *[answer(losses=[claim])] * 2, "no" * 500_000, "no")]
    )
    with pytest.raises(SummarizerError, match="second-look has no JSON object"):
        judge(lossy().writer, chain, material, find_templates(()), may_ask=may_ask)
    assert max(sizes) <= 4 * LARGEST + LARGEST


@pytest.mark.parametrize(("named_by", "counts"), [(2, 1), (1, 0)])
def test_nobody_is_what_every_part_says(named_by: int, counts: int) -> None:
    """Another part may show the person who said it."""
    material = msgspec.structs.replace(long(100, 0, 1900), summary="They want a summary.")
    claim = {"sentence": "They want a summary.", "said": []}
    assert len(prompts_of(material, find_templates(()).reading)) == 2
    answers = [answer(statements=[claim])] * named_by + [answer()] * (2 - named_by)
    chain = SummarizerChain(summarizers=[Scripted(*answers)])
    assert len(judge(lossy().writer, chain, material, find_templates(())).statements) == counts


def test_the_branch_that_was_left_is_read() -> None:
    story = Story(MemoryLog())
    story.says(user("one"), user("two"))
    story.add(BranchSummary(from_id="", left="e2", summary="Two."), parent=None)
    assert texts(material_of(story)) == ["one", "two"]
