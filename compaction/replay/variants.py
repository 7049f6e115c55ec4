"""Define the variants that a replay tries at each boundary, and what decides their results."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

import msgspec

from compaction.policy.model import Policy
from compaction.policy.validate import template_names
from compaction.replay.program import Program
from compaction.summarizers.chain import SummarizerChain
from compaction.templates import Source, load_built_in
from eventstore.dependencies import digest_of_code, result_key
from projections.tokens import counter

RECORDED: Final = "recorded"
"""The name of the variant that does what the session did."""
GIVEN_BACK: Final = f"{RECORDED}+given-back"
"""The name of the variant that adds to it what refold's hook would give back."""
DROP: Final = "drop"
"""The name of the variant that keeps the newest messages and writes no summary."""


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """A policy under a name, with the summarizers and the template to use.

    `policy` is None for the recorded compaction itself. `drops`: keep what the policy keeps, without a summary.
    `template` replaces the policy's, "" for none; it is looked up in `sources` first. A `program` compacts instead
    of a policy, which is then None. `gives_back`: add to the recorded context what refold would give back.
    """

    name: str
    policy: Policy | None
    chain: SummarizerChain
    template: str = ""
    sources: Sequence[Source] = ()
    drops: bool = False
    program: Program | None = None
    gives_back: bool = False


def trial_key(*decides: object) -> bytes:
    """Return the key of a stored trial: a digest of what decides it and of the code."""
    return result_key("replay trial", *decides, _code())


def identity_of(variant: Variant) -> tuple[object, ...] | None:
    """Return everything that decides a variant's results; None if they may differ each time."""
    if variant.program is not None:
        return None
    summarizers = identity_of_chain(variant.chain)
    if None in summarizers:
        return None
    if variant.policy is None:
        return (RECORDED, variant.gives_back)
    names = (variant.template, *template_names(variant.policy.prompting, instead=variant.template).values())
    tokens = counter(variant.policy.counter)
    return (
        msgspec.json.encode(variant.policy),
        # Without a vocabulary, a counter estimates.
        (tokens.name, tokens.is_exact),
        variant.drops,
        variant.template,
        [_template_digest(name, variant) for name in names],
        summarizers,
    )


def identity_of_chain(chain: SummarizerChain) -> list[object]:
    """Return what decides the answers of each summarizer, None for one whose answers may differ."""
    return [getattr(each, "identity", None) for each in chain.summarizers]


def _template_digest(name: str, variant: Variant) -> str | None:
    """Return the digest of a template outside the session, whose own ones are among its events."""
    found = (source(name) for source in (*variant.sources, load_built_in))
    return next((each.digest for each in found if each is not None), None)


@cache
def _code() -> bytes:
    """Identify the code of trials, and the library that counts tokens."""
    return digest_of_code(("eventstore", "projections", "compaction"), ("tiktoken",))
