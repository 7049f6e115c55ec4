"""Rules of what is said and thought."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from projections.validators.anthropic.blocks import THINKING, Located, Turn, inner
from projections.validators.anthropic.rules import Rule
from projections.validators.violation import Violation


def check_texts(turns: Sequence[Turn]) -> Iterator[Violation]:
    """No text is blank, and the last message does not end in white space where it is the assistant's."""
    for turn in turns:
        for located in turn.blocks:
            yield from _blank(located)
            for each in inner(located) if located.type == "tool_result" else ():
                yield from _blank(each)
    last = turns[-1].blocks[-1]
    text = last.block.get("text", "")
    if turns[-1].role == "assistant" and last.type == "text" and text.strip() and text != text.rstrip():
        yield Violation(rule=Rule.FINAL_SPACE, path=last.path, problem="the last message ends in white space")


def _blank(located: Located) -> Iterator[Violation]:
    if located.type == "text" and not located.block["text"].strip():
        yield Violation(
            rule=Rule.BLANK_TEXT, path=located.path, problem="the text is empty or white space only"
        )


def check_thinking(turns: Sequence[Turn]) -> Iterator[Violation]:
    """Thinking is sealed, and something follows it."""
    for turn in turns:
        for located in turn.blocks:
            seal = {"thinking": "signature", "redacted_thinking": "data"}.get(located.type)
            if seal and not located.block[seal]:
                path = f"{located.path}.{seal}"
                yield Violation(rule=Rule.UNSIGNED_THINKING, path=path, problem="it is empty")
        if turn.blocks[-1].type in THINKING:
            problem = "a message ends in thinking"
            yield Violation(rule=Rule.FINAL_THINKING, path=turn.blocks[-1].path, problem=problem)


def check_compaction(turns: Sequence[Turn]) -> Iterator[Violation]:
    """One compaction block at most has content, and it stands first."""
    first = turns[0].blocks[0]
    for turn in turns:
        for located in turn.blocks:
            if located.type == "compaction" and located.block["content"] and located is not first:
                problem = "a compaction block does not stand first in the conversation"
                yield Violation(rule=Rule.COMPACTION_BLOCK, path=located.path, problem=problem)
