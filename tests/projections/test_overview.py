"""Describe every session of a log: its project, its family, its figures; cached, and never trusted over the log."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from compaction.branching.move import go
from compaction.branching.undo import undo
from eventstore import EventLog, open_store
from eventstore.errors import StoreError
from eventstore.files.importing import import_sessions
from eventstore.harnesses import harnesses
from eventstore.harnesses.refold.events import compose
from eventstore.imports import generation_link, origin_link
from eventstore.memory import MemoryLog
from eventstore.records import Compaction, Link, SessionInfo
from eventstore.writing import message_record
from projections import overview as module
from projections.audit.cost import session_cost
from projections.audit.prices import library_prices
from projections.audit.session import audit
from projections.overview import (
    SessionFilter,
    SessionOverview,
    Spent,
    families,
    overviews,
    total,
)
from projections.tree import tree
from tests.support import claude_code, oh_my_pi_sessions
from tests.support.madeup import format as madeup_format
from tests.support.pi_files import entry, header
from tests.support.spending import PRICES, used
from tests.support.stores import damage, make_store
from tests.support.talk import Story, assistant, user


def the(log: EventLog, name: str = "s", **options: Any) -> SessionOverview:
    return {each.name: each for each in overviews(log, **options)}[name]


def pi_session(name: str, *, folder: str, text: str = "hello", hour: int = 10, **fields: Any) -> bytes:
    message = {"role": "user", "content": text}
    time = f"2025-12-08T{hour}:00:00.000Z"
    return header(session=name, cwd=folder, **fields) + entry(
        f"{name}1", None, "message", message=message, timestamp=time
    )


def bring(log: EventLog, path: Path, content: bytes) -> None:
    path.write_bytes(content)
    import_sessions(log, path)


def linked(log: EventLog, name: str, relation: Any, other: str) -> None:
    link = Link(relation=relation, session=other)
    log.append(name, [compose(link, id=origin_link(relation), time=None)])


def test_tokens_and_cost_are_added_up_by_day_and_model(story: Story) -> None:
    story.says(
        user("hello"),
        assistant("hi", usage=used(10, 2, read=5, write=1, cost=0.25)),
        assistant("hi", usage=used(10, 2, cost=0.5)),
        assistant("hi", usage=used(1, 1), model="unknown"),
    )
    found = the(story.log, prices=PRICES)
    known = Spent(calls=2, input=20, cache_read=5, cache_write=1, output=4, cost=0.75)
    unknown = Spent(calls=1, input=1, output=1, without_cost=1)
    assert [(each.model, each.spent) for each in found.calls] == [("p/m", known), ("p/unknown", unknown)]
    assert found.spent == Spent(
        calls=3, input=21, cache_read=5, cache_write=1, output=5, cost=0.75, without_cost=1
    )


def test_a_cost_that_was_not_recorded_is_that_of_the_table(story: Story) -> None:
    story.says(assistant("hi", usage=used(10)), assistant("hi", usage=used(10, cost=1)))
    assert the(story.log, prices=PRICES).spent.cost == 40 + 1


def test_nothing_spent_has_no_known_cost(story: Story) -> None:
    story.says(user("hello"))
    assert the(story.log).spent == Spent() == total([])


def test_the_day_of_a_call_is_that_of_its_time_in_utc(store: EventLog, tmp_path: Path) -> None:
    message = {"role": "assistant", "content": [], "provider": "p", "model": "m"}
    times = ("2025-12-08T23:59:59.999Z", "2025-12-09T00:00:00.000Z", "2025-12-09T01:30:00.000+02:00", "never")
    lines = [
        entry(f"e{at}", None, "message", message={**message, "usage": used(1, cost=1)}, timestamp=time)
        for at, time in enumerate(times)
    ]
    bring(store, tmp_path / "s.jsonl", header(session="s") + b"".join(lines))
    days = {each.day: each.spent.calls for each in the(store).calls}
    assert days == {"2025-12-08": 2, "2025-12-09": 1, "": 1}


def test_compactions_and_ends_of_all_branches_count(story: Story) -> None:
    story.says(user("hello"), assistant("hi"))
    story.add(Compaction(summary="s", first_kept_entry_id="e1", tokens_before=9))
    story.says(user("a"))
    story.add(Compaction(summary="t", first_kept_entry_id="e1", tokens_before=9), parent="e2")
    assert (the(story.log).compactions, the(story.log).branches) == (2, 2)


def test_an_undone_compaction_counts_on_no_branch(story: Story) -> None:
    first, _ = story.says(user("go"), assistant("done"))
    compaction = story.add(Compaction(summary="gone", first_kept_entry_id="", tokens_before=9))
    undo(story.writer)
    assert the(story.log).compactions == 0
    go(story.writer, first)
    assert the(story.log).compactions == 0
    story.writer.append(message_record(user("more")), parent=compaction)
    assert the(story.log).compactions == 1


def test_parallel_calls_are_no_branches(store: EventLog, tmp_path: Path) -> None:
    claude_code.bring(
        store,
        tmp_path / "c.jsonl",
        claude_code.said("u", None, "go"),
        claude_code.answer("a", "u", "m1", claude_code.call("x")),
        claude_code.answer("b", "a", "m1", claude_code.call("y")),
        claude_code.result("r", "a", "x", "one"),
        claude_code.result("q", "b", "y", "two"),
        claude_code.said("v", "u", "a rewind"),
    )
    assert the(store, claude_code.SESSION).branches == 2


def test_calls_of_a_file_that_was_imported_under_another_name_too_are_those_of_its_own_session(
    store: EventLog, tmp_path: Path
) -> None:
    def answer(number: int) -> bytes:
        message = {"role": "assistant", "content": [], "usage": used(10, cost=number)}
        return entry(f"f{number}", f"f{number - 1}" if number > 1 else None, "message", message=message)

    def costs() -> dict[str, float | None]:
        found = {each.name: each.spent.cost for each in overviews(store)}
        assert found == {
            name: session_cost(store, name, prices=library_prices()).spent.cost for name in found
        }
        return found

    path = tmp_path / "s.jsonl"
    path.write_bytes(header(session="s") + answer(1))
    import_sessions(store, path, name="copy")
    assert costs() == {"copy": 1}
    import_sessions(store, path)
    assert costs() == {"copy": None, "s": 1}
    Story(store, "copy").says(assistant("hi", usage=used(10, cost=7)))
    assert costs() == {"copy": 7, "s": 1}
    path.write_bytes(path.read_bytes() + answer(2))
    import_sessions(store, path, name="copy")
    assert costs() == {"copy": 7 + 2, "s": 1}
    import_sessions(store, path)
    assert costs()["s"] == 1 + 2
    assert the(store, "copy").original == "s"


class TestFolder:
    def test_headers_of_pi_and_oh_my_pi_name_it(self, store: EventLog, tmp_path: Path) -> None:
        bring(store, tmp_path / "s.jsonl", pi_session("s", folder="/code/alpha"))
        assert (the(store).harness, the(store).folder) == ("pi", "/code/alpha")
        bring(store, tmp_path / "o.jsonl", oh_my_pi_sessions.file_of([]))
        found = the(store, oh_my_pi_sessions.SESSION)
        assert (found.harness, found.folder) == ("oh-my-pi", "/home/user/project")

    def test_records_of_claude_code_name_it_and_the_first_counts(
        self, store: EventLog, tmp_path: Path
    ) -> None:
        lines = (
            claude_code.note("summary", summary="a title", leafUuid="x"),
            claude_code.said("u", None, "hi", cwd="/code/alpha"),
            claude_code.answer("a", "u", "m1", "yes", cwd="/code/alpha/src"),
        )
        claude_code.bring(store, tmp_path / "c.jsonl", *lines)
        found = the(store, claude_code.SESSION)
        assert (found.harness, found.folder) == ("claude-code", "/code/alpha")

    @pytest.mark.usefixtures("madeup")
    def test_any_harness_may_name_it(self, store: EventLog, tmp_path: Path) -> None:
        record = {"kind": "say", "in": "one", "id": "a", "folder": "/code/alpha"}
        said = {**record, "message": {"who": "person", "text": "hi"}}
        bring(store, tmp_path / "m.madeup", madeup_format.HEADER + json.dumps(said).encode() + b"\n")
        assert (the(store, "one").harness, the(store, "one").folder) == ("madeup", "/code/alpha")

    def test_refold_own_sessions_name_it_and_the_newest_counts(self, story: Story) -> None:
        story.add(SessionInfo(cwd="/code/alpha"))
        story.add(SessionInfo(name="a title"))
        assert (the(story.log).harness, the(story.log).folder) == ("refold", "/code/alpha")
        story.add(SessionInfo(cwd="/code/beta"))
        assert the(story.log).folder == "/code/beta"

    @pytest.mark.parametrize("cwd", [None, 7, ["/a"], {}])
    def test_what_is_no_text_is_no_folder(self, store: EventLog, tmp_path: Path, cwd: Any) -> None:
        bring(store, tmp_path / "s.jsonl", pi_session("s", folder=cwd))
        lines = claude_code.said("u", None, "hi", cwd=cwd)
        claude_code.bring(store, tmp_path / "c.jsonl", lines)
        assert {each.folder for each in overviews(store)} == {""}


class TestFamilies:
    def test_subagents_are_below_the_session_that_started_them(self, store: EventLog, tmp_path: Path) -> None:
        for name in ("sub", "parent", "subsub", "other", "sub2"):
            bring(store, tmp_path / f"{name}.jsonl", pi_session(name, folder=f"/code/{name}"))
        for name, above in (("sub", "parent"), ("subsub", "sub"), ("sub2", "parent"), ("other", "gone")):
            linked(store, name, "subagent", above)
        found = families(overviews(store))
        assert {each.overview.name: [one.name for one in each.subagents] for each in found} == {
            "parent": ["sub", "subsub", "sub2"],
            "other": [],
        }
        assert {each.overview.name: each.project for each in found} == {"parent": "parent", "other": "other"}

    def test_the_request_of_a_subagent_is_what_it_was_asked_to_do(
        self, store: EventLog, tmp_path: Path
    ) -> None:
        claude_code.bring(store, tmp_path / "p.jsonl", claude_code.said("u", None, "hi"))
        (tmp_path / "subagents").mkdir()
        asked = claude_code.said("x", None, "Look\nhere", isSidechain=True, agentId="7")
        claude_code.bring(store, tmp_path / "subagents" / "agent-7.jsonl", asked)
        (family,) = families(overviews(store))
        assert [each.first_request for each in family.members] == ["hi", "Look here"]

    def test_those_written_last_come_last_and_a_subagent_is_written_with_its_parent(
        self, store: EventLog, tmp_path: Path
    ) -> None:
        for name in ("parent", "other", "sub"):
            bring(store, tmp_path / f"{name}.jsonl", pi_session(name, folder="/home/user"))
        linked(store, "sub", "subagent", "parent")
        assert [each.overview.name for each in families(overviews(store))] == ["other", "parent"]

    def test_sessions_that_name_each_other_as_parents_are_all_there(
        self, store: EventLog, tmp_path: Path
    ) -> None:
        for name, above in (("a", "b"), ("b", "a"), ("c", "c"), ("d", "a")):
            bring(store, tmp_path / f"{name}.jsonl", pi_session(name, folder="/home/user"))
            linked(store, name, "subagent", above)
        found = families(overviews(store))
        assert sorted(one.name for each in found for one in each.members) == ["a", "b", "c", "d"]

    def test_a_family_spent_what_its_members_spent(self, store: EventLog) -> None:
        for name in ("s", "sub"):
            Story(store, name).says(assistant("hi", usage=used(10, 2, cost=1)))
        linked(store, "sub", "subagent", "s")
        (family,) = families(overviews(store))
        assert family.spent == Spent(calls=2, input=20, output=4, cost=2)
        assert family.overview.spent == Spent(calls=1, input=10, output=2, cost=1)

    def test_a_fork_without_a_folder_is_where_its_original_is(self, store: EventLog, tmp_path: Path) -> None:
        bring(store, tmp_path / "s.jsonl", pi_session("s", folder="/code/alpha"))
        Story(store, "fork").says(user("hello"))
        linked(store, "fork", "fork", "s")
        assert {each.folder for each in families(overviews(store))} == {"/code/alpha"}

    @pytest.mark.parametrize(
        ("folder", "project"),
        [
            ("/code/alpha", "alpha"),
            ("/code/alpha/", "alpha"),
            ("/code/alpha/.claude/worktrees/agent-1", "alpha"),
            ("/code/alpha/.worktrees/someone/a-branch/src", "alpha"),
            (r"C:\work\alpha", "alpha"),
            ("/", ""),
            ("", ""),
        ],
    )
    def test_a_project_is_the_last_name_of_its_folder_without_worktrees(
        self, store: EventLog, tmp_path: Path, folder: str, project: str
    ) -> None:
        bring(store, tmp_path / "s.jsonl", pi_session("s", folder=folder))
        assert [each.project for each in families(overviews(store))] == [project]


class TestGenerations:
    @pytest.fixture
    def rewritten(self, store: EventLog, tmp_path: Path) -> EventLog:
        """A session of two generations, and a subagent of the first."""
        for version in (1, 2, 3):
            message = {"role": "assistant", "content": [], "usage": used(10, cost=version)}
            lines = [entry(f"{version}-{at}", None, "message", message=message) for at in range(5)]
            bring(store, tmp_path / "s.jsonl", header(session="s", cwd="/home/user") + b"".join(lines))
        Story(store, "sub").says(assistant("hi", usage=used(1, cost=7)))
        linked(store, "sub", "subagent", "s")
        return store

    def test_only_the_newest_counts(self, rewritten: EventLog) -> None:
        (family,) = families(overviews(rewritten))
        assert [each.name for each in family.counted] == ["s~3", "sub"]
        assert [each.name for each in family.earlier] == ["s~2", "s"]
        assert family.spent == Spent(calls=6, input=51, cost=5 * 3 + 7)
        assert [each.spent.cost for each in family.earlier] == [10, 5]

    def test_sessions_that_name_each_other_as_earlier_are_all_there(self, store: EventLog) -> None:
        for name, other, number in (("s~2", "s~3", 1), ("s~3", "s~2", 2), ("t~2", "t~" + "9" * 5000, 1)):
            link = Link(relation="generation", session=other)
            store.append(name, [compose(link, id=generation_link(number), time=None)])
        found = families(overviews(store))
        assert sorted(one.name for each in found for one in each.members) == ["s~2", "s~3", "t~2"]


class TestFilter:
    @pytest.fixture
    def three(self, store: EventLog, tmp_path: Path) -> EventLog:
        bring(store, tmp_path / "a.jsonl", pi_session("a", folder="/code/Alpha/web", text="Fix it", hour=10))
        bring(store, tmp_path / "b.jsonl", pi_session("b", folder="/code/alpha", hour=11))
        claude_code.bring(store, tmp_path / "c.jsonl", claude_code.said("u", None, "hi", cwd="/home/web"))
        bring(store, tmp_path / "sub.jsonl", pi_session("sub", folder="/elsewhere", text="Look", hour=12))
        linked(store, "sub", "subagent", "b")
        return store

    @pytest.mark.parametrize(
        ("chosen", "names"),
        [
            (SessionFilter(), ["a", claude_code.SESSION, "b"]),
            (SessionFilter(harness="pi"), ["a", "b"]),
            (SessionFilter(harness="oh-my-pi"), []),
            (SessionFilter(project="web"), ["a", claude_code.SESSION]),
            (SessionFilter(project="alpha"), ["a", "b"]),
            (SessionFilter(project="alp"), []),
            (SessionFilter(project="ALPHA/web/"), ["a"]),
            (SessionFilter(project="/code/alpha"), ["a", "b"]),
            (SessionFilter(project="/alpha"), []),
            (SessionFilter(project="/elsewhere"), []),
            (SessionFilter(harness="pi", project="web"), ["a"]),
        ],
    )
    def test_sessions_are_chosen_by_each_field(
        self, three: EventLog, chosen: SessionFilter, names: list[str]
    ) -> None:
        assert [each.overview.name for each in chosen.chosen(overviews(three))] == names

    @pytest.mark.parametrize(("hour", "names"), [(10, ["a", "b"]), (11, ["b"]), (12, ["b"]), (13, [])])
    def test_a_session_is_as_new_as_its_newest_subagent(
        self, three: EventLog, hour: int, names: list[str]
    ) -> None:
        since = 1765152000000 + hour * 3_600_000
        chosen = SessionFilter(harness="pi", since=since).chosen(overviews(three))
        assert [each.overview.name for each in chosen] == names


class TestCached:
    @pytest.fixture
    def reads(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """The sessions that were read rather than found in the cache."""
        found: list[str] = []
        real = module._overview

        def noted(log: Any, head: Any, prices: Any) -> Any:
            found.append(head.name)
            return real(log, head, prices)

        monkeypatch.setattr(module, "_overview", noted)
        return found

    def test_only_sessions_that_changed_are_read_again(self, store: MemoryLog, reads: list[str]) -> None:
        for name in ("a", "b"):
            Story(store, name).says(user("hello"), assistant("hi", usage=used(1, cost=1)))
        first = overviews(store)
        assert (overviews(store), reads) == (first, ["a", "b"])
        linked(store, "b", "subagent", "a")
        assert [each.parent for each in overviews(store)] == ["", "a"]
        assert reads == ["a", "b", "b"]

    def test_other_prices_are_neither_cached_nor_taken_from_the_cache(
        self, store: MemoryLog, reads: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        Story(store).says(assistant("hi", usage=used(10)))
        assert [the(store).spent.cost for _ in range(2)] == [None, None]
        assert [the(store, prices=PRICES).spent.cost for _ in range(2)] == [40, 40]
        assert len(reads) == 3
        monkeypatch.setattr(
            module, "library_prices", lambda: type(library_prices())(name="genai-prices of tomorrow")
        )
        assert (the(store).spent.cost, len(reads)) == (None, 4)

    @pytest.mark.parametrize("kept", [b"", b"\xc1", b"\x94\x01\xa0\x00\xc0"])
    def test_what_cannot_be_read_or_is_of_another_version_is_made_again(
        self, store: MemoryLog, reads: list[str], kept: bytes, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        Story(store).says(user("hello"))
        first = overviews(store)
        store.keep([(module._key(first[0].head), kept)])
        assert (overviews(store), len(reads)) == (first, 2)
        monkeypatch.setattr(module, "_VERSION", 99)
        assert (overviews(store), len(reads)) == (first, 3)

    def test_a_fork_pays_for_its_prefix_until_its_original_is_there(
        self, store: MemoryLog, tmp_path: Path
    ) -> None:
        for name, more in (("6", "m3"), (claude_code.SESSION, "m2")):
            shared = claude_code.said("u", None, "hi", sessionId=name)
            answers = (
                claude_code.answer("a", "u", "m1", "yes", sessionId=name),
                claude_code.said(f"v{more}", "a", "on", sessionId=name, at=int(more[1])),
                claude_code.answer(more, f"v{more}", more, "ok", sessionId=name),
            )
            claude_code.bring(store, tmp_path / f"{name}.jsonl", shared, *answers)
            assert sum(each.spent.calls for each in overviews(store)) == {"6": 2}.get(name, 3)

    def test_a_damaged_session_is_listed_with_its_problem_and_not_cached(
        self, tmp_path: Path, reads: list[str]
    ) -> None:
        names = make_store(tmp_path / "store", 2)
        damage(tmp_path / "store", 1, 5)
        with open_store(tmp_path / "store") as log:
            broken, sound = overviews(log)
            assert (broken.name, broken.head.entries, broken.spent) == (names[0], 41, Spent())
            assert broken.problem
            assert (sound.problem, sound.spent.calls) == ("", 40)
            overviews(log)
        assert reads == [*names, names[0]]

    def test_a_fork_that_was_damaged_since_is_listed_with_its_problem(self, tmp_path: Path) -> None:
        with open_store(tmp_path / "store") as log:
            link = Link(relation="fork", session="s", event="e1")
            log.append("fork", [compose(link, id="link", time=None)])
            Story(log, "s").says(user("hello"))
            assert len(overviews(log)) == 2
        damage(tmp_path / "store", 1, 1)
        with open_store(tmp_path / "store") as log:
            found = {each.name: each.problem for each in overviews(log)}
        assert (found["s"], "'fork'" in found["fork"]) == ("", True)

    def test_a_store_without_room_is_read_each_time(self, reads: list[str]) -> None:
        class Full(MemoryLog):
            def keep(self, derived: Iterable[tuple[bytes, bytes]]) -> None:  # noqa: ARG002
                raise StoreError("store", "is full", "make room")

        log = Full()
        Story(log).says(user("hello"))
        assert overviews(log) == overviews(log)
        assert reads == ["s", "s"]

    def test_a_title_that_has_no_utf_8_form_is_shown(self, store: EventLog, tmp_path: Path) -> None:
        text = pi_session("s", folder="/home/user", text="half \ud83d")
        bring(store, tmp_path / "s.jsonl", text)
        assert [the(store).first_request for _ in range(2)] == ["half \ud83d"] * 2


def assert_figures_are_those_of_audit_and_tree(store: EventLog) -> None:
    found = overviews(store)
    assert overviews(store) == found
    for each in found:
        spent = session_cost(store, each.name, prices=library_prices()).spent
        audited, found_tree = audit(store, each.name), tree(store, each.name)
        compactions = {
            compaction.id
            for node in found_tree.nodes
            if not node.children
            for compaction in audit(store, each.name, leaf=node.id).compactions
        }
        assert (each.spent.calls, each.branches, each.compactions) == (
            spent.calls,
            found_tree.ends,
            len(compactions),
        )
        assert (each.spent.cost is None, each.spent.without_cost) == (spent.cost is None, spent.without_cost)
        assert (each.spent.cost or 0) == pytest.approx(spent.cost or 0, rel=1e-9)
        assert (each.title or each.first_request, each.head.entries) == (audited.title, audited.entries)


@pytest.mark.parametrize("seed", range(12))
def test_the_figures_are_those_of_audit_and_tree_for_any_session(
    store: MemoryLog, tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    claude_code.bring(store, tmp_path / "c.jsonl", *claude_code.some_session(rng, 40))
    bring(store, tmp_path / "o.jsonl", oh_my_pi_sessions.file_of(oh_my_pi_sessions.entries_of(rng, 40)))
    assert_figures_are_those_of_audit_and_tree(store)


@pytest.mark.long
def test_the_figures_are_those_of_audit_and_tree_for_every_session_of_the_corpus(
    corpus: Path, store: MemoryLog
) -> None:
    for harness in harnesses():
        for file in sorted((corpus / harness.name).rglob("*.jsonl")) if harness.name != "refold" else ():
            import_sessions(store, file)
    assert len(overviews(store)) > 10
    assert_figures_are_those_of_audit_and_tree(store)
