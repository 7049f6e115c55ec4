"""Keep edits of contexts by other harnesses as they came, without effect here."""

from __future__ import annotations

import pytest

from eventstore.files.exporting import export_original
from projections.context.build import build_context
from projections.tree import tree
from tests.support.talk import assistant, call, result, texts_of, user

COLLAPSE = {"kind": "context_collapse", "collapsed": ["a1"], "summary": "what was said"}
CACHE_EDITS = {"kind": "custom", "customType": "cache_edits", "data": {"deleted": ["c1"]}}
OPENAI = {
    "preserveData": {"openaiRemoteCompaction": {"replacementHistory": [{"type": "compaction", "x": 1}]}}
}
STUB = "File unchanged since last read."


def came(store, tmp_path, pi):
    """The session's name, its file as it was imported, and as it is given back."""
    session = pi.store_in(store, tmp_path)
    return session, (tmp_path / "session.jsonl").read_bytes(), b"".join(export_original(store, session))


@pytest.mark.parametrize("fields", [COLLAPSE, CACHE_EDITS], ids=lambda fields: fields["kind"])
def test_what_a_harness_edits_by_itself_is_an_entry_that_changes_no_context(store, tmp_path, pi, fields):
    pi.says("a1", user("go"))
    pi.entry("x1", **fields)
    session, file, given_back = came(store, tmp_path, pi)
    assert given_back == file
    assert [node.id for node in tree(store, session).nodes] == ["a1", "x1"]
    assert texts_of(build_context(store, session)) == ["go"]


def test_what_a_provider_cleared_on_its_side_stays_with_the_answer_that_says_so(store, tmp_path, pi):
    edits = {"applied_edits": [{"type": "clear_tool_uses_20250919", "cleared_tool_uses": 2}]}
    pi.says("a1", assistant("done", context_management=edits))
    session, file, given_back = came(store, tmp_path, pi)
    assert given_back == file
    assert b'"applied_edits"' in build_context(store, session).parts[0].raw


def test_a_providers_own_compaction_is_kept_with_the_entry_that_carries_it(store, tmp_path, pi):
    pi.says("a1", user("go"))
    pi.compacts("c1", "a1", **OPENAI)
    session, file, given_back = came(store, tmp_path, pi)
    assert given_back == file
    assert texts_of(build_context(store, session)) == ["a summary", "go"]


def test_a_stub_for_an_unchanged_file_is_the_result_that_it_came_as(store, tmp_path, pi):
    pi.says("a1", assistant(call("read", path="a.py")))
    pi.says("r1", result(STUB, tool="read"))
    session, file, given_back = came(store, tmp_path, pi)
    assert given_back == file
    assert texts_of(build_context(store, session))[1] == STUB
