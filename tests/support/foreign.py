"""Convert sessions of Codex and opencode, which refold cannot import, into events of its own, to audit them.

Events have the ids of the harness's records. Where a record becomes part of an event, or several events, `Points`
says which.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from eventstore import EventLog, NewEvent
from eventstore.harnesses.refold.events import compose
from eventstore.javascript import epoch_ms
from eventstore.records import Compaction, CustomMessage, MessageRecord, ModelChange, Record, SessionInfo

Json = dict[str, Any]
Points = Mapping[str, Sequence[str]]
"""Ids of records, calls and parts, and `line-N`, each with the ids of the events that it became."""

ENCRYPTED: Final = "[An encrypted summary, whose text is not in the session file.]"


class Foreign(NamedTuple):
    """A converted session in a log."""

    session: str
    points: Points


def append_codex(log: EventLog, path: Path) -> Foreign:
    """Append the session of a Codex rollout to a log.

    A record's event is `line-N`. Reasoning, text and calls up to the next result are one answer, with the id of
    its first record. A compaction's replacement history follows it as messages `line-N/1`, `line-N/2` and so on,
    which no person sent: the person's own events are those before it. refold cannot show the encrypted item, so
    the summary says what is missing. Web searches, which have neither query nor result, are left out.
    """
    records = [json.loads(line) for line in path.read_bytes().splitlines()]
    converter = _Codex(records)
    converter.convert()
    return converter.appended(log, records[0]["payload"]["id"])


def append_opencode(log: EventLog, path: Path) -> Foreign:
    """Append the session of an opencode export to a log.

    A message's event has its id, and a tool's result the id of the tool's part. The message that asks for a
    compaction and the answer with the summary are one event, with the id of the answer. The kept messages come
    after the summary, as newer versions order them.
    """
    exported = json.loads(path.read_bytes())
    converter = _Opencode(exported)
    converter.convert()
    return converter.appended(log, exported["info"]["id"])


class _Converter:
    """The events so far, each the child of the one before."""

    def __init__(self) -> None:
        self._events: list[NewEvent] = []
        self._points: dict[str, list[str]] = defaultdict(list)

    def appended(self, log: EventLog, session: str) -> Foreign:
        log.append(session, self._events)
        return Foreign(session, {name: list(dict.fromkeys(ids)) for name, ids in self._points.items()})

    def _add(self, event_id: str, record: Record, time: int | None, *also: str, cause: str = "") -> None:
        parent = self._events[-1].id if self._events else None
        self._events.append(compose(record, id=event_id, time=time, parent=parent, cause=cause))
        for name in (event_id, *also):
            self._points[name].append(event_id)

    def _message(self, event_id: str, message: Json, time: int | None, *also: str) -> None:
        encoded = msgspec.Raw(msgspec.json.encode({**message, "timestamp": time}))
        self._add(event_id, MessageRecord(message=encoded), time, *also)


_EXIT: Final = re.compile(r'(?:Process exited with code |"exit_code":)(\d+)')


class _Codex(_Converter):
    """Convert the records of a rollout."""

    def __init__(self, records: Sequence[Json]) -> None:
        super().__init__()
        self._records = records
        self._said = {
            each["payload"]["message"]
            for each in records
            if each["type"] == "event_msg" and each["payload"]["type"] == "user_message"
        }
        self._provider, self._model = "", ""
        self._tools: dict[str, str] = {}
        self._answer: list[int] = []
        self._mirrors: list[int] = []
        self._tokens = 0
        self._total: Json = {}

    def convert(self) -> None:
        """Convert every record."""
        usages = self._usages()
        for line, record in enumerate(self._records, 1):
            time, payload = epoch_ms(record["timestamp"]), record["payload"]
            kind = payload.get("type") if record["type"] in ("event_msg", "response_item") else record["type"]
            if record["type"] == "response_item" and _is_answer(payload):
                self._answer.append(line)
            elif record["type"] == "event_msg" and kind != "token_count":
                self._mirror(line, payload)
            else:
                self._end_answer(usages)
                self._convert(kind, line, payload, time)
        self._end_answer(usages)

    def _convert(self, kind: str, line: int, payload: Json, time: int | None) -> None:
        name = f"line-{line}"
        match kind:
            case "session_meta":
                self._provider = payload["model_provider"]
                self._add(name, SessionInfo(cwd=payload["cwd"]), time, payload["id"])
            case "turn_context" if payload["model"] != self._model:
                self._model = payload["model"]
                self._add(name, ModelChange(provider=self._provider, model_id=self._model), time)
            case "message":
                self._given(name, payload, time)
            case "function_call_output" | "custom_tool_call_output":
                call = payload["call_id"]
                exited = _EXIT.findall(payload["output"])
                result = {
                    "role": "toolResult",
                    "toolCallId": call,
                    "toolName": self._tools[call],
                    "content": [{"type": "text", "text": payload["output"]}],
                    "isError": bool(exited) and exited[0] != "0",
                }
                self._message(name, result, time, call)
            case "compacted":
                self._compacted(line, payload, time)
            case "token_count" if info := payload["info"]:
                self._tokens = info["last_token_usage"]["total_tokens"]

    def _given(self, name: str, item: Json, time: int | None) -> None:
        """Convert a message that the model did not write."""
        text = _text_of(item)
        if item["role"] == "user" and text in self._said:
            self._message(name, {"role": "user", "content": text}, time)
        else:
            self._add(name, CustomMessage(custom_type=item["role"], content=text), time)

    def _compacted(self, line: int, payload: Json, time: int | None) -> None:
        after = next(
            each["payload"]["info"]["last_token_usage"]["total_tokens"]
            for each in self._records[line:]
            if each["payload"].get("type") == "token_count" and each["payload"]["info"]
        )
        name, history = f"line-{line}", payload["replacement_history"]
        summary = payload["message"] or ENCRYPTED
        record = Compaction(
            summary=summary, first_kept_entry_id="", tokens_before=self._tokens, tokens_after=after
        )
        self._add(name, record, time, cause=name)
        for number, item in enumerate(history, 1):
            text = _text_of(item)
            if not (payload["message"] and text.endswith(payload["message"])):
                shown = CustomMessage(custom_type=f"replacement-history:{item['role']}", content=text)
                self._add(f"{name}/{number}", shown, time, cause=name)

    def _mirror(self, line: int, payload: Json) -> None:
        """Remember which event repeats a record in other words."""
        if payload.get("call_id") in self._tools:
            self._points[f"line-{line}"] = self._points[payload["call_id"]]
        elif payload["type"] == "agent_message":
            self._mirrors.append(line)
        elif payload["type"] == "user_message" and self._events:
            self._points[f"line-{line}"].append(self._events[-1].id)

    def _usages(self) -> dict[int, Json]:
        """Return the usage of each answer by the line of its last record."""
        found: dict[int, Json] = {}
        last, total = 0, None
        for line, record in enumerate(self._records, 1):
            payload = record["payload"]
            if record["type"] == "response_item" and _is_answer(payload):
                last = line
            elif payload.get("type") == "token_count" and (info := payload["info"]) and last:
                usage = info["last_token_usage"]
                if info["total_token_usage"] != total and usage["output_tokens"]:
                    found[last] = usage
                total = info["total_token_usage"]
        return found

    def _end_answer(self, usages: Mapping[int, Json]) -> None:
        lines, mirrors = self._answer, self._mirrors
        if not lines:
            return
        self._answer, self._mirrors = [], []
        blocks = [block for line in lines for block in self._blocks(self._records[line - 1]["payload"])]
        if not blocks:
            return
        calls = [block["id"] for block in blocks if block["type"] == "toolCall"]
        usage = next((usages[line] for line in lines if line in usages), None)
        message = {
            "role": "assistant",
            "content": blocks,
            "provider": self._provider,
            "model": self._model,
            "stopReason": "toolUse" if calls else "stop",
            **({"usage": _codex_usage(usage)} if usage else {}),
        }
        others = [f"line-{line}" for line in (*lines[1:], *mirrors)]
        time = epoch_ms(self._records[lines[0] - 1]["timestamp"])
        self._message(f"line-{lines[0]}", message, time, *others, *calls)

    def _blocks(self, item: Json) -> Iterator[Json]:
        match item["type"]:
            case "reasoning":
                for each in item["summary"]:
                    yield {"type": "thinking", "thinking": each["text"]}
            case "message":
                yield {"type": "text", "text": _text_of(item)}
            case "function_call":
                yield self._call(item, json.loads(item["arguments"]))
            case "custom_tool_call":
                yield self._call(item, {"input": item["input"]})

    def _call(self, item: Json, arguments: Json) -> Json:
        self._tools[item["call_id"]] = item["name"]
        return {"type": "toolCall", "id": item["call_id"], "name": item["name"], "arguments": arguments}


def _is_answer(item: Json) -> bool:
    return item.get("role") == "assistant" or item["type"] in (
        "reasoning",
        "function_call",
        "custom_tool_call",
        "web_search_call",
    )


def _text_of(item: Json) -> str:
    return "\n".join(each["text"] for each in item["content"] if "text" in each)


def _codex_usage(usage: Json) -> Json:
    """Convert a usage whose input includes what was cached."""
    cached = usage["cached_input_tokens"]
    return {
        "input": usage["input_tokens"] - cached,
        "output": usage["output_tokens"],
        "cacheRead": cached,
        "cacheWrite": 0,
        "totalTokens": usage["total_tokens"],
    }


class _Opencode(_Converter):
    """Convert the messages of an export."""

    def __init__(self, exported: Json) -> None:
        super().__init__()
        self._exported = exported
        self._model: Json = {}
        self._tokens = 0
        self._asked: Json = {}
        self._cause = ""

    def convert(self) -> None:
        """Convert every message."""
        info = self._exported["info"]
        self._add(info["id"], SessionInfo(name=info["title"], cwd=info["directory"]), info["time"]["created"])
        for message in self._exported["messages"]:
            info, parts = message["info"], message["parts"]
            if info["role"] == "user":
                self._given(info, parts)
            elif info.get("summary"):
                self._compacted(info, parts)
            else:
                self._answered(info, parts)

    def _given(self, info: Json, parts: Sequence[Json]) -> None:
        name, time, ids = info["id"], info["time"]["created"], [part["id"] for part in parts]
        if asked := next((part for part in parts if part["type"] == "compaction"), None):
            self._asked = {**asked, "points": [name, asked["id"]]}
            return
        if info["model"] != self._model:
            self._model = info["model"]
            change = ModelChange(provider=self._model["providerID"], model_id=self._model["modelID"])
            self._add(f"{name}/model", change, time)
        content = [block for part in parts if not part.get("ignored") for block in _given_blocks(part)]
        if all(part.get("synthetic") for part in parts):
            is_continuation = any(part.get("metadata", {}).get("compaction_continue") for part in parts)
            record = CustomMessage(custom_type="synthetic", content=content)
            self._add(name, record, time, *ids, cause=self._cause if is_continuation else "")
        else:
            self._message(name, {"role": "user", "content": content}, time, *ids)

    def _compacted(self, info: Json, parts: Sequence[Json]) -> None:
        self._cause = info["id"]
        record = Compaction(
            summary="\n".join(part["text"] for part in parts if part["type"] == "text"),
            first_kept_entry_id=self._asked.get("tail_start_id", ""),
            tokens_before=self._tokens,
            reason="threshold" if self._asked["auto"] else "manual",
        )
        also = (*self._asked["points"], *(part["id"] for part in parts))
        self._add(info["id"], record, info["time"]["created"], *also, cause=self._cause)

    def _answered(self, info: Json, parts: Sequence[Json]) -> None:
        tokens, cache = info["tokens"], info["tokens"]["cache"]
        self._tokens = tokens.get("total", 0)
        blocks = [block for part in parts for block in _answer_blocks(part)]
        tools = [part for part in parts if part["type"] == "tool"]
        message = {
            "role": "assistant",
            "content": blocks,
            "provider": info["providerID"],
            "model": info["modelID"],
            "stopReason": "toolUse" if tools else "stop",
            "usage": {
                "input": tokens["input"],
                "output": tokens["output"] + tokens["reasoning"],
                "cacheRead": cache["read"],
                "cacheWrite": cache["write"],
                "totalTokens": self._tokens,
            },
        }
        also = [each for part in parts for each in (part["id"], part.get("callID")) if each]
        self._message(info["id"], message, info["time"]["created"], *also)
        for part in tools:
            state = part["state"]
            if state["status"] in ("completed", "error"):
                result = {
                    "role": "toolResult",
                    "toolCallId": part["callID"],
                    "toolName": part["tool"],
                    "content": [{"type": "text", "text": state.get("output", state.get("error"))}],
                    "isError": state["status"] == "error",
                }
                self._message(part["id"], result, state["time"]["end"], part["callID"])


def _given_blocks(part: Json) -> Iterator[Json]:
    if part["type"] == "text":
        yield {"type": "text", "text": part["text"]}
    elif part["type"] == "file" and part["mime"].startswith("image/"):
        yield {"type": "image", "data": part["url"].partition(",")[2], "mimeType": part["mime"]}
    elif part["type"] == "file":
        yield {"type": "text", "text": f"[Attached {part['mime']}: {part['filename']}]"}


def _answer_blocks(part: Json) -> Iterator[Json]:
    match part["type"]:
        case "reasoning":
            yield {"type": "thinking", "thinking": part["text"]}
        case "text":
            yield {"type": "text", "text": part["text"]}
        case "tool":
            state = part["state"]
            yield {
                "type": "toolCall",
                "id": part["callID"],
                "name": part["tool"],
                "arguments": state["input"],
            }
