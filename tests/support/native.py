"""Made-up sessions that refold itself wrote: appends and moves in any order, with rewrites, undos and shared causes."""

from __future__ import annotations

import msgspec
from hypothesis import strategies as st

from eventstore import NewEvent
from eventstore.records import (
    BranchSummary,
    Compaction,
    Custom,
    CustomMessage,
    Decision,
    Label,
    LeafMoved,
    MessageRecord,
    ModelChange,
    Record,
    ResetBoundary,
    Rewrite,
    SessionInfo,
    Shown,
    ThinkingLevelChange,
    Undone,
    compose,
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


def _pointing(targets: list[str]) -> st.SearchStrategy[Record]:
    """Records that point at an earlier event, or at one that is not there."""
    target = st.sampled_from([*targets, "ghost"])
    recent = st.sampled_from([*targets[-4:], "ghost"])
    shown = st.builds(
        Shown,
        target=target,
        shown=st.sampled_from(["shorter", ""]),
        block=st.none() | st.integers(0, 2),
    )
    return st.one_of(
        st.builds(
            Compaction,
            summary=st.sampled_from(["all of it", ""]),
            first_kept_entry_id=target,
            tokens_before=st.just(9),
        ),
        st.builds(Rewrite, reason=st.just("prune"), targets=st.lists(shown, min_size=1, max_size=3)),
        st.builds(Undone, target_id=recent),
        st.builds(Undone, target_id=target),
        st.builds(Label, target_id=target, label=st.sampled_from(["here", "there", ""])),
        st.builds(
            BranchSummary,
            from_id=target,
            summary=st.sampled_from(["the other way", ""]),
            left=st.sampled_from([*targets, "ghost", ""]),
        ),
    )


_plain: st.SearchStrategy[Record] = st.one_of(
    st.builds(ModelChange, provider=st.just("q"), model_id=st.sampled_from(["m", "n"])),
    st.builds(ThinkingLevelChange, thinking_level=st.sampled_from(["off", "high"])),
    st.builds(SessionInfo, name=st.sampled_from(["a title", " another ", ""])),
    st.builds(CustomMessage, custom_type=st.just("x"), content=st.just("by the way"), display=st.booleans()),
    st.just(Custom(custom_type="state")),
    st.just(ResetBoundary()),
    st.just(Decision(outcome="skip", reason="small")),
)
_messages = st.sampled_from(_MESSAGES).map(message)


@st.composite
def native_events(draw: st.DrawFn, *, longest: int = 14) -> list[NewEvent]:
    """Events of one session in the order of their appending: some share a cause with the one before."""
    events: list[NewEvent] = []
    nodes: list[str] = []
    for number in range(draw(st.integers(1, longest))):
        record = draw(
            st.one_of(_messages, _messages, _pointing([each.id for each in events]), _plain)
            if events
            else _messages
        )
        parent = draw(st.sampled_from([*nodes[-1:] * 6, *nodes, None])) if nodes else None
        if nodes and draw(st.integers(0, 9)) == 0:
            record = LeafMoved(from_id=nodes[-1])
            parent = draw(st.sampled_from([*nodes, None]))
        event_id = f"e{number}"
        cause = draw(st.sampled_from(["", "", "", events[-1].cause if events else "", f"cause-{number}"]))
        events.append(compose(record, id=event_id, time=1000 * number, parent=parent, cause=cause))
        if record.kind != "decision":
            nodes.append(event_id)
    return events
