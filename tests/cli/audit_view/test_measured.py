from __future__ import annotations

from typing import Any

from msgspec import structs

from cli.audit_view.measured import print_metrics
from projections.metrics.cache import Cache
from projections.metrics.cost import Cost
from projections.metrics.future_use import KindUse
from projections.metrics.growth import Growth
from projections.metrics.instructions import Instructions
from projections.metrics.regret import Regret, Repeat, Rereads, SameError
from projections.metrics.sections import Sections
from tests.cli.audit_view.printing import printed
from tests.support.measured import NO_CACHE, NO_COST, future_use, gone, loss, metrics, recall, size

NOTHING = """\
   size     1,000 of 1,000 tokens removed (100%) · 100 added in their place (10%) · 0 kept
   needed   nothing of what was removed · 5 later messages of the model
   recall   nothing that has a name was removed
   rules    none were given
   again    no later calls
   cache    shares 0 messages (0 tokens) with the request before · 0 to be sent anew
   cost     no model in use
""".splitlines()


def lines(**given: Any) -> list[str]:
    return printed(print_metrics, metrics(**given), width=200)


def test_where_nothing_was_found_every_metric_says_so() -> None:
    assert lines() == NOTHING


def beyond_nothing(**given: Any) -> list[str]:
    """The lines that a metric has otherwise, where it found something."""
    return [line for line in lines(**given) if line not in NOTHING]


def test_sizes_are_told_with_what_is_shown_again() -> None:
    assert beyond_nothing(size=size(1000, 250, removed=800, kept=200, added=40, returned=10)) == [
        "   size     800 of 1,000 tokens removed (80%) · 40 added in their place (5%) · 200 kept · 10 shown again"
    ]


def test_future_use_is_told_by_kind_with_every_loss() -> None:
    use = future_use(1, 3, loss("Bucket", had=3, needed=14, regained=13), loss("take", had=4, needed=15))
    kinds = [
        KindUse(kind="symbol", total=3, found=1, share=1 / 3),
        KindUse(kind="url", total=0, found=0, share=None),
    ]
    assert beyond_nothing(future_use=structs.replace(use, kinds=kinds)) == [
        "   needed   1/3 still there (33%) · symbol 1/3 · 1 of 2 losses never regained · 5 later messages of the model",
        "            lost symbol take: had #4, needed #15, never regained",
        "            lost symbol Bucket: had #3, needed #14, regained #13",
    ]


def test_recall_is_told_by_kind_with_what_is_no_longer_named() -> None:
    found = recall(symbols=(1, 3), urls=(0, 0), commands=(2, 2))
    symbols = structs.replace(found.kinds[0], lost=["Bucket", "take"])
    assert beyond_nothing(recall=structs.replace(found, kinds=[symbols, *found.kinds[1:]])) == [
        "   recall   3/5 still named (60%) · symbols 1/3 · commands 2/2",
        "            symbols no longer named: 2",
        "              Bucket",
        "              take",
    ]


def test_of_many_that_are_no_longer_named_the_first_are_told_each_cut_to_the_width() -> None:
    found = recall(errors=(0, 23))
    errors = structs.replace(found.kinds[0], lost=[f"Error {number}: {'x' * 200}" for number in range(23)])
    shown = printed(print_metrics, metrics(recall=structs.replace(found, kinds=[errors])), width=80)
    told = shown[shown.index("            errors no longer named: 23") + 1 :][:22]
    assert told[0] == f"              Error 0: {'x' * 56}…"
    assert (told[19][:22], told[20]) == ("              Error 19", "              … 3 more")


def test_instructions_are_told_by_fate_and_those_gone_with_the_line_most_like_them() -> None:
    nowhere = structs.replace(gone("Ask first.", seq=4), nearest="")
    given = Instructions(
        total=5,
        kept=2,
        close=1,
        gone=2,
        share=0.6,
        sentences=[gone("Never push.", seq=2), nowhere, structs.replace(nowhere, fate="kept")],
    )
    assert beyond_nothing(instructions=given) == [
        "   rules    2 kept · 1 close · 2 gone",
        "            gone #2: Never push.; nearest, 25% alike: a line",
        "            gone #4: Ask first.",
    ]


def test_what_was_done_again_is_told_call_for_call() -> None:
    again = {"first": "e1", "first_seq": 1, "again": "e9", "again_seq": 9}
    regret = Regret(
        calls=7,
        repeated=1,
        rereads=Rereads(next3=0, next10=1, all=2),
        rounds_to_new_action=1,
        repeats=[Repeat(tool="read", target="a.py", after_calls=4, **again)],
        errors=[SameError(error="FAILED", **again)],
    )
    assert beyond_nothing(regret=regret) == [
        (
            "   again    1 of 7 later calls repeated · re-reads 0 in the next 3, 1 in the next 10, 2 in all"
            " · something new after 1 round"
        ),
        "            again #9: read a.py, first #1",
        "            again #9: the error of #1: FAILED",
    ]
    only_repeats = structs.replace(regret, rounds_to_new_action=None)
    assert beyond_nothing(regret=only_repeats)[0].endswith(" · nothing new was called")


def test_sections_are_told_against_their_template() -> None:
    found = Sections(
        template="pi",
        headings=["Goal", "Goal", "Done"],
        present=["Goal"],
        missing=["Next", "Notes"],
        duplicated=["Goal"],
    )
    assert beyond_nothing(sections=found) == [
        "   sections 3 headings · template pi · missing: Next, Notes · more than once: Goal"
    ]
    free = Sections(template=None, headings=["Goal"], present=[], missing=[], duplicated=[])
    assert beyond_nothing(sections=free) == ["   sections 1 heading · no known template"]


def test_growth_is_told_against_the_summary_before() -> None:
    assert beyond_nothing(growth=Growth(total=9, carried=4, fresh=5, left_out=2)) == [
        "   names    9 named by the summary · 4 carried on from the one before · 5 new · 2 no longer named"
    ]


def test_reads_of_the_cache_are_told_as_expected_and_as_recorded() -> None:
    cache = Cache(
        shared_messages=1,
        shared_tokens=20,
        rewritten_tokens=300,
        call="e9",
        predicted_read=10,
        recorded_read=12,
        recorded_write=None,
    )
    assert beyond_nothing(cache=cache) == [
        (
            "   cache    shares 1 message (20 tokens) with the request before · 300 to be sent anew"
            " · at e9: 10 read expected, 12 read and - written recorded"
        )
    ]
    assert beyond_nothing(cache=structs.replace(NO_CACHE, call="e9")) == []


def test_cost_is_told_with_what_it_saved() -> None:
    cost = Cost(model="p/m", calls=9, summary=0.5, is_estimate=True, rewrite=0.25, saved=1.0, net=0.25)
    assert beyond_nothing(cost=cost) == [
        (
            "   cost     summary $0.50, an estimate · cache $0.25 · saved $1.00 over 9 later calls"
            " · net +$0.25 by the prices of p/m"
        )
    ]


def test_a_model_without_a_price_is_named() -> None:
    assert beyond_nothing(cost=structs.replace(NO_COST, model="p/m")) == ["   cost     no price for p/m"]
