"""Recall: what of the things that a replacement removed is still named in the context after it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from projections.mentions import Kind
from projections.mentions.message_facts import Holding, Holdings
from projections.mentions.path_names import Paths
from projections.mentions.presence import Presence
from projections.metrics.shapes import Shape, share_of
from projections.replacement import Replacement


class KindRecall(Shape, frozen=True):
    """Of the things of one kind in H and not in K (`total`), those named in C′ (`found`); `lost` are the others."""

    kind: str
    total: int
    found: int
    share: float | None
    lost: list[str]


class Recall(Shape, frozen=True):
    """Recall over all kinds, and of each."""

    total: int
    found: int
    share: float | None
    kinds: list[KindRecall]


_NAMED: Final = {
    "symbols": Kind.SYMBOL,
    "identifiers": Kind.IDENTIFIER,
    "errors": Kind.ERROR,
    "urls": Kind.URL,
    "quantities": Kind.QUANTITY,
    "commands": Kind.COMMAND,
}


def recall(replacement: Replacement, holdings: Holdings) -> Recall:
    """What of H, and not of K, C′ names: files that were read and modified, then the other kinds of things.

    A path counts once, in whatever forms it stands; one that was modified does not count as read.
    """
    removed = [holdings.of_part(part) for part in replacement.removed]
    blocks = holdings.blocks
    paths = Paths(blocks.paths(holdings.of_parts(replacement.before.parts)))
    kept = Presence(holdings.of_parts(replacement.kept), paths, blocks)
    made = Presence(map(holdings.of_part, (*replacement.added, *replacement.returned)), paths)
    kinds = [
        _recall(name, [value for value in values if not kept.names(kind, value)], kind, made)
        for name, kind, values in _things(removed, paths)
    ]
    # C′ is K with what was made, and K names none of these.
    share = share_of(sum(each.found for each in kinds), sum(each.total for each in kinds))
    return Recall(total=share.total, found=share.found, share=share.share, kinds=kinds)


def _things(removed: Sequence[Holding], paths: Paths) -> Iterator[tuple[str, Kind, list[str]]]:
    """The distinct things of each kind that messages hold, in order of appearance."""
    modified = _distinct(paths.whole(path) for each in removed for path in each.modified)
    read = _distinct(paths.whole(path) for each in removed for path in each.read)
    yield "paths-read", Kind.PATH, [path for path in read if path not in set(modified)]
    yield "paths-modified", Kind.PATH, modified
    for name, kind in _NAMED.items():
        yield name, kind, _distinct(value for each in removed for value in each.named.get(kind, ()))


def _distinct(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))


def _recall(name: str, values: list[str], kind: Kind, made: Presence) -> KindRecall:
    lost = [value for value in values if not made.names(kind, value)]
    share = share_of(len(values) - len(lost), len(values))
    return KindRecall(kind=name, total=share.total, found=share.found, share=share.share, lost=lost)
