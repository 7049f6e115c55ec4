"""The rooms keep their rules, those that import contracts cannot hold, and the page that describes them is true."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import grimp
import pytest

from eventstore.harnesses import all_names, harnesses

ROOT = Path(__file__).parent.parent
ROOMS = ("eventstore", "projections", "compaction", "cli")
FRONT = "refold"
OF_HARNESSES = ("eventstore/harnesses/", "projections/rules/")
NAMES = {version for each in harnesses() for version in (each.name, *each.versions)}
"""The names of harnesses and of the versions of their records."""
MAY_NAME = {
    "eventstore/frame.py": "codes on disk",
    "eventstore/records.py": "the shape of refold's own messages",
    "refold/__init__.py": "the file that any session can become",
    "cli/commands/hook.py": "whose events it answers",
    "cli/commands/install.py": "whose program it runs",
    "cli/commands/prune.py": "the policy that is followed where none is named",
}
FIELDS = (
    "firstKeptEntryId firstKeptEntryIndex parentSession fromHook fromExtension targetId thinkingSignature stopReason"
    " file_path filePath notebook_path"
)
"""Fields of records and arguments of tools that a harness chose, and nobody else has to know."""


REGISTRIES = (
    "eventstore.harnesses",
    "projections.rules",
    "projections.requests.anthropic",
    "compaction.summarizers.registry",
    "compaction.summarizers.extractive",
)
"""Modules that look up a harness or a summarizer by a name, render for an API, or read facts from messages."""


def modules(*rooms: str) -> Iterator[str]:
    for room in rooms:
        yield from (str(path.relative_to(ROOT)) for path in sorted((ROOT / room).rglob("*.py")))


@cache
def nodes_of(module: str) -> list[ast.AST]:
    """The nodes of a module's syntax tree."""
    return list(ast.walk(ast.parse((ROOT / module).read_text("utf-8"))))


@cache
def texts_in(module: str) -> list[tuple[int, str]]:
    """The texts of a module with their lines, but for docstrings."""
    nodes = nodes_of(module)
    said = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    return [
        (node.lineno, node.value)
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said
    ]


def docstrings_in(module: str) -> Iterator[tuple[int, str]]:
    """The docstrings of a module, its classes, functions and values, with their lines."""
    for node in nodes_of(module):
        body = getattr(node, "body", None)
        for each in body if isinstance(body, list) else ():
            if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant):
                yield each.lineno, str(each.value.value)


NOUN_CLAUSES = ("What", "Whether", "How", "Which", "Where", "Who", "When", "That", "All that")
LONGEST_FIRST_LINE = 90


def test_no_docstring_opens_with_a_noun_clause() -> None:
    opening = re.compile(rf"({'|'.join(NOUN_CLAUSES)})\b")
    found = [
        f"{module}:{line}"
        for module in modules(*ROOMS, FRONT, "tests", "bench", "docs")
        for line, text in docstrings_in(module)
        if opening.match(text)
    ]
    assert found == []


def test_first_lines_of_docstrings_are_short() -> None:
    found = [
        f"{module}:{line}: {first}"
        for module in modules(*ROOMS, FRONT)
        for line, text in docstrings_in(module)
        if len(first := text.partition("\n")[0]) > LONGEST_FIRST_LINE
    ]
    assert found == []


MOST_LINES = 60


def test_no_function_has_more_than_60_lines() -> None:
    found = [
        f"{module}:{node.lineno}: {node.name}"
        for module in modules(*ROOMS, FRONT, "bench")
        for node in nodes_of(module)
        if isinstance(node, ast.FunctionDef)
        if (node.end_lineno or 0) - node.lineno >= MOST_LINES
    ]
    assert found == []


def test_no_two_modules_of_a_room_have_one_name() -> None:
    found = defaultdict(list)
    for module in modules(*ROOMS):
        path = Path(module)
        if path.name not in ("__init__.py", "base.py"):
            found[path.parts[0], path.name].append(module)
    assert [names for names in found.values() if len(names) > 1] == []


def test_a_harness_is_named_by_its_format_and_its_rules_alone() -> None:
    named = {
        module
        for module in modules(*ROOMS, FRONT)
        if not module.startswith(OF_HARNESSES)
        for _, text in texts_in(module)
        if text in NAMES
    }
    assert named == set(MAY_NAME)


REGISTERED_IN = {
    "eventstore/harnesses/__init__.py",
    "eventstore/harnesses/unread.py",
    "projections/rules/__init__.py",
}
EXTENDS = {"oh-my-pi": {"pi"}, "refold": {"pi"}}
"""Harnesses whose records have another one's shape: they build on its format and its rules."""


def words_in(module: str) -> Iterator[tuple[int, str]]:
    """The texts of one word and the names in a module with their lines, but for docstrings."""
    yield from ((line, text) for line, text in texts_in(module) if " " not in text)
    for node in nodes_of(module):
        names = {
            each
            for each in ("id", "attr", "arg", "name", "module")
            if isinstance(getattr(node, each, None), str)
        }
        yield from ((getattr(node, "lineno", 0), getattr(node, each)) for each in names)


def as_words(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text).lower())


PROVIDERS = ("openai-codex", "openai-codex-responses")
"""A provider of models and its API, named like a harness."""


@pytest.mark.slow
def test_a_harness_is_unknown_to_the_formats_and_rules_of_others() -> None:
    harnesses_named = {each.name: as_words(each.name) for each in harnesses()}
    found = []
    for module in modules("eventstore/harnesses", "projections/rules"):
        path = as_words(module.removesuffix(".py"))
        # The longest name in the path owns it: a folder of oh-my-pi is none of pi.
        own = max(
            (name for name, words in harnesses_named.items() if re.search(rf"_{words}(_|$)", path)),
            key=len,
            default="refold" if "/refold/" in module else "",
        )
        known = {own} | EXTENDS.get(own, set())
        others = {name: words for name, words in harnesses_named.items() if name not in known}
        for line, text in () if module in REGISTERED_IN else words_in(module):
            words = as_words("" if text in PROVIDERS else text)
            found += [
                f"{module}:{line}: {text}"
                for other in others.values()
                if re.search(rf"(^|_){other}(_|$)", words)
            ]
    assert found == []


@pytest.mark.parametrize("field", FIELDS.split())
def test_a_field_of_a_harness_is_known_to_its_format_and_its_rules_alone(field: str) -> None:
    knowing = [
        (module, line)
        for module in modules(*ROOMS, FRONT)
        if not module.startswith(OF_HARNESSES)
        for line, text in texts_in(module)
        if text == field
    ]
    assert knowing == []


def test_every_module_is_three_imports_from_a_command_or_from_a_registry() -> None:
    graph = grimp.build_graph(*ROOMS, FRONT, cache_dir=None)
    modules = {module for module in graph.modules if not graph.find_children(module)}
    reached = {FRONT, "cli.main", *REGISTRIES, *graph.find_children("cli.commands")}
    # These are imported by their names on first use.
    by_name = [name.replace("-", "_") for name in all_names()]
    reached |= {
        f"{room}.{name}" for room in ("eventstore.harnesses", "projections.rules") for name in by_name
    } & set(graph.modules)
    for _ in range(3):
        reached |= {each for module in reached for each in graph.find_modules_directly_imported_by(module)}
    assert modules - reached == {"refold.__main__", "cli.start"}


@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_every_file_that_a_page_for_contributors_names_is_there(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    # NAME stands for what somebody adds; its folder is there.
    paths = [
        name.partition("NAME")[0] for name in re.findall(r"`([\w/.]+(?:\.py|\.md|\.svg|\.png|/))`", text)
    ]
    named = [name for name in paths if "/" in name]
    assert len(named) > 20
    assert [name for name in named if not (ROOT / name).exists() and not list(ROOT.glob(f"*/{name}"))] == []


def test_paths_into_rooms_that_pages_name_exist() -> None:
    pattern = re.compile(rf"`((?:{'|'.join((*ROOMS, 'bench'))})/[\w/.]*)`")
    named = {
        (page.name, path.partition("NAME")[0])
        for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"))
        for path in pattern.findall(page.read_text("utf-8"))
    }
    assert len(named) > 20
    assert sorted((page, path) for page, path in named if not (ROOT / path).exists()) == []


def test_every_public_name_of_a_module_exists() -> None:
    exported = {
        (module, name)
        for module in modules(*ROOMS, FRONT)
        for node in ast.parse((ROOT / module).read_text("utf-8")).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        for name in ast.literal_eval(node.value)
    }
    dotted = {
        (module.removesuffix(".py").replace("/", ".").removesuffix(".__init__"), name)
        for module, name in exported
    }
    assert len(dotted) > 40
    assert [each for each in sorted(dotted) if not _has(*each)] == []


def test_every_attribute_that_pages_for_contributors_name_is_there() -> None:
    text = "".join((ROOT / page).read_text("utf-8") for page in ("docs/architecture.md", "CONTRIBUTING.md"))
    named = {(name, attribute) for name, attribute in re.findall(r"`([A-Z][a-z]\w*)\.([a-z_]\w*)`", text)}
    defined = {each for module in modules(*ROOMS, FRONT) for each in members(module)}
    assert len(named) > 5
    assert sorted(named - defined) == []


def members(module: str) -> Iterator[tuple[str, str]]:
    """The fields and methods of a module's classes, each with the name of its class."""
    for node in nodes_of(module):
        for each in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(each, ast.FunctionDef):
                yield node.name, each.name
            elif isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
                yield node.name, each.target.id


HOW_TO_ADD = {
    "a harness": {"eventstore/harnesses/base.py", "eventstore/frame.py", "projections/rules/base.py"},
    "a part of a policy": {"compaction/triggers.py", "compaction/cuts.py", "compaction/rewrites.py"},
    "a template": {"compaction/templates/texts/NAME.md"},
    "a renderer": {"projections/requests/rendered.py"},
    "a summarizer": {"compaction/summarizers/registry.py"},
    "a command": {"cli/main.py", "docs/commands.md"},
}


@pytest.mark.parametrize("thing", HOW_TO_ADD)
def test_contributing_says_which_files_a_new_thing_needs(thing: str) -> None:
    sections = (ROOT / "CONTRIBUTING.md").read_text("utf-8").split("\n## ")
    (section,) = (each for each in sections if each.startswith(f"Add {thing}\n"))
    steps = re.findall(r"^\d\. .*", section, re.MULTILINE)
    assert len(steps) >= 3
    assert set(re.findall(r"`([\w/.]+)`", section)) >= HOW_TO_ADD[thing]


def imports_in(text: str) -> Iterator[tuple[str, str]]:
    """The names that a program in a text imports from a room, each with its module."""
    pattern = r"^\s*from ((?:eventstore|projections|compaction|cli|refold)[\w.]*) import ([\w, ]+)$"
    for module, names in re.findall(pattern, text, re.MULTILINE):
        yield from ((module, name.split(" as ")[0].strip()) for name in names.split(","))


@pytest.mark.slow
def test_programs_in_the_texts_of_tests_import_what_is_there() -> None:
    named = {
        each
        for module in modules("tests", "bench")
        if not module.endswith("test_new_parts.py")  # its modules are added to a copy of the program
        for _, text in texts_in(module)
        for each in imports_in(text)
    }
    assert len(named) > 20
    assert [(module, name) for module, name in sorted(named) if not _has(module, name)] == []


def _has(module: str, name: str) -> bool:
    try:
        return hasattr(import_module(module), name) or find_spec(f"{module}.{name}") is not None
    except ModuleNotFoundError:
        return False
