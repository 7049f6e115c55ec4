"""What a person can do where nobody gave a summary."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import click

    from compaction.summarizers import SummarizerError

_MODEL_FREE: Final = "--summarizer extractive"
_MINUTE: Final = 60
_MANY: Final = 2 * _MINUTE


@contextmanager
def told_what_to_do(ctx: click.Context) -> Iterator[None]:
    """A block in which a summary that nobody gives is told with what to do, and ends the command with 1."""
    from cli.output import echo_problem
    from compaction.summarizers.asking import AskingError

    try:
        yield
    except AskingError as error:
        echo_problem(str(error), f"the session is as it was; {advice(error.failures[-1])}")
        ctx.exit(1)


def advice(failure: SummarizerError) -> str:
    """Return what may help after the last of those that were asked has failed."""
    from compaction.summarizers.summarizer import UnfitTemplateError

    if isinstance(failure, UnfitTemplateError):
        return "name another template, one with sections such as Goal and Next Steps, or another --summarizer"
    if failure.is_too_long:
        return f"give a policy with a smaller `window` under [prompting], or {_MODEL_FREE}"
    if failure.retry_after:
        return f"try again in {_duration(failure.retry_after)}, or {_MODEL_FREE}"
    if failure.is_transient:
        return f"try again later, or {_MODEL_FREE}"
    return f"{_MODEL_FREE} asks no model"


def _duration(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds < _MANY else f"{seconds / _MINUTE:,.0f} min"
