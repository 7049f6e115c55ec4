"""Forks: sessions of their own, whose contexts are byte for byte those that they were forked from."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from compaction import fork, move_to, record_branch_summary, record_compaction, record_rewrite, undo
from eventstore import export_pi
from eventstore.errors import BadInputError, NotFoundError
from eventstore.event import Flag
from eventstore.memory_log import MemoryLog
from eventstore.records import (
    Decision,
    Label,
    Link,
    ModelChange,
    ObservedRewrite,
    SessionInfo,
    Shown,
    ThinkingLevelChange,
    embed,
    record_of,
)
from eventstore.verify import verify
from projections.context import build_context, context_json
from projections.files import file_operations
from projections.settings import settings as settings_of
from projections.standpoint import ROOT
from projections.title import title
from projections.tree import tree
from tests.support.events import NOW, event, events, message, path_ids, undone, version
from tests.support.native import native_events
from tests.support.pi_files import bring
from tests.support.pi_sessions import file_of, pi_entries
from tests.support.talk import PiSession, assistant, call, texts_of, user
from tests.support.views import javascript

KEPT = ("id", "parent", "kind", "role", "time", "cause", "format", "body", "message_span", "utf16", "utf8")


def forked(log, session="s", **options):
    """Fork a session, and give the new one's name."""
    numbers = count(1)
    return fork(
        log,
        session,
        **{"name": "f", "clock": lambda: 77, "new_id": lambda: f"new-{next(numbers)}", **options},
    ).session


def shown(log, session="f"):
    return texts_of(build_context(log, session))


def labels(log, session="f"):
    return {node.id: node.label for node in tree(log, session).nodes if node.label is not None}


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
            record_rewrite(story.writer, targets=[Shown(target=target, shown="…")], reason="prune")
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
        record_branch_summary(story.writer, summary="tried", target="e1")
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


class TestLabelsAndTitle:
    def test_a_label_between_two_entries_does_not_cut_the_path_below_it_off(self, store, tmp_path):
        # pi and oh-my-pi take labels out and leave what stands below them an orphan.
        session = PiSession()
        session.says("a", user("one"))
        session.says("b", user("two"))
        session.entry("l", "label", targetId="a", label="here")
        session.says("c", user("three"))
        session.says("d", user("four"))
        forked(store, session.store_in(store, tmp_path))
        assert shown(store) == ["one", "two", "three", "four"]
        assert path_ids(store, "f", "d") == ["a", "b", "l", "c", "d"]

    def test_a_label_that_was_taken_away_since_does_not_cut_the_path_off_either(self, story):
        story.says(user("one"))
        story.add(Label(target_id="e1", label="here"))
        story.says(user("two"))
        story.add(Label(target_id="e1"))
        forked(story.log)
        assert (shown(story.log), labels(story.log)) == (["one", "two"], {})

    def test_a_label_that_another_branch_set_follows_behind_the_leaf(self, story):
        story.says(user("trunk"), user("leaf"))
        move_to(story.writer, "e1")
        story.add(Label(target_id="e1", label="from elsewhere"))
        forked(story.log, leaf="e2")
        assert labels(story.log) == {"e1": "from elsewhere"}
        assert path_ids(story.log, "f", "e4") == ["e1", "e2", "e4"]

    def test_such_a_label_keeps_its_id_its_time_and_its_bytes(self, story):
        story.says(user("trunk"), user("leaf"))
        story.add(Label(target_id="e1", label="later"))
        forked(story.log, leaf="e1")
        label, copy = story["e3"], events(story.log, "f")[-1]
        assert (copy.id, copy.time, copy.body) == (label.id, label.time, label.body)

    def test_several_such_labels_are_a_chain_in_the_order_of_the_log(self, story):
        story.says(user("a"), user("b"), user("c"))
        story.add(
            Label(target_id="e1", label="at first"),
            Label(target_id="e2", label="two"),
            Label(target_id="e1", label="one"),
        )
        forked(story.log, leaf="e2")
        assert path_ids(story.log, "f", "e6") == ["e1", "e2", "e5", "e6"]

    def test_a_label_that_was_an_orphan_is_none_behind_the_leaf(self, store, tmp_path):
        session = PiSession()
        session.says("a", user("one"))
        session.entry("l", "label", parent="gone", targetId="a", label="here")
        forked(store, session.store_in(store, tmp_path), leaf="a")
        label = events(store, "f")[-1]
        assert (label.parent, Flag.ORPHAN in label.flags) == ("a", False)

    def test_of_several_labels_of_an_entry_the_newest_counts_wherever_it_was_set(self, story):
        story.says(user("trunk"))
        story.add(Label(target_id="e1", label="old"))
        story.says(user("leaf"))
        move_to(story.writer, "e1")
        story.add(Label(target_id="e1", label="new"))
        forked(story.log, leaf="e3")
        assert labels(story.log) == {"e1": "new"}

    def test_a_label_that_another_branch_took_away_is_gone(self, story):
        story.says(user("trunk"))
        story.add(Label(target_id="e1", label="old"))
        story.says(user("leaf"))
        move_to(story.writer, "e1")
        story.add(Label(target_id="e1"))
        forked(story.log, leaf="e3")
        assert labels(story.log) == {}

    def test_a_label_that_never_was_on_the_path_is_not_taken_away_on_it(self, story):
        story.says(user("a"), user("b"))
        story.add(Label(target_id="e1", label="x"), Label(target_id="e1"))
        forked(story.log, leaf="e2")
        assert [event.kind for event in events(story.log, "f")] == ["link", "message", "message"]

    def test_labels_of_what_is_not_in_the_fork_stay_behind(self, story):
        story.says(user("a"), user("b"))
        story.add(Label(target_id="e2", label="later"), Label(target_id="ghost", label="nobody"))
        forked(story.log, leaf="e1")
        assert version(story.log, "f") == 2

    def test_the_title_that_another_branch_set_is_the_forks(self, story):
        story.says(user("trunk"), user("leaf"))
        move_to(story.writer, "e1")
        story.add(SessionInfo(name="a title"))
        forked(story.log, leaf="e2")
        assert title(story.log, "f") == "a title"

    def test_a_title_on_the_path_is_there_once(self, story):
        story.add(SessionInfo(name="a title"))
        story.says(user("leaf"))
        forked(story.log)
        assert (title(story.log, "f"), version(story.log, "f")) == ("a title", 3)


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
        with pytest.raises(BadInputError, match="stands where the session stands"):
            forked(story.log, whole=True, leaf="e1")


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


class TestNames:
    def test_without_a_name_it_is_a_new_id(self, story):
        story.says(user("a"))
        assert forked(story.log, name=None) == "new-1"

    def test_an_id_that_a_session_has_is_passed_over(self, story):
        story.says(user("a"))
        ids = iter(["s", "t", "link"])
        assert forked(story.log, name=None, new_id=lambda: next(ids)) == "t"

    def test_a_name_that_is_taken_is_refused_with_nothing_stored(self, story):
        story.says(user("a"))
        forked(story.log)
        before = events(story.log, "f")
        story.says(user("b"))
        with pytest.raises(BadInputError, match="session 'f': is there already"):
            forked(story.log)
        assert events(story.log, "f") == before

    def test_a_name_that_somebody_takes_meanwhile_is_refused_with_nothing_stored(self, story):
        story.says(user("a"))

        def new_id():
            story.log.append("f", [message("theirs")])
            return "link"

        with pytest.raises(BadInputError, match="session 'f': is there already"):
            forked(story.log, new_id=new_id)
        assert [event.id for event in events(story.log, "f")] == ["theirs"]

    @pytest.mark.parametrize("name", ["", "x" * 1000])
    def test_a_name_that_no_session_can_have_is_refused(self, story, name):
        story.says(user("a"))
        with pytest.raises(BadInputError):
            forked(story.log, name=name)

    @pytest.mark.parametrize(("session", "leaf"), [("ghost", None), ("s", "ghost"), ("s", "e2")])
    def test_what_is_not_there_is_refused_with_nothing_stored(self, story, session, leaf):
        story.says(user("a"))
        story.add(Decision(outcome="skip", reason="small"))
        with pytest.raises(NotFoundError):
            forked(story.log, session, leaf=leaf)
        with story.log.snapshot() as snapshot:
            assert [head.name for head in snapshot.heads()] == ["s"]


class TestExport:
    def test_a_fork_taken_to_pi_shows_pi_the_same(self, store, tmp_path):
        session = PiSession()
        session.says("a", user("old"))
        session.says("b", user("kept"))
        session.compacts("c", "b")
        session.says("d", user("since"))
        name = session.store_in(store, tmp_path)
        forked(store, name)
        elsewhere = MemoryLog()
        imported = bring(elsewhere, tmp_path, b"".join(export_pi(store, "f")), name="fork.jsonl")
        assert (imported.id, imported.differs_from_harness, imported.orphans) == ("f", [], [])
        assert context_json(elsewhere, "f") == context_json(store, name)


bounded = settings(max_examples=75, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def ends_of_spans(event):
    """The ids of the entries up to which a rewrite shows something else."""
    return (
        [each.through for each in record_of("rewrite", event.body).targets] if event.kind == "rewrite" else []
    )


@bounded
@given(appended=native_events(), data=st.data())
def test_a_forks_context_is_that_of_its_leaf_after_any_history(appended, data):
    log = MemoryLog(clock=lambda: NOW)
    log.append("s", appended)
    nodes = {node.id: node for node in tree(log, "s").nodes}
    leaf = data.draw(st.sampled_from([ROOT, None, *nodes]))
    forked(log, leaf=leaf)
    here = tree(log, "s").leaf if leaf is None else leaf
    path = path_ids(log, "s", here) if isinstance(here, str) else []
    # A span that ends at an entry of another branch is no span; behind the leaf, that entry would end it.
    behind = {node.id for node in tree(log, "f").nodes} - set(path)
    assume(not behind & {end for event in events(log, "f") for end in ends_of_spans(event)})
    assert context_json(log, "f") == context_json(log, "s", leaf=leaf)
    assert title(log, "f") == title(log, "s")
    assert verify(log).findings == []
    assert {node.id: node.label for node in tree(log, "f").nodes}.items() >= {
        (event_id, nodes[event_id].label) for event_id in path
    }


@bounded
@given(appended=native_events())
def test_every_context_of_a_whole_fork_is_that_of_the_session(appended):
    log = MemoryLog(clock=lambda: NOW)
    log.append("s", appended)
    forked(log, whole=True)
    assert tree(log, "f") == tree(log, "s")
    assert verify(log).findings == []
    for leaf in [ROOT, *(node.id for node in tree(log, "s").nodes)]:
        assert context_json(log, "f", leaf=leaf) == context_json(log, "s", leaf=leaf)


@bounded
@given(entries=pi_entries(), data=st.data())
def test_a_fork_of_a_pi_session_is_the_same_here_and_in_pi(tmp_path_factory, entries, data):
    log, elsewhere = MemoryLog(), MemoryLog()
    folder = tmp_path_factory.mktemp("forks")
    name = bring(log, folder, file_of(entries)).id
    leaf = data.draw(st.sampled_from([node.id for node in tree(log, name).nodes] or [ROOT]))
    forked(log, name, leaf=leaf)
    assert context_json(log, "f") == context_json(log, name, leaf=leaf)
    assert verify(log).findings == []
    bring(elsewhere, folder, b"".join(export_pi(log, "f")), name="fork.jsonl")
    assert javascript(context_json(elsewhere, "f")) == javascript(context_json(log, "f"))
