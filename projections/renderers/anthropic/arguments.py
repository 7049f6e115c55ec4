"""The arguments of a recorded call as the input of a `tool_use` block."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from eventstore.javascript import parse, stringify
from projections.renderers.anthropic.depth import DEEPEST, is_too_deep
from projections.renderers.anthropic.repairs import Note, Rule

_LONE_SURROGATE: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}")
"""As `stringify` escapes it, and nothing else."""


def input_json(arguments: bytes, note: Note) -> bytes:
    """The JSON object that is a call's input: the arguments' own bytes wherever they are one.

    Anything else stands in an object under the name `arguments`; what no JSON reader would take is mended.
    """
    if is_too_deep(arguments):
        note(Rule.ARGUMENTS, f"arguments of more than {DEEPEST} levels are left out")
        return b"{}"
    try:
        is_object = isinstance(msgspec.json.decode(arguments), dict)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _mended(arguments, note)
    return arguments if is_object else _wrapped(arguments, note)


def _mended(arguments: bytes, note: Note) -> bytes:
    try:
        value = parse(arguments.decode("utf-8", "replace"))
    except ValueError:
        note(Rule.ARGUMENTS, "arguments that no JSON reader takes are left out")
        return b"{}"
    note(Rule.SURROGATE, "arguments with text or numbers that cannot be sent are mended")
    mended = _LONE_SURROGATE.sub("\\1\ufffd", stringify(value)).encode()
    return mended if isinstance(value, dict) else _wrapped(mended, note)


def _wrapped(arguments: bytes, note: Note) -> bytes:
    note(Rule.ARGUMENTS, "arguments that are no object stand in one")
    return b'{"arguments":%s}' % arguments
