"""What a compaction would do, as people and programs are told of it."""

from __future__ import annotations

from typing import Any

from cli.output import counted, echo_json, echo_text, unbroken
from compaction.compactor import Compactor
from compaction.plan import Plan
from compaction.prompts import output_budget


def print_plan(compactor: Compactor, plan: Plan | None, *, why_nothing: str, as_json: bool) -> None:
    """The plan on stdout; where there is none, why that is, and in JSON `null`."""
    if as_json:
        echo_json(plan and _plan_json(compactor, plan))
    elif plan is None:
        echo_text(f"nothing to compact: {why_nothing}")
    else:
        prefix = (
            f" and {counted(len(plan.turn_prefix), 'message')} of a split turn" if plan.turn_prefix else ""
        )
        echo_text(f"would summarize {counted(len(plan.to_summarize), 'message')}{prefix}")
        begin = f" from {unbroken(plan.cut.first_kept)} on" if plan.kept else ""
        echo_text(f"would keep {counted(len(plan.kept), 'message')}{begin}")
        echo_text(
            f"context: {plan.tokens_before:,} -> at most {_estimate(compactor, plan):,} tokens"
            f" by {compactor.tokens.name}"
        )
        for sign, paths in (("read", plan.files.read_files), ("modified", plan.files.modified_files)):
            for path in paths:
                echo_text(f"  {sign:<8}  {unbroken(path)}")


def _plan_json(compactor: Compactor, plan: Plan) -> dict[str, Any]:
    return {
        "firstKept": plan.cut.first_kept,
        "splitTurn": plan.cut.splits_turn,
        "toSummarize": plan.cut.to_summarize,
        "turnPrefix": plan.cut.turn_prefix,
        "kept": plan.cut.kept,
        "tokensBefore": plan.tokens_before,
        "tokensAfterEstimate": _estimate(compactor, plan),
        "readFiles": plan.files.read_files,
        "modifiedFiles": plan.files.modified_files,
        "previousSummary": plan.window.previous_summary,
    }


def _estimate(compactor: Compactor, plan: Plan) -> int:
    """What is kept, and a summary as long as it may get, but no longer than what it stands for."""
    prompting = compactor.policy.prompting
    budget = prompting.output or output_budget(prompting.reserve)
    return plan.tokens_kept + min(budget, plan.tokens_before - plan.tokens_kept)
