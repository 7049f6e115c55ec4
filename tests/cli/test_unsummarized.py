"""What a person can do where nobody gave a summary."""

from __future__ import annotations

import pytest

from cli.summarizing import advice
from compaction.summarizers import SummarizerError, UnfitTemplateError
from tests.cli.long_talk import SESSION
from tests.cli.running import Refold
from tests.support.local_http import LocalServer, refuses


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


def test_another_template_may_help_whoever_cannot_fill_one() -> None:
    said = advice(UnfitTemplateError("x", "own", ["Risks"]))
    assert ("template" in said, "--summarizer extractive" in said) == (True, False)


def test_it_stands_at_the_end_of_one_line(talked: Refold, service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    own: LocalServer = service(refuses(429, "Spent.", retry_after="3600"))
    asking = ("--keep-recent", "250", "--summarizer", "http", "--endpoint", own.url)
    told = talked("compact", SESSION, *asking, code=1).errors
    assert told.count("\n") == 1
    assert [each in told for each in (own.url, "429", "Spent.", "60 min", "--summarizer extractive")] == [
        True
    ] * 5
