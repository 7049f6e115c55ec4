"""Windows in a word a message."""

from __future__ import annotations

from compaction.window import TURN_STARTS, Window, WindowItem

ROLES = {
    "u": "user",
    "a": "assistant",
    "r": "toolResult",
    "b": "bashExecution",
    "c": "custom",
    "s": "branchSummary",
}


def told(words: str, **fields: object) -> Window:
    """A window of words such as `u10`: the role's letter and the tokens. Ids are m0, m1, …; no result may start."""
    return Window(items=tuple(_item(place, word) for place, word in enumerate(words.split())), **fields)  # type: ignore[arg-type]


def _item(place: int, word: str) -> WindowItem:
    role = ROLES[word[0]]
    name = f"m{place}"
    return WindowItem(
        id=name,
        first=name,
        role=role,
        tokens=int(word[1:]),
        may_start=role != "toolResult",
        starts_turn=role in TURN_STARTS,
    )
