"""Texts from the files that options name."""

from __future__ import annotations

from typing import BinaryIO


def text_of(file: BinaryIO) -> str:
    """What a file says. Raises BadInputError for what is not UTF-8."""
    from eventstore.errors import BadInputError

    try:
        return file.read().decode()
    except UnicodeDecodeError:
        raise BadInputError(file.name, "is not UTF-8", "give a text in UTF-8") from None
