"""Link rollouts to those that they continue or copy, and agents to their calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal

from eventstore.event import NewEvent
from eventstore.harnesses.codex.response_item import call_id
from eventstore.harnesses.codex.rollout_line import Json, Line, object_of
from eventstore.harnesses.names import is_name
from eventstore.harnesses.refold.events import compose
from eventstore.harnesses.source import DerivedEvent, KnownEvents
from eventstore.imports import CONTEXT_LINK, origin_link, started_link
from eventstore.javascript import tolerant_json
from eventstore.records import Link

_SPAWNS: Final = "spawn_agent"


def id_of_ordinal(rollout: str, ordinal: int) -> str:
    """Return the id of a record's event; ordinals go on from file to file of a thread."""
    # The ordinal first: where ids are cut, it still tells records apart.
    return f"{ordinal}@{rollout}"


class Links:
    """Find the links that a rollout's records imply, record by record.

    A fork of an older release is a copy: its own first record, then all of the other session, which ends where that one
    has no such record.
    """

    def __init__(self, rollout: str, known: KnownEvents, state: Json) -> None:
        self._rollout, self._known = rollout, known
        self._has_begun: bool = state.get("begun", False)
        self._original: str = state.get("original", "")
        self._copied: str = state.get("copied", "")
        self._spawning: dict[str, str] = dict(state.get("spawning", {}))

    @property
    def state(self) -> Json:
        """The data that another reading needs to continue here."""
        return {
            **({"begun": True} if self._has_begun else {}),
            **({"original": self._original} if self._original else {}),
            **({"copied": self._copied} if self._copied else {}),
            **({"spawning": dict(self._spawning)} if self._spawning else {}),
        }

    def of(self, event: NewEvent, line: Line) -> Iterator[DerivedEvent]:
        """Yield the links that a record implies."""
        if not self._has_begun:
            self._has_begun = True
            if line.type == "session_meta":
                yield from self._begin(line.fields)
        elif self._original:
            if self._known.event(self._original, event.id):
                self._copied = event.id
            else:
                yield from self.at_end()
                self._original = ""
        yield from self._started(event, line)

    def at_end(self) -> Iterator[DerivedEvent]:
        """Yield the link to the session that all records so far are copied from."""
        if self._original:
            yield _link("fork", self._original, self._copied, origin_link("fork", self._copied))

    def _begin(self, meta: Json) -> Iterator[DerivedEvent]:
        """Yield the links of a rollout's first record."""
        base = _object(meta, "history_base")
        session, end = _name(base, "thread_id"), base.get("end_ordinal_exclusive")
        original = _name(meta, "forked_from_id")
        if session:
            last = id_of_ordinal(session, end - 1) if isinstance(end, int) and end > 0 else ""
            yield _link("parent", session, last, CONTEXT_LINK)
            if original:
                yield _link("fork", session, last, origin_link("fork", last))
        else:
            self._original = original
        source = meta.get("source")
        agent = _object(source, "subagent") if isinstance(source, dict) else {}
        parent = _name(meta, "parent_thread_id") or _name(_object(agent, "thread_spawn"), "parent_thread_id")
        if parent:
            started = self._known.event(parent, started_link(self._rollout))
            call = str(tolerant_json(started.body).get("event", "")) if started else ""
            yield _link("subagent", parent, call, origin_link("subagent", call))

    def _started(self, event: NewEvent, line: Line) -> Iterator[DerivedEvent]:
        """Yield the links between a call and the agent that it started."""
        item, child = line.fields, ""
        if line.type == "response_item":
            if item.get("name") == _SPAWNS and call_id(item):
                self._spawning[call_id(item)] = event.id
            elif call_id(item) in self._spawning and isinstance(item.get("output"), str):
                child = _name(object_of(item["output"]), "agent_id")
        elif line.event == "collab_agent_spawn_end":
            child = _name(item, "new_thread_id")
        if child:
            call = self._spawning.get(call_id(item), event.id)
            yield _link("child", child, call, started_link(child))
            own = self._known.name(0)
            yield _link("subagent", own, call, origin_link("subagent", call), into=child)


def _object(fields: Any, name: str) -> Json:
    found = fields.get(name) if isinstance(fields, dict) else None
    return found if isinstance(found, dict) else {}


def _name(fields: Json, name: str) -> str:
    found = fields.get(name)
    return found if isinstance(found, str) and is_name(found) else ""


def _link(
    relation: Literal["fork", "subagent", "child", "parent"],
    session: str,
    event: str,
    name: str,
    *,
    into: str = "",
) -> DerivedEvent:
    link = Link(relation=relation, session=session, event=event)
    return DerivedEvent(compose(link, id=name, time=None), into=into)
