"""What is told of a policy before it is followed: that it cannot be, or that it does not fit its model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compaction.part import Limits
    from compaction.policies.policy import Policy
    from compaction.templates import Source
    from eventstore.log import EventLog
    from projections.context.cursor import Leaf


def check_templates(
    log: EventLog,
    session: str,
    policy: Policy,
    sources: Sequence[Source],
    *,
    leaf: Leaf = None,
    instead: str = "",
) -> None:
    """Raise where a template is not there for a session, before anybody is asked for anything.

    A policy that makes no summaries needs none. `instead` is the one that a person names in place of those of the
    policy's summaries, "" for none. Raises NotFoundError for that one, FaultyInputError for those that the policy
    names.
    """
    if not policy.summarizes:
        return
    from compaction.policies.checks import unresolved_templates
    from compaction.templates import find, with_session
    from compaction.validation import FaultyInputError
    from projections.context.cursor import stand

    with log.snapshot() as snapshot:
        in_session = with_session(sources, snapshot, stand(snapshot, session, leaf=leaf))
    if instead:
        find(instead, in_session)
    if found := unresolved_templates(policy.prompting, in_session, instead=instead):
        raise FaultyInputError(f"policy {policy.name}", found)


def check_window(policy: Policy, limits: Limits) -> None:
    """Raise BadInputError where every context would be too large; tell on stderr what else does not fit the model."""
    from eventstore.errors import BadInputError

    if policy.trigger.leaves_nothing(limits):
        problem = f"for a window of {limits.window:,} tokens every context is too large"
        raise BadInputError(f"policy {policy.name}", problem, "lower what its trigger keeps free")
    tell_misfits(policy, limits)


def tell_misfits(policy: Policy, limits: Limits) -> None:
    """Tell on stderr what of a policy does not fit its model."""
    from cli.output import echo_note
    from compaction.policies.checks import warnings

    for warning in warnings(policy, limits=limits):
        echo_note(warning)
