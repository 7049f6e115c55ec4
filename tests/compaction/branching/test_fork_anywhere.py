"""A fork of any session, at any leaf, here and in pi: its contexts are those of the session."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from eventstore import export_session
from eventstore.memory import MemoryLog
from eventstore.records import (
    record_of,
)
from eventstore.verify import verify
from projections.context.build import context_json
from projections.context.cursor import ROOT
from projections.descriptions import title
from projections.tree import tree
from tests.compaction.forks import forked
from tests.support.events import NOW, events, path_ids
from tests.support.examples import examples
from tests.support.native import native_events
from tests.support.pi_files import bring
from tests.support.pi_sessions import file_of, pi_entries
from tests.support.talk import PiSession, user
from tests.support.views import javascript


class TestExport:
    def test_a_fork_taken_to_pi_shows_pi_the_same(self, store, tmp_path):
        session = PiSession()
        session.says("a", user("old"))
        session.says("b", user("kept"))
        session.compacts("c", "b")
        session.says("d", user("since"))
        name = session.store_in(store, tmp_path)
        forked(store, name)
        elsewhere = MemoryLog()
        imported = bring(elsewhere, tmp_path, b"".join(export_session(store, "f", "pi")), name="fork.jsonl")
        assert (imported.id, imported.differs_from_harness, imported.orphans) == ("f", [], [])
        assert context_json(elsewhere, "f") == context_json(store, name)


bounded = settings(max_examples=examples(75))


def ends_of_spans(event):
    """The ids of the entries up to which a rewrite shows something else."""
    return (
        [each.through for each in record_of("rewrite", event.body).targets] if event.kind == "rewrite" else []
    )


@bounded
@given(appended=native_events(), data=st.data())
def test_a_forks_context_is_that_of_its_leaf_after_any_history(appended, data):
    log = MemoryLog(clock=lambda: NOW)
    log.append("s", appended)
    nodes = {node.id: node for node in tree(log, "s").nodes}
    leaf = data.draw(st.sampled_from([ROOT, None, *nodes]))
    forked(log, leaf=leaf)
    here = tree(log, "s").leaf if leaf is None else leaf
    path = path_ids(log, "s", here) if isinstance(here, str) else []
    # A span that ends at an entry of another branch is no span; behind the leaf, that entry would end it.
    behind = {node.id for node in tree(log, "f").nodes} - set(path)
    assume(not behind & {end for event in events(log, "f") for end in ends_of_spans(event)})
    assert context_json(log, "f") == context_json(log, "s", leaf=leaf)
    assert title(log, "f") == title(log, "s")
    assert verify(log).findings == []
    labels = {node.id: node.label for node in tree(log, "f").nodes if node.label}
    assert labels.items() >= {
        (each, nodes[each].label) for each in path if each in nodes and nodes[each].label
    }


@bounded
@given(appended=native_events())
def test_every_context_of_a_whole_fork_is_that_of_the_session(appended):
    log = MemoryLog(clock=lambda: NOW)
    log.append("s", appended)
    forked(log, whole=True)
    assert tree(log, "f") == tree(log, "s")
    assert verify(log).findings == []
    for leaf in [ROOT, *(node.id for node in tree(log, "s").nodes)]:
        assert context_json(log, "f", leaf=leaf) == context_json(log, "s", leaf=leaf)


@pytest.mark.slow
@bounded
@given(entries=pi_entries(), data=st.data())
def test_a_fork_of_a_pi_session_is_the_same_here_and_in_pi(tmp_path_factory, entries, data):
    log, elsewhere = MemoryLog(), MemoryLog()
    folder = tmp_path_factory.mktemp("forks")
    name = bring(log, folder, file_of(entries)).id
    leaf = data.draw(st.sampled_from([node.id for node in tree(log, name).nodes] or [ROOT]))
    forked(log, name, leaf=leaf)
    assert context_json(log, "f") == context_json(log, name, leaf=leaf)
    assert verify(log).findings == []
    bring(elsewhere, folder, b"".join(export_session(log, "f", "pi")), name="fork.jsonl")
    assert javascript(context_json(elsewhere, "f")) == javascript(context_json(log, "f"))
