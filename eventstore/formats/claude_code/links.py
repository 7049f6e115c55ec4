"""Link Claude Code's sessions: agents to the calls that started them, copies to originals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal

from eventstore.event import NewEvent
from eventstore.formats.claude_code.api_message import content_of, items_of, view_of, wire_of
from eventstore.formats.claude_code.record import Fields
from eventstore.formats.pi.entry import is_name, stored_id
from eventstore.formats.refold.events import compose
from eventstore.formats.source import DerivedEvent, KnownEvents
from eventstore.imports import origin_link, started_link
from eventstore.javascript import tolerant_json
from eventstore.records import Link

AGENT: Final = "/agent-"
"""Separates the parent session's name from the agent's in the name of an agent's session."""
CONTEXT_LINK: Final = "started-context"
"""The id of the link from an agent's session to where its context continues in its parent."""
_LONGEST_NAME: Final = 100
"""Maximum characters of a composed session name, so that it fits the limit in bytes."""
_AGENT_TOOLS: Final = frozenset({"Task", "Agent"})


def session_of_agent(session: str, agent: str) -> str:
    """Return the name of an agent's session."""
    return f"{session}{AGENT}{agent}"[:_LONGEST_NAME]


def session_of_sidechain(session: str, root: str) -> str:
    """Return the session name of a sidechain that names no agent, derived from its first record."""
    return f"{session}/sidechain-{root}"[:_LONGEST_NAME]


class Links:
    """Find the links that one source's records imply, record by record."""

    def __init__(
        self, sessions: Sequence[str], known: KnownEvents, version: str, *, is_of_agent: bool, begun: set[int]
    ) -> None:
        """`version` is the format of the records; `begun` are the places of sessions that have some."""
        self._version = version
        self._sessions, self._known, self._is_of_agent = sessions, known, is_of_agent
        self._begun = begun
        self._sharing: tuple[Sequence[str], str] = ((), "")
        self._prompts: dict[str, str] = {}

    def of(self, place: int, event_id: str, fields: Fields) -> Iterator[DerivedEvent]:
        """Yield the links that a record implies."""
        if fields.type == "fork-context-ref":
            parent, last = fields.parentSessionId, fields.parentLastUuid
            if isinstance(parent, str) and is_name(parent) and isinstance(last, str) and is_name(last):
                yield DerivedEvent(_link("parent", parent, stored_id(last), CONTEXT_LINK), session=place)
        if not fields.is_chained:
            return
        is_new = place not in self._begun
        self._begun.add(place)
        if place == 0 and not self._is_of_agent:
            yield from self._started(event_id, fields)
            yield from self._copied(event_id, is_first=is_new)
        elif is_new:
            yield from self._started_by(place, fields)

    def _started(self, event_id: str, fields: Fields) -> Iterator[DerivedEvent]:
        """Yield the links between a call and the agent's session it started, read from its result."""
        if fields.type == "assistant" and b'"prompt"' in fields.raw_message:
            for block in map(tolerant_json, items_of(content_of(wire_of(fields.raw_message)))):
                given = block.get("input")
                if block.get("name") in _AGENT_TOOLS and isinstance(given, dict):
                    self._prompts[str(given.get("prompt"))] = event_id
        if not fields.agent:
            return
        child = session_of_agent(self._sessions[0], fields.agent)
        source = fields.sourceToolAssistantUUID
        call = stored_id(source) if isinstance(source, str) and is_name(source) else event_id
        yield DerivedEvent(_link("child", child, call, started_link(child)))
        link = _link("subagent", self._sessions[0], call, origin_link("subagent", call))
        if child in self._sessions:
            yield DerivedEvent(link, session=self._sessions.index(child))
        else:
            yield DerivedEvent(link, into=child)

    def _started_by(self, place: int, fields: Fields) -> Iterator[DerivedEvent]:
        """Yield the links from an agent's session or a sidechain to the call that started it."""
        own = self._sessions[place]
        parent = own.partition(AGENT)[0] if self._is_of_agent else self._sessions[0]
        call = ""
        if place and (call := self._prompts.get(view_of(fields.raw_message or b"{}").text, "")):
            yield DerivedEvent(_link("child", own, call, started_link(own)))
        elif started := self._known.event(parent, started_link(own)):
            call = str(tolerant_json(started.body).get("event", ""))
        yield DerivedEvent(_link("subagent", parent, call, origin_link("subagent", call)), session=place)

    def _copied(self, event_id: str, *, is_first: bool) -> Iterator[DerivedEvent]:
        """Yield the link to the session whose beginning this one copied, at the end of the copy.

        Nothing distinguishes copy and original, so the first name in sort order counts as the original.
        """
        others, last = self._sharing
        sharing: Sequence[str] = ()
        if is_first or others:
            sharing = [
                name
                for name in self._known.sessions_with(event_id, None if is_first else others)
                if not name.startswith(f"{self._sessions[0]}/") and self._is_ours(name, event_id)
            ]
        self._sharing = sharing, event_id
        if sharing or not others:
            return
        own, name = self._sessions[0], origin_link("fork", last)
        original = min(own, *others)
        for copy in others if original == own else (own,):
            # If several copies end at the same event, one may already be linked.
            if self._known.event(copy, name) is None:
                link = _link("fork", original, last, name)
                yield DerivedEvent(link, into="" if copy == own else copy)

    def _is_ours(self, session: str, event_id: str) -> bool:
        """Return True if a session has this event from one of Claude Code's own records."""
        found = self._known.event(session, event_id)
        return found is not None and found.format == self._version


def _link(
    relation: Literal["fork", "subagent", "child", "parent"], session: str, event: str, name: str
) -> NewEvent:
    return compose(Link(relation=relation, session=session, event=event), id=name, time=None)
