"""Divide the messages since the last compaction into a summarized part and a kept part.

`PiRecent`, `Pi87Recent`, `OhMyPiRecent`, `OpencodeTail` and `NewestAnswer` cut as these harnesses do, faults
included. The others are refold's own; `KeepRecent` and `TailTurn` are the same rules without the faults.

To add a cut, write a `CutPart` with a method `cut`, its name in `AnyCut`, tests and docs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from operator import attrgetter
from typing import Final, Self

import msgspec

from compaction.part import Count, Limits, PolicyPart, Positive, Share
from compaction.window import Window, WindowItem


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


def cut_at(
    window: Window, place: int, starts_turn: Callable[[WindowItem], bool] = attrgetter("starts_turn")
) -> Cut | None:
    """Return the cut before the message at `place`, None if nothing comes before it.

    If the cut is inside a turn, the messages from the turn's start to the cut are its prefix. By default, a
    turn starts with a user's message, a shell command, an extension's message or a branch summary.
    """
    items = window.items
    start = place
    if place < len(items) and not starts_turn(items[place]):
        start = _newest(items[:place], starts_turn, default=place)
    return _divide(window, start, place)


def _newest(items: Sequence[WindowItem], is_sought: Callable[[WindowItem], bool], *, default: int) -> int:
    """Return the place of the newest of `items` that is sought."""
    return next((place for place in range(len(items) - 1, -1, -1) if is_sought(items[place])), default)


def _divide(window: Window, start: int, place: int) -> Cut | None:
    """Return the cut at `place` of a turn that starts at `start`, None if nothing is summarized."""
    if place <= 0:
        return None
    ids = [item.id for item in window.items]
    return Cut(
        first_kept=window.items[place].first if place < len(ids) else "",
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


class _Recent(CutPart, frozen=True):
    """The base of cuts that keep about `tokens` of the newest messages."""

    tokens: Positive = 20_000

    def why_all(self, window: Window) -> str:
        if window.tokens > self.tokens:
            return ""
        return f"everything that is not summarized yet fits into the {self.tokens:,} tokens that are kept"

    def most_kept(self, limits: Limits) -> int:
        del limits
        return self.tokens

    def keeping(self, tokens: int) -> Self:
        return msgspec.structs.replace(self, tokens=tokens)


class KeepRecent(_Recent, frozen=True, tag="keep-recent"):
    """Keep as many of the newest messages as fit into `tokens`, from a valid place on.

    The newest group is kept even if it alone is larger. Unlike in pi, the cut never exceeds the budget and
    never keeps a whole window because its last message is too large; unlike in oh-my-pi, it never separates a
    call from its result. With `adapts` the budget is scaled to the provider's count since the last
    compaction.
    """

    adapts: bool = False

    def cut(self, window: Window, limits: Limits) -> Cut | None:
        """Return the cut of a window, None if nothing is to be summarized."""
        del limits
        places = [place for place, item in enumerate(window.items) if item.may_start]
        if window.is_compacted or not places:
            return None
        measured = window.measured if self.adapts else None
        budget = scale_budget(self.tokens, measured=measured or 0, estimate=window.tokens)
        return cut_at(window, _oldest_fitting(window, places, budget))


_OWN_KINDS: Final = frozenset({"custom_message", "branch_summary"})
"""Entries other than `message` that become messages in pi and oh-my-pi."""
_PI_STARTS: Final = frozenset({"user", "assistant", "bashExecution", "branchSummary", "compactionSummary"})
"""Roles of `message` entries at which pi and oh-my-pi cut."""


def _is_pi_turn(item: WindowItem) -> bool:
    """Return True if pi and oh-my-pi start a turn here."""
    return item.kind in _OWN_KINDS or item.role in ("user", "bashExecution")


def _places_of_pi(window: Window, *, extension: str) -> list[int]:
    """Return where pi and oh-my-pi may cut; `extension` is the role of messages of extensions."""
    roles = {*_PI_STARTS, extension}
    return [
        at
        for at, item in enumerate(window.items)
        if item.begins and (item.kind in _OWN_KINDS or item.role in roles)
    ]


class PiRecent(_Recent, frozen=True, tag="pi-recent"):
    """Cut as pi 0.73.1 does: keep messages from the one that fills `tokens`, or the next place.

    So the kept part exceeds `tokens` by up to one message, except after a large tool result. pi has these
    faults: if no valid place follows, because the newest result alone is too large, everything is kept.
    Messages of extensions and branch summaries count no tokens, and are always kept along with what follows
    them. A cut behind settings or labels splits the whole turn before it off as a prefix.
    """

    def why_all(self, window: Window) -> str:
        tokens = sum(item.tokens for item in window.items if item.kind == "message")
        if tokens < self.tokens:
            return (
                f"everything that is not summarized yet is less than the {self.tokens:,} tokens that are kept"
            )
        return "as pi does, everything is kept if no place to cut follows the messages that are too large"

    def cut(self, window: Window, limits: Limits) -> Cut | None:
        """Return the cut of a window, None if nothing is to be summarized."""
        del limits
        items = window.items
        places = _places_of_pi(window, extension="custom")
        if window.is_compacted or not places:
            return None
        sizes = [item.tokens if item.kind == "message" else 0 for item in items]
        behind = list(accumulate(reversed(sizes)))[::-1]
        full = sum(size >= self.tokens for size in behind) - 1
        place = next((at for at in places if at >= full), places[0]) if full >= 0 else places[0]
        while place and items[place - 1].kind in _OWN_KINDS and not items[place].after_compaction:
            place -= 1
        return _divide_as_pi(window, place)


def _divide_as_pi(window: Window, place: int) -> Cut | None:
    """Return the cut at `place`; settings before its message belong to the turn before."""
    first = window.items[place]
    last = place + (first.first == first.id)
    return _divide(window, _newest(window.items[:last], _is_pi_turn, default=place), place)


class Pi87Recent(_Recent, frozen=True, tag="pi-0.87-recent"):
    """Cut as pi 0.87 does: as `PiRecent`, but with the newest place as the last resort.

    Unlike in pi 0.73, messages of extensions and branch summaries count tokens and may begin the kept part. It still
    splits off the whole turn before a cut behind settings or labels.
    """

    def cut(self, window: Window, limits: Limits) -> Cut | None:
        """Return the cut of a window, None if nothing is to be summarized."""
        del limits
        places = _places_of_pi(window, extension="custom")
        if window.is_compacted or not places:
            return None
        full = sum(size >= self.tokens for size in _tokens_from(window)) - 1
        place = next((at for at in places if at >= full), places[-1]) if full >= 0 else places[0]
        return _divide_as_pi(window, place)


class OhMyPiRecent(_Recent, frozen=True, tag="oh-my-pi-recent"):
    """Cut as oh-my-pi 18 does: keep as many of the newest messages as fit into a scaled budget.

    The newest message and its results are kept even if they alone are larger. The budget is `tokens`, divided
    by the ratio of the provider's count to the estimate if that is over 1. oh-my-pi has these faults: right
    after a compaction the count is of the larger context before it. The place of a result that comes late
    does not matter, so that its call may be summarized.
    """

    def cut(self, window: Window, limits: Limits) -> Cut | None:
        """Return the cut of a window, None if nothing is to be summarized."""
        del limits
        places = _places_of_pi(window, extension="hookMessage")
        if window.is_compacted or not places:
            return None
        budget = scale_budget(self.tokens, measured=window.last_measured or 0, estimate=window.tokens)
        place = _oldest_fitting(window, places, budget)
        cut = cut_at(window, place, _is_pi_turn)
        return cut and msgspec.structs.replace(cut, first_kept=window.items[place].id)


def _oldest_fitting(window: Window, places: Sequence[int], budget: int) -> int:
    """Return the oldest of `places` from which all messages fit, else the newest."""
    behind = _tokens_from(window)
    return next((place for place in places if behind[place] <= budget), places[-1])


def _tokens_from(window: Window) -> list[int]:
    """Return for each message the tokens from it to the end."""
    return list(accumulate(item.tokens for item in reversed(window.items)))[::-1]


def scale_budget(budget: int, *, measured: int, estimate: int) -> int:
    """Scale a budget down if the provider counts more tokens than the estimate.

    `measured` is the provider's count of what was sent, `estimate` the counter's size of the window. As in
    oh-my-pi, the budget is divided by their ratio if that is over 1, and stays at least 1.
    """
    if estimate <= 0 or measured <= estimate:
        return budget
    return max(budget * estimate // measured, 1)


_ANY_NUMBER: Final = 1_000_000
"""More turns than any session has."""


class _Tail(CutPart, frozen=True):
    """The base of cuts that keep the newest turns within a share of the model's usable window.

    The budget is `share` of the window less `reserved` and the model's longest answer, of which at most `output`
    counts; it is at least `least` and at most `most` tokens.
    """

    turns: Positive = 2
    share: Share = 0.25
    least: Count = 2_000
    most: Count = 8_000
    reserved: Count = 20_000
    output: Count = 0

    def budget(self, limits: Limits) -> int:
        """Return the tokens that the tail may have."""
        usable = max(limits.window - self.reserved - min(limits.output, self.output), 0)
        return min(max(int(usable * self.share), self.least), self.most)

    def most_kept(self, limits: Limits) -> int:
        return self.budget(limits)

    def keeping(self, tokens: int) -> Self:
        # Tokens alone decide then, not the number of turns.
        return msgspec.structs.replace(self, turns=_ANY_NUMBER, least=tokens, most=tokens)

    def reserving(self, tokens: int) -> Self:
        return msgspec.structs.replace(self, reserved=tokens)


class TailTurn(_Tail, frozen=True, tag="tail-turn"):
    """Keep at most the last `turns` turns that fit, and never less than the newest group.

    The first turn that does not fit is split at a group, and the summary quotes its first message word for
    word. If no message of the person is kept, the summary also quotes the newest one, unless that alone
    exceeds the budget. If the newest group alone exceeds the budget, its largest results and shell outputs
    are shortened. opencode quotes and shortens nothing, and may keep nothing at all.
    """

    def cut(self, window: Window, limits: Limits) -> Cut | None:
        """Return the cut of a window, None if nothing is to be summarized."""
        items = window.items
        places = [place for place, item in enumerate(items) if item.may_start]
        if window.is_compacted or not places:
            return None
        behind = _tokens_from(window)
        starts = [place for place in places if items[place].starts_turn][-self.turns :] or [0]
        budget = self.budget(limits)
        whole = [start for start in starts if behind[start] <= budget]
        if len(whole) == len(starts):
            return _in_sight(window, cut_at(window, starts[0]), budget)
        parted = starts[-len(whole) - 1]
        place = _oldest_fitting(window, [place for place in places if place > parted] or places[-1:], budget)
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


class OpencodeTail(_Tail, frozen=True, tag="opencode-tail"):
    """Cut as opencode does: keep at most the last `turns` turns that fit.

    The first turn that does not fit is split where its end fits. A turn starts with a user's message.
    opencode has these faults: nothing is kept if the newest message and its results are larger than the
    budget, if there is no user's message, or if all messages would be kept. The request that began a split
    turn is summarized like any other message.
    """

    def cut(self, window: Window, limits: Limits) -> Cut | None:
        """Return the cut of a window, None if nothing is to be summarized."""
        items, budget = window.items, self.budget(limits)
        if window.is_compacted or not items:
            return None
        behind = [*_tokens_from(window), 0]
        starts = [at for at, item in enumerate(items) if item.begins and item.role == "user"][-self.turns :]
        fitting = [start for start in starts if behind[start] <= budget]
        place = min(fitting, default=len(items))
        if len(fitting) < len(starts):
            split = range(starts[-len(fitting) - 1] + 1, place)
            place = next((at for at in split if items[at].begins and behind[at] <= budget), place)
        place = place or len(items)
        if place == len(items) and window.is_open:
            place = _newest(items, attrgetter("begins"), default=0)
        return _divide(window, place, place)


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


class NewestAnswer(CutPart, frozen=True, tag="newest-answer"):
    """Keep the newest answer, and all that follows it, as Claude Code 2.1 does."""

    def cut(self, window: Window, limits: Limits) -> Cut | None:
        """Return the cut of a window, None if nothing is to be summarized."""
        del limits
        if window.is_compacted:
            return None
        answers = [at for at, item in enumerate(window.items) if item.may_start and item.role == "assistant"]
        return cut_at(window, answers[-1] if answers else len(window.items))


class NewestRequests(CutPart, frozen=True, tag="newest-requests"):
    """Keep no message; the summary repeats the newest requests, up to `tokens`.

    They are repeated word for word. Codex sends them again as messages, and shortens the oldest to what is left
    of the tokens.
    """

    tokens: Positive = 20_000

    def most_kept(self, limits: Limits) -> int:
        del limits
        return self.tokens

    def keeping(self, tokens: int) -> Self:
        return msgspec.structs.replace(self, tokens=tokens)

    def cut(self, window: Window, limits: Limits) -> Cut | None:
        """Return the cut of a window, None if nothing is to be summarized."""
        cut = LastMessages(messages=0).cut(window, limits)
        requests = [item for item in reversed(window.items) if item.role == "user" and item.starts_turn]
        sizes = accumulate(item.tokens for item in requests)
        fitting = [item.id for item, size in zip(requests, sizes, strict=True) if size <= self.tokens]
        return cut and msgspec.structs.replace(
            cut, quoted=[name for name in reversed(fitting) if name not in cut.kept]
        )


AnyCut = (
    KeepRecent
    | TailTurn
    | LastMessages
    | PiRecent
    | Pi87Recent
    | OhMyPiRecent
    | OpencodeTail
    | NewestAnswer
    | NewestRequests
)
"""The cuts that a policy can name."""
