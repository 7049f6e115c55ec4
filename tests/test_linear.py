"""Every pattern of the program takes time in proportion to a text, whatever is repeated in it."""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from re import Pattern
from typing import Any

import pytest

from tests.support.growth import NO_SQUARE, times_as_long

ROOMS = "eventstore", "projections", "compaction", "cli"
FEW, MANY = 1_000, 8_000
SUSPECT = 0.01
"""Seconds of a linear scan of `MANY` characters at most, on a slow machine; what takes longer is measured again."""
# fmt: off
SHAPES = (
    "a", "1", "A", "aA", " ", "\n", "\n ", "  \n", "\t", "\r\n", ".", "..", "-", "/", "//", "\\", "'", '"', "`",
    "```\n", "~", "*", "#", "[", "[]", "[a](", "(", ")", "{", "}", "<", "</", "<a", "<a>", "<a ", "&a", "=", "a=",
    ":", "a:", ";", ",", "a,", "a ", "a\n", "é", "http://", "a@", "a@a.", "-----BEGIN ", "sk-", "eyJa.", "|a", "a-",
    "a_", "_a", "x/y ", "a.b", "x.y:1 ", "1. ", "1.2.", "$(", "%20", "<x>\n", "<!--", 'a="', '"a": ', "\\n",
    "\\u0000", "\x1b[", "data:", "src/some/name.py ", "- x", "x: ", "password: ",
)
# fmt: on


GIVEN = re.compile(r"(?:\bre\.\w+\(|selector=)\s*(\w+)")
"""Matches the name of an expression that is compiled at its first use."""


def patterns_in(value: Any, depth: int = 0) -> Iterator[Pattern[Any]]:
    if isinstance(value, Pattern):
        yield value
    elif depth < 3:
        fields = getattr(value, "__struct_fields__", ()) if not isinstance(value, type) else ()
        inner = [getattr(value, name) for name in fields]
        inner += [*value, *value.values()] if isinstance(value, dict) else []
        inner += value if isinstance(value, list | tuple | set | frozenset) else []
        for each in inner:
            yield from patterns_in(each, depth + 1)


def patterns() -> dict[Pattern[Any], str]:
    """All patterns of the program that are values of its modules, with a name."""
    found: dict[Pattern[Any], str] = {}
    for room in ROOMS:
        for module in pkgutil.walk_packages([str(Path(__file__).parents[1] / room)], f"{room}."):
            loaded = importlib.import_module(module.name)
            given = GIVEN.findall(Path(loaded.__file__ or "").read_text())
            for name, value in vars(loaded).items():
                if name in given and isinstance(value, str | bytes):
                    value = re.compile(value, re.IGNORECASE | re.DOTALL)  # noqa: PLW2901  as it is used
                for pattern in patterns_in(value):
                    found.setdefault(pattern, f"{module.name}.{name}")
    return found


def scan_of(pattern: Pattern[Any], name: str) -> Callable[[Any], object]:
    """The way in which the program looks for a pattern: anywhere, unless only at the beginning."""
    own = re.escape(name.rpartition(".")[2])
    uses = re.compile(rf"\b{own}\.(\w+)\(|\bre\.(\w+)\(\s*{own}\b")
    modules = [each for key, each in sys.modules.items() if key.partition(".")[0] in ROOMS]
    texts = [Path(each.__file__).read_text() for each in modules if each.__file__]
    found = {use for text in texts for uses_of in uses.findall(text) for use in uses_of}
    if found & {"match", "fullmatch"} and not found & {
        "search",
        "finditer",
        "findall",
        "split",
        "sub",
        "subn",
    }:
        return pattern.match
    return lambda text: sum(1 for _ in pattern.finditer(text))


def squares(pattern: Pattern[Any], name: str) -> list[str]:
    """The repeated texts that take a pattern more than a time in proportion."""

    def repeated(shape: str, size: int) -> Any:
        text = (shape * size)[:size]
        return text if isinstance(pattern.pattern, str) else text.encode()

    scan, found = scan_of(pattern, name), list[str]()
    for shape in SHAPES:
        began = time.process_time()
        scan(repeated(shape, MANY))
        if time.process_time() - began > SUSPECT and (
            times_as_long(scan, repeated(shape, FEW), repeated(shape, MANY)) > NO_SQUARE
        ):
            found.append(shape)
    return found


@pytest.mark.slow
def test_every_pattern_of_the_program_is_linear() -> None:
    found = patterns()
    assert len(found) > 100
    assert {"eventstore.addresses._USER", "eventstore.harnesses.pi._SELECTOR"} <= set(found.values())
    assert {name: bad for pattern, name in found.items() if (bad := squares(pattern, name))} == {}


def test_a_quadratic_pattern_is_found() -> None:
    assert squares(re.compile(r"a+b"), "none") == ["a"]
