"""Read and write oh-my-pi's session files.

They are pi's, with a title that is rewritten in place, additional kinds, and images in separate files.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from eventstore.event import Event, NewEvent
from eventstore.harnesses.base import Certainty, Export, SessionLocation
from eventstore.harnesses.oh_my_pi.dialect import DIALECT, as_sent
from eventstore.harnesses.oh_my_pi.titled_file import TitledFile, export_titled, has_marks, written
from eventstore.harnesses.oh_my_pi.wording import worded
from eventstore.harnesses.pi import PiFormat
from eventstore.harnesses.pi.dialects import PI
from eventstore.harnesses.pi.export import is_exported
from eventstore.harnesses.pi.message import message_view
from eventstore.harnesses.resumable import Resumable, Written
from eventstore.harnesses.source import Source, SourceContents
from eventstore.log import Snapshot
from eventstore.views import ApiMessage, Message

_FILES: Final = "*/**/*.jsonl"
"""One folder per project; a subagent's session is in a folder named after its parent's file."""


class OhMyPiFormat(PiFormat):
    """Read and write oh-my-pi's session files."""

    name = "oh-my-pi"
    versions = ("oh-my-pi/1", "oh-my-pi/2", "oh-my-pi/3")
    dialect = DIALECT
    places = (
        SessionLocation(
            environment={"PI_CODING_AGENT_DIR": "sessions"}, default="~/.omp/agent/sessions", pattern=_FILES
        ),
        # Folders of profiles, and the XDG data folder on Linux.
        SessionLocation(environment={}, default="~/.omp/profiles", pattern=f"*/agent/sessions/{_FILES}"),
        SessionLocation(
            environment={"XDG_DATA_HOME": "omp/sessions"},
            default="~/.local/share/omp/sessions",
            pattern=_FILES,
        ),
        SessionLocation(
            environment={"XDG_DATA_HOME": "omp/profiles"},
            default="~/.local/share/omp/profiles",
            pattern=f"*/sessions/{_FILES}",
        ),
    )
    exports: Mapping[str, Export] = {"oh-my-pi": export_titled}

    def message(self, raw: bytes) -> Message:
        return as_sent(message_view(raw), raw)

    def api_message(self, raw: bytes) -> ApiMessage | None:
        return worded(raw)

    def written(self, resumable: Resumable) -> Written:
        return written(resumable)

    def recognize(self, beginning: bytes, path: str | os.PathLike[str]) -> Certainty:  # noqa: ARG002
        return Certainty.SURE if has_marks(beginning) else Certainty.NONE

    def is_exported(self, snapshot: Snapshot, event: NewEvent, stored: Event) -> bool:
        # An export for pi may have messages by which it is recognized as oh-my-pi's.
        return any(is_exported(snapshot, event, stored, each) for each in (self.dialect, PI))

    def open(self, source: Source) -> SourceContents:
        return TitledFile(source)


FORMAT: Final = OhMyPiFormat()
