"""Contexts of real transcripts are those that their lines alone give, byte for byte."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from eventstore.files.importing import import_sessions
from eventstore.memory import MemoryLog
from projections.context.build import build_context
from projections.context.parts import Part
from projections.rules.claude_code import RULES
from tests.support.reference_claude_code import nodes_of, parts_at


@pytest.mark.parametrize(
    "every", [pytest.param(20, marks=pytest.mark.long), 60], ids=lambda every: f"every {every}th entry"
)
def test_contexts_are_those_of_their_lines(corpus: Path, every: int) -> None:
    compared = 0
    for path in sorted(corpus.glob("claude-code/*.jsonl")):
        log = MemoryLog()
        session = import_sessions(log, path)[0].id
        nodes = nodes_of(path.read_bytes().splitlines())
        placed = [n for n, node in enumerate(nodes.made, 1) if not node.off]
        with log.snapshot() as snapshot:
            for n in {*placed[::every], *placed[-1:]}:
                if snapshot.locate(session, nodes[n].id):
                    found = build_context(snapshot, session, leaf=nodes[n].id, verify=False).parts
                    own = parts_at(nodes, n)
                    assert _request(own) == _request(found), (path.name, n)
                    compared += 1
    assert compared >= 300


def _request(parts: Sequence[Part]) -> bytes:
    return RULES.document([part.raw for part in parts], b"{}")
