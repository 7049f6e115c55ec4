"""pi's folds once more, the plain way: whole lists of parsed entries, nothing cached, nothing shared with refold.

`buildSessionContext`, the tree, labels and the title, as pi 0.73 has them. A key that is absent is JavaScript's
`undefined`: it vanishes when a context is written as JSON.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

Entry = dict[str, Any]

UNDEFINED: Final = object()
EMPTY: Final = {"messages": [], "thinkingLevel": "off", "model": None}
# String.prototype.trim: white space and line ends of ECMAScript.
_TRIMMED: Final = "\t\n\v\f\r \xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(
    map(chr, range(0x2000, 0x200B))
)


def context(entries: list[Entry], leaf: Any = UNDEFINED) -> dict[str, Any]:
    """Return what pi sends of `buildSessionContext(entries, leaf)`, as JSON: without answers that failed."""
    if leaf is None or not entries:
        return EMPTY
    return fold(path_to(entries, leaf))


def path_to(entries: list[Entry], leaf: Any) -> list[Entry]:
    """Root to leaf; a leaf that is not there is the last entry."""
    by_id = {entry["id"]: entry for entry in entries}
    current = by_id.get(leaf) if leaf else None
    current = current or entries[-1]
    path = []
    while current is not None:
        path.append(current)
        current = by_id.get(current["parentId"]) if current.get("parentId") else None
    return path[::-1]


def fold(path: list[Entry]) -> dict[str, Any]:
    """The context of a path: settings over all of it, messages from the newest compaction on."""
    thinking: Any = "off"
    model: Any = None
    newest: Entry | None = None
    for entry in path:
        if entry.get("type") == "thinking_level_change":
            thinking = entry.get("thinkingLevel", UNDEFINED)
        elif entry.get("type") == "model_change":
            model = _defined(
                provider=entry.get("provider", UNDEFINED), modelId=entry.get("modelId", UNDEFINED)
            )
        elif entry.get("type") == "message" and entry["message"].get("role") == "assistant":
            said = entry["message"]
            model = _defined(provider=said.get("provider", UNDEFINED), modelId=said.get("model", UNDEFINED))
        elif entry.get("type") == "compaction":
            newest = entry
    messages = [emit(entry) for entry in path] if newest is None else _since(path, newest)
    shown = [message for message in messages if message is not None and not _has_failed(message)]
    return _defined(
        messages=_sent_to(model, shown, path) if _changes_models(path, newest) else shown,
        thinkingLevel=thinking,
        model=model,
    )


def _changes_models(path: list[Entry], newest: Entry | None) -> bool:
    """True if a shown change of the model is to another than that of the answer above."""
    first = 0
    if newest is not None:
        first = next(
            (at for at, each in enumerate(path) if each["id"] == newest.get("firstKeptEntryId")), len(path)
        )
        first = min(first, path.index(newest))
    said = None
    for place, entry in enumerate(path):
        if _is_answer(entry):
            said = _names(entry["message"], "model")
        elif (
            entry.get("type") == "model_change"
            and said
            and place >= first
            and said != _names(entry, "modelId")
        ):
            return True
    return False


def _sent_to(model: Any, messages: list[Any], path: list[Entry]) -> list[Any]:
    """The messages as a model is sent them: thinking of others as text, or, from pi 1.3 on, not at all."""
    answers = [entry["message"] for entry in path if _is_answer(entry) and not _has_failed(entry["message"])]
    drops = bool(answers) and answers[-1].get("durationMs") is not None
    asked = _names(model, "modelId")
    sent = []
    for message in messages:
        content = message.get("content") if isinstance(message, dict) else None
        if (
            message.get("role") != "assistant"
            or not isinstance(content, list)
            or _names(message, "model") == asked
        ):
            sent.append(message)
            continue
        blocks = []
        for block in content:
            if not isinstance(block, dict) or block.get("type") != "thinking":
                blocks.append(block)
            elif not drops and not block.get("redacted") and str(block.get("thinking") or "").strip():
                blocks.append({"type": "text", "text": block["thinking"]})
        if blocks or not content:
            sent.append({**message, "content": blocks})
    return sent


def _is_answer(entry: Entry) -> bool:
    return entry.get("type") == "message" and entry["message"].get("role") == "assistant"


def _names(of: Entry, model: str) -> tuple[Any, Any]:
    return of.get("provider"), of.get(model)


def _has_failed(message: Any) -> bool:
    is_answer = isinstance(message, dict) and message.get("role") == "assistant"
    return is_answer and message.get("stopReason") in ("error", "aborted")


def _since(path: list[Entry], newest: Entry) -> list[Entry | None]:
    place = next(index for index, entry in enumerate(path) if entry is newest)
    messages: list[Entry | None] = [summary_of(newest)]
    found = False
    for entry in path[:place]:
        found = found or entry["id"] == newest.get("firstKeptEntryId", UNDEFINED)
        if found:
            messages.append(emit(entry))
    return messages + [emit(entry) for entry in path[place + 1 :]]


def emit(entry: Entry) -> Entry | None:
    """The message that an entry puts into a context, None for none."""
    kind = entry.get("type")
    if kind == "message":
        return entry["message"]  # type: ignore[no-any-return]
    if kind == "custom_message":
        return _message("custom", entry, ("customType", "content", "display", "details"))
    if kind == "branch_summary" and entry.get("summary") not in ("", None, False):  # 0 equals False
        return _message("branchSummary", entry, ("summary", "fromId"))
    return None


def summary_of(compaction: Entry) -> Entry:
    return _message("compactionSummary", compaction, ("summary", "tokensBefore"))


def _message(role: str, entry: Entry, names: tuple[str, ...]) -> Entry:
    fields = {name: entry.get(name, UNDEFINED) for name in names}
    return _defined(role=role, **fields, timestamp=milliseconds(entry.get("timestamp")))


def milliseconds(timestamp: Any) -> int | None:
    """Of the ISO times that `toISOString` writes; anything else is no date, NaN, null."""
    try:
        moment = datetime.strptime(timestamp, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
    except (TypeError, ValueError):
        return None
    return round(moment.timestamp() * 1000)


def _defined(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not UNDEFINED}


def labels(entries: list[Entry]) -> dict[str, str]:
    """Labels in effect in `Map` order, over the whole file whatever the branch; a falsy label deletes."""
    found: dict[str, str] = {}
    for entry in entries:
        if entry.get("type") == "label":
            if entry.get("label"):
                found[entry["targetId"]] = entry["label"]
            else:
                found.pop(entry["targetId"], None)
    return found


def title(entries: list[Entry]) -> str:
    """The newest name in order of the file, trimmed."""
    names = [entry.get("name") or "" for entry in entries if entry.get("type") == "session_info"]
    return names[-1].strip(_TRIMMED) if names else ""


def tree(entries: list[Entry]) -> list[dict[str, Any]]:
    """Every node under its roots, each before its children, with its depth."""
    by_id = {entry["id"]: entry for entry in entries}
    children: dict[str, list[Entry]] = {entry["id"]: [] for entry in entries}
    roots = []
    for entry in entries:
        if entry.get("parentId") in by_id and entry["parentId"] != entry["id"]:
            children[entry["parentId"]].append(entry)
        else:
            roots.append(entry)
    for siblings in children.values():
        times = [milliseconds(entry.get("timestamp")) for entry in siblings]
        if None not in times:  # with NaN among them, the engine decides: as they came
            siblings.sort(key=lambda entry: milliseconds(entry["timestamp"]) or 0)
    nodes: list[dict[str, Any]] = []

    def visit(entry: Entry, depth: int) -> None:
        below = children[entry["id"]]
        nodes.append({"id": entry["id"], "depth": depth, "children": [child["id"] for child in below]})
        for child in below:
            visit(child, depth + 1)

    for root in roots:
        visit(root, 0)
    return nodes


def migrated(lines: list[Entry]) -> list[Entry]:
    """The entries of a version 1 file, header first, as pi's migration leads them to version 3."""
    entries = []
    for index, line in enumerate(lines[1:], 1):
        entry = {**line, "id": f"line-{index}", "parentId": f"line-{index - 1}" if index > 1 else None}
        kept = entry.pop("firstKeptEntryIndex", None)
        if isinstance(kept, int | float) and kept:
            entry["firstKeptEntryId"] = f"line-{kept:.0f}"
        entries.append(entry)
    return entries
