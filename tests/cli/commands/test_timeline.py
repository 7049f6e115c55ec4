"""The size of the context after every entry of a path."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cli.views.plot import plot
from tests.cli.running import Refold
from tests.cli.tale import SESSION
from tests.support.pi_files import line, said


def test_json_tells_the_contexts_size_after_every_entry_of_the_path(told: Refold) -> None:
    found = told("timeline", SESSION, "--json").json
    rows = [(each["id"], each["tokens"], each["delta"], each["messages"]) for each in found["moments"]]
    assert rows == [
        ("u1", 4, 4, 1),
        ("a1", 18, 14, 2),
        ("r1", 22, 4, 3),
        ("r2", 27, 5, 4),
        ("a2", 34, 7, 5),
        ("r3", 1034, 1000, 6),
        ("u2", 1038, 4, 7),
        ("a3", 1050, 12, 8),
        ("s1", 1056, 6, 9),
        ("c1", 27, -1029, 4),
        ("u3", 29, 2, 5),
        ("a4", 33, 4, 6),
        ("l1", 33, 0, 6),
        ("i1", 33, 0, 6),
    ]


def test_json_tells_of_a_moment_what_the_provider_measured(told: Refold) -> None:
    found = told("timeline", SESSION, "--json").json
    moment = found["moments"][1]
    del found["moments"]
    counted = {"counter": "utf16/4", "exact": False, "estimate": True}
    assert found == {"session": SESSION, "leaf": "i1", **counted}
    assert moment == {
        "seq": 2,
        "id": "a1",
        "kind": "message",
        "role": "assistant",
        "time": "2025-12-08T22:00:02.000Z",
        "tokens": 18,
        "delta": 14,
        "messages": 2,
        "measured": 1000,
        "continues": False,
    }


def test_at_another_leaf_the_timeline_is_that_of_its_path(told: Refold) -> None:
    found = told("timeline", SESSION, "--leaf", "b2", "--json").json
    assert [each["id"] for each in found["moments"]][-3:] == ["a3", "b1", "b2"]


def test_as_of_an_event_the_timeline_ends_there(told: Refold) -> None:
    assert told("timeline", SESSION, "--as-of", "2", "--json").json["moments"][-1]["id"] == "a1"


def test_its_last_size_is_the_contexts(told: Refold) -> None:
    last = told("timeline", SESSION, "--json").json["moments"][-1]
    context = told("context", SESSION, "--json").json
    assert (last["tokens"], last["messages"]) == (context["tokens"], len(context["messages"]))


def test_people_see_a_plot_with_compactions_marked(told: Refold) -> None:
    lines = told("timeline", SESSION).lines
    assert lines[0].startswith("1,056 │")
    assert lines[11] == "                ∑"
    assert ("utf16/4" in lines[12], "∑" in lines[12]) == (True, True)


def test_where_nothing_was_compacted_no_mark_is_explained(told: Refold) -> None:
    assert "∑" not in told("timeline", SESSION, "--leaf", "a3").out


def test_the_largest_changes_are_listed_and_what_is_left_out_is_counted(told: Refold) -> None:
    lines = told("timeline", SESSION).lines
    rows = [line.split() for line in lines]
    assert ["6", "r3", "2025-12-08", "22:00:06", "toolResult", "1,034", "+1,000"] in rows
    assert ["12", "c1", "2025-12-08", "22:00:12", "compactionSummary", "27", "-1,029"] in rows
    assert rows[-1][0] == "2"


def test_of_changes_that_are_all_the_same_only_a_few_are_listed(refold: Refold) -> None:
    refold("append", "s", stdin=said("hello") * 30)
    lines = refold("timeline", "s").lines
    assert lines[-1].split()[0] == "18"


def test_what_goes_on_after_a_compaction_is_listed_in_full_alone_and_as_nobodys(refold: Refold) -> None:
    on = {
        "type": "message",
        "id": "e2",
        "message": {"role": "user", "content": "continue"},
        "metadata": {"compaction_continue": True},
    }
    refold("append", "s", stdin=said("hello") + line(on))
    assert refold("timeline", "s").lines[-1].split()[0] == "1"
    assert refold("timeline", "s", "--full").lines[-1].split()[-3:] == ["continuation", "4", "+2"]
    assert [each["continues"] for each in refold("timeline", "s", "--json").json["moments"]] == [False, True]


def test_in_full_every_entry_is_listed(told: Refold) -> None:
    lines = told("timeline", SESSION, "--full").lines
    assert lines[-1].split()[1] == "i1"


series = st.lists(st.integers(0, 10**9), min_size=1, max_size=300)


def test_a_series_is_drawn_with_its_largest_value_on_top() -> None:
    assert plot([1, 2, 4], height=4) == [
        "4 │  █",
        "  │  █",
        "2 │ ██",
        "  │███",
        "0 └───",
    ]


def test_nothing_is_drawn_of_an_empty_series() -> None:
    assert plot([]) == []


def test_a_series_of_zeros_is_a_line_at_the_bottom() -> None:
    assert plot([0, 0], height=2) == ["1 │", "0 │", "0 └──"]


def test_parts_of_a_row_are_drawn_in_eighths() -> None:
    assert plot(list(range(1, 9)), height=1)[0] == "8 │▁▂▃▄▅▆▇█"


def test_marks_stand_below_what_they_mark() -> None:
    assert plot([1, 2, 3], marks=[1], height=1)[-1] == "    ∑"


def test_a_column_shows_the_largest_value_of_its_share() -> None:
    assert plot([0, 9, 0, 0], width=5, height=1)[0] == "9 │█"


@given(series, st.integers(1, 120), st.integers(1, 12))
def test_no_line_is_wider_than_asked_for_and_there_are_as_many_as_asked_for(values, width, height) -> None:
    lines = plot(values, width=width, height=height)
    label = len(f"{max(values):,}")
    assert len(lines) == height + 1
    assert max(map(len, lines)) <= max(width, label + 3)


@given(series, st.data())
def test_every_mark_is_below_some_column(values, data) -> None:
    mark = data.draw(st.integers(0, len(values) - 1))
    lines = plot(values, marks=[mark], width=60)
    assert lines[-1].count("∑") == 1
    assert len(lines[-1]) <= len(lines[-2])


@given(series)
def test_the_highest_column_reaches_the_top(values) -> None:
    top = plot(values, width=80)[0]
    assert ("█" in top) == (max(values) > 0)
