"""Every peer that is installed rebuilds the context that refold does, and holds what is appended."""

from __future__ import annotations

import pytest

from bench.peers.history import History, names_of
from bench.peers.stores import PEERS
from bench.sessions import result_message

APPENDED = 3


@pytest.fixture(scope="module")
def history(corpus, tmp_path_factory):
    return History(corpus / "pi/pi-mono-before-compaction.v3.jsonl", 2, tmp_path_factory.mktemp("history"))


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.__name__)
def test_a_peer_does_the_same_work(history, tmp_path, peer):
    if peer.version() is None:
        pytest.skip(f"{peer.name} is not installed")
    made = peer(tmp_path / "peer", history)
    made.fill()
    try:
        assert names_of(made.rebuild().messages) == names_of(history.context)
        messages = [result_message(number) for number in range(APPENDED)]
        assert len(made.append(messages)) == APPENDED
        assert names_of([*history.context, *messages]) == names_of(made.rebuild().messages)
    finally:
        made.close()
