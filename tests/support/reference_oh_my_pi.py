"""The messages that oh-my-pi 18 builds of a session's entries, stated over decoded entries and nothing else.

It shares no code with the rules under test. The frozen contexts of oh-my-pi itself hold both to account.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

Json = dict[str, Any]

_UNSENT: Final = ("prewalk-plan", "vibe-mode-context")
_WHITE: Final = " \t\n\r\v\f\u00a0\ufeff\u2028\u2029"


def messages_at(entries: list[Json], leaf: str) -> list[Json]:
    """The messages at a leaf."""
    way = _path(entries, leaf)
    kinds = [entry["type"] for entry in way]
    compacted = _last(kinds, "compaction")
    reset = _last(kinds, "reset_boundary")
    if reset > compacted:
        shown = [_emitted(entry) for entry in way[reset + 1 :]]
    elif compacted >= 0:
        shown = _compacted(way, compacted)
    else:
        shown = [_emitted(entry) for entry in way]
    messages = [message for message in shown if message is not None and not _is_retried(message)]
    return _without_failed(_without_dangling(messages))


def _path(entries: list[Json], leaf: str) -> list[Json]:
    by_id = {entry["id"]: entry for entry in entries}
    way: list[Json] = []
    at: str | None = leaf
    while at in by_id:
        way.insert(0, by_id[at])
        at = by_id[at]["parentId"]
    return way


def _last(kinds: list[str], kind: str) -> int:
    return max((place for place, each in enumerate(kinds) if each == kind), default=-1)


def _compacted(way: list[Json], place: int) -> list[Json | None]:
    compaction, above, later = way[place], way[:place], way[place + 1 :]
    ids = [entry["id"] for entry in above]
    first = compaction["firstKeptEntryId"]
    start = ids.index(first) if first in ids else place
    preserved = compaction.get("preserveData", {})
    replaced, replayed = _replacement(preserved), _replay(preserved)
    kept = above[start:]
    if replaced or (replayed and first == ""):
        through = compaction.get("providerReplayThroughEntryId")
        kept = above[ids.index(through) + 1 :] if through in ids else []
    request = _request_before(above, start) if _is_rollover(compaction) else None
    again = [request] if request is not None and request not in kept else []
    summary: Json = {"role": "compactionSummary"}
    for name in ("summary", "shortSummary", "tokensBefore", "tokensAfter", "method"):
        if name in compaction:
            summary[name] = compaction[name]
    if payload := replaced or replayed:
        summary["providerPayload"] = payload
    if "warning" in compaction:
        summary["warning"] = compaction["warning"]
    if replayed and (time := _retained_since(way, place, start)) is not None:
        summary["historyRewriteAt"] = time - 1
    summary["timestamp"] = _ms(compaction)
    return [summary, *map(_emitted, [*again, *kept, *later])]


def _is_rollover(compaction: Json) -> bool:
    return bool(compaction.get("details", {}).get("kind") == "experimental-context-rollover")


def _request_before(above: list[Json], start: int) -> Json | None:
    """The newest request above a compaction, if what it keeps begins behind it."""
    for place in range(len(above) - 1, -1, -1):
        entry = above[place]
        if entry["type"] == "reset_boundary":
            return None
        said = entry["message"] if entry["type"] == "message" else entry
        is_skill = said.get("customType") in ("skill-prompt", "collab-prompt")
        is_custom = entry["type"] == "custom_message" or said.get("role") == "custom"
        is_users = is_custom and is_skill and said.get("attribution") == "user"
        if is_users or said.get("role") == "user":
            return entry if place < start < len(above) else None
    return None


def _retained_since(way: list[Json], place: int, start: int) -> int | None:
    compaction, ids = way[place], [entry["id"] for entry in way[:place]]
    if start < place:
        return _ms(way[start])
    through = compaction.get("providerReplayThroughEntryId")
    if compaction["firstKeptEntryId"] == "" and through in ids and ids.index(through) + 1 < place:
        return _ms(way[ids.index(through) + 1])
    return _ms(way[place + 1]) if place + 1 < len(way) else None


def _replacement(preserved: Json) -> Json | None:
    found = preserved.get("openaiRemoteCompaction", {})
    items = found.get("replacementHistory")
    is_history = isinstance(items, list) and all(isinstance(item, dict | list) for item in items)
    if not found.get("provider") or not is_history:
        return None
    return {"type": "openaiResponsesHistory", "provider": found["provider"], "items": items}


def _replay(preserved: Json) -> Json | None:
    found = preserved.get("anthropicCompaction", {})
    if not found.get("provider") or not found.get("content"):
        return None
    sealed = {name: found[name] for name in ("encryptedContent", "filesText") if found.get(name)}
    return {
        "type": "anthropicCompaction",
        "provider": found["provider"],
        "content": found["content"],
        **sealed,
    }


def _ms(entry: Json) -> int | None:
    try:
        return round(datetime.fromisoformat(entry["timestamp"]).timestamp() * 1000)
    except ValueError:
        return None


def _emitted(entry: Json) -> Json | None:
    if entry["type"] == "message":
        message: Json = entry["message"]
        return message
    if entry["type"] == "branch_summary" and entry["summary"]:
        return {
            "role": "branchSummary",
            "summary": entry["summary"],
            "fromId": entry["fromId"],
            "timestamp": _ms(entry),
        }
    if entry["type"] != "custom_message" or entry.get("customType") in _UNSENT:
        return None
    if not isinstance(entry["content"], str | list):
        return None
    named = entry.get("customType")
    shown: Json = {
        "role": "custom",
        "customType": named if isinstance(named, str) and named else "custom-message",
        "content": entry["content"],
        "display": entry["display"] is True,
    }
    if "details" in entry:
        shown["details"] = entry["details"]
    if "attribution" in entry:
        shown["attribution"] = "user" if entry["attribution"] == "user" else "agent"
    return {**shown, "timestamp": _ms(entry)}


def _is_retried(message: Json) -> bool:
    if message["role"] != "assistant":
        return False
    is_empty = not any(map(_has_content, message["content"]))
    return "retryRecovery" in message or (message["stopReason"] == "error" and is_empty)


def _has_content(block: Json) -> bool:
    names = {
        "text": ("text",),
        "thinking": ("thinking", "thinkingSignature"),
        "redactedThinking": ("data",),
        "fallback": (),
    }.get(block["type"])
    return names is None or any(block.get(name, "").strip(_WHITE) for name in names)


def _calls(message: Json) -> set[str]:
    blocks = message["content"] if message["role"] == "assistant" else []
    return {block["id"] for block in blocks if block["type"] == "toolCall"}


def _without_dangling(messages: list[Json]) -> list[Json]:
    answered = {each["toolCallId"] for each in messages if each["role"] == "toolResult"}
    found = []
    for message in messages:
        if _calls(message) <= answered:
            found.append(message)
            continue
        left = []
        for block in message["content"]:
            if block["type"] == "redactedThinking":
                continue
            if block["type"] == "toolCall" and block["id"] not in answered:
                continue
            is_signed = block["type"] == "thinking" and block.get("thinkingSignature")
            left.append({k: v for k, v in block.items() if not (is_signed and k == "thinkingSignature")})
        if left:
            found.append({**message, "content": left})
    return found


def _without_failed(messages: list[Json]) -> list[Json]:
    found = list(messages)
    for message in reversed(messages):
        if message["role"] != "assistant" or message["stopReason"] not in ("error", "aborted"):
            continue
        place = next(at for at, each in enumerate(found) if each is message)
        behind = found[place + 1 :]
        if behind and behind[0]["role"] == "custom" and behind[0]["customType"] == "interrupted-thinking":
            continue
        calls = _calls(message)
        found[place:] = [
            each for each in behind if each["role"] != "toolResult" or each["toolCallId"] not in calls
        ]
    return found
