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
KINDS = {"custom": "custom_message", "branchSummary": "branch_summary"}


def told(words: str, **fields: object) -> Window:
    """A window of words such as `u10`: the role's letter and the tokens. Ids are m0, m1, …; no result may start.

    A capital letter means that a setting or label is right before the message.
    """
    return Window(items=tuple(_item(place, word) for place, word in enumerate(words.split())), **fields)  # type: ignore[arg-type]


def _item(place: int, word: str) -> WindowItem:
    role = ROLES[word[0].lower()]
    name = f"m{place}"
    return WindowItem(
        id=name,
        first=f"before-{name}" if word[0].isupper() else name,
        kind=KINDS.get(role, "message"),
        role=role,
        tokens=int(word[1:]),
        begins=role != "toolResult",
        may_start=role != "toolResult",
        starts_turn=role in TURN_STARTS,
    )
