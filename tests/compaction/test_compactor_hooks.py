"""Let hooks cancel or change a compaction, and check that they cannot spoil it."""

from __future__ import annotations

import json

import pytest

from compaction.hooks import Cancel, Hooks, PromptAdditions, SuppliedSummary
from compaction.summarizers import SummarizerError
from compaction.summarizers.chain import SummarizersFailedError
from compaction.summary import SummaryOptions
from eventstore.errors import CorruptionError
from eventstore.harnesses.pi.export import pi_line
from eventstore.records import ModelChange, record_of
from projections.context.build import build_context
from tests.compaction.scripted import (
    Scripted,
    compactor,
    kinds,
    long,
    record,
    turns,
)
from tests.support.events import events
from tests.support.talk import assistant, call, result, texts_of, user


def raises(_plan):
    raise ValueError("broken hook")


def test_a_hook_may_call_a_compaction_off(story):
    turns(story, 20, 10)
    hooks = Hooks(name="h", before_compaction=lambda _: Cancel("not now"))
    done = compactor(hooks=[hooks]).compact(story.writer)
    assert (done.outcome, done.reason, kinds(story)[-1]) == ("cancelled", "not now", "decision")


def test_a_hook_may_supply_the_summary_and_no_model_is_asked(story):
    turns(story, 20, 10)
    scribe = Scripted()
    hooks = Hooks(
        name="h", before_compaction=lambda _: SuppliedSummary(summary="mine", preserve_data={"k": 1})
    )
    compactor(scribe, hooks=[hooks]).compact(story.writer)
    made = record(story)
    assert (made.summary, made.from_extension, made.preserve_data, scribe.prompts) == (
        "mine",
        True,
        {"k": 1},
        [],
    )


def supplied(story, **fields):
    """The outcome where a hook supplies a summary with these fields."""
    hooks = Hooks(name="h", before_compaction=lambda _: SuppliedSummary(summary="mine", **fields))
    return compactor(hooks=[hooks]).compact(story.writer)


def test_a_hook_may_say_what_is_kept(story):
    _, _, third, *_ = turns(story, 20, 10, 10)
    done = supplied(story, first_kept=third)
    assert (record(story).first_kept_entry_id, done.plan.cut.kept[0]) == (third, third)
    assert texts_of(build_context(story.log, "s"))[1:] == [long(10)] * 4


def test_the_files_are_those_of_what_a_hook_leaves_out(story):
    story.says(assistant(call("read", path="a.py")), result("x"), user(long(20)))
    later = story.says(user(long(20)), assistant(call("read", path="b.py")), result("y"), user(long(20)))
    supplied(story, first_kept=later[0])
    assert record(story).details.read_files == ["a.py"]


def test_a_hook_may_keep_the_settings_before_a_message_or_nothing_at_all(story):
    turns(story, 20)
    setting = story.add(ModelChange(provider="p", model_id="m"))
    turns(story, 10)
    supplied(story, first_kept=setting)
    assert record(story).first_kept_entry_id == setting
    turns(story, 20)
    supplied(story, first_kept="")
    assert [part.kind for part in build_context(story.log, "s").parts] == ["compaction"]


def test_a_plan_that_keeps_what_a_hook_names_is_made_of_checked_reads(story):
    _, _, third, *_ = turns(story, 20, 10, 10)

    def damages(_plan):
        frames = story.log._state.sessions["s"].frames
        frames[-1] = frames[-1].replace(b"xx", b"xy", 1)
        return SuppliedSummary(summary="mine", first_kept=third)

    damaged = compactor(hooks=[Hooks(name="h", before_compaction=damages)])
    with pytest.raises(CorruptionError) as raised:
        damaged.prepare(story.writer)
    assert (raised.value.session, raised.value.seq) == ("s", 6)


@pytest.mark.parametrize("place", ["e1", "e3", "no-such-entry"])
def test_a_place_from_which_nothing_can_be_kept_is_a_trouble_and_a_model_is_asked(story, place):
    story.says(user(long(20)), assistant(call("bash")), result(long(20)), user(long(20)))
    done = supplied(story, first_kept=place)
    assert (done.outcome, len(done.hook_errors)) == ("compacted", 1)
    made = next(event for event in events(story.log, "s") if event.kind == "compaction")
    assert not record_of("compaction", made.body).from_extension


def test_what_a_hook_keeps_with_its_summary_is_in_the_record_and_in_pis_details(story):
    story.says(assistant(call("read", path="a.py")), result(long(20)))
    turns(story, 20, 10)
    supplied(story, details={"artifact": 7, "readFiles": ["claimed.py"]})
    assert record(story).extension_details == {"artifact": 7, "readFiles": ["claimed.py"]}
    with story.log.snapshot() as snapshot:
        exported = json.loads(pi_line(snapshot, events(story.log, "s")[-1]))
    assert exported["details"] == {"artifact": 7, "readFiles": ["a.py"], "modifiedFiles": []}


def test_a_hook_may_replace_the_prompt_and_add_context(story):
    turns(story, 20, 10)
    scribe = Scripted()
    hooks = Hooks(name="h", prompting=lambda _: PromptAdditions(prompt="Sum up.", context=("from memory",)))
    compactor(scribe, hooks=[hooks]).compact(story.writer)
    expected = "<additional-context>\nfrom memory\n</additional-context>\n\nSum up."
    assert scribe.prompts[0].text.endswith(expected)


def test_a_hook_is_told_what_was_appended(story):
    turns(story, 20, 10)
    told = []
    done = compactor(hooks=[Hooks(name="h", after_compaction=told.extend)]).compact(story.writer)
    assert told == done.events


def test_a_hook_that_raises_is_recorded_and_stops_nothing(story):
    def raises(_plan):
        raise ValueError("broken hook")

    turns(story, 20, 10)
    done = compactor(hooks=[Hooks(name="h", prompting=raises)]).compact(story.writer)
    assert (done.outcome, done.hook_errors) == ("compacted", ["hook h, prompting: ValueError: broken hook"])
    assert record(story, "decision").outcome == "hook failed"


def test_a_hook_that_raises_is_recorded_though_the_summary_fails(story):
    def fails(_prompt):
        raise SummarizerError("scripted", "no such model")

    turns(story, 20, 10)
    with pytest.raises(SummarizersFailedError):
        compactor(Scripted(fails), hooks=[Hooks(name="h", prompting=raises)]).compact(story.writer)
    assert record(story, "decision").outcome == "hook failed"


def test_a_hook_that_raises_is_recorded_though_another_calls_off(story):
    turns(story, 20, 10)
    hooks = [
        Hooks(name="h", before_compaction=raises),
        Hooks(name="c", before_compaction=lambda _: Cancel("no")),
    ]
    done = compactor(hooks=hooks).compact(story.writer)
    assert (done.outcome, record(story, "decision").reason) == ("cancelled", done.hook_errors[0])


def test_halves_of_surrogate_pairs_in_what_hooks_and_people_say_are_replaced(story):
    turns(story, 40, 10)
    hook = Hooks(
        name="h", prompting=lambda _: PromptAdditions(context=("\ud800",), preserve_data={"k": "\udc00"})
    )
    options = SummaryOptions(instructions="shorter \ud83d")
    done = compactor(hooks=[hook]).compact(story.writer, options=options)
    assert (done.outcome, record(story).preserve_data) == ("compacted", {"k": "\ufffd"})


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (PromptAdditions(preserve_data={"k": object()}), "object"),
        (PromptAdditions(prompt=3), "prompt"),
        (PromptAdditions(context="one line"), "context"),
        ("do it", "str"),
    ],
)
def test_an_answer_of_a_hook_that_no_record_can_hold_is_reported_before_anybody_is_asked(
    story, answer, problem
):
    turns(story, 20, 10)
    done = compactor(hooks=[Hooks(name="h", prompting=lambda _: answer)]).compact(story.writer)
    assert (done.outcome, len(done.hook_errors)) == ("compacted", 1)
    assert problem in done.hook_errors[0]
