"""Folds of real sessions, against figures that are known and the reference."""

from __future__ import annotations

import json

import pytest

from eventstore import open_store
from eventstore.files.importing import import_file
from projections.audit.session import audit
from projections.context.build import build_context, context_json, harness_json
from projections.diff import Change, diff
from projections.files import file_operations
from projections.timeline import timeline
from tests.support import reference_pi
from tests.support.events import NOW, events
from tests.support.views import javascript

COMPACTED = ["pi-mono-before-compaction.v1", "pi-mono-before-compaction.v3"]
EVERY = [*COMPACTED, "pi-mono-large-session.v1"]


@pytest.fixture(scope="module")
def opened(corpus, tmp_path_factory):
    """From a file's name to a store of it, the session in it, and the parsed lines."""
    stores = {}

    def imported(name):
        if name not in stores:
            path = corpus / "pi" / f"{name}.jsonl"
            log = open_store(tmp_path_factory.mktemp("corpus") / "store", clock=lambda: NOW)
            lines = [javascript(line) for line in path.read_bytes().splitlines()]
            stores[name] = log, import_file(log, path).id, lines
        return stores[name]

    yield imported
    for log, _, _ in stores.values():
        log.close()


@pytest.mark.parametrize("name", COMPACTED)
def test_providers_measured_what_both_compactions_claim(opened, name):
    log, session, _ = opened(name)
    found = [(each.before.claimed, each.before.measured) for each in audit(log, session).compactions]
    assert found == [(175004, 175004), (185014, 185014)]


@pytest.mark.parametrize("name", COMPACTED)
def test_the_second_compaction_dropped_what_the_first_had_kept(opened, name):
    log, session, _ = opened(name)
    found = [each.messages for each in audit(log, session).compactions]
    assert [(each.summarized, each.kept, each.uncovered) for each in found] == [(285, 66, 0), (182, 77, 66)]


def test_versions_1_and_3_of_a_session_have_the_same_contexts(opened):
    contexts = []
    for name in COMPACTED:
        log, session, _ = opened(name)
        contexts.append([context_json(log, session, as_of=count) for count in range(0, 1000, 50)])
    assert contexts[0] == contexts[1]


def test_contexts_of_real_sessions_are_pis(opened, corpus):
    names = sorted(path.stem for path in corpus.glob("pi/*.jsonl"))
    for name in names:
        log, session, lines = opened(name)
        entries = lines[1:] if "version" in lines[0] else reference_pi.migrated(lines)
        ids = [event.id for event in events(log, session)]
        for place in {*range(0, len(entries), 20), len(entries) - 1}:
            expected = reference_pi.context(entries, entries[place]["id"])
            assert javascript(context_json(log, session, leaf=ids[place])) == expected, (name, place)
    assert len(names) >= len(EVERY)


@pytest.mark.parametrize("name", EVERY)
def test_parts_and_bytes_of_real_contexts_agree(opened, name):
    log, session, _ = opened(name)
    assert harness_json(build_context(log, session)) == context_json(log, session)


def test_files_of_a_real_session_are_those_that_its_calls_name(opened):
    log, session, lines = opened(COMPACTED[0])
    calls = [
        block
        for line in lines
        if line.get("message", {}).get("role") == "assistant"
        for block in line["message"]["content"]
        if block["type"] == "toolCall"
    ]
    paths = {tool: set() for tool in ("read", "write", "edit")}
    for each in calls:
        if each["name"] in paths:
            paths[each["name"]].add(each["arguments"]["path"])
    modified = paths["write"] | paths["edit"]
    found = file_operations(log, session)
    assert (found.read_files, found.modified_files) == (sorted(paths["read"] - modified), sorted(modified))


def test_a_timeline_of_a_real_session_ends_at_the_size_of_its_context(opened):
    log, session, _ = opened(COMPACTED[1])
    last = timeline(log, session).moments[-1]
    parts = build_context(log, session).parts
    assert last.tokens == sum(part.utf16 for part in parts)


def test_what_the_first_compaction_summarized_is_summarized_between_the_contexts_around_it(opened):
    log, session, _ = opened(COMPACTED[1])
    first = audit(log, session).compactions[0]
    with log.snapshot() as snapshot:
        before = events(log, session)[first.seq - 2].id
        found = [each.change for each in diff(snapshot, session, before, first.id).changes]
    counts = {change: found.count(change) for change in set(found)}
    assert counts == {Change.SUMMARIZED: 285, Change.KEPT: 66, Change.NEW: 1}


def test_the_context_of_a_real_session_is_valid_json_of_pis_three_keys(opened):
    log, session, _ = opened(EVERY[2])
    assert list(json.loads(context_json(log, session))) == ["messages", "thinkingLevel", "model"]
