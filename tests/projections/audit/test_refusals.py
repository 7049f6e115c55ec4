"""Read the words with which a user refuses a call of Claude Code's like those of a message."""

from __future__ import annotations

from pathlib import Path

import pytest

from eventstore.harnesses import node_of
from eventstore.memory import MemoryLog
from tests.support.claude_code import SESSION, Json, answer, bring, call, result, said
from tests.support.events import events

REFUSED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the"
    " new_string was NOT written to the file). To tell you how to proceed, the user said:\n"
)
NOTE = "\n\nNote: The user's next message may contain a correction or preference."
CLASS = "class SessionStore:\n" + "    def read_queue(self): ...\n" * 40
OTHERS = 6
"""Files read after the one that is missed: Claude Code shows the last five again."""


def refused(words: str) -> list[Json]:
    """A request, a call, and the words with which the user refuses the call."""
    return [
        said("u", None, "go"),
        answer("a", "u", "m", call("c", "Bash", command="git push")),
        result("r", "a", "c", f"{REFUSED}{words}", fails=True),
    ]


@pytest.mark.parametrize(
    ("text", "fails", "is_refused", "feedback"),
    [
        (f"{REFUSED}no, use the store", True, True, "no, use the store"),
        (f"{REFUSED}no,\n\nuse the store{NOTE}", True, True, "no,\n\nuse the store"),
        (f"{REFUSED}The user wants to clarify these questions.\n    Start by asking.", True, True, ""),
        (f"{REFUSED}no, use the store", False, False, ""),
        ("The user doesn't want to proceed with this tool use. STOP what you are doing.", True, True, ""),
        (f"cat says: {REFUSED}no", True, False, ""),
    ],
)
def test_words_of_a_refusal_are_told_from_the_harness_s(
    tmp_path: Path, text: str, *, fails: bool, is_refused: bool, feedback: str
) -> None:
    log = MemoryLog()
    bring(
        log,
        tmp_path / "s.jsonl",
        said("u", None, "go"),
        answer("a", "u", "m", call("c")),
        result("r", "a", "c", text, fails=fails),
    )
    view = node_of(next(each for each in events(log, SESSION) if each.id == "r")).message
    assert view is not None
    assert (view.is_refused, view.feedback) == (is_refused, feedback)
