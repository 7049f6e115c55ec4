"""Read all Claude Code sessions of the corpus by a stand-in program, whose answers hold true and false claims."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from eventstore import open_store
from projections.audit.readings import readings
from tests.cli.running import Refold

MODEL = """
import json, re, sys
asked = sys.stdin.read()
if "<claim>" in asked:
    seq, words = re.search(r"<afterwards>\\n#(\\d+) \\w+: ([^\\n]{12,60})", asked).groups()
    print(json.dumps({"verdict": "lost", "because": {"event": int(seq), "quote": words}, "person": None}))
    sys.exit()
conversation, _, rest = asked.partition("</conversation>")
summary, _, afterwards = rest.partition("</summary>")
def quotes(text, who):
    found = re.findall(rf"^#(\\d+) {who}: ([^\\n…]*)", text, re.M)
    words = [(int(seq), re.match(r".{20,60}?(?!\\w)", line)) for seq, line in found if len(line) > 70]
    return [{"event": seq, "quote": each[0].strip()} for seq, each in words if each]
people, texts, behind = quotes(conversation, "person"), quotes(conversation, "model"), quotes(afterwards, r"\\w+")
false = {"event": 1, "quote": "what nobody ever said in any session"}
print("Here it is:", json.dumps({
    "rules": [{"rule": "r", "said": [each], "state": "gone"} for each in people[:3]]
    + [{"rule": "false", "said": [false]}],
    "facts": [{"fact": "f", "known": [each]} for each in texts[:3]] + [{"fact": "false", "known": [false]}],
    "losses": [{"loss": "l", "known": [each], "trouble": behind[-1:]} for each in texts[:2]]
    + [{"loss": "false", "known": [false], "trouble": behind[-1:]}],
    "statements": [
        {"sentence": each.strip(), "said": people[:1]}
        for each in re.findall(r"\\S.{20,80}(?=\\n)", summary)[-2:]
    ]
    + [{"sentence": "false", "said": []}],
}))
"""


@pytest.fixture(scope="module")
def read(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Refold, list[Any]]]:
    """A store with all Claude Code sessions, and what the program read in them."""
    folder = tmp_path_factory.mktemp("judge")
    (folder / "model.py").write_text(MODEL)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("REFOLD_TRACEBACK", "1")
        patch.setenv("REFOLD_SUMMARIZER_COMMAND", shlex.join([sys.executable, str(folder / "model.py")]))
        run = Refold(folder / "store")
        run("sync", corpus / "claude-code", code=None)
        done = run("judge", "--all", "--summarizer", "command", "--yes", "--json")
        assert "not judged" not in done.errors
        yield run, [each["reading"] for each in done.json["readings"]]


def test_every_boundary_is_read(read: tuple[Refold, list[Any]]) -> None:
    refold, readings = read
    assert len(readings) > 50
    assert "every boundary has been read as it is" in refold("judge", "--all", "--dry-run").out


def test_no_false_claim_passes(read: tuple[Refold, list[Any]]) -> None:
    kinds = {"rules": "rule", "facts": "fact", "losses": "loss", "statements": "sentence"}
    for reading in read[1]:
        assert all(each[name] != "false" for kind, name in kinds.items() for each in reading[kind])
        refused = [each["claim"] for each in reading["refused"]]
        # Long boundaries are read in parts.
        assert refused.count("false") >= len(kinds)


def test_true_claims_pass(read: tuple[Refold, list[Any]]) -> None:
    """Whatever a prompt shows can be quoted."""
    refused = [
        each["reason"] for reading in read[1] for each in reading["refused"] if each["claim"] in ("r", "f")
    ]
    assert refused == []
    passed = {kind: sum(len(each[kind]) for each in read[1]) for kind in ("rules", "facts", "losses")}
    assert min(passed.values()) > 10


def test_stored_readings_are_those_that_were_made(read: tuple[Refold, list[Any]]) -> None:
    """The check of stored quotations refuses nothing that the first check accepted."""
    refold, made = read
    stored = []
    with open_store(refold.store) as log, log.snapshot() as snapshot:
        for head in snapshot.heads():
            stored += readings(snapshot, head.name).values()
    assert len(stored) == len(made)
    assert sum(len(each.refused) for each in stored) == sum(len(each["refused"]) for each in made)


def test_audits_show_what_was_read(read: tuple[Refold, list[Any]]) -> None:
    refold, _ = read
    assert refold("audit", "6113e919", "--fail-on", "serious").out.count("read at") == 4
