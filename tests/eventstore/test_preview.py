"""A session with more events is, for every fold, the session after they were appended."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventstore.chain import payload_digest
from eventstore.errors import NotFoundError, VersionConflictError
from eventstore.memory import MemoryLog
from eventstore.preview import Preview, PreviewLog
from tests.support.events import NOW, compaction, decision, message, undone, version
from tests.support.native import native_events
from tests.support.recording_snapshot import RecordingSnapshot
from tests.support.views import views_at

STORY = [message("a"), message("b"), compaction("c", "b"), message("d"), decision("x")]


def said_by(log, session="s"):
    """Return the result of each primitive of a log or snapshot for a session."""
    with log.snapshot() as snapshot:
        head = snapshot.head(session)
        ids = list(snapshot.ids(session))
        return {
            "heads": list(snapshot.heads()),
            "frames": as_bytes(snapshot.frames(session)),
            "frames, the newest first": as_bytes(snapshot.frames(session, backward=True)),
            "the newest": as_bytes(snapshot.frames(session, first=head.version, last=head.version)),
            "the others": as_bytes(snapshot.frames(session, last=head.version - 1)),
            "frame": bytes(snapshot.frame(session, head.version)),
            "path": as_bytes(snapshot.path(session, head.leaf)),
            "path, its end": as_bytes(snapshot.path(session, head.leaf, first=head.version)),
            "path, nothing of it": as_bytes(snapshot.path(session, head.leaf, first=head.version + 1)),
            "ids": ids,
            "ids from a letter on": list(snapshot.ids(session, "n")),
            "places": [snapshot.locate(session, event_id) for event_id in ids],
            "sessions with an id": [snapshot.sessions_with(event_id) for event_id in [*ids, "none"]],
            "feed": [(item.position, item.session, item.seq, bytes(item.frame)) for item in snapshot.feed()],
            "feed, its end": [item.position for item in snapshot.feed(head.position - 1)],
            "feed, nothing of it": [item.position for item in snapshot.feed(head.position)],
        }


def as_bytes(frames):
    return [bytes(frame) for frame in frames]


@pytest.mark.parametrize(
    "new",
    [
        message("new", time=NOW),
        message("new", time=NOW, parent="b", cause="why"),
        message("new", time=NOW, parent=None),
        compaction("new", "d", time=NOW),
        undone("new", "c", time=NOW),
        decision("new", time=NOW),
    ],
    ids=["at the leaf", "on a branch", "a root", "a compaction", "an undo", "off the path"],
)
def test_a_prospect_says_what_the_log_says_after_the_append(log, new):
    log.append("another", STORY)
    log.append("s", STORY)
    with log.snapshot() as snapshot:
        preview = Preview(snapshot, "s", [new])
        foreseen = said_by(preview), said_by(preview, "another")
    log.append("s", [new])
    assert foreseen == (said_by(log), said_by(log, "another"))


@pytest.mark.slow
@given(appended=native_events(), data=st.data())
def test_a_prospect_shows_what_the_log_shows_after_the_append(appended, data):
    known = data.draw(st.integers(1, max(len(appended) - 1, 1)))
    new = [msgspec.structs.replace(event, time=NOW) for event in appended[known:]]
    log = MemoryLog(clock=lambda: NOW)
    log.append("s", appended[:known])
    with log.snapshot() as snapshot:
        preview = Preview(snapshot, "s", new)
        foreseen = said_by(preview), views_at(preview, "s")
    log.append("s", new)
    assert foreseen == (said_by(log), views_at(log, "s"))


def test_the_first_entry_of_a_session_without_any_is_a_root(log):
    log.append("s", [decision("x")])
    new = message("new", time=NOW)
    with log.snapshot() as snapshot:
        foreseen = said_by(Preview(snapshot, "s", [new]))
    log.append("s", [new])
    assert foreseen == said_by(log)


def test_a_prospect_stores_nothing(log):
    log.append("s", STORY)
    with log.snapshot() as snapshot:
        Preview(snapshot, "s", [message("new")])
    assert version(log, "s") == 5


@pytest.mark.parametrize("parent", ["ghost", "x"])
def test_a_parent_that_is_no_entry_is_refused(log, parent):
    log.append("s", STORY)
    with log.snapshot() as snapshot, pytest.raises(NotFoundError) as refused:
        Preview(snapshot, "s", [message("new", parent=parent)])
    assert (refused.value.what, refused.value.name) == ("parent entry", parent)


def test_payloads_and_what_is_kept_are_those_of_the_log(log):
    log.append("s", STORY, blobs=[b"payload"])
    log.keep([(b"key", b"value")])
    with log.snapshot() as snapshot:
        preview = Preview(snapshot, "s", [message("new")])
        found = bytes(preview.blob(payload_digest(b"payload"))), bytes(preview.derived(b"key"))
    assert found == (b"payload", b"value")


def test_several_events_more_are_foreseen_one_after_the_other(log):
    log.append("s", STORY)
    new = [message("new", time=NOW), compaction("more", "new", time=NOW), message("most", time=NOW)]
    with log.snapshot() as snapshot:
        after = said_by(Preview(snapshot, "s", new))
    log.append("s", new)
    assert after == said_by(log)


def test_no_other_session_is_asked_where_it_stands(log):
    for number in range(3):
        log.append(f"other-{number}", STORY)
    log.append("s", STORY)
    log.append("later", STORY)
    with log.snapshot() as snapshot:
        asked = RecordingSnapshot(snapshot)
        preview = Preview(asked, "s", [message("new"), message("more")])
        list(preview.path("s", preview.head("s").leaf))
    assert asked.sessions == {"s"}
    assert [preview.head("s").version, preview.head("s").position] == [7, 22]


def test_a_preview_shows_what_the_log_shows(log):
    log.append("s", STORY)
    new = [message("new", time=NOW), compaction("more", "new", time=NOW), message("most", time=NOW)]
    with log.snapshot() as snapshot:
        preview = PreviewLog(snapshot, "s")
        for each in new:
            preview.append("s", [each])
        foreseen = said_by(preview)
    log.append("s", new)
    assert foreseen == said_by(log)


def test_a_previews_snapshot_stays_as_it_is(log):
    log.append("s", STORY)
    with log.snapshot() as snapshot:
        preview = PreviewLog(snapshot, "s")
        preview.append("s", [message("new", time=NOW)])
        with preview.snapshot() as before:
            shown = said_by(before)
            preview.append("s", [message("newer", time=NOW)])
            assert said_by(before) == shown
            assert before.locate("s", "newer") == 0


def test_a_preview_of_another_version_is_a_conflict(log):
    log.append("s", STORY)
    with log.snapshot() as snapshot, pytest.raises(VersionConflictError):
        PreviewLog(snapshot, "s").append("s", [message("new")], expected=4)
