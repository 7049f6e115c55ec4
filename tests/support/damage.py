"""Session files with damaged lines, and what must hold when they are imported.

Run many outside the suite: `python -m tests.support.damage HARNESS COUNT [--seed N]` prints the counts.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from eventstore.errors import RefoldError
from eventstore.files.exporting import export_formats, export_original, export_session
from eventstore.files.importing import import_sessions
from eventstore.harnesses import harnesses, node_of
from eventstore.harnesses.codex.rollout_line import TYPES
from eventstore.harnesses.oh_my_pi.dialect import ADDED_KINDS
from eventstore.harnesses.pi.entry import KINDS
from eventstore.javascript import DEEPEST_RECORD, is_deeper
from eventstore.memory import MemoryLog
from eventstore.verify import verify
from projections.context.build import build_context, context_json, harness_json
from tests.conformance.test_mistyped_records import RECORDS
from tests.support import claude_code, codex, oh_my_pi_sessions
from tests.support.events import events
from tests.support.pi_files import header

Json = dict[str, Any]


class Subject(NamedTuple):
    """A harness whose files are damaged.

    `lines` makes a whole file, as lines without their ends. `is_record` tells whether an object, alone in its line,
    has to become an event, `is_found` whether it has to even behind a torn record in the same line. `heads` is the
    number of first lines by which the file is recognized.
    """

    lines: Callable[[random.Random], list[bytes]]
    is_record: Callable[[Json], bool]
    is_found: Callable[[Json], bool]
    heads: int = 1


class Piece(NamedTuple):
    """A stretch of a line; `is_original` where nothing has touched it."""

    data: bytes
    is_original: bool = True


Line = list[Piece]
Damage = Callable[[random.Random, list[Line], int], None]
"""Damages the line at a place of a file."""


class Damaged(NamedTuple):
    """A damaged file, the records in it that nothing may lose, and the names of what was done to it."""

    content: bytes
    records: set[bytes]
    done: tuple[str, ...]
    has_head: bool


def _torn(rng: random.Random, lines: list[Line], at: int) -> None:
    """Cut a line at one end, as a crash or a truncated copy does."""
    data = _data(lines[at])
    cut = rng.randrange(len(data) + 1)
    lines[at] = [Piece(data[:cut] if rng.random() < 0.8 else data[cut:], is_original=False)]


def _torn_then_appended(rng: random.Random, lines: list[Line], at: int) -> None:
    """Tear a line, and let the next one follow without a line end."""
    _torn(rng, lines, at)
    _merged(rng, lines, at)


def _doubled(rng: random.Random, lines: list[Line], at: int) -> None:
    lines.insert(rng.randrange(at, len(lines)) + 1, list(lines[at]))


def _merged(_rng: random.Random, lines: list[Line], at: int) -> None:
    if at + 1 < len(lines):
        lines[at] += lines.pop(at + 1)


def _reordered(rng: random.Random, lines: list[Line], at: int) -> None:
    lines.insert(rng.randrange(len(lines)), lines.pop(at))


def _lost(_rng: random.Random, lines: list[Line], at: int) -> None:
    del lines[at]


def _flipped(rng: random.Random, lines: list[Line], at: int) -> None:
    data = bytearray(_data(lines[at]))
    for _ in range(rng.randint(1, 3) if data else 0):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    lines[at] = [Piece(bytes(data), is_original=False)]


def _strewn(rng: random.Random, lines: list[Line], at: int) -> None:
    """Put bytes into a line, or between two."""
    junk = rng.choice(_JUNK)
    if rng.random() < 0.5:
        lines.insert(at, [Piece(junk, is_original=False)])
        return
    data = _data(lines[at])
    cut = rng.randrange(len(data) + 1)
    lines[at] = [Piece(data[:cut] + junk + data[cut:], is_original=False)]


def _mistyped(rng: random.Random, lines: list[Line], at: int) -> None:
    """Give a value in a record another value, mostly of another type."""
    _edit(rng, lines, at, lambda holder, key: holder.__setitem__(key, _MARK))


def _dropped(rng: random.Random, lines: list[Line], at: int) -> None:
    """Take a field or an item out of a record."""
    _edit(rng, lines, at, lambda holder, key: holder.__delitem__(key))


def _relinked(rng: random.Random, lines: list[Line], at: int) -> None:
    """Give one of a record's ids the value of any id of the file: circles, orphans, ids that are taken."""
    ids = [value for line in lines for value in _ids(_object(_data(line)) or {}).values()]
    fields = _object(_data(lines[at])) or {}
    if named := _ids(fields):
        fields[rng.choice(list(named))] = rng.choice([*ids, "nowhere", None])
        lines[at] = [Piece(_encoded(fields), is_original=False)]


DAMAGES: Final[dict[str, Damage]] = {
    "torn": _torn,
    "torn, then appended": _torn_then_appended,
    "doubled": _doubled,
    "merged": _merged,
    "reordered": _reordered,
    "lost": _lost,
    "flipped": _flipped,
    "strewn": _strewn,
    "mistyped": _mistyped,
    "dropped": _dropped,
    "relinked": _relinked,
}
_MARK: Final = "@here@"
_DEEPEST_EDIT: Final = 8
_ODD: Final = (
    *("null", "true", "false", "0", "-1", "1.5", "1e999", "NaN", "-Infinity", "9" * 400, "9007199254740993"),
    *('""', '"x"', '"\\ud800"', '"\\u0000"', '"message"', '"2026-01-01"', '"' + "x" * 70_000 + '"'),
    *("[]", "[1]", '["x"]', "[null]", "[[]]", '[{"type":[]}]', '[{"type":"text","text":{}}]'),
    *("{}", '{"type":"session"}', '{"\\ud800":1}', '{"role":7,"content":{}}', "[" * 600 + "]" * 600, "", "{"),
)
_JUNK: Final = (
    b"",
    b" \t",
    b"\r",
    b"\0",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"{",
    b"}}",
    b'"',
    b"null",
    b"[]",
    b"42",
    b"\n\n",
)


def damaged(rng: random.Random, subject: Subject, *, most: int = 3) -> Damaged:
    """Return a file of a harness with up to `most` damages, now and then cut off at its end."""
    whole = subject.lines(rng)
    lines: list[Line] = [[Piece(line)] for line in whole]
    done = []
    for _ in range(rng.randint(1, most)):
        if not lines:
            break
        name = rng.choice(list(DAMAGES))
        DAMAGES[name](rng, lines, rng.randrange(len(lines)))
        done.append(name)
    end = rng.choice((b"\n", b"\n", b"\n", b"\n", b"\r\n"))
    content = b"".join(_data(line) + end for line in lines)
    if rng.random() < 0.2:
        content = content.removesuffix(end)
        done.append("no line end")
    records = {record for line in lines for record in _records(line, subject)}
    has_head = [_data(line) for line in lines[: subject.heads]] == whole[: subject.heads]
    return Damaged(content, records, tuple(done), has_head)


def _records(line: Line, subject: Subject) -> list[bytes]:
    """Return the records of a line that an import has to find.

    Behind what is no record, only one that nothing has touched is sure to be seen.
    """
    found, is_torn = [], False
    for data, is_original in line:
        text = data.strip(b" \t\r")
        fields = None if b"\n" in text or is_deeper(text, DEEPEST_RECORD) else _object(text)
        if fields is None:
            is_torn = is_torn or text != b""
        elif subject.is_record(fields) and (not is_torn or (is_original and subject.is_found(fields))):
            found.append(text)
    return found


def _object(text: bytes) -> Json | None:
    try:
        fields = json.loads(text.decode(), parse_constant=int)
    except (ValueError, RecursionError):
        return None
    return fields if isinstance(fields, dict) else None


def check(damage: Damaged, folder: Path, name: str) -> str:
    """Import a damaged file, read all of it, and return "imported" or "refused". Raises AssertionError."""
    path = folder / "session.jsonl"
    path.write_bytes(damage.content)
    log = MemoryLog()
    try:
        found = import_sessions(log, path)
    except RefoldError:
        assert not damage.has_head, "a file that begins well is refused"
        return "refused"
    stored = [event for each in found for event in events(log, each.id)]
    lost = damage.records - {event.body for event in stored}
    assert not lost, f"lost: {lost}"
    assert b"".join(export_original(log, found[0].id)) == damage.content
    assert verify(log).findings == []
    assert not any(each.added or each.rewritten for each in import_sessions(log, path)), "twice is not once"
    with log.snapshot() as snapshot:
        for event in stored:
            node_of(event, snapshot)
        for each in found:
            context = build_context(snapshot, each.id)
            assert harness_json(context) == context_json(snapshot, each.id)
            json.loads(harness_json(context))
    if name in export_formats():
        for each in found:
            b"".join(export_session(log, each.id, name))
    return "imported"


def _data(line: Sequence[Piece]) -> bytes:
    return b"".join(piece.data for piece in line)


def _encoded(fields: Json) -> bytes:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def _edit(rng: random.Random, lines: list[Line], at: int, change: Callable[[Any, Any], None]) -> None:
    fields = _object(_data(lines[at])) or {}
    if holders := list(_places(fields)):
        change(*rng.choice(holders))
        data = _encoded(fields).replace(f'"{_MARK}"'.encode(), rng.choice(_ODD).encode())
        lines[at] = [Piece(data, is_original=False)]


def _places(value: Any, depth: int = 0) -> list[tuple[Any, Any]]:
    """Return the holder and the key of every value inside a record, not of those far down."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    if depth > _DEEPEST_EDIT:
        return []
    return [found for key in keys for found in ((value, key), *_places(value[key], depth + 1))]


def _ids(fields: Json) -> Json:
    """Return the fields of a record that name records."""
    return {
        name: value
        for name, value in fields.items()
        if name.lower().endswith("id") and isinstance(value, str)
    }


def _pi_lines(rng: random.Random) -> list[bytes]:
    first, *others = RECORDS
    kinds = [rng.choice(others) for _ in range(rng.randint(2, 8))]
    lines = [header().strip() if rng.random() < 0.5 else _encoded(first)]
    for number, record in enumerate(kinds):
        parent = f"{max(0, number - rng.choice((1, 1, 1, 2))):08x}" if number else None
        fields = {**record, "id": f"{number:08x}", "parentId": parent}
        for pointer in ("firstKeptEntryId", "targetId", "fromId"):
            if pointer in fields:
                fields[pointer] = f"{rng.randrange(len(kinds)):08x}"
        lines.append(_encoded(fields))
    return lines


def _is_no_header(fields: Json) -> bool:
    return fields.get("type") != "session"


def _oh_my_pi_lines(rng: random.Random) -> list[bytes]:
    entries = oh_my_pi_sessions.entries_of(rng, rng.randint(2, 8))
    return oh_my_pi_sessions.file_of(entries, title=rng.choice(["", "A title", "größe"])).splitlines()


def _begins_as_claude_codes(fields: Json) -> bool:
    return isinstance(fields.get("type"), str) and next(iter(fields)) in ("parentUuid", "type")


def _begins_as_codex(fields: Json) -> bool:
    names = [name for name in fields if name not in ("timestamp", "ordinal")]
    is_known = isinstance(fields.get("type"), str) and fields["type"] in TYPES
    return is_known and isinstance(fields.get("payload"), dict) and names[:2] == ["type", "payload"]


SUBJECTS: Final = {
    "claude-code": Subject(claude_code.some_session, lambda _: True, is_found=_begins_as_claude_codes),
    "codex": Subject(codex.some_session, lambda _: True, is_found=_begins_as_codex),
    "oh-my-pi": Subject(
        _oh_my_pi_lines,
        lambda fields: fields.get("type") not in ("session", "title"),
        is_found=lambda fields: fields.get("type") in KINDS | ADDED_KINDS,
        heads=2,
    ),
    "pi": Subject(_pi_lines, _is_no_header, is_found=lambda fields: fields.get("type") in KINDS),
}
"""The harnesses whose files are damaged, by the names of their formats."""


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _run(name: str, count: int, seed: int) -> int:
    """Check `count` damaged files, print the counts, and return the number of failures."""
    outcomes, kinds, failures = Counter[str](), Counter[str](), 0
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            damage = damaged(random.Random(f"{seed}:{number}"), SUBJECTS[name])
            kinds.update(damage.done)
            try:
                outcomes[check(damage, Path(folder), name)] += 1
            except Exception as error:  # noqa: BLE001  the run goes on, and tells all failures
                failures += 1
                _tell(f"{seed}:{number} {damage.done}: {type(error).__name__}: {error}"[:400])
    _tell(
        f"{name}: {count:,} damaged files in {time.monotonic() - began:,.0f} s: {dict(outcomes)}, {failures} failed"
    )
    _tell(", ".join(f"{kind} {times:,}" for kind, times in kinds.most_common()))
    return failures


def _main() -> int:
    parser = argparse.ArgumentParser(description="Import damaged session files of a harness.")
    parser.add_argument("harness", choices=sorted({*SUBJECTS} & {each.name for each in harnesses()}))
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    return min(_run(given.harness, given.count, given.seed), 1)


if __name__ == "__main__":
    sys.exit(_main())
