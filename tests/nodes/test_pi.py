"""pi on nodes: contexts are those that refold makes today, byte for byte."""

from __future__ import annotations

from pathlib import Path

import msgspec

from eventstore.files.importing import import_file
from eventstore.memory import MemoryLog
from projections.context.build import context_json
from tests.nodes.node import Nodes, shown, walk
from tests.nodes.pi import SHOWN, message_of, nodes_of, settings_at


def test_corpus_contexts_are_today_s(corpus: Path) -> None:
    compared = 0
    for path in sorted(corpus.glob("pi/*.jsonl")):
        log = MemoryLog()
        session = import_file(log, path).id
        nodes = nodes_of(session, path.read_bytes().splitlines())
        with log.snapshot() as snapshot:
            for n in {*range(1, len(nodes.made) + 1, 20), nodes.leaf}:
                today = context_json(snapshot, session, leaf=nodes[n].id)
                assert _context(nodes, n) == today, (path.name, n)
                compared += 1
    assert compared > 150


def _context(nodes: Nodes, leaf: int) -> bytes:
    messages = [
        message
        for _, n in shown(nodes, leaf)
        if nodes[n].kind in SHOWN and (message := message_of(nodes, n)) is not None
    ]
    settings = settings_at(nodes, [n for _, n in walk(nodes, leaf)])
    return b'{"messages":[%b],%b' % (b",".join(messages), msgspec.json.encode(settings)[1:])
