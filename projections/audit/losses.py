"""Measure what a replacement lost, by what its messages name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from projections.audit.measure import MetricStruct, share_of
from projections.mentions import MentionKind
from projections.mentions.mention_index import MentionIndex
from projections.mentions.message_facts import MessageFacts, SessionFacts
from projections.mentions.path_names import PathIndex
from projections.replacement import Replacement


class KindRecall(MetricStruct, frozen=True):
    """Recall of one kind.

    `total` counts the things in H but not in K; `found` are those that C′ names, `lost` the others.
    """

    kind: str
    total: int
    found: int
    share: float | None
    lost: list[str]


class Recall(MetricStruct, frozen=True):
    """Recall over all kinds, and for each kind."""

    total: int
    found: int
    share: float | None
    kinds: list[KindRecall]


_NAMED: Final = {
    "symbols": MentionKind.SYMBOL,
    "identifiers": MentionKind.IDENTIFIER,
    "errors": MentionKind.ERROR,
    "urls": MentionKind.URL,
    "quantities": MentionKind.QUANTITY,
    "commands": MentionKind.COMMAND,
}
_READ: Final = "paths-read"
_MODIFIED: Final = "paths-modified"
RECALL_KINDS: Final = (_READ, _MODIFIED, *_NAMED)
"""The kinds of things that recall measures, in order."""


def recall(replacement: Replacement, facts: SessionFacts) -> Recall:
    """Measure how many things of H, but not of K, C′ still names, by kind.

    A path counts once, whatever its form; a modified file does not count as read.
    """
    removed = [facts.of_part(part) for part in replacement.removed]
    paths = PathIndex(path for message in facts.of_parts(replacement.before.parts) for path in message.paths)
    kept = MentionIndex(facts.of_parts(replacement.kept), paths, facts.index)
    made = MentionIndex(map(facts.of_part, (*replacement.added, *replacement.returned)), paths)
    kinds = [
        _recall(name, [value for value in values if not kept.contains(kind, value)], kind, made)
        for name, kind, values in _things(removed, paths)
    ]
    # C′ is K plus the new messages, and K names none of these.
    share = share_of(sum(each.found for each in kinds), sum(each.total for each in kinds))
    return Recall(total=share.total, found=share.found, share=share.share, kinds=kinds)


def _things(
    removed: Sequence[MessageFacts], paths: PathIndex
) -> Iterator[tuple[str, MentionKind, list[str]]]:
    """Yield the distinct things of each kind that messages name, in order of appearance."""
    modified = _distinct(paths.longest_form(path) for each in removed for path in each.modified)
    read = _distinct(paths.longest_form(path) for each in removed for path in each.read)
    yield _READ, MentionKind.PATH, [path for path in read if path not in set(modified)]
    yield _MODIFIED, MentionKind.PATH, modified
    for name, kind in _NAMED.items():
        yield name, kind, _distinct(value for each in removed for value in each.mentions.get(kind, ()))


def _distinct(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))


def _recall(name: str, values: list[str], kind: MentionKind, made: MentionIndex) -> KindRecall:
    lost = [value for value in values if not made.contains(kind, value)]
    share = share_of(len(values) - len(lost), len(values))
    return KindRecall(kind=name, total=share.total, found=share.found, share=share.share, lost=lost)
