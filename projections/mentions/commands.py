"""Extract the commands of shell scripts, without the plumbing around them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from enum import Enum, auto
from functools import lru_cache
from typing import Final

from projections.mentions.mention import word_set

_NOISE: Final = word_set(
    ": alias break cd continue declare done echo esac exit export fi local popd printf pushd pwd read readonly"
    " return set shift shopt sleep source true false trap ulimit umask unset wait . [ [[ } for case select function"
)
"""Commands that only change the shell or print; the heads and ends of loops and conditions."""
_INTRODUCTIONS: Final = word_set("! { do elif else if then time until while")
"""Words that may come before a command."""

_HEREDOC: Final = re.compile(r"<<-?[ \t]*(['\"]?)(\w+)\1")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*\+?=")
_BLANK: Final = re.compile(r"(?:[ \t\r]|\\\r?\n)+|#[^\n]*")
_REDIRECTION: Final = re.compile(r"\d*(?:&>>?|<<<|>>|>&|<&|>\||<>|>(?!\()|<(?!\())[ \t]*")
_END: Final = re.compile(r"&&|\|\||;;|[;&\n()]")
_PIPE: Final = re.compile(r"\|&?")
_PLAIN: Final = re.compile(r"[^\\'\"`$() \t\r\n;&|<>]+|\\.?|'[^']*'|`[^`]*`|\$(?!\()", re.DOTALL)
_QUOTED: Final = re.compile(r"[^\\\"$]+|\\.?|\$(?!\()", re.DOTALL)
_CLOSERS: Final = {'"': '"', "$(": ")", "(": ")"}


class _Part(Enum):
    WORD = auto()
    PIPE = auto()
    END = auto()


def commands(script: str) -> list[str]:
    """Return the commands that a shell script runs, in order, one line each, single spaces.

    Of a pipeline, only the first stage counts. Here-documents, redirections, comments and assignments are
    left out, and so are commands that only change directory or print (`cd`, `echo`). A script with an
    unclosed quote or bracket counts as one command, its first line.
    """
    return list(_remembered(script))


@lru_cache(maxsize=1 << 10)
def _remembered(script: str) -> tuple[str, ...]:
    try:
        return tuple(_commands(_without_heredocs(script)))
    except ValueError:
        return tuple(" ".join(line.split()) for line in script.splitlines() if line.strip())[:1]


def _commands(script: str) -> Iterator[str]:
    words: list[str] = []
    is_piped = False
    for part, word in _parts(script):
        if part is _Part.WORD:
            if not is_piped:
                words.append(word)
            continue
        if command := _command(words):
            yield command
        words, is_piped = [], part is _Part.PIPE
    if command := _command(words):
        yield command


def _command(words: list[str]) -> str:
    first = 0
    while first < len(words) and (words[first] in _INTRODUCTIONS or _ASSIGNMENT.match(words[first])):
        first += 1
    if first == len(words) or words[first] in _NOISE or words[first:] == ["cat"]:
        return ""
    return " ".join(" ".join(words[first:]).split())


def _parts(script: str) -> Iterator[tuple[_Part, str]]:
    """Split a script into words and separators. Raises ValueError if a quote or bracket is open."""
    at = 0
    while at < len(script):
        if found := _BLANK.match(script, at):
            at = found.end()
        elif found := _REDIRECTION.match(script, at):
            at = _word_end(script, found.end())
        elif found := _END.match(script, at):
            yield _Part.END, ""
            at = found.end()
        elif found := _PIPE.match(script, at):
            yield _Part.PIPE, ""
            at = found.end()
        else:
            # `<(…)` is a word too, although it does not start like one.
            end = _word_end(script, at + 1 if script[at] in "<>" else at)
            yield _Part.WORD, script[at:end]
            at = end


def _word_end(script: str, at: int) -> int:
    """Return the end of the word that begins at `at`, including any quotes and `$(…)` in it."""
    closers: list[str] = []
    while at < len(script):
        closer = closers[-1] if closers else ""
        if found := (_QUOTED if closer == '"' else _PLAIN).match(script, at):
            at = found.end()
            continue
        sign = "$(" if script.startswith("$(", at) else script[at]
        if sign == closer:
            closers.pop()
        elif sign in _CLOSERS and (sign != "(" or closers or script[at - 1 : at] in ("<", ">", "=")):
            closers.append(_CLOSERS[sign])
        elif sign in "'`" or not closers:
            break
        at += len(sign)
    if closers or script[at : at + 1] in ("'", "`"):
        raise ValueError("a quote or a bracket is never closed")
    return at


def _without_heredocs(script: str) -> str:
    """Return a script without its here-documents; a `<<` that starts none stays."""
    if "<<" not in script:
        return script
    lines, kept, at = script.split("\n"), list[str](), 0
    places = defaultdict[str, list[int]](list)
    for number, line in enumerate(lines):
        places[line.strip()].append(number)
    while at < len(lines):
        line = lines[at]
        at += 1
        for found in list(_HEREDOC.finditer(line)):
            ends = places.get(found[2], ())
            nearest = bisect_left(ends, at)
            if nearest < len(ends):
                at, line = ends[nearest] + 1, line.replace(found[0], "", 1)
        kept.append(line)
    return "\n".join(kept)
