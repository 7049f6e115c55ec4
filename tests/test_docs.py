"""The documentation is true: its code runs, its pages are what the code generates."""

from __future__ import annotations

import html
import io
import os
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from rich.console import Console

from cli.demo.player import play
from cli.views.model import audit_view
from cli.views.screen import print_screen
from eventstore.harnesses import harnesses
from eventstore.memory import MemoryLog
from eventstore.paths import event
from projections.audit.session import Audit, audit
from tests.cli.running import command
from tests.support.patience import PATIENCE
from tests.support.pi_files import entry, header, said
from tests.support.talk import assistant

ROOT = Path(__file__).parent.parent
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    *(f"docs/{page.name}" for page in sorted((ROOT / "docs").glob("*.md"))),
]
EXAMPLES = [
    pytest.param(match[1], id=f"{page}:{number}")
    for page in PAGES
    for number, match in enumerate(
        re.finditer(r"```python\n(.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL), 1
    )
    # tests/refold/test_agent_loop.py runs it, and answers
    if "import anthropic" not in match[1] and "import openai" not in match[1]
    if "sys.stdin" not in match[1]  # tests/cli/commands/test_replay.py runs it, and has it compact
]
PREPARED = {
    "my-session": """
from eventstore import SessionWriter, open_store
with open_store("store") as log:
    writer = SessionWriter(log, "my-session")
    for text in ("What is in here?", "And what else?", "Nothing?"):
        writer.message({"role": "user", "content": text})
"""
}


@pytest.mark.slow
@pytest.mark.parametrize("code", EXAMPLES)
def test_python_in_the_documentation_runs(code: str, tmp_path: Path) -> None:
    lines = [header(), said("one", "a", None), said("two", "b", "a"), said("three", "c", "b")]
    (tmp_path / "session.jsonl").write_bytes(b"".join(lines))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    needs_session = "record_compaction" in code or "snapshot" in code
    script = PREPARED["my-session"] * needs_session + code
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.stderr == ""


def test_the_page_of_events_is_what_the_types_say() -> None:
    generated = runpy.run_path(str(ROOT / "docs" / "generate_events.py"))["page"]()
    assert (ROOT / "docs" / "events.md").read_text("utf-8") == generated


@pytest.mark.slow
def test_the_picture_in_the_readme_says_what_the_demo_shows() -> None:
    generated = runpy.run_path(str(ROOT / "docs" / "generate_picture.py"))["picture"]()
    assert _words((ROOT / "docs" / "images" / "audit.svg").read_text("utf-8")) == _words(generated)


@pytest.mark.slow
def test_what_the_readme_finds_is_what_the_audit_of_the_demo_finds() -> None:
    log = MemoryLog(clock=lambda: 0)
    session = play(log)
    readme = (ROOT / "README.md").read_text("utf-8")
    section = readme.split("## What it finds")[1].split("\n## ")[0]
    found = audit(log, session)
    compaction = found.compactions[1]
    assert f"#{compaction.seq} | Compaction 2 turns {compaction.before.recomputed:,} tokens into" in section
    assert f"into {compaction.after.recomputed:,}." in section
    with log.snapshot() as snapshot:
        told, written, again = (event(snapshot, session, seq).body.decode() for seq in (18, 140, 155))
    quoted = re.findall(r'"([^"]+)"', section)
    assert [text in told or text in again for text in quoted] == [True] * len(quoted)
    assert "migrations/0008_api_keys.sql" in written


@pytest.mark.slow
def test_the_line_that_a_run_of_everything_looks_for_in_the_demo_is_printed() -> None:
    (sought,) = re.findall(
        r"grep -q '\^([^']+)' \"\$work/demo.txt\"", (ROOT / ".ci" / "run").read_text("utf-8")
    )
    log = MemoryLog(clock=lambda: 0)
    assert [line for line in print_lines(audit(log, play(log))) if line.startswith(sought)]


def print_lines(found: Audit) -> list[str]:
    """Return the lines that the command prints of an audit, 100 characters wide."""
    out = Console(width=100, file=io.StringIO(), markup=False, emoji=False, highlight=False)
    print_screen(out, audit_view(found))
    return out.file.getvalue().splitlines()  # type: ignore[attr-defined]


def _words(svg: str) -> list[str]:
    """The text in a picture; how it is set may change with the library that draws it."""
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", svg)
    return " ".join(html.unescape(text) for text in texts).split()


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES)
def test_links_in_the_documentation_lead_somewhere(page: str) -> None:
    wrong = []
    for link in re.findall(r"\]\((?!https?:)([^)]+)\)", (ROOT / page).read_text("utf-8")):
        file, _, anchor = link.partition("#")
        target = (ROOT / page).parent / file if file else ROOT / page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            wrong.append(link)
    assert wrong == []


def test_the_readme_names_every_harness_whose_sessions_are_read() -> None:
    # Names in prose have capitals and spaces that names in a command do not.
    readme = (ROOT / "README.md").read_text("utf-8").lower().replace("\n", " ").replace(" ", "-")
    assert [each.name for each in harnesses() if f"-{each.name}" not in readme] == []


def test_the_readme_leads_to_every_page() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    assert [page for page in PAGES[1:] if f"]({page})" not in readme] == []


def test_the_readme_names_the_two_commands_that_do_everything() -> None:
    # .ci/run takes them from the page, where each has to be a line of its own.
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    assert {"    pip install . && refold demo", "    pip install -e '.[dev]' && pytest"} <= set(lines)


@pytest.mark.slow
def test_a_newcomer_with_sessions_runs_sync_second(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    commands = [line.strip() for line in readme.splitlines() if line.startswith("    ")]
    assert commands[:2] == ["pip install . && refold demo", "refold sync && refold sessions"]
    sessions = tmp_path / ".pi" / "agent" / "sessions" / "--project--"
    sessions.mkdir(parents=True)
    answer = entry("b", "a", "message", message=assistant("Hi."))
    (sessions / "one.jsonl").write_bytes(header(session="one") + said("hello", "a", None) + answer)
    done = run_in(tmp_path, commands[1])
    assert (done.returncode, done.stderr, "hello" in done.stdout) == (0, "", True)


def run_in(home: Path, *commands: str) -> subprocess.CompletedProcess[str]:
    """Run commands of the README in a shell, in a folder that is home to nobody else."""
    return subprocess.run(
        [
            "sh",
            "-c",
            "\n".join(["set -e", f'refold() {{ {shlex.join(command())} "$@"; }}', *commands]),
        ],
        cwd=home,
        env={
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "HOME": str(home),
            "XDG_DATA_HOME": str(home / "data"),
        },
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
        check=False,
    )


@pytest.mark.slow
def test_the_readmes_tour_can_be_followed(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    tour = readme[readme.index("## A tour by task") : readme.index("## From Python")]
    commands = [line.strip() for line in tour.splitlines() if line.startswith("    ") and "~/" not in line]
    done = run_in(tmp_path, *commands)
    assert (done.returncode, done.stderr) == (0, "")
    first, again = (tmp_path / name for name in ("continued.jsonl", "the-same-again.jsonl"))
    assert first.read_bytes() == again.read_bytes()


def test_addresses_of_the_project_are_https_and_name_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    addresses = [urlsplit(each) for each in project["urls"].values()]
    assert {"Homepage", "Release notes"} <= set(project["urls"])
    assert {each.scheme for each in addresses} == {"https"}
    assert [each for each in addresses if project["name"] not in each.path.split("/")] == []
