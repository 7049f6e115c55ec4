from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cli.commands.install import INTEGRATIONS
from tests.cli.fake_claude import CALLS, put_claude
from tests.cli.running import Refold
from tests.cli.tale import SESSION

PLUGIN = INTEGRATIONS / "claude-code"


def test_the_harnesss_program_installs_the_plugin(refold: Refold, monkeypatch: pytest.MonkeyPatch) -> None:
    put_claude(monkeypatch)
    shown = refold("install", "claude-code", "--yes").errors
    assert Path(CALLS).read_text().splitlines() == [
        f"plugin marketplace add {PLUGIN}",
        "plugin install refold@refold",
    ]
    assert "settings.json" in shown
    assert "claude plugin install refold@refold" in shown


@pytest.mark.parametrize("harness", ["claude", "codex", "omp", "opencode", "pi"])
def test_nothing_to_take_out_is_said(refold: Refold, monkeypatch: pytest.MonkeyPatch, harness: str) -> None:
    put_claude(monkeypatch, as_program=harness, fails=True)
    name = {"claude": "claude-code", "omp": "oh-my-pi"}.get(harness, harness)
    assert "did not have it" in refold("install", name, "--uninstall", "--yes").errors


def test_a_failing_removal_is_named(refold: Refold, monkeypatch: pytest.MonkeyPatch) -> None:
    put_claude(monkeypatch, as_program="pi", fails=True)
    Path("settings").mkdir()
    Path("settings/settings.json").write_text('{"packages": ["../integrations/pi"]}')
    assert "no such thing" in refold("install", "pi", "--uninstall", "--yes", code=1).errors


def test_uninstalling_leaves_no_copy(refold: Refold, monkeypatch: pytest.MonkeyPatch) -> None:
    put_claude(monkeypatch)
    copy = Path("settings/plugins/cache/refold/refold/0.1.0")
    copy.mkdir(parents=True)
    refold("install", "claude-code", "--uninstall", "--yes")
    assert Path(CALLS).read_text().splitlines() == [
        "plugin uninstall refold@refold",
        "plugin marketplace remove refold",
    ]
    assert [*Path("settings/plugins/cache").iterdir()] == []


@pytest.mark.parametrize("harness", ["codex", "oh-my-pi", "pi"])
def test_each_program_undoes_its_installation(
    refold: Refold, monkeypatch: pytest.MonkeyPatch, harness: str
) -> None:
    put_claude(monkeypatch, as_program={"oh-my-pi": "omp"}.get(harness, harness))
    refold("install", harness, "--yes")
    refold("install", harness, "--uninstall", "--yes")
    added, *_, removed = Path(CALLS).read_text().splitlines()
    folder = INTEGRATIONS / ("codex" if harness == "codex" else "pi")
    assert str(folder) in added
    assert "remove" in removed or "uninstall" in removed


def test_opencode_gets_a_copy_of_one_file(refold: Refold, monkeypatch: pytest.MonkeyPatch) -> None:
    put_claude(monkeypatch, as_program="opencode")
    copy = Path("settings/opencode/plugins/refold.js")
    refold("install", "opencode", "--yes")
    assert copy.read_text() == (INTEGRATIONS / "opencode/refold.js").read_text()
    refold("install", "opencode", "--uninstall", "--yes")
    assert not copy.exists()
    assert not Path(CALLS).exists()


def test_nothing_is_done_without_consent(refold: Refold, monkeypatch: pytest.MonkeyPatch) -> None:
    put_claude(monkeypatch)
    assert "--yes" in refold("install", "claude-code", code=2).errors
    assert not Path(CALLS).exists()


def test_a_failing_program_is_named(refold: Refold, monkeypatch: pytest.MonkeyPatch) -> None:
    put_claude(monkeypatch, fails=True)
    assert "failed: no such thing" in refold("install", "claude-code", "--yes", code=1).errors


def test_a_missing_program_is_named(refold: Refold, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert "PATH" in refold("install", "claude-code", "--yes", code=1).errors


def test_the_plugins_commands_run(told: Refold) -> None:
    pages = [*(PLUGIN / "commands").iterdir(), *PLUGIN.glob("skills/*/SKILL.md")]
    given = {"${CLAUDE_SESSION_ID}": SESSION, "WORDS": "parser", "'#12'": "#1"}
    found = [words for page in pages for words in re.findall("`refold ([^`]+)`", page.read_text())]
    assert len(found) == 2 + 2 * 2 + 4
    for words in found:
        if words != "sync":
            told(*(given.get(word, word) for word in words.split()))


def test_the_plugins_files_name_each_other() -> None:
    hooks = json.loads((PLUGIN / "hooks/hooks.json").read_text())
    assert all((PLUGIN / "hooks" / each).is_file() for each in hooks["modules"])
    plugin = json.loads((PLUGIN / ".claude-plugin/plugin.json").read_text())
    market = json.loads((PLUGIN / ".claude-plugin/marketplace.json").read_text())
    assert [each["name"] for each in market["plugins"]] == [plugin["name"]]


@pytest.mark.parametrize("options", [[], ["--uninstall"]])
def test_a_file_of_the_person_stays(
    refold: Refold, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    put_claude(monkeypatch, as_program="opencode")
    own = Path("settings/opencode/plugins/refold.js")
    own.parent.mkdir(parents=True)
    own.write_text("// mine\n")
    assert "move it away" in refold("install", "opencode", "--yes", *options, code=1).errors
    assert own.read_text() == "// mine\n"


def test_a_link_is_replaced_not_followed(refold: Refold, monkeypatch: pytest.MonkeyPatch) -> None:
    put_claude(monkeypatch, as_program="opencode")
    source, copy = INTEGRATIONS / "opencode/refold.js", Path("settings/opencode/plugins/refold.js")
    copy.parent.mkdir(parents=True)
    copy.symlink_to(source)
    refold("install", "opencode", "--yes")
    assert not copy.is_symlink()
    assert copy.read_text() == source.read_text()
