"""What a compaction would do, as people and programs are told of it."""

from __future__ import annotations

from typing import Any

from cli.compacting import Asked
from cli.output import counted, echo_text, unbroken
from cli.shared_folder import shared_folder
from compaction.compactor import Compactor
from compaction.cuts import AnyCut
from compaction.estimate import Estimate, estimate
from compaction.plan import Plan
from compaction.policies.policy import Policy
from eventstore.log import EventLog
from eventstore.records import FileOperations
from projections.context.cursor import Leaf, stand
from projections.settings import settings_at
from projections.tokens import Counter, is_estimate


def is_estimated(log: EventLog, session: str, tokens: Counter, *, leaf: Leaf = None) -> bool:
    """Return True unless a counter has the vocabulary of the model in use at a leaf."""
    with log.snapshot() as snapshot:
        at = stand(snapshot, session, leaf=leaf).leaf
        return is_estimate(tokens, settings_at(snapshot, session, at).model)


def counted_by(tokens: Counter, *, estimated: bool) -> str:
    """Return what a count is followed by: "by o200k", "by utf16/4, an estimate"."""
    return f"by {tokens.name}{', an estimate' if estimated else ''}"


def print_plan(
    compactor: Compactor, session: str, plan: Plan, asked: Asked, *, template: str, estimated: bool
) -> None:
    """A plan, and who would be asked for its summary; `template` is one in place of the policy's, "" for none."""
    expected = estimate(plan, compactor.policy, session=session, tokens=compactor.tokens)
    prefix = f" and {counted(len(plan.turn_prefix), 'message')} of a split turn" if plan.turn_prefix else ""
    by = made_by(compactor.policy.name, _template(compactor, plan, template), [_named(asked)])
    echo_text(f"would summarize {counted(len(plan.to_summarize), 'message')}{prefix}, {by}")
    begin = f" from {unbroken(plan.cut.first_kept)} on" if plan.kept else ""
    echo_text(f"would keep {counted(len(plan.kept), 'message')}{begin}{_shrinking(plan, expected)}")
    likely = f"about {expected.likely:,}, " if expected.likely < expected.at_most else ""
    echo_text(
        f"context: {plan.tokens_before:,} -> {likely}at most {expected.at_most:,} tokens"
        f" {counted_by(compactor.tokens, estimated=estimated)}"
    )
    _print_files(plan.files)


def plan_json(compactor: Compactor, session: str, plan: Plan, *, estimated: bool) -> dict[str, Any]:
    """A plan as JSON tells of it."""
    expected = estimate(plan, compactor.policy, session=session, tokens=compactor.tokens)
    return {
        "firstKept": plan.cut.first_kept,
        "splitTurn": plan.cut.splits_turn,
        "toSummarize": [part.id for part in plan.to_summarize],
        "turnPrefix": [part.id for part in plan.turn_prefix],
        "kept": plan.cut.kept,
        "counter": compactor.tokens.name,
        "estimate": estimated,
        "tokensBefore": plan.tokens_before,
        "tokensAfterEstimate": expected.at_most,
        "readFiles": plan.files.read_files,
        "modifiedFiles": plan.files.modified_files,
        "previousSummary": plan.window.previous_summary,
    }


def print_nothing(why: str, policy: Policy, cut: AnyCut | None) -> None:
    """Why there is nothing to compact, and what else there may be to do; `cut` is one in place of the policy's."""
    instead = ": refold prune makes those" if cut is None and policy.cut is None and policy.rewrites else ""
    echo_text(f"nothing to compact: {why}{instead}")


def made_by(policy: str, template: str, summarizers: list[str]) -> str:
    """By what a summary is made, as people are told: "by policy pi, template compaction, extractive"."""
    named = [f"policy {policy}", *([f"template {template}"] if template else []), *summarizers]
    return f"by {', '.join(map(unbroken, named))}"


def _named(asked: Asked) -> str:
    return " ".join([asked.summarizer, " or ".join(asked.models)]).rstrip()


def _template(compactor: Compactor, plan: Plan, instead: str) -> str:
    prompting = compactor.policy.prompting
    return instead or (plan.previous_summary and prompting.update) or prompting.template


def _shrinking(plan: Plan, expected: Estimate) -> str:
    if not expected.shrinks:
        return ""
    shorter = counted(len(expected.shrinks), "long result")
    return f", with {shorter} shown shorter: {plan.tokens_kept:,} -> {expected.kept:,} tokens"


def _print_files(files: FileOperations) -> None:
    marked = [("read", path) for path in files.read_files] + [
        ("modified", path) for path in files.modified_files
    ]
    folder = shared_folder([path for _, path in marked])
    inside = [(mark, path.removeprefix(folder)) for mark, path in marked if path.startswith(folder)]
    elsewhere = [(mark, path) for mark, path in marked if not path.startswith(folder)]
    for heading, found in ((folder and f"files in {folder}", inside), ("files elsewhere", elsewhere)):
        if heading and found:
            echo_text(unbroken(heading))
        for mark, path in found:
            echo_text(f"  {mark:<8}  {unbroken(path)}")
