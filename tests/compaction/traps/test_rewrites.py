"""Showing old content otherwise: where a document's code blanks, orphans, counts twice or goes on for ever."""

from __future__ import annotations

import json
import re

import pytest

from compaction.policy.load import load_preset
from compaction.rewrites import Offload, Prune, Snip, Supersede
from compaction.rewriting import plan_rewrites, record_rewrites
from eventstore.records import Compaction
from projections.context.build import build_context
from projections.tokens import counter
from tests.compaction.rewrites.contexts import TOKENS, calls, planned
from tests.support.talk import Story, assistant, call, result, texts_of, user

STUBS = [
    "File unchanged since last read. What you read of it still holds.",
    "Wasted call \N{EM DASH} file unchanged since your last Read.",
]
"""Claude Code's answers in place of a file that has not changed."""


def plans(story, *parts):
    with story.log.snapshot() as snapshot:
        return plan_rewrites(snapshot, "s", parts, tokens=TOKENS).records


def answered(story, *texts):
    """One answer with parallel calls, and their results; the ids of the results."""
    names = [f"c{number}" for number in range(len(texts))]
    story.says(assistant(*(call("bash", name) for name in names)))
    return story.says(*(result(said, call_id=name) for said, name in zip(texts, names, strict=True)))


def test_micro_first_would_blank_what_offload_has_to_save(story):
    large, middle, *_ = answered(story, *("x" * size for size in (120_000, 90_000, 100, 100, 100)))
    with story.log.snapshot() as snapshot:
        layered = load_preset("layered")
        found = plan_rewrites(snapshot, "s", layered.rewrites, tokens=counter("utf16/4")).records
    assert [(each.reason, [shown.target for shown in each.targets]) for each in found] == [
        ("offload", [large]),
        ("micro", [large, middle]),
    ]


def test_a_marker_that_named_a_file_would_lose_the_text_with_the_file(story):
    answered(story, "short", "x" * 300_000)
    record_rewrites(story.writer, [Offload()], tokens=TOKENS)
    *_, shown = texts_of(build_context(story.log, "s"))
    address = re.match(r'<persisted-output session="(.+)" event="(.+)" characters="(\d+)-(\d+)">', shown)
    session, event, first, last = address.groups()
    text = json.loads(Story(story.log, session)[event].body)["message"]["content"][0]["text"]
    assert text[int(first) : int(last)] == "x" * 300_000


def test_results_shorter_than_their_marker_would_grow_by_being_offloaded(story):
    answered(story, *["x" * 2_000] * 101)
    assert planned(story, Offload()) == {}


def test_bytes_counted_as_characters_would_offload_what_fits(story):
    answered(story, "\N{LATIN SMALL LETTER E WITH ACUTE}" * 150_000)
    assert planned(story, Offload()) == {}


def test_looking_one_message_back_would_orphan_the_second_of_parallel_results(story):
    story.says(*(user(f"message {number}") for number in range(8)))
    answered(story, "one", "two")
    story.says(*(user(f"message {number}") for number in range(46)))
    # The last 47 of 57 messages begin at e11, the second result; its call is e9.
    ((span,),) = [each.targets for each in plans(story, Snip())]
    assert (span.target, span.through) == ("e4", "e8")


def test_a_small_result_that_costs_its_notice_would_lessen_what_the_others_save(story):
    (old,) = calls(story, 20_009)
    tiny, _ = calls(story, 1, 40_000)
    assert list(planned(story, Prune(smallest=0))) == [old, tiny]


def test_a_result_that_was_pruned_would_be_pruned_again_to_the_size_of_its_notice(story):
    old, *_ = calls(story, 30_000, 40_000)
    record_rewrites(story.writer, [Prune()], tokens=TOKENS)
    calls(story, 40_000)
    assert old not in planned(story, Prune(smallest=0, savings=0))


def test_results_that_a_compaction_hides_would_pay_for_pruning_what_it_keeps(story):
    calls(story, 30_000)
    _, kept, _ = calls(story, 100, 100, 40_000)
    story.add(Compaction(summary="so far", first_kept_entry_id=kept, tokens_before=1))
    assert plans(story, Prune()) == []


def test_a_stale_read_would_stay_for_ever_among_the_tools_that_prune_protects(story):
    (stale,) = calls(story, 1_000, tool="read", path="a.py")
    calls(story, 1_000, tool="read", path="a.py")
    ((only,),) = [each.targets for each in plans(story, *load_preset("oh-my-pi").rewrites)]
    assert only.target == stale


@pytest.mark.parametrize("stub", STUBS)
def test_a_stub_for_an_unchanged_file_would_take_the_only_text_of_it_away(story, stub):
    calls(story, 1_000, tool="read", path="a.py")
    story.says(assistant(call("read", "c1", path="a.py")), result(stub, tool="read", call_id="c1"))
    assert planned(story, Supersede()) == {}


def test_a_file_that_speaks_of_unchanged_files_is_a_read_like_any_other(story):
    (old,) = calls(story, 1_000, tool="read", path="a.py")
    said = "# What to do with a file unchanged since last read"
    story.says(assistant(call("read", "c1", path="a.py")), result(said, tool="read", call_id="c1"))
    assert list(planned(story, Supersede())) == [old]
