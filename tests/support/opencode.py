"""Make sessions of opencode, and the requests that it makes of an export."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from sqlite3 import connect
from typing import Any

Json = dict[str, Any]
SESSION = "ses_ff01"
START = 1_700_000_000_000
MODEL = {"providerID": "lab", "modelID": "one"}
COLUMNS = {
    "session": ("id", "parent_id", "directory", "title", "version", "time_created", "time_updated"),
    "message": ("id", "session_id", "time_created", "time_updated", "data"),
    "part": ("id", "message_id", "session_id", "time_created", "time_updated", "data"),
    "event": ("id", "aggregate_id", "seq", "type", "data"),
}


class Database:
    """A database with sessions, whose rows are added one after another."""

    def __init__(self, folder: Path, *, has_events: bool = True) -> None:
        """Create an empty one, with tables of secrets that no reader has a business in."""
        self.path = folder / "opencode.db"
        self._seqs: dict[str, int] = {}
        self._now = START
        with closing(connect(self.path)) as database, database:
            for table, names in COLUMNS.items():
                if has_events or table != "event":
                    database.execute(f"CREATE TABLE {table} ({', '.join(names)})")
            for secret in ("account", "credential"):
                database.execute(f"CREATE TABLE {secret} (token)")

    def insert(self, table: str, **row: Any) -> None:
        names = COLUMNS[table]
        values = [json.dumps(value) if isinstance(value, dict) else value for value in map(row.get, names)]
        marks = ", ".join("?" * len(names))
        with closing(connect(self.path)) as database, database:
            database.execute(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", values)  # noqa: S608

    def begin(self, session: str = SESSION, version: str = "1.18.33", **more: Any) -> None:
        info = {
            "id": session,
            "directory": "/home/user",
            "title": "New session - 2026-01-01T00",
            "version": version,
        }
        row = {**info, "time_created": self._now, "time_updated": self._now, **more}
        self.insert("session", **row)
        self.event("session.created.1", {"info": info}, session)

    def event(self, kind: str, data: Json, session: str = SESSION) -> None:
        seq = self._seqs.get(session, 0)
        self._seqs[session] = seq + 1
        name = f"evt_{session}_{seq}"
        self.insert("event", id=name, aggregate_id=session, seq=seq, type=kind, data=data)

    def message(self, name: str, role: str, session: str = SESSION, **more: Any) -> None:
        self._now += 1000
        info = {"id": name, "role": role, "time": {"created": self._now}, **MODEL, **more}
        if role == "user":
            info = {"id": name, "role": role, "time": {"created": self._now}, "model": MODEL, **more}
        self.event("message.updated.1", {"info": info}, session)

    def part(self, message: str, name: str, session: str = SESSION, **fields: Any) -> None:
        part = {"id": name, "messageID": message, **fields}
        self.event("message.part.updated.1", {"part": part, "time": self._now}, session)

    def ask(self, name: str, text: str, session: str = SESSION, **more: Any) -> None:
        self.message(name, "user", session, **more)
        self.part(name, f"prt_{name}", session, type="text", text=text)

    def answer(self, name: str, text: str, session: str = SESSION, **more: Any) -> None:
        self.message(name, "assistant", session, **more)
        self.part(name, f"prt_{name}", session, type="text", text=text, time={"start": 1, "end": 2})
        self.message(name, "assistant", session, finish="stop", **more)

    def call(self, message: str, name: str, status: str = "completed", **state: Any) -> None:
        output = {"output": f"output of {name}"} if status == "completed" else {}
        self.part(
            message,
            name,
            type="tool",
            callID=f"call_{name}",
            tool="read",
            state={"status": status, "input": {"filePath": "/home/me/a.py"}, **output, **state},
        )

    def compact(self, question: str, summary: str, text: str, tail: str = "") -> None:
        self.message(question, "user")
        self.part(question, f"prt_{question}", type="compaction", auto=True)
        self.answer(summary, text, summary=True, parentID=question)
        if tail:
            self.part(question, f"prt_{question}", type="compaction", auto=True, tail_start_id=tail)


def tree(folder: Path, messages: Iterable[Json], **info: Any) -> Path:
    """Write messages of an export as files of a release before 1.2; return the session's."""
    info = {"id": SESSION, "version": "1.1.65", "time": {"created": START}, **info}
    files = {Path("session", "a", f"{info['id']}.json"): info}
    for message in messages:
        name = message["info"]["id"]
        files[Path("message", info["id"], f"{name}.json")] = message["info"]
        files |= {Path("part", name, f"{part['id']}.json"): part for part in message["parts"]}
    for path, content in files.items():
        (folder / "storage" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "storage" / path).write_text(json.dumps(content, indent=2))
    return folder / "storage" / next(iter(files))


def id_at(time: int) -> str:
    """Return the id of a message made at a time, in epoch milliseconds."""
    return f"msg_{(time << 12) % (1 << 48):012x}{'0' * 14}"


def said(made: Json, text: str, model: str) -> Json:
    """Return a user's message of an export; `made` has its id and time."""
    info = {**made, "role": "user", "model": {"providerID": "anthropic", "modelID": model}}
    return {"info": info, "parts": [said_part(text)]}


def answered(made: Json, parts: list[Json], model: str, read: int = 0, written: int = 0, **more: Any) -> Json:
    """Return an answer, with the tokens that it read from the cache and wrote to it."""
    tokens = {"input": 0, "output": 5, "reasoning": 0, "cache": {"read": read, "write": written}}
    own = {"providerID": "anthropic", "modelID": model, "tokens": tokens, "finish": "stop"}
    steps = [{"type": "step-start"}, *parts, {"type": "step-finish", "tokens": tokens}]
    named = [{"id": f"prt_{made['id']}_{place}", **part} for place, part in enumerate(steps)]
    return {"info": {**made, "role": "assistant", **own, **more}, "parts": named}


def compacted(question: Json, summary: Json, text: str, model: str) -> list[Json]:
    """Return the messages of a compaction."""
    asked = said(question, "", model)
    asked["parts"] = [{"id": "prt_asked", "type": "compaction", "auto": True}]
    return [asked, answered(summary, [said_part(text)], model, summary=True, parentID=question["id"])]


def said_part(text: str) -> Json:
    return {"type": "text", "text": text}


def call_part(tool: str, argument: str, name: str, value: str, output: str) -> Json:
    state = {"status": "completed", "input": {argument: value}, "output": output}
    return {"type": "tool", "callID": name, "tool": tool, "state": state}


def exported(messages: list[Json], title: str) -> bytes:
    info = {"id": SESSION, "title": title, "version": "1.18.33", "directory": "/home/user"}
    return json.dumps({"info": info, "messages": messages}, indent=2).encode()


def sent_of_export(messages: list[Json], until: int | None = None) -> list[Json]:
    """Return the messages that opencode sends of an export's, as its rules say.

    Results that were cleared after the time `until` are there; None stands for now.
    """
    done, kept, tail = set[str](), list[Json](), ""
    for each in reversed(messages):
        info = each["info"]
        kept.append(each)
        if tail:
            if info["id"] == tail:
                break
            continue
        if info.get("summary") is True and info.get("finish") and not info.get("error"):
            done.add(info["parentID"])
        asked = [part for part in each["parts"] if part["type"] == "compaction"]
        if info["id"] in done and asked:
            tail = asked[0].get("tail_start_id", "")
            if not tail:
                break
    kept.reverse()
    if tail:
        names = [each["info"]["id"] for each in kept]
        asked_at = max(
            at for at, each in enumerate(kept) if any(part.get("tail_start_id") for part in each["parts"])
        )
        answered_at = next(
            at
            for at in range(asked_at, len(kept))
            if kept[at]["info"].get("summary") is True and kept[at]["info"]["parentID"] == names[asked_at]
        )
        start = names.index(tail)
        if start < asked_at:
            kept = kept[asked_at : answered_at + 1] + kept[start:asked_at] + kept[answered_at + 1 :]
    users = [each["info"]["model"] for each in messages if each["info"].get("model")]
    asks = (users[-1]["providerID"], users[-1]["modelID"]) if users else None
    return [sent for each in kept for sent in _sent(each, asks, until)]


def _sent(message: Json, asks: object, until: int | None) -> Iterator[Json]:
    info, parts = message["info"], message["parts"]
    if info["role"] == "user":
        if blocks := [block for part in parts for block in _of_user(part)]:
            yield {"role": "user", "content": blocks}
        return
    error = info.get("error")
    if error and (
        error["name"] != "MessageAbortedError"
        or not any(part["type"] not in ("step-start", "reasoning") for part in parts)
    ):
        return
    is_others = (info["providerID"], info["modelID"]) != asks
    for step in _steps(parts):
        if blocks := [block for part in step for block in _of_answer(part, is_others=is_others)]:
            yield {"role": "assistant", "content": blocks}
        for part in step:
            if part["type"] == "tool":
                yield {"role": "tool", "content": [_result(part, until)]}


def _steps(parts: list[Json]) -> Iterable[list[Json]]:
    steps: list[list[Json]] = [[]]
    for part in parts:
        if part["type"] == "step-start":
            steps.append([])
        steps[-1].append(part)
    return steps


def _of_user(part: Json) -> Iterator[Json]:
    if part["type"] == "text" and part["text"] and not part.get("ignored"):
        yield {"type": "text", "text": part["text"]}
    elif part["type"] == "file" and part["mime"] not in ("text/plain", "application/x-directory"):
        yield _file(part)
    elif part["type"] == "compaction":
        yield {"type": "text", "text": "What did we do so far?"}
    elif part["type"] == "subtask":
        yield {"type": "text", "text": "The following tool was executed by the user"}


def _of_answer(part: Json, *, is_others: bool) -> Iterator[Json]:
    if part["type"] == "text":
        yield {"type": "text", "text": part["text"]}
    elif part["type"] == "reasoning" and is_others:
        if part["text"]:
            yield {"type": "text", "text": part["text"]}
    elif part["type"] == "reasoning":
        sealed = {"providerOptions": part["metadata"]} if part.get("metadata") else {}
        yield {"type": "reasoning", "text": part["text"], **sealed}
    elif part["type"] == "tool":
        named = {"toolCallId": part["callID"], "toolName": part["tool"]}
        yield {"type": "tool-call", **named, "input": part["state"]["input"]}


def _result(part: Json, until: int | None) -> Json:
    state = part["state"]
    cleared = state.get("time", {}).get("compacted")
    if state["status"] == "completed" and cleared and (until is None or cleared <= until):
        output = {"type": "text", "value": "[Old tool result content cleared]"}
    elif state["status"] == "completed" and state.get("attachments"):
        files = list(map(_file, state["attachments"]))
        output = {"type": "content", "value": [{"type": "text", "text": state["output"]}, *files]}
    elif state["status"] == "completed":
        output = {"type": "text", "value": state["output"]}
    elif state["status"] == "error":
        is_kept = state.get("metadata", {}).get("interrupted")
        output = (
            {"type": "text", "value": state["metadata"]["output"]}
            if is_kept
            else {"type": "error-text", "value": state["error"]}
        )
    else:
        output = {"type": "error-text", "value": "[Tool execution was interrupted]"}
    return {"type": "tool-result", "toolCallId": part["callID"], "toolName": part["tool"], "output": output}


def _file(part: Json) -> Json:
    _, _, data = part["url"].partition(";base64,")
    named = {"filename": part["filename"]} if "filename" in part else {}
    return {"type": "file", "mediaType": part["mime"], "data": data or part["url"], **named}
