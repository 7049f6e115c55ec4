"""Index the messages of a session by their words and by what they mention."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable
from collections.abc import Set as AbstractSet
from functools import reduce
from itertools import chain
from operator import and_
from typing import TYPE_CHECKING, Final

from projections.mentions import MentionKind
from projections.mentions.path_names import PathNames, split_path

if TYPE_CHECKING:
    from projections.mentions.message_facts import MessageFacts

# Letters from U+2E80 on (Chinese, Japanese, Korean) follow a word without a space.
WORD_PATTERN: Final = re.compile(r"[^\W\u2e80-\U0010ffff]+")
_NONE: Final = frozenset[int]()


class MessageIndex:
    """An index of messages, each read once however many contexts show it.

    Messages are numbered in the order in which they were added. Memory use follows the distinct words of each.
    """

    def __init__(self) -> None:
        self.messages: list[MessageFacts] = []
        self._numbers: dict[int, int] = {}
        self._with_word = defaultdict[str, set[int]](set)
        self._with_mention = {kind: defaultdict[str, list[int]](list) for kind in MentionKind}
        self._with_path = defaultdict[PathNames, list[int]](list)

    def add(self, message: MessageFacts) -> int:
        """Return the number of a message; index it if it is new."""
        # `messages` keeps them all alive, so their identities are not reused.
        number = self._numbers.setdefault(id(message), len(self.messages))
        if number == len(self.messages):
            self.messages.append(message)
            for numbers in map(self._with_word.__getitem__, _distinct_words(message.texts)):
                numbers.add(number)
            for kind, values in message.mentions.items():
                with_value = self._with_mention[kind]
                for value in values:
                    with_value[value].append(number)
            for path in dict.fromkeys(map(split_path, message.paths)):
                self._with_path[path].append(number)
        return number

    def with_words(self, words: Iterable[str], among: AbstractSet[int]) -> AbstractSet[int]:
        """Return those of some messages that have all of some words in their texts."""
        # An intersection reads the smaller set, and common words are in very many messages.
        rows: list[AbstractSet[int]] = [among, *(self._with_word.get(word, _NONE) for word in words)]
        rows.sort(key=len)
        return reduce(and_, rows)

    def with_mention(self, kind: MentionKind, value: str) -> Collection[int]:
        """Return the messages that mention a thing."""
        return self._with_mention[kind].get(value, ())

    def with_paths(self, forms: Iterable[PathNames]) -> Iterable[int]:
        """Return the messages that mention a path in one of some forms."""
        return chain.from_iterable(self._with_path.get(form, ()) for form in forms)


_BLANKED: Final = bytes(code if chr(code).isalnum() or chr(code) == "_" else ord(" ") for code in range(256))
"""Maps ASCII characters that are in no word to blanks."""


def _distinct_words(texts: Iterable[str]) -> set[str]:
    """Return the words of texts; in ASCII, `split` finds them faster than a pattern."""
    ascii_lines, others = list[str](), list[str]()
    for text in texts:
        # Tools often print an arrow behind a line's number.
        plain = text.replace("\u2192", " ")
        for line in (plain,) if plain.isascii() else plain.split("\n"):
            (ascii_lines if line.isascii() else others).append(line)
    words = set("\n".join(ascii_lines).encode().translate(_BLANKED).decode().split())
    words.update(WORD_PATTERN.findall("\n".join(others)))
    return words
