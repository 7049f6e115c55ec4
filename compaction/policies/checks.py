"""What a policy says that cannot be meant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from compaction.part import Limits
from compaction.policies.policy import Policy
from compaction.summarizers.registry import SUMMARIZERS
from compaction.templates import Source, find
from eventstore.errors import NotFoundError


def warnings(policy: Policy, sources: Sequence[Source] = (), *, limits: Limits) -> list[str]:
    """A line for each thing of a policy that cannot be meant: a trigger by these limits, a template, a summarizer.

    `sources` are where templates are looked for before those that come with refold. Raises BadInputError for a
    template that is broken.
    """
    return [*_of_trigger(policy, limits), *_of_templates(policy, sources), *_of_summarizer(policy)]


def _of_trigger(policy: Policy, limits: Limits) -> list[str]:
    if policy.trigger.threshold(limits) > 1:
        return []
    return [f"for a window of {limits.window:,} tokens every context is too large: see its trigger"]


def _of_summarizer(policy: Policy) -> list[str]:
    name = policy.prompting.summarizer
    if not name or name in SUMMARIZERS:
        return []
    return [f"there is no summarizer {name!r}; there are: {', '.join(SUMMARIZERS)}"]


def _of_templates(policy: Policy, sources: Sequence[Source]) -> Iterable[str]:
    prompting = policy.prompting
    for name in (prompting.template, prompting.update, prompting.turn_prefix, prompting.short):
        try:
            find(name, sources) if name else None
        except NotFoundError:
            yield f"there is no template {name!r}: see 'refold templates'"
