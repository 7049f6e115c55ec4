"""Check the fields of frames about the path above them, on known trees and each log."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from eventstore import Event, EventLog, NewEvent
from eventstore.event import Flag
from tests.support.events import (
    compaction,
    decision,
    event,
    events,
    message,
    model_change,
    thinking_change,
    undone,
)


def told(log: EventLog, pointer: Callable[[Event], object], *story: NewEvent) -> dict[str, object]:
    """After these events, what each says."""
    log.append("s", story)
    return {found.id: pointer(found) for found in events(log, "s")}


def rewrite(name: str, **options: object) -> NewEvent:
    return event(name, "rewrite", reason="prune", targets=[], **options)


class TestRuns:
    def test_a_run_goes_on_while_each_is_the_child_of_the_one_before(self, log: EventLog) -> None:
        runs = told(
            log,
            lambda found: found.run_start,
            message("a"),
            message("b"),
            message("c"),
            message("d", parent="a"),
            message("e"),
            message("f", parent=None),
            message("g"),
        )
        assert runs == {"a": 1, "b": 1, "c": 1, "d": 4, "e": 4, "f": 6, "g": 6}

    def test_an_event_off_the_path_ends_a_run(self, log: EventLog) -> None:
        runs = told(
            log, lambda found: found.run_start, message("a"), decision("x"), message("b"), message("c")
        )
        assert runs == {"a": 1, "x": 2, "b": 3, "c": 3}


class TestCompactions:
    def test_the_newest_compaction_above_is_known(self, log: EventLog) -> None:
        known = told(
            log,
            lambda found: found.compaction_seq,
            message("a"),
            compaction("b", "a"),
            message("c"),
            compaction("d", "c"),
            message("e"),
            message("f", parent="c"),
            message("g", parent="a"),
        )
        assert known == {"a": 0, "b": 2, "c": 2, "d": 4, "e": 4, "f": 2, "g": 0}

    def test_a_compaction_keeps_from_an_entry_on_its_own_path(self, log: EventLog) -> None:
        targets = told(
            log,
            lambda found: found.target_seq,
            message("a"),
            message("b"),
            message("other", parent="a"),
            message("c", parent="b"),
            compaction("root", "a", parent="c"),
            compaction("above", "b", parent="c"),
            compaction("parent", "c", parent="c"),
            compaction("elsewhere", "other", parent="c"),
            compaction("nowhere", "zzz", parent="c"),
            compaction("itself", "itself", parent="c"),
            compaction("nothing", "", parent="c"),
            compaction("later", "z", parent="c"),
            message("z", parent="c"),
        )
        kept = {name: seq for name, seq in targets.items() if seq}
        assert kept == {"root": 1, "above": 2, "parent": 4}

    def test_an_undone_compaction_gives_way_to_the_one_before(self, log: EventLog) -> None:
        known = told(
            log,
            lambda found: found.compaction_seq,
            message("a"),
            compaction("one", "a"),
            compaction("two", "a"),
            undone("u", "two"),
            message("b"),
            undone("v", "one"),
            message("c"),
        )
        assert [known[name] for name in ("two", "u", "b", "v", "c")] == [3, 2, 2, 0, 0]

    def test_an_undo_that_is_undone_brings_the_compaction_back(self, log: EventLog) -> None:
        known = told(
            log,
            lambda found: found.compaction_seq,
            message("a"),
            compaction("one", "a"),
            undone("u", "one"),
            undone("v", "u"),
            undone("w", "v"),
            undone("x", "w"),
        )
        assert [known[name] for name in ("one", "u", "v", "w", "x")] == [2, 0, 2, 0, 2]

    def test_an_undo_takes_back_all_of_its_append(self, log: EventLog) -> None:
        known = told(
            log,
            lambda found: found.compaction_seq,
            message("a"),
            rewrite("r", cause="why"),
            compaction("one", "a", cause="why"),
            undone("u", "r"),
        )
        assert known["u"] == 0

    def test_an_undo_holds_for_its_branch_only(self, log: EventLog) -> None:
        known = told(
            log,
            lambda found: found.compaction_seq,
            message("a"),
            compaction("one", "a"),
            undone("u", "one"),
            message("b", parent="one"),
        )
        assert (known["u"], known["b"]) == (0, 2)

    def test_an_undo_of_nothing_changes_nothing(self, log: EventLog) -> None:
        known = told(
            log, lambda found: found.compaction_seq, compaction("one"), undone("u", "zzz"), undone("v", "")
        )
        assert known == {"one": 1, "u": 1, "v": 1}


class TestSettings:
    def test_the_newest_entries_that_name_model_and_thinking_level_are_known(self, log: EventLog) -> None:
        known = told(
            log,
            lambda found: (found.model_seq, found.thinking_seq),
            message("a"),
            model_change("b"),
            thinking_change("c"),
            message("d", role="assistant"),
            message("e"),
            message("f", parent="b"),
            message("g", parent="a"),
        )
        assert known == {
            "a": (0, 0),
            "b": (2, 0),
            "c": (2, 3),
            "d": (4, 3),
            "e": (4, 3),
            "f": (2, 0),
            "g": (0, 0),
        }

    def test_a_compaction_does_not_hide_settings(self, log: EventLog) -> None:
        known = told(log, lambda found: found.model_seq, model_change("a"), compaction("b"), message("c"))
        assert known["c"] == 1

    def test_an_event_off_the_path_knows_nothing_of_it(self, log: EventLog) -> None:
        known = told(
            log,
            lambda found: (found.model_seq, found.thinking_seq, found.compaction_seq),
            model_change("a"),
            thinking_change("b"),
            compaction("c"),
            decision("d"),
        )
        assert known["d"] == (0, 0, 0)


class TestOverlays:
    @pytest.mark.parametrize("overlay", [rewrite("o"), undone("o", "a")])
    def test_entries_below_a_rewrite_or_an_undo_say_so(self, log: EventLog, overlay: NewEvent) -> None:
        overlaid = told(
            log,
            lambda found: bool(found.flags & Flag.OVERLAID),
            message("a"),
            message("b"),
            overlay,
            message("c"),
            decision("x"),
            message("d"),
            message("e", parent="b"),
        )
        assert [name for name, is_so in overlaid.items() if is_so] == ["o", "c", "d"]

    def test_events_off_the_path_are_marked(self, log: EventLog) -> None:
        marked = told(log, lambda found: bool(found.flags & Flag.OFF_PATH), message("a"), decision("x"))
        assert marked == {"a": False, "x": True}


class TestTargets:
    def test_what_an_event_points_at_is_found_by_its_id(self, log: EventLog) -> None:
        targets = told(
            log,
            lambda found: found.target_seq,
            message("a"),
            message("b", parent=None),
            event("l", "label", targetId="a", label="here"),
            event("m", "label", targetId="zzz", label="here"),
            event("o", "observed_rewrite", targetId="b", record={}),
        )
        assert targets == {"a": 0, "b": 0, "l": 1, "m": 0, "o": 2}

    def test_an_entry_of_the_same_append_may_be_pointed_at(self, log: EventLog) -> None:
        assert (
            told(log, lambda found: found.target_seq, message("a"), event("l", "label", targetId="a"))["l"]
            == 1
        )
