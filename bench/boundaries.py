"""Find where real sessions were compacted, and where policies would compact them.

For each place, collect the messages summarized and what later work used of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from compaction.part import Limits
from compaction.plan import plan_compaction
from compaction.policy.load import load_preset
from compaction.prompts import serialize, serialized_prompt
from compaction.summarizers import Summarizer
from compaction.summarizers.chain import SummarizerChain, never
from compaction.summary import summarize_plan
from compaction.templates import load_built_in
from eventstore.event import Event
from eventstore.formats.refold.events import compose
from eventstore.frame import decode
from eventstore.log import Snapshot
from eventstore.preview import Preview
from eventstore.records import Compaction
from eventstore.views import Message, Text
from projections.audit.future_use import future_use
from projections.context.cursor import Cursor, path, resolve_cursor
from projections.context.parts import Part, view_of_part
from projections.mentions import MentionKind
from projections.mentions.mention_index import MentionIndex
from projections.mentions.message_facts import SessionFacts, message_facts
from projections.mentions.path_names import PathIndex
from projections.replacement import Replacement, replacement_of
from projections.tokens import counter

FILES: Final = ("pi-mono-before-compaction.v3.jsonl", "pi-mono-large-session.v1.jsonl")
POLICIES: Final = ("pi", "oh-my-pi", "opencode", "layered")
PLACES: Final = 4
"""The number of places at which each policy cuts a session, evenly spaced; the last is the leaf."""
KINDS: Final = (MentionKind.PATH, MentionKind.COMMAND, MentionKind.ERROR)
_LIMITS: Final = Limits(window=200_000)
_MOST: Final = 13_107
"""Maximum tokens of a summary in pi."""


class Boundary(msgspec.Struct, frozen=True, kw_only=True):
    """A place where a summary replaces messages.

    `parts` are those messages, `first_kept` is the first kept entry, `later` what came after `leaf`.
    `summary` is a summarizer's, `recorded` the session's own, "" for none.
    """

    session: str
    name: str
    leaf: str
    first_kept: str
    parts: tuple[Part, ...]
    later: Sequence[Event]
    summary: str
    recorded: str = ""

    @property
    def conversation(self) -> str:
        """The messages as a summarizer reads them."""
        return serialize(self.parts)

    @property
    def truncated(self) -> str:
        """The beginning and end of the conversation, together as long as the summary."""
        text, length = self.conversation, len(self.summary)
        if len(text) <= length:
            return text
        return text[: length // 2] + text[len(text) - (length - length // 2) :]


def boundaries(snapshot: Snapshot, session: str, summarizer: Summarizer) -> Iterator[Boundary]:
    """Yield a session's recorded compactions, then the cuts that presets would make."""
    cursor = resolve_cursor(snapshot, session)
    entries = path(snapshot, cursor)
    for place, entry in enumerate(entries):
        if entry.kind == "compaction":
            yield _recorded(snapshot, cursor, entries, place, summarizer)
    for quarter in range(1, PLACES + 1):
        place = len(entries) * quarter // PLACES - 1
        # A request follows a person's message or a result.
        while entries[place].role in ("", "assistant"):
            place -= 1
        here = cursor.at_leaf(entries[place].seq)
        made = (_made(snapshot, here, entries[place:], policy, summarizer) for policy in POLICIES)
        yield from filter(None, made)


def _recorded(
    snapshot: Snapshot, cursor: Cursor, entries: Sequence[Event], place: int, summarizer: Summarizer
) -> Boundary:
    replacement = replacement_of(entries[place], snapshot, cursor)
    before = [view_of_part(part).text for part in replacement.removed if part.kind == "compaction"]
    parts = tuple(part for part in replacement.removed if part.kind != "compaction")
    template = load_built_in("compaction-update" if before else "compaction")
    assert template is not None
    assert replacement.summary is not None
    prompt = serialized_prompt(template, parts, system="", max_tokens=_MOST, previous="".join(before))
    kept = snapshot.frame(cursor.session, entries[place].target_seq)
    return Boundary(
        session=cursor.session,
        name=f"#{entries[place].seq} as recorded",
        leaf=entries[place - 1].id,
        first_kept=decode(kept, cursor.session).id,
        parts=parts,
        later=entries[place + 1 :],
        summary=summarizer.summarize(prompt, is_cancelled=never).text,
        recorded=view_of_part(replacement.summary).text,
    )


def _made(
    snapshot: Snapshot, here: Cursor, rest: Sequence[Event], name: str, summarizer: Summarizer
) -> Boundary | None:
    """Return a policy's cut at a leaf."""
    policy = load_preset(name)
    tokens = counter(policy.counter)
    plan = plan_compaction(snapshot, here, policy, limits=_LIMITS, tokens=tokens)
    if isinstance(plan, str):
        return None
    summary = summarize_plan(plan, policy.prompting, SummarizerChain(summarizers=[summarizer]), tokens=tokens)
    return Boundary(
        session=here.session,
        name=f"#{here.leaf} {name}",
        leaf=rest[0].id,
        first_kept=plan.cut.first_kept,
        parts=plan.to_summarize + plan.turn_prefix,
        later=rest[1:],
        summary=summary.text,
    )


def things(boundary: Boundary) -> tuple[dict[MentionKind, list[str]], PathIndex]:
    """Return the distinct paths, commands and errors in messages, and all paths."""
    facts = SessionFacts()
    held = [facts.of_part(part) for part in boundary.parts]
    paths = PathIndex(path for each in held for path in each.paths)
    named = {kind: [value for each in held for value in each.mentions.get(kind, ())] for kind in KINDS}
    named[MentionKind.PATH] = list(map(paths.longest_form, named[MentionKind.PATH]))
    return {kind: list(dict.fromkeys(values)) for kind, values in named.items()}, paths


def named(text: str, values: Mapping[MentionKind, Sequence[str]], paths: PathIndex) -> dict[MentionKind, int]:
    """Count the things that a text names, by kind."""
    index = MentionIndex([message_facts(0, "", Message(role="user", blocks=(Text(text),)))], paths)
    return {kind: sum(index.contains(kind, value) for value in each) for kind, each in values.items()}


def used_later(snapshot: Snapshot, boundary: Boundary, *summaries: str) -> list[float | None]:
    """Return the share of later used things that the context names, for each summary.

    Return None if nothing that was summarized is used again.
    """
    facts = SessionFacts()
    return [future_use(_replacement(snapshot, boundary, summary), facts).share for summary in summaries]


def _replacement(snapshot: Snapshot, boundary: Boundary, summary: str) -> Replacement:
    record = Compaction(summary=summary, first_kept_entry_id=boundary.first_kept, tokens_before=0)
    event = compose(record, id="summary", time=None, parent=boundary.leaf)
    preview = Preview(snapshot, boundary.session, [event])
    cursor = resolve_cursor(preview, boundary.session)
    made = decode(preview.frame(cursor.session, cursor.leaf), cursor.session)
    return replacement_of(made, preview, cursor, later=boundary.later)
