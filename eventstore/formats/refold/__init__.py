"""Define the format of refold's own records, in the shape of pi's version 3."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from eventstore.event import EventFacts
from eventstore.formats.base import Certainty, Export
from eventstore.formats.pi import PiFormat
from eventstore.formats.pi.entry import entry_of, facts_of
from eventstore.formats.refold.record_views import view
from eventstore.node import Node
from eventstore.records import FORMAT as VERSION


class RefoldFormat(PiFormat):
    """The format of refold's own records. They come through the library, not from files."""

    name = "refold"
    versions = (VERSION,)
    places = ()
    exports: Mapping[str, Export] = {}

    def node(self, version: str, kind: str, record: bytes, parent: bytes | None = None) -> Node:  # noqa: ARG002
        return view(kind, record)

    def facts(self, version: str, kind: str, record: bytes, parent: bytes | None = None) -> EventFacts:  # noqa: ARG002
        return facts_of(kind, record, entry_of(record))

    def recognize(self, beginning: bytes, path: str | os.PathLike[str]) -> Certainty:  # noqa: ARG002
        return Certainty.NONE


FORMAT: Final = RefoldFormat()
