"""docs/commands.md is whole and true: every command and JSON field is in it, and every example runs."""

from __future__ import annotations

import itertools
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import click
import pytest

from cli.demo.player import SESSION as DEMO
from cli.main import COMMANDS, GROUPS
from cli.main import refold as group
from eventstore.files.exporting import export_formats
from eventstore.harnesses import harnesses
from eventstore.records import FORMAT
from tests.cli.commands.test_hook import given_back
from tests.cli.fake_claude import put_claude
from tests.cli.lossy import LOSSY, judged, store_lossy
from tests.cli.running import PROJECT, Outcome, Refold
from tests.cli.tale import SESSION, tale
from tests.support.patience import PATIENCE
from tests.support.pi_files import header, line, said
from tests.support.talk import assistant, call, result, user
from tests.support.tampering import tables

PAGE: Final = (PROJECT / "docs" / "commands.md").read_text("utf-8")
SECTIONS: Final = {
    title: text
    for title, _, text in (part.partition("\n") for part in re.split(r"^###? ", PAGE, flags=re.MULTILINE)[1:])
}
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")

is_of_type: Final[dict[str, Callable[[Any], bool]]] = {
    "text": lambda value: isinstance(value, str),
    "time": lambda value: isinstance(value, str) and _TIME.fullmatch(value) is not None,
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "list": lambda value: isinstance(value, list) and all(isinstance(each, dict) for each in value),
    "list of texts": lambda value: isinstance(value, list) and all(isinstance(each, str) for each in value),
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
    "JSON": lambda value: isinstance(value, dict | list),
}


def command(name: str) -> click.Command:
    found = group.get_command(click.Context(group), name)
    assert found is not None
    return found


def shapes(section: str) -> list[str]:
    """The shapes of JSON in a section, in the page's notation."""
    return re.findall(r"```ts\n(.*?)```", SECTIONS[section], re.DOTALL)


_NAMED: Final = re.compile(r"^([A-Z]\w+) = \{(\n.*?^|.*?)\}$", re.MULTILINE | re.DOTALL)


class Shape:
    """Read a shape of JSON: from the path of each of its fields to the type.

    A shape is `name: type` or `name, name: type` with commas or line ends between fields. A type is a name, `{shape}`
    or `[type]`, with `?` if it may be null. `Name = {shape}` names a shape for the whole page, which can be used as a
    type; `...Name` has its fields.
    """

    def __init__(self, text: str) -> None:
        text = re.sub(r" *//.*", "", text)
        self._named = dict(_NAMED.findall(re.sub(r" *//.*", "", PAGE))) | dict(_NAMED.findall(text))
        self.fields: dict[str, str] = {}
        self._fields(_NAMED.sub("", text), "")

    def _fields(self, text: str, path: str) -> None:
        while text := text.strip(" \n,"):
            if spread := re.match(r"\.\.\.(\w+)", text):
                self._fields(self._named[spread[1]], path)
                text = text[spread.end() :]
                continue
            field = re.match(r'((?:"?[\w/]+"?,\s*)*"?[\w/]+"?): *', text)
            assert field is not None, text
            rest = text[field.end() :]
            for name in re.findall(r"[\w/]+", field[1]):
                text = self._type(rest, f"{path}.{name}".strip("."))

    def _type(self, text: str, path: str) -> str:
        """Read the type at the beginning of a text; return what follows it."""
        size = len(text) - len(_after_bracket(text)) if text[0] in "{[" else len(re.match(r"\w+", text)[0])  # type: ignore[index]
        name, rest = text[:size], text[size:]
        if name[0] == "[":
            self._type(name[1:-1], f"{path}[]")
            name = "list of texts" if self.fields.pop(f"{path}[]") == "text" else "list"
        elif name[0] == "{" or name in self._named:
            self._fields(self._named.get(name, name[1:-1]), path)
            name = "object"
        self.fields[path] = f"{name} or null" if rest.startswith("?") else name
        return rest.removeprefix("?")


def _after_bracket(text: str) -> str:
    """Return what follows the bracket that closes the one at the beginning of a text."""
    depths = itertools.accumulate((each in "{[") - (each in "}]") for each in text)
    return text[next(place for place, depth in enumerate(depths) if not depth) + 1 :]


def fields(section: str) -> dict[str, str]:
    """From the paths of the JSON fields that a section documents to their types."""
    return Shape(shapes(section)[0]).fields


def test_a_shape_is_read_with_what_it_names() -> None:
    text = 'a, z: text, // texts\n"b/4": [{c: integer?, d: [text]}]?\ne: Named\nNamed = {\n  f: time,\n}\n'
    assert Shape(text).fields == {
        "a": "text",
        "z": "text",
        "b/4": "list or null",
        "b/4[].c": "integer or null",
        "b/4[].d": "list of texts",
        "e": "object",
        "e.f": "time",
    }


@pytest.fixture
def prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Refold:
    """A folder with `session.jsonl` and a store that holds it, which has something of everything that JSON tells of."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    more = b"".join(said("more", f"m{number}", f"m{number - 1}" if number else "x12") for number in range(8))
    odd = b"{broken\n" + said("an id once more", "u1", "i1") + said("alone", "o1", "o0")
    odd += said("latin?", "e1", "o1").replace(b"?", b"\xe9")
    content = tale() + odd + b"".join(done_again()) + more
    (tmp_path / "session.jsonl").write_bytes(content)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for variable in [name for each in harnesses() for place in each.places for name in place.environment]:
        monkeypatch.delenv(variable, raising=False)
    refold = Refold(tmp_path / "store")
    refold("sync", "session.jsonl")
    targets = [{"target": "u3", "shown": "…"}]
    refold("append", SESSION, stdin=line({"type": "rewrite", "reason": "prune", "targets": targets}))
    reading = {"type": "rules", "messages": ["u1"], "rules": [{"event": "u1", "text": "x"}], "request": {}}
    refold("append", SESSION, stdin=line({"type": "note", "data": reading}))
    failed = {"reason": "manual", "policy": "pi", "requests": []}
    refold("append", SESSION, stdin=line({"type": "attempt", "request": failed, "error": "overloaded"}))
    return refold


def done_again() -> Iterator[bytes]:
    """Entries behind the tale: what is done before a compaction is done again after it, and fails again."""
    usage = {"input": 10, "output": 5, "cacheRead": 100, "cacheWrite": 10, "totalTokens": 125}
    look = assistant(call("read", "k9", path="docs/gone.md"), usage=usage)
    failed = result("Error: there is no file docs/gone.md", call_id="k9", is_error=True)
    read, text = assistant(call("read", "k8", path="plan.md")), result("The plan.", call_id="k8")
    # Without a summary, the one before is lost too.
    compaction = {"type": "compaction", "summary": "", "firstKeptEntryId": "", "tokensBefore": 9}
    messages = [
        *(read, text, look, failed),
        user("Never write to docs/ again."),
        None,
        *(read, text, look, failed),
        user("Is it gone?"),
        assistant("Gone.", usage=usage),
    ]
    for number, message in enumerate(messages, 1):
        record = compaction if message is None else {"type": "message", "message": message}
        parent = f"x{number - 1}" if number > 1 else "i1"
        yield line(
            {**record, "id": f"x{number}", "parentId": parent, "timestamp": "2025-12-08T23:00:00.000Z"}
        )


def test_every_command_has_a_section_in_order() -> None:
    groups = [[title.capitalize(), *commands] for title, commands in GROUPS.items()]
    assert list(SECTIONS) == ["Common to all commands", *(title for group in groups for title in group)]


@pytest.mark.parametrize("name", COMMANDS)
def test_options_in_a_section_are_its_commands(name: str) -> None:
    has = {option for parameter in (*group.params, *command(name).params) for option in parameter.opts}
    # A sentence may name another command with its options.
    own = re.sub(
        r"`(?:refold )?(?:[a-z]+) -[^`]*`|```sh\n.*?```|\[`.*?`\]", "", SECTIONS[name], flags=re.DOTALL
    )
    assert set(re.findall(r"`(--[a-z-]+)", own)) <= has


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_describes_every_option(name: str) -> None:
    options = [each for each in command(name).params if isinstance(each, click.Option)]
    assert [each.name for each in options if not each.help] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_help_ends_in_an_example(name: str) -> None:
    assert example_of(name).lstrip("(").startswith(("refold ", "echo "))


EXAMPLES = [name for name in COMMANDS if name != "install"]
"""Commands whose examples change no other program."""


def example_of(name: str) -> str:
    """The example in the help of a command."""
    epilog = (command(name).epilog or "").replace("\b\n", "")
    head, _, example = epilog.partition("Example:  ")
    assert head == ""
    return example


def run_as_shown(refold: Refold, script: str, folder: Path) -> None:
    """Run what a person with a session at home would type: in a shell, which takes longer, only if it needs one."""
    if script.rstrip().endswith("refold mcp"):
        pytest.importorskip("mcp", reason="the extra refold[mcp] is not installed")
    sessions = folder / "home" / ".pi" / "agent" / "sessions" / "project"
    sessions.mkdir(parents=True)
    (sessions / "session.jsonl").write_bytes(tale())
    if re.search(r"[|<>()*~$;]|&& (?!refold )", script):
        run_in_shell(refold, script, folder)
        return
    for command in script.split(" && "):
        name, *arguments = shlex.split(command)
        assert name == "refold"
        run = run_until_it_watches if "--watch" in arguments else Refold.__call__
        assert not problems_in(run(refold, *arguments).errors)


def run_until_it_watches(refold: Refold, *arguments: str) -> Outcome:
    """Run a command that goes on until it is stopped, and stop it when it prints that it watches."""
    printed = b""
    with refold.started(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        while b"watching" not in printed and (line := process.stdout.readline()):
            printed += line
        process.terminate()
        rest, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors
    return Outcome(process.returncode, printed + rest, errors)


def run_in_shell(refold: Refold, script: str, folder: Path) -> None:
    """Run a line of shell, at home in the folder."""
    beside_python = str(Path(sys.executable).parent)
    environment = refold.environment(
        PATH=beside_python + os.pathsep + os.environ["PATH"], HOME=str(folder / "home"), TMPDIR=str(folder)
    )
    done = subprocess.run(
        ["sh", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, problems_in(done.stderr)) == (0, [])


def problems_in(errors: str) -> list[str]:
    return [line for line in errors.splitlines() if not line.startswith("refold: note: ")]


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_in_every_help_runs(prepared: Refold, tmp_path: Path, name: str) -> None:
    run_as_shown(prepared, example_of(name), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in EXAMPLES if "```sh\n" in SECTIONS[name]])
def test_the_example_in_a_section_runs(prepared: Refold, tmp_path: Path, name: str) -> None:
    example = re.search(r"```sh\n(.*?)```", SECTIONS[name], re.DOTALL)
    assert example is not None
    run_as_shown(prepared, example[1], tmp_path)


def test_the_example_in_the_programs_help_runs(prepared: Refold, tmp_path: Path) -> None:
    run_as_shown(prepared, (group.epilog or "").removeprefix("Example:  "), tmp_path)


JSON_CALLS: Final = {
    "sync": ["sync", "--home", "home", "--json"],
    "sessions": ["sessions", "--json"],
    "search": ["search", "parser", "--json"],
    "log": ["log", SESSION, "--json"],
    "show": ["show", SESSION, "a1", "--json"],
    "tree": ["tree", SESSION, "--json"],
    "context": ["context", SESSION, "--json"],
    "audit": ["audit", SESSION, "--json"],
    "report": ["report", SESSION, "-o", "report.html", "--json"],
    "diff": ["diff", SESSION, "a3", "a4", "--json"],
    "check": ["check", SESSION, "--json"],
    "rules": ["rules", LOSSY, "--json"],
    "judge": ["judge", LOSSY, "--json"],
    "install": ["install", "claude-code", "--yes", "--json"],
    "hook": ["hook", "--explain", SESSION, "--json"],
    "files": ["files", SESSION, "--json"],
    "export": ["export", SESSION, "--format", "codex", "--yes", "-o", "exported.jsonl", "--json"],
    "append": ["append", SESSION],
    "go": ["go", SESSION, "u1", "--json"],
    "replay": [
        *("replay", DEMO, "--at", "recorded", "--with", "recorded", "--with", "drop"),
        *("--keep-recent", "0", "--json"),
    ],
    "fork": ["fork", SESSION, "--json"],
    "undo": ["undo", SESSION, "--json"],
    "compact": [
        "compact",
        SESSION,
        "--leaf",
        "a3",
        "--keep-recent",
        "0",
        "--summarizer",
        "extractive",
        "--json",
    ],
    "prune": ["prune", SESSION, "--policy", "mask.toml", "--json"],
    "handoff": ["handoff", SESSION, "--summarizer", "extractive", "--json"],
    "maintain": ["maintain", SESSION, "--summarizer", "extractive"],
    "label": ["label", SESSION, "u1", "x", "--json"],
    "stats": ["stats", "--json"],
    "bench": ["bench", SESSION, "--json"],
    "push": ["push", "other-store", "--json"],
    "pull": ["pull", "other-store", "--json"],
    "backup": ["backup", "copy", "--json"],
    "verify": ["verify", "--json"],
    "purge": ["purge", SESSION, "u1", "--match", "Fix the parser", "--yes", "--json"],
    "policies": ["policies", "--json"],
    "templates": ["templates", "--json"],
    "demo": ["--store", "demo", "demo", "--json"],
}


STDIN: Final = {
    "append": line({"type": "custom", "customType": "x"}),
    "maintain": b"".join(
        [
            line({"on": "after_turn"}),
            line({"on": "idle", "seconds": 1}),
            line({"on": "error", "error": "prompt is too long"}),
            b"nonsense\n",
        ]
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", JSON_CALLS)
def test_the_json_that_a_command_prints_is_what_its_section_says(prepared: Refold, name: str) -> None:
    others = _recorded(prepared, name) if name in ("check", "context") else []
    compare(fields(name), [*printed_by(prepared, name), *others])


def compare(documented: dict[str, str], values: list[Any]) -> None:
    """Compare what a page says of JSON with what is printed."""
    printed: dict[str, list[Any]] = {}
    for value in values:
        for path, each in walk(value, free={path for path, type_ in documented.items() if type_ == "JSON"}):
            printed.setdefault(path, []).append(each)
    assert sorted(documented) == sorted(printed)
    for path, found in printed.items():
        predicates = [is_of_type[each] for each in documented[path].split(" or ")]
        assert all(any(holds(value) for holds in predicates) for value in found), path


def test_a_watchs_json_is_what_docs_say(prepared: Refold) -> None:
    _put_at_home(header() + said("hello", "h1", None))
    printed = run_until_it_watches(prepared, "sync", "--watch", "--home", "home", "--json")
    compare(Shape(shapes("sync")[1]).fields, printed.json_lines)


def _put_at_home(session: bytes) -> Path:
    """Write a session where pi keeps them; return its folder."""
    folder = Path("home", ".pi", "agent", "sessions", "project")
    folder.mkdir(parents=True)
    (folder / "session.jsonl").write_bytes(session)
    return folder


@pytest.mark.parametrize(
    "arguments",
    [
        ("compact", SESSION, "--leaf", "a3", "--keep-recent", "0", "--dry-run"),
        ("stats", "--by", "project"),
        ("replay", SESSION, "--at", "triggered", "--with", "recorded", "--with", "pi", "--window", "400"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_sections_second_shape_is_what_is_printed(prepared: Refold, arguments: tuple[str, ...]) -> None:
    compare(Shape(shapes(arguments[0])[1]).fields, [prepared(*arguments, "--json").json])


def _asked_again(refold: Refold) -> str:
    """Append a session whose task is given again after its compaction; return its name."""
    task = {"role": "user", "content": "write the parser for invoices"}
    done = {"role": "assistant", "content": [{"type": "text", "text": "Done."}]}
    records = [
        {"type": "message", "message": task},
        {"type": "message", "message": done},
        {"type": "compaction", "summary": "In short.", "firstKeptEntryId": "", "tokensBefore": 1},
        {"type": "message", "message": done},
        {"type": "message", "message": task},
    ]
    refold("append", "again", stdin="".join(f"{json.dumps(each)}\n" for each in records))
    return "again"


def _failing(refold: Refold) -> Outcome:
    """Audit with a bug in one figure."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("projections.audit.session.session_cost", lambda *_, **__: {}[73])
        # Another call than before: an audit is stored.
        return refold("--counter", "bytes/4", "audit", SESSION, "--json", code=1)


def _recorded(refold: Refold, name: str) -> list[Any]:
    """Run a command on a session with recorded requests, one of which had another prompt."""
    recorded = PROJECT / "tests/projections/rules/claude_code/recorded_requests.jsonl"
    asked = recorded.read_bytes().replace(b'"user","content":"Read a', b'"user","content":"See a')
    Path("recorded.jsonl").write_bytes(asked)
    return refold(name, "recorded.jsonl", "--json", code=int(name == "check")).json_lines


def printed_by(refold: Refold, name: str) -> list[Any]:
    if name == "verify":
        with tables(refold.store) as stored:
            key, value = stored.items("events")[0]
            stored.put("events", key, value.replace(b"Fix the parser.", b"Fix the sparrow"))
    if name == "sync":
        (_put_at_home(tale()) / "bad.jsonl").write_text("a shopping list\n")
        # A copy in which a record before the last has another id.
        session = Path("session.jsonl")
        session.write_bytes(session.read_bytes().replace(b'"id":"u1"', b'"id":"x1"', 1))
        return [
            *refold(*JSON_CALLS[name], code=1).json_lines,
            *refold(name, "session.jsonl", "--json").json_lines,
        ]
    if name == "install":
        with pytest.MonkeyPatch.context() as patch:
            put_claude(patch)
            return refold(*JSON_CALLS[name]).json_lines
    if name == "prune":
        Path("mask.toml").write_text('name = "m"\nrewrites = [{part = "mask", keep_observations = 0}]\n')
        refold("go", SESSION, "a3")
    if name in ("push", "pull"):
        # A session of the other store has other events.
        other = Refold(Path("other-store").resolve())
        other("append", SESSION, stdin=line({"type": "custom", "customType": "x"}))
    if name in ("judge", "rules"):
        store_lossy(refold)
        read = judged(refold, "--json")
        return read.json_lines if name == "judge" else refold(*JSON_CALLS[name]).json_lines
    if name == "replay":
        refold("--store", "demo", "demo")
        asked = ("--rounds", "3", "--reader", "command", "--yes")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("REFOLD_SUMMARIZER_COMMAND", "echo {}")
            read = refold("--store", "demo", *JSON_CALLS[name], *asked).json_lines
        return [*refold("--store", "demo", *JSON_CALLS[name]).json_lines, *read]
    if name == "audit":
        # The demo's session has nearly every kind of list.
        refold("--store", "demo", "demo")
        return [
            *refold(*JSON_CALLS[name]).json_lines,
            *refold("--store", "demo", "audit", DEMO, "--json").json_lines,
            *refold("audit", _asked_again(refold), "--json").json_lines,
            *_failing(refold).json_lines,
            given_back(refold),
        ]
    return refold(
        *JSON_CALLS[name],
        stdin=STDIN.get(name, b""),
        code=1 if name in ("verify", "push", "pull") else 0,
    ).json_lines


def walk(value: Any, path: str = "", *, free: set[str]) -> Iterator[tuple[str, Any]]:
    """Every field in a JSON value with its path; what is free to hold anything is not looked into."""
    if isinstance(value, dict):
        for key, inner in value.items():
            below = f"{path}.{key}" if path else key
            yield below, inner
            if below not in free:
                yield from walk(inner, below, free=free)
    elif isinstance(value, list):
        for inner in value:
            yield from walk(inner, f"{path}[]", free=free)


def test_the_pi_format_of_a_context_is_in_its_section(prepared: Refold) -> None:
    for name in json.loads(prepared("context", SESSION, "--format", "pi").raw):
        assert f'"{name}"' in SECTIONS["context"]


def test_every_exit_code_is_in_the_page() -> None:
    assert re.findall(r"^\| (\d+) \|", SECTIONS["Common to all commands"], re.MULTILINE) == [
        "0",
        "1",
        "2",
        "69",
        "70",
        "130",
        "141",
    ]


VERSIONS = {version for each in harnesses() for version in each.versions}
NAMES = {each.name for each in harnesses()}


@pytest.mark.parametrize(
    ("section", "line", "named"),
    [
        ("log", "  format: text", VERSIONS | {FORMAT}),
        ("sync", "  format: text", VERSIONS),
        ("context", "rules: text", NAMES),
    ],
)
def test_every_harness_is_named_where_its_name_can_occur(section: str, line: str, named: set[str]) -> None:
    (described,) = (each for each in SECTIONS[section].splitlines() if each.startswith(line))
    each = re.sub(r"([\w-]+)/(\d) to \1/(\d)", _each_version, described.partition("//")[2])
    assert set(re.findall(r"[\w-]+(?:/\d)?", each)) - {"the", "harness", "or", "and"} == named


def test_every_export_format_is_in_its_table() -> None:
    cells = re.findall(r"^\| (`[^|]*) \|", SECTIONS["export"], re.MULTILINE)
    named = {name for cell in cells[1:] for name in re.findall(r"`([\w-]+)`", cell)}
    assert named == {*export_formats(), "original", "markdown"}


def _each_version(found: re.Match[str]) -> str:
    return " ".join(f"{found[1]}/{number}" for number in range(int(found[2]), int(found[3]) + 1))


def test_every_format_of_an_export_is_named_for_the_library() -> None:
    page = (PROJECT / "docs" / "library.md").read_text("utf-8")
    (row,) = (line for line in page.splitlines() if line.startswith("| `session.export("))
    assert set(re.findall(r'`"([\w-]+)"`', row)) == {*export_formats(), "original"}
