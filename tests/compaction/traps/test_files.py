"""File operations: those that a document's way of collecting them would lose, or believe."""

from __future__ import annotations

from compaction.composing import restore_files
from compaction.policy.model import Restoring
from eventstore.records import FileOperations, record_of
from tests.compaction.rewrites.contexts import TOKENS
from tests.compaction.scripted import Scripted, compactor, long
from tests.support.events import events
from tests.support.talk import assistant, call, result, user


def touches(story, tool, path, tokens=20):
    name = f"c{path}"
    story.says(assistant(call(tool, name, path=path)), result(long(tokens), tool=tool, call_id=name))


def listed(story):
    found = [event for event in events(story.log, story.session) if event.kind == "compaction"]
    return [record_of("compaction", event.body).details for event in found]


def test_files_of_what_the_compaction_before_kept_would_be_in_neither_list(story):
    made = compactor(Scripted(lambda _: "so far"))
    touches(story, "read", "a.py")
    touches(story, "edit", "kept.py", tokens=14)
    made.compact(story.writer)
    touches(story, "read", "c.py", tokens=5)
    touches(story, "read", "d.py", tokens=5)
    made.compact(story.writer)
    first, second = listed(story)
    assert first == FileOperations(read_files=["a.py"])
    assert second.modified_files == ["kept.py"]


def test_a_file_that_is_modified_later_would_stay_in_the_list_of_those_only_read(story):
    made = compactor(Scripted(lambda _: "so far"))
    touches(story, "read", "a.py")
    touches(story, "read", "b.py", tokens=15)
    made.compact(story.writer)
    touches(story, "edit", "a.py", tokens=5)
    story.says(user(long(20)))
    made.compact(story.writer)
    assert [each.read_files for each in listed(story)] == [["a.py"], ["b.py"]]
    assert listed(story)[1].modified_files == ["a.py"]


def test_a_stub_for_an_unchanged_file_would_be_shown_again_in_place_of_the_file(story):
    story.says(assistant(call("read", "c1", path="a.py")), result("the text", tool="read", call_id="c1"))
    stub = result("File unchanged since last read.", tool="read", call_id="c2")
    story.says(assistant(call("read", "c2", path="a.py")), stub)
    (shown,) = restore_files(lambda: reversed(events(story.log, "s")), Restoring(), [], TOKENS)
    assert shown.content.endswith("the text")
