"""The commands of shell scripts."""

from __future__ import annotations

import re
import shlex
from typing import Final

_HEREDOC: Final = re.compile(r"<<-?\s*(['\"]?)(\w+)\1[^\n]*\n.*?^\s*\2\s*$", re.MULTILINE | re.DOTALL)
_NOISE: Final = frozenset(
    {
        "cd",
        "echo",
        "true",
        "false",
        "printf",
        "export",
        "set",
        ":",
        "pwd",
        "then",
        "fi",
        "do",
        "done",
        "else",
        "esac",
        "sleep",
        "exit",
        "wait",
    }
)
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)


def commands(script: str) -> list[str]:
    """The commands that a shell script runs, each as one line with single spaces, in order."""
    try:
        lexer = shlex.shlex(_HEREDOC.sub("\n", script), posix=False, punctuation_chars=";&|<>()\n")
        lexer.whitespace = " \t\r"
        lexer.commenters = ""
        tokens = list(lexer)
    except ValueError:
        lines = script.split("\n")
        return [" ".join(line.split()) for line in lines if line.strip()][:1]
    found: list[list[str]] = [[]]
    skip = piped = False
    for token in tokens:
        if set(token) <= set(";&|\n()"):
            piped = token in ("|", "|&")
            found.append([])
        elif set(token) <= set("<>&"):
            skip = True
        elif skip:
            skip = False
        elif not piped:
            found[-1].append(token)
    return [line for words in found if (line := _command(words))]


def _command(words: list[str]) -> str:
    while words and _ASSIGNMENT.fullmatch(words[0]):
        words = words[1:]
    return "" if not words or words[0] in _NOISE else " ".join(words)
