"""Divide the messages since the last compaction into a summarized part and a kept part.

To add a cut, write a `CutPart` with a method `cut`, its name in `AnyCut`, tests and docs.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Self

import msgspec

from compaction.part import Count, Limits, PolicyPart, Positive, Share
from compaction.window import Window


class CutPart(PolicyPart, frozen=True):
    """The base of cuts. `cut` divides a window; None means that nothing is to be summarized.

    Each cut also answers to the settings that a person may apply to any cut.
    """

    def why_all(self, window: Window) -> str:
        """Return why the cut keeps all of a window, "" if it does not know."""
        del window
        return ""

    def most_kept(self, limits: Limits) -> int | None:
        """Return the maximum number of kept tokens, None if it depends on the messages."""
        del limits
        return None

    def keeping(self, tokens: int) -> Self | None:
        """Return this cut with another number of tokens to keep, None if it keeps otherwise."""
        del tokens
        return None

    def reserving(self, tokens: int) -> Self:
        """Return this cut with another number of reserved tokens, if it uses one."""
        del tokens
        return self


class Cut(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A window in three parts: ids of messages to summarize, of a split turn's prefix, and kept.

    `first_kept` is the entry that the record names as first kept, "" if nothing is kept. `quoted` are
    summarized messages that the summary repeats word for word. `shrinks_to` is a limit in tokens: the kept
    part is larger, so its largest outputs are shortened to fit.
    """

    first_kept: str
    to_summarize: list[str]
    turn_prefix: list[str]
    kept: list[str]
    quoted: list[str] = []
    shrinks_to: int | None = None

    @property
    def splits_turn(self) -> bool:
        """True if a turn's beginning is summarized and its end is kept."""
        return bool(self.turn_prefix)


def cut_at(window: Window, place: int) -> Cut | None:
    """Return the cut before the message at `place`, None if nothing comes before it.

    If the cut is inside a turn, the messages from the turn's start to the cut are its prefix. A turn starts
    with a user's message, a shell command, an extension's message or a branch summary.
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
    """Return the cut before an entry, None if the kept part cannot start there.

    The entry is a message that may start the kept part, or the oldest of the settings and labels right before
    one. "" cuts after all messages.
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
    """Keep about `tokens`, from the oldest valid place on.

    The newest group is kept even if it alone is larger, as in oh-my-pi 18. Unlike pi 0.73, the cut never
    exceeds the budget and never keeps a whole window because its last message is too large. With `adapts` the
    budget is scaled to the provider's count, as in oh-my-pi.
    """

    tokens: Positive = 20_000
    adapts: bool = False

    def why_all(self, window: Window) -> str:
        if window.tokens > self.tokens:
            return ""
        return f"everything that is not summarized yet fits into the {self.tokens:,} tokens that are kept"

    def most_kept(self, limits: Limits) -> int:
        del limits
        return self.tokens

    def keeping(self, tokens: int) -> Self:
        return msgspec.structs.replace(self, tokens=tokens)

    def cut(self, window: Window, limits: Limits) -> Cut | None:
        """Return the cut of a window, None if nothing is to be summarized."""
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
    """Scale a budget down if the provider counts more tokens than the estimate.

    `measured` is the provider's count of what was sent, `estimate` the counter's size of the window. As in
    oh-my-pi, the budget is divided by their ratio if that is over 1, and stays at least 1.
    """
    if estimate <= 0 or measured <= estimate:
        return budget
    return max(budget * estimate // measured, 1)


class TailTurn(CutPart, frozen=True, tag="tail-turn"):
    """Keep at most the last `turns` turns that fit a share of the model's usable window.

    This is opencode's rule. The budget is `share` of the window less `reserved`, at least `least` and at most
    `most` tokens. The first turn that does not fit is split at a group, and the summary quotes its first
    message word for word. If no message of the person is kept, the summary also quotes the newest one, unless
    that alone exceeds the budget. The newest group is always kept; if it alone exceeds the budget, its
    largest results and shell outputs are shortened.
    """

    turns: Positive = 2
    share: Share = 0.25
    least: Count = 2_000
    most: Count = 8_000
    reserved: Count = 20_000

    def budget(self, limits: Limits) -> int:
        """Return the tokens that the tail may have."""
        usable = max(limits.window - self.reserved, 0)
        return min(max(int(usable * self.share), self.least), self.most)

    def most_kept(self, limits: Limits) -> int:
        return self.budget(limits)

    def reserving(self, tokens: int) -> Self:
        return msgspec.structs.replace(self, reserved=tokens)

    def cut(self, window: Window, limits: Limits) -> Cut | None:
        """Return the cut of a window, None if nothing is to be summarized."""
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
    """Quote the message that began a split turn, and the newest request if none is kept."""
    if cut is None:
        return None
    orders = [item for item in window.items if item.role == "user" and item.starts_turn]
    gone = [item.id for item in orders[-1:] if item.id not in cut.kept and item.tokens <= budget]
    quoted = dict.fromkeys([*gone, *cut.turn_prefix[:1]])
    return msgspec.structs.replace(cut, quoted=list(quoted))


class LastMessages(CutPart, frozen=True, tag="last-messages"):
    """Keep about the last `messages`, from the nearest valid place at or before that.

    0 keeps nothing but an answer whose calls are still open, so that their results find it. The four-layer
    pipeline keeps nothing, or the last 5 after the API has refused a request as too long.
    """

    messages: Count = 5

    def cut(self, window: Window, limits: Limits) -> Cut | None:
        """Return the cut of a window, None if nothing is to be summarized."""
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
