"""At the compactions of a real session, extraction recalls more than a truncation of the same size."""

from __future__ import annotations

from typing import Any

import pytest

from compaction.prompts import serialized, serialized_prompt
from compaction.summarizers.extractive import ExtractiveSummarizer
from compaction.templates import built_in
from eventstore.formats import view_of_message
from eventstore.importing import import_file
from eventstore.views import Message, Text
from projections.extraction import Kind
from projections.metrics.holdings import Holdings, holding
from projections.metrics.paths import Paths
from projections.metrics.presence import Presence
from projections.replacement import replacement_of
from projections.standpoint import path, stand

KINDS = (Kind.PATH, Kind.COMMAND, Kind.ERROR)


def recalled(text: str, removed: Any) -> dict[Kind, int]:
    """How many distinct things of the removed messages a text names, by kind."""
    held = [Holdings().of_part(part) for part in removed]
    told = holding(0, "summary", Message(role="user", blocks=(Text(text),)))
    presence = Presence([told], Paths(name for each in held for name in each.paths))
    values = {kind: {value for each in held for value in each.named.get(kind, ())} for kind in KINDS}
    return {kind: sum(presence.names(kind, value) for value in values[kind]) for kind in KINDS}


@pytest.fixture
def boundaries(store, corpus):
    """The messages that each compaction removed, and the summary that stood before them."""
    session = import_file(store, corpus / "pi/pi-mono-before-compaction.v3.jsonl").id
    with store.snapshot() as snapshot:
        at = stand(snapshot, session)
        found = [
            replacement_of(event, snapshot, at) for event in path(snapshot, at) if event.kind == "compaction"
        ]
    return [
        (
            [part for part in each.removed if part.kind != "compaction"],
            next((view_of_message(part.raw).text for part in each.removed if part.kind == "compaction"), ""),
        )
        for each in found
    ]


@pytest.mark.parametrize("number", [0, 1])
def test_more_paths_commands_and_errors_are_recalled_than_by_head_and_tail(boundaries, number):
    removed, previous = boundaries[number]
    asked = serialized_prompt(
        built_in("compaction"), removed, system="", max_tokens=13_107, previous=previous
    )
    text = ExtractiveSummarizer().summarize(asked, is_cancelled=lambda: False).text
    whole, half = serialized(view_of_message(part.raw) for part in removed), len(text) // 2
    ours, theirs = recalled(text, removed), recalled(whole[:half] + whole[-half:], removed)
    assert all(ours[kind] > theirs[kind] for kind in KINDS), (ours, theirs)
