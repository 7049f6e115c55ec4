"""Messages side by side, read together once: contexts of one session mostly differ in few of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain, groupby
from typing import TYPE_CHECKING, Final

from projections.extraction import Kind
from projections.naming.paths import Names, names_of

if TYPE_CHECKING:
    from projections.naming.holdings import Holding

# Letters from U+2E80 on (Chinese, Japanese, Korean) follow a word with no space between.
WORDS: Final = re.compile(r"[^\W\u2e80-\U0010ffff]+")
_BETWEEN_TEXTS: Final = "\0"
_EVENTS: Final = 64
"""Events whose messages make a block. The fewer, the less is read again where one of them changes."""


class Block:
    """Messages in order: what they name, each with the place of the first that does, and what they say."""

    def __init__(self, holdings: Sequence[Holding]) -> None:
        self.holdings = tuple(holdings)
        self.named: dict[Kind, dict[str, int]] = {kind: {} for kind in Kind}
        self.paths: dict[Names, int] = {}
        for place, holding in enumerate(self.holdings):
            for kind, values in holding.named.items():
                for value in values:
                    self.named[kind].setdefault(value, place)
        for path, place in self.named[Kind.PATH].items():
            self.paths.setdefault(names_of(path), place)

    @cached_property
    def text(self) -> tuple[str, list[int]]:
        """All texts with their white space collapsed, and where in there each message begins."""
        starts, parts, length = [], [], 0
        for holding in self.holdings:
            starts.append(length)
            for text in holding.texts:
                parts.append(" ".join(text.split()))
                length += len(parts[-1]) + len(_BETWEEN_TEXTS)
        return _BETWEEN_TEXTS.join(parts), starts

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of all texts."""
        return frozenset(WORDS.findall(self.text[0]))


class Blocks:
    """The blocks of a session's messages, those kept that were asked for last: twice as many as one context has."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, ...], Block] = {}
        self._most = 0

    def of(self, holdings: Sequence[Holding]) -> list[Block]:
        """The blocks of some messages, in order: what lies between the same events is one."""
        groups = [list(group) for _, group in groupby(holdings, key=lambda holding: holding.seq // _EVENTS)]
        self._most = max(self._most, len(groups))
        blocks = list(map(self._block, groups))
        while len(self._kept) > 2 * self._most:
            del self._kept[next(iter(self._kept))]
        return blocks

    def paths(self, holdings: Sequence[Holding]) -> Iterator[str]:
        """The paths that some messages name, in order of appearance."""
        return chain.from_iterable(block.named[Kind.PATH] for block in self.of(holdings))

    def _block(self, holdings: Sequence[Holding]) -> Block:
        # A block holds its messages, so that no other one gets the identity of any of them.
        key = tuple(map(id, holdings))
        block = self._kept.pop(key, None) or Block(holdings)
        self._kept[key] = block
        return block
