"""An audit in full: every replacement with every metric."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from cli.views.full import INDENT, print_metrics
from cli.views.texts import WINDOW_UNKNOWN
from projections.audit.cache import CacheEffect
from projections.audit.cost import Cost
from tests.cli.running import Refold
from tests.cli.tale import SESSION
from tests.cli.views.printing import figures, printed
from tests.support.measured import NO_CACHE, NO_COST, followed, metrics, redone, size
from tests.support.pi_files import line

BY_ID = {
    "c1": [
        ["2,500", "2,400", "3", "1,056", "+1,350"],
        ["27", "693", "4"],
        ["6", "3", "2", "0"],
        ["1,034", "1,056", "98%", "5", "0%", "22"],
    ],
    "s1": [["2", "2"], ["19", "1,069", "2%", "6", "32%", "1,050"]],
}
"""The numbers of some fields of a compaction and a branch summary."""


def test_an_audit_in_full_shows_a_glance_then_all_of_each_compaction_and_branch_summary(told: Refold) -> None:
    full = told("audit", SESSION, "--full").out
    glance, *each = full.split("\n── ")
    assert (SESSION in glance, [part.split("  ")[0].split()[-2:] for part in each]) == (
        True,
        [["c1", "#12"], ["s1", "#11"]],
    )
    for part, (_, numbers) in zip(each, BY_ID.items(), strict=True):
        found = figures(*part.splitlines())
        assert [line for line in numbers if line not in found] == []
    assert ["The parser is fixed." in part for part in each] == [True, False]
    assert ["Expressions are worse." in part for part in each] == [False, True]
    assert ["unfounded:", "gone.py"] in [line.split() for line in full.splitlines()]


def test_each_has_every_metric(told: Refold) -> None:
    lines = told("audit", SESSION, "--full").lines
    for metric in METRICS:
        assert len([line for line in lines if line.startswith(f"   {metric:<13}")]) == 2


def append(refold: Refold, *records: dict[str, object]) -> None:
    refold("append", "s", stdin=b"".join(map(line, records)))


def say(event_id: str, words: str) -> dict[str, object]:
    return {"type": "message", "id": event_id, "message": {"role": "user", "content": words}}


def compaction(event_id: str, **fields: object) -> dict[str, object]:
    given = {"summary": "s", "firstKeptEntryId": "", "tokensBefore": 14, **fields}
    return {"type": "compaction", "id": event_id, **given}


def warnings(refold: Refold) -> list[str]:
    return [line[INDENT:] for line in refold("audit", "s", "--full").lines if line.startswith("   ! ")]


def test_messages_that_no_summary_covers_are_warned_of(told: Refold) -> None:
    # A summary of a pi that began behind the compaction before: what that one had kept is in none.
    older = {"type": "compaction", "id": "c2", "parentId": "i1", "summary": "later", "firstKeptEntryId": "a4"}
    with open("tale.jsonl", "ab") as file:
        file.write(line({**older, "tokensBefore": 9, "timestamp": "2025-12-08T23:00:00.000Z"}))
    told("sync", "tale.jsonl")
    warned = [line for line in told("audit", SESSION, "--full").lines if line.startswith("   ! ")]
    assert [line for line in warned if "3 messages (#" in line]


def test_a_compaction_that_saved_nothing_is_warned_of(refold: Refold) -> None:
    append(
        refold,
        say("e1", "hi"),
        compaction("c1", summary="much longer than what it stands for", tokensBefore=1),
    )
    assert len(warnings(refold)) == 1


def test_an_empty_summary_is_warned_of(refold: Refold) -> None:
    append(refold, say("e1", "hello " * 9), compaction("c1", summary=" "))
    assert len(warnings(refold)) == 1


def test_touched_files_that_a_list_lacks_are_warned_of_and_named(refold: Refold) -> None:
    read = {"type": "toolCall", "id": "k", "name": "read", "arguments": {"path": "a.py"}}
    said = {"role": "assistant", "content": [{"type": "text", "text": "I look. " * 9}, read]}
    details = {"readFiles": [], "modifiedFiles": []}
    append(
        refold,
        {"type": "message", "id": "e1", "message": said},
        compaction("c1", details=details, tokensBefore=23),
    )
    assert figures(*warnings(refold)) == [["1"]]
    assert f"{' ' * INDENT}missing: a.py" in refold("audit", "s", "--full").lines


def test_a_sound_compaction_is_warned_of_in_no_way(refold: Refold) -> None:
    append(refold, say("e1", "hello " * 9), compaction("c1"))
    assert warnings(refold) == []


def test_a_rewrite_is_shown_with_its_targets_and_what_it_says_it_saved(refold: Refold) -> None:
    targets = [{"target": "e1", "shown": "short"}]
    append(
        refold,
        say("e1", "hello " * 9),
        {"type": "rewrite", "id": "w1", "reason": "prune", "targets": targets, "tokensSaved": 12},
    )
    lines = refold("audit", "s", "--full").lines
    place = next(number for number, line in enumerate(lines) if line.startswith("── Rewrite w1 #2"))
    reason, targets, saved = (line.split() for line in lines[place + 1 : place + 4])
    assert (reason, targets[1], targets[-1], saved[:2]) == (["reason", "prune"], "1", "e1", ["saved", "12"])


def test_a_compaction_that_was_undone_says_so(refold: Refold) -> None:
    append(
        refold, say("e1", "hello " * 9), compaction("c1"), {"type": "undone", "id": "n1", "targetId": "c1"}
    )
    heading = next(line for line in refold("audit", "s", "--full").lines if line.startswith("── Compaction"))
    assert heading.endswith("  undone")


def test_a_session_without_compactions_is_said_to_have_none(refold: Refold) -> None:
    append(refold, say("e1", "hi"))
    assert ["1", "0", "0", "0"] in figures(*refold("audit", "s", "--full").lines)


@pytest.mark.slow
def test_on_a_narrow_terminal_a_field_goes_on_below_its_beginning(told: Refold) -> None:
    lines = told.on_terminal("audit", SESSION, "--full", columns=60, NO_COLOR="1", TERM="dumb").splitlines()
    place = next(number for number, line in enumerate(lines) if line.startswith("   before"))
    assert lines[place + 1].startswith(" " * INDENT)


METRICS = ["size", "done again", "said next", "prompt cache", "cost"]


def lines(**given: Any) -> list[str]:
    return printed(print_metrics, metrics(**given), width=200)


def test_where_nothing_was_found_every_metric_says_so() -> None:
    assert [line[3:INDENT].rstrip() for line in lines()] == METRICS


def beyond_nothing(**given: Any) -> list[str]:
    """The lines that a metric has otherwise, where it found something."""
    return [line for line in lines(**given) if line not in lines()]


def test_sizes_are_shown_with_what_is_shown_again() -> None:
    found = size(1000, 250, removed=800, kept=200, added=40, returned=10)
    assert figures(*beyond_nothing(size=found)) == [["800", "1,000", "80%", "40", "5%", "200", "10"]]


def test_what_was_done_again_is_told_call_for_call() -> None:
    assert [line.strip() for line in beyond_nothing(rework=redone("a.py"))] == [
        "done again   of 7 later calls, 1 read a file again · 100 tokens that the context had held · 1 failed again",
        "read again at #9: a.py, held since #1, 100 tokens",
        "failed again at #10 as at #2: bash make",
    ]


def test_what_was_said_next_is_told_by_event() -> None:
    (told,) = beyond_nothing(next=followed(4, 9, refusals=(9,)))
    assert told.split("  ")[-1].strip() == "2 messages: #4, #9 · 1 refused call: #9"


def test_reads_of_the_cache_are_shown_as_recorded() -> None:
    cache = CacheEffect(
        shared_messages=1,
        shared_tokens=20,
        rewritten_tokens=300,
        call="e9",
        recorded_read=12,
        recorded_write=None,
    )
    (told,) = beyond_nothing(cache=cache)
    assert (figures(told.replace(" e9", "")), " e9: " in told) == ([["1", "20", "300", "12"]], True)
    assert beyond_nothing(cache=structs.replace(NO_CACHE, call="e9")) == []


def test_cost_is_shown_with_what_it_saved() -> None:
    cost = Cost(
        model="p/m",
        calls=9,
        summary=0.5,
        is_estimate=True,
        rewrite=0.25,
        saved=1.0,
        net=0.25,
        window=200_000,
        too_long=0,
    )
    (told,) = beyond_nothing(cost=cost)
    assert (figures(told), told.endswith(" p/m")) == ([["$0.50", "$0.25", "$1.00", "9", "+$0.25"]], True)


def test_calls_that_would_not_have_fitted_are_shown_instead_of_a_saving() -> None:
    cost = structs.replace(
        NO_COST, model="p/m", calls=9, summary=0.5, rewrite=0.25, window=200_000, too_long=4
    )
    told = " ".join(beyond_nothing(cost=cost))
    assert figures(told) == [["$0.50", "$0.25", "4", "9", "200,000"]]
    assert "net" not in told


def test_a_saving_is_shown_with_that_the_window_is_not_known() -> None:
    cost = structs.replace(NO_COST, model="p/m", calls=9, summary=0.5, rewrite=0.25, saved=1.0, net=0.25)
    assert WINDOW_UNKNOWN in " ".join(" ".join(beyond_nothing(cost=cost)).split())


def test_a_model_without_a_price_is_named() -> None:
    (told,) = beyond_nothing(cost=structs.replace(NO_COST, model="p/m"))
    assert told.endswith(" p/m")
