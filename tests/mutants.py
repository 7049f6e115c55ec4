"""Mutate the program and see whether its tests notice: a measure of what a change of the tests has lost.

Draw mutants with a seed, run each against the tests that cover its line, and write the verdicts. Then run those that
were killed against the tests of another checkout:

    pytest -m '' --cov --cov-context=test --cov-report=
    python -m tests.mutants --seed 11 --count 120 --out verdicts.json
    cd OTHER-CHECKOUT && python -m tests.mutants --again verdicts.json --out again.json

A mutant is named by its function's source, so a checkout in which lines have moved still has it, and one in which
that function was changed does not. A mutant whose tests take longer than the limit is undecided.
"""

from __future__ import annotations

import ast
import copy
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import click
import coverage
import msgspec

ROOMS: Final = ("eventstore", "projections", "compaction", "cli")
OTHER: Final[dict[type, type]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
}
KILLED, SURVIVED, UNDECIDED, GONE = "killed", "survived", "undecided", "gone"


class Mutant(msgspec.Struct, frozen=True):
    """A change of one expression: the `number`-th of those that the source of its function allows.

    `tests` is how many tests cover its line, `files` are theirs: first that of the test that killed it.
    """

    file: str
    function: str
    number: int
    verdict: str = ""
    tests: int = 0
    files: list[str] = []


@click.command()
@click.option("--seed", type=int, default=11, show_default=True)
@click.option("--count", type=int, default=120, show_default=True, help="How many, spread over the rooms.")
@click.option(
    "--again", type=click.Path(exists=True, path_type=Path), help="Run the mutants of these verdicts."
)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Write the verdicts here.")
@click.option(
    "--limit", type=int, default=150, show_default=True, help="Seconds for the tests of one mutant."
)
def main(seed: int, count: int, again: Path | None, out: Path, limit: int) -> None:
    """Run mutants of the program against the tests that cover them."""
    if again:
        drawn = [each for each in _verdicts(again) if each.verdict == KILLED]
    else:
        data = coverage.CoverageData()
        data.read()
        drawn = _draw(data, random.Random(seed), count)
        breadth = _breadth(data)
    done = _verdicts(out) if out.exists() else []
    for mutant in drawn[len(done) :]:
        tests = [] if again else _covering(data, mutant, breadth)
        done.append(_judge(mutant, tests, limit))
        out.write_bytes(msgspec.json.format(msgspec.json.encode(done)))
        print(len(done), done[-1].verdict, done[-1].tests, mutant.file, mutant.number, flush=True)  # noqa: T201


def _verdicts(path: Path) -> list[Mutant]:
    return msgspec.json.decode(path.read_bytes(), type=list[Mutant])


def _breadth(data: coverage.CoverageData) -> dict[str, int]:
    """Map each test to the number of lines that it covers: the narrowest tests are asked first."""
    breadth: dict[str, int] = {}
    for file in data.measured_files():
        for contexts in _contexts(data, file).values():
            for context in contexts:
                breadth[context] = breadth.get(context, 0) + 1
    return breadth


def _draw(data: coverage.CoverageData, chance: random.Random, count: int) -> list[Mutant]:
    drawn: list[Mutant] = []
    for room in ROOMS:
        candidates = [
            Mutant(str(path), source, number)
            for path in sorted(Path(room).rglob("*.py"))
            for source, function in _functions(path.read_text("utf-8"))
            for number, line in enumerate(_places(function))
            if any(_contexts(data, str(path.resolve())).get(line, ()))
        ]
        drawn += chance.sample(candidates, count // len(ROOMS))
    chance.shuffle(drawn)
    return drawn


def _functions(source: str) -> Iterator[tuple[str, ast.AST]]:
    """Each function that stands in no other one, by its source."""
    waiting: list[ast.AST] = [ast.parse(source)]
    while waiting:
        node = waiting.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef):
                yield ast.get_source_segment(source, child) or "", child
            elif isinstance(child, ast.ClassDef):
                waiting.append(child)


def _places(function: ast.AST) -> list[int]:
    """The line of each expression that can be changed."""
    return [node.lineno for node in ast.walk(function) if _can_change(node)]


def _can_change(node: ast.AST) -> bool:
    match node:
        case ast.Compare(ops=[op]) | ast.BoolOp(op=op) | ast.BinOp(op=op):
            return type(op) in OTHER
        case ast.UnaryOp(op=ast.Not()) | ast.If() | ast.IfExp():
            return True
        case ast.Constant(value=value):
            return isinstance(value, int)
        case ast.Return(value=value):
            return value is not None and not isinstance(value, ast.Constant)
    return False


def _change(node: ast.AST) -> None:
    match node:
        case ast.Compare(ops=[op]):
            node.ops = [OTHER[type(op)]()]
        case ast.BoolOp(op=op) | ast.BinOp(op=op):
            node.op = OTHER[type(op)]()
        case ast.UnaryOp():
            node.operand = ast.UnaryOp(ast.Not(), node.operand)
        case ast.If() | ast.IfExp():
            node.test = ast.UnaryOp(ast.Not(), node.test)
        case ast.Constant(value=bool() as value):
            node.value = not value
        case ast.Constant(value=value):
            assert isinstance(value, int)
            node.value = value + 1
        case ast.Return():
            node.value = ast.Constant(None)


def _mutated(source: str, mutant: Mutant) -> tuple[str, int] | None:
    """Return the file with the mutant in it, and the line; None if its function is there no more."""
    for text, function in _functions(source):
        if text == mutant.function:
            changed = copy.deepcopy(function)
            node: Any = [node for node in ast.walk(changed) if _can_change(node)][mutant.number]
            line = node.lineno
            _change(node)
            assert isinstance(function, ast.FunctionDef)
            first = min([function.lineno, *(each.lineno for each in function.decorator_list)])
            lines = source.splitlines(keepends=True)
            body = ast.unparse(ast.fix_missing_locations(changed)).splitlines()
            indented = [" " * function.col_offset + each + "\n" for each in body]
            return "".join([*lines[: first - 1], *indented, *lines[function.end_lineno or 0 :]]), line
    return None


@cache
def _contexts(data: coverage.CoverageData, file: str) -> dict[int, list[str]]:
    return data.contexts_by_lineno(file)


def _covering(data: coverage.CoverageData, mutant: Mutant, breadth: dict[str, int]) -> list[str]:
    """Return the tests that cover a mutant's line, the narrowest first."""
    _, line = _mutated(Path(mutant.file).read_text("utf-8"), mutant) or ("", 0)
    contexts = _contexts(data, str(Path(mutant.file).resolve())).get(line, [])
    tests = {context.rpartition("|")[0] for context in contexts if context}
    return sorted(tests, key=lambda test: (breadth.get(f"{test}|run", 0), test))


def _judge(mutant: Mutant, tests: list[str], limit: int) -> Mutant:
    path = Path(mutant.file)
    source = path.read_text("utf-8") if path.exists() else ""
    found = _mutated(source, mutant)
    if found is None:
        return msgspec.structs.replace(mutant, verdict=GONE)
    named = tests or [file for file in mutant.files if Path(file).exists()]
    try:
        path.write_text(found[0], "utf-8")
        verdict, killer = _run(named, limit)
    finally:
        path.write_text(source, "utf-8")
    files = list(dict.fromkeys(test.partition("::")[0] for test in [*killer, *named]))
    return msgspec.structs.replace(mutant, verdict=verdict, tests=len(tests), files=files)


def _run(tests: list[str], limit: int) -> tuple[str, list[str]]:
    """Run tests one after the other until one fails, and return the verdict and the test that failed."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as arguments:
        arguments.write("\n".join(tests))
        arguments.flush()
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-m", "", "-p", "no:cacheprovider"]
        try:
            done = subprocess.run(
                [*command, "--tb=no", f"@{arguments.name}"],
                env={**os.environ, "CI": "true", "PYTHONDONTWRITEBYTECODE": "1"},
                capture_output=True,
                timeout=limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return UNDECIDED, []
    killer = re.findall(
        r"^(?:FAILED|ERROR) (\S+?)(?:::|\s|$)", done.stdout.decode("utf-8", "replace"), re.MULTILINE
    )
    verdict = {0: SURVIVED, 1: KILLED, 2: KILLED}.get(done.returncode, f"pytest ended with {done.returncode}")
    return verdict, killer[:1]


if __name__ == "__main__":
    main()
