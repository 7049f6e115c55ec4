"""Options that several commands have, each written once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def utf8(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    """Refuse bytes that are no UTF-8 in a text that is going to be stored, or looked for in what is."""
    try:
        if value is not None:
            value.encode()
    except UnicodeEncodeError:
        raise click.BadParameter("it is not UTF-8") from None
    return value


json_option: Final[Decorator] = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
leaf_option: Final[Decorator] = click.option(
    "--leaf", metavar="ID|root", help="Stand at this entry instead of where the session stands."
)
as_of_option: Final[Decorator] = click.option(
    "--as-of",
    type=click.IntRange(0),
    metavar="SEQ",
    help="Nothing after the event of this number has happened yet.",
)
counter_option: Final[Decorator] = click.option(
    "--counter",
    type=click.Choice(["utf16/4", "bytes/4", "o200k"]),
    default="utf16/4",
    show_default=True,
    help="How tokens are counted: o200k is exact for OpenAI's models only; all else is an estimate.",
)
prices_option: Final[Decorator] = click.option(
    "--prices",
    metavar="FILE",
    help="What models cost: a TOML file in place of the prices that come with refold.",
)
