"""Compact a context by a user's program: JSON on its stdin, JSON from its stdout."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from compaction.part import Limits
from compaction.processes import ProgramError, run_program, words_of
from eventstore.javascript import DEEPEST_RECORD, is_deeper, is_utf8, stringify, tolerant_json
from eventstore.log import Snapshot
from eventstore.records import FORMAT
from projections.context.build import messages_json
from projections.context.parts import Context, Fate, Part, role_of
from projections.tokens import counter

TIMEOUT: Final = 60.0
"""Maximum seconds of a program for one context."""
_NEW_ROLES: Final = ("user", "assistant")


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """A program that compacts contexts, as a command line; `timeout` is in seconds per context."""

    command: str
    timeout: float = TIMEOUT


def compact_by_program(snapshot: Snapshot, context: Context, program: Program, limits: Limits) -> Context:
    """Return the context that a program makes of another one. Raises ProgramError."""
    counts = counter("utf16/4").count(context.parts)
    parts = [
        part if is_utf8(part.raw) else msgspec.structs.replace(part, raw=_text(tolerant_json(part.raw)))
        for part in context.parts
    ]
    given = {
        "session": context.session,
        "leaf": context.leaf,
        "rules": context.rules,
        "window": limits.window,
        "tokens": sum(counts),
        "messages": messages_json(snapshot, parts, counts),
    }
    answer = run_program(words_of(program.command), msgspec.json.encode(given), timeout=program.timeout)
    if is_deeper(answer, DEEPEST_RECORD):
        raise ProgramError(f"the program printed JSON that is nested deeper than {DEEPEST_RECORD} levels")
    try:
        decoded = tolerant_json(answer)
    except msgspec.DecodeError:
        raise ProgramError("the program printed no JSON") from None
    messages = decoded.get("messages") if isinstance(decoded, dict) else None
    if not isinstance(messages, list):
        raise ProgramError('the program printed no JSON object with a list "messages"')
    return msgspec.structs.replace(context, parts=tuple(_parts(context.parts, messages)))


def _parts(before: Sequence[Part], messages: Sequence[Any]) -> Iterator[Part]:
    """Yield the messages that a program returned: kept, changed or new."""
    unused: dict[str, list[tuple[Part, Any]]] = {}
    for part in before:
        unused.setdefault(part.id, []).append((part, tolerant_json(part.raw)))
    for place, item in enumerate(messages):
        message = item.get("message") if isinstance(item, dict) else None
        if not isinstance(item, dict) or not isinstance(message, dict):
            raise ProgramError(f'messages[{place}] is not an object with an object "message"')
        event = item.get("event")
        if event is None:
            yield _new(message, place)
            continue
        candidates = unused.get(event, []) if isinstance(event, str) else []
        if not candidates:
            raise ProgramError(
                f'messages[{place}] has an "event" that is not in the context, or that it repeats'
            )
        same = next((at for at, (_, given) in enumerate(candidates) if given == message), None)
        part, _ = candidates.pop(same or 0)
        yield part if same is not None else _changed(part, message, place)


def _changed(part: Part, message: dict[str, Any], place: int) -> Part:
    changed = part.rewritten_as(_text(message))
    if message.get("role", part.role) != tolerant_json(part.raw).get("role", part.role):
        raise ProgramError(f"messages[{place}] has another role than its event; only its content may change")
    return changed


def _new(message: dict[str, Any], place: int) -> Part:
    if message.get("role") not in _NEW_ROLES or not isinstance(message.get("content"), str | list):
        raise ProgramError(
            f"messages[{place}] is new: it needs a role, {' or '.join(_NEW_ROLES)}, and its content"
        )
    return new_part(f"new-{place}", message["role"], message)


def new_part(name: str, role: str, message: dict[str, Any]) -> Part:
    """Return a message, under a name of its own, that no event has."""
    raw = _text(message)
    return Part(
        seq=0,
        id=name,
        kind="message",
        role=role_of(raw, role, FORMAT),
        fate=Fate.INJECTED,
        raw=raw,
        format=FORMAT,
    )


def _text(value: object) -> bytes:
    return stringify(value).encode()
