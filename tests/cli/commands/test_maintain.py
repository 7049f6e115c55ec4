"""`refold maintain` as a harness in another language talks to it: over pipes, a line at a time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from tests.cli.long_talk import SESSION
from tests.cli.running import Refold
from tests.support.local_http import Exchange, LocalServer, Reply, hangs
from tests.support.messages_api import MessagesApi, stalls
from tests.support.patience import PATIENCE
from tests.support.pi_files import line

EXTRACTING = ("maintain", SESSION, "--summarizer", "extractive")
NOTHING = {
    "do": "nothing",
    "reason": "",
    "historyRewritten": False,
    "model": None,
    "session": None,
    "events": [],
    "tokens": None,
    "error": None,
    "warning": None,
    "ignored": [],
}
SMALL_ENOUGH = "the context is small enough"
IDLE_OFF = "idle compaction is off"
NOTHING_RUNS = "nothing runs"
TIGHT = ("--window", "1000", "--policy", "tight.toml")
"""1,107 tokens are over 1,000 - 300, and 250 are kept."""


class Harness:
    """A harness that has started the command."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def asks(self, **happened: Any) -> Any:
        """The answer to one line, which comes before there is another."""
        self.says(**happened)
        return self.hears()

    def says(self, **happened: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(happened).encode() + b"\n")
        self.process.stdin.flush()

    def hears(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def ends(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(timeout=PATIENCE)


@contextmanager
def harness(refold: Refold, *arguments: str) -> Iterator[Harness]:
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with refold.started(*arguments, **streams) as process:
        try:
            yield Harness(process)
        finally:
            process.kill()


@pytest.fixture
def tight(talked: Refold, tmp_path: Path) -> Refold:
    """The command in a folder with a policy that compacts the talk as soon as the window is 1,000 tokens."""
    (tmp_path / "tight.toml").write_text(
        'name = "tight"\nextends = "pi"\ncontinuation = "auto-continue"\n'
        '[trigger]\nreserve = 300\n[cut]\npart = "keep-recent"\ntokens = 250\n'
    )
    return talked


def _message(letter: str) -> bytes:
    """A line for `append`: a message of a person of 40 tokens."""
    return line({"type": "message", "message": {"role": "user", "content": letter * 160}})


def log(refold: Refold) -> list[Any]:
    return refold("log", SESSION, "--json").json_lines


def answers(refold: Refold, *lines: str, options: tuple[str, ...] = ()) -> list[Any]:
    return refold(*EXTRACTING, *options, stdin="\n".join(lines)).json_lines


def test_it_warns_where_a_compaction_leaves_the_context_too_large(tight: Refold, tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text("threshold_tokens = 300\nkeep_recent_tokens = 500\n")
    greedy = ("--settings", str(tmp_path / "settings.toml"))
    lines = ('{"on":"after_turn"}', '{"on":"before_request"}')
    compacted, nothing = answers(tight, *lines, options=(*TIGHT, *greedy))
    assert (compacted["do"], compacted["historyRewritten"], compacted["error"]) == ("nothing", True, None)
    assert (nothing["do"], nothing["historyRewritten"], nothing["error"]) == ("nothing", False, None)
    assert compacted["tokens"] == nothing["tokens"] > 300
    assert all(recommendation["warning"] for recommendation in (compacted, nothing))


@pytest.mark.slow
def test_a_harness_talks_to_it_through_a_whole_session(tight: Refold) -> None:
    with harness(tight, *EXTRACTING, *TIGHT) as told:
        compacted = told.asks(on="after_turn")
        assert (compacted["do"], compacted["historyRewritten"]) == ("continue", True)
        assert compacted["tokens"] < 700
        assert told.asks(on="before_request")["reason"] == SMALL_ENOUGH
        tight("append", SESSION, stdin=b"".join(map(_message, "ab")))
        assert told.asks(on="after_turn")["do"] == "nothing"
        # A summary that cannot be shorter than what it replaces is not made.
        assert told.asks(on="compact", instructions="Briefly.")["reason"].startswith(
            "the context would have "
        )
        assert told.ends() == 0


def test_what_it_says_it_appended_is_in_the_log(tight: Refold) -> None:
    (recommendation,) = answers(tight, '{"on":"after_turn"}', options=TIGHT)
    stored = {event["id"]: event["kind"] for event in log(tight)}
    assert [stored[event] for event in recommendation["events"]] == [
        "decision",
        "compaction",
        "custom_message",
    ]


def test_settings_come_from_a_file(tight: Refold, tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text(
        "auto_continue = false\nidle_enabled = true\nidle_threshold_tokens = 1_000\n"
    )
    (recommendation,) = answers(
        tight, '{"on":"idle","seconds":300}', options=(*TIGHT, "--settings", "settings.toml")
    )
    assert (recommendation["do"], recommendation["reason"], recommendation["historyRewritten"]) == (
        "nothing",
        "idle",
        True,
    )


class TestBadLines:
    def test_blank_lines_get_no_answer_and_count(self, talked: Refold) -> None:
        (bad,) = answers(talked, "", "  ", "x")
        assert bad["error"].startswith("standard input:3: ")

    def test_what_they_hold_commands_no_terminal(self, talked: Refold) -> None:
        outcome = talked(*EXTRACTING, stdin='{"on":"\\u001b[31m"}\n')
        assert "\x1b" not in outcome.out

    def test_every_line_gets_one_answer_in_its_order(self, talked: Refold) -> None:
        lines = ['{"on":"after_turn"}', "{", '{"on":"idle","seconds":-1}', '{"on":"lunch"}', "null"] * 20
        told = answers(talked, *lines)
        assert len(told) == 100
        assert [bool(each["error"]) for each in told] == [False, True, False, True, True] * 20

    def test_the_last_line_needs_no_end(self, talked: Refold) -> None:
        (recommendation,) = talked(*EXTRACTING, stdin='{"on":"after_turn"}').json_lines
        assert recommendation["error"] is None

    @pytest.mark.slow
    def test_a_line_of_megabytes_is_read(self, tight: Refold) -> None:
        error = "prompt is too long " + "x" * 5_000_000
        (recommendation,) = answers(tight, json.dumps({"on": "error", "error": error}), options=TIGHT)
        assert recommendation["do"] == "retry"

    def test_what_goes_wrong_is_answered_too(self, talked: Refold, service: Any) -> None:
        service(lambda exchange: exchange.answer(400, b"no"))
        asking = ("maintain", SESSION, "--summarizer", "http", "--policy", "layered")
        failed, then = talked(*asking, stdin='{"on":"compact"}\n{"on":"after_turn"}\n').json_lines
        assert "400" in failed["error"]
        assert [talked("show", SESSION, each, "--json").json["kind"] for each in failed["events"]] == [
            "attempt"
        ]
        assert then["error"] is None


class TestTheSessionsModel:
    def test_its_longest_answer_stays_free_where_the_policy_says_so(
        self, talked: Refold, tmp_path: Path
    ) -> None:
        """As `layered`: 13,000 tokens of the window, and as many as the longest answer has."""
        (tmp_path / "free.toml").write_text(
            'name = "free"\nextends = "layered"\n[trigger]\nreserve = 0\noutput = 20_000\nmargin = 13_000\n'
        )
        free = ("--policy", "free.toml", "--window", "15000", "--max-output")
        (small,) = answers(talked, '{"on":"before_request"}', options=(*free, "0"))
        room = 15_000 - 13_000 - small["tokens"]
        (fits,) = answers(talked, '{"on":"before_request"}', options=(*free, str(room)))
        (too_large,) = answers(talked, '{"on":"before_request"}', options=(*free, str(room + 1)))
        assert fits["reason"] == SMALL_ENOUGH
        assert too_large["reason"] != SMALL_ENOUGH

    def test_the_harnesss_prompt_and_tools_stand_before_a_handoff(
        self, tight: Refold, tmp_path: Path, messages_api: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "no-key")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        api: MessagesApi = messages_api()
        (tmp_path / "settings.toml").write_text('strategy = "handoff"\n')
        (tmp_path / "prompt.md").write_text("You are an agent.")
        (tmp_path / "tools.json").write_text('[{"name":"read","input_schema":{"type":"object"}}]')
        asking = ("--summarizer", "anthropic", "--settings", "settings.toml")
        before = ("--system", "prompt.md", "--tools", "tools.json")
        tight("maintain", SESSION, *asking, *before, *TIGHT, stdin='{"on":"after_turn"}')
        asked = api.requests[0].json
        assert (asked["system"], asked["tools"][0]["name"]) == ("You are an agent.", "read")
        assert asked["tool_choice"] == {"type": "none"}


@pytest.mark.slow
def test_without_an_input_there_is_nothing_to_do(talked: Refold) -> None:
    outcome = talked.program(*EXTRACTING, stdin=b"")
    assert (outcome.out, outcome.errors) == ("", "")


@pytest.mark.slow
def test_a_closed_input_is_an_empty_one(talked: Refold) -> None:
    process = talked.started(
        *EXTRACTING, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=_close_input
    )
    assert (*process.communicate(timeout=PATIENCE), process.returncode) == (b"", b"", 0)


def _close_input() -> None:
    os.close(0)


class TestFieldsThatAreNotKnown:
    """Harnesses send more than is asked for; what nobody looks at is told, so that a misspelt one is seen."""

    def test_they_are_ignored_and_named(self, talked: Refold) -> None:
        (recommendation,) = answers(talked, '{"on":"after_turn","modle":"m","turn":{"number":7}}')
        assert (recommendation["error"], recommendation["ignored"]) == (None, ["modle", "turn"])

    def test_those_of_another_kind_of_line_are_ignored_too(self, talked: Refold) -> None:
        (recommendation,) = answers(talked, '{"seconds":9,"on":"before_request"}')
        assert recommendation["ignored"] == ["seconds"]

    def test_they_are_named_also_where_something_goes_wrong(self, talked: Refold, service: Any) -> None:
        service(lambda exchange: exchange.answer(400, b"no"))
        asking = ("maintain", SESSION, "--summarizer", "http", "--policy", "layered")
        (failed,) = talked(*asking, stdin='{"on":"compact","instruction":"x"}').json_lines
        assert (failed["error"] is None, failed["ignored"]) == (False, ["instruction"])


@contextmanager
def stalled(refold: Refold, service: LocalServer, summarizer: str = "http") -> Iterator[Harness]:
    """A harness that has been told of a turn, while the summary that is due does not come."""
    asking = ("--summarizer", summarizer)
    with harness(refold, "maintain", SESSION, *asking, *TIGHT) as told:
        told.says(on="after_turn")
        while not service.requests:
            time.sleep(0.01)
            assert told.process.poll() is None
        yield told


def answers_in_short(exchange: Exchange) -> None:
    exchange.answer(200, json.dumps({"summary": "In short."}).encode())


def waits_for(event: Event) -> Reply:
    """A whole answer, once something has happened."""

    def reply(exchange: Exchange) -> None:
        event.wait(PATIENCE)
        answers_in_short(exchange)

    return reply


CALLED_OFF = "Auto-compaction failed: cancelled"


class TestCallingOff:
    @pytest.mark.slow
    def test_what_a_person_asks_for_calls_off_what_runs_and_is_done(
        self, tight: Refold, service: Any
    ) -> None:
        with stalled(tight, service(hangs, answers_in_short)) as told:
            told.says(on="compact", instructions="Briefly.")
            assert told.hears()["error"] == CALLED_OFF
            done = told.hears()
            assert (done["reason"], done["historyRewritten"], done["error"]) == ("manual", True, None)
            assert told.ends() == 0
        kinds = [event["kind"] for event in log(tight)]
        assert (kinds.count("attempt"), kinds.count("compaction")) == (1, 1)

    @pytest.mark.slow
    def test_summaries_that_wait_for_their_turn_before_it_are_called_off_too(
        self, tight: Refold, service: Any
    ) -> None:
        with stalled(tight, service(hangs, answers_in_short)) as told:
            told.says(on="after_turn")
            told.says(on="compact")
            assert [told.hears()["error"] for _ in range(3)] == [CALLED_OFF, CALLED_OFF, None]
            assert told.ends() == 0

    @pytest.mark.slow
    def test_what_runs_can_be_called_off_and_nothing_more(self, tight: Refold, service: Any) -> None:
        with stalled(tight, service(hangs)) as told:
            told.says(on="abort")
            assert told.hears()["error"] == CALLED_OFF
            assert told.hears() == {**NOTHING, "reason": NOTHING_RUNS}
            assert told.ends() == 0
        kinds = [event["kind"] for event in log(tight)]
        assert (kinds.count("attempt"), kinds.count("compaction")) == (1, 0)

    @pytest.mark.slow
    def test_other_lines_wait_for_what_runs(self, tight: Refold, service: Any) -> None:
        go_on = Event()
        with stalled(tight, service(waits_for(go_on))) as told:
            told.says(on="idle", seconds=1)
            go_on.set()
            assert told.hears()["reason"] == "threshold"
            assert told.hears()["reason"] == IDLE_OFF
            assert told.ends() == 0

    @pytest.mark.slow
    def test_the_end_of_the_input_waits_for_what_runs(self, tight: Refold, service: Any) -> None:
        go_on = Event()
        with stalled(tight, service(waits_for(go_on))) as told:
            assert told.process.stdin is not None
            told.process.stdin.close()
            go_on.set()
            assert told.process.wait(timeout=PATIENCE) == 0
            assert told.hears()["reason"] == "threshold"


class TestInterrupts:
    @pytest.mark.slow
    def test_one_in_the_middle_of_a_summary_calls_it_off_and_the_next_line_is_read(
        self, tight: Refold, messages_api: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "no-key")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        with stalled(tight, messages_api(stalls("## Goal\n")), "anthropic") as told:
            told.process.send_signal(signal.SIGINT)
            assert told.hears()["error"] == CALLED_OFF
            assert told.asks(on="idle", seconds=1)["error"] is None
            assert told.ends() == 0
        assert [event["kind"] for event in log(tight)].count("attempt") == 1

    @pytest.mark.slow
    def test_one_between_two_lines_ends_the_command(self, talked: Refold) -> None:
        with harness(talked, *EXTRACTING) as told:
            told.asks(on="after_turn")
            told.process.send_signal(signal.SIGINT)
            # Its input stays open: a thread waits there for the next line.
            assert told.process.wait(timeout=PATIENCE) == 130
            _, errors = told.process.communicate()
        assert errors == b"\nrefold: interrupted\n"
