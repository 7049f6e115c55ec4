"""Made-up sessions that refold itself wrote: appends and moves in any order, with rewrites, undos and shared causes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from hypothesis import strategies as st

from eventstore import NewEvent
from eventstore.harnesses.refold.events import compose
from eventstore.kinds import is_entry
from eventstore.records import (
    BranchSummary,
    Compaction,
    Custom,
    CustomMessage,
    Decision,
    FileOperations,
    Label,
    LeafMoved,
    MessageRecord,
    ModelChange,
    Note,
    Record,
    Rewrite,
    SessionInfo,
    TextReplacement,
    ThinkingLevelChange,
    Undone,
)
from tests.support.pi_files import line
from tests.support.talk import Json, assistant, call, image, result, shell, text, thinking, user

_MESSAGES = (
    user("a question"),
    user([text("look"), image()]),
    assistant("an answer", tokens=40),
    assistant(thinking("hm"), "I read", call("read", path="a.py"), call("edit", path="b.py"), model="n"),
    assistant("cut off", stop="aborted", tokens=9),
    result("what it says", tool="read"),
    result("much", image(), is_error=True),
    shell("make", "done"),
    {"role": "hookMessage", "content": "from a hook"},
)


def message(said: Json) -> MessageRecord:
    return MessageRecord(message=msgspec.Raw(line(said).rstrip()))


# Targets: an event so many back, or a missing one. Named when the events before are known.
_BACK = {f"{steps} back": steps for steps in (1, 2, 3, 4, 6, 9, 13)}
_target = st.sampled_from([*_BACK, "ghost"])
_recent = st.sampled_from([*list(_BACK)[:4], "ghost"])
_shown = st.builds(
    TextReplacement,
    target=_target,
    text=st.sampled_from(["shorter", ""]),
    block=st.none() | st.integers(0, 2),
) | st.builds(TextReplacement, target=_target, text=st.just("some messages"), through=_target)
_claims = st.none() | st.just(FileOperations(read_files=["claimed.py"], modified_files=[]))
_pointing: st.SearchStrategy[Record] = st.one_of(
    st.builds(
        Compaction,
        summary=st.sampled_from(["all of it", ""]),
        first_kept_entry_id=_target,
        tokens_before=st.just(9),
        details=_claims,
    ),
    st.builds(Rewrite, reason=st.just("prune"), targets=st.lists(_shown, min_size=1, max_size=3)),
    st.builds(Undone, target_id=_recent),
    st.builds(Undone, target_id=_target),
    st.builds(Label, target_id=_target, label=st.sampled_from(["here", "there", ""])),
    st.builds(
        BranchSummary,
        from_id=_target,
        summary=st.sampled_from(["the other way", ""]),
        left=_target | st.just(""),
        details=_claims,
    ),
)


def _named(record: Any, ids: list[str]) -> Any:
    """A record that points at ids."""
    changes = {}
    for field in record.__struct_fields__:
        value = getattr(record, field)
        if isinstance(value, list) and value and isinstance(value[0], TextReplacement):
            changes[field] = [_named(shown, ids) for shown in value]
        elif isinstance(value, str) and value in _BACK:
            steps = _BACK[value]
            changes[field] = ids[-steps] if steps <= len(ids) else "ghost"
    return msgspec.structs.replace(record, **changes)


_plain: st.SearchStrategy[Record] = st.one_of(
    st.builds(ModelChange, provider=st.just("q"), model_id=st.sampled_from(["m", "n"])),
    st.builds(ThinkingLevelChange, thinking_level=st.sampled_from(["off", "high"])),
    st.builds(SessionInfo, name=st.sampled_from(["a title", " another ", ""])),
    st.builds(CustomMessage, custom_type=st.just("x"), content=st.just("by the way"), display=st.booleans()),
    st.just(Custom(custom_type="state")),
    st.just(Note(data={"a": 1})),
    st.just(Decision(outcome="skip", reason="small")),
)
_records = st.one_of(*[st.sampled_from(_MESSAGES).map(message)] * 2, _pointing, _plain)
_step = st.tuples(
    _records,
    st.sampled_from(["leaf"] * 6 + ["root", *list(_BACK)[1:]]),
    st.sampled_from(["", "", "", "the same", "its own"]),
    st.integers(0, 9).map(lambda number: number == 0),
)
_steps = st.lists(_step, min_size=1, max_size=6) | st.lists(_step, min_size=8, max_size=16)


@st.composite
def native_events(draw: st.DrawFn) -> list[NewEvent]:
    """Events of one session in the order of their appending: some share a cause with the one before."""
    events: list[NewEvent] = []
    nodes: list[str] = []
    for number, (record, place, cause, moves) in enumerate(draw(_steps)):
        event_id = f"e{number}"
        parent = nodes[-1] if nodes else None
        if place != "leaf" and nodes:
            steps = _BACK.get(place, len(nodes) + 1)
            parent = nodes[-steps] if steps <= len(nodes) else None
        causes = {"": "", "the same": events[-1].cause if events else "", "its own": f"cause-{number}"}
        written = LeafMoved(from_id=nodes[-1]) if moves and nodes else _named(record, list(_ids(events)))
        events.append(compose(written, id=event_id, time=1000 * number, parent=parent, cause=causes[cause]))
        if is_entry(written.kind):
            nodes.append(event_id)
    return events


def _ids(events: list[NewEvent]) -> Iterator[str]:
    return (event.id for event in events)
