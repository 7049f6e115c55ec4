"""Turn the context at a session's leaf into values that any harness's file can hold.

Only what a model is sent comes along. `lost` counts the rest, by a name in the plural.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Final

import msgspec

from eventstore.harnesses import format_of, node_of
from eventstore.harnesses.resumable import (
    Resumable,
    ResumableMessage,
    ResumableSummary,
    Seal,
    name_of_block,
    seal_of,
)
from eventstore.javascript import stringify, text_or_empty
from eventstore.log import Snapshot
from eventstore.paths import LazyEvent, Order, event, events, path
from eventstore.views import Block, Image, Message, Payload, Text, Thinking, call_indexes
from projections.context.build import context_at
from projections.context.cursor import Cursor
from projections.context.parts import Context, Part, has_message, view_of_part
from projections.descriptions import title
from projections.overview import working_folder
from projections.placements import substitute_text
from projections.requests.anthropic.native import read_part
from projections.requests.encoded_text import is_blank
from projections.settings import settings_at

_BASE64: Final = re.compile(r"[A-Za-z0-9+/=\s]+")
"""The data of an image; oh-my-pi has references to files instead, whose file may be missing."""
_AS_USER: Final = ("user", "custom")
SEALED_SUMMARIES: Final = "summaries that only their provider can read"
"""A loss where the messages that a summary replaced take its place.

The context is then larger than the harness's.
"""


def resumable_at(snapshot: Snapshot, cursor: Cursor) -> tuple[Resumable, Counter[str]]:
    """Return the context at a cursor, and counts of what it lacks of the session, by name."""
    context = context_at(snapshot, cursor, readable=True)
    lost = _left_behind(snapshot, cursor, context)
    at, summary, parts = _split_summary(snapshot, context.parts, lost)
    order = Order(snapshot, cursor.session)
    behind = order.place(at) if at else 0
    messages = [
        message
        for part in parts
        if (message := _message(snapshot, part, lost, is_kept=order.place(part.seq) < behind))
    ]
    messages = _paired(_joined(messages), lost)
    used = context.settings.model
    return Resumable(
        source=cursor.session,
        key=sha256(f"{cursor.session}\0{context.leaf}\0{cursor.as_of}".encode("utf-8", "replace")).digest(),
        messages=tuple(messages),
        summary=summary,
        time=max((each.time for each in messages), default=summary.time if summary else 0),
        folder=working_folder(snapshot, cursor.session),
        title=title(snapshot, cursor.session),
        provider=text_or_empty(used.provider) if used else "",
        model=text_or_empty(used.model_id) if used else "",
        thinking_level=text_or_empty(context.settings.thinking_level),
    ), lost


def _left_behind(snapshot: Snapshot, cursor: Cursor, context: Context) -> Counter[str]:
    """Count what the session has beside the context."""
    lost: Counter[str] = Counter()
    if not cursor.leaf:
        return lost
    if context.expanded:
        lost[SEALED_SUMMARIES] += 1
    sent = {key for part in context.parts for key in part.events}
    on_path = {each.seq for each in path(snapshot, cursor.session, cursor.leaf)}
    leaf = event(snapshot, cursor.session, cursor.leaf)
    for each in events(snapshot, cursor.session):
        if (each.session, each.seq) in sent or each.kind in _OF_THE_STORE:
            continue
        if not has_message(each) or not each.is_entry:
            lost["other records"] += 1
        elif each.seq not in on_path:
            lost["message records of other branches"] += 1
        elif each.seq < leaf.compaction_seq:
            lost["message records that compactions replaced"] += 1
        else:
            lost["message records that are not sent"] += 1
    return lost


_OF_THE_STORE: Final = ("import", "link")
"""Kinds of records that no file has anyway."""


def _split_summary(
    snapshot: Snapshot, parts: Sequence[Part], lost: Counter[str]
) -> tuple[int, ResumableSummary | None, list[Part]]:
    """Return the number of the compaction in effect, its summary, and the other parts."""
    of_compaction = [place for place, part in enumerate(parts) if part.kind == "compaction"]
    if not of_compaction:
        return 0, None, [*parts]
    entry = event(snapshot, parts[of_compaction[-1]].session, parts[of_compaction[-1]].seq)
    view = node_of(entry, snapshot).compaction
    said = view.summary.strip() if view else ""
    for place in reversed(of_compaction):
        message = view_of_part(parts[place])
        if len(of_compaction) == 1 or (said and said in message.text):
            break
    else:
        return entry.seq, None, [*parts]
    lost.update(name_of_block(block) for block in message.blocks if not isinstance(block, Text))
    if is_blank(message.text):
        lost["blank texts"] += 1
        return entry.seq, None, [*parts[:place], *parts[place + 1 :]]
    # An answer that is a summary has its question above it.
    first = place - (message.role == "assistant" and place - 1 in of_compaction)
    if first:
        lost["places of messages before the summary"] += first
    summary = ResumableSummary(
        text=message.text,
        shown=substitute_text(message) or message.text,
        time=_time(entry),
        tokens_before=(view.tokens_before if view else None) or 0,
    )
    return entry.seq, summary, [*parts[:first], *parts[place + 1 :]]


def _time(entry: LazyEvent) -> int:
    return entry.time or entry.decode().recorded


def _message(snapshot: Snapshot, part: Part, lost: Counter[str], *, is_kept: bool) -> ResumableMessage | None:
    """Return a part as a message of one of three roles, None if nothing of it is left."""
    read = read_part(part)
    view, payloads = read.view, [*read.payloads]
    if (text := substitute_text(view)) is not None:
        view, payloads = Message(role="user", blocks=(Text(text),) if text else ()), []
    elif view.role == "assistant":
        view = _signed(snapshot, part, view)
    elif view.role in _AS_USER:
        view = msgspec.structs.replace(view, role="user")
    elif view.role != "toolResult":
        lost["messages of unknown roles"] += 1
        return None
    item = format_of(part.format).response_item(part.raw)
    payloads = payloads or [Payload(raw=b"")] * len(view.blocks)
    kept = [*_kept(view, payloads, item, lost)]
    if not kept and view.role != "toolResult":
        return None
    return ResumableMessage(
        view=msgspec.structs.replace(view, blocks=tuple(block for block, _ in kept)),
        payloads=tuple(payload for _, payload in kept),
        items=(item,) if item else (),
        time=_time(event(snapshot, part.session, part.seq)),
        by_person=part.by_person,
        is_kept=is_kept,
    )


def _kept(
    view: Message, payloads: Sequence[Payload], item: bytes, lost: Counter[str]
) -> Iterator[tuple[Block, Payload]]:
    """Yield the blocks of a message that an API takes."""
    for block, payload in zip(view.blocks, payloads, strict=True):
        if isinstance(block, Text) and is_blank(block.text):
            lost["blank texts"] += 1
        elif isinstance(block, Image) and not _BASE64.fullmatch(payload.image):
            lost["images without their data"] += 1
        elif not isinstance(block, Thinking):
            yield block, payload
        elif sealed := _sealed(block, item, view.provider):
            yield sealed, payload
        else:
            lost["thoughts without a provider's seal"] += 1


def _signed(snapshot: Snapshot, part: Part, view: Message) -> Message:
    """Return an answer with the model that was in use, if it names none itself."""
    used = None if view.model else settings_at(snapshot, part.session, part.seq).model
    if used is None:
        return view
    provider, model = text_or_empty(used.provider), text_or_empty(used.model_id)
    return msgspec.structs.replace(view, provider=provider, model=model)


def _sealed(block: Thinking, item: bytes, provider: str) -> Thinking | None:
    """Return a thought with its seal, in the Responses API the whole item; None if it has none."""
    if not block.signature:
        return None
    if item:
        return Thinking(block.text, item.decode("utf-8", "replace"))
    if not provider.startswith(_OPENAI) or seal_of(block) is not Seal.MESSAGES:
        return block
    # A harness may keep the encrypted content of an item without the rest.
    summary = [{"type": "summary_text", "text": block.text}] if block.text else []
    made = {"type": "reasoning", "summary": summary, "encrypted_content": block.signature}
    return Thinking(block.text, stringify(made))


_OPENAI: Final = "openai"


def _joined(messages: Iterable[ResumableMessage]) -> Iterator[ResumableMessage]:
    """Join successive answers of one model: a harness may record each block as one."""
    above: ResumableMessage | None = None
    for message in messages:
        if above is not None and _author(above) == _author(message) != "":
            view = msgspec.structs.replace(above.view, blocks=(*above.view.blocks, *message.view.blocks))
            above = msgspec.structs.replace(
                above,
                view=view,
                payloads=(*above.payloads, *message.payloads),
                items=(*above.items, *message.items),
            )
            continue
        if above is not None:
            yield above
        above = message
    if above is not None:
        yield above


def _author(message: ResumableMessage) -> str:
    view = message.view
    return f"{view.provider}/{view.model}" if view.role == "assistant" else ""


def _paired(messages: Iterable[ResumableMessage], lost: Counter[str]) -> list[ResumableMessage]:
    """Put each result right behind the message with its call; drop those of no call."""
    listed = [*messages]
    calls = call_indexes([message.view for message in listed])
    results: dict[int, dict[str, ResumableMessage]] = {}
    for place, message in enumerate(listed):
        if message.view.role != "toolResult":
            continue
        name, found = message.view.tool_call_id, calls.get(place)
        if found is None or name in results.setdefault(found, {}):
            lost["results without a call of their own"] += 1
            continue
        tool = next(call.name for call in listed[found].view.tool_calls if call.id == name)
        view = msgspec.structs.replace(message.view, tool_name=tool)
        results[found][name] = msgspec.structs.replace(message, view=view)
    return [
        each
        for place, message in enumerate(listed)
        if message.view.role != "toolResult"
        for each in (message, *results.get(place, {}).values())
    ]
