"""Texts from the files that options name."""

from __future__ import annotations

from typing import BinaryIO, Final


def tools_of(file: BinaryIO) -> bytes:
    """The definitions of tools that a file has. Raises BadInputError for what is no JSON list of them."""
    import json

    from eventstore.errors import BadInputError

    text = file.read()
    try:
        given = json.loads(text)
    except ValueError as error:
        raise BadInputError(file.name, f"is no JSON ({error})", _TOOLS) from None
    if not isinstance(given, list) or not all(isinstance(each, dict) and "name" in each for each in given):
        raise BadInputError(file.name, "is no list of tools", _TOOLS)
    return text


_TOOLS: Final = 'give a JSON list of definitions, each with "name" and "input_schema"'


def text_of(file: BinaryIO) -> str:
    """What a file says. Raises BadInputError for what is not UTF-8."""
    from eventstore.errors import BadInputError

    try:
        return file.read().decode()
    except UnicodeDecodeError:
        raise BadInputError(file.name, "is not UTF-8", "give a text in UTF-8") from None
