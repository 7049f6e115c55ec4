"""refold search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from cli.options import json_option, redact_option, session_filters, utf8

if TYPE_CHECKING:
    from eventstore.log import EventLog, Snapshot, StoredLog
    from projections.overview import SessionFilter
    from projections.search import Hit

_SCREENFUL: Final = 20
"""Events to print."""
_INDENT: Final = "    "
_WIDTH: Final = 200
"""Characters of an excerpt, unless a terminal has no room for them."""
_WIDE: Final = 100
"""Columns from which a line shows ids and seconds."""
_LINES: Final = 2
"""Lines of a terminal that an excerpt may take."""
_STATES: Final = {
    "context": "in context",
    "compacted": "compacted",
    "native": "in the provider's history",
    "rewritten": "rewritten",
    "removed": "removed",
    "branch": "other branch",
    "unsent": "",
}


def _joined(ctx: click.Context, param: click.Parameter, words: tuple[str, ...]) -> str:
    return utf8(ctx, param, " ".join(words)) or ""


@click.command("search", epilog="Example:  refold search '\"the parser\" fix'")
@click.argument("query", nargs=-1, required=True, callback=_joined)
@session_filters
@click.option("--session", metavar="SESSION", help="Only this session.")
@click.option(
    "--gone", is_flag=True, help="Only what was sent and is not in the context, as far as one can read it."
)
@click.option("--lost", is_flag=True, help="Only what a compaction lost, by what `refold judge` read.")
@redact_option
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    query: str,
    chosen: SessionFilter,
    session: str | None,
    gone: bool,
    lost: bool,
    redact: bool,
    as_json: bool,
) -> None:
    """Search the messages of all sessions; exit with 1 if none matches.

    QUERY is one or more words that an event must contain, in any order and case. "two words" in double quotes
    is a phrase, and findM* matches every word that begins with findM. The newest events come first; people see 20 of
    them.
    """
    from cli.output import console, echo_json, echo_problem, progress_bar
    from cli.redacting import masked_throughout, masks_if
    from cli.store import opened
    from eventstore.errors import BadInputError
    from projections.search import search
    from projections.search.words import Query

    try:
        parsed = Query(query)
    except BadInputError as error:
        raise click.BadParameter(f"it {error.problem}; {error.remedy}", param_hint="QUERY") from None
    out = console()
    masks = masks_if(redact)
    with opened(ctx) as log:
        sessions = _chosen(log, chosen, session)
        problems = dict[str, str]()

        def find(source: EventLog | Snapshot) -> list[Hit]:
            with progress_bar("indexing") as progress:
                return search(
                    log,
                    log.folder,
                    parsed,
                    limit=None if as_json else _SCREENFUL + 1,
                    sessions=sessions,
                    gone=gone,
                    lost=lost,
                    width=_WIDTH if as_json else min(_WIDTH, (out.width - len(_INDENT)) * _LINES),
                    progress=progress,
                    read=source,
                    problems=problems,
                )

        hits = masked_throughout(find, log, masks)
        if as_json:
            found = {"hits": [_json(hit) for hit in hits]}
            echo_json(found | ({"redaction": masks.count()} if masks else {}))
        else:
            _print(log, out, hits, _unsearched(log) if not hits and session is None else "")
    for each in problems.values():
        echo_problem(each)
    ctx.exit(0 if hits and not problems else 1)


def _chosen(log: StoredLog, chosen: SessionFilter, session: str | None) -> set[str] | None:
    """Return the sessions to search, None for all.

    Earlier generations and answers of replays are searched only by name.
    """
    from cli.store import chosen_names, chosen_sessions, resolve_session

    if session is not None:
        names = {resolve_session(log, session)}
        if chosen.is_empty:
            return names
        return names & {each.name for family in chosen_sessions(log, chosen) for each in family.members}
    names = set(chosen_names(log, chosen))
    with log.snapshot() as snapshot:
        return None if all(head.name in names for head in snapshot.heads()) else names


def _unsearched(log: StoredLog) -> str:
    """Say which sessions were left out, "" for none."""
    from cli.output import counted
    from eventstore.imports import earlier_generations

    with log.snapshot() as snapshot:
        count = len(earlier_generations(snapshot))
    return f"; {counted(count, 'earlier generation')} not searched: name one with --session" if count else ""


def _json(hit: Hit) -> dict[str, Any]:
    from eventstore.javascript import iso_time

    return {
        "session": hit.session,
        "seq": hit.seq,
        "id": hit.id,
        "name": hit.name,
        "time": iso_time(hit.time),
        "state": hit.state.value,
        "excerpt": hit.excerpt.text,
        "marks": [{"start": start, "stop": stop} for start, stop in hit.excerpt.marks],
        "losses": list(hit.losses),
    }


def _print(log: StoredLog, out: Any, hits: list[Hit], unsearched: str) -> None:
    from cli.output import echo_note, paged
    from cli.store import unique_prefix

    shown = hits[:_SCREENFUL]
    with log.snapshot() as snapshot:
        prefixes = [unique_prefix(snapshot, hit.session, hit.id) for hit in shown]
    with paged(out):
        _print_hits(out, shown, prefixes)
    if not hits:
        echo_note(f"no event matches{unsearched}")
    elif len(hits) > _SCREENFUL:
        echo_note(f"these are the newest {_SCREENFUL} of more: narrow the query, or print all with --json")


def _print_hits(out: Any, hits: list[Hit], prefixes: list[str]) -> None:
    from rich.text import Text

    from cli.output import print_line, printable, safe_line, when
    from cli.store import short_names

    names, is_wide = short_names(sorted({hit.session for hit in hits})), out.width >= _WIDE
    for hit, prefix in zip(hits, prefixes, strict=True):
        time = when(hit.time)[: None if is_wide else 16]
        name = prefix if is_wide else ""
        cells = (names[hit.session], f"#{hit.seq}", name, time, hit.name, _STATES[hit.state])
        print_line(out, "  ".join(safe_line(cell) for cell in cells if cell), style="bold")
        text, at = Text(), 0
        for start, stop in hit.excerpt.marks:
            text.append(printable(hit.excerpt.text[at:start]))
            text.append(printable(hit.excerpt.text[start:stop]), "reverse")
            at = stop
        text.append(printable(hit.excerpt.text[at:]))
        for line in text.wrap(out, out.width - len(_INDENT)) if out.is_terminal else (text,):
            # A line that was wrapped ends in the space between two words.
            line.rstrip()
            out.print(Text(_INDENT) + line, crop=False, no_wrap=True, overflow="ignore")
        for loss in hit.losses:
            print_line(out, f"{_INDENT}lost: {safe_line(loss)}", style="yellow")
