"""Find the rules by which a harness builds a request, in the module with its name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module

from eventstore.errors import NotFoundError
from eventstore.harnesses import all_names, format_of
from eventstore.log import Snapshot
from eventstore.paths import LazyEvent, event
from eventstore.records import FORMAT, Import, own_record
from projections.rules.base import Rules, Selection, native_provider


@cache
def _rules_of(harness: str) -> Rules:
    # refold's own records have the same shape as pi's.
    name = "pi" if harness == "refold" else harness.replace("-", "_")
    rules: Rules = import_module(f"{__name__}.{name}").RULES
    return rules


def rules_named(name: str) -> Rules:
    """Return the rules with the given name. Raises NotFoundError."""
    if name in all_names() and (rules := _rules_of(name)).name == name:
        return rules
    raise NotFoundError("harness rules", name, f"choose from: {', '.join(harness_names())}")


def harness_names() -> list[str]:
    """Return the names of harnesses that have rules, sorted."""
    return sorted({_rules_of(harness).name for harness in all_names()})


def format_names() -> list[str]:
    """Return the names that select a harness's own context format, sorted."""
    return sorted(frozenset[str]().union(*(_rules_of(harness).format_names for harness in all_names())))


@cache
def rules_of_format(format: str) -> Rules:
    """Return the rules of the harness that writes a format, such as "pi/3"."""
    return _rules_of(format_of(format).name)


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
    record = own_record(entry)
    return rules_of_format(record.source_format if isinstance(record, Import) else entry.format)


def select_readable(snapshot: Snapshot, leaf: LazyEvent, rules: Rules) -> Selection:
    """Select as if compactions that only their provider can read were not there."""
    selected = rules.select(snapshot, leaf)
    while (compaction := selected.compaction) is not None and native_provider(compaction):
        if not compaction.parent_seq:
            return Selection()
        selected = rules.select(snapshot, event(snapshot, leaf.session, compaction.parent_seq))
    return selected


def beside_path(
    snapshot: Snapshot, on_path: Sequence[LazyEvent], rules: Rules | None = None
) -> list[LazyEvent]:
    """Return the entries shown with those of a path, in order."""
    if not on_path:
        return []
    leaf = on_path[-1]
    beside = (rules or rules_at(snapshot, leaf)).beside(snapshot, leaf.session)
    if beside is None:
        return []
    for entry in on_path:
        beside.add(entry)
    return [event(snapshot, leaf.session, seq) for seq in beside.found]
