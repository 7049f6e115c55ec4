"""Compare what an audit claims in words with the labels of the session.

`python -m tests.corpus.measure [SESSION…]` lists the claims that nobody has judged, as TOML to complete in
`tests/corpus/verdicts/SESSION.toml`, and prints the figures. Without names it runs the sessions that were looked at
while building; `--held-out` runs the others.

Labels judge what they can. A loss or finding is right if it has events of `known` and of `missed` of one labelled
loss, and useful unless that loss is trivial. A rule that is said to be gone is right if every label of its message
says so, and useful if it was broken or repeated. A task is right if a label of its message has its state, and useful
if it is not done. A verdict in the file overrules that.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple

from eventstore.memory import MemoryLog
from projections.audit.instruction_fates import Rule, Task
from projections.audit.restatements import content_words
from projections.audit.session import Audit, CompactionAudit, audit
from tests.corpus.labelled import (
    CORPUS,
    HELD_OUT,
    SESSIONS,
    STAGED,
    Boundary,
    LabelledLoss,
    LabelledRule,
    LabelledTask,
    ReadClaim,
    Verdict,
    Weight,
    events_at,
    labels_of,
    read_by_model,
    verdicts_of,
)
from tests.labels.corpus import corpus_folder
from tests.support.foreign import Points

Kind = Literal["finding", "rule gone", "task", "loss", "repeat", "error"]
UNFINISHED: Final = "unfinished"
LossFate = Literal["found", "touched", "missed"]
SAID: Final[tuple[Kind, ...]] = ("finding", "task")
"""Claims that an audit makes in words: something went wrong, or was not done."""
LISTED: Final[tuple[Kind, ...]] = ("rule gone", "loss", "repeat", "error")
"""Things that it only lists behind a count."""
KINDS: Final = SAID + LISTED
WEIGHTS: Final[tuple[Weight, ...]] = ("serious", "minor", "trivial")


class Claim(NamedTuple):
    """A sentence of an audit about a compaction, and the events that it refers to.

    If it `is_rule`, it says that a rule of the first event is gone. If it has a `state`, it says that a task of the
    first event has that state.
    """

    kind: Kind
    text: str
    events: tuple[str, ...]
    is_rule: bool = False
    state: str = ""


class Judged(NamedTuple):
    """A claim and its verdict, None if nobody has read it; `losses` are the labelled losses that it reports."""

    claim: Claim
    verdict: Verdict | None
    losses: tuple[LabelledLoss, ...] = ()


class Classed(NamedTuple):
    """A labelled rule or task and the state that the audit gives it.

    A state is "task" or "rule" if the audit takes it for the other, and "" if it lists neither.
    """

    label: LabelledRule | LabelledTask
    state: str

    @property
    def is_right(self) -> bool:
        """True if both agree. An audit lists only unfinished tasks, and need not list rules in the tail."""
        wanted = self.label.state
        return (
            self.state == wanted
            or {self.state, wanted} == {"kept", "tail"}
            or (self.state == "" and wanted in ("tail", "done", "dropped"))
        )


class Measured(NamedTuple):
    """A boundary's claims, and how its labelled losses, rules and tasks fared."""

    claims: Sequence[Judged]
    losses: Sequence[tuple[LabelledLoss, LossFate]]
    rules: Sequence[Classed]
    tasks: Sequence[Classed] = ()


def claims_of(found: CompactionAudit) -> Iterator[Claim]:
    """Yield what an audit says in words about a compaction."""
    for finding in found.findings:
        linked = tuple(each.event for each in (*finding.known, *finding.trouble))
        yield Claim("finding", finding.sentence, linked, is_rule=finding.kind == "rule")
    for rule in found.metrics.instructions.rules:
        if rule.state == "gone":
            yield Claim("rule gone", rule.text, (rule.event,), is_rule=True)
    for task in found.metrics.instructions.unfinished:
        yield Claim("task", task.text, (task.event,), state=UNFINISHED)
    for loss in found.metrics.future_use.losses:
        yield Claim("loss", f"{loss.kind} {loss.value}", (loss.had, loss.needed))
    for again in found.metrics.rework.repeats:
        yield Claim("repeat", f"{again.tool} {again.target}", (again.first, again.again))
    for error in found.metrics.rework.errors:
        yield Claim("error", error.error, (error.first, error.again))


def measure_boundary(
    found: CompactionAudit,
    boundary: Boundary,
    points: Points,
    read: Iterable[ReadClaim] = (),
    gone_before: Container[str] = (),
) -> Measured:
    """Compare an audit of a compaction with the labels of its boundary; omit the rules that were gone before."""
    verdicts = {(each.text, tuple(each.ids), each.task): each for each in read}
    judged = [
        judge(claim, boundary, points, verdicts.get((claim.text, claim.events, claim.state)))
        for claim in claims_of(found)
    ]
    reported = {loss.what for each in judged for loss in each.losses}
    said = {event for each in judged for event in each.claim.events}
    losses: list[tuple[LabelledLoss, LossFate]] = [
        (loss, "found" if loss.what in reported else _unreported(loss, said, points))
        for loss in boundary.losses
    ]
    given = found.metrics.instructions
    return Measured(
        judged,
        losses,
        [
            _classed(each, given.rules, given.unfinished, "task", points)
            for each in boundary.rules
            if each.what not in gone_before
        ],
        [_classed(each, given.unfinished, given.rules, "rule", points) for each in boundary.tasks],
    )


def judge(claim: Claim, boundary: Boundary, points: Points, read: ReadClaim | None = None) -> Judged:
    """Return a claim with the verdict of a person, or else of the labels."""
    losses = tuple(loss for loss in boundary.losses if not claim.state and _reports(claim, loss, points))
    if read is not None:
        named = tuple(loss for loss in boundary.losses if loss.what == read.loss)
        return Judged(claim, read.verdict, named or (() if read.verdict == "wrong" else losses))
    if claim.state:
        return Judged(claim, _of_task(claim, boundary, points))
    if not losses:
        return Judged(claim, _of_rule(claim, boundary, points) if claim.is_rule else None)
    is_useful = any(loss.weight != "trivial" for loss in losses)
    return Judged(claim, "right/useful" if is_useful else "right/useless", losses)


def _reports(claim: Claim, loss: LabelledLoss, points: Points) -> bool:
    events, (known, missed) = set(claim.events), _sides(loss, points)
    return bool(events & missed) and (not known or bool(events & known))


def _sides(loss: LabelledLoss, points: Points) -> tuple[frozenset[str], frozenset[str]]:
    known = events_at(points, loss.known, loss.known_lines)
    return known, events_at(points, loss.missed, loss.missed_lines)


def _of_rule(claim: Claim, boundary: Boundary, points: Points) -> Verdict | None:
    """Return the verdict on a rule that is said to be gone; None if labels of its message disagree."""
    stated = claim.events[0]
    rules = [rule for rule in boundary.rules if stated in events_at(points, rule.ids, rule.lines)]
    tasks = [task for task in boundary.tasks if stated in events_at(points, task.ids, task.lines)]
    verdicts: set[Verdict] = {"wrong"} if tasks else set()
    for rule in rules:
        right: Verdict = "right/useful" if rule.is_missed else "right/useless"
        verdicts.add(right if rule.state == "gone" else "wrong")
    return verdicts.pop() if len(verdicts) == 1 else None


def _of_task(claim: Claim, boundary: Boundary, points: Points) -> Verdict | None:
    """Return the verdict on a task's state; None if no label of its message is a task.

    It is useful to know what was not done; most tasks are done, and that helps nobody.
    """
    here = [task for task in boundary.tasks if claim.events[0] in events_at(points, task.ids, task.lines)]
    if not here:
        return None
    if claim.state not in {task.state for task in here}:
        return "wrong"
    return "right/useless" if claim.state == "done" else "right/useful"


def _unreported(loss: LabelledLoss, said: set[str], points: Points) -> LossFate:
    """Return `touched` if claims mention events of a loss, but none ties its two sides together."""
    known, missed = _sides(loss, points)
    return "touched" if said & (known | missed) else "missed"


def _classed(
    label: LabelledRule | LabelledTask,
    alike: Iterable[Rule | Task],
    others: Iterable[Rule | Task],
    other: str,
    points: Points,
) -> Classed:
    """Return the state of the audited sentence of the label's messages that shares the most words with it."""
    events = events_at(points, label.ids, label.lines)
    if found := [each for each in alike if each.event in events]:
        words = content_words(label.what)
        nearest = max(
            found,
            key=lambda each: len(words & content_words(each.text)) / (1 + len(content_words(each.text))),
        )
        return Classed(label, nearest.state if isinstance(nearest, Rule) else UNFINISHED)
    return Classed(label, other if any(each.event in events for each in others) else "")


def measure_session(session: str, corpus: Path, *, by_model: bool = False) -> list[Measured]:
    """Audit a labelled session and compare every boundary. Raises ValueError if boundaries are missing.

    `by_model`: a model read its rules before.
    """
    source, log = SESSIONS[session], MemoryLog()
    appended = source.append(log, corpus / source.file)
    if by_model:
        read_by_model(log, appended.session, session)
    found: Audit = audit(log, appended.session)
    boundaries = labels_of(session).boundaries
    read = verdicts_of(session)
    # A rule that an earlier compaction lost is not in the context that this one replaces.
    lost = [set[str](), *({rule.what for rule in each.rules if rule.state == "gone"} for each in boundaries)]
    return [
        measure_boundary(each, boundary, appended.points, read, gone_before)
        for each, boundary, gone_before in zip(found.compactions, boundaries, lost[:-1], strict=True)
    ]


def unread(measured: Iterable[Measured]) -> Iterator[str]:
    """Yield the claims that nobody has judged, as TOML without the verdict."""
    for each in measured:
        for claim in (judged.claim for judged in each.claims if judged.verdict is None):
            ids = json.dumps(claim.events)
            task = f'task = "{claim.state}"\n' if claim.state else ""
            yield f'[[claim]]  # {claim.kind}\ntext = {_toml_string(claim.text)}\nids = {ids}\n{task}verdict = ""\n'


def _toml_string(text: str) -> str:
    """Quote a text. TOML's strings are JSON's, but for surrogate pairs and DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def figures(measured: Sequence[Measured]) -> Iterator[str]:
    """Yield the lines of the result."""
    judged = [each for one in measured for each in one.claims]
    for name, kinds in (*((each, (each,)) for each in KINDS), ("said", SAID), ("listed", LISTED)):
        verdicts = Counter(each.verdict for each in judged if each.claim.kind in kinds)
        right = verdicts["right/useful"] + verdicts["right/useless"]
        yield (
            f"{name:<10} {verdicts.total():4} claims: {right} right, {verdicts['right/useful']} useful, "
            f"{verdicts['wrong']} wrong, {verdicts[None]} to read"
        )
    for weight in WEIGHTS:
        fates = Counter(fate for one in measured for loss, fate in one.losses if loss.weight == weight)
        yield (
            f"{weight:<10} {fates.total():4} losses: {fates['found']} found, "
            f"{fates['touched']} touched, {fates['missed']} missed"
        )
    for name, found in (
        ("rules", [each for one in measured for each in one.rules]),
        ("tasks", [each for one in measured for each in one.tasks]),
    ):
        right = sum(each.is_right for each in found)
        yield f"{name:<10} {len(found):4} {name}: {right} classed right, {_confusions(found)}"
    for name, wanted in (("sure", True), ("arguable", False)):
        some = [each for one in measured for each in one.rules if getattr(each.label, "sure", True) == wanted]
        named = sum(each.state not in ("", "task") or each.label.state == "tail" for each in some)
        right = sum(each.is_right for each in some)
        yield f"{name:<10} {len(some):4} rules: {named} classed as rules, {right} with the right state"


def _confusions(classed: Iterable[Classed]) -> str:
    wrong = Counter(f"{each.label.state} as {each.state or 'none'}" for each in classed if not each.is_right)
    return ", ".join(f"{count} {what}" for what, count in sorted(wrong.items())) or "none wrong"


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare audits with the labels of their sessions.")
    parser.add_argument("sessions", nargs="*", metavar="SESSION")
    parser.add_argument("--held-out", action="store_true", help="run the sessions that nobody looked at")
    parser.add_argument(
        "--by-model", action="store_true", help="with the rules that a model read in staged sessions"
    )
    given = parser.parse_args()
    chosen = HELD_OUT if given.held_out else {**CORPUS, **STAGED}
    for name in given.sessions:
        if name not in chosen:
            parser.error(f"{name!r} is none of {', '.join(chosen)}")
    corpus = corpus_folder()
    names = given.sessions or [name for name in chosen if not (given.by_model and name in CORPUS)]
    found = {name: measure_session(name, corpus, by_model=given.by_model) for name in names}
    for name, measured in found.items():
        sys.stdout.write("\n".join([f"# {name}\n", *unread(measured), ""]))
    for name, measured in found.items():
        sys.stdout.write("\n".join([f"{name}:", *figures(measured), "", ""]))
    both = [each for measured in found.values() for each in measured]
    sys.stdout.write("\n".join(["all:", *figures(both), ""]))


if __name__ == "__main__":
    main()
