"""Define what a record means, whatever harness wrote it: the vocabulary of every fold."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final

import msgspec

from eventstore.records import FileSets, TextReplacement
from eventstore.views import Extension, Message, Usage

CONTINUES: Final = "compaction_continue"
"""The mark of continuation messages: in their metadata, or as an extension's message type."""
NO_HISTORY: Final = "No prior history."
"""Stands for a summary of the history where there is none."""
SPLIT_TURN: Final = "\n\n---\n\n**Turn Context (split turn):**\n\n"
"""The text between a summary of the history and that of a split turn's beginning."""
REQUESTS: Final = "\n\n---\n\n**Requests, word for word:**\n\n"
"""The text between a summary and requests that it repeats, if no turn is split."""


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
    it can read, so that the summary says nothing; "" for a summary in words. `skips_kept`: what the compaction
    above kept is in no summary, because this one begins behind that compaction.
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
    skips_kept: bool = False


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


class ContentReplacement(TextReplacement, frozen=True, kw_only=True):
    """The content, as JSON, that contexts show instead of a message's; b"" for no message."""

    content: bytes


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """The meaning of one record; each aspect that it lacks is empty.

    `messages` go to the model. Records of one `group` form one message together; its usage counts once. With
    `joins_answer`, the record forms one message with the answer's record right above, unless that has a usage.
    `by_person` means that a person wrote the message, `continues` that it is a continuation after a
    compaction, which is by nobody. `restores` means that it shows content again if it directly follows a compaction.
    `rewrites` are the replacements of a `rewrite`, oldest first; "" may show nothing. `folder` is the working folder
    at that time, for a header too. `usage` is that of the message in the event `target`, recorded later. `requests` are
    those for its summary, or for a failed one. `line` is a line for logs if there are no messages. `typed` is
    what a person typed while the model worked, in a record beside the messages.

    `raw` is the JSON of a message that contexts show as recorded. `target` is the id of the event that this one refers
    to; with `needs_source`, only the whole source tells. `flags` is a sum of `Flag`s that nothing else here says.
    Without `is_sent`, the harness shows the message, but sends it to no model.
    """

    messages: tuple[Message, ...] = ()
    group: str = ""
    joins_answer: bool = False
    by_person: bool = False
    continues: bool = False
    restores: bool = False
    compaction: CompactionView | None = None
    rewrites: tuple[TextReplacement, ...] = ()
    branch: BranchView | None = None
    settings: SettingsView | None = None
    label: LabelView | None = None
    title: TitleView | None = None
    prompt: PromptView | None = None
    usage: Usage | None = None
    requests: tuple[RequestView, ...] = ()
    extension: Extension | None = None
    folder: str = ""
    line: str = ""
    typed: str = ""
    raw: bytes = b""
    target: str | None = None
    needs_source: bool = False
    flags: int = 0
    is_sent: bool = True

    @property
    def message(self) -> Message | None:
        """The first message, None if the model gets none."""
        return self.messages[0] if self.messages else None

    @property
    def summary(self) -> SummaryView | None:
        """The summary in the record, of whatever kind."""
        return self.compaction or self.branch


NOTHING = Node()
"""A record without meaning above the store."""
