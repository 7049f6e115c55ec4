"""A context as a rewrite would show it is the context behind that rewrite."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from eventstore.memory import MemoryLog
from eventstore.records import Rewrite, TextReplacement
from projections.context.build import build_context
from projections.context.overlay import apply_rewrites
from tests.support.events import NOW
from tests.support.native import native_events
from tests.support.talk import Story, shell


def told(parts):
    """Return the compared fields: all but the time, which is not known before a rewrite."""
    return [(part.id, part.role, part.utf16, {**json.loads(part.raw), "timestamp": 0}) for part in parts]


@given(appended=native_events(), data=st.data())
def test_the_overlay_is_what_the_rewrite_makes(appended, data):
    log = MemoryLog(clock=lambda: NOW)
    log.append("s", appended)
    before = build_context(log, "s").parts
    names = st.sampled_from([part.id for part in before if part.kind == "message"] or ["ghost"])
    block = st.none() | st.integers(0, 2)
    shown = st.builds(TextReplacement, target=names, text=st.just("short"), block=block) | st.builds(
        TextReplacement, target=names, text=st.just("several"), through=names
    )
    targets = data.draw(st.lists(shown, max_size=3))
    Story(log).writer.append(Rewrite(reason="prune", targets=targets))
    assert told(build_context(log, "s").parts) == told(apply_rewrites(before, targets))


def test_a_context_without_targets_stays_as_it_is(story):
    story.says({"role": "user", "content": "one"})
    parts = build_context(story.log, "s").parts
    assert apply_rewrites(parts, []) == parts


def test_a_message_of_an_unknown_role_is_counted_as_the_context_counts_it(story):
    (target,) = story.says({"role": "observer", "content": "a long report"})
    shown = [TextReplacement(target=target, text="short")]
    (before,) = apply_rewrites(build_context(story.log, "s").parts, shown)
    story.add(Rewrite(reason="prune", targets=shown))
    assert (before,) == build_context(story.log, "s").parts


def test_a_command_that_the_person_ran_shows_another_output(story):
    (target,) = story.says(shell("ls", "long"))
    (part,) = apply_rewrites(
        build_context(story.log, "s").parts, [TextReplacement(target=target, text="short")]
    )
    assert json.loads(part.raw)["output"] == "short"
