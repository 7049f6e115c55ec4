"""refold audit."""

from __future__ import annotations

import click

from cli.options import as_of_option, counter_option, json_option, leaf_option


@click.command("audit", epilog="Example:  refold audit session.jsonl")
@click.argument("sessions", metavar="SESSION...", nargs=-1, required=True)
@click.option(
    "--all", "every_branch", is_flag=True, help="Compactions of every branch, not only of the leaf's path."
)
@leaf_option
@as_of_option
@counter_option
@click.option("--brief", is_flag=True, help="Without the texts of the summaries.")
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    sessions: tuple[str, ...],
    *,
    every_branch: bool,
    leaf: str | None,
    as_of: int | None,
    counter: str,
    brief: bool,
    as_json: bool,
) -> None:
    """Show what compactions did to a session: tokens, messages, files, before and after.

    Of each compaction: its context's size as it claims, as the provider measured and as the log gives it; how
    many messages it summarized, kept, and dropped with no summary covering them; its summary; the files that
    it claims were touched, against those that were. Then branch summaries and rewrites.
    """
    from cli.audit_view import print_audit
    from cli.output import console, echo_json, paged
    from cli.store import looks_like_file, opened, resolve_leaf, resolve_session
    from projections.audit import audit
    from projections.tokens import counter as counter_named

    audits = []
    with opened(ctx, create=any(map(looks_like_file, sessions))) as log:
        for session in sessions:
            name = resolve_session(log, session)
            with log.snapshot() as snapshot:
                at = resolve_leaf(snapshot, name, leaf)
            tokens = counter_named(counter, log=log)
            audits.append(audit(log, name, leaf=at, as_of=as_of, every_branch=every_branch, tokens=tokens))
    if as_json:
        echo_json({"sessions": audits})
        return
    out = console()
    with paged(out):
        for each in audits:
            print_audit(out, each, is_brief=brief)
