"""Choosing lines: in fair shares, none twice, none that would break what it is written into."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.summarizers.extractive import FactQueue, FactSelection
from compaction.summarizers.facts import Fact
from projections.mentions.path_names import PathIndex

AMPLE = 10_000


def queue(*lines, heading="H", mark="- ", share=1):
    return FactQueue(
        heading,
        mark,
        share,
        [Fact(each, place) if isinstance(each, str) else each for place, each in enumerate(lines)],
    )


def chosen(*queues, room=AMPLE, paths=()):
    selection = FactSelection(PathIndex(paths))
    selection.take(queues, room)
    return selection.written("H")


def test_a_line_stands_behind_its_mark():
    assert chosen(queue("one", mark="- [x] ")) == ["- [x] one"]


def test_lines_of_a_queue_stand_in_order_of_their_places():
    assert chosen(queue(Fact("new", 2), Fact("old", 1))) == ["- old", "- new"]


def test_queues_under_one_heading_stand_one_after_the_other():
    selection = FactSelection(PathIndex([]))
    for each in ("one", "two"):
        selection.take([queue(each)], AMPLE)
    assert selection.written("H") == ["- one", "- two"]


def test_each_heading_has_its_own_lines():
    selection = FactSelection(PathIndex([]))
    selection.take([queue("one"), queue("two", heading="I")], AMPLE)
    assert (selection.written("H"), selection.written("I"), selection.written("J")) == (
        ["- one"],
        ["- two"],
        [],
    )


def test_things_with_one_head_share_a_line_behind_lines_that_stand_alone():
    lines = [
        Fact("a.ts", head="src/", thing="src/a.ts"),
        Fact("alone"),
        Fact("b.ts", head="src/", thing="src/b.ts"),
    ]
    assert chosen(queue(*lines)) == ["- alone", "- src/: a.ts, b.ts"]


def test_lists_stand_by_name_those_without_a_folder_last():
    lines = [Fact("a", head=head, thing=head) for head in ("names", "src/", "docs/")]
    assert chosen(queue(*lines)) == ["- docs/: a", "- src/: a", "- names: a"]


def test_queues_share_the_lists_under_their_heading():
    one, two = (Fact(name, head="src/", thing=f"src/{name}") for name in ("a.ts", "b.ts"))
    assert chosen(queue(one), queue(two)) == ["- src/: a.ts, b.ts"]


def test_the_first_lines_are_taken_while_there_is_room():
    # A line takes its own bytes, its mark's and one more.
    assert chosen(queue("aaaa", "bbbb", "cccc"), room=14) == ["- aaaa", "- bbbb"]


def test_room_is_counted_in_bytes():
    assert chosen(queue("ありがとう", "aa"), room=14) == ["- aa"]


def test_a_line_that_does_not_fit_leaves_its_room_to_shorter_ones():
    assert chosen(queue("far too long for it", "aa"), room=10) == ["- aa"]


def test_what_room_is_left_is_given():
    assert FactSelection(PathIndex([])).take([queue("aaaa")], 20) == 13


def test_each_queue_has_its_share():
    many = [f"{number:04}" for number in range(100)]
    lines = chosen(
        queue(*(f"a{each}" for each in many)), queue(*(f"b{each}" for each in many), share=3), room=320
    )
    assert (sum(line[2] == "a" for line in lines), sum(line[2] == "b" for line in lines)) == (10, 30)


def test_what_one_queue_leaves_goes_to_the_others():
    many = [f"b{number:04}" for number in range(100)]
    lines = chosen(queue("a0000", share=99), queue(*many), room=80)
    assert len(lines) == 10


def test_no_line_is_told_twice():
    assert chosen(queue("Use tabs."), queue("use tabs.", "Use spaces.")) == ["- Use tabs.", "- Use spaces."]


def test_a_thing_that_a_line_names_is_not_listed():
    listed = [Fact("a.ts", head="src/", thing="src/a.ts"), Fact("parseAll", head="names", thing="parseAll")]
    assert chosen(queue("`parseAll` is in src/a.ts"), queue(*listed), paths=["src/a.ts"]) == [
        "- `parseAll` is in src/a.ts"
    ]


def test_a_folder_is_not_listed_whose_files_are():
    listed = [
        Fact("a.ts", head="src/core/", thing="src/core/a.ts"),
        Fact("core", head="src/", thing="src/core"),
    ]
    assert chosen(queue(*listed)) == ["- src/core/: a.ts"]


@pytest.mark.parametrize(
    "tag", ["summary", "/analysis", "conversation", "previous-summary", "read-files", "/modified-files"]
)
def test_a_text_opens_and_closes_nothing(tag):
    assert chosen(queue(f"see <{tag}> there")) == [f"- see &lt;{tag}> there"]


def test_what_stands_there_already_is_not_told_of_another_thing():
    lines = [Fact("a.ts", head="src/", thing="src/a.ts"), Fact("a.ts", head="src/", thing="/repo/src/a.ts")]
    assert chosen(queue(*lines)) == ["- src/: a.ts"]


def test_half_a_character_is_replaced():
    assert chosen(queue("so \ud83d")) == ["- so \ufffd"]


texts = st.text(st.sampled_from("ab <#é😀\ud83d"), min_size=1, max_size=12)
lines = st.one_of(
    st.builds(Fact, text=texts, place=st.integers(0, 3)),
    st.builds(Fact, text=texts, head=st.sampled_from(["src/", "names"]), thing=texts | st.just("")),
)


@given(
    queues=st.lists(
        st.builds(
            FactQueue, st.sampled_from("HI"), st.just("- "), st.integers(1, 9), st.lists(lines, max_size=6)
        ),
        max_size=4,
    ),
    room=st.integers(0, 120),
)
def test_what_is_chosen_fits_and_is_distinct(queues, room):
    selection = FactSelection(PathIndex([]))
    left = selection.take(queues, room)
    written = [*selection.written("H"), *selection.written("I")]
    assert sum(len(line.encode()) + 1 for line in written) + left == room
    assert left >= 0
    assert len(set(written)) == len(written)
