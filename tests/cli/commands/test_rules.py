from __future__ import annotations

from tests.cli.long_talk import SESSION
from tests.cli.running import Refold


def messages(refold: Refold, *options: str) -> dict[str, bool]:
    found = refold("rules", SESSION, "--json", *options).json["messages"]
    return {each["text"]: each["stands"] for each in found}


def test_messages_are_listed_with_what_still_stands(talked: Refold) -> None:
    assert set(messages(talked).values()) == {True}
    talked("compact", SESSION, "--summarizer", "extractive", "--policy", "opencode", "--keep-recent", "1")
    assert False in messages(talked).values()


def test_json_names_the_events(talked: Refold) -> None:
    first, *_ = talked("rules", SESSION, "--json").json["messages"]
    assert first["seq"] == talked("show", SESSION, first["event"], "--json").json["seq"]


def test_a_message_counts_from_where_it_stands(talked: Refold) -> None:
    assert len(messages(talked, "--leaf", "u1")) == 1
