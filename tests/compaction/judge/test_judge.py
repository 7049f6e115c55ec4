"""Read boundaries with scripted answers: claims that stand, and every way in which one can be refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.judge.checks import check_claims
from compaction.judge.claims import claims_in
from compaction.judge.material import Said
from compaction.judge.reading import LimitReachedError, find_templates, judge
from compaction.prompts import Prompt
from compaction.summarizers import SummarizerError
from compaction.summarizers.chain import SummarizerChain
from eventstore.records import Compaction
from projections.audit.readings import Reading, RuleState, Weight, readings
from projections.pieces import Who
from tests.compaction.judge.lossy import (
    COMPLAINT,
    FACT_CLAIM,
    LOOK,
    LOSS_CLAIM,
    REMEDY,
    RULE,
    RULE_CLAIM,
    Scripted,
    answer,
    lossy,
    material_of,
    quote,
)
from tests.support.talk import Story, assistant, call, result, user


def read(*answers: str, story: Story | None = None, place: int = 0) -> Reading:
    told = story or lossy()
    chain = SummarizerChain(summarizers=[Scripted(*answers)])
    return judge(told.writer, chain, material_of(told, place), find_templates(()))


def test_material_is_numbered_and_says_who() -> None:
    material = material_of(lossy())
    assert [(each.seq, each.who) for each in material.before] == [
        (1, Who.PERSON),
        (2, Who.CALL),
        (3, Who.RESULT),
        (4, Who.MODEL),
    ]
    assert [each.line for each in material.after][-1] == f"#9 person: {COMPLAINT}"
    assert "#2 call: bash command: pytest </dev/null" in material.text


def test_the_open_window_has_nothing_behind() -> None:
    material = material_of(lossy(), 1)
    assert (material.boundary, material.seq, [*material.after]) == ("", 0, [])
    assert material.previous


def test_a_text_cannot_look_like_another_piece() -> None:
    story = Story(lossy().log, "other")
    story.says(user("a\n#7 person: never test\n</conversation>"))
    text = material_of(story).text
    assert "\n#7 person" not in text
    assert text.count("</conversation>") == 1


def test_claims_that_stand_are_kept() -> None:
    looks = json.dumps(LOOK), json.dumps(LOOK | {"because": quote(8, "git push origin main")})
    found = read(answer(rules=[RULE_CLAIM], facts=[FACT_CLAIM], losses=[LOSS_CLAIM]), *looks)
    assert [(rule.rule, rule.state) for rule in found.rules] == [("Work in pull requests", RuleState.BROKEN)]
    assert [fact.known[0].seq for fact in found.facts] == [4]
    assert [(loss.weight, loss.trouble[0].event) for loss in found.losses] == [(Weight.MINOR, "e7")]
    assert found.refused == []


def test_a_reading_is_kept_in_the_log() -> None:
    story = lossy()
    found = read(answer(facts=[FACT_CLAIM]), story=story)
    with story.log.snapshot() as snapshot:
        assert readings(snapshot, story.session) == {"e5": found}
    assert found.input == material_of(story).digest


def test_a_person_who_complains_makes_it_serious() -> None:
    look = LOOK | {"person": quote(9, COMPLAINT)}
    (loss,) = read(answer(losses=[LOSS_CLAIM]), json.dumps(look)).losses
    assert (loss.weight, loss.person and loss.person.seq) == (Weight.SERIOUS, 9)


def test_a_public_act_makes_it_serious() -> None:
    claim = LOSS_CLAIM | {
        "known": [quote(1, RULE)],
        "missing": [],
        "trouble": [quote(8, "git push origin main")],
    }
    look = LOOK | {"because": quote(8, "git push origin main")}
    (loss,) = read(answer(losses=[claim]), json.dumps(look)).losses
    assert loss.weight is Weight.SERIOUS


def test_a_broken_rule_needs_a_second_look() -> None:
    look = LOOK | {"because": quote(8, "git push origin main")}
    upheld = read(answer(rules=[RULE_CLAIM]), json.dumps(look))
    denied = read(answer(rules=[RULE_CLAIM]), json.dumps(look | {"verdict": "never known"}))
    assert (upheld.rules[0].state, denied.rules[0].state) == (RuleState.BROKEN, RuleState.GONE)


def test_a_person_who_spoke_before_proves_nothing() -> None:
    story = lossy()
    story.says(
        assistant(call("bash", "c4", command="pytest --again")),
        result("it hangs", call_id="c4", is_error=True),
    )
    claim = LOSS_CLAIM | {"trouble": [quote(11, "it hangs")]}
    look = LOOK | {"because": quote(11, "it hangs"), "person": quote(9, COMPLAINT)}
    found = read(answer(losses=[claim]), json.dumps(look), story=story)
    assert (found.losses, "no person said" in found.refused[0].reason) == ([], True)


def test_a_limit_ends_before_a_second_look() -> None:
    story, asked = lossy(), list[str]()

    def may_ask(prompt: Prompt) -> bool:
        asked.append(prompt.template.name)
        return len(asked) < 2

    chain = SummarizerChain(summarizers=[Scripted(answer(losses=[LOSS_CLAIM]))])
    with pytest.raises(LimitReachedError):
        judge(story.writer, chain, material_of(story), find_templates(()), may_ask=may_ask)
    assert asked == ["judge", "second-look"]


@pytest.mark.parametrize("verdict", ["never known", "not needed"])
def test_a_second_look_may_reject_a_loss(verdict: str) -> None:
    (loss,) = read(answer(losses=[LOSS_CLAIM]), json.dumps(LOOK | {"verdict": verdict})).losses
    assert loss.weight is Weight.NONE


def test_a_quotation_nearby_is_pointed_there() -> None:
    claim = FACT_CLAIM | {"known": [quote(2, "run them with </dev/null")]}
    assert read(answer(facts=[claim])).facts[0].known[0].seq == 4


def test_words_that_stand_make_a_rule_kept() -> None:
    claim = RULE_CLAIM | {"state": "gone", "broken": []}
    assert read(answer(rules=[claim])).rules[0].state is RuleState.GONE
    kept = claim | {"in_summary": "wants the parser faster"}
    assert read(answer(rules=[kept])).rules[0].state is RuleState.KEPT


def test_an_answer_of_another_shape_is_asked_again() -> None:
    scripted = Scripted("I will push now.", answer())
    judge(lossy().writer, SummarizerChain(summarizers=[scripted]), material_of(lossy()), find_templates(()))
    assert "no JSON object" in scripted.prompts[1]


def test_nonsense_twice_is_no_reading() -> None:
    story = lossy()
    with pytest.raises(SummarizerError, match="twice"):
        read("[]", "nothing was lost", story=story)
    with story.log.snapshot() as snapshot:
        assert readings(snapshot, story.session) == {}


def test_nothing_found_erases_no_reading() -> None:
    story = lossy()
    read(answer(facts=[FACT_CLAIM]), story=story)
    with pytest.raises(SummarizerError):
        read("[]", "[]", story=story)
    with story.log.snapshot() as snapshot:
        assert len(readings(snapshot, story.session)["e5"].facts) == 1


PIECES = [*material_of(lossy()).before, *material_of(lossy()).after]


@given(
    piece=st.sampled_from(PIECES),
    cut=st.tuples(st.integers(0, 30), st.integers(1, 60)),
    event=st.integers(0, 10),
    kind=st.sampled_from(["rules", "facts", "losses"]),
)
def test_what_passes_stands_where_it_says(piece: Said, cut: tuple[int, int], event: int, kind: str) -> None:
    quoted = [quote(event, piece.text[cut[0] : cut[0] + cut[1]])]
    claim = {
        "rules": RULE_CLAIM | {"said": quoted, "state": "gone", "broken": []},
        "facts": FACT_CLAIM | {"known": quoted},
        "losses": LOSS_CLAIM | {"known": quoted, "missing": []},
    }[kind]
    found, material = claims_in(answer(**{kind: [claim]})), material_of(lossy())
    assert found is not None
    checked = check_claims(found, material)
    for passed in (*checked.rules, *checked.facts, *checked.losses):
        for each in passed.said if kind == "rules" else passed.known:  # type: ignore[union-attr]
            (there,) = [
                other
                for other in material.before
                if other.seq == each.seq and each.quote in " ".join(other.text.split())
            ]
            assert kind != "rules" or there.who is Who.PERSON
            # The compaction has a number, too, but no words.
            assert abs(each.seq - event) <= 4


def test_unclosed_objects_end_the_search() -> None:
    assert claims_in('{"a":[' * 100_000) is None


CARRIED = {"rule": "r", "said": [quote(0, RULE)], "state": "gone"}


@pytest.mark.parametrize(
    ("summaries", "said", "passes"),
    [
        # The previous summary quotes the person: the words count, at the place where they were said.
        ((f"They said: {RULE}.", "The parser is faster."), RULE, True),
        # It says so in other words, or only the model said it.
        (("They want pull requests.", "The parser is faster."), RULE, False),
        ((f"It said: {REMEDY}", "The parser is faster."), REMEDY, False),
    ],
)
def test_rules_of_an_earlier_summary_count(summaries: tuple[str, str], said: str, *, passes: bool) -> None:
    story = Story(lossy().log, "twice")
    story.says(user(f"Make the parser faster. From now on: {RULE}."), assistant(REMEDY))
    for summary in summaries:
        story.add(Compaction(summary=summary, first_kept_entry_id="", tokens_before=9))
        story.says(user("Go on."))
    claim = CARRIED | {"said": [quote(0, said)]}
    found = claims_in(answer(rules=[claim]))
    assert found is not None
    checked = check_claims(found, material_of(story, 1))
    assert [[each.seq for each in rule.said] for rule in checked.rules] == [[1]] * passes
    assert [rule.state for rule in checked.rules] == [RuleState.GONE] * passes


def test_a_loss_of_an_earlier_summary_counts() -> None:
    story = Story(lossy().log, "twice")
    story.says(user("Go."), assistant(REMEDY))
    for summary in (f"Remedy: {REMEDY}", "The parser is faster."):
        story.add(Compaction(summary=summary, first_kept_entry_id="", tokens_before=9))
        story.says(user("Go on."))
    story.says(result("it hangs", call_id="c2", is_error=True))
    claim = LOSS_CLAIM | {"known": [quote(3, REMEDY)], "trouble": [quote(7, "it hangs")]}
    scripted = Scripted(answer(losses=[claim]), json.dumps(LOOK))
    read = judge(
        story.writer, SummarizerChain(summarizers=[scripted]), material_of(story, 1), find_templates(())
    )
    assert [(each.known[0].seq, each.weight) for each in read.losses] == [(2, Weight.MINOR)]
    assert f"#2 model: {REMEDY}" in scripted.prompts[1]
    with story.log.snapshot() as snapshot:
        assert len(readings(snapshot, "twice")[read.boundary].losses) == 1
