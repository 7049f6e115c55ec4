"""What of a policy leads nowhere, or cannot be meant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from compaction.faults import Fault
from compaction.part import Limits
from compaction.policies.policy import Policy, Prompting
from compaction.summarizers.registry import SUMMARIZERS
from compaction.templates import Source, find
from eventstore.errors import BadInputError, NotFoundError

_SUMMARIES: Final = ("template", "update")
_PARTS: Final = (*_SUMMARIES, "turn_prefix", "short")


def unresolved(prompting: Prompting, sources: Sequence[Source] = ()) -> list[Fault]:
    """A fault for each name that leads to nothing: of a template that is not there or is broken, of a summarizer.

    `sources` are where templates are looked for before those that come with refold.
    """
    return [*unresolved_templates(prompting, sources), *_summarizer(prompting)]


def unresolved_templates(
    prompting: Prompting, sources: Sequence[Source], *, instead: str = ""
) -> list[Fault]:
    """The same of templates alone; `instead` is one that is used in place of those of summaries, "" for none."""
    names = {key: getattr(prompting, key) for key in _PARTS if key not in _SUMMARIES or not instead}
    return [fault for key, name in names.items() if name for fault in _template(key, name, sources)]


def warnings(policy: Policy, *, limits: Limits) -> list[str]:
    """A line for each thing of a policy that cannot be meant for a model of these limits."""
    trigger, window = policy.trigger, f"for a window of {limits.window:,} tokens"
    if trigger.leaves_nothing(limits):
        return [f"{window} every context is too large: lower what its trigger keeps free"]
    threshold, kept = trigger.threshold(limits), policy.cut.most_kept(limits) if policy.cut else None
    if kept is None or kept < threshold:
        return []
    return [f"{window} it keeps up to {kept:,}, and acts at {threshold:,}: lower what its cut keeps"]


def _template(key: str, name: str, sources: Sequence[Source]) -> Iterator[Fault]:
    try:
        find(name, sources)
    except NotFoundError as error:
        yield Fault(f"[prompting] {key}", f"there is no template {name!r}", error.remedy)
    except BadInputError as error:
        yield Fault(f"[prompting] {key}", f"{error.source}: {error.problem}", error.remedy)


def _summarizer(prompting: Prompting) -> Iterator[Fault]:
    name = prompting.summarizer
    if name and name not in SUMMARIZERS:
        there_are = f"there are: {', '.join(SUMMARIZERS)}"
        yield Fault("[prompting] summarizer", f"there is no summarizer {name!r}", there_are)
