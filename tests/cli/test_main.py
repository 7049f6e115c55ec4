from __future__ import annotations

import os
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import click
import pytest

from cli.main import COMMANDS, GROUPS
from eventstore import SessionWriter, open_store
from eventstore.errors import StoreError
from tests.cli.invocations import NAMES, WITHOUT_A_STORE, invocations, json_option, line_for
from tests.cli.running import PROJECT, Refold, command
from tests.cli.tale import SESSION, write
from tests.support.patience import PATIENCE
from tests.support.pi_files import header, said

HEAVY = ("rich", "tiktoken", "anthropic", "lmdb", "msgspec")


def test_every_command_is_in_one_group_of_help(refold: Refold) -> None:
    listed = listed_commands(refold("--help").lines)
    assert list(listed) == list(GROUPS)
    assert sorted(name for names in listed.values() for name in names) == sorted(COMMANDS)
    modules = {path.stem for path in (PROJECT / "cli" / "commands").glob("*.py")} - {"__init__"}
    assert sorted(module for module, _ in COMMANDS.values()) == sorted(modules)
    assert len(listed) == 6


def listed_commands(help_lines: list[str]) -> dict[str, list[str]]:
    """From the headings of a help, options left out, to the commands listed under them."""
    listed: dict[str, list[str]] = {}
    for line in help_lines:
        if line.endswith(":") and not line.startswith((" ", "Options")):
            names = listed.setdefault(line.removesuffix(":"), [])
        elif listed and line.startswith("  ") and line[2].islower():
            names.append(line.split()[0])
    return listed


def loaded(script: str, *names: str) -> list[str]:
    """Return those of some modules that a script of Python loads."""
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    watched = f"{script}\nimport sys\nprint('LOADED', *[name for name in {names!r} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", watched], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()[-1].split()[1:]


def test_the_help_of_the_program_loads_nothing_heavy() -> None:
    script = """
from cli.main import main
try:
    main(["--help"])
except SystemExit:
    pass
"""
    assert loaded(script, *HEAVY) == []


def test_a_context_for_a_program_loads_no_audit_no_importer_no_terminal_and_no_other_harness(
    tmp_path: Path,
) -> None:
    store = str(tmp_path / "store")
    with open_store(store) as log:
        SessionWriter(log, "s").message({"role": "user", "content": "hello"})
    script = f"""
from cli.main import main
try:
    main(["--store", {store!r}, "context", "s", "--format", "native"])
except SystemExit:
    pass
"""
    unneeded = (
        "eventstore.append",
        "eventstore.files.importing",
        "eventstore.harnesses.claude_code",
        "eventstore.harnesses.oh_my_pi",
        "eventstore.harnesses.pi.file",
        "json",
        "projections.audit",
        "projections.mentions",
        "projections.requests",
        "projections.rules.claude_code",
        "projections.rules.oh_my_pi",
        "projections.tree",
        "rich",
    )
    assert loaded(script, "lmdb", *unneeded) == ["lmdb"]


@pytest.mark.parametrize("room", ["eventstore", "projections", "compaction", "refold"])
def test_the_version_comes_with_a_note_on_a_package_that_hides_one_of_refolds(
    refold: Refold, tmp_path: Path, room: str
) -> None:
    hiding = tmp_path / "other" / room
    hiding.mkdir(parents=True)
    (hiding / "__init__.py").write_text("")
    outcome = refold.program("--version", PYTHONPATH=f"{hiding.parent}{os.pathsep}{PROJECT}")
    (note,) = outcome.notes
    assert str(hiding) in note
    assert outcome.out.split()[-1] == version("refold")
    if room == "eventstore":
        done = refold.program("sessions", code=70, PYTHONPATH=f"{hiding.parent}{os.pathsep}{PROJECT}")
        assert (done.errors.count("\n"), str(hiding) in done.errors) == (1, True)


def test_the_version_of_refold_alone_comes_without_a_note(refold: Refold) -> None:
    assert refold.program("--version").errors == ""


@pytest.mark.parametrize("system", ["win32", "cygwin", "freebsd14"])
def test_on_other_systems_it_says_where_it_runs(
    refold: Refold, monkeypatch: pytest.MonkeyPatch, system: str
) -> None:
    monkeypatch.setattr("cli.main.sys.platform", system)
    outcome = refold("sessions", code=69)
    assert (outcome.errors.count("\n"), system in outcome.errors) == (1, True)


def test_where_the_environment_asks_for_it_a_fault_ends_in_its_traceback(
    refold: Refold, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(COMMANDS, "broken", ("nowhere", "Is not there."))
    monkeypatch.setenv("REFOLD_TRACEBACK", "1")
    with pytest.raises(ModuleNotFoundError):
        refold("broken")


def test_every_command_is_tried_here() -> None:
    assert sorted([*invocations(SESSION), *WITHOUT_A_STORE]) == sorted(COMMANDS)


def truncated(store: Path) -> None:
    data = store / "data.mdb"
    os.truncate(data, data.stat().st_size // 2)


def garbage(store: Path) -> None:
    (store / "data.mdb").write_bytes(bytes(range(256)) * 64)


def a_few_bytes(store: Path) -> None:
    (store / "data.mdb").write_bytes(b"\x01\x02")


def a_file(store: Path) -> None:
    for path in store.iterdir():
        path.unlink()
    store.rmdir()
    store.write_text("a shopping list")


def a_folder_instead_of_data(store: Path) -> None:
    (store / "data.mdb").unlink()
    (store / "data.mdb").mkdir()


@pytest.mark.slow
@pytest.mark.parametrize("damage", [truncated, garbage, a_few_bytes, a_file, a_folder_instead_of_data])
def test_on_a_damaged_store_every_command_ends_with_one_line_that_names_it(told: Refold, damage) -> None:
    damage(told.store)
    for name, arguments in invocations(SESSION).items():
        assert told.refused(StoreError, *arguments, stdin=line_for(name)).path == str(told.store), name


def test_on_a_damaged_store_the_program_ends_with_no_signal_and_no_traceback(told: Refold) -> None:
    truncated(told.store)
    outcome = told.program("log", SESSION, code=1)
    assert (outcome.errors.count("\n"), str(told.store) in outcome.errors) == (1, True)


def test_a_store_may_be_named_by_option_or_by_environment(told: Refold, tmp_path: Path) -> None:
    elsewhere = Refold(tmp_path / "elsewhere")
    assert elsewhere("--store", told.store, "sessions").out == told("sessions").out


def test_the_option_goes_before_the_environment(told: Refold, tmp_path: Path) -> None:
    other = tmp_path / "other"
    assert told.refused(StoreError, "--store", other, "sessions").path == str(other)


def test_without_either_the_store_is_in_the_platforms_data_folder(told: Refold, tmp_path: Path) -> None:
    outcome = told.program("stats", code=1, REFOLD_STORE="", HOME=str(tmp_path), XDG_DATA_HOME=str(tmp_path))
    place = Path(outcome.errors.removeprefix("refold: ").partition(": ")[0])
    assert place.is_relative_to(tmp_path)
    assert "refold" in place.parts


def test_names_that_are_no_utf_8_are_reported_and_not_stored(told: Refold) -> None:
    name = os.fsdecode(b"\xff")
    for arguments in (["label", SESSION, "--title", name], ["label", SESSION, "u1", name], ["backup", name]):
        told.refused(click.BadParameter, *arguments, code=2)


@pytest.mark.parametrize(
    "arguments",
    [["log", SESSION], ["log", SESSION, "--json"], ["export", SESSION, "-o", "-"], ["context", SESSION]],
)
def test_a_reader_that_has_seen_enough_ends_the_command_without_a_word(
    refold: Refold, tmp_path: Path, arguments: list[str]
) -> None:
    # Far more than a pipe holds.
    words = [said("word " * 100, f"e{number}", f"e{number - 1}" if number else None) for number in range(800)]
    (tmp_path / "session.jsonl").write_bytes(header() + b"".join(words))
    refold("sync", "session.jsonl")
    process = refold.started(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.read(10)
    process.stdout.close()
    _, errors = process.communicate(timeout=PATIENCE)
    assert errors == b""
    assert process.returncode == 141


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize(
    "arguments", [["log", SESSION], ["sessions", "--json"], ["export", SESSION, "-o", "-"], ["--help"]]
)
def test_a_full_disk_under_the_output_is_one_line_on_stderr(told: Refold, arguments: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        process = told.started(*arguments, stdout=full, stderr=subprocess.PIPE)
        _, errors = process.communicate(timeout=PATIENCE)
    assert errors == b"refold: output: No space left on device\n"
    assert process.returncode == 1


@pytest.mark.skipif(os.name != "posix", reason="closing streams is the shell's, in POSIX")
@pytest.mark.parametrize(("closed", "code"), [("<&-", 0), (">&-", 0), ("2>&-", 0)])
def test_a_stream_that_the_shell_has_closed_hurts_nobody(told: Refold, closed: str, code: int) -> None:
    script = f'exec "$@" {closed}'
    arguments = ["sh", "-c", script, "sh", *command("append", "new"), "--expected", "0"]
    done = subprocess.run(arguments, env=told.environment(), stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == code


def test_an_interrupt_ends_a_command_with_one_line_and_exit_code_130(told: Refold) -> None:
    process = told.started(
        "append", "new", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(line_for("append").encode())
    process.stdin.flush()
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    # An empty line first, for a terminal shows ^C where the cursor stands.
    assert (process.returncode, errors) == (130, b"\nrefold: interrupted\n")


def test_commands_in_other_processes_see_what_is_stored_at_once(told: Refold) -> None:
    writer = told.started("append", SESSION, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert writer.stdin is not None
    assert writer.stdout is not None
    writer.stdin.write(b'{"type":"session_info","name":"Renamed"}\n')
    writer.stdin.flush()
    writer.stdout.readline()
    assert told("sessions", "--json").json["sessions"][0]["title"] == "Renamed"
    writer.communicate(timeout=PATIENCE)


@pytest.mark.parametrize("name", NAMES)
def test_every_command_says_json_where_it_is_asked_to(told: Refold, tmp_path: Path, name: str) -> None:
    write(tmp_path / "tale.jsonl")
    outcome = told(*invocations(SESSION)[name], *json_option(name), stdin=line_for(name))
    assert all(isinstance(value, dict) for value in outcome.json_lines)
    assert outcome.errors == ""
