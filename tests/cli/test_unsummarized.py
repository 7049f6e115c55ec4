"""What a person can do where nobody gave a summary."""

from __future__ import annotations

import pytest

from cli.unsummarized import advice
from compaction.summarizers import SummarizerError
from tests.cli.long_talk import SESSION
from tests.cli.running import Refold
from tests.support.local_http import LocalServer, refuses


@pytest.mark.parametrize(
    ("failed", "told"),
    [
        ({"is_transient": True}, "try again later, or --summarizer extractive"),
        ({"is_transient": True, "retry_after": 90.0}, "try again in 90 s, or --summarizer extractive"),
        ({"is_transient": True, "retry_after": 3600.0}, "try again in 60 min, or --summarizer extractive"),
        (
            {"is_too_long": True},
            "give a policy with a smaller `window` under [prompting], or --summarizer extractive",
        ),
        ({}, "--summarizer extractive asks no model"),
    ],
)
def test_it_depends_on_how_the_last_one_failed(failed: dict[str, object], told: str) -> None:
    assert advice(SummarizerError("x", "no", **failed)) == told  # type: ignore[arg-type]


def test_it_stands_at_the_end_of_one_line(talked: Refold, service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    own: LocalServer = service(refuses(429, "Spent.", retry_after="3600"))
    asking = ("--keep-recent", "250", "--summarizer", "http", "--endpoint", own.url)
    assert talked.problem("compact", SESSION, *asking) == (
        f"summarizer http: {own.url}: answered 429: Spent.; the session is as it was; "
        "try again in 60 min, or --summarizer extractive"
    )
