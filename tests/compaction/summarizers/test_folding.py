"""A conversation in steps: how many, what each is told, and what a provider that refuses makes of them."""

from __future__ import annotations

import pytest

from compaction.summarizers import CancelledError, SummarizerError
from compaction.summarizers.chain import SummarizersFailedError, SummaryReply
from compaction.summarizers.folding import (
    MAX_REFUSALS,
    FoldedSummary,
    fold_groups,
    group_parts,
    newest_parts_that_fit,
)
from projections.context.parts import Fate, Part


def part(name, role="user"):
    return Part(seq=1, id=name, kind="message", role=role, fate=Fate.KEPT, raw=b"{}", format="pi/3")


def groups(*sizes):
    """Messages a, b, c, … of these sizes, each a group."""
    return group_parts([part(chr(97 + number)) for number in range(len(sizes))], sizes)


class Asking:
    """Sums up as the names of what it was given, and refuses what is longer than `longest` messages."""

    def __init__(self, longest=99, refuses=()):
        self.longest, self.refuses = longest, refuses
        self.steps = []

    def __call__(self, parts, previous):
        names = "".join(part.id for part in parts)
        self.steps.append((previous, names))
        record = {"asked": names}
        if len(parts) > self.longest or set(names) & set(self.refuses):
            raise SummarizersFailedError([SummarizerError("s", "too long", is_too_long=True)], [record])
        return SummaryReply(text=f"({previous}{names})", missing=[], requests=[record])


def folded(sizes, *, room=99, previous="", asking=None, **options):
    asking = asking or Asking(**options)
    return fold_groups(groups(*sizes), asking, room=lambda _: room, previous=previous), asking.steps


# Groups


def test_results_stay_with_the_message_that_called():
    roles = ["user", "assistant", "toolResult", "toolResult", "assistant", "toolResult", "user"]
    parts = [part(str(number), role) for number, role in enumerate(roles)]
    made = group_parts(parts, [1, 2, 3, 4, 5, 6, 7])
    assert ["".join(each.id for each in group.parts) for group in made] == ["0", "123", "45", "6"]
    assert [group.tokens for group in made] == [1, 9, 11, 7]


def test_results_at_the_very_beginning_make_a_group():
    assert len(group_parts([part("a", "toolResult"), part("b")], [1, 1])) == 2


def test_no_messages_make_no_groups():
    assert group_parts([], []) == []


def test_the_newest_that_fit_are_in_their_order():
    assert [each.id for each in newest_parts_that_fit(groups(5, 5, 5), 10)] == ["b", "c"]


def test_the_newest_group_fits_in_any_case():
    assert [each.id for each in newest_parts_that_fit(groups(5, 50), 10)] == ["b"]


# Steps


def test_what_fits_takes_one_step():
    made, steps = folded([1, 2, 3])
    assert (made.text, steps) == ("(abc)", [("", "abc")])


def test_what_does_not_fit_takes_several_each_told_what_came_before():
    made, steps = folded([4, 4, 4, 4, 4], room=8)
    assert steps == [("", "ab"), ("(ab)", "cd"), ("((ab)cd)", "e")]
    assert made.text == "(((ab)cd)e)"


def test_a_group_that_alone_is_too_large_is_a_step():
    assert [names for _, names in folded([1, 50, 1], room=8)[1]] == ["a", "b", "c"]


def test_the_room_is_what_the_summary_before_leaves():
    asking = Asking()
    fold_groups(groups(4, 4, 4), asking, room=lambda previous: 8 if not previous else 4)
    assert [names for _, names in asking.steps] == ["ab", "c"]


def test_the_first_step_is_told_the_summary_from_before():
    assert folded([1], previous="old")[1] == [("old", "a")]


def test_of_nothing_the_summary_from_before_stays_as_it_is_and_nobody_is_asked():
    made, steps = folded([], previous="old")
    assert (made, steps) == (FoldedSummary(text="old"), [])


def test_the_requests_of_all_steps_are_reported():
    made, _ = folded([4, 4], room=4)
    assert made.requests == [{"asked": "a"}, {"asked": "b"}]


def test_the_missing_sections_are_those_of_the_last_step():
    def ask(_, previous):
        return SummaryReply(text="x", missing=[] if previous else ["Goal"], requests=[])

    assert fold_groups(groups(4, 4), ask, room=lambda _: 4).missing == []


# Refusals


def test_what_is_refused_for_its_length_is_asked_about_in_halves_oldest_first():
    made, steps = folded([1, 1, 1, 1], longest=2)
    assert [names for _, names in steps] == ["abcd", "ab", "cd"]
    assert (made.text, made.left_out) == ("((ab)cd)", [])


def test_halves_are_halved_again():
    made, steps = folded([1] * 8, longest=2)
    assert [names for _, names in steps] == ["abcdefgh", "abcd", "ab", "cd", "ef", "gh"]
    assert made.left_out == []


def test_halves_are_by_tokens():
    assert [names for _, names in folded([1, 1, 1, 3], longest=3)[1]] == ["abcd", "abc", "d"]


def test_two_groups_are_always_parted():
    assert [names for _, names in folded([1, 9], longest=1)[1]] == ["ab", "a", "b"]


def test_a_group_that_fits_nowhere_is_left_out_and_told():
    made, _ = folded([1, 1, 1], refuses="b", room=1)
    assert (made.text, made.left_out) == ("((a)c)", ["b"])


def test_a_group_that_fits_nowhere_is_left_out_at_the_beginning_too():
    made, _ = folded([1, 1], refuses="a", room=1)
    assert (made.text, made.left_out) == ("(b)", ["a"])


def test_a_group_that_is_all_there_is_cannot_be_left_out():
    with pytest.raises(SummarizersFailedError):
        folded([1], refuses="a")


def test_refusals_are_recorded():
    made, _ = folded([1, 1], longest=1)
    assert made.requests == [{"asked": "ab"}, {"asked": "a"}, {"asked": "b"}]


def test_who_refuses_everything_is_asked_no_more_than_a_few_times():
    asking = Asking(longest=0)
    with pytest.raises(SummarizersFailedError) as raised:
        folded([1] * 100, asking=asking)
    assert len(asking.steps) == MAX_REFUSALS + 1
    assert len(raised.value.requests) == MAX_REFUSALS + 1


def test_another_failure_ends_it_with_the_requests_of_the_steps_before():
    def ask(_, previous):
        if previous:
            raise SummarizersFailedError([SummarizerError("s", "no")], [{"asked": "second"}])
        return SummaryReply(text="x", missing=[], requests=[{"asked": "first"}])

    with pytest.raises(SummarizersFailedError) as raised:
        fold_groups(groups(4, 4), ask, room=lambda _: 4)
    assert raised.value.requests == [{"asked": "first"}, {"asked": "second"}]


def test_what_is_called_off_tells_the_requests_of_the_steps_before():
    def ask(_, previous):
        if previous:
            raise CancelledError([{"asked": "second"}])
        return SummaryReply(text="x", missing=[], requests=[{"asked": "first"}])

    with pytest.raises(CancelledError) as raised:
        fold_groups(groups(4, 4), ask, room=lambda _: 4)
    assert raised.value.requests == [{"asked": "first"}, {"asked": "second"}]
