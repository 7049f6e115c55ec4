"""Apply rewrites and undos the plain way: scan the whole path for every event."""

from __future__ import annotations

import json
from typing import Any

from eventstore import NewEvent
from eventstore.kinds import is_entry
from tests.support import reference_pi
from tests.support.reference_pi import Entry


def context(events: list[NewEvent], leaf: str | None) -> dict[str, Any]:
    """The context at an entry after these events, None for the root; as JSON has it."""
    path = path_to(events, leaf)
    if not path:
        return reference_pi.EMPTY
    entries = [_entry(event) for event in path]
    alive = [not is_undone(place, path, events) for place in range(len(path))]
    newest = max(
        (place for place, event in enumerate(path) if _is(event, "compaction", alive[place])), default=-1
    )
    messages = []
    first = 0
    if newest >= 0:
        ids = [event.id for event in path[:newest]]
        kept = entries[newest]["firstKeptEntryId"]
        first = ids.index(kept) if kept in ids else newest + 1
        messages.append(reference_pi.summary_of(entries[newest]))
    shown = [place for place in range(first, len(path)) if alive[place] and path[place].kind != "rewrite"]
    spans = _spans([place for place in range(first, len(path)) if alive[place]], path, entries)
    while shown:
        place = shown.pop(0)
        through, text, later = spans.get(path[place].id, (-1, "", []))
        message = reference_pi.emit(entries[place])
        if through >= place:
            time = (path[place].time or 0) // 1000 * 1000
            for change in later:
                text = _shown(text, change)
            messages.append({"role": "user", "content": text, "timestamp": time})
            shown = [later for later in shown if later > through]
        elif message is not None:
            messages.append(_overlaid(message, path[place].id, path, entries, alive))
    return {**reference_pi.fold(entries), "messages": messages}


def _spans(
    places: list[int], path: list[NewEvent], entries: list[Entry]
) -> dict[str, tuple[int, str, list[dict[str, Any]]]]:
    """From the first of several messages to the place of the last, the text that stands for them, and its changes."""
    ends = {path[place].id: place for place in places if path[place].kind != "rewrite"}
    found: dict[str, tuple[int, str, list[dict[str, Any]]]] = {}
    for place in places:
        for shown in entries[place]["targets"] if path[place].kind == "rewrite" else ():
            if "through" in shown:
                found[shown["target"]] = (ends.get(shown["through"], -1), shown["shown"], [])
            elif shown["target"] in found:
                found[shown["target"]][2].append(shown)
    return found


def path_to(events: list[NewEvent], leaf: str | None) -> list[NewEvent]:
    by_id = {event.id: event for event in events}
    path: list[NewEvent] = []
    while leaf is not None:
        path.insert(0, by_id[leaf])
        leaf = by_id[leaf].parent  # type: ignore[assignment]
    return path


def is_undone(place: int, path: list[NewEvent], events: list[NewEvent]) -> bool:
    """Return True if a later undo in effect on the path targets this event's append."""
    for later in range(place + 1, len(path)):
        if path[later].kind == "undone" and not is_undone(later, path, events):
            before = events[: events.index(path[later])]
            target = next((event for event in before if event.id == _entry(path[later])["targetId"]), None)
            if target is not None and _append(target) == _append(path[place]):
                return True
    return False


def _is(event: NewEvent, kind: str, is_alive: bool) -> bool:  # noqa: FBT001
    return event.kind == kind and is_alive


def _append(event: NewEvent) -> str:
    return event.cause or event.id


def _entry(event: NewEvent) -> Entry:
    """A record as the entry that pi would have: with id, parent and time."""
    seconds = (event.time or 0) // 1000
    timestamp = f"1970-01-01T00:{seconds // 60:02}:{seconds % 60:02}.000Z"
    return {**json.loads(event.body), "id": event.id, "parentId": event.parent, "timestamp": timestamp}


def _overlaid(
    message: Entry, target: str, path: list[NewEvent], entries: list[Entry], alive: list[bool]
) -> Entry:
    """A message with what the rewrites in effect show of it, oldest first."""
    for place, event in enumerate(path):
        for shown in entries[place]["targets"] if _is(event, "rewrite", alive[place]) else ():
            if shown["target"] == target and "through" not in shown:
                if message["role"] in ("bashExecution", "pythonExecution"):
                    message = {**message, "output": shown["shown"]} if "block" not in shown else message
                    continue
                content = _shown(message.get("content"), shown)
                message = message if content is None else {**message, "content": content}
    return message


def _shown(content: Any, shown: dict[str, Any]) -> Any:
    block = {"type": "text", "text": shown["shown"]}
    number = shown.get("block")
    if number is None:
        return shown["shown"] if isinstance(content, str) else [block]
    if isinstance(content, str):
        return content if number else shown["shown"]
    return content and [block if place == number else other for place, other in enumerate(content)]


def files(events: list[NewEvent], leaf: str | None) -> tuple[set[str], set[str]]:
    """Paths read and paths modified on the way to an entry, each summary asked for what it stands for."""
    found = [_touched(event, events) for event in path_to(events, leaf)]
    return set().union(*(read for read, _ in found)), set().union(*(modified for _, modified in found))


def _touched(event: NewEvent, events: list[NewEvent]) -> tuple[set[str], set[str]]:
    entry = _entry(event)
    if event.kind == "message" and entry["message"]["role"] == "assistant":
        calls = [block for block in entry["message"]["content"] if block["type"] == "toolCall"]
        paths = {
            name: {call["arguments"]["path"] for call in calls if call["name"] == name} for name in _TOOLS
        }
        return paths["read"], paths["edit"]
    above = path_to(events, event.parent)
    if event.kind == "branch_summary":
        before = events[: events.index(event)]
        left = [other for other in _left(entry, before) if other not in above]
        found = [_touched(other, events) for other in left]
        if found:
            return set().union(*(read for read, _ in found)), set().union(*(mod for _, mod in found))
        return _claimed(entry), set()
    if event.kind == "compaction" and all(other.kind != "message" for other in above):
        return _claimed(entry), set()
    return set(), set()


_TOOLS = ("read", "edit")


def _left(entry: Entry, before: list[NewEvent]) -> list[NewEvent]:
    """The path to the leaf that a summary names, or to where the session stood when it was written."""
    if "left" not in entry:
        return path_to(before, next((other.id for other in reversed(before) if _is_node(other)), None))
    places = [place for place, other in enumerate(before) if other.id == entry["left"]]
    upto = before[: places[0] + 1] if places else []
    if upto and _is_node(upto[-1]):
        return path_to(before, upto[-1].id)
    return path_to(before, next((other.id for other in reversed(upto) if _is_node(other)), None))


def _is_node(event: NewEvent) -> bool:
    return is_entry(event.kind)


def _claimed(entry: Entry) -> set[str]:
    return set(entry.get("details", {}).get("readFiles", ()))
