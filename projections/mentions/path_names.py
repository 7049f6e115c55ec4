"""Compare paths in different forms, and choose the form under which to count each."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

PathNames = tuple[str, ...]
"""The folders and the file of a path in order, with "" first in an absolute path."""

_SEPARATOR: Final = re.compile(r"[/\\]")
_RELATIVE: Final = frozenset({"", ".", "..", "~"})
_REMEMBERED: Final = 1 << 16
"""Paths to cache, because each occurs many times."""
_FEWEST: Final = 2
"""A folder and a name; fewer do not tell one path from another."""


@lru_cache(maxsize=_REMEMBERED)
def split_path(path: str) -> PathNames:
    """Return the names that make up a path, without a leading `./`, `../` or `~/`."""
    names = _SEPARATOR.split(path)
    rooted = ("",) if not names[0] and len(names) > 1 else ()
    start = next((at for at, name in enumerate(names) if name not in _RELATIVE), len(names))
    return rooted + tuple(name for name in names[start:] if name not in ("", "."))


def shorter_forms(path: PathNames) -> Iterable[PathNames]:
    """Yield a path without its first folder, its first two, …, as long as a folder is left."""
    return (path[start:] for start in range(1, len(path) - _FEWEST + 1))


def join_names(path: PathNames) -> str:
    """Return a path in its usual notation."""
    return "/".join(path)


def _one(forms: Iterable[PathNames]) -> PathNames | None:
    """Return the longest of several forms if all can be the same path, because it ends in each."""
    forms = list(forms)
    longest = max(forms, key=len)
    return longest if all(longest[len(longest) - len(form) :] == form for form in forms) else None


def _without_root(path: PathNames) -> PathNames:
    return path[1:] if path[0] == "" else path


def _unchanged(path: PathNames) -> PathNames:
    return path


class PathIndex:
    """All paths mentioned somewhere, used to resolve short forms."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._written: dict[PathNames, str] = {}
        self._by_file: dict[str, list[PathNames]] = {}
        for path in dict.fromkeys(paths):
            names = split_path(path)
            if names and names not in self._written:
                self._written[names] = path
                self._by_file.setdefault(names[-1], []).append(names)
        self._longest: dict[PathNames, PathNames | None] = {}

    def is_unambiguous(self, path: PathNames, form: PathNames = ()) -> bool:
        """Return True if a path and all indexed paths that end in a form of it can be the same.

        The shortest form, and the default, is the file name. `src/index.ts` is ambiguous if several packages
        have that file.
        """
        form = form or path[-1:]
        # Some programs write a project's root as `/`.
        comparable = _without_root if len(form) >= _FEWEST else _unchanged
        if form not in self._longest:
            self._longest[form] = _one(map(comparable, self._ending_in(form) or [form]))
        longest = self._longest[form]
        return longest is not None and _one((longest, comparable(path))) is not None

    def can_be_several(self, path: str) -> bool:
        """Return True if a path is a short form of indexed paths that cannot be the same."""
        names = split_path(path)
        return bool(names) and not self.is_unambiguous(names, names)

    def _ending_in(self, form: PathNames) -> list[PathNames]:
        return [each for each in self._by_file.get(form[-1], ()) if each[-len(form) :] == form]

    def longest_form(self, path: str) -> str:
        """Return the longest indexed form of a path, as first written; the path itself if ambiguous."""
        names = split_path(path)
        if not names:
            return path
        longest = _one([names, *self._ending_in(names)]) or names
        return self._written.get(longest, path)
