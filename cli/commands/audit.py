"""refold audit."""

from __future__ import annotations

import click


@click.command("audit", epilog="Example:  refold audit session.jsonl")
@click.argument("sessions", metavar="SESSION...", nargs=-1, required=True)
@click.option(
    "--all", "every_branch", is_flag=True, help="Compactions of every branch, not only of the leaf's path."
)
@click.option("--leaf", metavar="ID", help="Stand at this entry instead of where the session stands.")
@click.option(
    "--as-of", type=int, metavar="SEQ", help="Nothing after the event of this number has happened yet."
)
@click.option(
    "--counter",
    type=click.Choice(["utf16/4", "bytes/4", "o200k"]),
    default="utf16/4",
    show_default=True,
    help="How tokens are counted; o200k by its vocabulary, the others by estimate.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(
    ctx: click.Context,
    sessions: tuple[str, ...],
    *,
    every_branch: bool,
    leaf: str | None,
    as_of: int | None,
    counter: str,
    as_json: bool,
) -> None:
    """Show what compactions did to a session: tokens, messages, files, before and after.

    Of each compaction: its context's size as it claims, as the provider measured and as the log gives it; how
    many messages it summarized, kept, and dropped with no summary covering them; its summary; the files that
    it claims were touched, against those that were. Then branch summaries and rewrites.
    """
    from cli.audit_view import print_audit
    from cli.output import echo_json
    from cli.store import looks_like_file, opened, resolve_event, resolve_session
    from projections.audit import audit
    from projections.tokens import counter as counter_named

    audits = []
    with opened(ctx, create=any(map(looks_like_file, sessions))) as log:
        for session in sessions:
            name = resolve_session(log, session)
            with log.snapshot() as snapshot:
                at = leaf and resolve_event(snapshot, name, leaf)
            tokens = counter_named(counter, log=log)
            audits.append(audit(log, name, leaf=at, as_of=as_of, every_branch=every_branch, tokens=tokens))
    if as_json:
        echo_json({"sessions": audits})
        return
    for each in audits:
        print_audit(each)
