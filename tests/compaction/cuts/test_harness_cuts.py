"""Cutting as pi, oh-my-pi and opencode do, faults included."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.cuts import (
    KeepRecent,
    NewestAnswer,
    NewestRequests,
    OhMyPiRecent,
    OpencodeTail,
    Pi87Recent,
    PiRecent,
)
from compaction.part import Limits
from compaction.policy.load import load_preset
from compaction.window import Window, WindowItem, build_window
from eventstore.files.importing import import_file
from eventstore.records import Compaction, CustomMessage, Label
from projections.context.cursor import path, resolve_cursor
from projections.tokens import counter
from tests.compaction.cuts.test_keep_recent import words
from tests.compaction.cuts.windows import told
from tests.support.sentences import numbers
from tests.support.talk import assistant, call, result, user

LIMITS = Limits(window=200_000)
RECORDED = json.loads((Path(__file__).parent / "plans.json").read_text("utf-8"))
"""Plans that pi 0.73.1 and oh-my-pi 18.3 made of files of the corpus, to keep 20,000 tokens.

By file: how many entries there were, and, if there was anything to summarize, the place of the first kept
entry and the numbers of messages to summarize and of the split turn's prefix.
"""


def pi(talk, tokens, **fields):
    found = PiRecent(tokens=tokens).cut(told(talk, **fields), LIMITS)
    return None if found is None else (found.to_summarize, found.turn_prefix, found.kept)


def oh_my_pi(talk, tokens, **fields):
    found = OhMyPiRecent(tokens=tokens).cut(told(talk, **fields), LIMITS)
    return None if found is None else (found.to_summarize, found.turn_prefix, found.kept)


def opencode(talk, budget=2_000, **fields):
    """Cut with so many tokens for the tail, 2,000 to 8,000."""
    found = OpencodeTail().cut(told(talk, **fields), Limits(window=20_000 + 4 * budget))
    return None if found is None else (len(found.to_summarize), found.turn_prefix, found.kept)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("harness", "file"), [(harness, file) for harness, files in RECORDED.items() for file in files]
)
def test_a_harness_made_the_same_plans_of_real_sessions(store, corpus, harness, file):
    session = import_file(store, corpus / f"pi/{file}.jsonl").id
    policy = load_preset(harness)
    differing = []
    with store.snapshot() as snapshot:
        places = {e.id: place for place, e in enumerate(path(snapshot, resolve_cursor(snapshot, session)))}
        names = list(places)
        for entries, *plan in RECORDED[harness][file]:
            cursor = resolve_cursor(snapshot, session, leaf=names[entries - 1])
            found = policy.cut.cut(build_window(snapshot, cursor, counter(policy.counter)), LIMITS)
            ours = found and [places[found.first_kept], len(found.to_summarize), len(found.turn_prefix)]
            if (ours or []) != plan:
                differing.append((entries, plan, ours))
    assert differing == []


def test_pi_keeps_from_the_message_that_fills_its_budget_or_the_next_valid_place():
    assert pi("u10 a10 u10 a10", 20) == (["m0", "m1"], [], ["m2", "m3"])
    assert pi("u10 a10 u10 a10", 15) == (["m0", "m1"], [], ["m2", "m3"])
    assert pi("u10 a10 u10 a10 r20 a10", 15) == (["m0", "m1"], ["m2", "m3", "m4"], ["m5"])


def test_pi_keeps_everything_where_its_newest_result_alone_is_too_large():
    assert pi("u10 a10 u10 a10 r500", 20) is None
    assert KeepRecent(tokens=20).cut(told("u10 a10 u10 a10 r500"), LIMITS).kept == ["m3", "m4"]


def test_pi_counts_no_messages_of_extensions_and_keeps_those_before_the_cut():
    assert pi("u10 a10 c500 u10 a10", 20) == (["m0", "m1"], [], ["m2", "m3", "m4"])
    assert pi("u10 s5 c500 a10 u10 a10", 30) == (["m0"], [], ["m1", "m2", "m3", "m4", "m5"])


def test_pi_takes_a_whole_turn_for_the_beginning_of_the_next_where_settings_stand_between():
    assert pi("u10 a10 U10 a10", 20) == ([], ["m0", "m1"], ["m2", "m3"])


def test_pi_cuts_at_a_command_without_splitting_a_turn():
    assert pi("u10 a10 b10 a10", 20) == (["m0", "m1"], [], ["m2", "m3"])


def test_pi_stops_at_a_compaction_when_it_looks_for_extensions_messages(story):
    story.says(user("x" * 40), assistant("x" * 40))
    story.add(CustomMessage(custom_type="x", content="noted"))
    story.add(Compaction(summary="so far", first_kept_entry_id="e1", tokens_before=9))
    story.says(user("x" * 40), assistant("x" * 40))
    with story.log.snapshot() as snapshot:
        window = build_window(snapshot, resolve_cursor(snapshot, "s"), counter("utf16/4"))
    assert PiRecent(tokens=20).cut(window, LIMITS).first_kept == "e5"


@pytest.mark.parametrize(("part", "first"), [(PiRecent, "e3"), (OhMyPiRecent, "e4")])
def test_pi_keeps_labels_before_the_cut_and_oh_my_pi_does_not(story, part, first):
    story.says(user("x" * 40), assistant("x" * 40))
    story.add(Label(target_id="e1", label="here"))
    story.says(user("x" * 40))
    with story.log.snapshot() as snapshot:
        window = build_window(snapshot, resolve_cursor(snapshot, "s"), counter("utf16/4"))
    assert part(tokens=10).cut(window, LIMITS).first_kept == first


def test_pi_says_why_it_keeps_everything():
    assert numbers(PiRecent(tokens=20).why_all(told("u10 c99 a9"))) == [20]
    assert numbers(PiRecent(tokens=20).why_all(told("u10 a10 r99"))) == []


@pytest.mark.parametrize("cut", [pi, oh_my_pi])
def test_a_call_is_parted_from_a_result_that_comes_late(story, cut):
    story.says(user("x" * 80), assistant(call("read", "c1")), user("x" * 40), result("it", call_id="c1"))
    part = {pi: PiRecent, oh_my_pi: OhMyPiRecent}[cut](tokens=11)
    with story.log.snapshot() as snapshot:
        window = build_window(snapshot, resolve_cursor(snapshot, "s"), counter("utf16/4"))
    assert part.cut(window, LIMITS).kept == ["e3", "e4"]
    assert KeepRecent(tokens=11).cut(window, LIMITS).kept == ["e2", "e3", "e4"]


@pytest.mark.parametrize(
    ("part", "kept"),
    [
        (PiRecent(tokens=1), None),
        (OhMyPiRecent(tokens=1), ["e2", "e3"]),
        (OpencodeTail(least=0, most=0), ["e2", "e3"]),
    ],
)
def test_a_call_in_flight_is_kept_with_what_follows_or_with_everything(story, part, kept):
    story.says(user("go"), assistant(call("read", "c1"), stop="toolUse"), user("wait"))
    with story.log.snapshot() as snapshot:
        window = build_window(snapshot, resolve_cursor(snapshot, "s"), counter("utf16/4"))
    found = part.cut(window, LIMITS)
    assert (found and found.kept) == kept


def test_oh_my_pi_keeps_what_fits_and_at_least_the_newest_message_with_its_results():
    assert oh_my_pi("u10 a10 u10 a10", 20) == (["m0", "m1"], [], ["m2", "m3"])
    assert oh_my_pi("u10 a10 u10 a10", 15) == (["m0", "m1"], ["m2"], ["m3"])
    assert oh_my_pi("u10 a10 r500", 20) == ([], ["m0"], ["m1", "m2"])
    assert oh_my_pi("u10 a10", 20) is None


def test_oh_my_pi_counts_messages_of_extensions():
    assert oh_my_pi("u10 a10 c500 u10 a10", 20) == (["m0", "m1", "m2"], [], ["m3", "m4"])


def test_oh_my_pi_scales_its_budget_to_what_the_provider_counted_even_before_a_compaction(story):
    story.says(user("x" * 40), assistant("x" * 40, tokens=10_000))
    story.add(Compaction(summary="so far", first_kept_entry_id="e2", tokens_before=9))
    story.says(user("x" * 40), user("x" * 40))
    with story.log.snapshot() as snapshot:
        window = build_window(snapshot, resolve_cursor(snapshot, "s"), counter("utf16/4"))
    assert (window.measured, window.last_measured > 9_000) == (None, True)
    assert OhMyPiRecent(tokens=20).cut(window, LIMITS).kept == ["e5"]
    assert KeepRecent(tokens=20, adapts=True).cut(window, LIMITS).kept == ["e4", "e5"]


def test_opencode_keeps_at_most_two_turns_that_fit():
    assert opencode("u10 a10 u10 a10 u10 a10") == (2, [], ["m2", "m3", "m4", "m5"])


def test_opencode_splits_a_turn_where_its_end_fits_and_quotes_nothing():
    assert opencode("u10 a10 u10 a1500 r10 a1000 u10 a900") == (5, [], ["m5", "m6", "m7"])
    window = told("u10 a10 u10 a1500 r10 a1000 u10 a900")
    assert OpencodeTail().cut(window, Limits(window=28_000)).quoted == []


@pytest.mark.parametrize("talk", ["u10 a10 u10 a10 r2001", "a10 a10", "u10 a10", "u10 a10 u10 a10"])
def test_opencode_keeps_nothing_where_the_newest_group_is_too_large_or_all_would_be_kept(talk):
    assert opencode(talk) == (len(talk.split()), [], [])


def test_opencode_starts_turns_with_users_messages_alone():
    assert opencode("u10 a10 b10 c10 u10 a10 b10 c10 u10") == (4, [], [f"m{place}" for place in range(4, 9)])


def test_opencode_kept_the_same_tail_of_a_real_session(corpus):
    export = json.loads((corpus / "opencode/k1-first-300-messages.json").read_text("utf-8"))
    marks = [
        (place, part)
        for place, message in enumerate(export["messages"])
        for part in message["parts"]
        if part["type"] == "compaction"
    ]
    ((place, mark),) = marks
    window = Window(items=tuple(map(_opencode_item, export["messages"][:place])))
    assert OpencodeTail().cut(window, LIMITS).first_kept == mark["tail_start_id"]


def _opencode_item(message):
    """A message as large as the JSON in which opencode sends it."""
    name, role = message["info"]["id"], message["info"]["role"]
    sent, answers = [], []
    for part in message["parts"]:
        if part["type"] in ("text", "reasoning"):
            sent.append({"type": part["type"], "text": part["text"]})
        elif part["type"] == "tool":
            named = {"toolCallId": part["callID"], "toolName": part["tool"]}
            sent.append({"type": "tool-call", **named, "input": part["state"]["input"]})
            output = {"type": "text", "value": part["state"].get("output", "")}
            answers.append({"type": "tool-result", **named, "output": output})
    messages = [{"role": role, "content": sent}, {"role": "tool", "content": answers}]
    text = json.dumps([each for each in messages if each["content"]], ensure_ascii=False)
    return WindowItem(
        id=name,
        first=name,
        kind="message",
        role=role,
        tokens=round(len(text) / 4),
        begins=True,
        may_start=True,
        starts_turn=role == "user",
    )


@pytest.mark.parametrize("part", [PiRecent, OhMyPiRecent, OpencodeTail])
def test_right_behind_a_compaction_there_is_nothing_to_summarize(part):
    assert part().cut(told("u99999 a99999 u10", is_compacted=True), LIMITS) is None
    assert part().cut(told(""), LIMITS) is None


@given(talk=words, tokens=st.integers(1, 100))
def test_every_message_is_summarized_or_kept_and_in_order(talk, tokens):
    names = [f"m{place}" for place in range(len(talk.split()))]
    for part in (PiRecent(tokens=tokens), OhMyPiRecent(tokens=tokens), OpencodeTail(least=0, most=tokens)):
        found = part.cut(told(talk), LIMITS)
        if found is not None:
            assert found.to_summarize + found.turn_prefix + found.kept == names
            assert found.to_summarize or found.turn_prefix


def cut_by(part, talk, **fields):
    found = part.cut(told(talk, **fields), LIMITS)
    return None if found is None else (found.to_summarize, found.turn_prefix, found.kept)


@pytest.mark.parametrize(
    ("talk", "tokens", "divided"),
    [
        ("u10 a10 u10 a10", 15, (["m0", "m1"], [], ["m2", "m3"])),
        ("u10 a10 u10 a10 r500", 20, (["m0", "m1"], ["m2"], ["m3", "m4"])),
        ("u10 a10 c500 u10 a10", 30, (["m0", "m1"], [], ["m2", "m3", "m4"])),
        ("u10 a10 U10 a10", 20, ([], ["m0", "m1"], ["m2", "m3"])),
        ("u10 a10", 30, None),
    ],
)
def test_pi_87_keeps_its_newest_place(talk, tokens, divided):
    assert cut_by(Pi87Recent(tokens=tokens), talk) == divided


@pytest.mark.parametrize(
    ("talk", "kept"),
    [("u1 a1 u1 a1", ["m3"]), ("u1 a1 r1 c1 a1 u1", ["m4", "m5"]), ("u1 a1 a1 r9 c1", ["m2", "m3", "m4"])],
)
def test_the_newest_answer_is_kept_with_what_follows(talk, kept):
    assert cut_by(NewestAnswer(), talk)[2] == kept


def test_without_an_answer_all_is_summarized():
    assert cut_by(NewestAnswer(), "u1 u1") == (["m0", "m1"], [], [])
    assert cut_by(NewestAnswer(), "a1 r1") is None


def test_newest_requests_are_quoted_while_they_fit():
    cut = NewestRequests(tokens=20).cut(told("u10 a10 u15 a10 u5 a10 c3"), LIMITS)
    assert (len(cut.to_summarize), cut.kept, cut.quoted) == (7, [], ["m2", "m4"])


def test_an_open_call_is_kept_and_not_quoted(story):
    story.says(user("go"), assistant("Yes."), user("on"), assistant(call("read", "c1"), stop="toolUse"))
    with story.log.snapshot() as snapshot:
        window = build_window(snapshot, resolve_cursor(snapshot, "s"), counter("utf16/4"))
    cut = NewestRequests().cut(window, LIMITS)
    assert (cut.kept, cut.quoted) == (["e4"], ["e1", "e3"])


def test_a_tail_leaves_room_for_the_longest_answer():
    tail = OpencodeTail(reserved=0, output=32_000, most=15_000)
    assert tail.budget(Limits(window=60_000, output=20_000)) == 10_000
    assert tail.budget(Limits(window=60_000, output=64_000)) == 7_000
