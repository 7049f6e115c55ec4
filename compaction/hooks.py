"""Hooks: functions of others that have a say before, while prompting for, and after compactions and moves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

import msgspec

from compaction.cuts import cut_before
from compaction.plan import Move, Plan
from eventstore.records import Decision, DecisionOutcome
from eventstore.writing import SessionWriter

GROUP: Final = "refold.hooks"
"""The group of entry points that give a `Hooks`, or a function that makes one."""


class Cancel(msgspec.Struct, frozen=True):
    """Do not do it, for this reason."""

    reason: str


class SuppliedSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The whole result, in place of asking a summarizer.

    `first_kept` is the entry from which on a compaction keeps, in place of the plan's: a message of the plan's window
    that may start what is kept, or the oldest of the settings right before it; "" keeps nothing. `details` are kept
    with the record, beside the file operations that refold finds. `short_summary`, `preserve_data` and `first_kept`
    are for compactions only.
    """

    summary: str
    short_summary: str = ""
    preserve_data: dict[str, Any] = {}
    first_kept: str | None = None
    details: dict[str, Any] = {}


class PromptAdditions(msgspec.Struct, frozen=True, kw_only=True):
    """Another prompt ("": the template's), lines of context, data to keep with the record."""

    prompt: str = ""
    context: tuple[str, ...] = ()
    preserve_data: dict[str, Any] = {}


class Hooks(msgspec.Struct, frozen=True, kw_only=True):
    """Functions to be asked; each may be left out.

    `before_compaction` may cancel, or supply the result; `prompting` adds to the prompt; `after_compaction`
    is told the ids of what was appended. `before_move` may cancel, or, where the move's `summary_requested` says that
    somebody is to write one, supply the summary of what is left; `after_move` is told the ids.
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
"""The types that hooks may return, by function; the functions that are not here return nothing."""


class HookErrors(list[str]):
    """Errors of hooks, one line each; nothing that they do leaves half an append."""

    def ask(self, hooks: Hooks, name: str, *arguments: Any) -> Any:
        """Return the answer of one function of a hook; None where it has none, raised, or gave something else."""
        function = getattr(hooks, name)
        if function is None:
            return None
        try:
            return _checked(function(*arguments), _ANSWERS.get(name, ()))
        except Exception as error:  # noqa: BLE001  somebody else's code
            self.append(f"hook {hooks.name}, {name}: {type(error).__name__}: {error}")
            return None


@contextmanager
def recording_hook_errors(writer: SessionWriter, policy: str = "") -> Iterator[HookErrors]:
    """Collect the errors of hooks in a block, and record them at its end, also if it raises."""
    troubles = HookErrors()
    try:
        yield troubles
    finally:
        for trouble in troubles:
            writer.append(Decision(outcome=DecisionOutcome.HOOK_FAILED, reason=trouble, policy=policy))


def ask_hooks_before(
    hooks: Sequence[Hooks], name: str, about: Plan | Move, troubles: HookErrors
) -> Cancel | SuppliedSummary | None:
    """Ask hooks before something is done, and return what the first says that cancels, or supplies what can be used.

    A summary that nobody requested is passed over. So, as a trouble, is one that keeps from where nothing can be kept
    from.
    """
    for each in hooks:
        said: Cancel | SuppliedSummary | None = troubles.ask(each, name, about)
        if isinstance(said, SuppliedSummary):
            if isinstance(about, Move) and not about.summary_requested:
                continue
            if isinstance(about, Plan) and (problem := _misplaced(said, about)):
                troubles.append(f"hook {each.name}, {name}: {problem}")
                continue
        if said is not None:
            return said
    return None


def _misplaced(said: SuppliedSummary, plan: Plan) -> str:
    """Return why a compaction cannot keep from the entry that a hook names, "" if it can."""
    if said.first_kept is None or cut_before(plan.window, said.first_kept):
        return ""
    return f"first_kept {said.first_kept!r} parts the window nowhere: give the id of an item that may_start"


def collect_prompt_additions(hooks: Sequence[Hooks], plan: Plan, troubles: HookErrors) -> PromptAdditions:
    """Return what all hooks add to a prompt; of several other prompts and of data by one name, the last counts."""
    added = PromptAdditions()
    for each in hooks:
        more: PromptAdditions | None = troubles.ask(each, "prompting", plan)
        if more is not None:
            added = PromptAdditions(
                prompt=more.prompt or added.prompt,
                context=(*added.context, *more.context),
                preserve_data=added.preserve_data | more.preserve_data,
            )
    return added


def _checked(said: Any, answers: tuple[type[msgspec.Struct], ...]) -> Any:
    """Return an answer whose fields are what they should be, and have JSON; None for whatever nobody asked for."""
    if said is None or not answers:
        return None
    if not isinstance(said, answers):
        known = " or ".join(each.__name__ for each in answers)
        raise TypeError(f"gives {type(said).__name__}, and not {known}")
    return msgspec.convert(msgspec.to_builtins(said), type(said))


def installed_hooks() -> list[Hooks]:
    """Return the hooks of installed packages, in order of their names.

    One that cannot be loaded raises what its loading raised whenever it is asked, so that it is told of with
    the troubles of all others, and stops nothing.
    """
    return [_loaded(point) for point in sorted(entry_points(group=GROUP), key=lambda point: point.name)]


def _loaded(point: EntryPoint) -> Hooks:
    try:
        loaded = point.load()
        hooks = loaded if isinstance(loaded, Hooks) else loaded()
        if isinstance(hooks, Hooks):
            return hooks
        problem: Exception = TypeError(f"{point.value} gives no Hooks")
    except Exception as error:  # noqa: BLE001  somebody else's code
        problem = error

    def fails(_asked: Plan | Move) -> None:
        raise problem

    return Hooks(name=point.name, before_compaction=fails, before_move=fails)
