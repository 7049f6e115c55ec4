"""Imported sessions fold to what pi folds them to, at every leaf and as of every event."""

from __future__ import annotations

import re
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, given, settings

from eventstore import open_store
from eventstore.files.importing import import_file
from eventstore.memory import MemoryLog
from projections.context.build import build_context, context_json, harness_json
from projections.context.cursor import ROOT
from projections.descriptions import title
from projections.tree import labels_of, tree
from tests.support import reference_pi
from tests.support.events import NOW, events
from tests.support.examples import examples
from tests.support.pi_files import SESSION
from tests.support.pi_sessions import file_of, pi_entries
from tests.support.views import as_javascript, javascript, replayed, views_at

BLANK = re.compile(r"\A[\s\ufeff]+|[\s\ufeff]+\Z")
"""Blank characters at an end, of Python and of JavaScript: U+001C is one only in Python, U+FEFF only in JavaScript."""

SENT = {"message", "custom_message", "compaction", "branch_summary"}
bounded = settings(
    max_examples=examples(30), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def trimmed(title: str | None) -> str:
    return BLANK.sub("", title or "")


@contextmanager
def store_of(entries):
    """A store into which a file of these entries was imported."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "session.jsonl")
        path.write_bytes(file_of(entries))
        with open_store(Path(folder, "store"), clock=lambda: NOW) as log:
            import_file(log, path)
            yield log


@bounded
@given(entries=pi_entries())
def test_a_context_is_pis_at_every_leaf_and_as_of_every_event(entries):
    entries = as_javascript(entries)
    with store_of(entries) as log:
        for count in range(len(entries) + 1):
            had = entries[:count]
            for leaf in [None, *(entry["id"] for entry in had)]:
                expected = reference_pi.context(had, *([leaf] if leaf else []))
                built = build_context(log, SESSION, leaf=leaf, as_of=count)
                assert expected == javascript(harness_json(built))
                assert harness_json(built) == context_json(log, SESSION, leaf=leaf, as_of=count)


@bounded
@given(entries=pi_entries())
def test_the_context_at_the_root_is_empty_as_of_every_event(entries):
    with store_of(entries) as log:
        for count in range(len(entries) + 1):
            assert reference_pi.context(entries, None) == javascript(
                context_json(log, SESSION, leaf=ROOT, as_of=count)
            )


@bounded
@given(entries=pi_entries())
def test_a_view_as_of_an_event_is_that_of_a_store_that_has_no_later_ones(entries):
    growing = MemoryLog(clock=lambda: NOW)
    with store_of(entries) as log:
        for count, event in enumerate(replayed(events(log, SESSION))[: len(entries)], 1):
            growing.append(SESSION, [event])
            for leaf in (None, ROOT, entries[count // 2]["id"]):
                assert views_at(growing, SESSION, leaf=leaf) == views_at(log, SESSION, leaf=leaf, as_of=count)


@bounded
@given(entries=pi_entries())
def test_tree_labels_and_title_are_pis(entries):
    with store_of(entries) as log:
        for count in range(len(entries) + 1):
            had = entries[:count]
            labels = reference_pi.labels(had)
            found = tree(log, SESSION, as_of=count)
            shown = without_hidden(had, {node.id for node in found.nodes})
            expected = [
                {**node, "label": labels.get(node["id"])} for node in reference_pi.tree(as_javascript(shown))
            ]
            assert expected == [
                {"id": node.id, "depth": node.depth, "children": node.children, "label": node.label}
                for node in found.nodes
            ]
            assert (had[-1]["id"] if had else None) == found.leaf
        assert trimmed(reference_pi.title(entries)) == trimmed(title(log, SESSION))


def without_hidden(entries, shown):
    """The entries that a tree shows, below their nearest shown ancestors; the others are never sent."""
    hidden = {entry["id"]: entry for entry in entries if entry["id"] not in shown}
    assert {entry.get("type") for entry in hidden.values()}.isdisjoint(SENT)

    def moved(entry):
        while entry.get("parentId") in hidden:
            entry = {**entry, "parentId": hidden[entry["parentId"]].get("parentId")}
        return entry

    return [moved(entry) for entry in entries if entry["id"] not in hidden]


@bounded
@given(entries=pi_entries())
def test_labels_on_what_is_not_there_are_kept_in_the_order_of_pis_map(entries):
    with store_of(entries) as log, log.snapshot() as snapshot:
        labels = labels_of(snapshot, SESSION)
    assert list(reference_pi.labels(entries).items()) == list(labels.items())
