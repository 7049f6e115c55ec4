"""Check that summaries and log entries come to an end, whatever a session holds."""

from __future__ import annotations

from itertools import count

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compaction.compactor import Compactor
from compaction.hooks import Cancel, Hooks
from compaction.maintainer import Maintainer, Settings
from compaction.part import Limits
from compaction.summarizers.chain import SummarizerChain
from eventstore.memory import MemoryLog
from eventstore.writing import SessionWriter
from projections.tokens import counter
from tests.compaction.maintainer.maintained import fails
from tests.compaction.scripted import Scripted, long
from tests.compaction.sessions import policies, sessions
from tests.support.events import NOW, events
from tests.support.examples import examples

bounded = settings(max_examples=examples(15))
CALLS = {
    "before_request": lambda maintainer, writer: maintainer.before_request(writer),
    "after_turn": lambda maintainer, writer: maintainer.after_turn(writer),
    "error": lambda maintainer, writer: maintainer.on_error(writer, "prompt is too long"),
    "idle": lambda maintainer, writer: maintainer.on_idle(writer, 300),
}
any_calls = st.lists(st.sampled_from(sorted(CALLS)), min_size=1, max_size=6)
WORDY = long(10_000)
one_rewrite = policies.map(lambda policy: msgspec.structs.replace(policy, rewrites=policy.rewrites[:1]))


def maintained(policy, scribe, *hooks):
    compactor = Compactor(
        policy=policy,
        chain=SummarizerChain(summarizers=[scribe], wait=lambda _: None),
        limits=Limits(window=1_000),
        tokens=counter("utf16/4"),
        hooks=hooks,
    )
    idle = Settings(idle_enabled=True, idle_threshold_tokens=0, threshold_tokens=1)
    return Maintainer(compactor=compactor, now=lambda: NOW, settings=idle)


def writer_of(appended):
    log = MemoryLog(clock=lambda: NOW)
    log.append("s", appended)
    numbers = count(1)
    return SessionWriter(log, "s", clock=lambda: NOW, new_id=lambda: f"own-{next(numbers)}")


def told(maintainer, writer, calls, rounds):
    """The number of events after each round of the same calls."""
    sizes = []
    for _ in range(rounds):
        for each in calls:
            CALLS[each](maintainer, writer)
        sizes.append(len(events(writer.log, "s")))
    return sizes


@pytest.mark.slow
@pytest.mark.parametrize("answer", [fails, lambda _: WORDY], ids=["fails", "gains nothing"])
@bounded
@given(sessions, one_rewrite, any_calls)
def test_who_never_gets_a_use_of_summaries_asks_for_three_at_most(answer, appended, policy, calls):
    writer = writer_of(appended)
    told(maintained(policy, Scripted(answer)), writer, calls, 8)
    triggered = [event for event in events(writer.log, "s") if b'"triggered"' in event.body]
    assert len(triggered) <= 3


@pytest.mark.slow
@pytest.mark.parametrize("answer", [fails, lambda _: WORDY, lambda _: "s"], ids=["fails", "no gain", "gains"])
@bounded
@given(sessions, one_rewrite, any_calls)
def test_the_same_calls_of_the_same_session_come_to_rest(answer, appended, policy, calls):
    sizes = told(maintained(policy, Scripted(answer)), writer_of(appended), calls, 8)
    assert sizes[-1] == sizes[-2]


@pytest.mark.slow
@bounded
@given(sessions, one_rewrite, any_calls)
def test_hooks_that_raise_or_call_off_every_time_come_to_rest(appended, policy, calls):
    def raises(_plan):
        raise ValueError("oops")

    hooks = [
        Hooks(name="bad", before_compaction=raises),
        Hooks(name="no", before_compaction=lambda _: Cancel("no")),
    ]
    sizes = told(maintained(policy, Scripted(), *hooks), writer_of(appended), calls, 8)
    assert sizes[-1] == sizes[-2]
