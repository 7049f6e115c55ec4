"""Print planned and completed compactions, as text or JSON."""

from __future__ import annotations

import collections
from collections.abc import Iterator, Sequence
from typing import Any, Final

from cli.output import command_line, counted, echo_json, echo_note, echo_problem, echo_text, safe_line
from cli.summarizing import SummarizerChoice
from compaction.compactor import CompactionResult, Compactor
from compaction.cuts import AnyCut
from compaction.plan import Estimate, Plan, estimate
from compaction.policy.model import Policy
from eventstore.log import EventLog
from eventstore.node import RequestView
from eventstore.records import FileOperations
from projections.context.cursor import Leaf, resolve_cursor
from projections.settings import settings_at
from projections.tokens import Counter, is_estimate


def shared_folder(paths: Sequence[str]) -> str:
    """Return the deepest folder, with a slash, of ≥ 2 paths and 75 % of all; "" for none."""
    counts = collections.Counter(folder for path in paths for folder in _folders(path))
    shared = [folder for folder, count in counts.items() if count > 1 and count * 4 >= len(paths) * 3]
    return max(shared, key=len, default="")


def _folders(path: str) -> Iterator[str]:
    end = path.find("/", 1)
    while end != -1:
        yield path[: end + 1]
        end = path.find("/", end + 1)


def is_estimated(log: EventLog, session: str, tokens: Counter, *, leaf: Leaf = None) -> bool:
    """Return True unless a counter uses the vocabulary of the model in use at a leaf."""
    with log.snapshot() as snapshot:
        at = resolve_cursor(snapshot, session, leaf=leaf).leaf
        return is_estimate(tokens, settings_at(snapshot, session, at).model)


def counted_by(tokens: Counter, *, estimated: bool) -> str:
    """Return the suffix of a token count: "by o200k", "by utf16/4, an estimate"."""
    return f"by {tokens.name}{', an estimate' if estimated else ''}"


def print_plan(
    compactor: Compactor,
    plan: Plan,
    choice: SummarizerChoice,
    *,
    template: str,
    estimated: bool,
) -> None:
    """Print a plan and who would write its summary; `template` replaces the policy's, unless ""."""
    expected = estimate(plan, compactor.policy, compactor.tokens)
    prefix = f", and {len(plan.turn_prefix):,} of the turn that it cuts" if plan.turn_prefix else ""
    by = made_by(compactor.policy.name, _template(compactor, plan, template), [_named(choice)])
    echo_text(f"would summarize {counted(len(plan.to_summarize), 'message')}{prefix}, {by}")
    begin = f" from {safe_line(plan.cut.first_kept)} on" if plan.kept else ""
    echo_text(f"would keep {counted(len(plan.kept), 'message')}{begin}{_shrinking(plan, expected)}")
    likely = f"about {expected.likely:,} afterwards" if expected.likely < expected.at_most else ""
    # Few summaries are as long as they may be: that bound says nothing where it is no smaller than the context.
    is_bound = expected.at_most < plan.tokens_before
    bound = f"up to {expected.at_most:,} if the summary is as long as it may be" if is_bound else ""
    after = ", ".join(filter(None, (likely, bound))) or "a summary may be as long as what it replaces"
    size = f"{plan.tokens_before:,} tokens {counted_by(compactor.tokens, estimated=estimated)}"
    echo_text(f"context: {size}; {after}")
    _print_files(plan.files)


def plan_json(compactor: Compactor, plan: Plan, *, estimated: bool) -> dict[str, Any]:
    """Return a plan as a JSON value."""
    expected = estimate(plan, compactor.policy, compactor.tokens)
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
    """Print why there is nothing to compact and what may help; `cut` replaces the policy's cut."""
    instead = (
        ": 'refold prune' applies those" if cut is None and policy.cut is None and policy.rewrites else ""
    )
    echo_text(f"nothing to compact: {why}{instead}")


def made_by(policy: str, template: str, summarizers: list[str]) -> str:
    """Describe what makes a summary: "by policy pi, template compaction, extractive"."""
    named = [f"policy {policy}", *([f"template {template}"] if template else []), *summarizers]
    return f"by {', '.join(map(safe_line, named))}"


def _named(choice: SummarizerChoice) -> str:
    return " ".join([choice.summarizer, " or ".join(choice.models)]).rstrip()


def _template(compactor: Compactor, plan: Plan, instead: str) -> str:
    prompting = compactor.policy.prompting
    return instead or (plan.previous_summary and prompting.update) or prompting.template


def _shrinking(plan: Plan, expected: Estimate) -> str:
    if not expected.shrinks:
        return ""
    shorter = counted(len(expected.shrinks), "long result")
    return f", with {shorter} shortened: {plan.tokens_kept:,} -> {expected.kept:,} tokens"


def _print_files(files: FileOperations) -> None:
    marked = [("read", path) for path in files.read_files] + [
        ("modified", path) for path in files.modified_files
    ]
    folder = shared_folder([path for _, path in marked])
    inside = [(mark, path.removeprefix(folder)) for mark, path in marked if path.startswith(folder)]
    elsewhere = [(mark, path) for mark, path in marked if not path.startswith(folder)]
    for heading, found in ((folder and f"files in {folder}", inside), ("files elsewhere", elsewhere)):
        if heading and found:
            echo_text(safe_line(heading))
        for mark, path in found:
            echo_text(f"  {mark:<8}  {safe_line(path)}")


_TRY_INSTEAD: Final = "try another --keep-recent, --policy or --summarizer"


def print_done(
    log: EventLog,
    session: str,
    compactor: Compactor,
    done: CompactionResult,
    cut: AnyCut | None,
    *,
    as_json: bool,
) -> None:
    """Print the outcome of a compaction; `cut` replaced the policy's."""
    if as_json:
        echo_json(_json(log, session, compactor, done))
    elif done.outcome == "nothing":
        print_nothing(done.reason, compactor.policy, cut)
    elif done.outcome == "compacted":
        _print_compacted(log, session, compactor, done)
    if done.warning:
        echo_note(done.warning)
    for error in done.hook_errors:
        echo_note(error)
    if done.missing:
        lacking = ", ".join(done.missing)
        echo_note(f"the summary lacks sections: {lacking}; {command_line('undo', session)} undoes it")
    if done.outcome == "cancelled":
        echo_problem(f"not compacted: {done.reason}")
    if done.outcome == "no-gain":
        echo_problem(
            f"not compacted: the context would be no smaller, {_sizes(log, session, compactor, done)}",
            _TRY_INSTEAD,
        )


def _print_compacted(log: EventLog, session: str, compactor: Compactor, done: CompactionResult) -> None:
    assert done.plan  # noqa: S101  what was compacted was planned
    by, plan = safe_line(done.events[0]), done.plan
    summarized = counted(len(plan.to_summarize) + len(plan.turn_prefix), "message")
    echo_text(
        f"compacted by {by}: {summarized} summarized, {len(plan.kept):,} kept beside the summary,"
        f" {_made_by(log, session, done)}"
    )
    echo_text(f"context: {_sizes(log, session, compactor, done)}")
    echo_text(f"to undo: {command_line('undo', session, done.events[0])}")


def _made_by(log: EventLog, session: str, done: CompactionResult) -> str:
    """Describe policy, template and answering models from a compaction's own record."""
    from eventstore.harnesses import node_of
    from eventstore.paths import event

    with log.snapshot() as snapshot:
        view = node_of(event(snapshot, session, snapshot.locate(session, done.events[0])))
    assert view.compaction  # noqa: S101  the first event of a compaction is its record
    answered = dict.fromkeys(_who(each) for each in view.requests if each.answer is not None)
    return made_by(view.compaction.policy, view.compaction.template.partition("@")[0], list(answered))


def _who(request: RequestView) -> str:
    """Return a summarizer's name, and its model if that has another name."""
    return " ".join(dict.fromkeys([request.summarizer, request.model or ""])).rstrip()


def _sizes(log: EventLog, session: str, compactor: Compactor, done: CompactionResult) -> str:
    assert done.plan  # noqa: S101  what has sizes was planned
    by = counted_by(compactor.tokens, estimated=is_estimated(log, session, compactor.tokens))
    return f"{done.plan.tokens_before:,} -> {done.tokens_after:,} tokens {by}"


def _json(log: EventLog, session: str, compactor: Compactor, done: CompactionResult) -> dict[str, Any]:
    return {
        "session": session,
        "outcome": done.outcome,
        "reason": done.reason,
        "events": done.events,
        "counter": compactor.tokens.name,
        "estimate": is_estimated(log, session, compactor.tokens),
        "tokensBefore": done.plan.tokens_before if done.plan else None,
        "tokensAfter": done.tokens_after,
        "warning": done.warning or None,
        "missingSections": done.missing,
        "hookErrors": done.hook_errors,
    }
