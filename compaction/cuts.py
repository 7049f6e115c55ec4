"""Cuts: where a compaction divides the messages since the last one into a summary and what stays.

To add a cut: a `CutPart` with a method `cut`, its name in `AnyCut`, its tests, its docs.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Self

import msgspec

from compaction.part import Count, Limits, PolicyPart, Positive, Share
from compaction.window import Window


class CutPart(PolicyPart, frozen=True):
    """A cut that a policy names; its method `cut` gives the `Cut` of a window, None where nothing is to summarize.

    What a person may set of cuts of any sort is asked of each of them.
    """

    def why_all(self, window: Window) -> str:
        """Return why it keeps all of a window, as far as it knows; "" where it does not."""
        del window
        return ""

    def most_kept(self, limits: Limits) -> int | None:
        """Return how many tokens it keeps at most, None where that depends on the messages."""
        del limits
        return None

    def keeping(self, tokens: int) -> Self | None:
        """Return the same cut with so many tokens to keep; None for one that keeps otherwise."""
        del tokens
        return None

    def reserving(self, tokens: int) -> Self:
        """Return the same cut with so many tokens of the window that stay free, if it heeds them."""
        del tokens
        return self


class Cut(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A window in three: ids of the messages to summarize, of the beginning of a turn that is parted, of those kept.

    `first_kept` is the entry from which on a record says that it keeps, "" where nothing is kept. `quoted` are
    messages before that which go into the summary word for word. `shrinks_to`: what is kept is larger than it
    may be, and its largest outputs have to be shown shorter, until it has so many tokens.
    """

    first_kept: str
    to_summarize: list[str]
    turn_prefix: list[str]
    kept: list[str]
    quoted: list[str] = []
    shrinks_to: int | None = None

    @property
    def splits_turn(self) -> bool:
        """True if a turn's beginning goes into the summary and its end stays."""
        return bool(self.turn_prefix)


def cut_at(window: Window, place: int) -> Cut | None:
    """Return the cut before the message at `place`; None where nothing lies before it.

    A cut inside a turn parts it: from the turn's start on, the messages before the cut are its prefix. A
    turn starts with a user's message, a shell command, an extension's message or a branch summary.
    """
    items = window.items
    if place <= 0:
        return None
    start = place
    if place < len(items) and not items[place].starts_turn:
        start = next((at for at in range(place - 1, -1, -1) if items[at].starts_turn), place)
    ids = [item.id for item in items]
    return Cut(
        first_kept=items[place].first if place < len(items) else "",
        to_summarize=ids[:start],
        turn_prefix=ids[start:place],
        kept=ids[place:],
    )


def cut_before(window: Window, first_kept: str) -> Cut | None:
    """Cut before an entry, "" behind all messages; return None where what is kept cannot begin there.

    The entry is a message that may start, or the oldest of the settings and labels right before one.
    """
    places = {
        name: place
        for place, item in enumerate(window.items)
        if item.may_start
        for name in (item.id, item.first)
    }
    if not window.is_open:
        places[""] = len(window.items)
    return cut_at(window, places.get(first_kept, 0))


class KeepRecent(CutPart, frozen=True, tag="keep-recent"):
    """Keep about `tokens`, from the oldest place on where a cut is valid.

    The newest group is kept even if it alone is too large. So does oh-my-pi 18; unlike pi 0.73 it never lands
    behind the budget, and never keeps all of a window whose last message is too large. With `adapts` the
    budget follows what the provider measured, as oh-my-pi's does.
    """

    tokens: Positive = 20_000
    adapts: bool = False

    def why_all(self, window: Window) -> str:
        if window.tokens > self.tokens:
            return ""
        return f"all that is not summarized fits into the {self.tokens:,} tokens that are kept"

    def most_kept(self, limits: Limits) -> int:
        del limits
        return self.tokens

    def keeping(self, tokens: int) -> Self:
        return msgspec.structs.replace(self, tokens=tokens)

    def cut(self, window: Window, limits: Limits) -> Cut | None:
        """Return the cut of a window; None: nothing to summarize."""
        del limits
        places = [place for place, item in enumerate(window.items) if item.may_start]
        if window.is_compacted or not places:
            return None
        budget = self.tokens
        if self.adapts and window.measured is not None:
            budget = scale_budget(budget, measured=window.measured, estimate=window.tokens)
        behind = list(accumulate(item.tokens for item in reversed(window.items)))[::-1]
        return cut_at(window, next((place for place in places if behind[place] <= budget), places[-1]))


def scale_budget(budget: int, *, measured: int, estimate: int) -> int:
    """Return a budget in the estimate's tokens, where the provider counts more than the estimate does.

    `measured` is what the provider counted as sent, `estimate` what the window is by the counter. oh-my-pi:
    the budget is divided by their ratio when that is over 1, and stays at least 1.
    """
    if estimate <= 0 or measured <= estimate:
        return budget
    return max(budget * estimate // measured, 1)


class TailTurn(CutPart, frozen=True, tag="tail-turn"):
    """Keep at most the last `turns` turns, as many as fit a share of what the model can use.

    The budget is `share` of the window less `reserved`, at least `least` and at most `most` tokens: opencode's
    rule. The first turn that does not fit is parted at a group; its first message goes into the summary word
    for word. So does the person's newest order where none is kept, as where shell commands and extensions'
    messages came after it, unless it alone is over the budget. The newest group is kept in any case; where it
    alone is over the budget, its largest results and shell outputs are shown shorter.
    """

    turns: Positive = 2
    share: Share = 0.25
    least: Count = 2_000
    most: Count = 8_000
    reserved: Count = 20_000

    def budget(self, limits: Limits) -> int:
        """Tokens that the tail may have."""
        usable = max(limits.window - self.reserved, 0)
        return min(max(int(usable * self.share), self.least), self.most)

    def most_kept(self, limits: Limits) -> int:
        return self.budget(limits)

    def reserving(self, tokens: int) -> Self:
        return msgspec.structs.replace(self, reserved=tokens)

    def cut(self, window: Window, limits: Limits) -> Cut | None:
        """Return the cut of a window; None: nothing to summarize."""
        items = window.items
        places = [place for place, item in enumerate(items) if item.may_start]
        if window.is_compacted or not places:
            return None
        behind = list(accumulate(item.tokens for item in reversed(items)))[::-1]
        starts = [place for place in places if items[place].starts_turn][-self.turns :] or [0]
        budget = self.budget(limits)
        whole = [start for start in starts if behind[start] <= budget]
        if len(whole) == len(starts):
            return _in_sight(window, cut_at(window, starts[0]), budget)
        parted = starts[-len(whole) - 1]
        inside = [place for place in places if place > parted and behind[place] <= budget]
        place = min(inside, default=places[-1])
        cut = cut_at(window, place)
        over = budget if behind[place] > budget else None
        return _in_sight(window, cut and msgspec.structs.replace(cut, shrinks_to=over), budget)


def _in_sight(window: Window, cut: Cut | None, budget: int) -> Cut | None:
    """Quote the message that began a parted turn, and the person's newest order if none is kept."""
    if cut is None:
        return None
    orders = [item for item in window.items if item.role == "user" and item.starts_turn]
    gone = [item.id for item in orders[-1:] if item.id not in cut.kept and item.tokens <= budget]
    quoted = dict.fromkeys([*gone, *cut.turn_prefix[:1]])
    return msgspec.structs.replace(cut, quoted=list(quoted))


class LastMessages(CutPart, frozen=True, tag="last-messages"):
    """Keep about the last `messages`: from the nearest place at or before where a cut is valid.

    0 keeps nothing, but an answer whose calls are in flight, so that their results find it. The four-layer
    pipeline keeps nothing, and the last 5 after the API has refused a request as too long.
    """

    messages: Count = 5

    def cut(self, window: Window, limits: Limits) -> Cut | None:
        """Return the cut of a window; None: nothing to summarize."""
        del limits
        if window.is_compacted or not window.items:
            return None
        wanted = max(len(window.items) - self.messages, 0)
        if wanted == len(window.items) and not window.is_open:
            return cut_at(window, wanted)
        places = [place for place, item in enumerate(window.items) if item.may_start and place]
        return cut_at(window, max((place for place in places if place <= wanted), default=0))


AnyCut = KeepRecent | TailTurn | LastMessages
"""The cuts that a policy can name."""
