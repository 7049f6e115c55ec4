"""Fork sessions whose undos reach across branches."""

from __future__ import annotations

import pytest

from compaction.branching.move import move_to
from compaction.branching.undo import undo
from projections.tree import tree
from tests.compaction.forks import forked, shown
from tests.support.events import event, events, message, undone
from tests.support.talk import assistant


class TestUndosThatReachAcrossBranches:
    """One event of an append is named, all of it is undone: also where the named one is on another branch."""

    @pytest.fixture
    def crossing(self, log):
        events = [message("trunk"), message("a", cause="x"), message("b", cause="x", parent="trunk")]
        log.append("s", [*events, undone("u", "a", parent="b")])
        return log

    def test_what_is_undone_stays_undone(self, crossing):
        assert shown(crossing, "s") == ["hello"]
        forked(crossing)
        assert shown(crossing) == ["hello"]

    def test_what_the_undo_names_comes_along(self, crossing):
        forked(crossing)
        assert [node.id for node in tree(crossing, "f").nodes] == ["trunk", "a", "b", "u"]

    def test_what_it_names_comes_along_even_if_it_is_no_entry(self, log):
        off_path = event("x", "decision", outcome="skip", reason="small", cause="one")
        log.append("s", [message("a"), off_path, message("b", cause="one"), undone("u", "x")])
        for options in ({}, {"whole": True, "name": "w"}):
            assert shown(log, forked(log, **options)) == ["hello"]

    def test_what_an_undo_names_without_reaching_the_path_stays_behind(self, story):
        story.says(assistant("trunk"), assistant("left"))
        moved = move_to(story.writer, "e1")
        undo(story.writer)
        forked(story.log)
        assert moved not in [event.id for event in events(story.log, "f")]
