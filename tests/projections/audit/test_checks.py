"""Contexts beside what the records of their session say of them."""

from __future__ import annotations

import pytest

from eventstore import open_store
from eventstore.files.importing import import_file, import_sessions
from eventstore.memory import MemoryLog
from projections.audit.checks import CLAIMS, JUMPS, PREFIXES, STRUCTURE, check_session
from tests.support import claude_code
from tests.support.events import NOW
from tests.support.growth import NO_SQUARE, times_as_long
from tests.support.madeup.sessions import bring, record, say
from tests.support.pi_files import header, line, said
from tests.support.talk import assistant, user


def long(tokens):
    """A text of so many tokens, by estimate."""
    return "word" * tokens


def answer(text="a", *, read=0, written=0, fresh=0, **fields):
    """An answer to a prompt of so many tokens, read from the cache, written to it, or neither; it is one more."""
    usage = {
        "input": fresh,
        "output": 1,
        "cacheRead": read,
        "cacheWrite": written,
        "totalTokens": read + written + fresh + 1,
    }
    return assistant(text, usage=usage, **fields)


def results(log, session="s"):
    return {each.name: each for each in check_session(log, session).results}


def figures(result):
    return [(each.event, each.expected, each.found) for each in result.failures]


class TestPrefixes:
    def test_a_request_that_begins_like_the_one_before_is_as_its_cache_says(self, story):
        story.says(user("go"), answer(written=100), user("on"), answer(read=100, written=10))
        result = results(story.log)[PREFIXES]
        assert (result.exact, result.checked, result.passed, result.worst) == (True, 1, 1, None)

    def test_a_context_that_begins_otherwise_is_reported_with_its_record(self, store, tmp_path, pi):
        pi.says("a1", user("go"))
        pi.says("a2", answer(written=100))
        pi.says("a3", user("elsewhere"), parent=None)
        pi.says("a4", answer(read=100, written=10))
        found = check_session(store, pi.store_in(store, tmp_path))
        (failure,) = found.failed
        assert (failure.name, failure.event, failure.seq) == (PREFIXES, "a4", 4)
        assert (failure.expected, failure.found, failure.unit) == (1, 0, "messages")
        assert next(each for each in found.results if each.name == PREFIXES).worst == failure

    @pytest.mark.parametrize("read", [0, 99, 101])
    def test_a_request_that_read_anything_else_says_nothing(self, story, read):
        story.says(user("go"), answer(written=100), user("on"), answer(read=read, written=10))
        assert results(story.log)[PREFIXES].checked == 0

    def test_a_request_that_wrote_nothing_to_the_cache_says_nothing(self, story):
        story.says(user("go"), answer(read=100, fresh=5), user("on"), answer(read=100, fresh=10))
        assert results(story.log)[PREFIXES].checked == 0

    def test_another_model_has_another_cache(self, story):
        story.says(user("go"), answer(written=100), answer(read=100, model="n"))
        assert results(story.log)[PREFIXES].checked == 0

    def test_calls_of_every_branch_are_checked(self, store, tmp_path, pi):
        pi.says("a1", user("go"))
        pi.says("a2", answer(written=100))
        pi.says("a3", user("left"))
        pi.says("a4", answer(read=100, written=10))
        pi.says("b3", user("right"), parent="a2")
        pi.says("b4", answer(read=110, written=10))
        result = results(store, pi.store_in(store, tmp_path))[PREFIXES]
        assert (result.checked, figures(result)) == (2, [("b4", 3, 2)])


class TestCompactions:
    def test_a_context_of_the_summary_and_what_is_kept_is_as_expected(self, store, tmp_path, pi):
        pi.says("a1", user("go"))
        pi.says("a2", user("stays"))
        pi.compacts("a3", "a2")
        result = results(store, pi.store_in(store, tmp_path))[STRUCTURE]
        assert (result.exact, result.checked, result.passed) == (True, 1, 1)

    @pytest.mark.parametrize(("claimed", "passed"), [(980, True), (1020, True), (970, False), (1041, False)])
    def test_a_claim_is_held_against_the_last_call(self, store, tmp_path, pi, claimed, passed):
        pi.says("a1", user(long(10)))
        pi.says("a2", answer(written=1000))
        pi.compacts("a3", "a2", tokensBefore=claimed)
        result = results(store, pi.store_in(store, tmp_path))[CLAIMS]
        assert (result.exact, result.checked, result.passed) == (False, 1, int(passed))

    def test_a_claim_may_count_what_came_behind_the_call(self, store, tmp_path, pi):
        pi.says("a1", user(long(10)))
        pi.says("a2", answer(written=1000))
        pi.says("a3", user(long(500)))
        pi.compacts("a4", "a3", tokensBefore=1500)
        assert results(store, pi.store_in(store, tmp_path))[CLAIMS].failures == []

    def test_a_call_above_the_compaction_before_measured_another_context(self, store, tmp_path, pi):
        pi.says("a1", user("go"))
        pi.says("a2", answer(written=1000))
        pi.compacts("a3", "a2", tokensBefore=1000)
        pi.compacts("a4", "a2", tokensBefore=50)
        assert results(store, pi.store_in(store, tmp_path))[CLAIMS].checked == 1


class TestJumps:
    TURNS = tuple(
        message
        for number in range(1, 6)
        for message in (user(long(1000)), answer("", written=20_000 + 1500 * number))
    )
    """Each call sends 1,000 tokens more by estimate, 1,500 by the provider's count."""

    @pytest.mark.parametrize(("more", "passed"), [(0, True), (2400, True), (2600, False), (-2600, False)])
    def test_a_call_that_measured_more_than_the_context_grew_by_is_reported(self, story, more, passed):
        story.says(*self.TURNS, user(long(1000)), answer("", written=20_000 + 1500 * 6 + more))
        result = results(story.log)[JUMPS]
        assert (result.exact, result.checked) == (False, 5)
        expected = [] if passed else [("e12", 29_000, 29_000 + more)]
        assert figures(result) == expected

    def test_in_a_large_context_there_is_more_room(self, story):
        story.says(user("go"), answer("", written=200_000), user(long(1000)), answer("", written=206_000))
        assert results(story.log)[JUMPS].failures == []

    def test_jumps_are_no_errors(self, story):
        story.says(*self.TURNS, user(long(1000)), answer("", written=100_000))
        found = check_session(story.log, "s")
        assert (found.failed, len(results(story.log)[JUMPS].failures)) == ([], 1)


def test_a_session_that_says_nothing_has_nothing_to_check(story):
    story.says(user("go"), assistant("done"))
    found = check_session(story.log, "s")
    assert found.failed == []
    assert [(each.checked, each.passed, each.worst) for each in found.results] == [(0, 0, None)] * 4


@pytest.mark.usefixtures("madeup")
class TestHarnessesOwn:
    def test_what_only_a_harness_says_is_checked_first(self, tmp_path):
        log = MemoryLog()
        bring(
            log,
            tmp_path,
            say("a", None),
            say("b", "a", "model", group="g"),
            say("c", "b", "model", group="g"),
            record("tally", "n", None, at="c", count=2),
            record("tally", "o", None, at="c", count=3),
        )
        found = check_session(log, "one")
        assert found.results[0].name == "tallies"
        assert found.results[0].exact
        assert figures(found.results[0]) == [("o", 3, 2)]
        assert found.failed == found.results[0].failures

    def test_a_message_of_several_records_is_one_call(self, tmp_path):
        log = MemoryLog()
        bring(
            log,
            tmp_path,
            say("a", None),
            say("b", "a", "model", group="g", tokens=100),
            say("c", "b", "model", group="g", tokens=100),
            say("d", "c"),
            say("e", "d", "model", tokens=110),
        )
        assert results(log, "one")[JUMPS].checked == 1


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("pi/pi-mono-before-compaction.v1", [(443, []), (2, []), (2, []), (464, [])]),
        ("pi/pi-mono-before-compaction.v3", [(443, []), (2, []), (2, []), (464, [])]),
        ("pi/pi-mono-large-session.v1", [(384, []), (0, []), (0, []), (430, [])]),
        ("claude-code/0708a5fa-snap1", [(2, []), (32, []), (0, []), (0, []), (33, [])]),
        ("claude-code/0708a5fa-snap3", [(8, []), (81, []), (0, []), (0, []), (85, [254])]),
        ("claude-code/6113e919-3auto", [(188, []), (3, []), (3, []), (224, [238, 524, 880])]),
        ("claude-code/67d765b5-manual", [(55, []), (1, []), (1, []), (60, [340])]),
        ("claude-code/aefcb05b", [(17, []), (139, []), (0, []), (0, []), (145, [110])]),
    ],
)
def test_real_sessions_are_as_their_records_say(corpus, tmp_path, name, expected):
    with open_store(tmp_path / "store", clock=lambda: NOW) as log:
        found = check_session(log, import_file(log, corpus / f"{name}.jsonl").id)
    assert [(each.checked, [failure.seq for failure in each.failures]) for each in found.results] == expected


def test_a_session_and_its_subagents_are_as_their_records_say(corpus, tmp_path):
    with open_store(tmp_path / "store", clock=lambda: NOW) as log:
        folder = corpus / "claude-code" / "worktrees"
        sessions = [
            found.id for path in sorted(folder.rglob("*.jsonl")) for found in import_sessions(log, path)
        ]
        checks = [check_session(log, session) for session in sessions]
    prefixes = [each for found in checks for each in found.results if each.name == PREFIXES]
    assert len(sessions) == 7
    assert [check for found in checks for check in found.failed] == []
    assert sum(each.checked for each in prefixes) == 64


def pi_lines(turns):
    yield header()
    for turn in range(turns):
        above = f"a{turn - 1}" if turn else None
        yield said("go on " * 9, f"u{turn}", above)
        message = answer(read=10 * turn, written=10)
        yield line({"type": "message", "id": f"a{turn}", "parentId": f"u{turn}", "message": message})


def claude_code_lines(turns):
    for turn in range(turns):
        above = f"r{turn - 1}" if turn else None
        usage = {"output_tokens": 1, "cache_read_input_tokens": 10 * turn, "cache_creation_input_tokens": 10}
        call = claude_code.call(f"k{turn}", file_path="a.py")
        yield claude_code.answer(f"a{turn}", above, f"m{turn}", call, usage=usage) + b"\n"
        yield claude_code.result(f"r{turn}", f"a{turn}", f"k{turn}", "some lines " * 9) + b"\n"


@pytest.mark.slow
@pytest.mark.parametrize("lines", [pi_lines, claude_code_lines])
def test_the_time_for_all_calls_of_a_session_grows_with_it(tmp_path, lines):
    sessions = {}
    with open_store(tmp_path / "store", clock=lambda: NOW) as log:
        for turns in (150, 1200):
            path = tmp_path / f"{turns}.jsonl"
            path.write_bytes(b"".join(lines(turns)))
            sessions[turns] = import_file(log, path, name=f"of-{turns}").id
        assert results(log, sessions[1200])[PREFIXES].passed == 1199
        assert times_as_long(lambda turns: check_session(log, sessions[turns]), 150, 1200) < NO_SQUARE
