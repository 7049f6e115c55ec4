"""Opening folders: what is a store opens, all else is refused in one line that says what to do."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import lmdb
import msgspec
import pytest

from eventstore import is_store, open_store
from eventstore.errors import StoreError
from eventstore.lmdb import data_files, opening
from eventstore.lmdb.data_files import UNFINISHED_PREFIX
from eventstore.lmdb.opening import STORE_VERSION
from tests.support import sentences
from tests.support.events import event, message, version
from tests.support.permissions import modes
from tests.support.processes import output_of
from tests.support.tampering import tables

OPEN_AND_READ = """
import sys
from eventstore import open_store
from eventstore.errors import StoreError
try:
    with open_store(sys.argv[1]) as log, log.snapshot() as snapshot:
        for item in snapshot.feed():
            bytes(item.frame)
        print("opened")
except StoreError as error:
    print(error)
"""


def refusal(path: Path, *, create: bool = True) -> StoreError:
    """Return the error of a refused path: one line, which begins with the path."""
    with pytest.raises(StoreError) as caught:
        open_store(path, create=create)
    text = str(caught.value)
    assert "\n" not in text
    assert text.startswith(f"{path}: ")
    assert caught.value.remedy in text
    return caught.value


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """A closed store of some pages."""
    path = tmp_path / "store"
    with open_store(path) as log:
        for session in ("s", "t"):
            log.append(session, [message(f"e{number}", "text " * 300) for number in range(40)])
    return path


def _change_first_pages(store: Path, byte: int) -> None:
    """Set a bit of this byte in both of LMDB's meta pages."""
    data = bytearray((store / "data.mdb").read_bytes())
    for page in (0, 4096):
        data[page + byte] ^= 8
    (store / "data.mdb").write_bytes(data)


class TestWhatOpens:
    def test_a_store_is_made_where_nothing_is(self, tmp_path: Path) -> None:
        with open_store(tmp_path / "deep" / "store") as log:
            log.append("s", [message("a")])
        with open_store(tmp_path / "deep" / "store", create=False) as log:
            assert version(log, "s") == 1

    def test_a_store_is_made_in_an_empty_folder(self, tmp_path: Path) -> None:
        with open_store(tmp_path) as log:
            assert log.append("s", [message("a")]).version == 1

    def test_a_path_may_be_a_text(self, tmp_path: Path) -> None:
        with open_store(str(tmp_path / "store")) as log:
            assert log.append("s", [message("a")]).version == 1

    def test_a_store_may_be_moved_without_its_lock_file(self, filled: Path, tmp_path: Path) -> None:
        (tmp_path / "elsewhere").mkdir()
        shutil.copy(filled / "data.mdb", tmp_path / "elsewhere" / "data.mdb")
        with open_store(tmp_path / "elsewhere", create=False) as log:
            assert version(log, "s") == 40

    def test_a_store_opens_again_after_it_was_closed(self, filled: Path) -> None:
        for _ in range(3):
            with open_store(filled) as log:
                assert version(log, "s") == 40

    def test_two_stores_may_be_open_at_a_time(self, tmp_path: Path) -> None:
        with open_store(tmp_path / "one") as one, open_store(tmp_path / "two") as two:
            one.append("s", [message("a")])
            two.append("s", [message("a"), message("b")])
            assert (version(one, "s"), version(two, "s")) == (1, 2)

    def test_files_beside_the_store_do_not_matter(self, filled: Path) -> None:
        (filled / "notes.txt").write_text("mine")
        with open_store(filled) as log:
            assert version(log, "s") == 40


class TestWhatIsRefused:
    def test_a_store_that_is_not_there_is_not_made_unasked(self, tmp_path: Path) -> None:
        assert "import" in refusal(tmp_path / "store", create=False).remedy
        assert not (tmp_path / "store").exists()

    def test_an_empty_folder_is_no_store(self, tmp_path: Path) -> None:
        nothing_there = refusal(tmp_path / "nothing", create=False)
        assert refusal(tmp_path, create=False).problem == nothing_there.problem
        assert list(tmp_path.iterdir()) == []

    def test_a_folder_that_cannot_be_looked_into_is_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "loop").symlink_to("loop")
        for use in (is_store, open_store):
            with pytest.raises(StoreError) as caught:
                use(tmp_path / "loop")
            assert caught.value.path == str(tmp_path / "loop")

    def test_a_folder_of_other_things_is_left_alone(self, tmp_path: Path) -> None:
        (tmp_path / "thesis.tex").write_text("text")
        refusal(tmp_path)
        assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.tex"]

    def test_another_programs_lmdb_database_is_refused(self, tmp_path: Path) -> None:
        with lmdb.open(str(tmp_path), lib_version=0) as env, env.begin(write=True) as transaction:
            transaction.put(b"key", b"value")
        refusal(tmp_path)

    def test_another_programs_lmdb_database_with_tables_of_our_names_is_refused(self, tmp_path: Path) -> None:
        names = ("meta", "sessions", "events", "ids", "positions", "blobs", "derived")
        with lmdb.open(str(tmp_path), lib_version=0, max_dbs=7) as env:
            for name in names:
                env.open_db(name.encode())
        refusal(tmp_path)

    @pytest.mark.parametrize("garbage", [b"garbage " * 4096, b"x"], ids=["long", "short"])
    def test_garbage_is_refused(self, tmp_path: Path, garbage: bytes) -> None:
        (tmp_path / "data.mdb").write_bytes(garbage)
        refusal(tmp_path)

    @pytest.mark.parametrize("byte", [16, 20, 40], ids=["magic", "version", "page size"])
    def test_a_store_whose_first_page_is_damaged_may_be_one(self, filled: Path, byte: int) -> None:
        _change_first_pages(filled, byte)
        refused = refusal(filled)
        assert "damaged" in refused.problem
        assert "backup" in refused.remedy

    @pytest.mark.parametrize("byte", [140, 143], ids=["2^35 pages", "2^59 pages"])
    def test_a_damaged_count_of_pages_is_damage_and_no_want_of_memory(self, filled: Path, byte: int) -> None:
        _change_first_pages(filled, byte)
        assert refusal(filled).problem.startswith("is damaged (")

    def test_what_is_there_in_place_of_a_store_is_told_apart(self, tmp_path: Path) -> None:
        for name in ("papers", "garbage", "other"):
            (tmp_path / name).mkdir()
        (tmp_path / "file").write_text("text")
        (tmp_path / "papers" / "thesis.tex").write_text("text")
        (tmp_path / "garbage" / "data.mdb").write_bytes(b"garbage " * 4096)
        with lmdb.open(str(tmp_path / "other"), lib_version=0) as env, env.begin(write=True) as transaction:
            transaction.put(b"key", b"value")
        paths = ["nothing", "file", "file/store", "papers", "garbage", "other"]
        assert len({refusal(tmp_path / path, create=path != "nothing").problem for path in paths}) == 6


class TestVersions:
    def meta(self, path: Path, value: bytes) -> None:
        with tables(path) as changing:
            changing.put("meta", b"refold", value)

    @pytest.mark.parametrize(("ahead", "what"), [(1, "upgrade"), (-1, "sync"), (-2, "sync")])
    def test_a_store_of_another_version_is_refused(self, filled: Path, ahead: int, what: str) -> None:
        other = {"version": STORE_VERSION + ahead, "oldest_frame": 2}
        self.meta(filled, msgspec.msgpack.encode(other))
        assert what in refusal(filled).remedy
        assert sentences.numbers(refusal(filled).problem) == [STORE_VERSION + ahead, STORE_VERSION]

    @pytest.mark.parametrize("value", [b"", b"\xc1", b"\x80", b"\x01"])
    def test_a_store_that_does_not_tell_its_version_is_refused(self, filled: Path, value: bytes) -> None:
        self.meta(filled, value)
        assert isinstance(refusal(filled).__cause__, msgspec.DecodeError)

    def test_fields_that_a_newer_refold_adds_do_not_matter(self, filled: Path) -> None:
        more = {"version": STORE_VERSION, "color": "red"}
        self.meta(filled, msgspec.msgpack.encode(more))
        with open_store(filled) as log:
            assert version(log, "s") == 40


class TestTruncation:
    def test_a_truncated_store_is_refused(self, filled: Path) -> None:
        data = filled / "data.mdb"
        data.write_bytes(data.read_bytes()[:-4096])
        assert "backup" in refusal(filled).remedy

    @pytest.mark.parametrize("pages", [0.01, 0.5, 1, 1.5, 2, 2.5, 3, 5, 8, 20])
    def test_a_store_cut_off_anywhere_is_an_error_and_not_a_signal(self, filled: Path, pages: float) -> None:
        data = filled / "data.mdb"
        whole = data.read_bytes()
        assert len(whole) > 21 * 4096
        data.write_bytes(whole[: int(pages * 4096)])
        refusal(filled)
        assert "opened" not in output_of(OPEN_AND_READ, filled)

    def test_a_store_that_lacks_its_last_byte_is_an_error_and_not_a_signal(self, filled: Path) -> None:
        data = filled / "data.mdb"
        data.write_bytes(data.read_bytes()[:-1])
        assert output_of(OPEN_AND_READ, filled).startswith(f"{filled}: ")

    def test_a_store_with_room_behind_its_last_page_opens(self, filled: Path) -> None:
        data = filled / "data.mdb"
        data.write_bytes(data.read_bytes() + bytes(8192))
        assert output_of(OPEN_AND_READ, filled) == "opened\n"

    def test_a_copy_with_pages_of_two_moments_is_damaged_and_not_of_another_kind(self, filled: Path) -> None:
        data = filled / "data.mdb"
        before = data.read_bytes()
        with open_store(filled) as log:
            for number in range(9):
                log.append("s", [event(f"after{number}", data="x" * 5000)])
                log.keep([(b"key", bytes(9000 * number))])
        data.write_bytes(before[:8192] + data.read_bytes()[8192:])
        with pytest.raises(StoreError) as info:
            open_store(filled)
        assert info.value.problem.startswith("is damaged")

    def test_a_whole_store_is_never_called_truncated(self, tmp_path: Path) -> None:
        for number in range(30):
            with open_store(tmp_path / "store") as log:
                log.append("s", [event(f"e{number}", data="x" * 5000 * (number % 4))])
                log.keep([(b"key", b"x" * 9000 * (number % 3))])
        assert output_of(OPEN_AND_READ, tmp_path / "store") == "opened\n"


def _data_file_in_the_making(folder: Path) -> bytes:
    """Return the bytes that LMDB puts into a new file before anything is flushed."""
    lmdb.open(str(folder / "making"), lib_version=0, max_dbs=7).close()
    return (folder / "making" / "data.mdb").read_bytes()


class TestFirstCreation:
    """Open the remains of a store whose creation lost power: it is an empty store."""

    @pytest.mark.parametrize("pages", [0, 0.5, 1, 2])
    @pytest.mark.parametrize("content", ["zeros", "data"])
    @pytest.mark.parametrize("lock", [None, 0, 100, 32768])
    def test_a_half_made_data_file_is_made_anew(
        self, tmp_path: Path, pages: float, content: str, lock: int | None
    ) -> None:
        store = tmp_path / "store"
        store.mkdir()
        begun = _data_file_in_the_making(tmp_path)[: int(pages * 4096)]
        (store / f"{UNFINISHED_PREFIX}1").write_bytes(begun if content == "data" else bytes(len(begun)))
        if lock is not None:
            (store / "lock.mdb").write_bytes(bytes(lock))
        with open_store(store) as log:
            assert log.append("s", [message("a")]).version == 1

    @pytest.mark.parametrize("lock", [None, 0, 100, 32768])
    def test_a_data_file_that_has_both_names_is_the_store(self, filled: Path, lock: int | None) -> None:
        (filled / f"{UNFINISHED_PREFIX}1").hardlink_to(filled / "data.mdb")
        (filled / "lock.mdb").unlink()
        if lock is not None:
            (filled / "lock.mdb").write_bytes(bytes(lock))
        with open_store(filled) as log:
            assert version(log, "s") == 40

    def test_leftovers_go_with_the_first_that_opens(self, filled: Path) -> None:
        (filled / f"{UNFINISHED_PREFIX}1").touch()
        (filled / "lock.mdb").unlink()
        open_store(filled).close()
        assert sorted(entry.name for entry in filled.iterdir()) == ["data.mdb", "lock.mdb"]

    @pytest.mark.parametrize("before", [True, False])
    def test_who_is_overtaken_while_making_a_store_opens_the_others(
        self, filled: Path, monkeypatch: pytest.MonkeyPatch, *, before: bool
    ) -> None:
        content = (filled / "data.mdb").read_bytes()
        for each in filled.iterdir():
            each.unlink()
        fill = opening._make

        def overtaken(made: str) -> None:
            if not before:
                fill(made)
            (filled / "data.mdb").write_bytes(content)
            Path(made).unlink()
            if before:
                raise lmdb.Error(f"{made}: No such file or directory")

        monkeypatch.setattr(opening, "_make", overtaken)
        with open_store(filled) as log:
            assert version(log, "s") == 40

    def test_a_data_file_is_whole_when_it_gets_its_name(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        link = os.link

        def looking(made: str, data: Path) -> None:
            assert not data.exists()
            (tmp_path / "seen").mkdir()
            (tmp_path / "seen" / "data.mdb").write_bytes(Path(made).read_bytes())
            link(made, data)

        monkeypatch.setattr(os, "link", looking)
        open_store(tmp_path / "store").close()
        with open_store(tmp_path / "seen", create=False) as log:
            assert log.append("s", [message("a")]).version == 1

    def test_every_new_folder_is_flushed_before_the_store_is_used(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        flushed: set[Path] = set()
        monkeypatch.setattr(data_files, "flush_folder", flushed.add)
        open_store(tmp_path / "a" / "b" / "store").close()
        assert flushed >= {tmp_path, tmp_path / "a", tmp_path / "a" / "b", tmp_path / "a" / "b" / "store"}

    def test_a_file_system_without_links_holds_a_store(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def link(*_: object) -> None:
            raise PermissionError(1, "Operation not permitted")

        monkeypatch.setattr(os, "link", link)
        with open_store(tmp_path / "store") as log:
            assert log.append("s", [message("a")]).version == 1

    def test_of_two_that_make_a_store_the_second_uses_the_firsts(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        link = os.link

        def late(made: str, data: Path) -> None:
            monkeypatch.setattr(os, "link", link)
            with open_store(tmp_path / "store") as first:
                first.append("s", [message("a")])
            link(made, data)

        monkeypatch.setattr(os, "link", late)
        with open_store(tmp_path / "store") as second:
            assert version(second, "s") == 1


@pytest.mark.skipif(os.name != "posix", reason="this system knows no such permissions")
class TestPrivate:
    @pytest.mark.parametrize("mask", [0, 0o022, 0o077])
    def test_a_new_store_is_its_owners_alone(self, tmp_path: Path, mask: int) -> None:
        before = os.umask(mask)
        try:
            with open_store(tmp_path / "store") as log:
                log.append("s", [message("a")])
        finally:
            os.umask(before)
        assert modes(tmp_path / "store") == {"store": 0o700, "data.mdb": 0o600, "lock.mdb": 0o600}

    def test_a_new_lock_file_is_for_those_whom_the_data_file_is_for(self, filled: Path) -> None:
        (filled / "data.mdb").chmod(0o640)
        (filled / "lock.mdb").unlink()
        open_store(filled).close()
        assert modes(filled)["lock.mdb"] == 0o640

    def test_a_store_that_is_there_keeps_its_permissions(self, filled: Path) -> None:
        given = {filled: 0o755, filled / "data.mdb": 0o664, filled / "lock.mdb": 0o664}
        for path, mode in given.items():
            path.chmod(mode)
        with open_store(filled) as log:
            log.append("s", [message("a")])
        assert modes(filled) == {path.name: mode for path, mode in given.items()}
