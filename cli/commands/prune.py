"""refold prune."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cli.compacting import policy_option
from cli.options import json_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compaction.policy.model import Policy
    from compaction.rewrites import AnyRewrite
    from compaction.rewriting import RewriteResult
    from eventstore.log import StoredLog
    from projections.tokens import Counter


@click.command("prune", epilog="Example:  refold prune @last --policy mask --dry-run")
@click.argument("session")
@policy_option("oh-my-pi")
@click.option("--dry-run", is_flag=True, help="Show what would happen; append nothing.")
@json_option
@click.pass_context
def command(ctx: click.Context, session: str, *, policy: str, dry_run: bool, as_json: bool) -> None:
    """Shorten old content of a session by a policy's rewrites, without a model.

    The messages stay in the log; later contexts show the shorter form. refold undo reverts it. The default
    policy is not that of refold compact, which has no rewrites.
    """
    from cli.compacting import policy_named
    from cli.output import echo_json, echo_note
    from cli.store import opened_session
    from cli.views.compaction import counted_by, is_estimated
    from projections.tokens import counter

    chosen = policy_named(policy)
    with opened_session(ctx, session, writes=not dry_run) as (log, name):
        tokens = counter(chosen.counter, log=log)
        if tokens.note:
            echo_note(tokens.note)
        act = _planned if dry_run else _recorded
        done = act(log, name, chosen.rewrites, tokens)
        estimated = is_estimated(log, name, tokens)
    if as_json:
        made = [
            {
                "reason": each.reason,
                "targets": [shown.target for shown in each.targets],
                "tokensSaved": each.tokens_saved,
            }
            for each in done.records
        ]
        counts = {"counter": tokens.name, "estimate": estimated}
        echo_json({"session": name, "events": done.events, **counts, "rewrites": made})
    else:
        by = counted_by(tokens, estimated=estimated)
        _print(name, chosen, done, by, verb="would shorten" if dry_run else "shortened")


def _planned(log: StoredLog, session: str, parts: Sequence[AnyRewrite], tokens: Counter) -> RewriteResult:
    """Return what would be appended, without ids."""
    from compaction.rewriting import plan_rewrites
    from eventstore.event import epoch_milliseconds

    with log.snapshot() as snapshot:
        return plan_rewrites(snapshot, session, parts, tokens=tokens, now=epoch_milliseconds())


def _recorded(log: StoredLog, session: str, parts: Sequence[AnyRewrite], tokens: Counter) -> RewriteResult:
    """Append the rewrites and return them."""
    from compaction.rewriting import record_rewrites
    from eventstore.event import epoch_milliseconds
    from eventstore.writing import SessionWriter

    return record_rewrites(SessionWriter(log, session), parts, tokens=tokens, now=epoch_milliseconds())


def _print(session: str, policy: Policy, done: RewriteResult, by: str, *, verb: str) -> None:
    from cli.output import command_line, counted, echo_text

    for each in done.findings:
        if each.rewrite:
            saved = f"{counted(each.rewrite.tokens_saved, 'token')} less {by}"
            echo_text(f"{each.part}: {verb} {counted(each.messages, 'message')}, {saved}")
        else:
            echo_text(f"{each.part}: nothing to rewrite: {each.why}")
    if not policy.rewrites:
        echo_text(f"nothing to rewrite: policy {policy.name!r} has no rewrites")
    if done.events:
        echo_text(f"to undo: {command_line('undo', session, done.events[0])}")
