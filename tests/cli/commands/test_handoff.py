from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eventstore.errors import BadInputError
from tests.cli.long_talk import NEVER, SESSION
from tests.cli.running import Refold
from tests.support.messages_api import MessagesApi, complete, says

EXTRACTING = ("handoff", SESSION, "--summarizer", "extractive")


def kinds(refold: Refold, session: str) -> list[str]:
    return [event["kind"] for event in refold("log", session, "--json").json_lines]


def events(refold: Refold) -> dict[str, int]:
    return {each["id"]: each["events"] for each in refold("sessions", "--json").json["sessions"]}


@pytest.fixture
def api(messages_api: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """From replies to a server that is asked as Anthropic would be."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "no-key")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return messages_api


def test_json_tells_of_both_sessions_and_the_document(talked: Refold) -> None:
    done = talked(*EXTRACTING, "--as", "next", "--json").json
    stored = [event["id"] for event in talked("log", "next", "--json").json_lines]
    document = talked("context", "next", "--json").json["messages"][0]["message"]["content"]
    assert done == {
        "session": "next",
        "parent": SESSION,
        "events": stored,
        "document": document,
        "missingSections": [],
    }


def test_people_are_shown_the_document_and_the_sessions_name(talked: Refold) -> None:
    lines = talked(*EXTRACTING).lines
    assert lines[0] == "## Goal"
    assert lines[-1].split()[-1] in events(talked)


def test_sections_that_the_document_lacks_are_named(talked: Refold, api: Any) -> None:
    api(says("## Goal\nTo fix it."))
    (note,) = talked("handoff", SESSION, "--summarizer", "anthropic").notes
    assert ["Next Steps" in note, "Goal" in note] == [True, False]


def test_a_name_that_is_taken_meanwhile_is_reported_with_how_to_have_the_document_again(
    talked: Refold, api: Any
) -> None:
    def taken(request: Any) -> str:
        talked.program("append", "next", stdin=b'{"type":"custom","customType":"x"}\n')
        return complete(request)

    api(says(taken))
    asking = ("handoff", SESSION, "--as", "next", "--summarizer", "anthropic")
    told = talked.refused(BadInputError, *asking)
    assert (told.source, "--summarizer recorded" in told.remedy) == ("session 'next'", True)
    assert kinds(talked, SESSION)[-1] == "attempt"
    talked("handoff", SESSION, "--as", "another", "--summarizer", "recorded")
    assert "custom_message" in kinds(talked, "another")


@pytest.mark.parametrize("name", ["@last", "a\x1bb"])
def test_a_name_that_could_not_be_named_is_refused(talked: Refold, name: str) -> None:
    assert talked.refused(BadInputError, *EXTRACTING, "--as", name).source == f"session {name!r}"


def test_the_model_gets_the_real_messages_behind_the_harnesss_prompt_and_tools(
    talked: Refold, api: Any, tmp_path: Path
) -> None:
    server: MessagesApi = api(says(complete))
    (tmp_path / "prompt.md").write_text("You are an agent.")
    (tmp_path / "tools.json").write_text('[{"name":"read","input_schema":{"type":"object"}}]')
    asking = ("--summarizer", "anthropic")
    before = ("--system", "prompt.md", "--tools", "tools.json")
    talked("handoff", SESSION, "Next: the tests.", *asking, *before)
    asked = server.requests[0].json
    assert "You are an agent." in str(asked["system"])
    assert ([tool["name"] for tool in asked["tools"]], asked["tool_choice"]) == (["read"], {"type": "none"})
    assert NEVER in str(asked["messages"][0])
    assert "Next: the tests." in server.asked[0]


def test_instructions_that_nobody_follows_are_reported(talked: Refold) -> None:
    done = talked("handoff", SESSION, "Be brief.", "--summarizer", "extractive")
    assert len(done.notes) == 1
