from __future__ import annotations

from pathlib import Path

import pytest

from eventstore import EventLog, SessionWriter, export_original, export_pi, import_file
from eventstore.frame import decode
from eventstore.records import CustomMessage, Label, Link, record_of
from eventstore.sources import generations, observed_rewrites
from eventstore.verify import verify
from projections import build_context
from tests.support.pi_files import SESSION, bring, header, original, said

GROWN = [header(), said("one", "a", None), said("two", "b", "a"), said("three", "c", "b")]
CHANGED = [header(), said("one", "a", None), said("two, pruned", "b", "a"), said("three", "c", "b")]


def texts(log: EventLog, session: str = SESSION, **at: object) -> list[str]:
    return [
        part.raw.split(b'"content":"')[1].split(b'"')[0].decode()
        for part in build_context(log, session, **at).parts  # type: ignore[arg-type]
    ]


def kinds(log: EventLog, session: str = SESSION) -> list[str]:
    with log.snapshot() as snapshot:
        return [decode(frame, session).kind for frame in snapshot.frames(session)]


def test_a_changed_record_is_observed_beside_the_event_that_had_it(log: EventLog, tmp_path: Path) -> None:
    bring(log, tmp_path, b"".join(GROWN))
    done = bring(log, tmp_path, b"".join(CHANGED))
    assert (done.id, done.added, done.rewritten) == (SESSION, 0, 1)
    with log.snapshot() as snapshot:
        assert observed_rewrites(snapshot, SESSION) == {2: [CHANGED[2].rstrip()]}


def test_contexts_show_a_changed_record_from_then_on_and_earlier_ones_do_not(
    log: EventLog, tmp_path: Path
) -> None:
    bring(log, tmp_path, b"".join(GROWN))
    with log.snapshot() as snapshot:
        before = snapshot.head(SESSION).version
    bring(log, tmp_path, b"".join(CHANGED))
    assert texts(log) == ["one", "two, pruned", "three"]
    assert texts(log, as_of=before) == ["one", "two", "three"]


def test_the_file_comes_back_as_it_was_changed(log: EventLog, tmp_path: Path) -> None:
    bring(log, tmp_path, b"".join(GROWN))
    bring(log, tmp_path, b"".join(CHANGED))
    assert original(log) == b"".join(CHANGED)


def test_a_change_taken_back_is_observed_again(log: EventLog, tmp_path: Path) -> None:
    for lines in (GROWN, CHANGED, GROWN):
        bring(log, tmp_path, b"".join(lines))
    assert texts(log) == ["one", "two", "three"]
    assert kinds(log).count("observed_rewrite") == 2


def test_a_changed_file_seen_again_adds_nothing(log: EventLog, tmp_path: Path) -> None:
    for lines in (GROWN, CHANGED):
        bring(log, tmp_path, b"".join(lines))
    count = len(kinds(log))
    bring(log, tmp_path, b"".join(CHANGED))
    assert len(kinds(log)) == count


def test_a_file_changed_for_the_most_part_is_another_generation(log: EventLog, tmp_path: Path) -> None:
    bring(log, tmp_path, b"".join(GROWN))
    other = [header(), said("uno", "a", None), said("dos", "b", "a"), said("three", "c", "b")]
    assert bring(log, tmp_path, b"".join(other)).id == f"{SESSION}~2"


def test_a_file_with_other_ids_throughout_is_another_generation(log: EventLog, tmp_path: Path) -> None:
    bring(log, tmp_path, b"".join([header(1), said("one"), said("two")]))
    migrated = [header(), said("one", "x", None), said("two", "y", "x")]
    assert bring(log, tmp_path, b"".join(migrated)).id == f"{SESSION}~2"


def test_a_generation_is_linked_to_the_one_before(log: EventLog, tmp_path: Path) -> None:
    for ids in ("ab", "cd", "ef"):
        first, second = ids
        bring(log, tmp_path, b"".join([header(), said("one", first, None), said("two", second, first)]))
    with log.snapshot() as snapshot:
        assert [head.name for head in generations(snapshot, SESSION)] == [
            SESSION,
            f"{SESSION}~2",
            f"{SESSION}~3",
        ]
        last = f"{SESSION}~3"
        events = [decode(frame, last) for frame in snapshot.frames(last)]
    link = next(record_of("link", event.body) for event in events if event.kind == "link")
    assert link == Link(relation="generation", session=f"{SESSION}~2")


def test_each_generation_goes_on_with_its_own_file(log: EventLog, tmp_path: Path) -> None:
    first = [header(), said("one", "a", None), said("two", "b", "a")]
    second = [header(), said("one", "x", None), said("two", "y", "x")]
    bring(log, tmp_path, b"".join(first))
    bring(log, tmp_path, b"".join(second))
    grown = bring(log, tmp_path, b"".join([*first, said("three", "c", "b")]))
    assert (grown.id, grown.added) == (SESSION, 1)


def test_as_takes_a_file_as_another_session(log: EventLog, tmp_path: Path) -> None:
    bring(log, tmp_path, b"".join(GROWN))
    done = import_file(log, tmp_path / "session.jsonl", name="mine")
    assert (done.id, done.added) == ("mine", 3)
    assert import_file(log, tmp_path / "session.jsonl", name="mine").added == 0


def test_the_leaf_stays_where_the_session_went_on_by_itself(log: EventLog, tmp_path: Path) -> None:
    bring(log, tmp_path, b"".join(GROWN[:3]))
    own = SessionWriter(log, SESSION).append(CustomMessage(custom_type="note", content="ours"))[0]
    done = bring(log, tmp_path, b"".join(GROWN))
    assert done.diverged
    assert texts(log) == ["one", "two", "ours"]
    assert texts(log, leaf="c") == ["one", "two", "three"]
    assert texts(log, leaf=own) == ["one", "two", "ours"]


def test_a_label_does_not_keep_the_leaf_from_following_the_file(log: EventLog, tmp_path: Path) -> None:
    bring(log, tmp_path, b"".join(GROWN[:3]))
    SessionWriter(log, SESSION).append(Label(target_id="a", label="start"))
    assert not bring(log, tmp_path, b"".join(GROWN)).diverged
    assert texts(log) == ["one", "two", "three"]


@pytest.mark.parametrize("version", [1, 3])
def test_an_export_that_pi_has_continued_is_recognised(log: EventLog, tmp_path: Path, version: int) -> None:
    names: list[tuple[object, ...]] = [(), ()] if version == 1 else [("a", None), ("b", "a")]
    bring(log, tmp_path, b"".join([header(version), said("one", *names[0]), said("two", *names[1])]))
    own = SessionWriter(log, SESSION).append(CustomMessage(custom_type="note", content="ours"))[0]
    exported = b"".join(export_pi(log, SESSION)) + said("more", "z", own)
    done = bring(log, tmp_path, exported)
    assert (done.id, done.added, done.rewritten, done.diverged) == (SESSION, 1, 0, False)
    assert texts(log) == ["one", "two", "ours", "more"]
    assert b"".join(export_original(log, SESSION)) == exported


def test_growth_that_meets_an_id_of_another_file_is_observed_not_refused(
    log: EventLog, tmp_path: Path
) -> None:
    bring(log, tmp_path, b"".join(GROWN))
    bring(log, tmp_path, b"".join(GROWN[:3]), name="short.jsonl")
    done = bring(log, tmp_path, b"".join([*GROWN[:3], said("another three", "c", "b")]), name="other.jsonl")
    assert (done.added, done.rewritten) == (0, 1)


def test_a_session_of_many_sources_is_sound(log: EventLog, tmp_path: Path) -> None:
    for lines in (GROWN[:2], GROWN, CHANGED, GROWN[:3], GROWN):
        bring(log, tmp_path, b"".join(lines))
    assert verify(log).findings == []
