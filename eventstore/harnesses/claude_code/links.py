"""Link Claude Code's sessions: agents to the calls that started them, copies to originals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from math import inf
from typing import Final, Literal

from eventstore.event import Event, NewEvent
from eventstore.harnesses.claude_code.api_message import content_of, items_of, view_of, wire_of
from eventstore.harnesses.claude_code.record import Fields
from eventstore.harnesses.names import is_name, stored_id
from eventstore.harnesses.refold.events import compose
from eventstore.harnesses.source import DerivedEvent, KnownEvents
from eventstore.imports import CONTEXT_LINK, origin_link, started_link
from eventstore.javascript import tolerant_json
from eventstore.records import Link

_AGENT: Final = "/agent-"
"""Separates the parent session's name from the agent's in the name of an agent's session."""
_LONGEST_NAME: Final = 100
"""Maximum characters of a composed session name, so that it fits the limit in bytes."""
_AGENT_TOOLS: Final = frozenset({"Task", "Agent"})


def session_of_agent(session: str, agent: str) -> str:
    """Return the name of an agent's session."""
    return _short(f"{session}{_AGENT}{agent}")


def session_of_sidechain(session: str, root: str) -> str:
    """Return the session name of a sidechain that names no agent, derived from its first record."""
    return _short(f"{session}/sidechain-{root}")


def _short(name: str) -> str:
    """Return a name of few enough bytes, a long one with a digest in place of its end."""
    if len(name) <= _LONGEST_NAME:
        return name
    digest = sha256(name.encode()).hexdigest()[:16]
    return f"{name[: _LONGEST_NAME - 1 - len(digest)]}-{digest}"


class Links:
    """Find the links that one source's records imply, record by record."""

    def __init__(
        self,
        session: str,
        sessions: Sequence[str],
        known: KnownEvents,
        version: str,
        *,
        begun: set[int],
        newest: str | None,
    ) -> None:
        """Start to find links in the file of a session or of its agent.

        `sessions` are those in the file, `begun` the places of those that have records already, `newest` is the
        first one's newest record in the tree. `version` is the records' format.
        """
        self._session, self._sessions, self._known, self._version = session, sessions, known, version
        self._is_of_agent = session != sessions[0]
        self._begun, self._newest = begun, newest
        self._copies: _Copies | None = None
        self._prompts: dict[str, str] = {}

    def of(self, place: int, event: NewEvent, fields: Fields) -> list[DerivedEvent]:
        """Return the links that a record implies."""
        found: list[DerivedEvent] = []
        if fields.type == "fork-context-ref":
            parent, last = fields.parentSessionId, fields.parentLastUuid
            if isinstance(parent, str) and is_name(parent) and isinstance(last, str) and is_name(last):
                found.append(
                    DerivedEvent(_link("parent", parent, stored_id(last), CONTEXT_LINK), session=place)
                )
        if not fields.is_chained:
            return found
        if is_new := place not in self._begun:
            self._begun.add(place)
        if place == 0 and not self._is_of_agent:
            if fields.type == "assistant":
                self._note_prompts(event.id, fields)
            elif agent := fields.agent:
                found += self._started(event.id, fields, agent)
            found += self._copied(event.id, event.time)
        elif is_new:
            found += self._started_by(place, fields)
        return found

    def _note_prompts(self, event_id: str, fields: Fields) -> None:
        """Note the calls in an answer that start an agent, by their prompts."""
        if b'"prompt"' in fields.raw_message:
            for block in map(tolerant_json, items_of(content_of(wire_of(fields.raw_message)))):
                given = block.get("input")
                if block.get("name") in _AGENT_TOOLS and isinstance(given, dict):
                    self._prompts[str(given.get("prompt"))] = event_id

    def _started(self, event_id: str, fields: Fields, agent: str) -> Iterator[DerivedEvent]:
        """Yield the links between a call and its agent's session, read from its result."""
        child = session_of_agent(self._session, agent)
        source = fields.sourceToolAssistantUUID
        call = stored_id(source) if isinstance(source, str) and is_name(source) else event_id
        link = _link("subagent", self._known.name(0), call, origin_link("subagent", call))
        if child in self._sessions:
            place = self._sessions.index(child)
            yield DerivedEvent(_link("child", self._known.name(place), call, started_link(child)))
            yield DerivedEvent(link, session=place)
        else:
            yield DerivedEvent(_link("child", child, call, started_link(child)))
            yield DerivedEvent(link, into=child)

    def _started_by(self, place: int, fields: Fields) -> Iterator[DerivedEvent]:
        """Yield the links from an agent's session or a sidechain to the call that started it."""
        name = started_link(self._sessions[place])
        parent = self._session if self._is_of_agent else self._known.name(0)
        call = ""
        if place and (call := self._prompts.get(view_of(fields.raw_message or b"{}").text, "")):
            yield DerivedEvent(_link("child", self._known.name(place), call, name))
        elif started := self._known.event(parent, name):
            call = _call_of(started)
        elif self._is_of_agent and (others := self._known.sessions_with(name)):
            # The parent was imported under another name.
            parent = others[0]
            if started := self._known.event(parent, name):
                call = _call_of(started)
        yield DerivedEvent(_link("subagent", parent, call, origin_link("subagent", call)), session=place)

    def _copied(self, event_id: str, time: int | None) -> Iterable[DerivedEvent]:
        """Return the links to sessions that begin alike, at the first record that none of them has."""
        last, self._newest = self._newest, event_id
        if self._copies is None:
            # An earlier reading may have ended before the sessions differed.
            self._copies = _Copies(self._known, self._version, self._session, last or event_id)
        if self._copies.go_on(event_id):
            return ()
        others = self._copies.end()
        return self._forks(others, last, inf if time is None else time) if last else ()

    def at_end(self) -> Iterator[DerivedEvent]:
        """Yield the links to copies that continue where this session ends."""
        if (last := self._newest) and self._copies is not None:
            longer = self._copies.end(lambda each: self._goes_on(each, last) > -inf)
            yield from self._forks(longer, last, -inf)

    def _forks(self, others: Sequence[str], last: str, time: float) -> Iterator[DerivedEvent]:
        """Yield links between sessions that are equal up to record `last`, before one at `time`.

        No record names the original: it is the session that ends there, else the one that continues first.
        """
        own, link_id = self._known.name(0), origin_link("fork", last)
        # A known copy is no original, so that no two sessions are copies of each other.
        times = {name: self._goes_on(name, last) for name in others if not self._known.event(name, link_id)}
        if not times or self._known.event(own, link_id):
            return
        original = min(({own: time} | times).items(), key=lambda each: (each[1], each[0]))[0]
        for copy in times if original == own else (own,):
            link = _link("fork", original, last, link_id)
            yield DerivedEvent(link, into="" if copy == own else copy)

    def _goes_on(self, session: str, event_id: str) -> float:
        """Return the time of a session's next record: -inf if there is none, inf if it has no time."""
        found = self._known.next(session, event_id)
        if found is None:
            return -inf
        return inf if found.time is None else found.time


class _Copies:
    """The sessions of other files that have all records of this one so far.

    Only one of them is asked for each record, because a store may have hundreds of copies; whether the others have
    them all is found out when it matters.
    """

    def __init__(self, known: KnownEvents, version: str, session: str, event_id: str) -> None:
        """Find the sessions with the record that a reading of `session` begins behind, or with."""
        self._known, self._version = known, version
        self._met = [event_id]
        self._names = [
            each
            for each in known.sessions_with(event_id)
            # A session's own agents are no copies of it.
            if not each.startswith(f"{session}/") and self._has(each, event_id)
        ]

    def go_on(self, event_id: str) -> bool:
        """Go on to the next record; return False instead if none of them has it."""
        names = self._names
        if not names:
            return True
        if not self._has(names[0], event_id):
            others = (
                at for at, each in enumerate(names) if self._has(each, event_id) and self._has_all(each)
            )
            at = next(others, None)
            if at is None:
                return False
            del names[:at]
        self._met.append(event_id)
        return True

    def end(self, may_count: Callable[[str], bool] = lambda _: True) -> Sequence[str]:
        """Forget the sessions; return those with all records, among the ones that may count."""
        names, self._names = self._names, []
        return [each for each in names if may_count(each) and (each is names[0] or self._has_all(each))]

    def _has_all(self, session: str) -> bool:
        # Most others lack the newest.
        return all(self._has(session, each) for each in reversed(self._met))

    def _has(self, session: str, event_id: str) -> bool:
        """Return True if a session has this event from one of Claude Code's own records."""
        found = self._known.event(session, event_id)
        return found is not None and found.format == self._version


def _call_of(started: Event) -> str:
    return str(tolerant_json(started.body).get("event", ""))


def _link(
    relation: Literal["fork", "subagent", "child", "parent"], session: str, event: str, name: str
) -> NewEvent:
    return compose(Link(relation=relation, session=session, event=event), id=name, time=None)
