"""An audit in full: every replacement with every metric."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from cli.views.full import INDENT, print_metrics
from cli.views.texts import WINDOW_UNKNOWN
from projections.audit.cache import CacheEffect
from projections.audit.cost import Cost
from projections.audit.future_use import KindFutureUse
from projections.audit.instruction_fates import EventRef, Instructions, Task
from projections.audit.summary_text import Growth, Sections
from tests.cli.running import Refold
from tests.cli.tale import SESSION
from tests.cli.views.printing import figures, printed
from tests.support.measured import NO_CACHE, NO_COST, future_use, gone, loss, metrics, recall, repeated, size
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
    assert [line.split() for line in full.splitlines() if "gone.py" in line] == [["unfounded:", "gone.py"]]


def test_each_has_every_metric(told: Refold) -> None:
    lines = told("audit", SESSION, "--full").lines
    for metric in [*METRICS, "sections", "names"]:
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
    told("import", "tale.jsonl")
    warned = [line for line in told("audit", SESSION, "--full").lines if line.startswith("   serious ")]
    assert ["3"] in [numbers[:1] for numbers in figures(*warned)]


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


def test_on_a_narrow_terminal_a_field_goes_on_below_its_beginning(told: Refold) -> None:
    lines = told.on_terminal("audit", SESSION, "--full", columns=60, NO_COLOR="1", TERM="dumb").splitlines()
    place = next(number for number, line in enumerate(lines) if line.startswith("   before"))
    assert lines[place + 1].startswith(" " * INDENT)


METRICS = [
    "size",
    "needed later",
    "removed",
    "user's rules",
    "user's tasks",
    "repeated",
    "prompt cache",
    "cost",
]


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


def test_future_use_is_told_by_kind_with_every_loss() -> None:
    use = future_use(1, 9, loss("Bucket", had=3, needed=14), loss("take", had=4, needed=15))
    use = structs.replace(use, given=3, reread=2, earlier=1)
    kinds = [
        KindFutureUse(kind="symbol", total=9, found=1, share=1 / 9),
        KindFutureUse(kind="url", total=0, found=0, share=None),
    ]
    found = beyond_nothing(future_use=structs.replace(use, kinds=kinds))
    assert figures(*found) == [
        ["1", "9", "11%", "1", "9", "1", "3", "2", "2", "5"],
        ["#3", "#14"],
        ["#4", "#15"],
    ]
    assert [" symbol Bucket: " in found[1], " symbol take: " in found[2], "url" in found[0]] == [
        True,
        True,
        False,
    ]


def test_recall_is_told_by_kind_with_what_is_no_longer_named() -> None:
    found = recall(symbols=(1, 3), urls=(0, 0), commands=(2, 2))
    symbols = structs.replace(found.kinds[0], lost=["Bucket", "take"])
    told = beyond_nothing(recall=structs.replace(found, kinds=[symbols, *found.kinds[1:]]))
    assert figures(*told[:2]) == [["3", "5", "60%", "1", "3", "2", "2"], ["2"]]
    assert ["symbols 1/3" in told[0], "commands 2/2" in told[0], "urls" in told[0]] == [True, True, False]
    assert [line.strip() for line in told[2:]] == ["Bucket", "take"]


def test_of_many_that_are_no_longer_named_the_first_are_shown_each_cut_to_the_width() -> None:
    found = recall(errors=(0, 23))
    errors = structs.replace(found.kinds[0], lost=[f"Error {number}: {'x' * 200}" for number in range(23)])
    shown = printed(print_metrics, metrics(recall=structs.replace(found, kinds=[errors])), width=80)
    first = next(at for at, line in enumerate(shown) if " Error 0: " in line)
    assert figures(shown[first - 1]) == [["23"]]
    assert shown[first] == f"{' ' * INDENT}  Error 0: {'x' * 52}…"
    assert shown[first + 19].startswith(f"{' ' * INDENT}  Error 19")
    assert figures(shown[first + 20]) == [["3"]]


def test_rules_are_counted_by_state_and_those_gone_with_the_line_most_like_them() -> None:
    nowhere = structs.replace(gone("Ask first.", seq=4), nearest="")
    kept = structs.replace(nowhere, state="kept", repeated_by=[EventRef(event="e9", seq=9)])
    task = Task(text="Push it.", event="e5", seq=5)
    given = Instructions(
        total=5,
        kept=3,
        gone=2,
        tail=1,
        share=0.6,
        rules=[gone("Never push.", seq=2), nowhere, kept],
        tasks=3,
        unfinished=[task],
    )
    found = beyond_nothing(instructions=given)
    assert figures(*found) == [
        ["3", "2", "1"],
        ["#2", "25%"],
        ["#4"],
        ["#9"],
        ["3", "1"],
        ["#5"],
    ]
    assert [" Never push." in found[1], found[1].endswith(" a line"), found[2].endswith(" Ask first.")] == [
        True
    ] * 3


def test_what_was_done_again_is_told_call_for_call() -> None:
    rework = repeated()
    found = beyond_nothing(rework=rework)
    assert figures(*found) == [["1", "7", "0", "3", "1", "10", "2", "1"], ["#9", "#1"], ["#9", "#1"]]
    assert [" read a.py" in found[1], found[2].endswith(" FAILED")] == [True, True]
    only_repeats = structs.replace(rework, rounds_to_new_action=None)
    assert figures(beyond_nothing(rework=only_repeats)[0]) == [["1", "7", "0", "3", "1", "10", "2"]]


def test_sections_are_told_against_their_template() -> None:
    found = Sections(
        template="pi",
        headings=["Goal", "Goal", "Done"],
        present=["Goal"],
        missing=["Next", "Notes"],
        duplicated=["Goal"],
    )
    (told,) = beyond_nothing(sections=found)
    assert [part.split(": ")[-1] for part in told.split(" · ")[1:]] == ["template pi", "Next, Notes", "Goal"]
    assert figures(told) == [["3"]]
    free = Sections(template=None, headings=["Goal"], present=[], missing=[], duplicated=[])
    assert figures(*beyond_nothing(sections=free)) == [["1"]]


def test_growth_is_told_against_the_summary_before() -> None:
    found = beyond_nothing(growth=Growth(total=9, carried=4, fresh=5, left_out=2))
    assert figures(*found) == [["9", "4", "5", "2"]]


def test_reads_of_the_cache_are_shown_as_expected_and_as_recorded() -> None:
    cache = CacheEffect(
        shared_messages=1,
        shared_tokens=20,
        rewritten_tokens=300,
        call="e9",
        predicted_read=10,
        recorded_read=12,
        recorded_write=None,
    )
    (told,) = beyond_nothing(cache=cache)
    assert (figures(told.replace(" e9", "")), " e9: " in told) == ([["1", "20", "300", "10", "12"]], True)
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
