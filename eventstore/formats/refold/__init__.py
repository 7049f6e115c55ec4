"""Define the format of refold's own records, in the shape of pi's version 3."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from eventstore.event import OWN_PLACE, Place
from eventstore.formats.base import Certainty, Export
from eventstore.formats.pi import PiFormat
from eventstore.formats.refold.own_records import own_node
from eventstore.node import Node
from eventstore.records import FORMAT as VERSION


class RefoldFormat(PiFormat):
    """The format of refold's own records. They come through the library, not from files."""

    name = "refold"
    versions = (VERSION,)
    places = ()
    exports: Mapping[str, Export] = {}

    def node(self, version: str, kind: str, record: bytes, parent: bytes | None = None) -> Node:  # noqa: ARG002
        return own_node(kind, record)

    def place(self, version: str, event_id: str, record: bytes) -> Place:  # noqa: ARG002
        return OWN_PLACE

    def recognize(self, beginning: bytes, path: str | os.PathLike[str]) -> Certainty:  # noqa: ARG002
        return Certainty.NONE


FORMAT: Final = RefoldFormat()
