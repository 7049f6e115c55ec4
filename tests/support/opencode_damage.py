"""Damage exports, databases and older files of opencode: no message that is whole is lost.

Run many outside the suite: `python -m tests.support.opencode_damage COUNT [--seed N]`.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from sqlite3 import connect
from typing import Final

from eventstore.errors import BadInputError
from eventstore.files.exporting import export_original, export_session
from eventstore.files.importing import import_sessions
from eventstore.memory import MemoryLog
from projections.context.build import build_context
from tests.support import opencode
from tests.support.events import events

MODEL = "one"


def damaged_export(dice: random.Random) -> tuple[bytes, list[opencode.Json]]:
    """Return an export with one to three damages, and the messages that it had."""
    messages = _messages(dice)
    whole = opencode.exported(messages, "A title")
    start = whole.index(b'"messages"')
    data = bytearray(whole)
    for _ in range(dice.randint(1, 3)):
        _hurt(dice, data, dice.choice((40, start)))
    return bytes(data), messages


def check_export(dice: random.Random, folder: Path) -> str:
    """Import a damaged export; return what became of it."""
    data, messages = damaged_export(dice)
    file = folder / "export.json"
    file.write_bytes(data)
    log = MemoryLog()
    try:
        (found,) = import_sessions(log, file)
    except BadInputError:
        bodies = set[bytes]()
    else:
        assert b"".join(export_original(log, found.id)) == data
        bodies = {each.body for each in events(log, found.id)}
        _look(log, found.id)
    for message in messages:
        body = json.dumps(message, indent=2).replace("\n", "\n    ").encode()
        # Text of a damaged message before it may take in the beginning of a whole one.
        if data.count(body) == 1 and data[data.index(body) - 6 : data.index(body)] == b",\n    ":
            assert body in bodies, message["info"]["id"]
    return "imported" if bodies else "refused"


def damaged_database(dice: random.Random, folder: Path) -> tuple[Path, set[str]]:
    """Make a database with damaged rows; return its path and the ids of the rows that are whole."""
    database = opencode.Database(folder)
    database.begin()
    for number in range(3):
        database.ask(f"msg_{number}0", "ask")
        database.message(f"msg_{number}1", "assistant")
        database.call(f"msg_{number}1", f"prt_{number}1")
        database.answer(f"msg_{number}2", "answer")
    database.compact("msg_50", "msg_51", "so far", "msg_20")
    with closing(connect(database.path)) as opened, opened:
        rows = opened.execute("SELECT id, data FROM event").fetchall()
        hurt = dice.sample(rows, dice.randint(1, 4))
        for name, text in hurt:
            data = bytearray(text.encode())
            _hurt(dice, data, 0)
            stored = dice.choice((bytes(data).decode("latin-1"), bytes(data), None, 5))
            opened.execute("UPDATE event SET data = ? WHERE id = ?", (stored, name))
    return database.path, {name for name, _ in rows} - {name for name, _ in hurt}


def check_database(dice: random.Random, folder: Path) -> str:
    """Import a database with damaged rows; return what became of it."""
    path, whole = damaged_database(dice, folder)
    log = MemoryLog()
    (found,) = import_sessions(log, path)
    assert whole <= {each.id for each in events(log, found.id)}
    _look(log, found.id)
    path.unlink()
    return "imported"


def check_tree(dice: random.Random, folder: Path) -> str:
    """Import the files of an older release, some damaged; return what became of them."""
    messages, folder = _messages(dice), folder / "tree"
    for number, message in enumerate(messages):
        for place, part in enumerate(message["parts"]):
            part["id"] = f"prt_{number}{place}"
    session = opencode.tree(folder, messages)
    files = sorted(path for path in folder.rglob("*.json") if path != session)
    hurt = set(dice.sample(files, dice.randint(1, min(4, len(files)))))
    for path in hurt:
        data = bytearray(path.read_bytes())
        _hurt(dice, data, 0)
        path.write_bytes(data)
    log = MemoryLog()
    (found,) = import_sessions(log, session)
    bodies = b"\n".join(each.body for each in events(log, found.id))
    damaged = {path.stem for path in hurt}
    for path in set(files) - hurt:
        if path.parents[1].name == "message" or path.parent.name not in damaged:
            assert path.read_bytes() in bodies, path
    _look(log, found.id)
    shutil.rmtree(folder)
    return "imported"


CHECKS: Final = {"export": check_export, "database": check_database, "tree": check_tree}


def _messages(dice: random.Random) -> list[opencode.Json]:
    messages = []
    for number in range(dice.randint(1, 6)):
        made = {"id": f"msg_{number}", "sessionID": opencode.SESSION, "time": {"created": 1000 + number}}
        if number % 3 == 0:
            messages.append(opencode.said(made, "ask " * dice.randint(1, 9), MODEL))
        elif number % 3 == 1:
            call = opencode.call_part("read", "filePath", f"call_{number}", "/a", 'output {} [] " \\ \u00e9')
            messages.append(opencode.answered(made, [opencode.said_part("I look."), call], MODEL, 5, 6))
        else:
            question = {**made, "id": f"msg_{number}0"}
            messages += opencode.compacted(question, {**made, "id": f"msg_{number}1"}, "so far", MODEL)
    return messages


def _hurt(dice: random.Random, data: bytearray, first: int) -> None:
    """Damage data from an offset on."""
    if len(data) <= first + 1:
        return
    at = dice.randrange(first, len(data))
    kind = dice.randrange(5)
    if kind == 0:
        data[at] = dice.randrange(256)
    elif kind == 1:
        del data[at : at + dice.randint(1, 200)]
    elif kind == 2:
        data[at:at] = dice.randbytes(dice.randint(1, 20))
    elif kind == 3:
        data[at:at] = dice.choice((b"{", b"}", b"[", b"]", b'"', b'{"info":{', b"\\", b"\xff", b"[" * 2000))
    else:
        other = dice.randrange(first, len(data))
        data[at:at] = data[other : other + dice.randint(1, 600)]


def _look(log: MemoryLog, session: str) -> None:
    build_context(log, session)
    b"".join(export_session(log, session, "opencode"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Damage so many exports, databases and trees, eight to one to one, and print the counts."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.opencode_damage")
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    counts, failures = Counter[str](), 0
    for number in range(options.seed, options.seed + options.count):
        name = {8: "tree", 9: "database"}.get(number % 10, "export")
        with tempfile.TemporaryDirectory() as folder:
            try:
                counts[f"{name} {CHECKS[name](random.Random(number), Path(folder))}"] += 1
            except Exception as error:  # noqa: BLE001  the run goes on, and tells all failures
                failures += 1
                sys.stdout.write(f"seed {number}: {name}: {type(error).__name__}: {error}\n"[:400])
                sys.stdout.flush()
    sys.stdout.write(f"{dict(counts)}, {failures} failed\n")
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
