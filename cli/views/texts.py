"""Format numbers, times and texts of sessions for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from cli.output import counted, cut_line, safe_line, short_paths

if TYPE_CHECKING:
    from projections.audit.cost import Cost, Spending
    from projections.audit.measure import Size
    from projections.audit.metrics import NotComputed
    from projections.overview import Spent
    from projections.rules.base import Gap

SIGNS: Final = {
    "compaction": "∑",
    "branch_summary": "⤷",
    "rewrite": "✂",
    "leaf_moved": "↷",
    "undone": "↶",
    "model_change": "⚙",
    "session_info": "✎",
    "custom_message": "+",
}
"""Symbols of the kinds of events that stand out in a session."""
LONGEST_TEXT: Final = 4000
"""Maximum characters of an event's text on the page, unless all is requested."""
LONGEST_LINE: Final = 240
"""Maximum characters of the line for an event."""
_SEEN: Final = 60
"""Approximate characters of a line that fit on the page; the end of a longer one is hidden."""
_LOOKED_AT: Final = 4096


def line_of(text: str, longest: int = LONGEST_LINE) -> str:
    """Return a text on one line; long paths are shortened first."""
    # Take more than is shown, because runs of spaces collapse; not all, because a text may be huge.
    looked_at = max(longest * 8, _LOOKED_AT)
    line = " ".join(text[:looked_at].split())
    whole = len(text) <= looked_at
    line = line if whole else f"{line}…"
    return cut_line(short_paths(line) if len(line) > _SEEN else line, longest)


def gap_text(gap: Gap, *, measured_by: str = "usage") -> str:
    """Describe how a request differs from the session: what, from where, and its known size.

    `measured_by` names the calls that gave the size.
    """
    where = "" if gap.event is None else f" at {safe_line(gap.event)} #{gap.seq}"
    size = (
        "of unknown size" if gap.tokens is None else f"{counted(abs(gap.tokens), 'token')} by {measured_by}"
    )
    is_kept_back = gap.tokens is not None and gap.tokens < 0
    kind = "in the session, but not sent" if is_kept_back else "not in the session"
    return f"{kind}: {gap.what}{where}, {size}"


def restored_text(size: Size) -> str:
    """Say how much of a context is content that was sent again; "" for none."""
    return f"{counted(size.restored, 'token')} of files and lists sent again" if size.restored else ""


def failure_text(failed: NotComputed) -> str:
    """Say what could not be computed, and why."""
    where = f"#{failed.seq}, " if failed.seq else ""
    return f"{where}{failed.what}: could not be computed: {safe_line(failed.error)}"


def percent(share: float | None) -> str:
    """Format a share as a percentage; "-" if there was nothing to find."""
    return "-" if share is None else f"{share:.0%}"


def part_of(found: int, total: int) -> str:
    """Format a count of a total; "-" if there was nothing to find."""
    return f"{found:,}/{total:,}" if total else "-"


def spent_dollars(spent: Spent | Spending | None) -> str:
    """Format the cost of calls; a "+" marks a sum that lacks some calls or output.

    A subscription's calls are recorded with a cost of nothing, which is no price.
    """
    if spent is None or spent.cost is None:
        return "-"
    if not spent.cost and spent.calls:
        return "$0.00 recorded"
    return dollars(spent.cost) + ("+" if spent.without_cost + spent.understated else "")


def understated_text(spent: Spending) -> str:
    """Say how many calls' output was recorded in part; "" for none."""
    if not spent.understated:
        return ""
    return f", too low: {counted(spent.understated, 'call')} with a part of the output only"


FREE: Final = ", as with a subscription"
"""Behind a recorded cost of nothing."""


def dollars(amount: float | None, *, is_signed: bool = False) -> str:
    """Format US dollars, to the cent or for small amounts to a hundredth of one; "-" if unknown."""
    if amount is None:
        return "-"
    sign = "-" if amount < 0 else "+" if is_signed else ""
    digits = 2 if amount == 0 or abs(amount) >= 0.1 else 4  # noqa: PLR2004  ten cents
    return f"{sign}${abs(amount):,.{digits}f}"


def fit_text(cost: Cost | None) -> str:
    """Say why no dollars saved are computed, or that the window is unknown; "" otherwise."""
    if cost is None:
        return ""
    if cost.too_long:
        calls = f"{cost.too_long:,} of {counted(cost.calls, 'later call')}"
        window = f"the window of {cost.window:,} tokens"
        return f"{calls} would not have fitted {window} without it, so dollars saved are not computed"
    is_claim = cost.saved is not None and cost.saved > 0
    return WINDOW_UNKNOWN if is_claim and cost.window is None else ""


WINDOW_UNKNOWN: Final = "the context window is not known, so the longer context is assumed to fit"


def unexplained_text(tokens: int) -> str:
    """Name the difference between the tokens that a provider measured and those counted here."""
    return f"{tokens:+,} for system prompt, tools and error of the estimate"


def tokens_heading(of_what: str, *, is_estimate: bool) -> str:
    """Return the heading above counts of tokens; it says if they are estimates."""
    return f"{'EST. ' if is_estimate else ''}TOKENS {of_what}"
