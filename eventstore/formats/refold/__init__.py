"""Define the format of refold's own records, in the shape of pi's version 3."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Final

from eventstore.event import EventFacts
from eventstore.formats.base import Certainty, Export, View
from eventstore.formats.pi import PiFormat
from eventstore.formats.pi.entry import entry_of, facts_of
from eventstore.formats.refold.record_views import view
from eventstore.records import FORMAT as VERSION
from eventstore.records import Rewrite, TextReplacement, record_of


class RefoldFormat(PiFormat):
    """The format of refold's own records. They come through the library, not from files."""

    name = "refold"
    versions = (VERSION,)
    places = ()
    exports: Mapping[str, Export] = {}

    def view(self, version: str, kind: str, record: bytes, parent: bytes | None = None) -> View:  # noqa: ARG002
        return view(kind, record)

    def rewrites(self, version: str, record: bytes) -> Sequence[TextReplacement]:  # noqa: ARG002
        rewrite = record_of("rewrite", record)
        assert isinstance(rewrite, Rewrite)  # noqa: S101  the kind says so
        return rewrite.targets

    def facts(self, version: str, kind: str, record: bytes, parent: bytes | None = None) -> EventFacts:  # noqa: ARG002
        return facts_of(kind, record, entry_of(record))

    def recognize(self, beginning: bytes, path: str | os.PathLike[str]) -> Certainty:  # noqa: ARG002
        return Certainty.NONE


FORMAT: Final = RefoldFormat()
