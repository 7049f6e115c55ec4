"""Build the page of a replay: the sizes of the variants, and their summaries side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
from markupsafe import Markup

from cli.output import counted, safe_line, thousands, when
from cli.views.page.html import rendered, summary_html
from cli.views.replay_table import failures_of
from compaction.replay.results import ReplayResult, VariantSummary
from eventstore.errors import shell_command

MOST: Final = 20
"""Boundaries whose summaries are shown, the first ones."""


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """The source of a page: a store's place, and the command line that made the page.

    Both are without passwords. `made` is the time in milliseconds since 1970.
    """

    store: str
    command: str
    made: int


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """A variant's summary at a boundary, or the reason for its absence."""

    variant: str
    about: str
    summary: Markup


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A boundary, with each variant's summary; `command` forks the session there."""

    anchor: str
    name: str
    command: str
    sides: list[Side]


def replay_page(
    results: Sequence[ReplayResult], variants: Sequence[VariantSummary], *, origin: Origin
) -> bytes:
    """Return the page as UTF-8; it shows the summaries at the first boundaries."""
    sessions = sorted({each.boundary.session for each in results})
    at = f"{results[0].boundary.at} " if results else ""
    shown = results[:MOST]
    html = rendered(
        "replay.html",
        command=origin.command,
        store=safe_line(origin.store),
        made=when(origin.made),
        sessions=sessions,
        title=f"{counted(len(results), f'{at}boundary', f'{at}boundaries')} in {counted(len(sessions), 'session')}",
        notes=list(failures_of(results, variants)),
        variants=variants,
        places=[_place(number, each) for number, each in enumerate(shown)],
        left_out=len(results) - len(shown),
    )
    return html.encode()


def _place(number: int, result: ReplayResult) -> Place:
    boundary = result.boundary
    return Place(
        anchor=f"b-{number}",
        name=f"{boundary.session}#{boundary.seq}",
        command=safe_line(shell_command(f"fork --leaf '#{boundary.seq}' --as trial", boundary.session)),
        sides=[
            Side(
                variant=trial.variant,
                about=trial.error
                or f"{thousands(trial.tokens_after)} of {thousands(trial.tokens_before)} tokens",
                summary=summary_html(result.summaries.get(trial.variant, "")),
            )
            for trial in result.trials
        ],
    )
