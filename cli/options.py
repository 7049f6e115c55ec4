"""Options that several commands have, and the texts in files that options name."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from eventstore.node import PromptView
    from projections.overview import SessionFilter

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def utf8(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    """Reject text that is not UTF-8, before it is stored or searched for."""
    try:
        if value is not None:
            value.encode()
    except UnicodeEncodeError:
        raise click.BadParameter("it is not UTF-8") from None
    return value


class LazyChoice(click.ParamType):  # type: ignore[type-arg]  # older clicks take none
    """A choice among the names of a registry that is loaded on first use.

    `always` are those of the names that need no registry, so that choosing one does not load it.
    """

    def __init__(self, name: str, names: Callable[[], Sequence[str]], *, always: Sequence[str] = ()) -> None:
        self.name = name
        self._names, self._always = names, always

    def get_metavar(self, *args: Any, **fields: Any) -> str | None:
        return self._choice.get_metavar(*args, **fields)

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return value if value in self._always else self._choice.convert(value, param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return self._choice.shell_complete(ctx, param, incomplete)

    @property
    def _choice(self) -> click.Choice[str]:
        return click.Choice(self._names())


json_option: Final[Decorator] = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
redact_option: Final[Decorator] = click.option(
    "--redact", is_flag=True, help="Mask secrets, such as API keys."
)
leaf_option: Final[Decorator] = click.option(
    "--leaf", metavar="ID|root", help="Use this entry instead of the session's leaf."
)
as_of_option: Final[Decorator] = click.option(
    "--as-of",
    type=click.IntRange(0),
    metavar="SEQ",
    help="Ignore everything after this event number.",
)
COUNTERS: Final = ("utf16/4", "bytes/4", "o200k")
"""The counters of tokens, which are not imported for --help; the usual one first."""
COUNTER: Final = "refold.counter"
"""The key in a click context of the counter that `refold --counter` names."""
PRICES: Final = "refold.prices"
"""The key in a click context of the file that `refold --prices` names."""


def chosen_counter(ctx: click.Context, default: str = COUNTERS[0]) -> str:
    """Return the counter that `refold --counter` names, or the default."""
    counter: str = ctx.meta.get(COUNTER) or default
    return counter


def chosen_prices(ctx: click.Context) -> str | None:
    """Return the file that `refold --prices` names, if any."""
    prices: str | None = ctx.meta.get(PRICES)
    return prices


_AGE: Final = re.compile(r"([0-9]{1,6})([hdw])")
_HOURS: Final = {"h": 1, "d": 24, "w": 7 * 24}


def _since(_ctx: click.Context, _param: click.Parameter, value: str | None) -> int | None:
    """Parse a date, a time or an age, and return epoch milliseconds."""
    if value is None:
        return None
    from eventstore import event

    if age := _AGE.fullmatch(value):
        return event.epoch_milliseconds() - int(age[1]) * _HOURS[age[2]] * 3_600_000
    from datetime import UTC, datetime

    try:
        moment = datetime.fromisoformat(value)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return int(moment.timestamp() * 1000)
    except (ValueError, OverflowError):
        raise click.BadParameter("give a date such as 2026-11-01, or an age such as 12h, 3d or 2w") from None


since_option: Final[Decorator] = click.option(
    "--since",
    metavar="DATE|AGE",
    callback=_since,
    help="Only sessions with an entry since then: a date (UTC) or an age such as 12h, 3d or 2w.",
)


def _harness_names() -> list[str]:
    from eventstore.harnesses import format_of, harnesses
    from eventstore.records import FORMAT

    return [*(each.name for each in harnesses()), format_of(FORMAT).name]


def _project(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Make a path that starts at "." or "~" absolute."""
    from pathlib import Path

    is_relative = value is not None and value.split("/")[0] in {".", "..", "~"}
    return str(Path(utf8(ctx, param, value) or "").expanduser().absolute()) if is_relative else value


def session_filters(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that choose sessions; the command gets a `SessionFilter`, `chosen`."""

    @click.option(
        "--harness",
        type=LazyChoice("harness", _harness_names),
        help="Only sessions of this harness.",
    )
    @click.option(
        "--project",
        metavar="PATH|NAME",
        callback=_project,
        help="Only sessions that worked in this folder or below it: a path, or one or more whole names of it.",
    )
    @since_option
    @wraps(command)
    def with_filter(
        *args: Any,
        harness: str | None,
        project: str | None,
        since: int | None,
        **options: Any,
    ) -> Any:
        from projections.overview import SessionFilter

        chosen = SessionFilter(harness=harness or "", project=project or "", since=since)
        return command(*args, chosen=chosen, **options)

    return with_filter


def prompt_of(system: BinaryIO | None, tools: BinaryIO | None) -> PromptView:
    """Return what a harness sends before its messages, from files. Raises BadInputError."""
    from eventstore.node import PromptView

    return PromptView(
        system=text_of(system) if system else "", tools=tool_definitions(tools) if tools else b""
    )


def tool_definitions(file: BinaryIO) -> bytes:
    """Return the tool definitions in a file.

    Raises BadInputError if it is not a JSON list of objects.
    """
    import json

    from eventstore.errors import BadInputError

    text = file.read()
    try:
        given = json.loads(text)
    except ValueError as error:
        raise BadInputError(file.name, f"is not valid JSON ({error})", _TOOLS) from None
    if not isinstance(given, list) or not all(isinstance(each, dict) and "name" in each for each in given):
        raise BadInputError(file.name, "is not a list of tools", _TOOLS)
    return text


_TOOLS: Final = 'give a JSON list of definitions, each with "name" and "input_schema"'


def text_of(file: BinaryIO) -> str:
    """Return the text of a file. Raises BadInputError for what is not UTF-8."""
    from eventstore.errors import BadInputError

    try:
        return file.read().decode()
    except UnicodeDecodeError:
        raise BadInputError(file.name, "is not UTF-8", "give a text in UTF-8") from None


def require_consent(question: str, otherwise: str) -> None:
    """Ask the person; exit with 1 for a no. Without a terminal, raise UsageError(otherwise)."""
    ctx = click.get_current_context()
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise click.UsageError(otherwise, ctx)
    if not click.confirm(question, err=True):
        ctx.exit(1)


def require_all_or_names(
    ctx: click.Context,
    does: str,
    sessions: Sequence[str],
    *,
    is_all: bool,
    chosen: SessionFilter | None = None,
) -> None:
    """Reject --all with sessions, neither of them, and filters without --all.

    `does` is what the command does to a session: "audits".
    """
    if is_all and sessions:
        raise click.UsageError(f"--all {does} every session: do not name any", ctx)
    if not is_all and not sessions:
        raise click.UsageError("name a session, or give --all", ctx)
    if not is_all and chosen is not None and not chosen.is_empty:
        raise click.UsageError("--harness, --project and --since need --all", ctx)
