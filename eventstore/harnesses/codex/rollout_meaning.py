"""Say what a line of a Codex rollout means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET

from eventstore.event import Flag
from eventstore.harnesses.codex.response_item import message_of
from eventstore.harnesses.codex.rollout_line import Json, Line
from eventstore.javascript import is_utf8, stringify
from eventstore.node import CompactionView, Node, RequestView, SettingsView, TitleView
from eventstore.views import Message, Text, Usage

PROVIDER: Final = "openai"
"""Serves the models of Codex, unless its settings name another."""
_NO_SUMMARY: Final = "(no summary available)"


_WITH_FOLDER: Final = ("session_meta", "turn_context")


class _Compacted(msgspec.Struct):
    replacement_history: list[msgspec.Raw] | None = None


_decode: Final = msgspec.json.Decoder(_Compacted).decode


def node_of(kind: str, line: Line) -> Node:
    """Return what a line means."""
    if kind in ("message", "custom_message"):
        return _node_of_item(kind, line)
    if kind == "compaction":
        return _node_of_compaction(line)
    if kind == "model_change":
        return _node_of_settings(line)
    fields = line.fields
    usage = usage_of(line)
    name = fields.get("thread_name") if line.event == "thread_name_updated" else None
    return Node(
        usage=usage,
        needs_source=usage is not None,
        title=TitleView(text=name) if isinstance(name, str) and name.strip() else None,
        folder=_folder(fields) if line.type in _WITH_FOLDER else "",
        line=_words(line.type, line.event, _problem(line)),
    )


def _problem(line: Line) -> Any:
    """Return what an event says that went wrong; others repeat a message that has a record."""
    return line.fields.get("message") if line.event in _PROBLEMS else None


_PROBLEMS: Final = ("error", "stream_error", "warning")


def _node_of_item(kind: str, line: Line) -> Node:
    message = message_of(line.fields, line.raw)
    return Node(
        messages=(message,),
        by_person=kind == "message" and message.role == "user",
        joins_answer=message.role == "assistant",
        raw=line.raw,
    )


def _node_of_compaction(line: Line) -> Node:
    fields = line.fields
    summary = fields.get("message")
    summary = summary if isinstance(summary, str) else ""
    usage = fields.get("latest_token_usage_record")
    is_own = isinstance(usage, dict) and usage.get("response_id") == fields.get("compaction_response_id")
    counted = _usage(usage.get("usage")) if is_own and isinstance(usage, dict) else None
    return Node(
        messages=(Message(role="compactionSummary", blocks=(Text(summary),)),),
        compaction=CompactionView(
            summary=summary,
            # Only a remote compaction has no words of its own.
            native=PROVIDER if not summary and replacement_of(line) is not None else "",
        ),
        requests=(RequestView(summarizer="codex", usage=counted),) if counted else (),
    )


def _node_of_settings(line: Line) -> Node:
    fields, provider = line.fields, PROVIDER
    if line.event:
        given = fields.get("thread_settings")
        fields = given if isinstance(given, dict) else {}
        named = fields.get("model_provider_id")
        provider = named if isinstance(named, str) else provider
    model, effort = fields.get("model"), fields.get("effort", fields.get("reasoning_effort"))
    has_model, has_effort = isinstance(model, str), isinstance(effort, str)
    return Node(
        settings=SettingsView(
            provider=provider if has_model else UNSET,
            model=model if has_model else UNSET,
            thinking_level=effort if has_effort else UNSET,
        ),
        flags=Flag.SETS_MODEL * has_model | Flag.SETS_THINKING * has_effort,
        folder=_folder(fields),
        line=_words(model, effort),
    )


def _words(*values: Any) -> str:
    """Return those values that are texts, with spaces between them."""
    return " ".join([each for each in values if isinstance(each, str)])


def _folder(fields: Json) -> str:
    folder = fields.get("cwd")
    return folder if isinstance(folder, str) else ""


def replacement_of(line: Line) -> list[bytes] | None:
    """Return the items that a compaction puts in place of the history, None if it names none."""
    found: list[bytes] | None
    try:
        history = _decode(line.raw).replacement_history
        found = None if history is None else [bytes(each) for each in history]
    except (msgspec.DecodeError, UnicodeDecodeError):
        decoded = line.fields.get("replacement_history")
        found = None
        if isinstance(decoded, list):
            found = [stringify(each).encode("utf-8", "replace") for each in decoded]
    return None if found is None else [each for each in found if each.startswith(b"{")]


def shown_items(kind: str, line: Line) -> Sequence[bytes]:
    """Return the items that a line's event shows in a context."""
    if kind == "compaction":
        items = replacement_of(line)
        if items is None:
            items = [user_item(line.fields.get("message") or _NO_SUMMARY)]
    else:
        items = [line.raw]
    return [each if is_utf8(each) else each.decode("utf-8", "replace").encode() for each in items]


def user_item(text: Any) -> bytes:
    """Return a user's message with a text."""
    content = [{"type": "input_text", "text": text if isinstance(text, str) else ""}]
    return stringify({"type": "message", "role": "user", "content": content}).encode("utf-8", "replace")


def usage_of(line: Line) -> Usage | None:
    """Return the usage of a model call that a line reports, None for other lines."""
    if line.type == "token_usage_record":
        return _usage(line.fields.get("usage"))
    info = line.fields.get("info") if line.event == "token_count" else None
    return _usage(info.get("last_token_usage")) if isinstance(info, dict) else None


def _usage(counts: Any) -> Usage | None:
    if not isinstance(counts, dict):
        return None
    sent, read, written, output, total = [_count(counts.get(name)) for name in _COUNTS]
    if not sent:
        # Behind a compaction, Codex estimates the new context.
        return None
    return Usage(
        input=max(0, sent - read - written),
        output=output,
        cache_read=read,
        cache_write=written,
        total=total or sent + output,
    )


_COUNTS: Final = tuple(
    f"{each}_tokens" for each in ("input", "cached_input", "cache_write_input", "output", "total")
)


def _count(value: Any) -> int:
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53
    return value if is_count else 0
