"""Find the title of a session, or its first request."""

from __future__ import annotations

import pytest

from eventstore import import_sessions
from eventstore.errors import NotFoundError
from eventstore.records import SessionInfo
from projections.descriptions import first_request, title
from tests.support import claude_code
from tests.support.events import event
from tests.support.talk import assistant, text, user


def test_a_session_without_a_name_has_no_title(story):
    story.says(user("hello"))
    assert title(story.log, "s") == ""


def test_the_newest_name_is_the_title(story):
    story.add(SessionInfo(name="old"), SessionInfo(name="new"))
    assert title(story.log, "s") == "new"


def test_an_empty_name_takes_the_title_away(story):
    story.add(SessionInfo(name="old"), SessionInfo())
    assert title(story.log, "s") == ""


def test_a_name_is_newest_in_the_log_and_not_along_a_path(story):
    root, elsewhere = story.says(user("root"), user("elsewhere"))
    story.add(SessionInfo(name="on a branch"), parent=elsewhere)
    story.add(SessionInfo(name="on another"), parent=root)
    story.add(SessionInfo(name="on the first again"), parent=elsewhere)
    assert title(story.log, "s") == "on the first again"


@pytest.mark.parametrize("blank", [" ", "\n", "\t", "\xa0", "\u2028"])
def test_a_name_is_trimmed(story, blank):
    story.add(SessionInfo(name=f"{blank}a title{blank}"))
    assert title(story.log, "s") == "a title"


def test_a_name_that_is_no_text_is_none(log):
    log.append("s", [event("i1", "session_info", name=7)])
    assert title(log, "s") == ""


def test_the_title_of_an_unknown_session_is_not_found(log):
    with pytest.raises(NotFoundError) as refused:
        title(log, "s")
    assert (refused.value.what, refused.value.name) == ("session", "s")


def test_the_first_request_is_the_first_users_message_in_one_line(story):
    story.says(assistant("welcome"), user([text("fix\n\n  the "), text("bug")]), user("thanks"))
    assert first_request(story.log, "s") == "fix the bug"


def test_a_session_in_which_nobody_asked_has_no_first_request(story):
    story.says(assistant("welcome"))
    assert first_request(story.log, "s") == ""


def test_what_goes_on_after_a_compaction_is_nobodys_first_request(story):
    story.says(user("[Resuming] the parser"), assistant("done"))
    assert first_request(story.log, "s") == ""
    story.says(user("and the tests"))
    assert first_request(story.log, "s") == "and the tests"


def test_the_first_request_of_a_subagent_is_its_task(store, tmp_path):
    lines = [
        claude_code.said("a", None, "hello"),
        claude_code.said("x", None, "look\naround", agentId="a1", isSidechain=True),
    ]
    (tmp_path / "session.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    found = {
        each.id: first_request(store, each.id) for each in import_sessions(store, tmp_path / "session.jsonl")
    }
    assert list(found.values()) == ["hello", "look around"]


def test_what_the_editor_says_is_no_request(story):
    opened = "<ide_opened_file>The user opened /a.py in the IDE.</ide_opened_file>"
    story.says(user([text(opened), text("fix it")]))
    assert first_request(story.log, "s") == "fix it"


def test_a_command_alone_is_the_first_request_only_if_nothing_follows(story):
    story.says(user("/mode"))
    assert first_request(story.log, "s") == "/mode"
    story.says(user("/mode"), user("fix /a/path"))
    assert first_request(story.log, "s") == "fix /a/path"


def test_a_command_with_words_is_a_first_request(story):
    story.says(user("/review the parser"), user("now"))
    assert first_request(story.log, "s") == "/review the parser"
