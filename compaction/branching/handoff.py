"""Going on in a new session that gets a document, and nothing else, of the one before."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import msgspec

from compaction.prompts import live_prompt, output_budget
from compaction.summarizers.chain import SummarizerChain, recording_failed_attempt
from compaction.templates import Source, find_template, with_session
from compaction.triggers import DEFAULT_RESERVE
from eventstore.checked import checked
from eventstore.errors import BadInputError, NotFoundError, VersionConflictError
from eventstore.formats.base import PromptView
from eventstore.records import CustomMessage, Link, ModelChange, Record
from eventstore.writing import SessionWriter
from projections.context.build import context_at
from projections.context.cursor import Leaf, resolve_cursor
from projections.settings import Settings, harness_prompt

HANDOFF: Final = "handoff"
"""The template's name, and the type of the message that holds the document."""


class HandoffResult(msgspec.Struct, frozen=True, kw_only=True):
    """The new session, what its document says, and the ids of its first events."""

    session: str
    document: str
    missing: list[str]
    events: list[str]


def hand_off(
    writer: SessionWriter,
    new: SessionWriter,
    chain: SummarizerChain,
    *,
    system: str = "",
    tools: bytes = b"",
    instructions: str = "",
    sources: Sequence[Source] = (),
    reserve: int = DEFAULT_RESERVE,
    leaf: Leaf = None,
) -> HandoffResult:
    """Have a document written by the real messages and a template, and begin a new session with it.

    The session itself gets no compaction, and stays as it is; the document is of the context at `leaf`. `system`
    is the harness's own system prompt and `tools` its definitions, a JSON list; what is left out is taken from
    the log, where it has them. No tool may be called. The new session begins with a link to its parent, the
    model in use, and the document as a message that people see, too. Raises SummarizersFailedError, CancelledError,
    BadInputError for a session without messages, VersionConflictError where the new one exists. Where it has come to
    be while the document was written, an `attempt` in the session itself keeps the document.
    """
    _check_is_new(new)
    with checked(writer.log) as snapshot:
        cursor = resolve_cursor(snapshot, writer.session, leaf=leaf)
        context = context_at(snapshot, cursor)
        template = find_template(HANDOFF, with_session(sources, snapshot, cursor))
        sent = PromptView(system=system, tools=tools).or_else(harness_prompt(snapshot, cursor))
    if not context.parts:
        raise BadInputError(f"session {writer.session!r}", "has no messages to hand off", "name another")
    prompt = live_prompt(
        template,
        context.parts,
        system=sent.system,
        max_tokens=output_budget(reserve),
        instructions=instructions,
        tools=sent.tools,
        forbids_tools=True,
    )
    with recording_failed_attempt(writer, HANDOFF):
        asked = chain.summarize(prompt)
    document = CustomMessage(
        custom_type=HANDOFF, content=asked.text, display=True, details={"requests": asked.requests}
    )
    records: list[Record] = [
        Link(relation="parent", session=writer.session, event=context.leaf or ""),
        *_model(context.settings),
        document,
    ]
    with recording_failed_attempt(writer, HANDOFF, answered=asked.requests):
        events = new.append(*records, parent=None, expected="new")
    return HandoffResult(session=new.session, document=asked.text, missing=asked.missing, events=events)


def _check_is_new(new: SessionWriter) -> None:
    """Raise VersionConflictError where the session is there before anybody is asked for anything."""
    with new.log.snapshot() as snapshot, suppress(NotFoundError):
        raise VersionConflictError(new.session, "new", snapshot.head(new.session).version)


def _model(settings: Settings) -> list[Record]:
    model = settings.model
    if model is None or not isinstance(model.provider, str) or not isinstance(model.model_id, str):
        return []
    return [ModelChange(provider=model.provider, model_id=model.model_id)]
