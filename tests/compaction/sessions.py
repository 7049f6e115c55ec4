"""Made-up sessions to make smaller, of every kind of talk and with a past; and policies of any parts."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import strategies as st

from compaction.continuations import CONTINUATIONS
from compaction.cuts import (
    KeepRecent,
    LastMessages,
    NewestAnswer,
    NewestRequests,
    OhMyPiRecent,
    OpencodeTail,
    Pi87Recent,
    PiRecent,
    TailTurn,
)
from compaction.policy.model import Policy, Restoring
from compaction.rewrites import (
    LAYERS,
    AnyRewrite,
    Evict,
    Mask,
    Micro,
    Offload,
    Prune,
    PruneTurns,
    Snip,
    Supersede,
    Useless,
)
from eventstore import NewEvent, Parent
from eventstore.harnesses.refold.events import compose
from eventstore.records import (
    BranchSummary,
    Compaction,
    ModelChange,
    Record,
    Rewrite,
    TextReplacement,
    Undone,
)
from projections.placements import PLACEMENTS
from tests.support.native import message, native_events
from tests.support.talk import Json, assistant, call, image, result, text, thinking, user
from tests.support.wild_talk import any_talk, good_talk

SMALL: dict[type, Any] = {
    KeepRecent: KeepRecent(tokens=4),
    TailTurn: TailTurn(least=4, most=4),
    LastMessages: LastMessages(messages=0),
    PiRecent: PiRecent(tokens=4),
    Pi87Recent: Pi87Recent(tokens=4),
    OhMyPiRecent: OhMyPiRecent(tokens=4),
    OpencodeTail: OpencodeTail(least=4, most=4),
    NewestAnswer: NewestAnswer(),
    NewestRequests: NewestRequests(tokens=4),
    Prune: Prune(protect=0, savings=0, smallest=0, protected=()),
    PruneTurns: PruneTurns(turns=1, protect=0, savings=0),
    Supersede: Supersede(),
    Useless: Useless(),
    Offload: Offload(characters=5, preview=2),
    Snip: Snip(longest=4, head=1),
    Micro: Micro(keep=1, shortest=3),
    Mask: Mask(keep_observations=1),
}
"""The parts of policies, with numbers that bite in small sessions."""


def small(policy: Policy) -> Policy:
    """The same parts with numbers that bite in small sessions."""
    return msgspec.structs.replace(
        policy,
        cut=policy.cut and SMALL[type(policy.cut)],
        rewrites=tuple(SMALL[type(part)] for part in policy.rewrites),
    )


def _in_order(rewrites: list[AnyRewrite]) -> tuple[AnyRewrite, ...]:
    """Put the layers where some stand into the order that a policy demands."""
    layers = iter(sorted((each for each in rewrites if isinstance(each, LAYERS)), key=_layer))
    return tuple(next(layers) if isinstance(each, LAYERS) else each for each in rewrites)


def _layer(part: AnyRewrite) -> int:
    return LAYERS.index(type(part))


_rewrites = st.lists(
    st.one_of(
        st.just(Evict()),
        st.just(Supersede()),
        st.just(Useless()),
        st.builds(Prune, protect=st.integers(0, 9), savings=st.integers(0, 9), smallest=st.integers(0, 3)),
        st.builds(PruneTurns, turns=st.integers(0, 2), protect=st.integers(0, 5), savings=st.integers(0, 5)),
        st.builds(Offload, characters=st.integers(0, 20), preview=st.integers(0, 5)),
        st.builds(Snip, longest=st.integers(3, 6), head=st.integers(1, 2)),
        st.builds(Micro, keep=st.integers(0, 2), shortest=st.integers(0, 9)),
        st.builds(Mask, keep_observations=st.integers(0, 2)),
    ),
    max_size=4,
).map(_in_order)
cuts = st.one_of(
    st.builds(KeepRecent, tokens=st.integers(1, 40), adapts=st.booleans()),
    st.builds(TailTurn, turns=st.integers(1, 3), least=st.integers(0, 30), most=st.integers(30, 40)),
    st.builds(LastMessages, messages=st.integers(0, 6)),
)
policies: st.SearchStrategy[Policy] = st.builds(
    Policy,
    name=st.just("any"),
    rewrites=_rewrites,
    cut=cuts,
    placement=st.sampled_from(list(PLACEMENTS)),
    continuation=st.sampled_from(list(CONTINUATIONS)),
    restoring=st.none() | st.builds(Restoring, files=st.integers(0, 3), tokens_a_file=st.integers(0, 9)),
)
"""Policies of any parts."""

_words = st.sampled_from(["a question", "an answer", "é😀\n", "x" * 90])


@st.composite
def _counted_anew(draw: st.DrawFn) -> list[Json]:
    """A talk whose harness counts calls from call_0 on in each answer; some go unanswered, some results come late."""
    said: list[Json] = []
    late: list[Json] = []
    for _ in range(draw(st.integers(1, 4))):
        said.append(user([text(draw(_words)), image()] if draw(st.booleans()) else draw(_words)))
        for _ in range(draw(st.integers(0, 2))):
            ids = [f"call_{number}" for number in range(draw(st.integers(1, 3)))]
            thoughts = [thinking("hm", thinkingSignature="seal")] if draw(st.booleans()) else []
            said.append(
                assistant(*thoughts, *(call("read", each, path="a.py") for each in ids), stop="toolUse")
            )
            for each in draw(st.permutations(ids)):
                fate = draw(st.sampled_from(["now", "now", "now", "never", "late"]))
                found = result(draw(_words), tool="read", call_id=each, is_error=draw(st.booleans()))
                said += [found] if fate == "now" else []
                late += [found] if fate == "late" else []
            said += late.copy() if draw(st.booleans()) else []
        if draw(st.booleans()):
            said.append(assistant(draw(_words), tokens=draw(st.sampled_from([None, 9, 500]))))
    return said


@st.composite
def _worked(draw: st.DrawFn) -> list[Json]:
    """A talk in which there is something to make smaller under any policy: turns of several calls with long results."""
    said: list[Json] = []
    for turn in range(draw(st.integers(3, 5))):
        said.append(user("please " * 9))
        for number in range(2):
            name = f"w{turn}-{number}"
            said.append(assistant(call("read", name, path="a.py"), stop="toolUse"))
            said.append(result("x" * draw(st.integers(90, 200)), tool="read", call_id=name))
        said.append(assistant("done"))
    return said


@st.composite
def talked_events(draw: st.DrawFn) -> list[NewEvent]:
    """A talk in a log, in which somebody compacts, rewrites, undoes, and tells of other branches now and then."""
    events: list[NewEvent] = []
    for said in draw(st.one_of(_counted_anew(), good_talk(), any_talk, _worked(), _worked())):
        # Messages without content come by imports alone: no harness can append them.
        records: list[Record] = [message(said if said.get("content") else {**said, "content": ""})]
        if events and draw(st.integers(0, 5)) == 0:
            records.append(_interlude(draw, [event.id for event in events]))
        for record in records:
            above = events[-1].id if events else None
            number = len(events)
            events.append(compose(record, id=f"e{number}", time=1000 * number, parent=above))
    return events


def _interlude(draw: st.DrawFn, ids: list[str]) -> Record:
    target = draw(st.sampled_from(ids))
    return draw(
        st.sampled_from(
            [
                Compaction(summary="all of it", first_kept_entry_id=target, tokens_before=9),
                Rewrite(reason="prune", targets=[TextReplacement(target=target, text="shorter")]),
                Rewrite(reason="evict", targets=[TextReplacement(target=target, text="[gone]", block=1)]),
                Undone(target_id=target),
                BranchSummary(from_id=target, summary="the other way"),
                ModelChange(provider="q", model_id="n"),
            ]
        )
    )


sessions = native_events() | talked_events().filter(bool) | talked_events().filter(bool)
"""Events of one session in the order of their appending."""


@st.composite
def calling(draw: st.DrawFn) -> tuple[list[NewEvent], list[NewEvent]]:
    """A session whose newest answer has calls in flight, and their results, which are still to come."""
    names = [f"flying-{number}" for number in range(draw(st.integers(1, 3)))]
    landed = draw(st.integers(0, len(names) - 1))
    calls = assistant(*(call("bash", name) for name in names), stop="toolUse")
    results = [_following(f"back-{name}", result(draw(_words), call_id=name)) for name in names]
    begun = [*draw(sessions), _following("calls", calls), *results[:landed]]
    return begun, results[landed:]


def _following(event_id: str, said: Json) -> NewEvent:
    return compose(message(said), id=event_id, time=1_000_000, parent=Parent.LEAF)
