from __future__ import annotations

from typing import Any

import click
import pytest

from compaction.summarizers import SummarizerError
from eventstore.errors import NotFoundError
from tests.cli.long_talk import NEVER, SESSION
from tests.cli.running import Refold
from tests.support.local_http import Reply
from tests.support.messages_api import MessagesApi, errs, says


def states(refold: Refold, *options: str) -> dict[str, str]:
    return {
        rule["text"]: rule["state"] for rule in refold("rules", SESSION, "--json", *options).json["rules"]
    }


@pytest.fixture
def asking(messages_api: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """From an answer to the options that ask a server, over the real client."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "no-key")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def options(answer: str | Reply) -> tuple[tuple[str, ...], MessagesApi]:
        server: MessagesApi = messages_api(says(answer) if isinstance(answer, str) else answer)
        return ("--summarizer", "anthropic", "--endpoint", server.url), server

    return options


def test_rules_are_listed_with_what_became_of_them(talked: Refold) -> None:
    assert states(talked) == {NEVER: "shown"}
    talked("compact", SESSION, "--summarizer", "extractive", "--policy", "opencode", "--keep-recent", "1")
    assert states(talked) == {NEVER: "restated"}


def test_json_names_the_events(talked: Refold) -> None:
    (rule,) = talked("rules", SESSION, "--json").json["rules"]
    assert rule["seq"] == talked("show", SESSION, rule["event"], "--json").json["seq"]
    assert not rule["isRead"]


def test_a_model_that_is_asked_decides(talked: Refold, asking: Any) -> None:
    options, server = asking("[]")
    done = talked("rules", SESSION, *options, "--json").json
    assert done["rules"] == []
    assert done["read"]["messages"] > 0
    assert NEVER in server.asked[0]
    assert states(talked) == {}


def test_it_is_asked_about_each_message_once(talked: Refold, asking: Any) -> None:
    options, server = asking("[]")
    talked("rules", SESSION, *options)
    talked("rules", SESSION, *options)
    assert len(server.asked) == 1


def test_an_answer_without_a_list_is_an_error(talked: Refold, asking: Any) -> None:
    options, _ = asking("I found none.")
    talked.refused(SummarizerError, "rules", SESSION, *options)
    assert states(talked) == {NEVER: "shown"}


def test_a_summarizer_that_reads_nothing_is_a_wrong_option(talked: Refold) -> None:
    talked.refused(click.UsageError, "rules", SESSION, "--summarizer", "extractive", code=2)


def test_a_place_that_is_not_there_is_reported_before_anybody_is_asked(talked: Refold, asking: Any) -> None:
    options, server = asking("[]")
    talked.refused(NotFoundError, "rules", SESSION, "--leaf", "nope", *options)
    assert server.asked == []


@pytest.mark.parametrize("options", [("--as-of", "3", "--model", "m"), ("--again",)])
def test_options_that_exclude_each_other_are_refused(talked: Refold, options: tuple[str, ...]) -> None:
    talked.refused(click.UsageError, "rules", SESSION, *options, code=2)


def test_a_rule_counts_from_the_message_that_gives_it(talked: Refold) -> None:
    assert states(talked, "--leaf", "u1") == {NEVER: "shown"}
    assert states(talked, "--as-of", "0") == {}


def test_a_failed_request_advises_nothing_that_this_command_refuses(
    talked: Refold, messages_api: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "no-key")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server = messages_api(errs(400, "no"))
    done = talked("rules", SESSION, "--summarizer", "anthropic", "--endpoint", server.url, code=1)
    assert "extractive" not in done.errors
