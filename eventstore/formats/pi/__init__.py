"""pi's session files, versions 1 to 3, and the records in them."""

from __future__ import annotations

from typing import Final

import msgspec

from eventstore.event import Facts
from eventstore.formats.base import Format, Tools, View
from eventstore.formats.pi.entry import entry_of, facts_of
from eventstore.formats.pi.message import message_view, payloads
from eventstore.formats.pi.view import continues, view
from eventstore.views import Message, Payload


class PiFormat(Format):
    """Everything that knows how pi writes its sessions."""

    name: str = "pi"
    versions: tuple[str, ...] = ("pi/1", "pi/2", "pi/3")
    tools = Tools(reads={}, modifies={})

    def view(self, version: str, kind: str, record: bytes) -> View:  # noqa: ARG002  all versions say it alike
        return view(kind, record)

    def continues(self, kind: str, record: bytes) -> bool:
        return continues(kind, record)

    def message(self, raw: bytes) -> Message:
        return message_view(raw)

    def payloads(self, raw: bytes) -> list[Payload]:
        return payloads(raw)

    def facts(self, version: str, kind: str, record: bytes) -> Facts:
        renames = version in ("pi/1", "pi/2")
        facts = facts_of(kind, record, entry_of(record), renames_hook_role=renames, is_own=False)
        # A compaction of version 1 names what it keeps by a place in its file.
        is_by_place = version == "pi/1" and kind == "compaction"
        return msgspec.structs.replace(facts, target=None, needs_source=True) if is_by_place else facts


FORMAT: Final = PiFormat()
