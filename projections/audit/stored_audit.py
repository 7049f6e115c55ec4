"""Store audits, to use them again while nothing that they depend on has changed."""

from __future__ import annotations

from functools import cache

from eventstore.dependencies import StoredResults, digest_of_code, result_key
from eventstore.log import EventLog
from projections.audit.prices import Prices, identity_of_prices, library_prices
from projections.audit.session import Audit, audit
from projections.context.cursor import Leaf
from projections.tokens import Counter


def stored_audit(
    log: EventLog,
    session: str,
    *,
    leaf: Leaf = None,
    tokens: Counter,
    prices: Prices | None = None,
) -> Audit:
    """Return what `audit` returns, from the store if that is possible.

    A stored audit is used if it was made from the same events, by the same code and with the same prices, and if no
    event was altered since. Raises NotFoundError, and CorruptionError for an altered event.
    """
    prices = prices or library_prices()
    counted = tokens.name, tokens.is_exact
    key = result_key("audit", session, repr(leaf), counted, identity_of_prices(prices), _code())
    with log.snapshot() as snapshot:
        results = StoredResults(log, snapshot)
        if (found := results.find(key, Audit)) is not None:
            return found
        made = audit(results.snapshot, session, leaf=leaf, tokens=tokens, prices=prices)
    if not made.not_computed:
        results.add(key, made)
        results.save()
    return made


@cache
def _code() -> bytes:
    """Identify the code that makes audits."""
    return digest_of_code(("eventstore", "projections"), ())
