"""The page of a replay has every figure, and says where it comes from."""

from __future__ import annotations

from markupsafe import Markup
from msgspec import structs

from cli.views.page.marking import Marked, marked
from cli.views.page.replay_page import MOST, Origin, replay_page
from cli.views.replay_table import failures_of
from compaction.replay.results import (
    Claim,
    Counts,
    Kept,
    ReplayedBoundary,
    ReplayResult,
    Standing,
    Trial,
    summaries,
)

ORIGIN = Origin(store="./a-store", command="refold replay s --with one", made=1_700_000_000_000)


def result(session: str) -> ReplayResult:
    return ReplayResult(
        boundary=ReplayedBoundary(session=session, leaf="e9", seq=9, at="recorded"),
        trials=[
            Trial(boundary=0, variant="one", tokens_before=100, tokens_after=50),
            Trial(boundary=0, variant="two", tokens_before=100, tokens_after=30),
            Trial(boundary=0, variant="three", error="nothing is to be done"),
        ],
        summaries={"one": "A **summary**."},
    )


def page(*results: ReplayResult) -> str:
    return replay_page(results, summaries(results, ["one", "two", "three"]), origin=ORIGIN).decode()


def test_the_page_has_each_variants_size() -> None:
    text = page(result("s"))
    assert '<td class="n">50%</td>' in text
    assert '<td class="n">30%</td>' in text


def test_the_page_shows_each_summary_with_its_size() -> None:
    text = page(result("s"))
    assert "<strong>summary</strong>" in text
    assert "50 of 100 tokens" in text


def test_the_page_plots_what_was_kept_against_size() -> None:
    found = result("s")
    claim = Claim(kind="rule", claim="Ask <first>", quotes=["summary"])
    asked = structs.replace(found.boundary, asked=Counts(rules=4, facts=0), claims=[claim])
    there = Standing(claim=0, event="", quote="A summary.")
    kept = [
        structs.replace(
            each,
            kept=Kept(rules=each.tokens_after // 15, standings=[there] if each.variant == "one" else []),
        )
        for each in found.trials[:2]
        if each.tokens_after
    ]
    text = page(structs.replace(found, boundary=asked, trials=[*kept, found.trials[2]]))
    assert '<td class="n">3/4</td>' in text
    assert "one at s#9: 3/4 rules, 50% of the size" in text
    assert "rules kept, by size left" in text
    assert '<tr><td class="n">1</td><td><bdi>one</bdi></td>' in text
    assert '<tr><td class="n">2</td><td><bdi>two</bdi></td>' in text
    assert "<td><bdi>Ask &lt;first&gt;</bdi></td>" in text
    mark = '<b class="label" id="b-0-0-R1">R1</b><mark>A </mark><strong><mark>summary</mark></strong>'
    assert mark in text
    assert '<a href="#b-0-0-R1">summary</a>' in text
    assert ">not word for word</td>" in text
    assert "facts kept, by size left" not in text
    assert "frontier" not in page(found)


def test_the_title_says_how_many_rounds() -> None:
    assert "<h1>1 recorded boundary in 1 session</h1>" in page(result("s"))
    rounds = [
        structs.replace(result("s"), boundary=structs.replace(result("s").boundary, round=each))
        for each in (1, 2)
    ]
    assert "<h1>2 recorded boundaries in 1 session, in 2 rounds</h1>" in page(*rounds)


def test_the_page_says_what_is_sealed() -> None:
    found = result("s")
    sealed = structs.replace(found.trials[0], is_sealed=True)
    assert "only its provider can read this summary" in page(
        structs.replace(found, trials=[sealed, *found.trials[1:]])
    )


def test_marks_break_no_tag_and_no_character() -> None:
    html = Markup("<p>if a &lt; b: <code>run</code> it</p><ul><li>then <em>stop</em></li></ul>")
    shown = marked(html, [Marked("a < b: run it", "R1", "x"), Marked("it then stop", "F1", "y")])
    assert shown == (
        '<p>if <b class="label" id="x">R1</b><mark>a &lt; b: </mark><code><mark>run</mark></code> '
        '<b class="label" id="y">F1</b><mark>it</mark></p>'
        "<ul><li><mark>then </mark><em><mark>stop</mark></em></li></ul>"
    )
    assert marked(html, [Marked("nowhere", "R1", "x"), Marked("…", "R2", "z")]) == html


def test_the_page_counts_boundaries_left_out() -> None:
    assert "2 later boundaries left out" in page(*(result(f"s{each}") for each in range(MOST + 2)))


def test_the_page_says_why_a_variant_has_no_result() -> None:
    assert "three has no result at 1 boundary: nothing is to be done" in page(result("s"))


def test_the_page_names_store_time_and_command() -> None:
    text = page(result("s"), result("t"))
    shown = (ORIGIN.store, ORIGIN.command, "2023-11-14 22:13:20 UTC", "<bdi>s</bdi>", "<bdi>t</bdi>")
    assert [each for each in shown if each not in text] == []
    assert "<h1>2 recorded boundaries in 2 sessions</h1>" in text


def test_a_note_says_if_variants_have_no_boundary_in_common() -> None:
    one, two = result("s"), result("t")
    failed = Trial(boundary=0, variant="two", error="no cut")
    one = structs.replace(one, trials=[one.trials[0], failed])
    two = structs.replace(two, trials=[structs.replace(failed, variant="one"), two.trials[1]])
    shown = summaries([one, two], ["one", "two"])
    assert next(failures_of([one, two], shown)).startswith("there is nothing to compare")
