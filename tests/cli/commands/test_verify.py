from __future__ import annotations

from pathlib import Path
from sqlite3 import connect

import click
import msgspec
import pytest

from eventstore.errors import BadInputError
from eventstore.verify import read_heads
from tests.cli.running import Refold
from tests.cli.tale import SESSION
from tests.support.permissions import modes
from tests.support.pi_files import header
from tests.support.tampering import Tables, tables


def changed_body(stored: Tables) -> None:
    key, value = stored.items("events")[0]
    stored.put("events", key, value.replace(b"Fix the parser.", b"Fix the sparrow"))


def saved_head(version: int = 1, digest: str = "f" * 64) -> bytes:
    head = {"session": SESSION, "version": version, "digest": digest}
    return msgspec.json.encode({"format": "refold-heads/1", "by": "verify", "heads": [head]})


@pytest.mark.slow
def test_json_of_a_sound_store_has_no_findings(told: Refold) -> None:
    assert told("verify", "--json").json == {"sessions": 1, "events": 17, "findings": [], "heads": None}


class TestHeads:
    """Only heads saved beside a store show that the end of a session was cut off."""

    @pytest.mark.slow
    def test_heads_are_saved_where_there_are_none_yet(self, told: Refold, tmp_path: Path) -> None:
        line = told("verify", "--heads", "wrong.heads").lines[-1]
        assert line == "wrong.heads: there was no such file; no head compared, 1 head saved"
        found = told("verify", "--heads", "other.heads", "--json").json["heads"]
        assert found == {"file": "other.heads", "compared": 0, "saved": True}
        (head,) = read_heads(tmp_path / "other.heads").heads
        assert (head.session, head.version) == (SESSION, 17)
        assert modes(tmp_path / "other.heads") == {"other.heads": 0o600}

    @pytest.mark.slow
    def test_a_session_that_goes_on_is_sound_and_its_new_head_is_saved(
        self, told: Refold, tmp_path: Path
    ) -> None:
        told("verify", "--heads", "store.heads")
        told("label", SESSION, "--title", "Another title")
        assert told("verify", "--heads", "store.heads", "--json").json["heads"]["compared"] == 1
        assert [head.version for head in read_heads(tmp_path / "store.heads").heads] == [18]

    @pytest.mark.slow
    @pytest.mark.parametrize("by", ["verify", "backup", "sync"])
    def test_a_rolled_back_commit_is_found(self, told: Refold, tmp_path: Path, by: str) -> None:
        before = (told.store / "data.mdb").read_bytes()
        told("label", SESSION, "--title", "Another title")
        told("append", "other", stdin='{"type":"message","message":{"role":"user","content":"Hi"}}')
        if by == "verify":
            told("verify", "--heads", "copy.heads")
        elif by == "backup":
            told("backup", "copy")
        else:
            (tmp_path / "new.jsonl").write_bytes(header(session="new"))
            told("sync", tmp_path / "new.jsonl")
            (tmp_path / "store.heads").rename(tmp_path / "copy.heads")
        saved = (tmp_path / "copy.heads").read_bytes()
        (told.store / "data.mdb").write_bytes(before)
        told("verify")
        found = told("verify", "--heads", "copy.heads", "--json", code=1).json
        places = {(finding["session"], finding["seq"]) for finding in found["findings"]}
        assert places - {("new", 1)} == {(SESSION, 18), ("other", 1)}
        assert found["heads"] == {"file": "copy.heads", "compared": len(places), "saved": False}
        assert (tmp_path / "copy.heads").read_bytes() == saved

    def test_sync_keeps_heads_of_what_is_gone(self, told: Refold, tmp_path: Path) -> None:
        before = (told.store / "data.mdb").read_bytes()
        told("label", SESSION, "--title", "Another title")
        for name in ("new", "newer"):
            (tmp_path / f"{name}.jsonl").write_bytes(header(session=name))
        told("sync", tmp_path / "new.jsonl")
        saved = (tmp_path / "store.heads").read_bytes()
        (told.store / "data.mdb").write_bytes(before)
        (note,) = told("sync", tmp_path / "newer.jsonl").notes
        assert f"{SESSION}: events are missing" in note
        assert (tmp_path / "store.heads").read_bytes() == saved

    @pytest.mark.slow
    def test_another_event_in_the_place_of_the_saved_one_is_found(self, told: Refold) -> None:
        before = (told.store / "data.mdb").read_bytes()
        told("label", SESSION, "--title", "One title")
        told("verify", "--heads", "store.heads")
        (told.store / "data.mdb").write_bytes(before)
        told("label", SESSION, "--title", "Another title")
        told("label", SESSION, "--title", "A third title")
        (finding,) = told("verify", "--heads", "store.heads", "--json", code=1).json["findings"]
        assert (finding["session"], finding["seq"]) == (SESSION, 18)

    @pytest.mark.slow
    def test_the_heads_of_a_backup_are_compared_with_and_never_changed(
        self, told: Refold, tmp_path: Path
    ) -> None:
        told("backup", "copy")
        saved = (tmp_path / "copy.heads").read_bytes()
        told("label", SESSION, "--title", "Another title")
        found = told("verify", "--heads", "copy.heads", "--json").json["heads"]
        assert found == {"file": "copy.heads", "compared": 1, "saved": False}
        assert (tmp_path / "copy.heads").read_bytes() == saved
        Refold(tmp_path / "copy")("verify", "--heads", "copy.heads")

    @pytest.mark.slow
    def test_a_store_that_is_not_sound_has_no_heads_saved(self, told: Refold, tmp_path: Path) -> None:
        with tables(told.store) as stored:
            changed_body(stored)
        told("verify", "--heads", "other.heads", code=1)
        assert not (tmp_path / "other.heads").exists()

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"{}",
            b"\xff",
            b'{"format":"refold-heads/2","by":"x","heads":[]}',
            saved_head(version=-5),
            saved_head(version=0),
            saved_head(digest="f" * 63),
            saved_head(digest="g" * 64),
            saved_head(digest="f" * 64 + "\n"),
        ],
    )
    def test_a_file_of_something_else_is_refused_and_left_as_it_is(
        self, told: Refold, tmp_path: Path, content: bytes
    ) -> None:
        (tmp_path / "notes").write_bytes(content)
        assert told.refused(BadInputError, "verify", "--heads", "notes").source == "notes"
        assert (tmp_path / "notes").read_bytes() == content

    def test_a_folder_is_no_file_of_heads(self, told: Refold, tmp_path: Path) -> None:
        (tmp_path / "folder").mkdir()
        refused = told.refused(BadInputError, "verify", "--heads", "folder")
        assert (refused.source, refused.problem) == ("folder", "is a folder")

    @pytest.mark.slow
    def test_a_place_where_no_heads_can_be_saved_is_reported_with_the_option_that_names_it(
        self, told: Refold
    ) -> None:
        refused = told.refused(BadInputError, "verify", "--heads", "gone/heads")
        assert refused.source == "gone/heads"
        assert refused.remedy.endswith(" --heads")

    def test_heads_are_not_kept_inside_the_store(self, told: Refold) -> None:
        told.refused(click.BadParameter, "verify", "--heads", told.store / "heads", code=2)
        assert sorted(entry.name for entry in told.store.iterdir()) == ["data.mdb", "lock.mdb"]


def test_a_damaged_index_gives_no_hits_afterwards(told: Refold) -> None:
    found = told("search", "parser", "--json").raw
    with connect(told.store / "search.sqlite") as index:
        index.execute("UPDATE events SET seq = seq + 1")
    assert told("search", "parser", "--json", code=None).raw != found
    told("verify")
    assert told("search", "parser", "--json").raw == found
