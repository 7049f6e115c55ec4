"""Test the notes while a summary is made, and the advice when that fails."""

from __future__ import annotations

import re
from threading import Barrier

import pytest

from cli.summarizing import advice
from compaction.summarizers import SummarizerError
from tests.cli.long_talk import SESSION
from tests.cli.running import Refold
from tests.support.local_http import Exchange, LocalServer, answers, refuses
from tests.support.patience import PATIENCE

ANSWER = answers({"summary": "In short."})
BRIEF = ("compact", SESSION, "--keep-recent", "250", "--template", "short")


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.mark.slow
def test_on_a_terminal_one_sees_who_is_asked_and_for_how_long(talked: Refold, service) -> None:
    own = service(ANSWER)
    printed = talked.on_terminal(*BRIEF, "--summarizer", "http", columns=120)
    assert f"asking http {own.url}" in printed
    assert re.search(r"\d:\d\d:\d\d", printed)


def test_elsewhere_one_sees_nothing_of_it(talked: Refold, service) -> None:
    service(answers({"summary": "In short."}))
    assert talked(*BRIEF, "--summarizer", "http").errors == ""


def test_a_request_that_is_sent_again_is_a_note_anywhere(talked: Refold, service) -> None:
    own = service(refuses(529, "overloaded", retry_after="0.01"), answers({"summary": "In short."}))
    done = talked(*BRIEF, "--summarizer", "http")
    (note,) = done.notes
    assert [each in note for each in (own.url, "529", "overloaded", " short ", " 0.01 s ", "1 of 2")] == [
        True
    ] * 6


@pytest.mark.slow
def test_notes_say_which_of_two_requests_is_sent_again(talked: Refold, service) -> None:
    both = Barrier(2)

    def busy(exchange: Exchange) -> None:
        # Else the first would be sent again, and be refused again, before the second is there.
        both.wait(PATIENCE)
        refuses(529, retry_after="0.01")(exchange)

    service(busy, busy, answers({"summary": "In short."}))
    split = ("compact", SESSION, "--keep-recent", "350", "--summarizer", "http")
    notes = [line for line in talked(*split).errors.splitlines() if "asked again" in line]
    assert sorted(re.findall(r"for (\S+) in", "\n".join(notes))) == ["compaction", "turn-prefix"]


def test_who_is_asked_is_told_only_where_somebody_is(talked: Refold) -> None:
    note = "ANTHROPIC_API_KEY is not set"
    assert note not in talked("compact", SESSION).errors
    assert note not in talked("maintain", SESSION, "--policy", "mask", stdin='{"on":"after_turn"}').errors
    assert talked("compact", SESSION, "--keep-recent", "250").errors.count(note) == 1


@pytest.mark.slow
def test_on_a_terminal_a_note_stands_on_a_line_of_its_own(talked: Refold, service) -> None:
    service(refuses(529, "overloaded", retry_after="0.01"), ANSWER)
    printed = talked.on_terminal(*BRIEF, "--summarizer", "http", columns=160)
    assert any(line.startswith("refold: note: summarizer http: ") for line in printed.splitlines())


@pytest.mark.slow
def test_two_that_are_asked_at_once_have_a_line_each(talked: Refold, service) -> None:
    both = Barrier(2)

    def reply(exchange: Exchange) -> None:
        both.wait(PATIENCE)
        ANSWER(exchange)

    own = service(reply)
    split = ("compact", SESSION, "--keep-recent", "350")
    printed = talked.on_terminal(*split, "--summarizer", "http", columns=120)
    assert re.search(f"asking http {own.url}.*\n.*asking http {own.url}", printed)


@pytest.mark.parametrize("summarizer", ["x", "extractive"])
@pytest.mark.parametrize(
    ("failed", "told"),
    [
        ({"is_transient": True}, "again"),
        ({"is_transient": True, "retry_after": 90.0}, "again in 90 s"),
        ({"is_transient": True, "retry_after": 3600.0}, "again in 60 min"),
        ({"is_too_long": True}, "`window`"),
        ({}, ""),
    ],
)
def test_it_depends_on_how_the_last_one_failed(summarizer: str, failed: dict[str, object], told: str) -> None:
    said = advice(SummarizerError(summarizer, "no", **failed))  # type: ignore[arg-type]
    assert told in said
    assert ("again" in said, "window" in said) == ("again" in told, "window" in told)
    assert "--summarizer extractive" in said


def test_it_stands_at_the_end_of_one_line(talked: Refold, service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    own: LocalServer = service(refuses(429, "Spent.", retry_after="3600"))
    asking = ("--keep-recent", "250", "--summarizer", "http")
    told = talked("compact", SESSION, *asking, code=1).errors
    assert told.count("\n") == 1
    assert [each in told for each in (own.url, "429", "Spent.", "60 min", "--summarizer extractive")] == [
        True
    ] * 5
