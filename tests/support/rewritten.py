"""Sessions whose results are rewritten one after the other, as masks and prunes do it turn by turn."""

from __future__ import annotations

from typing import Final

from eventstore.log import EventLog
from eventstore.memory import MemoryLog
from eventstore.records import Rewrite, TextReplacement
from tests.support.talk import Story, assistant, call, result, user

SESSION: Final = "s"
_LAG: Final = 3
"""Turns after which a result gives way."""
_LINES: Final = 20


def rewritten_turns(turns: int, *, rewrites: bool = True) -> EventLog:
    """The log of such a session: each turn reads a file, from the fourth on a result of an earlier one gives way."""
    log = MemoryLog(clock=lambda: 0)
    story = Story(log, SESSION)
    results: list[str] = []
    for turn in range(turns):
        lines = (
            f"def helper_{turn}_{line}(): return part_{(turn * 7 + line) % turns}" for line in range(_LINES)
        )
        *_, read = story.says(
            user(f"Please change part_{turn} in src/part{turn}.py, never touch lib{turn}.py."),
            assistant(
                f"I read part_{turn}.", call("read", f"c{turn}", path=f"src/part{turn}.py"), tokens=99 + turn
            ),
            result("\n".join(lines), tool="read", call_id=f"c{turn}"),
        )
        results.append(read)
        if rewrites and turn >= _LAG:
            story.add(
                Rewrite(
                    reason="mask", targets=[TextReplacement(target=results[turn - _LAG], text="[masked]")]
                )
            )
    return log
