"""Request a summary: print which model, show progress, stop at Ctrl-C, advise on failure."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Lock
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypedDict

import click

from cli.options import Decorator
from cli.output import echo_note, error_console

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from compaction.policy.model import Policy
    from compaction.summarizers import Cancellation, SummarizerError
    from compaction.summarizers.chain import SummarizerChain
    from eventstore.log import StoredLog

EXIT_INTERRUPTED = 130
"""The exit code after an interrupt."""


class Interrupt:
    """Tells whether Ctrl-C was pressed; summarizers poll it while they wait."""

    def __init__(self) -> None:
        self._pressed = Event()

    def __call__(self) -> bool:
        return self._pressed.is_set()

    @contextmanager
    def capture(self) -> Iterator[None]:
        """Record the first Ctrl-C in the block instead of raising it; a second one ends the program."""
        self._pressed.clear()
        before = signal.getsignal(signal.SIGINT)

        def note(_number: int, _frame: FrameType | None) -> None:
            self._pressed.set()
            signal.signal(signal.SIGINT, before)

        signal.signal(signal.SIGINT, note)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)


@contextmanager
def cancellable(ctx: click.Context) -> Iterator[Interrupt]:
    """Let Ctrl-C in the block cancel what polls the interrupt; report it and exit with code 130."""
    from cli.output import echo_problem
    from compaction.summarizers import CancelledError

    interrupt = Interrupt()
    try:
        with interrupt.capture():
            yield interrupt
    except CancelledError as error:
        # A terminal shows ^C at the cursor.
        sys.stderr.write("\n")
        echo_problem(str(error), "the session is unchanged")
        ctx.exit(EXIT_INTERRUPTED)


class ProgressDisplay:
    """Show progress on stderr: a line per pending request on a terminal, otherwise only notes.

    `notes` are printed before the first request, if there is one.
    """

    def __init__(self, notes: Sequence[str] = ()) -> None:
        self._notes = list(notes)
        self._lock = Lock()
        self._lines: Progress | None = None

    @contextmanager
    def waiting_for(self, whom: str) -> Iterator[None]:
        """Show a line with the elapsed seconds while the block runs."""
        self._announce()
        if not sys.stderr.isatty():
            yield
            return
        line = self._begun(whom)
        try:
            yield
        finally:
            self._ended(line)

    def note(self, what: str) -> None:
        """Print a note, even without a terminal."""
        echo_note(what)

    def _announce(self) -> None:
        with self._lock:
            while self._notes:
                echo_note(self._notes.pop(0))

    def _begun(self, whom: str) -> TaskID:
        with self._lock:
            if self._lines is None:
                self._lines = _lines()
                self._lines.start()
            return self._lines.add_task(f"asking {whom}", total=None)

    def _ended(self, line: TaskID) -> None:
        with self._lock:
            assert self._lines is not None  # noqa: S101  it is there as long as a line is
            self._lines.remove_task(line)
            if not self._lines.tasks:
                self._lines.stop()
                self._lines = None


def _lines() -> Progress:
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    return Progress(*columns, console=error_console(), transient=True)


_MODEL_FREE: Final = "--summarizer extractive"
_MINUTE: Final = 60
_MANY: Final = 2 * _MINUTE


@contextmanager
def advise_on_failure(ctx: click.Context, remedy: str = "") -> Iterator[None]:
    """Report a failed request in the block with a remedy, and exit with code 1.

    By default, the session is unchanged, and the remedy depends on the failure.
    """
    from cli.output import echo_problem
    from compaction.summarizers.chain import SummarizersFailedError

    try:
        yield
    except SummarizersFailedError as error:
        echo_problem(str(error), remedy or f"the session is unchanged; {advice(error.failures[-1])}")
        ctx.exit(1)


def advice(failure: SummarizerError) -> str:
    """Return what may help after the last summarizer has failed."""
    if failure.is_too_long:
        return f"give a policy with a smaller `window` under [prompting], or {_MODEL_FREE}"
    if failure.retry_after:
        return f"try again in {_duration(failure.retry_after)}, or {_MODEL_FREE}"
    if failure.is_transient:
        return f"try again later, or {_MODEL_FREE}"
    return f"{_MODEL_FREE} asks no model"


def _duration(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds < _MANY else f"{seconds / _MINUTE:,.0f} min"


_WHO_ASKS: Final = {
    "anthropic": "ANTHROPIC_API_KEY is set, so Anthropic writes the summary; --summarizer extractive uses no model",
    "extractive": "ANTHROPIC_API_KEY is not set, so the summary is extracted from the log without a model;"
    " --summarizer openai:MODEL asks another provider",
}
"""The note to print if the user has not chosen a summarizer."""


class SummarizerOptions(TypedDict):
    """The values of `summarizer_options`, as a command receives them."""

    summarizers: tuple[str, ...]
    no_redact: bool


def _complete_summarizer(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    from compaction.summarizers.registry import SUMMARIZERS

    return [name for name in SUMMARIZERS if name.startswith(incomplete)]


no_redact_option: Final[Decorator] = click.option(
    "--no-redact", is_flag=True, help="Send secrets, such as API keys, to the model unmasked."
)


def summarizer_options_with(
    default: str, task: str = "writes the summary"
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds the summarizer options, with words for the help."""
    choice: Decorator = click.option(
        "--summarizer",
        "summarizers",
        metavar="NAME|MODEL",
        multiple=True,
        shell_complete=_complete_summarizer,
        help=f"Who {task}: anthropic, command, extractive, http, openai:MODEL, recorded, or a model of Anthropic by its"
        f" name; repeat to name models to try next.  [default: {default}]",
    )

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        return choice(no_redact_option(command))

    return add


summarizer_options: Final = summarizer_options_with("anthropic if its key is set, else extractive")
"""Add the options that choose who writes a summary to a command."""


class SummarizerChoice(NamedTuple):
    """A summarizer by name, and the models to ask, () for its default.

    `is_chosen`: an option or the policy names it.
    """

    summarizer: str
    models: tuple[str, ...]
    is_chosen: bool


def choose_summarizer(
    ctx: click.Context | None, summarizer_options: SummarizerOptions, policy: Policy | None = None
) -> SummarizerChoice:
    """Choose the summarizer and models from the options, else the policy, else the defaults.

    Raises UsageError for a summarizer among others, and NotFoundError for an unknown one in the policy.
    """
    from compaction.summarizers.registry import SUMMARIZERS, default_summarizer, summarizer_named
    from eventstore.errors import NotFoundError

    named = [summarizer_named(each) for each in summarizer_options["summarizers"]]
    models = tuple(model for _, model in named if model)
    if len(named) > 1 and (len(models) < len(named) or len({name for name, _ in named}) > 1):
        alone = next((name for name, model in named if not model), named[0][0])
        problem = "only models of one summarizer can be tried in turn"
        raise click.UsageError(f"--summarizer {alone} excludes others: {problem}", ctx)
    by_policy = policy.prompting.summarizer if policy is not None else ""
    choice = named[0][0] if named else by_policy
    chosen = choice or default_summarizer()
    if chosen not in SUMMARIZERS:
        raise NotFoundError("summarizer", chosen, f"choose from: {', '.join(SUMMARIZERS)}")
    if not models and policy is not None and SUMMARIZERS[chosen].asks_models:
        models = policy.prompting.models
    return SummarizerChoice(chosen, models, is_chosen=bool(choice))


def build_summarizer_chain(
    ctx: click.Context,
    log: StoredLog,
    summarizer_options: SummarizerOptions,
    is_cancelled: Cancellation,
    policy: Policy | None = None,
    *,
    session: str = "",
    instructions: str = "",
    remote: str | None = None,
) -> SummarizerChain:
    """Return the chain that asks the chosen summarizer, with notes on stderr.

    Before the first request, print which summarizer is used if the user chose none, and a warning if it ignores
    the instructions. `remote` is the address of a service to ask first, if any. Raises what
    `choose_summarizer` and `make_summarizer` raise.
    """
    from compaction.summarizers.chain import SummarizerChain
    from compaction.summarizers.registry import SummarizerContext, make_summarizer

    choice = choose_summarizer(ctx, summarizer_options, policy)
    notes = []
    if not choice.is_chosen:
        who = _WHO_ASKS[choice.summarizer]
        notes.append(f"{remote} is asked first; if it fails: {who}" if remote else who)
    if instructions:
        notes += ignored_instructions(choice.summarizer)
    return SummarizerChain(
        summarizers=[
            make_summarizer(
                choice.summarizer,
                SummarizerContext(log=log, session=session, model=model),
            )
            for model in choice.models or ("",)
        ],
        is_cancelled=is_cancelled,
        listener=ProgressDisplay(notes),
        redacts=not summarizer_options["no_redact"],
    )


def ignored_instructions(summarizer: str) -> list[str]:
    """Return a note if a summarizer ignores instructions."""
    from compaction.summarizers.registry import SUMMARIZERS

    follows = SUMMARIZERS[summarizer].follows_instructions
    return [] if follows else [f"{summarizer} follows no instructions: it selects from the messages"]
