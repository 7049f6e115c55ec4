"""A real session, once or several times in a row, as a file of pi and as plain messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench.folding import FAILED, fold_with_json


class History:
    """So many copies of a session of pi, one after the other in one session.

    `items` are its messages and its compactions' summaries, in order, and `kept_at` has for each compaction's place
    the number of messages that it keeps. `context` are the messages of the next request, the summary first, of
    which there are `in_context`.
    """

    def __init__(self, session: Path, copies: int, folder: Path) -> None:
        self.copies = copies
        self.file = folder / f"history-{copies}.jsonl"
        header, *entries = map(json.loads, session.read_text("utf-8").splitlines())
        self.items: list[dict[str, Any]] = []
        self.kept_at: dict[int, int] = {}
        parent, places = None, {}
        with self.file.open("w", encoding="utf-8") as file:
            file.write(f"{json.dumps(header)}\n")
            for copy in range(copies):
                for entry in entries:
                    # A failed answer, which pi sends no more, has no peer.
                    if entry.get("message", {}).get("stopReason") in FAILED:
                        continue
                    own = dict(entry, id=f"{entry['id']}-{copy}" if copy else entry["id"], parentId=parent)
                    parent = own["id"]
                    if entry["type"] == "message":
                        places[parent] = len(self.items)
                        self.items.append(entry["message"])
                    elif entry["type"] == "compaction":
                        first = entry["firstKeptEntryId"]
                        own["firstKeptEntryId"] = f"{first}-{copy}" if copy else first
                        start = places[own["firstKeptEntryId"]]
                        self.kept_at[len(self.items)] = sum(
                            item["role"] != "compactionSummary" for item in self.items[start:]
                        )
                        self.in_context = start
                        self.items.append(
                            {
                                "role": "compactionSummary",
                                "summary": entry["summary"],
                                "tokensBefore": entry["tokensBefore"],
                            }
                        )
                    file.write(f"{json.dumps(own, ensure_ascii=False)}\n")
        self.in_context = len(self.items) - self.in_context
        self.context: list[dict[str, Any]] = self.arranged(self.items[-self.in_context :])
        assert self.context[1:] == json.loads(fold_with_json(self.file))["messages"][1:]

    @staticmethod
    def arranged(items: list[Any]) -> list[Any]:
        """Return the newest items as the context: the last summary first."""
        newest = max(at for at, item in enumerate(items) if item["role"] == "compactionSummary")
        others = (item for item in items if item["role"] != "compactionSummary")
        return [items[newest], *others]


def names_of(messages: list[Any]) -> list[Any]:
    """Return what tells contexts apart: oh-my-pi leaves out the calls that have no results."""
    return [each["timestamp"] for each in messages if each["role"] in ("user", "toolResult")]
