"""Divide messages into pieces of one author each: person, harness, model, call, result."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from eventstore.views import Message, Text, ToolCall, shell_text
from projections.person_text import outside_tags, text_by_person


class Who(StrEnum):
    """The author of a piece of a message."""

    PERSON = "person"
    HARNESS = "harness"
    MODEL = "model"
    CALL = "call"
    RESULT = "result"
    ERROR = "error"
    ANSWER = "answer"
    """A person's answer to a question, refusal of a call, or command, as the harness reports it."""


_COMMAND: Final = re.compile(r"^[^\S\n]*<command-(?:name|args)>", re.MULTILINE)
"""A tag in which Claude Code reports a slash command."""


def pieces_of(message: Message, *, by_person: bool, is_answer: bool = False) -> Iterator[tuple[Who, str]]:
    """Yield the texts of a message, and whose words each is; "" for missing ones.

    `is_answer` says that a result is a person's answer to a question.
    """
    if message.shell is not None:
        yield Who.PERSON, f"! {message.shell.command}"
        yield Who.RESULT, shell_text(message.shell)
    elif message.role == "toolResult":
        is_act = message.is_refused or (is_answer and not message.is_error)
        yield Who.ANSWER if is_act else Who.ERROR if message.is_error else Who.RESULT, message.text
        yield Who.PERSON, text_by_person(message, by_person=False)
    elif message.role == "assistant":
        for block in message.blocks:
            if isinstance(block, Text):
                yield Who.MODEL, block.text
            elif isinstance(block, ToolCall):
                yield Who.CALL, f"{block.name} {_values(block.decoded)}"
    elif by_person:
        yield Who.PERSON, text_by_person(message, by_person=True)
        yield _of_harness(_inserted(message))
    else:
        yield _of_harness(message.text)


def _of_harness(text: str) -> tuple[Who, str]:
    return Who.ANSWER if _COMMAND.search(text) else Who.HARNESS, text


def _inserted(message: Message) -> str:
    """Return what a harness inserted between tags in a person's message."""
    texts = [block.text for block in message.blocks if isinstance(block, Text)]
    return "\n".join(text for text in texts if not outside_tags(text).strip())


def _values(arguments: object) -> str:
    """Return a call's arguments as text, names and values a line."""
    if isinstance(arguments, dict):
        return "\n".join(f"{name}: {_values(value)}" for name, value in arguments.items())
    if isinstance(arguments, list):
        return ", ".join(map(_values, arguments))
    return str(arguments)
