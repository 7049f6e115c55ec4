"""The rules by which each harness makes a request of a path.

Adding a harness: a module with its `Rules`, a line here, its tests, its docs.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from eventstore.errors import NotFoundError
from eventstore.formats import format_of
from eventstore.log import Snapshot
from eventstore.paths import LazyEvent, event
from eventstore.records import FORMAT, Import, record_of
from projections.rules import pi
from projections.rules.base import Rules

# refold's own records have the shape of pi's.
HARNESS_RULES: Final[dict[str, Rules]] = {
    "refold": pi.RULES,
    "pi": pi.RULES,
}
"""The rules by harness."""


def rules_named(name: str) -> Rules:
    """Return the rules of a name. Raises NotFoundError."""
    for rules in HARNESS_RULES.values():
        if rules.name == name:
            return rules
    raise NotFoundError("harness rules", name, f"there are: {', '.join(harness_names())}")


def harness_names() -> list[str]:
    """Return the names of the harnesses that have rules, in alphabetical order."""
    return sorted({rules.name for rules in HARNESS_RULES.values()})


def format_names() -> list[str]:
    """Return the names that a context as some harness builds it may be given, in alphabetical order."""
    return sorted(frozenset[str]().union(*(rules.format_names for rules in HARNESS_RULES.values())))


@cache
def rules_of_format(format: str) -> Rules:
    """Return the rules of the harness that writes a format, as "pi/3"."""
    return HARNESS_RULES[format_of(format).name]


def rules_at(snapshot: Snapshot, leaf: LazyEvent | None) -> Rules:
    """Return the rules of the harness whose session a leaf is in, refold's own where it is nobody else's.

    Where the leaf is refold's own record, the entries that a context needs anyway tell, before the import does.
    """
    if leaf is None or leaf.format != FORMAT:
        return rules_of_format(FORMAT if leaf is None else leaf.format)
    for seq in (leaf.model_seq, leaf.compaction_seq):
        if seq and (written_as := event(snapshot, leaf.session, seq).format) != FORMAT:
            return rules_of_format(written_as)
    imported = snapshot.head(leaf.session).import_seq
    if not imported:
        return rules_of_format(FORMAT)
    entry = event(snapshot, leaf.session, imported)
    record = record_of("import", entry.body) if entry.format == FORMAT else None
    return rules_of_format(record.source_format if isinstance(record, Import) else entry.format)
