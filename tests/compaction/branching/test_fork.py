"""Forks: sessions of their own, whose contexts are byte for byte those that they were forked from."""

from __future__ import annotations

import pytest

from compaction.branching.fork import fork
from compaction.branching.move import go, move_to
from compaction.branching.undo import undo
from compaction.composing import record_compaction
from compaction.rewriting import record_rewrite
from eventstore.errors import BadInputError
from eventstore.records import (
    Decision,
    Label,
    Link,
    ModelChange,
    ObservedRewrite,
    SessionInfo,
    TextReplacement,
    ThinkingLevelChange,
    embed,
    record_of,
)
from eventstore.verify import verify
from projections.context.cursor import ROOT
from projections.files import file_operations
from projections.settings import settings as settings_of
from projections.tree import tree
from tests.compaction.forks import forked, shown
from tests.support.events import events, version
from tests.support.talk import PiSession, assistant, call, user

KEPT = ("id", "parent", "kind", "role", "time", "cause", "format", "body", "message_span", "utf16", "utf8")


def said_by(event):
    return {name: getattr(event, name) for name in KEPT}


class TestABranch:
    def test_has_the_entries_of_the_path_and_no_others(self, story):
        story.says(user("trunk"), user("on another branch"))
        move_to(story.writer, "e1")
        story.says(user("on this one"))
        forked(story.log)
        assert [event.id for event in events(story.log, "f")][1:] == ["e1", "e3", "e4"]

    def test_keeps_ids_parents_times_causes_and_bytes(self, story):
        story.says(user("a"), assistant("b"))
        story.add(ModelChange(provider="p", model_id="m"), SessionInfo(name="a title"), cause="one")
        forked(story.log)
        assert [*map(said_by, events(story.log, "f"))][1:] == [*map(said_by, events(story.log, "s"))]

    def test_may_end_anywhere(self, story):
        story.says(user("a"), user("b"), user("c"))
        forked(story.log, leaf="e2")
        assert shown(story.log) == ["a", "b"]

    def test_from_before_a_compaction_shows_the_original_again(self, story):
        _, kept = story.says(user("old"), user("kept"))
        record_compaction(story.writer, summary="in short", first_kept=kept)
        story.says(user("since"))
        forked(story.log, leaf=kept)
        assert shown(story.log) == ["old", "kept"]

    def test_from_behind_a_compaction_has_its_summary_and_can_undo_it(self, story):
        _, kept = story.says(user("old"), user("kept"))
        record_compaction(story.writer, summary="in short", first_kept=kept)
        forked(story.log)
        assert shown(story.log) == ["in short", "kept"]
        story.writer.session = "f"
        undo(story.writer)
        assert shown(story.log) == ["old", "kept"]

    def test_keeps_rewrites_and_undos(self, story):
        one, two = story.says(user("one"), user("two"))
        for target in (one, two):
            record_rewrite(story.writer, targets=[TextReplacement(target=target, text="…")], reason="prune")
        undo(story.writer)
        forked(story.log)
        assert shown(story.log) == ["…", "two"]

    def test_keeps_what_the_harness_changed_of_its_entries_later(self, story):
        said, other = story.says(user("as it was"), user("another"))
        for target, text in ((said, "as it is now"), (other, "not kept")):
            record = b'{"type":"message","message":{"role":"user","content":"%s"}}' % text.encode()
            story.observes(ObservedRewrite(target_id=target, record=embed(record)))
        forked(story.log, leaf=said)
        assert shown(story.log) == ["as it is now"]
        assert version(story.log, "f") == 3

    def test_keeps_the_model_and_the_thinking_level(self, story):
        story.add(ModelChange(provider="p", model_id="m"), ThinkingLevelChange(thinking_level="high"))
        forked(story.log)
        assert settings_of(story.log, "f") == settings_of(story.log, "s")

    def test_keeps_the_files(self, story):
        story.says(assistant("trunk"), assistant(call("read", path="a.py"), call("edit", path="b.py")))
        forked(story.log)
        assert file_operations(story.log, "f") == file_operations(story.log, "s")

    def test_has_the_files_of_a_branch_that_is_not_in_it_by_the_summarys_word(self, story):
        story.says(assistant("trunk"), assistant(call("read", path="left.py")))
        go(story.writer, "e1", summary="tried")
        forked(story.log)
        assert file_operations(story.log, "f").read_files == ["left.py"]

    def test_of_the_root_has_no_entries(self, story):
        story.says(user("a"))
        forked(story.log, leaf=ROOT)
        assert (tree(story.log, "f").nodes, shown(story.log)) == ([], [])

    def test_leaves_decisions_behind(self, story):
        story.says(user("a"))
        story.add(Decision(outcome="skip", reason="small"))
        forked(story.log)
        assert [event.kind for event in events(story.log, "f")] == ["link", "message"]

    def test_leaves_the_session_as_it_is(self, story):
        story.says(user("a"), user("b"))
        before = events(story.log, "s")
        forked(story.log, leaf="e1")
        assert events(story.log, "s") == before

    def test_can_go_on_by_itself(self, story):
        story.says(user("a"))
        forked(story.log)
        story.says(user("here"))
        story.writer.session = "f"
        story.says(user("there"))
        assert (shown(story.log, "s"), shown(story.log)) == (["a", "here"], ["a", "there"])

    def test_is_sound_with_all_that_follows_behind_the_leaf(self, store, story):
        story.says(user("trunk"), user("leaf"))
        story.add(Label(target_id="e1", label="later"), SessionInfo(name="a title"))
        forked(store, leaf="e2")
        assert verify(store).findings == []

    def test_of_an_old_file_is_sound(self, store, tmp_path):
        session = PiSession(version=1)
        session.says("a", user("old"))
        session.says("b", user("kept"))
        session.compacts("c", "b", firstKeptEntryIndex=2)
        name = session.store_in(store, tmp_path)
        forked(store, name)
        forked(store, name, whole=True, name="w")
        assert verify(store).findings == []


class TestAWholeSession:
    def test_has_every_branch(self, story):
        story.says(user("trunk"), user("one"))
        move_to(story.writer, "e1")
        story.says(user("two"))
        forked(story.log, whole=True)
        assert tree(story.log, "f") == tree(story.log, "s")

    def test_leaves_decisions_behind(self, story):
        story.says(user("a"))
        story.add(Decision(outcome="skip", reason="small"))
        story.says(user("b"))
        forked(story.log, whole=True)
        assert [event.kind for event in events(story.log, "f")] == ["link", "message", "message"]

    def test_takes_no_leaf(self, story):
        story.says(user("a"))
        with pytest.raises(BadInputError) as refused:
            forked(story.log, whole=True, leaf="e1")
        assert "leaf" in refused.value.remedy


class TestWhereItComesFrom:
    def test_a_link_names_the_session_and_the_entry(self, story):
        story.says(user("a"), user("b"))
        forked(story.log, leaf="e1")
        link = events(story.log, "f")[0]
        assert record_of("link", link.body) == Link(relation="fork", session="s", event="e1")
        assert (link.time, link.is_entry) == (77, False)

    def test_a_fork_of_the_root_names_no_entry(self, story):
        story.says(user("a"))
        forked(story.log, leaf=ROOT)
        assert record_of("link", events(story.log, "f")[0].body) == Link(relation="fork", session="s")

    def test_a_fork_of_a_fork_has_one_link(self, story):
        story.says(user("a"))
        forked(story.log)
        forked(story.log, "f", name="g")
        assert [event.kind for event in events(story.log, "g")] == ["link", "message"]

    def test_what_is_told_are_session_parent_leaf_and_entries(self, story):
        story.says(user("a"), user("b"))
        made = fork(story.log, "s", name="f", leaf="e1")
        assert (made.session, made.parent, made.leaf, made.entries) == ("f", "s", "e1", 1)

    def test_the_links_id_is_none_of_the_entries(self, story):
        story.says(user("a"))
        ids = iter(["e1", "link"])
        forked(story.log, new_id=lambda: next(ids))
        assert [event.id for event in events(story.log, "f")] == ["link", "e1"]
