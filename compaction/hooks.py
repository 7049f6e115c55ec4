"""Let other packages cancel, supply or observe compactions and moves, and extend prompts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

import msgspec

from compaction.branching.move_plan import Move
from compaction.cuts import cut_before
from compaction.decisions import DecisionOutcome
from compaction.plan import Plan
from eventstore.records import Decision
from eventstore.writing import SessionWriter

GROUP: Final = "refold.hooks"
"""The group of entry points that return a `Hooks`, or a function that makes one."""


class Cancel(msgspec.Struct, frozen=True):
    """Cancel the operation, for this reason."""

    reason: str


class SuppliedSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A summary to use instead of asking a summarizer.

    `first_kept` overrides the plan's first kept entry: a message of the plan's window that may start the kept
    part, or the oldest of the settings right before one; "" keeps nothing. `details` are stored with the
    record, beside the file operations that refold finds. `short_summary`, `preserve_data` and `first_kept`
    apply to compactions only.
    """

    summary: str
    short_summary: str = ""
    preserve_data: dict[str, Any] = {}
    first_kept: str | None = None
    details: dict[str, Any] = {}


class PromptAdditions(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt to use instead ("": the template's), lines of context, data to store."""

    prompt: str = ""
    context: tuple[str, ...] = ()
    preserve_data: dict[str, Any] = {}


class Hooks(msgspec.Struct, frozen=True, kw_only=True):
    """Functions to call; each may be left out.

    `before_compaction` may cancel, or supply the summary. `prompting` adds to the prompt. `after_compaction`
    gets the ids of the appended events. `before_move` may cancel, or supply the branch summary if the move's
    `summary_requested` is set. `after_move` gets the ids.
    """

    name: str
    before_compaction: Callable[[Plan], Cancel | SuppliedSummary | None] | None = None
    prompting: Callable[[Plan], PromptAdditions | None] | None = None
    after_compaction: Callable[[list[str]], None] | None = None
    before_move: Callable[[Move], Cancel | SuppliedSummary | None] | None = None
    after_move: Callable[[list[str]], None] | None = None


_ANSWERS: Final[dict[str, tuple[type[msgspec.Struct], ...]]] = {
    "before_compaction": (Cancel, SuppliedSummary),
    "prompting": (PromptAdditions,),
    "before_move": (Cancel, SuppliedSummary),
}
"""The types that hooks may return, by function; other functions return nothing."""


class HookErrors(list[str]):
    """Collect errors of hooks, one line each; a failing hook never leaves half an append."""

    def call(self, hooks: Hooks, name: str, *arguments: Any) -> Any:
        """Call one function of a hook; return None if it is missing, raises or returns a wrong type."""
        function = getattr(hooks, name)
        if function is None:
            return None
        try:
            return _checked(function(*arguments), _ANSWERS.get(name, ()))
        except Exception as error:  # noqa: BLE001  somebody else's code
            self.append(f"hook {hooks.name}, {name}: {type(error).__name__}: {error}")
            return None


@contextmanager
def recording_hook_errors(
    writer: SessionWriter, policy: str = "", earlier: Sequence[str] = ()
) -> Iterator[HookErrors]:
    """Collect errors of hooks in a block, and record them and earlier ones even if it raises."""
    hook_errors = HookErrors(earlier)
    try:
        yield hook_errors
    finally:
        for error in hook_errors:
            writer.append(Decision(outcome=DecisionOutcome.HOOK_FAILED, reason=error, policy=policy))


def call_hooks_before(
    hooks: Sequence[Hooks], name: str, about: Plan | Move, hook_errors: HookErrors
) -> Cancel | SuppliedSummary | None:
    """Return the first answer that cancels or supplies a usable summary, None for none.

    Ignore a summary that was not requested. Report an invalid `first_kept` as an error.
    """
    for each in hooks:
        answer: Cancel | SuppliedSummary | None = hook_errors.call(each, name, about)
        if isinstance(answer, SuppliedSummary):
            if isinstance(about, Move) and not about.summary_requested:
                continue
            if isinstance(about, Plan) and (problem := _misplaced(answer, about)):
                hook_errors.append(f"hook {each.name}, {name}: {problem}")
                continue
        if answer is not None:
            return answer
    return None


def _misplaced(answer: SuppliedSummary, plan: Plan) -> str:
    """Return why the kept part cannot start at a hook's `first_kept`, "" if it can."""
    if answer.first_kept is None or cut_before(plan.window, answer.first_kept):
        return ""
    return f"first_kept {answer.first_kept!r} is not a valid place in the window: give the id of an item that may_start"


def collect_prompt_additions(hooks: Sequence[Hooks], plan: Plan, hook_errors: HookErrors) -> PromptAdditions:
    """Merge what all hooks add to a prompt; later prompts and data win."""
    added = PromptAdditions()
    for each in hooks:
        more: PromptAdditions | None = hook_errors.call(each, "prompting", plan)
        if more is not None:
            added = PromptAdditions(
                prompt=more.prompt or added.prompt,
                context=(*added.context, *more.context),
                preserve_data=added.preserve_data | more.preserve_data,
            )
    return added


def _checked(answer: Any, answers: tuple[type[msgspec.Struct], ...]) -> Any:
    """Validate an answer's type and fields; return None if it was not requested."""
    if answer is None or not answers:
        return None
    if not isinstance(answer, answers):
        known = " or ".join(each.__name__ for each in answers)
        raise TypeError(f"returned {type(answer).__name__}, not {known}")
    return msgspec.convert(msgspec.to_builtins(answer), type(answer))


def installed_hooks() -> list[Hooks]:
    """Return the hooks of installed packages, sorted by name.

    A package that cannot be loaded yields hooks that raise the loading error, so that the error is reported
    like any other hook's and stops nothing.
    """
    return [_loaded(point) for point in sorted(entry_points(group=GROUP), key=lambda point: point.name)]


def _loaded(point: EntryPoint) -> Hooks:
    try:
        loaded = point.load()
        hooks = loaded if isinstance(loaded, Hooks) else loaded()
        if isinstance(hooks, Hooks):
            return hooks
        problem: Exception = TypeError(f"{point.value} is not a Hooks")
    except Exception as error:  # noqa: BLE001  somebody else's code
        problem = error

    def fails(_asked: Plan | Move) -> None:
        raise problem

    return Hooks(name=point.name, before_compaction=fails, before_move=fails)
