"""Make contexts smaller without a model by showing old content differently.

To add a rewrite, write its part, its name in `AnyRewrite`, tests and docs.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote

from compaction.part import Count, PolicyPart, Positive
from compaction.sized_context import (
    WARM,
    SizedContext,
    SizedMessage,
    is_protected,
    path_of,
    spares_cache,
)
from eventstore.errors import shell_command
from eventstore.harnesses import format_of
from eventstore.harnesses.base import Tools
from eventstore.records import TextReplacement
from eventstore.views import Block, Image, Message, Opaque, ToolCall, call_indexes
from projections.files import SCHEME, without_selector

MASKED = "[Observation masked. Re-run if needed.]"


class Mask(PolicyPart, frozen=True, tag="mask"):
    """Show `[Observation masked. Re-run if needed.]` in place of all but the newest results.

    The newest `keep_observations` stay, and so do results shorter than the notice.
    """

    keep_observations: Count = 10

    def plan(self, context: SizedContext) -> list[TextReplacement]:
        """Return the replacements to apply."""
        return [
            each.shown_as(MASKED)
            for each in context.results_but_newest(self.keep_observations)
            if each.tokens > -(-len(MASKED) // 4) and each.message.text != MASKED
        ]

    def why_nothing(self, context: SizedContext) -> str:
        """Return why `plan` finds nothing."""
        if not context.results_but_newest(self.keep_observations):
            return f"no result is older than the newest {self.keep_observations:,}"
        return "the older results are already masked, or no longer than the notice"


COMPACTED = "[Earlier tool result compacted. Re-run if needed.]"


class Micro(PolicyPart, frozen=True, tag="micro"):
    """Show a notice in place of all but the newest `keep` results.

    The notice is `[Earlier tool result compacted. Re-run if needed.]`. Results of up to `shortest` characters
    stay. With `after_minutes`, rewrite only after that much idle time.
    """

    keep: Count = 3
    shortest: Count = 120
    after_minutes: Count | None = None

    def plan(self, context: SizedContext) -> list[TextReplacement]:
        """Return the replacements to apply."""
        if self._is_early(context):
            return []
        return [
            each.shown_as(COMPACTED)
            for each in context.results_but_newest(self.keep)
            if each.characters > self.shortest and each.message.text != COMPACTED
        ]

    def why_nothing(self, context: SizedContext) -> str:
        """Return why `plan` finds nothing."""
        if self._is_early(context):
            return f"there was activity within the last {self.after_minutes:,} minutes"
        if not context.results_but_newest(self.keep):
            return f"no result is older than the newest {self.keep:,}"
        return f"the older results are already compacted, or have at most {self.shortest:,} characters"

    def _is_early(self, context: SizedContext) -> bool:
        return self.after_minutes is not None and context.idle <= self.after_minutes * 60_000


_TAG: Final = re.compile(r"<(?=\s*+(?:/\s*+)?persisted-output\b)", re.IGNORECASE)
"""A tag in an output that could close or imitate its marker."""


class Offload(PolicyPart, frozen=True, tag="offload"):
    """Show a `<persisted-output>` marker with a preview in place of results that are too long.

    If the results of the newest assistant message's calls exceed `characters` together, replace the largest
    first until the sum fits. The preview is the first `preview` characters. The full text stays in the log,
    at the marker's address. `<` of a tag like the marker's is escaped as `&lt;` inside it.
    """

    characters: Count = 200_000
    preview: Count = 2_000

    def plan(self, context: SizedContext) -> list[TextReplacement]:
        """Return the replacements to apply."""
        return self.shortened(context, _newest_results(context))

    def why_nothing(self, context: SizedContext) -> str:
        """Return why `plan` finds nothing."""
        del context
        return f"the results of the newest calls have at most {self.characters:,} characters in total"

    def shortened(self, context: SizedContext, outputs: Sequence[SizedMessage]) -> list[TextReplacement]:
        """Return replacements after which outputs have at most `characters` together, if possible."""
        total = sum(each.characters for each in outputs)
        shown: list[TextReplacement] = []
        for each in sorted(outputs, key=lambda each: each.characters, reverse=True):
            if total <= self.characters:
                break
            marker = self._marker(context, each)
            if len(marker) < each.characters:
                total += len(marker) - each.characters
                shown.append(each.shown_as(marker))
        return shown

    def _marker(self, context: SizedContext, each: SizedMessage) -> str:
        # A shell joins adjacent quoted strings into one word; a tag is broken by them.
        command = shell_command("show", context.session, each.id).replace("<", "<''")
        return (
            f'<persisted-output session="{_attribute(context.session)}" event="{_attribute(each.id)}" '
            f'characters="0-{each.characters}">\n'
            f"The whole output, {each.characters} characters, is in the log ({command}). It begins:\n"
            f"{_TAG.sub('&lt;', (each.output or '')[: self.preview])}\n</persisted-output>"
        )


def _attribute(name: str) -> str:
    return html.escape(name).replace("\n", "&#10;")


def _newest_results(context: SizedContext) -> list[SizedMessage]:
    for place in range(len(context.messages) - 1, -1, -1):
        if context.messages[place].message.tool_calls:
            calls = {call.id for call in context.messages[place].message.tool_calls}
            behind = context.messages[place + 1 :]
            return [each for each in behind if each.is_result and each.message.tool_call_id in calls]
    return []


_PLACEHOLDER: Final = re.compile(r"\[snipped (\d+) messages from conversation middle\]")


class Snip(PolicyPart, frozen=True, tag="snip"):
    """Show `[snipped N messages from conversation middle]` in place of the middle.

    Over `longest` messages, keep the first `head` and the last ones that make up `longest` with them, and a
    few more where a call would be separated from its result. An earlier placeholder is no message; N includes
    the messages that it replaced. Leave sessions alone that another session started.
    """

    longest: Positive = 50
    head: Positive = 3

    def __post_init__(self) -> None:
        if self.head >= self.longest:
            message = f"`head` ({self.head}) has to be less than `longest` ({self.longest})"
            raise ValueError(message)

    def plan(self, context: SizedContext) -> list[TextReplacement]:
        """Return the replacements to apply."""
        messages = [place for place, each in enumerate(context.messages) if not _stands_for(each)]
        if context.is_subagent or len(messages) <= self.longest:
            return []
        whole = _unparted(context.messages)
        first = next(
            place for place in range(messages[self.head - 1] + 1, len(context.messages) + 1) if whole[place]
        )
        wanted = messages[-(self.longest - self.head)]
        end = next(place for place in range(wanted, -1, -1) if whole[place])
        hidden = context.messages[first:end]
        if not any(not _stands_for(each) for each in hidden):
            return []
        count = sum(_stands_for(each) or 1 for each in hidden)
        text = f"[snipped {count} messages from conversation middle]"
        return [TextReplacement(target=hidden[0].id, text=text, through=hidden[-1].id)]

    def why_nothing(self, context: SizedContext) -> str:
        """Return why `plan` finds nothing."""
        if context.is_subagent:
            return "another session started this one"
        if sum(not _stands_for(each) for each in context.messages) <= self.longest:
            return f"there are no more than {self.longest:,} messages"
        return "calls and results that belong together leave no middle to remove"


def _stands_for(each: SizedMessage) -> int:
    """Return the number of messages that an earlier placeholder replaced, 0 for a message."""
    found = _PLACEHOLDER.fullmatch(each.message.text) if each.is_rewritten else None
    return int(found[1]) if found else 0


def _unparted(lines: tuple[SizedMessage, ...]) -> list[bool]:
    """Return, for each place between messages and both ends, True if no call is split there."""
    whole = [True] * (len(lines) + 1)
    for result, caller in call_indexes([each.message for each in lines]).items():
        whole[caller + 1 : result + 1] = [False] * (result - caller)
    return whole


class Prune(PolicyPart, frozen=True, tag="prune"):
    """Show `[Output truncated - N tokens]` in place of old results, if that saves enough.

    Sum the results from newest to oldest. The newest `protect` tokens stay, and so do results under
    `smallest` tokens, rewritten results and those of `protected` tools. Cut all others, or none if they save
    less than `savings` tokens together.
    """

    protect: Count = 40_000
    savings: Count = 20_000
    smallest: Count = 50
    protected: tuple[str, ...] = ("skill", "read")

    def plan(self, context: SizedContext) -> list[TextReplacement]:
        """Return the replacements to apply."""
        shown, saved = self._candidates(context)
        return shown if saved >= self.savings else []

    def why_nothing(self, context: SizedContext) -> str:
        """Return why `plan` finds nothing."""
        shown, saved = self._candidates(context)
        if shown:
            return f"{saved:,} tokens could be saved, less than {self.savings:,}"
        if sum(each.tokens for each in context.results) <= self.protect:
            return f"all results fit into the {self.protect:,} tokens that are protected"
        spared = " or ".join(self.protected)
        protected = f", or of {spared}, which is protected" if spared else ""
        return f"older results have less than {self.smallest:,} tokens, or are already rewritten{protected}"

    def _candidates(self, context: SizedContext) -> tuple[list[TextReplacement], int]:
        """Return the results that could be cut, oldest first, and the tokens saved."""
        met = saved = 0
        shown: list[TextReplacement] = []
        for each in reversed(context.results):
            is_old = met >= self.protect
            met += each.tokens
            if (
                not is_old
                or each.is_rewritten
                or each.tokens < self.smallest
                or is_protected(each, self.protected)
            ):
                continue
            notice = f"[Output truncated - {each.tokens} tokens]"
            saved += max(each.tokens - -(-len(notice) // 4), 0)
            shown.append(each.shown_as(notice))
        return shown[::-1], saved


CLEARED = "[Old tool result content cleared]"


class PruneTurns(PolicyPart, frozen=True, tag="prune-turns"):
    """Show `[Old tool result content cleared]` in place of results of older turns.

    Attachments go too. Walk from newest to oldest, skip the newest `turns` turns, and stop at a summary or a
    rewritten result. `protected` tools do not count. The first `protect` tokens stay; the rest is cleared if
    it exceeds `savings` tokens.
    """

    turns: Count = 2
    protect: Count = 40_000
    savings: Count = 20_000
    protected: tuple[str, ...] = ("skill",)

    def plan(self, context: SizedContext) -> list[TextReplacement]:
        """Return the replacements to apply."""
        shown, saved = self._candidates(context)
        return shown if saved > self.savings else []

    def why_nothing(self, context: SizedContext) -> str:
        """Return why `plan` finds nothing."""
        shown, saved = self._candidates(context)
        if shown:
            return f"{saved:,} tokens could be cleared, not more than {self.savings:,}"
        return f"results of older turns fit into the {self.protect:,} tokens that are protected"

    def _candidates(self, context: SizedContext) -> tuple[list[TextReplacement], int]:
        """Return the results that could be cleared, oldest first, and their tokens."""
        turns = met = saved = 0
        shown: list[TextReplacement] = []
        for each in reversed(context.messages):
            turns += each.message.role == "user"
            if each.message.role == "compactionSummary":
                break
            if turns < self.turns or not each.is_result:
                continue
            if each.is_rewritten:
                break
            if is_protected(each, self.protected):
                continue
            met += each.tokens
            if met > self.protect:
                saved += each.tokens
                shown.append(each.shown_as(CLEARED))
        return shown[::-1], saved


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


ELIDED = "[Uneventful result elided]"


class Useless(PolicyPart, frozen=True, tag="useless"):
    """Show `[Uneventful result elided]` in place of results flagged `useless`, except errors.

    Rewrite only what saves tokens. Outside of a compaction, spare the prompt cache.
    """

    protected: tuple[str, ...] = ("skill",)

    def plan(self, context: SizedContext) -> list[TextReplacement]:
        """Return the replacements to apply."""
        return [each.shown_as(ELIDED) for each in self._flagged(context) if spares_cache(context, each)]

    def why_nothing(self, context: SizedContext) -> str:
        """Return why `plan` finds nothing."""
        return WARM if self._flagged(context) else "no tool has flagged a visible result as useless"

    def _flagged(self, context: SizedContext) -> list[SizedMessage]:
        return [
            each
            for each in context.results
            if each.message.is_useless
            and not each.message.is_error
            and not each.is_rewritten
            and each.tokens > -(-len(ELIDED) // 4)
            and not is_protected(each, self.protected)
        ]


class Evict(PolicyPart, frozen=True, tag="evict"):
    """Show `[image/png removed]` and the like in place of images and attached files."""

    def plan(self, context: SizedContext) -> list[TextReplacement]:
        """Return the replacements to apply."""
        return [
            each.shown_as(f"[{name} removed]", number)
            for each in context.messages
            for number, block in enumerate(each.message.blocks)
            if (name := _medium(block, each.message.role))
        ]

    def why_nothing(self, context: SizedContext) -> str:
        """Return why `plan` finds nothing."""
        del context
        return "there are no images or attached files"


def _medium(block: Block, role: str) -> str:
    """Return the media type of an attachment, "" for none. Unknown blocks of an answer are kept."""
    if isinstance(block, Image):
        return _named(block.mime or "image")
    return _named(block.type or "file") if isinstance(block, Opaque) and role != "assistant" else ""


def _named(medium: str) -> str:
    """Percent-encode characters of a name that could end the marker or break its line."""
    return quote(medium, safe="/+;=, ", errors="surrogatepass")


AnyRewrite = Evict | Mask | Micro | Offload | Prune | PruneTurns | Snip | Supersede | Useless
"""The rewrites that a policy can name."""

LAYERS: Final = (Offload, Snip, Micro)
"""Rewrites that keep this order: a later one leaves nothing for those before it to save."""
