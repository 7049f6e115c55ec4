"""Tell words about how software is written from words about what it shows or does."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import Stemmer

_WORDS: Final = (
    # Acts of the model.
    "amend answer ask assume check commit compile deploy edit explain guess hardcode implement install"
    " lint merge mock overwrite push read rebase refactor release reply respond review rewrite squash stub"
    " touch verify"
    # Parts of the work, and of the code.
    " abstraction agent any api approval architecture assumption backend boilerplate branch bug build bun"
    " cargo changelog cli code codebase command comment config container convention conversation"
    " credential css database debug dependency dev direction directory doc docblock docker docs docstring"
    " documentation duplication emoji engineer env environment error explanation export fallback feature"
    " file fix folder framework frontend function functionality git guideline hack helper hook html import"
    " indentation instruction javascript language library log logging markdown message method migration"
    " module namespace naming npm package pattern permission pip placeholder plan pnpm port pr practice"
    " process production project prompt python quotes readme refactoring repo repository rust sandbox"
    " schema screenshot script secret server service shortcut skill spaces spec staging standard step"
    " subagent sudo summary syntax tabs task terminal test todo tool type typescript unit uv variable"
    " vendor version warning workaround workflow worktree yarn"
    # Manners.
    " approach atomic backwards brief careful clean compatible composition concise descriptive dry english"
    " explicit focused german honest incremental lazy maintainable minimal modular readable short simple"
    " small spelling strict surgical thorough verbose"
)
"""Words in any form: stems are compared."""
_NAME: Final = re.compile(r"`|\w[/_]|/\w|\.[a-z]{1,4}\b")
"""A name of code, a path or a file."""
_WORD: Final = re.compile(r"[a-z][a-z']*")


def is_about_work(text: str) -> bool:
    """Return True if a text in lower case names a part of the work, such as tests, or code."""
    return _NAME.search(text) is not None or any(map(_is_of_work, _WORD.findall(text)))


@lru_cache(maxsize=1 << 12)
def _is_of_work(word: str) -> bool:
    return _stemmer().stemWord(word) in _stems()


@lru_cache(maxsize=1)
def _stems() -> frozenset[str]:
    return frozenset(map(_stemmer().stemWord, _WORDS.split()))


@lru_cache(maxsize=1)
def _stemmer() -> Stemmer.Stemmer:
    import Stemmer  # noqa: PLC0415  heavy

    return Stemmer.Stemmer("english")
