from __future__ import annotations

import json
from typing import Any

import click
import pytest

from compaction.summarizers import SummarizerError
from eventstore.errors import NotFoundError
from tests.cli.long_talk import NEVER, SESSION
from tests.cli.running import Refold
from tests.support.local_http import Reply
from tests.support.messages_api import MessagesApi, errs, says


def messages(refold: Refold, *options: str) -> dict[str, bool]:
    found = refold("rules", SESSION, "--json", *options).json["messages"]
    return {each["text"]: each["stands"] for each in found}


@pytest.fixture
def asking(messages_api: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """From an answer to the options that ask a server, over the real client."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "no-key")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def options(answer: str | Reply) -> tuple[tuple[str, ...], MessagesApi]:
        server: MessagesApi = messages_api(says(answer) if isinstance(answer, str) else answer)
        return ("--summarizer", "anthropic"), server

    return options


def test_messages_are_listed_with_what_still_stands(talked: Refold) -> None:
    assert set(messages(talked).values()) == {True}
    talked("compact", SESSION, "--summarizer", "extractive", "--policy", "opencode", "--keep-recent", "1")
    assert False in messages(talked).values()


def test_json_names_the_events(talked: Refold) -> None:
    first, *_ = talked("rules", SESSION, "--json").json["messages"]
    assert first["seq"] == talked("show", SESSION, first["event"], "--json").json["seq"]
    assert first["rules"] is None


def test_rules_read_are_listed_below_their_message(talked: Refold, asking: Any) -> None:
    (message,) = (
        each for each in talked("rules", SESSION, "--json").json["messages"] if NEVER in each["text"]
    )
    options, server = asking(json.dumps([{"message": message["seq"], "rule": NEVER}]))
    done = talked("rules", SESSION, *options, "--json").json
    (read,) = (each for each in done["messages"] if each["rules"])
    assert read["rules"] == [{"text": NEVER, "stands": True}]
    assert NEVER in server.asked[0]


def test_it_is_asked_about_each_message_once(talked: Refold, asking: Any) -> None:
    options, server = asking("[]")
    talked("rules", SESSION, *options)
    talked("rules", SESSION, *options)
    assert len(server.asked) == 1


def test_an_answer_without_a_list_is_an_error(talked: Refold, asking: Any) -> None:
    options, _ = asking("I found none.")
    talked.refused(SummarizerError, "rules", SESSION, *options)
    assert talked("rules", SESSION, "--json").json["messages"][0]["rules"] is None


def test_a_summarizer_that_reads_nothing_is_a_wrong_option(talked: Refold) -> None:
    talked.refused(click.UsageError, "rules", SESSION, "--summarizer", "extractive", code=2)


def test_a_place_that_is_not_there_is_reported_before_anybody_is_asked(talked: Refold, asking: Any) -> None:
    options, server = asking("[]")
    talked.refused(NotFoundError, "rules", SESSION, "--leaf", "nope", *options)
    assert server.asked == []


def test_an_option_of_the_reader_needs_one(talked: Refold) -> None:
    talked.refused(click.UsageError, "rules", SESSION, "--no-redact", code=2)


def test_a_message_counts_from_where_it_stands(talked: Refold) -> None:
    assert len(messages(talked, "--leaf", "u1")) == 1


def test_a_failed_request_advises_nothing_that_this_command_refuses(
    talked: Refold, messages_api: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "no-key")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    messages_api(errs(400, "no"))
    done = talked("rules", SESSION, "--summarizer", "anthropic", code=1)
    assert "extractive" not in done.errors
