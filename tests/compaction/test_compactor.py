"""Compacting: one append of all that changes, or none and a record of why."""

from __future__ import annotations

import json

import pytest

from compaction.compactor import Compactor
from compaction.cuts import LastMessages, TailTurn
from compaction.hooks import Cancel, Hooks, Prompted, Supplied
from compaction.policies import Restoring
from compaction.summaries.summary import Wishes
from compaction.summarizers import CancelledError, SummarizerError
from compaction.summarizers.asking import Asker, AskingError
from eventstore.event import NewEvent
from eventstore.records import Custom, CustomMessage, Undone, record_of
from eventstore.writing import SessionWriter
from projections.context import build_context, context_json
from projections.renderers.anthropic import render
from tests.compaction.scripted import Scripted, compactor, complete, long, policy, prompting, turns
from tests.support.events import events
from tests.support.talk import assistant, call, image, result, text, texts_of, user


def kinds(story):
    return [event.kind for event in events(story.log, story.session)]


def record(story, kind="compaction"):
    event = next(event for event in reversed(events(story.log, story.session)) if event.kind == kind)
    return record_of(kind, event.body)


def test_a_summary_stands_in_place_of_what_does_not_fit(story):
    turns(story, 20, 10)
    done = compactor(Scripted(lambda _: "so far")).compact(story.writer)
    assert (done.outcome, texts_of(build_context(story.log, "s"))) == (
        "compacted",
        ["so far", long(10), long(10)],
    )


def test_the_record_says_by_which_policy_and_template_and_what_it_cost(story):
    turns(story, 20, 10)
    compactor().compact(story.writer, reason="threshold")
    made = record(story)
    assert (made.reason, made.policy, made.template) == ("threshold", "small", "compaction@1")
    assert (made.request["model"], made.request["usage"]["input"]) == ("scribe", 90)


def test_the_record_says_how_large_the_context_was_and_is(story):
    turns(story, 20, 10)
    done = compactor(Scripted(lambda _: long(3))).compact(story.writer)
    assert (record(story).tokens_before, record(story).tokens_after, done.tokens_after) == (60, 23, 23)


def test_every_request_is_recorded_with_the_digest_of_its_prompt_and_of_its_template(story):
    turns(story, 20, 10)
    scribe = Scripted()
    compactor(scribe).compact(story.writer)
    (request,) = record(story).request["requests"]
    assert request["promptDigest"] == scribe.prompts[0].digest
    assert request["templateDigest"] == scribe.prompts[0].template.digest


def test_nothing_to_summarize_appends_nothing(story):
    turns(story, 5)
    assert compactor().compact(story.writer).outcome == "nothing"
    assert kinds(story) == ["message", "message"]


def test_a_session_that_ends_with_a_compaction_is_not_compacted_again(story):
    turns(story, 20, 10)
    compactor().compact(story.writer)
    assert compactor().compact(story.writer).outcome == "nothing"


def test_a_context_that_would_get_no_smaller_stays_and_the_log_says_so(story):
    turns(story, 20, 10)
    before = context_json(story.log, "s")
    done = compactor(Scripted(lambda _: long(100))).compact(story.writer)
    assert (done.outcome, context_json(story.log, "s")) == ("no-gain", before)
    assert record(story, "decision").outcome == "no-gain"


def test_a_later_summary_updates_the_one_before(story):
    turns(story, 20, 10)
    scribe = Scripted(lambda prompt: f"after {prompt.template.name}")
    compactor(scribe).compact(story.writer)
    turns(story, 30, 10)
    compactor(scribe).compact(story.writer)
    assert record(story).summary == "after compaction-update"
    assert "<previous-summary>\nafter compaction\n</previous-summary>" in scribe.prompts[-1].text


def test_a_split_turn_is_summarized_in_two_parts(story):
    turns(story, 20)
    story.says(user("the order"), assistant(long(30)), assistant(long(10)))
    scribe = Scripted(lambda prompt: prompt.template.name)
    compactor(scribe).compact(story.writer)
    expected = "compaction\n\n---\n\n**Turn Context (split turn):**\n\nturn-prefix"
    assert record(story).summary == expected


def test_a_split_turn_without_history_says_that_there_is_none(story):
    story.says(user("the order"), assistant(long(30)), assistant(long(10)))
    compactor(Scripted(lambda prompt: prompt.template.name)).compact(story.writer)
    expected = "No prior history.\n\n---\n\n**Turn Context (split turn):**\n\nturn-prefix"
    assert record(story).summary == expected


def test_a_conversation_too_long_for_a_prompt_is_summarized_in_steps(story):
    turns(story, *[2_000] * 6, 5)
    scribe = Scripted()
    small = policy(prompting=prompting(window=26_000))
    compactor(scribe, small).compact(story.writer)
    assert [prompt.template.name for prompt in scribe.prompts] == [
        "compaction",
        "compaction-update",
        "compaction-update",
    ]
    assert sum(len(prompt.parts) for prompt in scribe.prompts) == 12


def test_files_of_everything_summarized_stand_behind_the_summary(story):
    story.says(user("go"), assistant(call("read", path="a.py"), long(30)), result("it", tool="read"))
    turns(story, 10)
    compactor(Scripted(lambda _: "so far")).compact(story.writer)
    assert record(story).summary == "so far\n\n<read-files>\na.py\n</read-files>"
    assert record(story).details.read_files == ["a.py"]


def test_the_short_summary_is_for_display_alone(story):
    turns(story, 20, 10)
    compactor(
        Scripted(lambda prompt: prompt.template.name), policy(prompting=prompting(short="short"))
    ).compact(story.writer)
    assert (record(story).summary, record(story).short_summary) == ("compaction", "short")


def test_instructions_of_a_person_stand_last_in_the_prompt(story):
    turns(story, 20, 10)
    scribe = Scripted()
    compactor(scribe).compact(story.writer, wishes=Wishes(instructions="Mind the tests."))
    assert scribe.prompts[0].text.endswith("Mind the tests.")


def test_everything_that_a_compaction_appends_is_undone_as_one(story):
    turns(story, 20, 10)
    before = context_json(story.log, "s")
    done = compactor(Scripted(lambda _: "so far"), policy(continuation="auto-continue")).compact(
        story.writer, reason="threshold", continues=True
    )
    story.add(Undone(target_id=done.events[0]))
    assert len(done.events) == 2
    assert context_json(story.log, "s") == before


def test_a_failed_summary_leaves_the_context_and_a_record_of_the_attempt(story):
    def fails(_prompt):
        raise SummarizerError("scripted", "no such model")

    turns(story, 20, 10)
    before = context_json(story.log, "s")
    with pytest.raises(AskingError, match="no such model"):
        compactor(Scripted(fails)).compact(story.writer)
    assert (context_json(story.log, "s"), kinds(story)[-1]) == (before, "attempt")
    assert record(story, "attempt").request["requests"][0]["error"] == "no such model"


def test_a_cancelled_summary_leaves_the_context_and_a_record_of_the_attempt(story):
    turns(story, 20, 10)
    before = context_json(story.log, "s")
    called_off = compactor()
    called_off = Compactor(
        policy=called_off.policy,
        asker=Asker(summarizers=[Scripted()], is_cancelled=lambda: True),
        limits=called_off.limits,
        tokens=called_off.tokens,
    )
    with pytest.raises(CancelledError):
        called_off.compact(story.writer)
    assert (context_json(story.log, "s"), kinds(story)[-1]) == (before, "attempt")


def test_messages_that_come_while_a_summary_is_made_are_kept(story):
    turns(story, 20, 10)
    said = []

    def late(_prompt):
        if not said:
            said.append(story.says({"role": "user", "content": "late"}))
        return "so far"

    done = compactor(Scripted(late)).compact(story.writer)
    assert done.outcome == "compacted"
    assert texts_of(build_context(story.log, "s")) == ["so far", long(10), long(10), "late"]


def test_of_two_compactions_at_once_the_second_finds_nothing_left_to_do(story):
    turns(story, 20, 10)

    def overtaken(_prompt):
        compactor(Scripted(lambda _: "theirs")).compact(story.writer)
        return "ours"

    done = compactor(Scripted(overtaken)).compact(story.writer)
    assert (done.outcome, kinds(story).count("compaction")) == ("nothing", 1)
    assert texts_of(build_context(story.log, "s"))[0] == "theirs"


def test_a_summary_that_comes_too_late_is_kept_as_an_attempt_with_its_requests(story):
    turns(story, 20, 10)

    def overtaken(_prompt):
        compactor(Scripted(lambda _: "theirs")).compact(story.writer)
        return "ours"

    done = compactor(Scripted(overtaken)).compact(story.writer, reason="threshold")
    kept = record(story, "attempt")
    assert [event.id for event in events(story.log, "s") if event.kind == "attempt"] == done.decisions
    assert (kept.error, kept.request["reason"]) == ("somebody has compacted or left the branch", "threshold")
    assert [each["answer"] for each in kept.request["requests"]] == ["ours", "ours"]
    assert kept.request["usage"]["input"] == 180


def test_a_summary_that_cost_nothing_and_comes_too_late_leaves_no_attempt(story):
    turns(story, 20, 10)

    def overtaken(_plan):
        compactor(Scripted(lambda _: "theirs")).compact(story.writer)
        return Supplied(summary="mine")

    done = compactor(hooks=[Hooks(name="h", before_compaction=overtaken)]).compact(story.writer)
    assert (done.outcome, "attempt" in kinds(story)) == ("nothing", False)


def test_a_compaction_gets_through_however_often_somebody_is_faster(story):
    turns(story, 20, 10)
    new_id, others, said = story.writer._new_id, SessionWriter(story.log, "s"), []

    def overtaken_twenty_times():
        if len(said) < 20:
            said.append(others.message(user("me first")))
        return new_id()

    story.writer._new_id = overtaken_twenty_times
    done = compactor(Scripted(lambda _: "so far")).compact(story.writer)
    assert (done.outcome, texts_of(build_context(story.log, "s")).count("me first")) == ("compacted", 20)


def test_a_branch_that_was_left_meanwhile_is_not_compacted(story):
    first, *_ = turns(story, 20, 10)

    def left(prompt):
        story.add(CustomMessage(custom_type="x", content="elsewhere"), parent=first)
        return complete(prompt)

    assert compactor(Scripted(left)).compact(story.writer).outcome == "nothing"
    assert "compaction" not in kinds(story)


def test_another_leaf_can_be_compacted(story):
    *_, last = turns(story, 20, 10)
    story.add(CustomMessage(custom_type="x", content="elsewhere"), parent="e1")
    done = compactor(Scripted(lambda _: "so far")).compact(story.writer, leaf=last)
    assert story[done.events[0]].parent == last


def test_a_hook_may_call_a_compaction_off(story):
    turns(story, 20, 10)
    hooks = Hooks(name="h", before_compaction=lambda _: Cancel("not now"))
    done = compactor(hooks=[hooks]).compact(story.writer)
    assert (done.outcome, done.reason, kinds(story)[-1]) == ("cancelled", "not now", "decision")


def test_a_hook_may_supply_the_summary_and_no_model_is_asked(story):
    turns(story, 20, 10)
    scribe = Scripted()
    hooks = Hooks(name="h", before_compaction=lambda _: Supplied(summary="mine", preserve_data={"k": 1}))
    compactor(scribe, hooks=[hooks]).compact(story.writer)
    made = record(story)
    assert (made.summary, made.from_extension, made.preserve_data, scribe.prompts) == (
        "mine",
        True,
        {"k": 1},
        [],
    )


def test_a_hook_may_replace_the_prompt_and_add_context(story):
    turns(story, 20, 10)
    scribe = Scripted()
    hooks = Hooks(name="h", prompting=lambda _: Prompted(prompt="Sum up.", context=("from memory",)))
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
    assert (done.outcome, done.troubles) == ("compacted", ["hook h, prompting: ValueError: broken hook"])
    assert record(story, "decision").outcome == "hook failed"


def test_images_of_an_unanswered_request_give_way_and_its_text_goes_on(story):
    turns(story, 20)
    story.says(user([text("what is this?"), image()]))
    replay = policy(continuation="replay")
    done = compactor(Scripted(lambda _: "so far"), replay).compact(
        story.writer, reason="overflow", continues=True
    )
    assert done.continued.branch == "media"
    assert texts_of(build_context(story.log, "s")) == [
        "so far",
        "what is this?|[image/png removed]",
        "[Continuing from compaction] what is this?",
    ]


def test_recently_read_files_are_shown_again_from_the_log(story):
    story.says(assistant(call("read", path="a.py")), result("the text", tool="read"))
    turns(story, 30, 10)
    restoring = policy(restoring=Restoring())
    compactor(Scripted(lambda _: "so far"), restoring).compact(story.writer)
    assert texts_of(build_context(story.log, "s"))[-1] == "a.py, as it was read last:\nthe text"


def test_a_kept_group_over_its_budget_shows_its_largest_results_shorter(story):
    turns(story, 100)
    story.says(user("go"), assistant(call("bash", "c1"), call("bash", "c2")))
    story.says(result(long(100_000), call_id="c1"), result(long(10), call_id="c2"))
    tail = policy(cut=TailTurn())
    compactor(Scripted(lambda _: "so far"), tail).compact(story.writer)
    *_, largest, small = texts_of(build_context(story.log, "s"))
    assert largest.startswith("<persisted-output")
    assert small == long(10)
    assert sum(part.utf16 for part in build_context(story.log, "s").parts) < 8_000


@pytest.mark.parametrize(
    ("placement", "told"),
    [
        ("summary", "<summary>\nso far\n</summary>"),
        ("prior-conversation-summary", "<prior-conversation-summary>\nso far\n</prior-conversation-summary>"),
        ("compacted", "[Compacted]\n\nso far"),
    ],
)
def test_a_summary_stands_in_a_request_as_the_policy_says(story, placement, told):
    turns(story, 20, 10)
    compactor(Scripted(lambda _: "so far"), policy(placement=placement)).compact(story.writer)
    body = json.loads(render(build_context(story.log, "s"), model="m").body)
    assert body["messages"][0]["content"][0]["text"].endswith(told)


def test_after_a_refused_request_the_summary_says_that_it_reacted(story):
    turns(story, 20, 10)
    reactive = policy(placement="compacted", recovery_placement="reactive-compact")
    compactor(Scripted(lambda _: "so far"), reactive).compact(story.writer, reason="overflow")
    body = json.loads(render(build_context(story.log, "s"), model="m").body)
    assert body["messages"][0]["content"][0]["text"] == "[Reactive compact]\n\nso far"


def test_messages_that_come_while_a_summary_is_made_are_kept_where_nothing_else_is(story):
    turns(story, 20, 10)
    said = []

    def late(_prompt):
        if not said:
            said.extend(story.says(user("late"), assistant("answer")))
        return "so far"

    compactor(Scripted(late), policy(cut=LastMessages(messages=0))).compact(story.writer)
    assert texts_of(build_context(story.log, "s")) == ["so far", "late", "answer"]
    assert record(story).first_kept_entry_id == said[0]


def test_a_request_that_was_answered_meanwhile_is_not_repeated(story):
    turns(story, 30)
    story.says(user(long(30)))
    said = []

    def late(_prompt):
        if not said:
            said.extend(story.says(assistant("done")))
        return "so far"

    replay = policy(continuation="replay", cut=LastMessages(messages=0))
    done = compactor(Scripted(late), replay).compact(story.writer, reason="threshold", continues=True)
    assert (done.continued.branch, record(story).tokens_before) == ("mid-task", 91)


def size_of(story):
    return sum(part.utf16 for part in build_context(story.log, "s").parts)


def test_the_size_after_counts_results_that_are_shown_shorter(story):
    turns(story, 100)
    story.says(user("go"), assistant(call("bash")), result(long(100_000)))
    done = compactor(Scripted(lambda _: "so far"), policy(cut=TailTurn())).compact(story.writer)
    assert (done.outcome, done.tokens_after) == ("compacted", size_of(story))


def test_the_size_after_counts_files_that_are_shown_again_and_the_message_that_goes_on(story):
    story.says(assistant(call("read", path="a.py")), result("the text", tool="read"))
    turns(story, 30, 10)
    own = policy(restoring=Restoring(), continuation="auto-continue")
    done = compactor(Scripted(lambda _: "so far"), own).compact(
        story.writer, reason="threshold", continues=True
    )
    assert (len(done.events), done.tokens_after) == (3, size_of(story))


def reading(story, *sizes):
    """Reads of files of so many tokens: a.py, b.py, …; their names."""
    story.says(user("go"))
    for name, size in zip("abcdefg", sizes, strict=False):
        story.says(assistant(call("read", name, path=f"{name}.py")))
        story.says(result(long(size), tool="read", call_id=name))


WHOLE = policy(cut=LastMessages(messages=0), restoring=Restoring())


def test_files_that_would_eat_the_gain_are_not_shown_again(story):
    reading(story, 100)
    done = compactor(Scripted(lambda _: "so far"), WHOLE).compact(story.writer)
    assert (done.outcome, texts_of(build_context(story.log, "s"))) == (
        "compacted",
        ["so far\n\n<read-files>\na.py\n</read-files>"],
    )


def test_as_many_files_are_shown_again_as_leave_a_gain_the_newest_first(story):
    reading(story, 100, 100, 100)
    done = compactor(Scripted(lambda _: long(50)), WHOLE).compact(story.writer)
    _, *shown = texts_of(build_context(story.log, "s"))
    assert [text.split(",")[0] for text in shown] == ["c.py", "b.py"]
    assert (done.outcome, done.tokens_after) == ("compacted", size_of(story))


def test_files_that_are_shown_again_are_not_compacted_away_before_anything_else_is_said(story):
    reading(story, 100, 100, 100)
    again = compactor(Scripted(lambda _: long(50)), WHOLE)
    first = again.compact(story.writer)
    shown = texts_of(build_context(story.log, "s"))
    assert (first.outcome, again.compact(story.writer).outcome) == ("compacted", "nothing")
    assert texts_of(build_context(story.log, "s")) == shown


def test_what_is_prepared_appends_nothing(story):
    turns(story, 20, 10)
    before = events(story.log, "s")
    compactor(hooks=[Hooks(name="h", before_compaction=raises)]).prepare(story.writer)
    assert events(story.log, "s") == before


def test_what_was_prepared_is_carried_out_with_its_own_cut_though_more_was_said_since(story):
    turns(story, 20, 10)
    compacts = compactor(Scripted(lambda _: "so far"))
    prepared = compacts.prepare(story.writer)
    story.says(user(long(30)))
    done = compacts.carry_out(story.writer, prepared)
    assert (done.plan, texts_of(build_context(story.log, "s"))) == (
        prepared.plan,
        ["so far", long(10), long(10), long(30)],
    )


def test_what_was_prepared_for_a_leaf_is_not_carried_out_once_somebody_has_gone_on_from_it(story):
    *_, last = turns(story, 20, 10)
    compacts = compactor(Scripted(lambda _: "so far"))
    since = len(events(story.log, "s"))
    story.says(user("late"))
    prepared = compacts.prepare(story.writer, leaf=last, since=since)
    assert compacts.carry_out(story.writer, prepared).outcome == "nothing"
    assert texts_of(build_context(story.log, "s"))[-1] == "late"


def test_where_the_summary_alone_is_no_gain_nothing_that_is_shown_again_is_to_blame(story):
    reading(story, 100)
    done = compactor(Scripted(lambda _: long(150)), WHOLE).compact(story.writer)
    assert (done.outcome, done.tokens_after) == ("no-gain", 150 + 9)


def test_of_two_compactions_of_one_leaf_the_second_finds_nothing_left_to_do(story):
    *_, last = turns(story, 20, 10)

    def overtaken(prompt):
        compactor(Scripted(lambda _: "theirs")).compact(story.writer, leaf=last)
        return complete(prompt)

    done = compactor(Scripted(overtaken)).compact(story.writer, leaf=last)
    assert (done.outcome, kinds(story).count("compaction")) == ("nothing", 1)


def test_another_leaf_is_compacted_though_the_session_goes_on_elsewhere(story):
    *_, last = turns(story, 20, 10)
    story.add(CustomMessage(custom_type="x", content="elsewhere"), parent="e1")

    def late(prompt):
        story.says(user("late"))
        return complete(prompt)

    assert compactor(Scripted(late)).compact(story.writer, leaf=last).outcome == "compacted"


def test_many_parallel_results_fit_the_budget_of_the_tail_together(story):
    names = [f"c{number}" for number in range(40)]
    turns(story, 100)
    story.says(user("go"), assistant(*(call("bash", name) for name in names)))
    story.says(*(result(long(2_500), call_id=name) for name in names))
    compactor(Scripted(lambda _: "so far"), policy(cut=TailTurn())).compact(story.writer)
    _, *kept = build_context(story.log, "s").parts
    assert sum(part.utf16 for part in kept) <= 8_000


def test_notes_that_stand_for_a_summary_are_no_extensions(story):
    turns(story, 20, 10)
    story.add(Custom(custom_type="notes", data={"text": "so far"}))
    compactor(policy=policy(memory="notes")).compact(story.writer)
    assert (record(story).summary, record(story).from_extension) == ("so far", False)


def raises(_plan):
    raise ValueError("broken hook")


def test_a_hook_that_raises_is_recorded_though_the_summary_fails(story):
    def fails(_prompt):
        raise SummarizerError("scripted", "no such model")

    turns(story, 20, 10)
    with pytest.raises(AskingError):
        compactor(Scripted(fails), hooks=[Hooks(name="h", prompting=raises)]).compact(story.writer)
    assert record(story, "decision").outcome == "hook failed"


def test_a_hook_that_raises_is_recorded_though_another_calls_off(story):
    turns(story, 20, 10)
    hooks = [
        Hooks(name="h", before_compaction=raises),
        Hooks(name="c", before_compaction=lambda _: Cancel("no")),
    ]
    done = compactor(hooks=hooks).compact(story.writer)
    assert (done.outcome, record(story, "decision").reason) == ("cancelled", done.troubles[0])


def test_halves_of_surrogate_pairs_in_what_hooks_and_people_say_are_replaced(story):
    turns(story, 40, 10)
    hook = Hooks(name="h", prompting=lambda _: Prompted(context=("\ud800",), preserve_data={"k": "\udc00"}))
    wishes = Wishes(instructions="shorter \ud83d")
    done = compactor(hooks=[hook]).compact(story.writer, wishes=wishes)
    assert (done.outcome, record(story).preserve_data) == ("compacted", {"k": "\ufffd"})


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (Prompted(preserve_data={"k": object()}), "object"),
        (Prompted(prompt=3), "prompt"),
        (Prompted(context="one line"), "context"),
        ("do it", "gives str, and not Prompted"),
    ],
)
def test_an_answer_of_a_hook_that_no_record_can_hold_is_told_before_anybody_is_asked(story, answer, problem):
    turns(story, 20, 10)
    done = compactor(hooks=[Hooks(name="h", prompting=lambda _: answer)]).compact(story.writer)
    assert (done.outcome, len(done.troubles)) == ("compacted", 1)
    assert problem in done.troubles[0]


def test_a_live_prefix_stands_behind_what_the_log_says_the_harness_sent(story):
    tool = {"name": "bash", "input_schema": {"type": "object"}}
    body = json.dumps({"type": "session_init", "systemPrompt": "You are omp.", "tools": [tool]}).encode()
    story.log.append("s", [NewEvent(id="init", kind="session_init", body=body, format="pi/3")])
    turns(story, 20, 10)
    scribe = Scripted()
    compactor(scribe, policy(prompting=prompting(shape="live-prefix"))).compact(story.writer)
    assert (scribe.prompts[0].system, json.loads(scribe.prompts[0].tools)) == ("You are omp.", [tool])


def test_what_is_given_of_it_leads_over_the_log(story):
    turns(story, 20, 10)
    scribe = Scripted()
    wishes = Wishes(system="You are another.")
    compactor(scribe, policy(prompting=prompting(shape="live-prefix"))).compact(story.writer, wishes=wishes)
    assert scribe.prompts[0].system == "You are another."


def test_the_record_says_how_the_session_goes_on_and_why(story):
    turns(story, 20, 10)
    compactor(policy=policy(continuation="replay")).compact(story.writer, continues=True)
    assert record(story).continuation == {"branch": "mid-task", "reason": "the newest request was answered"}


def test_a_failed_request_says_which_model_it_was_to(story):
    turns(story, 20, 10)

    class Refusing(Scripted):
        model = "claude-of-the-test"

        def summarize(self, *_args, **_fields):
            raise SummarizerError("refusing", "no")

    with pytest.raises(AskingError):
        compactor(Refusing()).compact(story.writer)
    (request,) = record(story, "attempt").request["requests"]
    assert (request["model"], request["error"]) == ("claude-of-the-test", "no")
