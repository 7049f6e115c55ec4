"""Comparing an audit's claims with labels: made-up boundaries, and the files of labels themselves."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from eventstore.memory import MemoryLog
from tests.corpus.labelled import (
    FOLDER,
    SESSIONS,
    Boundary,
    LabelledLoss,
    LabelledRule,
    LabelledTask,
    Labels,
    ReadClaim,
    labels_of,
    verdicts_of,
)
from tests.corpus.measure import Claim, Classed, Measured, figures, judge, measure_session, unread
from tests.support.events import events

POINTS = {name: [name] for name in "abcdefgh"} | {"line-7": ["g"]}
SERIOUS = LabelledLoss(
    what="how it was built", known=["a"], missed=["d"], weight="serious", model_needed=False
)
TRIVIAL = LabelledLoss(what="a file", known=["b"], missed=["e"], weight="trivial", model_needed=False)
GONE = LabelledRule(what="ask first", ids=["f"], state="gone", repeated_lines=[9])
KEPT = LabelledRule(what="no files", lines=[7], state="kept")
UNMISSED = LabelledRule(what="no hashes", ids=["h"], state="gone")
TASK = LabelledTask(what="make a branch", ids=["c"], state="done")
BOUNDARY = Boundary(id="x", rules=[GONE, KEPT, UNMISSED], tasks=[TASK], losses=[SERIOUS, TRIVIAL])


def finding(*ids: str) -> Claim:
    return Claim("finding", "it was lost", ids)


def gone(event: str) -> Claim:
    return Claim("rule gone", "a rule", (event,), is_rule=True)


@pytest.mark.parametrize(
    ("claim", "verdict", "losses"),
    [
        (finding("a", "d"), "right/useful", (SERIOUS,)),
        (finding("b", "c", "e"), "right/useless", (TRIVIAL,)),
        (finding("a", "b", "d", "e"), "right/useful", (SERIOUS, TRIVIAL)),
        (finding("a", "e"), None, ()),
        (finding("d"), None, ()),
        (gone("f"), "right/useful", ()),
        (gone("h"), "right/useless", ()),
        (gone("g"), "wrong", ()),
        (gone("c"), "wrong", ()),
        (gone("a"), None, ()),
        (Claim("finding", "a rule is gone", ("h", "b"), is_rule=True), "right/useless", ()),
        (Claim("finding", "a rule is gone", ("f", "a", "d"), is_rule=True), "right/useful", (SERIOUS,)),
    ],
)
def test_labels_judge_what_they_can(
    claim: Claim, verdict: str | None, losses: tuple[LabelledLoss, ...]
) -> None:
    found = judge(claim, BOUNDARY, POINTS)
    assert (found.verdict, found.losses) == (verdict, losses)


def test_labels_that_disagree_about_a_message_judge_nothing() -> None:
    both = msgspec.structs.replace(BOUNDARY, tasks=[msgspec.structs.replace(TASK, ids=["f"])])
    assert judge(gone("f"), both, POINTS).verdict is None


def test_a_person_overrules_the_labels_and_names_the_loss() -> None:
    wrong = ReadClaim(text="it was lost", ids=["a", "d"], verdict="wrong")
    assert judge(finding("a", "d"), BOUNDARY, POINTS, wrong) == (finding("a", "d"), "wrong", ())
    right = ReadClaim(text="it was lost", ids=["d"], verdict="right/useful", loss=SERIOUS.what)
    assert judge(finding("d"), BOUNDARY, POINTS, right).losses == (SERIOUS,)


def test_figures_count_claims_losses_and_rules() -> None:
    claims = [judge(claim, BOUNDARY, POINTS) for claim in (finding("a", "d"), finding("d"), gone("g"))]
    measured = Measured(
        claims,
        [(SERIOUS, "found"), (TRIVIAL, "touched")],
        [Classed(GONE, "gone"), Classed(KEPT, "")],
        [Classed(TASK, ""), Classed(TASK, "rule")],
    )
    assert list(figures([measured])) == [
        "finding       2 claims: 1 right, 1 useful, 0 wrong, 1 to read",
        "task          0 claims: 0 right, 0 useful, 0 wrong, 0 to read",
        "rule gone     1 claims: 0 right, 0 useful, 1 wrong, 0 to read",
        "loss          0 claims: 0 right, 0 useful, 0 wrong, 0 to read",
        "repeat        0 claims: 0 right, 0 useful, 0 wrong, 0 to read",
        "error         0 claims: 0 right, 0 useful, 0 wrong, 0 to read",
        "said          2 claims: 1 right, 1 useful, 0 wrong, 1 to read",
        "listed        1 claims: 0 right, 0 useful, 1 wrong, 0 to read",
        "serious       1 losses: 1 found, 0 touched, 0 missed",
        "minor         0 losses: 0 found, 0 touched, 0 missed",
        "trivial       1 losses: 0 found, 1 touched, 0 missed",
        "rules         2 rules: 1 classed right, 1 kept as none",
        "tasks         2 tasks: 1 classed right, 1 done as rule",
        "sure          2 rules: 1 classed as rules, 1 with the right state",
        "arguable      0 rules: 0 classed as rules, 0 with the right state",
    ]


@pytest.mark.parametrize("text", ["said", 'quoted "twice" \\ and\n\ttabs \x7f 😀'])
def test_an_unread_claim_is_toml_to_complete(text: str) -> None:
    measured = Measured([judge(Claim("finding", text, ("d", "e")), BOUNDARY, POINTS)], [], [])
    (entry,) = unread([measured])
    (stub,) = msgspec.toml.decode(entry)["claim"]
    assert stub == {"text": text, "ids": ["d", "e"], "verdict": ""}


@pytest.mark.parametrize(
    ("state", "event", "verdict"),
    [
        ("done", "c", "right/useless"),
        ("unfinished", "c", "wrong"),
        ("done", "a", None),
    ],
)
def test_a_task_is_right_if_a_label_of_its_message_has_its_state(
    state: str, event: str, verdict: str | None
) -> None:
    assert judge(Claim("task", "make a branch", (event,), state=state), BOUNDARY, POINTS).verdict == verdict


@pytest.mark.parametrize("state", ["", "kept", "tail"])
def test_a_rule_in_the_tail_need_not_be_listed(state: str) -> None:
    tail = msgspec.structs.replace(KEPT, state="tail")
    assert Classed(tail, state).is_right
    assert not Classed(tail, "gone").is_right
    assert Classed(KEPT, state).is_right == (state != "")
    assert not Classed(GONE, state).is_right


def test_every_file_of_labels_and_verdicts_belongs_to_a_session() -> None:
    for folder in ("labels", "verdicts"):
        assert {path.stem for path in (FOLDER / folder).glob("*.toml")} <= set(SESSIONS)
    for session in SESSIONS:
        assert labels_of(session).session == session
        read = verdicts_of(session)
        assert len({(each.text, *each.ids, each.task) for each in read}) == len(read)


def ids_of(labels: Labels) -> set[str]:
    found = set[str]()
    for boundary in labels.boundaries:
        for rule in boundary.rules:
            found.update(rule.ids, rule.broken, rule.repeated)
        for task in boundary.tasks:
            found.update(task.ids, task.seen)
        for loss in boundary.losses:
            found.update(loss.known, loss.missed)
    return found


@pytest.mark.parametrize("session", SESSIONS)
def test_labels_and_verdicts_refer_to_events_of_their_session(corpus: Path, session: str) -> None:
    source, log = SESSIONS[session], MemoryLog()
    appended = source.append(log, corpus / source.file)
    known = {each.id for each in events(log, appended.session)}
    lost = {name for name in ids_of(labels_of(session)) if not set(appended.points.get(name, ())) & known}
    assert lost == set()
    assert {event for each in verdicts_of(session) for event in each.ids} <= known


@pytest.mark.parametrize("session", SESSIONS)
def test_every_verdict_is_on_a_claim_that_is_still_made(corpus: Path, session: str) -> None:
    claims = [each.claim for one in measure_session(session, corpus) for each in one.claims]
    made = {(each.text, each.events, each.state) for each in claims}
    assert [
        each for each in verdicts_of(session) if (each.text, tuple(each.ids), each.task) not in made
    ] == []


@pytest.mark.parametrize("session", SESSIONS)
def test_every_boundary_is_audited(corpus: Path, session: str) -> None:
    labels, measured = labels_of(session), measure_session(session, corpus)
    assert [len(each.losses) for each in measured] == [len(each.losses) for each in labels.boundaries]
    # Rules that were gone before a boundary are no loss of it.
    assert all(
        len(each.rules) <= len(boundary.rules)
        for each, boundary in zip(measured, labels.boundaries, strict=True)
    )
    assert len(measured[0].rules) == len(labels.boundaries[0].rules)
    assert [len(each.tasks) for each in measured] == [len(each.tasks) for each in labels.boundaries]
