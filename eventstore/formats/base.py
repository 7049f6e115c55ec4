"""The protocol of a format: names, tools, typed views of its records, and the sources that it opens."""

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
"""The mark of messages that go on after a compaction: in their metadata, or as the type of an extension's message."""


class Editor(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that views or changes files: by the value of `command` it only `views`, and `paths` name the files."""

    command: str
    views: str
    paths: tuple[str, ...]


class Tools(msgspec.Struct, frozen=True, kw_only=True):
    """The tools of a harness, as data: which of them do what, and which argument says to what.

    `reads` and `modifies` map a tool to the arguments that may name its file, in order, `shells` to those that may hold
    the script. The arguments of `patches` hold patches, the newest call of one of `plans` holds the current plan. In
    calls of any tool, `paths` are the arguments that may name a file or an address, `scripts` those that may hold a
    command, in order; `ranges` those that choose lines of a file. `selector` matches the selector of lines in
    which a path that is read may end.
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
    """A request for a summary: who was asked, with which prompt, and what came of it.

    `provider` and `model` answered, None where the record does not say; `template` is the prompt's. `usage` is None
    where nothing was counted. `answer` is the text, None where there was none; `is_cut`: it ended at its limit.
    """

    summarizer: str = ""
    provider: Any = None
    model: str | None = None
    template: str | None = None
    usage: Usage | None = None
    is_failed: bool = False
    prompt_digest: str = ""
    answer: str | None = None
    is_cut: bool = False


class SummaryView(msgspec.Struct, frozen=True, kw_only=True):
    """A summary, as its record describes it; None and "" where it says nothing.

    `missing_sections` are those that the template asks for and the summary lacks. `files` are those that the record
    claims, None where an extension wrote it.
    """

    summary: str = ""
    template: str = ""
    missing_sections: tuple[str, ...] = ()
    files: FileSets | None = None


class CompactionView(SummaryView, frozen=True, kw_only=True):
    """A compaction, as its record describes it.

    `kept` lists the ids of the messages that stay, where the harness lists them; `keeps_before`: they stand before the
    summary in the context, not behind it.
    """

    tokens_before: int | None = None
    tokens_after: int | None = None
    reason: str = ""
    policy: str = ""
    by_extension: bool = False
    kept: tuple[str, ...] | None = None
    keeps_before: bool = False


class BranchView(SummaryView, frozen=True, kw_only=True):
    """A branch summary, as its record describes it: `left` is the id of the leaf that was left."""

    left: str = ""


class SettingsView(msgspec.Struct, frozen=True, kw_only=True):
    """The settings that a record puts in use; UNSET where it has no such field."""

    provider: Any = msgspec.UNSET
    model: Any = msgspec.UNSET
    thinking_level: Any = msgspec.UNSET


class LabelView(msgspec.Struct, frozen=True, kw_only=True):
    """A label that is set on the event with an id, or taken away ("")."""

    target: str
    label: str = ""


class TitleRank(IntEnum):
    """The author of a title. The titles of the highest rank count."""

    SUMMARY = 0
    """The harness: it is a summary of the session, or its beginning."""
    MODEL = 1
    """A model that was asked for one."""
    PERSON = 2
    """A person, or a tool in a person's name."""


class TitleView(msgspec.Struct, frozen=True, kw_only=True):
    """A title of the session. Of several of the highest rank, the newest holds.

    A record of another kind than `session_info` that has one needs `Flag.GIVES_TITLE` among its facts.
    """

    text: str
    rank: TitleRank = TitleRank.PERSON


class PromptView(msgspec.Struct, frozen=True, kw_only=True):
    """A system prompt, and tool definitions as a JSON list; "" and b"" where the record has none."""

    system: str = ""
    tools: bytes = b""

    def or_else(self, other: PromptView) -> PromptView:
        """Return the same with what it lacks taken from another."""
        return PromptView(system=self.system or other.system, tools=self.tools or other.tools)


class UsageView(msgspec.Struct, frozen=True, kw_only=True):
    """A usage that comes in a later record: `about` is the id of the event with the message that it was paid for."""

    about: str
    usage: Usage


class View(msgspec.Struct, frozen=True, kw_only=True):
    """The meaning of one record, in refold's words; every aspect that it says nothing of is empty.

    `messages` are what it tells a model. Records of one `group` make one message together; its usage counts once.
    `by_person`: a human wrote the message. `continues`: it goes on after a compaction, and no person said it.
    `requests` are those for its summary, or for one that came to nothing. `line` is a line for logs where the messages
    give none.
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
    line: str = ""

    @property
    def summary(self) -> SummaryView | None:
        """The summary in the record, whatever it stands for."""
        return self.compaction or self.branch


NOTHING = View()
"""The view of a record that says nothing to anybody above the store."""


class ResultReplacement(TextReplacement, frozen=True, kw_only=True):
    """The content that contexts show instead of the result of the tool call with the id `call`.

    A format leaves `target` empty: the entry with the result is looked for where the rewrite has its effect.
    """

    call: str
    target: str = ""


class Certainty(IntEnum):
    """The certainty of a format that a source is of its harness."""

    NONE = 0
    POSSIBLE = 1
    SURE = 2


Export: TypeAlias = Callable[[Snapshot, str], Iterator[bytes]]
"""Yields a session of any harness as a file of one harness."""


class Format(Protocol):
    """Everything that knows how one harness writes its sessions."""

    name: str
    """The harness's name, as people give it to `--format`."""
    versions: tuple[str, ...]
    """The names that its records have in frames, as "pi/3"; each stands in `eventstore.frame.FORMATS`."""
    tools: Tools
    prompt_kinds: frozenset[str] = frozenset()
    """The kinds of its records that may hold a prompt."""
    infers_model: bool = False
    """True if an answer tells the model in use only where nothing on its path has put one in use."""
    kinds_of_two: frozenset[str] = frozenset()
    """The kinds of its records that say something together with their parent's: `view` and `facts` get that one too."""
    places: tuple[SessionLocation, ...]
    """The folders in which the harness keeps its sessions."""
    exports: Mapping[str, Export]
    """The files of its own that it can be given, by the names that people give to `--format`."""

    def view(self, version: str, kind: str, record: bytes, parent: bytes | None = None) -> View:
        """Return what a record says; `parent` is its parent's, for `kinds_of_two` and where there is one."""

    def continues(self, kind: str, record: bytes) -> bool:
        """Return `view(...).continues` of a user's or an extension's message, decoding as little as may be."""

    def by_person(self, version: str, kind: str, record: bytes) -> bool:
        """Return `view(...).by_person` of a user's or an extension's message that does not `continue`."""
        return self.view(version, kind, record).by_person

    def rewrites(self, version: str, record: bytes) -> Sequence[TextReplacement]:  # noqa: ARG002  others ask it
        """Return what a record of the kind `rewrite` shows otherwise, oldest first; "" may show nothing at all.

        A `ResultReplacement` is for a harness that names calls and not records.
        """
        return ()

    def message(self, raw: bytes) -> Message:
        """Return the view of a message as it stands in a context: its JSON in the harness's shape."""

    def result_block(self, raw: bytes) -> bytes:  # noqa: ARG002  others are asked
        """Return the JSON of the one `tool_result` block of the Messages API that a message is; b"" if it is none."""
        return b""

    def payloads(self, raw: bytes) -> list[Payload]:
        """Return what the view of such a message leaves out, block for block."""

    def facts(self, version: str, kind: str, record: bytes, parent: bytes | None = None) -> EventFacts:
        """Return what the log keeps of a record beside its bytes; `needs_source` if it cannot tell the target."""

    def recognize(self, beginning: bytes, path: str | os.PathLike[str]) -> Certainty:
        """Return how sure it is, by the first 64 KiB of a file, that the harness wrote it."""

    def open(self, source: Source) -> SourceContents:
        """Open a source. Raises BadInputError for one that is not the harness's, or cannot be read."""

    def is_exported(self, snapshot: Snapshot, event: NewEvent, stored: Event) -> bool:
        """Return True if a record is what an export makes of the stored event with its id."""
