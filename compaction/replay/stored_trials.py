"""Store the results of replays, to use them again while nothing has changed."""

from __future__ import annotations

from functools import cache

import msgspec

from compaction.policy.validate import template_names
from compaction.replay.variants import Variant
from compaction.summarizers import HasIdentity
from compaction.templates import load_built_in
from eventstore.dependencies import digest_of_code, result_key
from projections.tokens import counter


class StoredTrial(msgspec.Struct, frozen=True, array_like=True):
    """The figures of a trial, as in `Trial`; `error` says why there are none.

    `summary` is the text of the context's summary, "" for none.
    """

    error: str | None = None
    first_kept: str | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None
    tokens_restored: int | None = None
    summary: str = ""


def key_of(*decides: object) -> bytes:
    """Return the key of a stored trial: a digest of what decides it and of the code."""
    return result_key("replay trial", *decides, _code())


def identity_of(variant: Variant) -> tuple[object, ...] | None:
    """Return everything that decides a variant's results; None if they may differ each time."""
    if variant.program is not None:
        return None
    summarizers = [
        each.identity if isinstance(each, HasIdentity) else None for each in variant.chain.summarizers
    ]
    if None in summarizers:
        return None
    if variant.policy is None:
        return ("recorded",)
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


def _template_digest(name: str, variant: Variant) -> str | None:
    """Return the digest of a template outside the session, whose own ones are among its events."""
    found = (source(name) for source in (*variant.sources, load_built_in))
    return next((each.digest for each in found if each is not None), None)


@cache
def _code() -> bytes:
    """Identify the code of trials, and the library that counts tokens."""
    return digest_of_code(("eventstore", "projections", "compaction"), ("tiktoken",))
