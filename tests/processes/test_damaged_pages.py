"""A flipped bit in a page of a store's file: findings or all that was there, and never a signal or a traceback."""

from __future__ import annotations

import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from eventstore import open_store
from eventstore.backup import backup
from eventstore.errors import CorruptionError, StoreError
from eventstore.lmdb.opening import open_for_walk
from eventstore.lmdb.pages import check_pages, require_sound_pages
from tests.cli.running import Refold, command
from tests.support.events import event, message
from tests.support.patience import PATIENCE
from tests.support.processes import output_of, running

PAGE = 4096
BRANCH, LEAF, OVERFLOW = 1, 2, 4
_META = 16
"""The offset of a meta page's fields, in bytes: after the header of every page."""

WRITE_UNTIL_TOLD = """
import itertools, select, sys
from eventstore import open_store
from tests.support.events import event
with open_store(sys.argv[1]) as log:
    for number in itertools.count():
        log.append("t", [event(f"w{number}", data="x" * (number * 997 % 20000))])
        log.keep([(b"key", bytes(10_000 * (number % 5)))])
        if not number:
            print("begun", flush=True)
        if select.select([sys.stdin], [], [], 0)[0]:
            break
"""

GROW = """
import sys
from eventstore import open_store
from tests.support.events import event
with open_store(sys.argv[1]) as log:
    log.append("t", [event(f"g{number}", data="x" * 1_000_000) for number in range(16)])
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """A store with branch, leaf and overflow pages, none of them free."""
    folder = tmp_path_factory.mktemp("whole")
    with open_store(folder / "written") as log:
        for session in ("r", "s", "t"):
            log.append(
                session, [message(f"e{number}", "text " * (number * 37 % 400)) for number in range(60)]
            )
            log.append(session, [event("large", data="x" * 9000)])
        backup(log, folder / "store")
    return folder / "store"


@pytest.fixture
def store(whole: Path, tmp_path: Path) -> Path:
    shutil.copytree(whole, tmp_path / "store")
    return tmp_path / "store"


def pages_of(data: bytes, kind: int) -> list[int]:
    """Return the offsets, in bytes, of the pages of a kind; meta pages are left out."""
    found = []
    for at in range(2 * PAGE, len(data), PAGE):
        number, _, flags = struct.unpack_from("<QHH", data, at)
        if number == at // PAGE and flags == kind:
            found.append(at)
    return found


def first_node(data: bytes, page: int) -> int:
    return page + struct.unpack_from("<H", data, page + 16)[0]


def place(data: bytes, name: str) -> int:
    """The byte of a field."""
    page, field = name.split(".")
    if page in ("meta 0", "meta 1"):
        offsets = {"number": 0, "flags": 10, "magic": _META, "version": _META + 4, "page size": _META + 24}
        offsets |= {"free root": _META + 64, "main depth": _META + 78, "main root": _META + 112}
        offsets |= {"newest page": _META + 120, "transaction": _META + 128}
        return PAGE * int(page[-1]) + offsets[field]
    at = pages_of(data, {"branch": BRANCH, "leaf": LEAF, "overflow": OVERFLOW}[page])[0]
    if field in ("node size", "node flags", "node key size"):
        return first_node(data, at) + {"node size": 0, "node flags": 4, "node key size": 6}[field]
    return at + {"number": 0, "flags": 10, "lower": 12, "upper": 14, "pages": 12, "pointer": 16}[field]


BITS = [
    ("meta 0.magic", 3),
    ("meta 0.page size", 13),
    ("meta 0.main root", 1),
    ("meta 1.flags", 3),
    ("meta 1.version", 1),
    ("meta 1.page size", 20),
    ("meta 1.main root", 2),
    ("meta 1.main depth", 1),
    ("meta 1.newest page", 9),
    ("meta 1.transaction", 60),
    ("branch.number", 2),
    ("branch.flags", 0),
    ("branch.lower", 4),
    ("branch.pointer", 3),
    ("branch.node size", 1),
    ("branch.node size", 30),
    ("leaf.flags", 1),
    ("leaf.upper", 11),
    ("leaf.pointer", 15),
    ("leaf.node size", 14),
    ("leaf.node flags", 0),
    ("leaf.node key size", 12),
    ("overflow.flags", 2),
    ("overflow.pages", 31),
]


def flip(store: Path, name: str, bit: int) -> None:
    data = bytearray((store / "data.mdb").read_bytes())
    at = place(data, name) + bit // 8
    data[at] ^= 1 << bit % 8
    (store / "data.mdb").write_bytes(data)


def test_a_sound_store_has_no_findings(store: Path, tmp_path: Path) -> None:
    assert check_pages(store) is None
    assert check_pages(tmp_path / "nowhere") is None


@pytest.mark.parametrize(("name", "bit"), BITS)
def test_a_flipped_bit_ends_in_findings_and_never_in_a_signal(store: Path, name: str, bit: int) -> None:
    flip(store, name, bit)
    refold = Refold(store)
    codes = set()
    for arguments in (["verify"], ["backup", store.parent / "copy"]):
        done = subprocess.run(
            command(*arguments), capture_output=True, env=refold.environment(), timeout=PATIENCE, check=False
        )
        assert b"Traceback" not in done.stdout + done.stderr
        assert done.stderr.count(b"\n") <= 1
        codes.add(done.returncode)
    # The older meta page matters to nobody until LMDB writes it anew.
    assert codes == {1} or (codes == {0} and name.startswith("meta"))
    assert (store.parent / "copy").exists() == (codes == {0})


def leave_out(store: Path, number: int, seq: int) -> None:
    """Have the branch page above an event lead to a page that is not there."""
    data = bytearray((store / "data.mdb").read_bytes())
    key = struct.pack(">IQ", number, seq)
    leaf = next(at for at in pages_of(data, LEAF) if key in data[at : at + PAGE])
    for page in pages_of(data, BRANCH):
        (lower,) = struct.unpack_from("<H", data, page + 12)
        for pointer in range(page + 16, page + lower, 2):
            node = page + struct.unpack_from("<H", data, pointer)[0]
            if struct.unpack_from("<HHH", data, node) == (leaf // PAGE, 0, 0):
                struct.pack_into("<H", data, node, 0x7FFF)
    (store / "data.mdb").write_bytes(data)


def test_a_damaged_page_is_a_finding_of_the_session_that_it_holds_and_of_no_other(store: Path) -> None:
    leave_out(store, number=2, seq=20)
    found = check_pages(store)
    assert found is not None
    assert {finding.session for finding in found.findings} == {"", "s"}
    assert found.sessions == 3


def test_what_meets_a_damaged_page_names_the_session(store: Path) -> None:
    leave_out(store, number=2, seq=20)
    with open_store(store) as log:
        with pytest.raises(CorruptionError) as info, log.snapshot() as snapshot:
            list(snapshot.frames("s"))
        assert info.value.session == "s"
        with log.snapshot() as snapshot:
            assert len(list(snapshot.frames("t"))) == 61


def test_a_backup_of_a_damaged_store_blames_the_store(store: Path) -> None:
    flip(store, "leaf.flags", 1)
    with pytest.raises(StoreError) as info:
        require_sound_pages(store)
    assert info.value.path == str(store)
    with open_store(store) as log, pytest.raises((StoreError, CorruptionError)) as blamed:
        backup(log, store.parent / "copy")
    assert not isinstance(blamed.value, StoreError) or blamed.value.path == str(store)
    assert not (store.parent / "copy").exists()


def test_a_store_that_is_written_meanwhile_has_no_false_findings(store: Path) -> None:
    with running(WRITE_UNTIL_TOLD, store) as writer:
        assert writer.hear() == "begun"
        assert [check_pages(store) for _ in range(5)] == [None] * 5
        writer.say()


def test_a_store_that_grows_before_it_is_walked_can_still_be_held(store: Path) -> None:
    with open_for_walk(str(store)) as env:
        output_of(GROW, store)
        with env.begin() as transaction:
            assert transaction.id() > 1


def test_a_store_emptied_to_nothing_is_not_taken_for_none(store: Path) -> None:
    (store / "data.mdb").write_bytes(b"")
    with pytest.raises(StoreError) as info:
        open_store(store, create=False)
    assert info.value.problem == "its data.mdb is empty"


def test_the_walk_imports_nothing_from_the_folder_that_one_stands_in(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (store.parent / "eventstore").mkdir()
    (store.parent / "eventstore" / "__init__.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(store.parent)
    assert check_pages(store) is None
    assert sys.executable
