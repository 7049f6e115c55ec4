"""Replace reads that a newer read of the same file made obsolete."""

from __future__ import annotations

import re
from typing import Final

from compaction.part import PolicyPart
from compaction.rewrites.sized_context import (
    WARM,
    SizedContext,
    SizedMessage,
    is_protected,
    path_of,
    spares_cache,
)
from eventstore.harnesses import format_of
from eventstore.harnesses.base import Tools
from eventstore.records import TextReplacement
from eventstore.views import Message, ToolCall
from projections.files import SCHEME, without_selector

SUPERSEDED = "[Superseded by a newer read of this file]"
_UNCHANGED: Final = re.compile(
    r"(?:wasted call\W+)?file unchanged since (?:your )?last read\b", re.IGNORECASE
)
"""Claude Code's answer in place of an unchanged file."""


class Supersede(PolicyPart, frozen=True, tag="supersede"):
    """Show `[Superseded by a newer read of this file]` in place of obsolete reads.

    A newer read of a whole file makes every older one obsolete; a read of a range only one of the same range.
    A failed read makes none obsolete, except with `failed_reads`, as in oh-my-pi. Neither does one that only
    reports that the file is unchanged, as in Claude Code, because the older one has the text. Ignore results
    of `protected` tools and rewritten results. Outside of a compaction, spare the prompt cache.
    """

    protected: tuple[str, ...] = ("skill",)
    failed_reads: bool = False

    def plan(self, context: SizedContext) -> list[TextReplacement]:
        """Return the replacements to apply."""
        stale = self._stale(context)
        return [each.shown_as(SUPERSEDED) for each in stale if spares_cache(context, each)]

    def why_nothing(self, context: SizedContext) -> str:
        """Return why `plan` finds nothing."""
        return WARM if self._stale(context) else "no read is older than another of the same file"

    def _stale(self, context: SizedContext) -> list[SizedMessage]:
        """Return the reads that a newer one made obsolete, oldest first."""
        seen: set[tuple[str, str]] = set()
        stale: list[SizedMessage] = []
        for each in reversed(context.results):
            read = read_of(each.message, each.call, format_of(each.part.format).tools)
            if read is None or each.is_rewritten or is_protected(each, self.protected):
                continue
            path, _ = read
            if read in seen or (path, "") in seen:
                stale.append(each)
            if self.failed_reads or not each.message.is_error:
                seen.add(read)
        return stale[::-1]


def read_of(result: Message, call: ToolCall | None, tools: Tools) -> tuple[str, str] | None:
    """Return the path and range ("" for the whole file) of a read, None if it shows no file."""
    named = path_of(call, tools)
    if call is None or call.name not in tools.reads or not named or SCHEME in named:
        return None
    if _UNCHANGED.match(result.text):
        return None
    path = without_selector(named, tools)
    chosen = [call.argument(name) for name in tools.ranges]
    return path, named[len(path) :] or ("" if not any(each is not None for each in chosen) else repr(chosen))
