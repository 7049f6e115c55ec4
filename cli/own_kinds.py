"""The commands for what a person may have of their own beside what comes with refold: one listing, one beginning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypedDict

import click

from cli.options import Decorator, json_option


class Asked(TypedDict):
    """The options of `acting`, as a command gets them."""

    action: str
    name: str | None
    origin: str | None
    as_json: bool


class Listing(Protocol):
    """Prints all that there are."""

    def __call__(self, ctx: click.Context, *, as_json: bool) -> None: ...


class Begin(Protocol):
    """Makes a new one of a person's own, from another if that is named."""

    def __call__(self, name: str, origin: str | None, *, as_json: bool) -> None: ...


class Show(Protocol):
    """Prints one, or what is wrong with it."""

    def __call__(self, ctx: click.Context, name: str, *, is_check: bool, as_json: bool) -> None: ...


def acting(*, origin_help: str) -> Decorator:
    """The arguments and options by which a person says what to do with which one."""

    def with_options(command: Callable[..., Any]) -> Callable[..., Any]:
        command = json_option(command)
        command = click.option("--from", "origin", metavar="NAME", help=origin_help)(command)
        command = click.argument("name", metavar="[NAME|FILE]", required=False)(command)
        return click.argument(
            "action",
            metavar="[list|show|new|check]",
            type=click.Choice(["list", "show", "new", "check"]),
            default="list",
        )(command)

    return with_options


def act(ctx: click.Context, asked: Asked, *, listing: Listing, begin: Begin, show: Show) -> None:
    """Do what was asked for. Raises UsageError for a name that is missing, and for options that go with nothing."""
    action, name, origin, as_json = asked["action"], asked["name"], asked["origin"], asked["as_json"]
    if origin is not None and action != "new":
        raise click.UsageError(f"--from goes with '{ctx.info_name} new'", ctx)
    if action == "list":
        listing(ctx, as_json=as_json)
    elif name is None:
        raise click.UsageError(f"'{ctx.info_name} {action}' needs a name", ctx)
    elif action == "new":
        begin(name, origin, as_json=as_json)
    else:
        show(ctx, name, is_check=action == "check", as_json=as_json)
