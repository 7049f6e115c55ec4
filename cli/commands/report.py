"""refold report."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import click

from cli.options import (
    chosen_counter,
    chosen_prices,
    json_option,
    leaf_option,
    redact_option,
)

if TYPE_CHECKING:
    from projections.audit.session import Audit

_LONGEST_NAME: Final = 100


@click.command("report", epilog="Example:  refold report @last -o report.html")
@click.argument("session")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="File to write; - for standard output.  [default: the session's id, with .html]",
)
@leaf_option
@redact_option
@click.option("--full", is_flag=True, help="Do not cut long texts at 4,000 characters.")
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    session: str,
    *,
    output: str | None,
    leaf: str | None,
    redact: bool,
    full: bool,
    as_json: bool,
) -> None:
    """Write an HTML page about a session: its contexts, its tree, and what its compactions lost.

    The page is one self-contained file that loads nothing. An existing report is replaced; any other existing
    file is left alone.
    """
    from cli.auditing import echo_tracebacks
    from cli.output import echo_bytes, echo_json, echo_problem, echo_text, progress_bar
    from cli.redacting import masked, masks_if
    from cli.store import opened_session, resolve_leaf
    from cli.views.page.build import build_page
    from cli.views.page.html import page_bytes, refuse_other_files
    from cli.views.page.material import read_material
    from cli.views.texts import failure_text
    from cli.whole_file import write_atomically
    from projections.audit.prices import library_prices, prices_of_file
    from projections.audit.session import audit
    from projections.audit.stored_audit import stored_audit
    from projections.tokens import counter as counter_named

    prices = chosen_prices(ctx)
    table = prices_of_file(prices) if prices else library_prices()
    masks = masks_if(redact)
    with opened_session(ctx, session) as (log, name):
        target = output or _file_name(name)
        refuse_other_files(target)
        with masked(log, masks) as source, progress_bar("reporting"):
            with source.snapshot() as snapshot:
                at = resolve_leaf(snapshot, name, leaf)
            tokens = counter_named(chosen_counter(ctx), log=log)
            # An audit of masked records is another one, so it is not kept.
            audited = (
                audit(source, name, leaf=at, tokens=tokens, prices=table)
                if masks
                else stored_audit(log, name, leaf=at, tokens=tokens, prices=table)
            )
            echo_tracebacks(audited)
            material = read_material(source, audited, leaf=at, tokens=tokens, prices=table)
            content = page_bytes(build_page(material, is_full=full))
    for each in audited.not_computed:
        echo_problem(failure_text(each))
    if target == "-":
        echo_bytes(content)
        ctx.exit(1 if audited.not_computed else 0)
    size = write_atomically(target, [content])
    if as_json:
        written = {"session": name, "path": target, "bytes": size, **_counts(material.view.audit)}
        echo_json(written | ({"redaction": masks.count()} if masks else {}))
    else:
        echo_text(f"{target}  {size:,} bytes")
    ctx.exit(1 if audited.not_computed else 0)


def _counts(found: Audit) -> dict[str, int]:
    return {
        "events": found.events,
        "compactions": len(found.compactions),
        "branchSummaries": len(found.branch_summaries),
        "rewrites": len(found.rewrites),
    }


def _file_name(session: str) -> str:
    """Return a file name for a session's report in the current folder."""
    name = re.sub(r"[^\w.~-]+", "-", session, flags=re.ASCII).strip(".-")
    return f"{name[:_LONGEST_NAME] or 'session'}.html"
