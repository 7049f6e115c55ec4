"""What makes a path of a name, or of names with slashes between them."""

from __future__ import annotations

import re
from typing import Final

from projections.extraction.path_words import (
    BRANDS,
    CONFIG_EXTENSIONS,
    DOTFILES,
    EXTENSIONS,
    FOLDERS,
    MEMBERS,
    MODULES,
    NAMES,
    NO_FOLDERS,
    OWNERS,
    ROOTS,
    TOP_ROOTS,
    WEAK_FOLDERS,
)

_EXTENSION: Final = re.compile(r"\w\.([A-Za-z][A-Za-z0-9]{0,9})$")
_TREE: Final = re.compile(r"(?:^|\n)[ \t\u2502\u251c\u2514\u2500|*+-]*$")
_QUOTES: Final = ("`", '"', "'")
_FEW: Final = 2


def is_file_name(name: str) -> bool:
    """Whether a name without a folder is a file's: by its extension, or because it is a well-known one."""
    if name in NAMES or name in MODULES:
        return True
    stem, _, extension = name.rpartition(".")
    if name.startswith("."):
        # `.env.local`, `.eslintrc.json`; `.test.ts` is the end of names.
        head = f".{name[1:].partition('.')[0]}"
        return head in DOTFILES or (extension in CONFIG_EXTENSIONS and stem == head)
    if name in BRANDS or not _is_extension(extension, stem):
        return False
    owner = stem.partition(".")[0]
    return extension not in MEMBERS or not (len(owner) == 1 or owner in OWNERS)


def has_extension(path: str) -> bool:
    """Whether a path ends as files do."""
    found = _EXTENSION.search(path)
    return found is not None and path not in BRANDS and _is_extension(found[1], path[: found.start() + 1])


def _is_extension(extension: str, stem: str) -> bool:
    return extension in EXTENSIONS or (stem.isupper() and extension.lower() in EXTENSIONS)


def is_absolute(parts: list[str]) -> bool:
    """Whether parts behind a slash are a path: by an extension, or from a folder where files are.

    `/help` may be a command, `/users/me` a route, `/ab+c/g` a regular expression.
    """
    if len(parts) == 1:
        return parts[0] in TOP_ROOTS or has_extension(parts[0])
    return parts[0] in ROOTS or parts[0][0] == "." or has_extension(parts[-1])


def is_relative(parts: list[str], before: str, around_end: str) -> bool:
    """Whether parts with slashes are a path: by an extension, by their first folder, by a slash at the end.

    `before` is the text up to them, `around_end` their last two characters and the next one.
    """
    first = parts[0]
    if first in NO_FOLDERS:
        return False
    if first in FOLDERS or (first[0] == "." and len(first) > 1) or has_extension(parts[-1]):
        return True
    last, after = around_end[:_FEW], around_end[_FEW:]
    is_quoted = after in _QUOTES and before.endswith(after)
    if last[-1] == "/" and last != "//" and not first[0].isdigit():
        is_alone = is_quoted or (before.endswith("(") and after == ")")
        is_listed = len(first) > _FEW and _TREE.search(before) is not None
        return after not in (">", "*") and (len(parts) > 1 or is_alone or is_listed)
    return first in WEAK_FOLDERS and len(parts) > 1 and (is_quoted or len(parts) > _FEW)
