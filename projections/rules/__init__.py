"""The rules by which each harness builds a request from a path.

To add a harness: a module with its `Rules`, a line here, tests and docs.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from eventstore.errors import NotFoundError
from eventstore.formats import format_of
from eventstore.log import Snapshot
from eventstore.paths import LazyEvent, event
from eventstore.records import FORMAT, Import, record_of
from projections.rules import claude_code, oh_my_pi, pi
from projections.rules.base import Rules

# refold's own records have the same shape as pi's.
HARNESS_RULES: Final[dict[str, Rules]] = {
    "refold": pi.RULES,
    "pi": pi.RULES,
    "claude-code": claude_code.RULES,
    "oh-my-pi": oh_my_pi.RULES,
}
"""All rules, by harness."""


def rules_named(name: str) -> Rules:
    """Return the rules with the given name. Raises NotFoundError."""
    for rules in HARNESS_RULES.values():
        if rules.name == name:
            return rules
    raise NotFoundError("harness rules", name, f"choose from: {', '.join(harness_names())}")


def harness_names() -> list[str]:
    """Return the names of harnesses that have rules, sorted."""
    return sorted({rules.name for rules in HARNESS_RULES.values()})


def format_names() -> list[str]:
    """Return the names that select a harness's own context format, sorted."""
    return sorted(frozenset[str]().union(*(rules.format_names for rules in HARNESS_RULES.values())))


@cache
def rules_of_format(format: str) -> Rules:
    """Return the rules of the harness that writes a format, such as "pi/3"."""
    return HARNESS_RULES[format_of(format).name]


def rules_at(snapshot: Snapshot, leaf: LazyEvent | None) -> Rules:
    """Return the rules of the harness that owns the session at a leaf, or refold's own.

    If the leaf is refold's own record, look first at entries that the context needs anyway, then at the
    import.
    """
    written_as = FORMAT if leaf is None else leaf.format
    if leaf is None or written_as != FORMAT:
        return rules_of_format(written_as)
    for seq in (leaf.model_seq, 0 if leaf.kind == "compaction" else leaf.compaction_seq):
        if seq and (written_as := event(snapshot, leaf.session, seq).format) != FORMAT:
            return rules_of_format(written_as)
    imported = snapshot.head(leaf.session).import_seq
    if not imported:
        return rules_of_format(FORMAT)
    entry = event(snapshot, leaf.session, imported)
    record = record_of("import", entry.body) if entry.format == FORMAT else None
    return rules_of_format(record.source_format if isinstance(record, Import) else entry.format)
