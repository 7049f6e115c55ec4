"""Sessions of the made-up harness, and the contexts that they make."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from eventstore.files.importing import import_sessions
from eventstore.memory import MemoryLog
from eventstore.records import Rewrite, TextReplacement
from eventstore.writing import SessionWriter
from projections.context.build import build_context, context_at, context_json, harness_json
from projections.context.cursor import path, resolve_cursor
from projections.context.incremental import IncrementalContexts
from projections.context.parts import Context
from tests.support.madeup.format import HEADER

Json = dict[str, Any]


def record(kind: str, name: str, after: str | None, session: str = "one", **fields: Any) -> Json:
    return {"kind": kind, "in": session, "id": name, "after": after, **fields}


def say(
    name: str,
    after: str | None,
    who: str = "person",
    *,
    session: str = "one",
    tokens: int | None = None,
    **more: Any,
) -> Json:
    text = more.pop("text", f"text of {name}")
    message = {"who": who, "text": text, **({} if tokens is None else {"tokens": tokens})}
    return record("say", name, after, session, message=message, **more)


def exchange(name: str, after: str | None, *whos: str) -> Json:
    messages = [{"who": who, "text": f"{name}.{place}"} for place, who in enumerate(whos)]
    return record("exchange", name, after, messages=messages)


def bring(log: MemoryLog, folder: Path, *records: Json) -> None:
    file = folder / "file"
    file.write_bytes(HEADER + b"".join(json.dumps(each).encode() + b"\n" for each in records))
    import_sessions(log, file)


def texts(context: Context) -> list[str]:
    return [json.loads(part.raw)["text"] for part in context.parts]


def shown(log: MemoryLog, session: str = "one", leaf: str | None = None) -> list[str]:
    """The texts of a context, by each way to build it."""
    context = build_context(log, session, leaf=leaf)
    assert context.rules == "madeup"
    assert harness_json(context) == context_json(log, session, leaf=leaf)
    with log.snapshot() as snapshot:
        cursor = resolve_cursor(snapshot, session, leaf=leaf)
        along = IncrementalContexts(snapshot, cursor, path(snapshot, cursor))
        for entry in path(snapshot, cursor):
            assert along.context_at(entry.seq).parts == context_at(snapshot, cursor.at_leaf(entry.seq)).parts
    return texts(context)


def rewrite(log: MemoryLog, *targets: TextReplacement) -> None:
    SessionWriter(log, "one").append(Rewrite(reason="test", targets=list(targets)))


BORN = (
    say("a", None),
    say("b", "a", "model"),
    say("c", "b"),
    record("born", "z", None, "two", of="one", at="b"),
    say("x", None, session="two"),
    say("y", "x", "model", session="two"),
)
"""A session, and another one that begins with the context at an entry of it."""
