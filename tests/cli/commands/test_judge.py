"""Read a session's boundaries by files of answers, by a program, and by nobody."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from tests.cli.lossy import CLAIMS, LOSSY, SERIOUS, UNFOUNDED, judged, store_lossy
from tests.cli.running import Refold
from tests.compaction.judge.lossy import COMPLAINT, LOOK, RULE
from tests.support.messages_api import MessagesApi, asked, says
from tests.support.permissions import modes
from tests.support.stores import damage, make_store


@pytest.fixture
def lossy(refold: Refold) -> Refold:
    """The command with a session that lost something."""
    store_lossy(refold)
    return refold


def test_files_answer_in_two_rounds(lossy: Refold) -> None:
    shown = judged(lossy).out
    assert (
        "1 loss (1 serious), 1 rule (1 not kept), 1 fact, 1 statement that nobody made; 1 claim refused"
        in shown
    )
    assert f"you: “{COMPLAINT}” #9" in shown
    assert lossy("judge", LOSSY, "--boundary", "1", "--dry-run").out.count("has been read") == 1


def test_only_the_owner_can_read_prompts(lossy: Refold) -> None:
    lossy("judge", LOSSY, "--boundary", "1", "--prompts", "prompts")
    found = modes(Path("prompts"))
    assert (found.pop("prompts"), set(found.values())) == (0o700, {0o600})


def test_a_damaged_session_costs_a_line(refold: Refold) -> None:
    make_store(refold.store, 3)
    whole = refold("judge", "--all", "--dry-run").out
    damage(refold.store, 2, 3)
    told = refold("judge", "--all", "--dry-run", code=1)
    assert whole.startswith("6 boundaries")
    assert told.out.startswith("4 boundaries")
    assert (told.errors.count("\n"), "not judged: " in told.errors) == (1, True)


def test_a_limit_counts_by_the_counter(lossy: Refold) -> None:
    def tokens(name: str) -> int:
        estimate = lossy("--counter", name, "judge", LOSSY, "--dry-run").out
        return int(estimate.split("about ")[1].split()[0].replace(",", ""))

    assert tokens("bytes/4") > tokens("utf16/4")


def test_an_audit_begins_with_readings(lossy: Refold) -> None:
    judged(lossy)
    screen = lossy("audit", LOSSY).out
    assert screen.index("serious: The tests hang") < screen.index("WORST FIRST")
    assert "not judged" not in screen


def test_a_gate_refuses_serious_losses(lossy: Refold) -> None:
    gate = ("audit", LOSSY, "--fail-on", "serious")
    assert "not judged: compaction 1 (" in lossy(*gate).errors
    judged(lossy)
    assert "not judged" not in lossy(*gate, code=1).errors
    assert "serious loss: The tests hang unless stdin is closed (#4, #7)" in lossy(*gate, code=1).errors
    assert "serious loss" in lossy("audit", "--all", "--fail-on", "serious", code=1).errors


def test_a_report_links_what_proves_a_loss(lossy: Refold, tmp_path: Path) -> None:
    judged(lossy)
    lossy("report", LOSSY, "-o", "report.html")
    page = (tmp_path / "report.html").read_text("utf-8")
    section = page[page.index('id="losses"') :].partition("</section>")[0]
    places = ('href="#e-4"', 'href="#r-5"', 'href="#e-7"', 'href="#e-9"', 'href="#e-8"')
    assert [place in section for place in places] == [True] * 5
    for words in (
        "<code><bdi>/dev/null</bdi></code>",
        "Rules not kept",
        "Nobody said this",
        UNFOUNDED["sentence"],
    ):
        assert words in section


def test_an_audit_names_what_nobody_said(lossy: Refold) -> None:
    judged(lossy)
    screen = lossy("audit", LOSSY).out
    assert "read at compaction 1: 1 loss" in screen
    assert f"nobody said this: “{UNFOUNDED['sentence']}”" in screen


def test_any_program_can_read(lossy: Refold, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "model.py"
    program.write_text(
        "import sys\n"
        "asked = sys.stdin.read()\n"
        f"print({json.dumps(LOOK)!r} if '<claim>' in asked else {CLAIMS!r})\n"
    )
    monkeypatch.setenv("REFOLD_SUMMARIZER_COMMAND", shlex.join([sys.executable, str(program)]))
    found = lossy("judge", "lossy", "--boundary", "1", "--summarizer", "command", "--yes", "--json").json
    (read,) = found["readings"]
    assert [each["weight"] for each in read["reading"]["losses"]] == ["minor"]
    rules = lossy("rules", "lossy", "--json").json["rules"]
    assert [each["state"] for each in rules[0]["fates"]] == ["broken"]
    assert RULE in lossy("rules", "lossy").out


def test_a_limit_stops_before_it_is_passed(lossy: Refold, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFOLD_SUMMARIZER_COMMAND", "false")
    done = lossy("judge", "lossy", "--summarizer", "command", "--max-tokens", "10")
    assert "2 of 2 boundaries are left: the limit is reached" in done.errors


@pytest.mark.parametrize("options", [(), ("--summarizer", "m-1", "--prompts", "p")])
def test_who_reads_has_to_be_said(lossy: Refold, options: tuple[str, ...]) -> None:
    lossy.refused(click.UsageError, "judge", "lossy", *options, code=2)


@pytest.mark.parametrize(
    ("name", "problem"),
    [("command", "nothing was sent: allow it"), ("extractive", "extractive reads nothing")],
)
def test_nothing_is_sent_unasked(
    lossy: Refold, monkeypatch: pytest.MonkeyPatch, name: str, problem: str
) -> None:
    monkeypatch.setenv("REFOLD_SUMMARIZER_COMMAND", "false")
    assert problem in lossy("judge", "lossy", "--summarizer", name, code=2).errors


def test_a_budget_needs_a_price(lossy: Refold) -> None:
    done = lossy("judge", "lossy", "--summarizer", "command", "--budget", "1", code=1)
    assert "the price of who reads is unknown" in done.errors


def test_search_finds_what_was_lost(lossy: Refold) -> None:
    assert lossy("search", "tests", "--lost", code=1).out == ""
    judged(lossy)
    (hit,) = lossy("search", "tests", "--lost", "--json").json["hits"]
    assert (hit["seq"], hit["losses"]) == (4, ["The tests hang unless stdin is closed"])
    assert "lost: rule broken: Work in pull requests" in lossy("search", "parser", "--lost").out
    assert lossy("search", "faster", "--lost", "--gone", "--session", LOSSY).out


def test_another_model_takes_second_looks(
    lossy: Refold, messages_api: Callable[..., MessagesApi], monkeypatch: pytest.MonkeyPatch
) -> None:
    api = messages_api(says(lambda request: SERIOUS if "<claim>" in asked(request) else CLAIMS))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "no-key")
    models = ("--summarizer", "claude-haiku-4-5", "--second-model", "claude-opus-4-5")
    (read,) = lossy("judge", LOSSY, "--boundary", "1", *models, "--yes", "--json").json["readings"]
    made = [(each.json["model"], "<claim>" in asked(each)) for each in api.requests]
    assert made == [("claude-haiku-4-5", False), ("claude-opus-4-5", True), ("claude-opus-4-5", True)]
    assert len(read["reading"]["request"]["requests"]) == 3


def test_second_models_need_a_first(lossy: Refold) -> None:
    lossy.refused(click.UsageError, "judge", "lossy", "--dry-run", "--second-model", "m-1", code=2)
    done = lossy("judge", "lossy", "--summarizer", "m-1", "--second-model", "extractive", "--yes", code=2)
    assert "extractive reads nothing" in done.errors


def test_the_dearest_model_makes_the_estimate(lossy: Refold) -> None:
    cheap = ("judge", LOSSY, "--dry-run", "--summarizer", "claude-haiku-4-5")
    dear = (*cheap, "--second-model", "claude-opus-4-5")
    assert lossy(*cheap).out != lossy(*dear).out
    assert "$" in lossy(*dear).out
    assert "$" not in lossy(*cheap, "--second-model", "command").out
    assert "price" in lossy(*cheap, "--second-model", "command", "--budget", "1", code=1).errors


def test_files_answer_reminders_too(lossy: Refold) -> None:
    """An answer of another shape has a prompt of its own, with what was wrong."""
    run = ("judge", LOSSY, "--boundary", "1", "--prompts", "prompts")
    lossy(*run)
    (first,) = Path("prompts").iterdir()
    Path("answers").mkdir()
    Path("answers", first.name).write_text("Nothing was lost.")
    assert "1 boundary without all answers" in lossy(*run, "--answers", "answers").errors
    (reminder,) = {*Path("prompts").iterdir()} - {first}
    assert "no JSON object of the shape" in reminder.read_text()
    Path("answers", reminder.name).write_text('{"rules": []}')
    assert "0 losses, 0 rules" in lossy("judge", LOSSY, "--boundary", "1", "--answers", "answers").out


def test_an_old_answer_is_no_answer(lossy: Refold) -> None:
    """Answers belong to a prompt: after a new message, that of the boundary is written anew."""
    judged(lossy)
    lossy("append", LOSSY, stdin='{"type":"message","message":{"role":"user","content":"And now?"}}')
    done = lossy("judge", LOSSY, "--boundary", "1", "--prompts", "prompts", "--answers", "answers")
    assert "1 boundary without all answers" in done.errors
