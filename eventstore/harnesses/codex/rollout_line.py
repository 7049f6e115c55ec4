"""Read a line of a Codex rollout: its kind of event, and its place."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

import msgspec

from eventstore.event import Absent, Place
from eventstore.harnesses.lines import once
from eventstore.javascript import stringify, tolerant_json

VERSION: Final = "codex/1"
Json = dict[str, Any]

TYPES: Final = frozenset(
    {
        "session_meta",
        "turn_context",
        "response_item",
        "event_msg",
        "compacted",
        "world_state",
        "retained_context",
        "token_usage_record",
        "inter_agent_communication",
        "inter_agent_communication_metadata",
        "security_risk_score",
        "realtime_item",
    }
)
"""The types of lines that releases to 0.169 write."""
_HOST_EVIDENCE: Final = "codex:code-mode-delivery:v1:"
"""Begins the id of a message that was shown, and that the model did not write."""
_MADE_BY_CODEX: Final = (
    "# AGENTS.md instructions",
    "<environment_context>",
    "<hook_context>",
    "<instructions>",
    "<skill>",
    "<subagent_notification>",
    "<turn_aborted>",
    "<user_action>",
    "<user_instructions>",
    "<user_shell_command>",
)
"""Beginnings of texts that go to the model as a user's, and that no person wrote."""
_PLACE: Final = Place(absent=Absent.ROOT, continues=True)


class Line(msgspec.Struct, dict=True):
    """A line: its type, and the JSON of its payload."""

    type: Any = None
    payload: msgspec.Raw = msgspec.Raw(b"{}")
    timestamp: Any = None
    ordinal: Any = None
    metadata: msgspec.Raw = msgspec.Raw()

    @once
    def raw(self) -> bytes:
        """Return the JSON of the payload."""
        return bytes(self.payload)

    @once
    def fields(self) -> Json:
        """Return the payload, {} if it is no object."""
        return object_in(self.raw)

    @once
    def about(self) -> Json:
        """Return the notes beside an item, which Codex never sends."""
        return object_in(bytes(self.metadata)) if self.metadata else {}

    @once
    def event(self) -> str:
        """Return the type of an event for the screen, "" for other lines."""
        named = self.fields.get("type") if self.type == "event_msg" else ""
        return named if isinstance(named, str) else ""


_decode: Final = msgspec.json.Decoder(Line).decode


def line_of(record: bytes) -> Line:
    """Return a record as a line. Raises msgspec.DecodeError for JSON that is no object."""
    try:
        return _decode(record)
    except (msgspec.DecodeError, UnicodeDecodeError):
        found = tolerant_json(record)
    if not isinstance(found, dict):
        raise msgspec.DecodeError("not an object")
    names = [name for name in Line.__struct_fields__ if name in found]
    raw = {"payload", "metadata"}
    return Line(
        **{
            n: msgspec.Raw(stringify(found[n]).encode("utf-8", "replace")) if n in raw else found[n]
            for n in names
        }
    )


def object_in(raw: bytes) -> Json:
    """Return a JSON object, {} for other JSON."""
    found = tolerant_json(raw)
    return found if isinstance(found, dict) else {}


def object_of(text: str) -> Json:
    """Return the JSON object that a text is, {} for another text."""
    with suppress(msgspec.DecodeError):
        return object_in(text.encode("utf-8", "replace"))
    return {}


def kind_of(line: Line) -> str:
    """Return a line's kind: a message, a compaction, settings, or a note beside the path."""
    if line.type == "response_item":
        return _kind_of_item(line)
    if line.type == "compacted":
        return "compaction" if line.fields else "note"
    is_of_settings = line.type == "turn_context" or line.event == "thread_settings_applied"
    return "model_change" if is_of_settings else "note"


def _kind_of_item(line: Line) -> str:
    item, delivered = line.fields, line.about.get("delivered_assistant_message")
    type_ = item.get("type")
    if not isinstance(type_, str) or type_ == "ghost_snapshot":
        return "note"
    if (
        isinstance(delivered, str)
        and delivered.startswith(_HOST_EVIDENCE)
        and item.get("role") == "assistant"
    ):
        return "note"
    return "custom_message" if role_of(item) == "custom" else "message"


def role_of(item: Json) -> str:
    """Return the role of an item: "custom" for a developer's, and a user's that no person wrote."""
    type_, role = item.get("type"), item.get("role")
    if type_ == "message":
        if role == "user":
            return "user" if _is_by_person(item) else "custom"
        return "custom" if role in ("developer", "system") else "assistant"
    if type_ in ("agent_message", "configuration_update"):
        return "custom"
    return "toolResult" if isinstance(type_, str) and type_.endswith("_output") else "assistant"


def _is_by_person(item: Json) -> bool:
    noted = item.get("internal_chat_message_metadata_passthrough")
    kinds = noted.get("content_item_kinds") if isinstance(noted, dict) else None
    if isinstance(kinds, list) and kinds:
        return "user.text" in kinds
    texts = (text for part in parts_of(item.get("content")) if isinstance(text := part.get("text"), str))
    return not any(text.lstrip()[:40].lower().startswith(_LOWER) for text in texts)


_LOWER: Final = tuple(each.lower() for each in _MADE_BY_CODEX)


def parts_of(content: Any) -> list[Json]:
    """Return the parts of an item's content or output, of which a text may be the only one."""
    if isinstance(content, str):
        return [{"type": "input_text", "text": content}]
    return [each for each in content if isinstance(each, dict)] if isinstance(content, list) else []


def place_of(line: Line) -> Place:
    """Return a line's place: below the one before; a roll-back moves above users' messages."""
    if line.event != "thread_rolled_back":
        return _PLACE
    turns = line.fields.get("num_turns")
    if not isinstance(turns, int) or isinstance(turns, bool) or turns <= 0:
        return _PLACE
    return Place(absent=Absent.ROOT, continues=True, drops=turns)
