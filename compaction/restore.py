"""Showing recently read files again behind a summary, from the log alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compaction.policies import Restoring
from compaction.rewrites import SizedContext, SizedMessage
from compaction.rewrites.supersede import whole_read
from eventstore.records import CustomMessage
from projections.tokens import Counter

RESTORED = "restored_file"
"""The type of the messages that show a file again."""
PLANS = frozenset({"todo", "todowrite", "todo_write", "update_plan", "TodoWrite"})
"""Tools whose newest call holds the current plan."""


def restored(
    context: SizedContext, restoring: Restoring, kept: set[str], tokens: Counter
) -> list[CustomMessage]:
    """Messages with the newest whole read of each recently read file, newest first, then the current plan.

    At most so many files, and so many tokens, as the policy says; a longer file is cut. What is kept needs no
    restoring, nor do reads that failed or that a rewrite blanked.
    """
    found: list[CustomMessage] = []
    room = restoring.tokens
    for path, each in _newest_reads(context, kept):
        if len(found) == restoring.files or room <= 0:
            break
        text = _cut(each, min(restoring.tokens_a_file, room), tokens)
        room -= tokens.of_text(text)
        found.append(CustomMessage(custom_type=RESTORED, content=f"{path}, as it was read last:\n{text}"))
    return found + _plan(context, kept)


def fewer(shown: Sequence[CustomMessage]) -> list[CustomMessage]:
    """What is shown again, less the file that was read longest ago; without files, less the plan."""
    files = [each for each in shown if each.custom_type == RESTORED]
    others = [each for each in shown if each.custom_type != RESTORED]
    return [*files[:-1], *others] if files else others[:-1]


def _newest_reads(context: SizedContext, kept: set[str]) -> Iterator[tuple[str, SizedMessage]]:
    seen: set[str] = set()
    for each in reversed(context.results):
        path = whole_read(each)
        if path is None or path in seen or each.message.is_error or each.is_rewritten:
            continue
        seen.add(path)
        if each.id not in kept:
            yield path, each


def _cut(each: SizedMessage, room: int, tokens: Counter) -> str:
    text = each.message.text
    size = tokens.of_text(text)
    if size <= room:
        return text
    shorter = text[: len(text) * room // size]
    while tokens.of_text(shorter) > room:
        shorter = shorter[: len(shorter) * 9 // 10]
    return f"{shorter}\n[... {len(text) - len(shorter)} more characters]"


def _plan(context: SizedContext, kept: set[str]) -> list[CustomMessage]:
    for each in reversed(context.messages):
        for call in reversed(each.message.tool_calls):
            if call.name in PLANS:
                text = call.arguments.decode("utf-8", "replace")
                shown = CustomMessage(custom_type="restored_plan", content=f"The current plan:\n{text}")
                return [] if each.id in kept else [shown]
    return []
