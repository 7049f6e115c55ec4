"""Purge random events and texts from stores that quote them everywhere, and look for their bytes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from random import Random
from typing import Any, Final

from bench.faults import NotHereError, Outcome, tried
from bench.faults.roles import server_here
from eventstore import import_file, open_store
from eventstore.event import NewEvent
from eventstore.frame import decode
from eventstore.log import EventLog
from eventstore.records import Note
from eventstore.verify import verify
from eventstore.writing import SessionWriter
from projections.person_text import CUT, as_quoted
from projections.search.full_text import open_index
from tests.cli.running import Refold
from tests.support import claude_code, codex
from tests.support.events import event, message
from tests.support.pi_files import header, said

_MESSAGES: Final = 5
_TELLING: Final = 24
"""Characters in the lines of a message that is known again in a session which has no copy of the event."""


def purges(dice: Random, folder: Path) -> Iterator[Outcome]:
    """Purge an event, or lines of it, in a folder or in PostgreSQL: none of its lines is left in any byte."""
    with ExitStack() as stack:
        server = None
        with suppress(NotHereError):
            server = stack.enter_context(server_here())
        while True:
            place = folder / "stores"
            place.mkdir()
            refold = Refold(place / "store")
            if server is not None and dice.random() < 0.3:
                refold.store = server.new_store()  # type: ignore[assignment]
            harness, by = dice.choice([*_FILES]), dice.choice(["event", "text"])
            yield tried(
                f"{by}, {harness}",
                lambda place=place, refold=refold, harness=harness, by=by: _try(
                    dice, place / "session.jsonl", refold, harness, by
                ),
            )
            shutil.rmtree(place)


def _try(dice: Random, file: Path, refold: Refold, harness: str, by: str) -> None:
    texts = [_text(dice) for _ in range(_MESSAGES)]
    file.write_bytes(_doubled(dice, _FILES[harness](texts)))
    at = dice.randrange(_MESSAGES)
    lines = texts[at].split("\n")
    with open_store(refold.store) as log:
        session = import_file(log, file).id
        seq = _found(log, session, lines[0])
        _quote(dice, log, session, seq, texts[at])
        with open_index(log, log.folder):
            pass
    if by == "text":
        first = dice.randrange(len(lines))
        lines = lines[first : dice.randint(first, len(lines) - 1) + 1]
        refold("purge", session, "--match", "\n".join(lines), "--yes")
    else:
        refold("purge", session, f"#{seq}", "--yes")
    _assert_gone(refold, lines, "still there")
    refold("search", lines[0], code=None)
    refold("sync", str(file), code=None)
    with open_store(refold.store) as log:
        assert verify(log).findings == []
    _assert_gone(refold, lines, "back again")
    held = _bytes(refold)
    kept = [each for number, each in enumerate(texts) if number != at]
    assert all(_mark(line) in held for each in kept for line in each.split("\n")), (
        "another message has lost a line"
    )


def _text(dice: Random) -> str:
    """Return one to five lines, short or long, with characters that are escaped; no two end alike."""

    def line() -> str:
        odd = dice.choice(["", "", 'say "', "pass\\", "größe/", "\t"])
        words = [f"{dice.getrandbits(40):010x}" for _ in range(dice.choice([1, 1, 1, 4, 30]))]
        return f"k{odd}{' '.join(words)}"

    return "\n".join(line() for _ in range(dice.randint(1, 5)))


def _mark(line: str) -> bytes:
    """Return the end of a line, by which its bytes are known however it is escaped."""
    return line[-9:].encode()


def _found(log: EventLog, session: str, line: str) -> int:
    """Return the number of the first event that has a line."""
    with log.snapshot() as snapshot:
        frames = enumerate(snapshot.frames(session), 1)
        return next(seq for seq, frame in frames if _mark(line) in bytes(frame))


def _assert_gone(refold: Refold, lines: list[str], problem: str) -> None:
    held = _bytes(refold)
    assert not (left := [each for each in lines if _mark(each) in held]), f"{problem}: {left} of {lines}"


def _bytes(refold: Refold) -> bytes:
    """Return all bytes of a store, and of the files that are made of it."""
    found = []
    with open_store(refold.store) as log:
        folder = Path(log.folder)
    if str(refold.store).startswith("postgresql"):
        import psycopg  # noqa: PLC0415  an extra

        with psycopg.connect(str(refold.store)) as connection:
            for table in ("sessions", "events", "blobs", "derived", "sources"):
                rows = connection.execute(f"SELECT * FROM {table}".encode())  # noqa: S608
                found += [each for row in rows for each in row if isinstance(each, bytes)]
    if folder.is_dir():
        found += [each.read_bytes() for each in folder.iterdir()]
    return b"\0".join(found)


def _doubled(dice: Random, lines: list[bytes]) -> bytes:
    """Return a file in which a line may stand twice, or torn, as after a crash."""
    if dice.random() < 0.5:
        lines.append(dice.choice(lines[1:]))
    if dice.random() < 0.3:
        torn = dice.choice(lines[1:])
        lines.append(torn[: dice.randrange(len(torn))] + b"\n")
    return b"".join(lines)


def _pi(texts: list[str]) -> list[bytes]:
    return [header(), *(said(text, f"e{at}", f"e{at - 1}" if at else None) for at, text in enumerate(texts))]


def _claude_code(texts: list[str]) -> list[bytes]:
    told = [claude_code.said(f"u{at}", f"u{at - 1}" if at else None, text) for at, text in enumerate(texts)]
    title = texts[0].split("\n", 1)[0]
    last = claude_code.note("last-prompt", lastPrompt=texts[0])
    return [*told, last, claude_code.note("custom-title", customTitle=title)]


def _codex(texts: list[str]) -> list[bytes]:
    told = [
        (codex.line("response_item", codex.said(each)), codex.event("user_message", message=each))
        for each in texts
    ]
    return [each.rstrip(b"\n") + b"\n" for each in (codex.meta(), *(line for pair in told for line in pair))]


_FILES: Final = {"pi": _pi, "claude-code": _claude_code, "codex": _codex}


def _quote(dice: Random, log: EventLog, session: str, seq: int, text: str) -> None:
    """Append everything that quotes a text: notes, titles, summaries, rewrites, copies, cached results."""
    with log.snapshot() as snapshot:
        found = decode(bytes(snapshot.frame(session, seq)), session)
    lines = text.split("\n")
    for data in _notes(dice, found.id, text):
        SessionWriter(log, session).append(Note(target_id=found.id, data=data))
    bullets = "\n".join(dice.choice([f"- {each}", f"> {each}", f'- the key: "{each}"']) for each in lines)
    made = [
        event("t", "session_info", name=dice.choice([lines[0], f"{lines[0][:12]}…", text])),
        event("l", "label", targetId=found.id, label=lines[-1]),
        event("c", "compaction", summary=f"so far:\n{bullets}", firstKeptEntryId=found.id, tokensBefore=5),
        event("b", "branch_summary", summary=f"left: {bullets}", fromId=found.id),
        event("r", "rewrite", reason="mask", targets=[{"target": found.id, "shown": f"{text[:15]} [cut]"}]),
        event("o", "observed_rewrite", targetId=found.id, record={"type": "message", "x": text}),
        event("d", "decision", outcome="skipped", reason=f"the summary says {lines[0]}"),
        event("a", "attempt", error="", request={"answer": bullets}),
        event("m", "custom_message", customType="restored_file", content=bullets, display=True),
        event("k", "custom", data={"prompt": text, "as JSON": json.dumps([text])}),
    ]
    log.append(session, dice.sample(made, dice.randint(3, len(made))))
    log.append(
        "fork", [NewEvent(id=found.id, kind=found.kind, body=found.body, format=found.format, parent=None)]
    )
    if sum(map(len, lines)) >= _TELLING:
        log.append("other", [message("x", text)])
    log.keep([(b"cached", text.encode())])


def _notes(dice: Random, source: str, text: str) -> list[dict[str, Any]]:
    """Return a note of what was given back, and a reading."""
    cut = f"{text[: dice.randint(7, len(text))]}{CUT}"
    quote = dice.choice([cut, text, " ".join(text.split()), *text.split("\n")])
    quotation = {"event": source, "seq": 1, "quote": quote}
    said = f"#1 {as_quoted(quote)}"
    given = {"type": "given-back", "text": said, "rules": [], "messages": [quotation], "files": []}
    rule = {
        "rule": f"it says {quote}",
        "said": [quotation],
        "state": "kept",
        "in_summary": None,
        "broken": [],
    }
    lists: dict[str, Any] = {"facts": [], "losses": [], "refused": [], "request": {}}
    return [
        given,
        {"type": "reading", "boundary": "", "until": source, "input": "", "rules": [rule], **lists},
    ]
