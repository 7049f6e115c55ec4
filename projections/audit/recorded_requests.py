"""Compare contexts with the requests that a harness recorded itself, block for block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any, Final

import msgspec

from eventstore.javascript import tolerant_json
from eventstore.log import Snapshot
from eventstore.paths import event
from projections.context.build import context_at, harness_json
from projections.context.cursor import Cursor
from projections.rules.base import Check, RecordedRequest, Rules

RECORDED: Final = "recorded requests"


class _Document(msgspec.Struct, frozen=True):
    messages: list[msgspec.Raw]


_decode: Final = msgspec.json.Decoder(_Document).decode


def check_requests(snapshot: Snapshot, cursor: Cursor, rules: Rules) -> Iterator[Check]:
    """Check that the context of each recorded request has its messages, by their hashes.

    `expected` counts the request's messages, `found` those at its beginning that are equal.
    """
    for request in rules.recorded_requests(snapshot, cursor.session):
        answer = event(snapshot, cursor.session, request.answer)
        if answer.seq > cursor.as_of:
            continue
        context = context_at(snapshot, cursor.at_leaf(answer.parent_seq))
        messages = list(map(bytes, _decode(harness_json(context)).messages))
        hashes = list(map(request.hash_of, messages))
        pairs = enumerate(zip_longest(hashes, request.hashes))
        equal = next((place for place, (mine, recorded) in pairs if mine != recorded), len(hashes))
        difference = _difference(request, messages, equal)
        yield Check(
            name=RECORDED,
            event=answer.id,
            seq=answer.seq,
            expected=len(request.hashes),
            found=equal,
            passed=not difference,
            difference=difference or msgspec.UNSET,
        )


def _difference(request: RecordedRequest, messages: Sequence[bytes], place: int) -> str:
    """Describe the first difference, in message `place` of a context; "" for none."""
    if place == len(messages) == len(request.hashes):
        return "the digest of the whole request" if request.is_reproduced is False else ""
    where = f"message {place + 1}"
    if place == len(request.hashes):
        return f"{where} is not in the request"
    if place == len(messages):
        return f"{where} is not in the context"
    recorded = request.messages.get(request.hashes[place])
    if recorded is None:
        return f"{where}, of which only the hash is recorded"
    theirs, mine = tolerant_json(recorded), tolerant_json(messages[place])
    if theirs.get("role") != mine.get("role"):
        return (
            f"{where} is of the {theirs.get('role')} in the request, of the {mine.get('role')} in the context"
        )
    return f"{where} ({mine.get('role')}){_first_block(_blocks(theirs), _blocks(mine))}"


def _first_block(of_request: Sequence[Any], of_context: Sequence[Any]) -> str:
    """Describe the first block that differs; there is none if a blob has another message's hash."""
    for number, (theirs, mine) in enumerate(zip_longest(of_request, of_context), start=1):
        if theirs != mine:
            return f", block {number}: {_compared(theirs, mine)}"
    return ": equal blocks, another hash"


def _blocks(message: dict[str, Any]) -> list[Any]:
    content = message.get("content")
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def _compared(of_request: Any, of_context: Any) -> str:
    kinds = [_kind(each) for each in (of_request, of_context)]
    if kinds[0] == kinds[1]:
        return f"another {kinds[0]}"
    return f"{kinds[0] or 'nothing'} in the request, {kinds[1] or 'nothing'} in the context"


def _kind(block: Any) -> str:
    kind = block.get("type") if isinstance(block, dict) else ""
    return kind if isinstance(kind, str) else "block"
