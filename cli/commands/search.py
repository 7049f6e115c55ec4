"""refold search."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import click

from cli.options import json_option, redact_option, session_filters, utf8

if TYPE_CHECKING:
    from eventstore.log import Snapshot, StoredLog
    from projections.overview import SessionFilter
    from projections.search import Hit

_PREFIX: Final = 8
"""Minimum characters of an event's id to show."""
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
    "rewritten": "rewritten",
    "removed": "removed",
    "branch": "other branch",
    "unsent": "",
}


def _joined(ctx: click.Context, param: click.Parameter, words: tuple[str, ...]) -> str:
    return utf8(ctx, param, " ".join(words)) or ""


@click.command("search", epilog="Example:  refold search parser --limit 5")
@click.argument("query", nargs=-1, required=True, callback=_joined)
@session_filters
@click.option("--session", metavar="SESSION", help="Only this session.")
@click.option("--lost", is_flag=True, help="Only what the model was sent once but no longer is.")
@click.option(
    "--limit", type=click.IntRange(1), default=20, show_default=True, metavar="N", help="At most N events."
)
@redact_option
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    query: str,
    chosen: SessionFilter,
    session: str | None,
    lost: bool,
    limit: int,
    redact: bool,
    as_json: bool,
) -> None:
    """Search the messages of all sessions; exit with 1 if none matches.

    QUERY is one or more words that an event must contain, in any order and case. "two words" in double quotes
    is a phrase, and findM* matches every word that begins with findM. The newest events come first.
    """
    from cli.output import console, echo_json, echo_note, paged, progress_bar
    from cli.redacting import masked, masks_if
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
    with opened(ctx) as log, masked(log, masks) as source:
        sessions = _chosen(log, chosen, session)
        with progress_bar("indexing") as progress:
            hits = search(
                log,
                log.folder,
                parsed,
                limit=limit + 1,
                sessions=sessions,
                lost=lost,
                width=_WIDTH if as_json else min(_WIDTH, (out.width - len(_INDENT)) * _LINES),
                progress=progress,
                read=source,
            )
        shown, more = hits[:limit], len(hits) > limit
        if as_json:
            found = {"hits": [_json(hit) for hit in shown], "more": more}
            echo_json(found | ({"redaction": masks.count()} if masks else {}))
        else:
            with log.snapshot() as snapshot:
                prefixes = [_prefix(snapshot, hit) for hit in shown]
            with paged(out):
                _print(out, shown, prefixes)
            if not hits:
                echo_note("no event matches")
            elif more:
                echo_note(f"more events match; see them with --limit {max(100, limit * 5)}")
    ctx.exit(0 if shown else 1)


def _chosen(log: StoredLog, chosen: SessionFilter, session: str | None) -> set[str] | None:
    """Return the sessions to search, None for all."""
    from cli.store import chosen_sessions, resolve_session
    from projections.overview import SessionFilter

    names = None if session is None else {resolve_session(log, session)}
    if chosen == SessionFilter():
        return names
    members = {each.name for family in chosen_sessions(log, chosen) for each in family.members}
    return members if names is None else members & names


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
    }


def _prefix(snapshot: Snapshot, hit: Hit) -> str:
    """Return the shortest unique beginning of an event's id that is long enough to recognize."""
    length = _PREFIX
    while len(list(islice(snapshot.ids(hit.session, hit.id[:length]), 2))) > 1 and length < len(hit.id):
        length += 1
    return hit.id[:length]


def _print(out: Any, hits: list[Hit], prefixes: list[str]) -> None:
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
            out.print(Text(_INDENT) + line, crop=False, no_wrap=True, overflow="ignore")
