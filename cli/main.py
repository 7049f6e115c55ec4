"""The `refold` command: which subcommands there are, and what becomes of errors.

Start-up is light: a subcommand's module is imported when the subcommand is called.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from typing import Final, NoReturn

import click

from cli.options import COUNTER, COUNTERS, PRICES, utf8
from cli.output import ARGUMENTS, STORE, echo_problem, never_failing

GROUPS: Final = {
    "Look at sessions": {
        "sessions": ("sessions", "List the sessions in the store."),
        "search": ("search", "Search the messages of all sessions."),
        "log": ("log", "List a session's events."),
        "show": ("show", "Show one event in full."),
        "tree": ("tree", "Show a session's branches as a tree."),
        "context": ("context", "Show what the model was sent at any entry."),
        "files": ("files", "List the files that a session read and modified."),
    },
    "Audit compactions": {
        "audit": ("audit", "Show what compactions did to the context."),
        "report": ("report", "Write a session's audit as an HTML page."),
        "diff": ("diff", "Compare the contexts at two entries."),
        "replay": ("replay", "Show the contexts that other policies would make."),
        "rules": ("rules", "List what you wrote, and what of it the context has."),
        "judge": ("judge", "Have a model read what compactions lost."),
    },
    "Change a session": {
        "compact": ("compact", "Replace older messages with a summary."),
        "prune": ("prune", "Shorten old content, without a model."),
        "handoff": ("handoff", "Start a new session from a document about this one."),
        "go": ("go", "Move to another entry of a session's tree."),
        "fork": ("fork", "Copy a branch to a new session."),
        "undo": ("undo", "Undo a compaction, a rewrite or a move."),
        "label": ("label", "Label an entry, or give the session a title."),
    },
    "Choose how to compact": {
        "policies": ("policies", "List, show, create or check compaction policies."),
        "templates": ("templates", "List, show, create or check summary prompts."),
    },
    "Manage the store": {
        "sync": ("sync", "Import session files, all on this machine or those you name."),
        "export": ("export", "Write a session to a file."),
        "stats": ("stats", "Show what the store holds and its size."),
        "verify": ("verify", "Check the whole store for damage."),
        "push": ("push", "Copy new events to another store."),
        "pull": ("pull", "Copy new events from another store."),
        "backup": ("backup", "Copy the store while it is in use."),
        "purge": ("purge", "Take a leaked secret out of the store."),
        "demo": ("demo", "Record a scripted session in a new store and show it."),
        "completion": ("completion", "Print a shell's completion script."),
    },
    "Build a harness": {
        "append": ("append", "Append events, one JSON object per line."),
        "mcp": ("mcp", "Let an agent ask about its own session."),
        "install": ("install", "Set refold up in a harness, or take it out."),
        "hook": ("hook", "Answer an event of a running harness."),
        "maintain": ("maintain", "Keep a running session's context small."),
        "check": ("check", "Compare contexts with what the session's records say."),
        "bench": ("bench", "Time rebuilds, imports and appends on this machine."),
    },
}
"""The help's groups: each subcommand's name, its module in `cli.commands` and its summary."""

COMMANDS: Final = {name: entry for group in GROUPS.values() for name, entry in group.items()}


EXIT_BROKEN_PIPE: Final = 141
"""The exit code when the output's reader has closed it, as in a shell after SIGPIPE."""

SYSTEMS: Final = ("linux", "darwin")
NOT_HERE: Final = 69
"""The exit code on an unsupported system: EX_UNAVAILABLE of sysexits.h."""
BUG: Final = 70
"""The exit code for a bug in refold: EX_SOFTWARE of sysexits.h."""
_WHOLE_HYPHEN: Final = "\u2011"
"""Stands for a hyphen at which no line ends."""
TRACEBACK: Final = "REFOLD_TRACEBACK"
"""The environment variable that makes a bug in refold end in a traceback."""


class _Formatter(click.HelpFormatter):
    """A formatter of help that never breaks a line after a hyphen in an option's name."""

    def write_text(self, text: str) -> None:
        super().write_text(text.replace("-", _WHOLE_HYPHEN))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        whole = [(term, text.replace("-", _WHOLE_HYPHEN)) for term, text in rows]
        super().write_dl(whole, col_max, col_spacing)

    def getvalue(self) -> str:
        return super().getvalue().replace(_WHOLE_HYPHEN, "-")


class _Context(click.Context):
    formatter_class = _Formatter


class _Commands(click.Group):
    """Subcommands by their table, each loaded when it is called."""

    context_class = _Context

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # click would make it a failure.
            _drop_output()
            ctx.exit(EXIT_BROKEN_PIPE)

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"cli.commands.{COMMANDS[cmd_name][0]}").command
        assert isinstance(command, click.Command)  # noqa: S101  every module of the table has one
        command.context_class = _Context
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        # All groups have the same columns.
        widest = max(map(len, COMMANDS))
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<{widest}}", line) for name, (_, line) in commands.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches

            close = get_close_matches(args[0], COMMANDS, 1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            raise click.UsageError(f"there is no command {args[0]!r}{hint}", ctx)
        ctx.meta[ARGUMENTS] = args
        return super().resolve_command(ctx, args)


def _print_version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:  # noqa: FBT001  click's
    """Print the version, and a note for each package of refold hidden by another of its name."""
    if not value or ctx.resilient_parsing:
        return
    from importlib.metadata import version

    click.echo(f"refold, version {version('refold')}")
    for hidden in _hidden_packages():
        echo_problem(f"note: {hidden}", _OF_ITS_OWN)
    ctx.exit()


_OF_ITS_OWN: Final = "install refold by pipx, or in an environment of its own"


def _hidden_packages() -> Iterator[str]:
    """Yield a line for each of refold's packages that is not found beside this one."""
    from pathlib import Path

    home = Path(__file__).resolve().parents[1]
    for name in ("eventstore", "projections", "compaction", "cli", "refold"):
        spec = find_spec(name)
        found = list(spec.submodule_search_locations or [spec.origin or ""]) if spec else []
        if not any(Path(place).resolve() == home / name for place in found):
            yield f"the package {name} is not refold's own but {found[0] if found else 'missing'}"


@click.command(
    cls=_Commands,
    invoke_without_command=True,
    subcommand_metavar="COMMAND [ARGS]...",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example:  refold audit session.jsonl",
)
@click.option(
    "--store",
    metavar="DIR",
    envvar="REFOLD_STORE",
    callback=utf8,
    help="The store: a folder, or postgresql://…  [env: REFOLD_STORE; default: the platform's data directory]",
)
@click.option(
    "--counter",
    envvar="REFOLD_COUNTER",
    type=click.Choice(COUNTERS),
    help="How to count tokens: o200k is exact for OpenAI's models; everything else is an estimate."
    "  [env: REFOLD_COUNTER; default: utf16/4, or the policy's]",
)
@click.option(
    "--prices",
    envvar="REFOLD_PRICES",
    metavar="FILE",
    help="A TOML file with model prices, instead of those that come with refold.  [env: REFOLD_PRICES]",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version and exit.",
)
@click.pass_context
def refold(ctx: click.Context, *, store: str | None, counter: str | None, prices: str | None) -> None:
    """Keep coding-agent sessions, replay every context, see what compactions did.

    Begin with `refold sync`: it imports the sessions on this machine. `refold` alone shows where things stand.

    A SESSION is an id, a unique prefix of one, a title, @last, or the path of a session file.
    """
    if ctx.get_parameter_source("store") is click.core.ParameterSource.COMMANDLINE:
        if not store:
            raise click.UsageError("--store names no folder", ctx)
        from eventstore.addresses import without_password

        ctx.meta[STORE] = without_password(store)
    ctx.meta.update({COUNTER: counter, PRICES: prices})
    ctx.obj = store
    if ctx.invoked_subcommand is None:
        from cli.status import print_status

        print_status(ctx)


def main(args: list[str] | None = None) -> None:
    """Run the command; print errors of refold as one line on stderr; set the exit code.

    0: done; 1: something is missing or a check failed; 2: wrong usage; 69: an unsupported system; 70: a bug in
    refold, whose traceback an environment variable shows; 130: interrupted; 141: the output's reader has gone.
    """
    _prepare_streams()
    if sys.platform not in SYSTEMS:
        _fail(f"it runs on Linux and macOS, not on {sys.platform}", "on Windows, use WSL", code=NOT_HERE)
    try:
        code = refold.main(args=args, prog_name="refold", standalone_mode=False)
        sys.stdout.flush()
    except click.UsageError as error:
        # click's name for an integer range is its own type, not a word for users.
        problem = error.format_message().rstrip(".").replace("a valid integer range", "a whole number")
        _fail(problem, _usage_hint(error), code=2)
    except click.Abort:
        _fail("interrupted", "", code=130)
    except click.ClickException as error:
        _fail(error.format_message(), "", code=1)
    except BrokenPipeError:
        _drop_output()
        sys.exit(EXIT_BROKEN_PIPE)
    except OSError as error:
        _drop_output()
        _fail(f"{error.filename or 'output'}: {error.strerror}", "", code=1)
    except Exception as error:  # noqa: BLE001  whatever it is, it ends as one line
        _fail_by(error)
    sys.exit(code if isinstance(code, int) else 0)


def _fail_by(error: Exception) -> NoReturn:
    """Exit with an error that refold raised on purpose, or with an unexpected one, a bug."""
    if isinstance(error, ImportError):
        for hidden in _hidden_packages():
            _fail(hidden, _OF_ITS_OWN, code=BUG)
    from eventstore.errors import RefoldError

    if isinstance(error, RefoldError):
        *others, last = error.lines
        for line in others:
            echo_problem(line)
        _fail(last, "", code=1)
    if os.environ.get(TRACEBACK):
        raise error
    problem = f"this is a bug in refold ({type(error).__name__}: {error})"
    _fail(problem, f"{TRACEBACK}=1 shows where", code=BUG)


def _prepare_streams() -> None:
    """Ensure that all three standard streams are open and tolerate any character."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  open to the end
    never_failing(sys.stdout)
    never_failing(sys.stderr)


def _drop_output() -> None:
    """Discard unwritten output: Python would fail once more when it flushes at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _usage_hint(error: click.UsageError) -> str:
    return f"see '{error.ctx.command_path} --help'" if error.ctx else "see 'refold --help'"


def _fail(problem: str, hint: str, *, code: int) -> NoReturn:
    echo_problem(problem, hint)
    sys.exit(code)
