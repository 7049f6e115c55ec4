"""The user's own policies and templates: their files, the actions on them, their TOML."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Protocol, TypedDict

import click

from cli.options import Decorator, json_option

FOLDER: Final = "REFOLD_CONFIG"
"""The environment variable for the folder that holds `policies` and `templates`."""


class UserFiles:
    """The user's files of one kind, named by their file names without the suffix."""

    def __init__(self, folder: str, suffix: str) -> None:
        self._folder, self._suffix = folder, suffix

    @property
    def folder(self) -> Path:
        """Return their folder, below `REFOLD_CONFIG` or the platform's settings folder.

        Raises BadInputError if `REFOLD_CONFIG` names a file.
        """
        from eventstore.user_folders import user_folder

        named = os.environ.get(FOLDER)
        if named and Path(named).is_file():
            from eventstore.errors import BadInputError

            remedy = "name the folder that holds the folders policies and templates"
            raise BadInputError(f"{FOLDER}={named}", "is a file, not a folder", remedy)
        return Path(named or user_folder("config"), self._folder)

    def names(self) -> list[str]:
        """Return their names, sorted."""
        return sorted(file.stem for file in self.folder.glob(f"*{self._suffix}") if file.is_file())

    def find(self, name: str) -> Path | None:
        """Return the file with the given name, or None."""
        file = self.folder / f"{name}{self._suffix}"
        return file if Path(name).name == name and file.is_file() else None

    def is_path(self, name: str) -> bool:
        """Return True if the user gave a file path instead of a name."""
        return os.sep in name or name.endswith(self._suffix)

    def add(self, name: str, text: str) -> Path:
        """Create a new file. Raises BadInputError if it exists or its name is unsuitable."""
        from eventstore.errors import BadInputError

        if not name or Path(name).name != name or name.startswith(".") or not name.isprintable():
            raise BadInputError(repr(name), "is not a valid file name", "choose letters, digits and dashes")
        file = self.folder / f"{name}{self._suffix}"
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            with file.open("x", encoding="utf-8") as opened:
                opened.write(text)
        except FileExistsError:
            raise BadInputError(str(file), "already exists", "edit it, or remove it first") from None
        return file


POLICIES: Final = UserFiles("policies", ".toml")
TEMPLATES: Final = UserFiles("templates", ".md")


class ActionOptions(TypedDict):
    """The values of `action_options`, as a command receives them."""

    action: str
    name: str | None
    origin: str | None
    as_json: bool


class ListAction(Protocol):
    """Prints all items, and returns the problems of invalid ones."""

    def __call__(self, *, as_json: bool) -> list[str]: ...


class NewAction(Protocol):
    """Creates an item of the user's own, from another if one is named."""

    def __call__(self, name: str, origin: str | None, *, as_json: bool) -> None: ...


class ShowAction(Protocol):
    """Prints an item, or what is wrong with it."""

    def __call__(self, ctx: click.Context, name: str, *, is_check: bool, as_json: bool) -> None: ...


def action_options(*, origin_help: str) -> Decorator:
    """Add the arguments and options that choose an action and an item to a command."""

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


def run_action(
    ctx: click.Context, options: ActionOptions, *, listing: ListAction, begin: NewAction, show: ShowAction
) -> None:
    """Run the chosen action. Raises UsageError for a missing name or inapplicable options."""
    action, name, origin, as_json = options["action"], options["name"], options["origin"], options["as_json"]
    if origin is not None and action != "new":
        raise click.UsageError(f"--from needs '{ctx.info_name} new'", ctx)
    if action == "list":
        from cli.output import echo_problem

        problems = listing(as_json=as_json)
        for problem in problems:
            echo_problem(problem)
        if problems:
            ctx.exit(1)
    elif name is None:
        raise click.UsageError(f"'{ctx.info_name} {action}' needs a name", ctx)
    elif action == "new":
        begin(name, origin, as_json=as_json)
    else:
        show(ctx, name, is_check=action == "check", as_json=as_json)


def toml_text(values: Mapping[str, Any]) -> str:
    """Return values as TOML: plain values first, then tables, then lists of tables.

    None is left out, because TOML lacks it. Tables may not contain tables.
    """
    plain = {name: value for name, value in values.items() if not _is_table(value) and not _is_tables(value)}
    blocks = ["\n".join(lines)] if (lines := list(_lines(plain))) else []
    for name, value in values.items():
        if _is_table(value):
            blocks.append("\n".join([f"[{name}]", *_lines(value)]))
        elif _is_tables(value):
            blocks += ["\n".join([f"[[{name}]]", *_lines(table)]) for table in value]
    return "\n\n".join(blocks) + "\n"


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping)


def _is_tables(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(map(_is_table, value))


def _lines(table: Mapping[str, Any]) -> Iterator[str]:
    return (f"{name} = {_value(value)}" for name, value in table.items() if value is not None)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value:_}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return _text(value) if isinstance(value, str) else repr(value)


def _text(text: str) -> str:
    """Return a basic TOML string: its escapes are those of JSON, except for one character."""
    import msgspec

    return msgspec.json.encode(text).decode().replace("\x7f", "\\u007f")
