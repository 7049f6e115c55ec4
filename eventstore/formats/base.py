"""Define the protocol of a format: names, tools, typed views of records, sources."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Any, Final, Protocol, TypeAlias

import msgspec

from eventstore.event import Event, EventFacts, NewEvent
from eventstore.formats.source import SessionLocation, Source, SourceContents
from eventstore.log import Snapshot
from eventstore.records import FileSets, TextReplacement
from eventstore.views import Extension, Message, Payload, Usage

CONTINUES: Final = "compaction_continue"
"""The mark of continuation messages: in their metadata, or as an extension's message type."""
NO_HISTORY: Final = "No prior history."
"""Stands for a summary of the history where there is none."""
SPLIT_TURN: Final = "\n\n---\n\n**Turn Context (split turn):**\n\n"
"""The text between a summary of the history and that of a split turn's beginning."""


class Editor(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that views or changes files; some values of `command` only view.

    `paths` are the arguments that name the files.
    """

    command: str
    views: str
    paths: tuple[str, ...]


class Tools(msgspec.Struct, frozen=True, kw_only=True):
    """The tools of a harness, as data: what they do, and which arguments they use.

    `reads` and `modifies` map tools to the arguments that may name their file, in order, `shells` to those
    that may hold the script. The arguments of `patches` hold patches; the newest call of one of `plans` holds
    the current plan. In calls of any tool, `paths` are arguments that may name a file or address, `scripts`
    those that may hold a command, in order, `ranges` those that choose lines of a file. `selector` matches a
    line selector at the end of a read path.
    """

    reads: Mapping[str, tuple[str, ...]]
    modifies: Mapping[str, tuple[str, ...]]
    editors: Mapping[str, Editor] = {}
    patches: frozenset[str] = frozenset()
    shells: Mapping[str, tuple[str, ...]] = {}
    plans: frozenset[str] = frozenset()
    paths: tuple[str, ...] = ()
    scripts: tuple[str, ...] = ()
    ranges: tuple[str, ...] = ()
    selector: re.Pattern[str] | None = None


NO_TOOLS: Final = Tools(reads={}, modifies={})
"""The tools of messages that hold no calls."""


class RequestView(msgspec.Struct, frozen=True, kw_only=True):
    """A request for a summary: who was asked, the prompt, the answer.

    `endpoint` is the address, "" for the summarizer's own. `provider` and `model` answered, None if unknown.
    `template` is the prompt's. `usage` is None if not counted. `answer` is the text, None if there was none; `is_cut`
    means that it ended at its limit.
    """

    summarizer: str = ""
    endpoint: str = ""
    provider: Any = None
    model: str | None = None
    template: str | None = None
    usage: Usage | None = None
    is_failed: bool = False
    prompt_digest: str = ""
    answer: str | None = None
    is_cut: bool = False


class SummaryView(msgspec.Struct, frozen=True, kw_only=True):
    """A summary as its record describes it; None and "" for missing fields.

    `missing_sections` are required by the template but missing. `files` are those that the record claims,
    None if an extension wrote it.
    """

    summary: str = ""
    template: str = ""
    missing_sections: tuple[str, ...] = ()
    files: FileSets | None = None


class CompactionView(SummaryView, frozen=True, kw_only=True):
    """A compaction as its record describes it.

    `kept` lists the ids of the kept messages, if the harness lists them. `last_kept` is the id of the last one if
    they are a run that ends above the compaction; `removed` are those that the run is without. `keeps_before` means
    that they precede the summary in the context. `native` is the provider that keeps the history in a form which only
    it can read, so that the summary says nothing; "" for a summary in words.
    """

    tokens_before: int | None = None
    tokens_after: int | None = None
    reason: str = ""
    policy: str = ""
    by_extension: bool = False
    kept: tuple[str, ...] | None = None
    last_kept: str = ""
    keeps_before: bool = False
    removed: frozenset[str] = frozenset()
    native: str = ""


class BranchView(SummaryView, frozen=True, kw_only=True):
    """A branch summary as its record describes it; `left` is the id of the leaf left."""

    left: str = ""


class SettingsView(msgspec.Struct, frozen=True, kw_only=True):
    """The settings that a record makes; UNSET for missing fields."""

    provider: Any = msgspec.UNSET
    model: Any = msgspec.UNSET
    thinking_level: Any = msgspec.UNSET


class LabelView(msgspec.Struct, frozen=True, kw_only=True):
    """A label set on the event with an id, or removed ("")."""

    target: str
    label: str = ""


class TitleRank(IntEnum):
    """The origin of a title. Titles of the highest rank count."""

    SUMMARY = 0
    """The harness, from a summary of the session or its beginning."""
    MODEL = 1
    """A model that was asked for a title."""
    PERSON = 2
    """A person, or a tool on a person's behalf."""


class TitleView(msgspec.Struct, frozen=True, kw_only=True):
    """A title of the session. Of several of the highest rank, the newest counts.

    With `about`, it counts only in a session that has the event with this id.

    A record with a title whose kind is not `session_info` needs `Flag.GIVES_TITLE` in its facts.
    """

    text: str
    rank: TitleRank = TitleRank.PERSON
    about: str = ""


class PromptView(msgspec.Struct, frozen=True, kw_only=True):
    """A system prompt, and tool definitions as a JSON list; "" and b"" for missing ones."""

    system: str = ""
    tools: bytes = b""

    def or_else(self, other: PromptView) -> PromptView:
        """Fill missing fields from another view."""
        return PromptView(system=self.system or other.system, tools=self.tools or other.tools)


class UsageView(msgspec.Struct, frozen=True, kw_only=True):
    """A usage recorded later; `about` is the id of the event with the message."""

    about: str
    usage: Usage


class View(msgspec.Struct, frozen=True, kw_only=True):
    """The meaning of one record; each aspect that it lacks is empty.

    `messages` go to the model. Records of one `group` form one message together; its usage counts once.
    `by_person` means that a person wrote the message, `continues` that it is a continuation after a
    compaction. `folder` is the working folder at that time. `requests` are those for its summary, or for a
    failed one. `line` is a line for logs if there are no messages.
    """

    messages: tuple[Message, ...] = ()
    group: str = ""
    by_person: bool = False
    continues: bool = False
    compaction: CompactionView | None = None
    branch: BranchView | None = None
    settings: SettingsView | None = None
    label: LabelView | None = None
    title: TitleView | None = None
    prompt: PromptView | None = None
    usage: UsageView | None = None
    requests: tuple[RequestView, ...] = ()
    extension: Extension | None = None
    folder: str = ""
    line: str = ""

    @property
    def summary(self) -> SummaryView | None:
        """The summary in the record, of whatever kind."""
        return self.compaction or self.branch


NOTHING = View()
"""The view of a record without meaning above the store."""


class ResultReplacement(TextReplacement, frozen=True, kw_only=True):
    """The content that contexts show instead of the result of the call `call`.

    A format leaves `target` empty: the entry with the result is looked up where the rewrite takes effect.
    """

    call: str
    target: str = ""


class Certainty(IntEnum):
    """A format's certainty that a source is of its harness."""

    NONE = 0
    POSSIBLE = 1
    SURE = 2


Export: TypeAlias = Callable[[Snapshot, str], Iterator[bytes]]
"""Yields a session of any harness as one harness's file."""


class Format(Protocol):
    """Everything about how one harness writes its sessions."""

    name: str
    """The harness's name, as in `--format`."""
    versions: tuple[str, ...]
    """The names of its records in frames, such as "pi/3"; each is in `eventstore.frame.FORMATS`."""
    tools: Tools
    prompt_kinds: frozenset[str] = frozenset()
    """Kinds of its records that may contain a prompt."""
    infers_model: bool = False
    """True if an answer sets the model only where no record on its path does."""
    kinds_of_two: frozenset[str] = frozenset()
    """Kinds of records that need their parent's record for `view` and `facts`."""
    places: tuple[SessionLocation, ...]
    """The folders of the harness's sessions."""
    exports: Mapping[str, Export]
    """The exporters of its files by name, as in `--format`."""

    def view(self, version: str, kind: str, record: bytes, parent: bytes | None = None) -> View:
        """Return a record's meaning; `parent` is its parent's record, for `kinds_of_two`."""

    def continues(self, kind: str, record: bytes) -> bool:
        """Return `view(...).continues` of a user's or extension's message, decoding little."""

    def by_person(self, version: str, kind: str, record: bytes) -> bool:
        """Return `view(...).by_person` of a user's or extension's message, unless it `continues`."""
        return self.view(version, kind, record).by_person

    def rewrites(self, version: str, record: bytes) -> Sequence[TextReplacement]:  # noqa: ARG002  others ask it
        """Return the replacements of a `rewrite` record, oldest first; "" may show nothing.

        A `ResultReplacement` is for a harness that names calls rather than records.
        """
        return ()

    def converts(self, other: Format) -> bool:
        """Return True if its exports convert another format's messages; else they become data."""
        return other is self

    def folder(self, header: bytes) -> str:  # noqa: ARG002  others ask it
        """Return the working folder in the header of a source, "" if it names none."""
        return ""

    def message(self, raw: bytes) -> Message:
        """Return the view of a message in a context: JSON in the harness's shape."""

    def api_blocks(self, raw: bytes) -> Sequence[bytes]:  # noqa: ARG002  others are asked
        """Return the JSON of each block of a message if they are the Messages API's, () otherwise.

        They are those of the view, except that a tool result is a single block.
        """
        return ()

    def payloads(self, raw: bytes) -> list[Payload]:
        """Return the contents that the view of such a message omits, block by block."""

    def facts(self, version: str, kind: str, record: bytes, parent: bytes | None = None) -> EventFacts:
        """Extract the facts that the log stores beside a record.

        Set `needs_source` if only the source resolves the target.
        """

    def recognize(self, beginning: bytes, path: str | os.PathLike[str]) -> Certainty:
        """Return the certainty that a file is the harness's, by its first 64 KiB."""

    def open(self, source: Source) -> SourceContents:
        """Open a source. Raises BadInputError if it is not the harness's or cannot be read."""

    def is_exported(self, snapshot: Snapshot, event: NewEvent, stored: Event) -> bool:
        """Return True if a record equals an export of the stored event with its id."""
