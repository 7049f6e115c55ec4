"""Choosing among lines: as many as there is room for, each sort by its share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from compaction.prompts import escaped
from compaction.summarizers.gleaning import Line, names_in
from eventstore.javascript import utf8_length
from projections.mentions.path_names import Paths

_FILE_TAG: Final = re.compile(r"<(?=/?(?:read|modified)-files>)")
_HALF_A_PAIR: Final = re.compile("[\ud800-\udfff]")


class Queue(msgspec.Struct, frozen=True):
    """Lines, the most telling first: under which heading they go, behind what mark, and for what share of the room."""

    heading: str
    mark: str
    share: int
    lines: Sequence[Line]


_Place = tuple[int, bool, bool, int, str]
"""Where a line stands under its heading: by its queue; lists behind lines, those without a folder last."""


class Selection:
    """Lines that were chosen, by the heading that they go under. Nothing is told twice."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._queues = 0
        self._told: set[str] = set()
        self._lines: dict[str, dict[_Place, list[str]]] = {}
        self._lists: dict[str, dict[str, _Place]] = {}
        self._heads = ""

    def take(self, queues: Sequence[Queue], room: int) -> int:
        """Choose lines while there is room for any, in bytes of UTF-8; what room is left.

        The next line is always of the queue that has had least of its share. What does not fit is left out, and
        so is what is told already.
        """
        waiting = {place: iter(queue.lines) for place, queue in enumerate(queues)}
        had = dict.fromkeys(waiting, 0.0)
        while waiting:
            place = min(waiting, key=had.__getitem__)
            line = next(waiting[place], None)
            if line is None:
                del waiting[place]
            elif len(line.text) < room and not self._is_told(line):
                size = self._write(queues[place], self._queues + place, line, room)
                had[place] += size / queues[place].share
                room -= size
        self._queues += len(queues)
        return room

    def written(self, heading: str) -> list[str]:
        """The chosen lines that go under a heading."""
        return ["".join(parts) for _, parts in sorted(self._lines.get(heading, {}).items())]

    def _is_told(self, line: Line) -> bool:
        return not self._told.isdisjoint(_keys(line)) or self._is_folder_of_told(line.thing)

    def _is_folder_of_told(self, thing: str) -> bool:
        may_be = bool(thing) and "." not in thing.rpartition("/")[2]
        return may_be and f"/{thing.strip('/')}/" in self._heads

    def _write(self, queue: Queue, place: int, line: Line, room: int) -> int:
        """Write a line down if there is room for it; the bytes that it takes."""
        lines = self._lines.setdefault(queue.heading, {})
        lists = self._lists.setdefault(queue.heading, {})
        text = safe(line.text)
        begun = lists.get(line.head)
        if begun:
            added, at = f", {text}", begun
        elif line.head:
            added, at = f"- {safe(line.head)}: {text}", (place, True, "/" not in line.head, 0, line.head)
        else:
            added, at = f"{queue.mark}{text}", (place, False, False, line.place, text)
        size = utf8_length(added) + (0 if begun else len("\n"))
        if size > room:
            return 0
        lines.setdefault(at, []).append(added)
        if line.head and not begun:
            lists[line.head] = at
            self._heads += f"\n/{line.head}"
        self._told.update(_keys(line))
        if not line.thing:
            self._told |= names_in(line.text, self._paths)
        return size


def _keys(line: Line) -> tuple[str, ...]:
    """By what a line is known again: what it names, and how it stands there."""
    return (line.thing, f"{line.head}\n{line.text}") if line.thing else (line.head + line.text.casefold(),)


def safe(text: str) -> str:
    """A text in which nothing opens or closes a part of a prompt or a record, and that has UTF-8."""
    return _HALF_A_PAIR.sub("\ufffd", _FILE_TAG.sub("&lt;", escaped(text)))
