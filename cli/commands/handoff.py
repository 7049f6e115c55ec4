"""refold handoff."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, Unpack

import click

from cli.options import json_option, utf8
from cli.summarizing import SummarizerOptions, summarizer_options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eventstore.log import StoredLog


@click.command("handoff", epilog="Example:  refold handoff @last --as next-steps")
@click.argument("session")
@click.argument("instructions", default="", callback=utf8)
@click.option(
    "--as",
    "new_name",
    metavar="NEW",
    callback=utf8,
    help="Give the new session this name instead of a new id.",
)
@click.option("--system", type=click.File("rb"), help="The harness's system prompt, as sent in this session.")
@click.option(
    "--tools", type=click.File("rb"), help="The harness's tools as a JSON list, as sent in this session."
)
@summarizer_options
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    session: str,
    instructions: str,
    *,
    new_name: str | None,
    system: BinaryIO | None,
    tools: BinaryIO | None,
    as_json: bool,
    **summarizer_options: Unpack[SummarizerOptions],
) -> None:
    """Start a new session with a document that sums up this one.

    This session is unchanged. INSTRUCTIONS are for the document's author.
    """
    from cli.compacting import template_sources
    from cli.options import prompt_of
    from cli.output import echo_json, echo_note, echo_text, safe_line
    from cli.store import opened_session
    from cli.summarizing import advise_on_failure, build_summarizer_chain, cancellable
    from compaction.branching.handoff import hand_off
    from eventstore.writing import SessionWriter

    sent = prompt_of(system, tools)
    with (
        opened_session(ctx, session, writes=True) as (log, name),
        advise_on_failure(ctx),
        cancellable(ctx) as interrupt,
    ):
        new = SessionWriter(log, _name(log, new_name))
        chain = build_summarizer_chain(
            ctx, log, summarizer_options, interrupt, session=name, instructions=instructions
        )
        with _report_name_conflict():
            done = hand_off(
                SessionWriter(log, name),
                new,
                chain,
                system=sent.system,
                tools=sent.tools,
                instructions=instructions,
                sources=template_sources(),
            )
    if as_json:
        echo_json(
            {
                "session": done.session,
                "parent": name,
                "events": done.events,
                "document": done.document,
                "missingSections": done.missing,
            }
        )
    else:
        echo_text(f"{done.document}\n\nthe new session: {safe_line(done.session)}")
    if done.missing:
        echo_note(f"the document lacks sections: {', '.join(done.missing)}")


@contextmanager
def _report_name_conflict() -> Iterator[None]:
    """Report a session that another process created meanwhile, and how to get the document."""
    from eventstore.errors import BadInputError, VersionConflictError

    try:
        yield
    except VersionConflictError as error:
        again = "; '--summarizer recorded' gives the same document" if error.attempt else ""
        problem = "another process created it in the meantime"
        remedy = f"choose another name with --as{again}"
        raise BadInputError(f"session {error.session!r}", problem, remedy) from None


def _name(log: StoredLog, given: str | None) -> str:
    """Return an unused session name. Raises BadInputError before any summarizer is asked."""
    from cli.store import check_new_name, new_session_name
    from eventstore.errors import BadInputError

    if given is None:
        return new_session_name()
    name = check_new_name(given)
    with log.snapshot() as snapshot:
        if name in {head.name for head in snapshot.heads()}:
            raise BadInputError(f"session {name!r}", "already exists", "choose another name with --as")
    return name
