"""Find content that was sent but not recorded, by harnesses' notes and by usage."""

from __future__ import annotations

import pytest

from eventstore import open_store
from eventstore.files.importing import import_file
from eventstore.memory import MemoryLog
from projections.audit.gaps import CLEARED, INTERRUPTED, UNRECORDED, context_gaps
from projections.audit.session import audit
from projections.context.build import build_context
from projections.rules.base import SENT_AGAIN
from projections.tokens import counter
from tests.support import claude_code
from tests.support.events import NOW
from tests.support.madeup.sessions import bring, say
from tests.support.pi_files import header, line
from tests.support.talk import assistant, user

HEAD = "system prompt and tool definitions"
FIXED = 5000
"""Tokens that a provider counts before the messages."""


def long(tokens):
    return "word" * tokens


def turn(number, more=0, grows=1000):
    """A request that is larger than the one before by so many tokens, and an answer that measured it."""
    return user(long(grows)), assistant("", usage={"input": FIXED + grows * number + more, "output": 1})


def in_context(log, session="s", leaf=None):
    with log.snapshot() as snapshot:
        context = build_context(snapshot, session, leaf=leaf)
        return figures(context_gaps(snapshot, context, counter("utf16/4")))


def on_path(log, session="s"):
    return figures(audit(log, session).gaps)


def figures(gaps):
    return [(gap.what, gap.event, gap.tokens) for gap in gaps]


def test_what_stands_before_the_messages_is_as_large_as_the_first_call_says(story):
    story.says(*turn(1), *turn(2), *turn(3))
    assert in_context(story.log) == on_path(story.log) == [(HEAD, None, FIXED)]


def test_without_usage_nobody_knows_its_size(story):
    story.says(user("go"), assistant("done"))
    assert in_context(story.log) == on_path(story.log) == [(HEAD, None, None)]


def test_an_empty_context_has_no_gaps(story):
    story.says(user("go"))
    with story.log.snapshot() as snapshot:
        context = build_context(snapshot, "s", as_of=0)
        assert context_gaps(snapshot, context, counter("utf16/4")) == []


def test_a_prompt_that_is_in_a_record_is_no_gap(store, tmp_path):
    prompt = {"systemPrompt": "You help.", "tools": ["read"]}
    records = [
        header(),
        line({"type": "session_init", "id": "p1", "parentId": None, **prompt}),
        line({"type": "message", "id": "m1", "parentId": "p1", "message": user("go")}),
    ]
    (tmp_path / "session.jsonl").write_bytes(b"".join(records))
    session = import_file(store, tmp_path / "session.jsonl").id
    assert in_context(store, session) == on_path(store, session) == [("tool definitions", None, None)]


@pytest.mark.parametrize(("more", "what"), [(4000, UNRECORDED), (-4000, CLEARED)])
def test_a_jump_of_the_size_is_a_gap_at_the_call_that_measured_it(story, more, what):
    story.says(*turn(1), *turn(2), *turn(3), *turn(4, more), *turn(5, more))
    assert in_context(story.log) == on_path(story.log) == [(HEAD, None, FIXED), (what, "e8", more)]


def test_what_is_gone_after_an_interrupted_answer_has_that_cause(story):
    half = assistant("half", stopReason="aborted")
    story.says(*turn(1), *turn(2), *turn(3), user("go on"), half, *turn(4, -4000), *turn(5, -4000))
    assert [what for what, _, _ in on_path(story.log)] == [HEAD, INTERRUPTED]


def test_a_small_difference_is_none(story):
    story.says(*turn(1), *turn(2), *turn(3), *turn(4, 2000), *turn(5, 2000))
    assert in_context(story.log) == on_path(story.log) == [(HEAD, None, FIXED)]


def test_what_a_compaction_brought_back_is_measured_by_the_next_call(store, tmp_path, pi):
    for number in range(1, 6):
        asked, answered = turn(number)
        pi.says(f"u{number}", asked)
        pi.says(f"a{number}", answered)
    pi.compacts("c1", "u5", summary=long(100))
    asked, answered = turn(0, 1000 + 100 + 1000 + 9000)
    pi.says("u6", asked)
    pi.says("a6", answered)
    session = pi.store_in(store, tmp_path)
    assert (
        in_context(store, session)
        == on_path(store, session)
        == [(HEAD, None, FIXED), (UNRECORDED, "a6", 9000)]
    )


@pytest.mark.slow
def test_behind_a_long_history_the_newest_calls_tell_the_sizes(store, tmp_path, pi):
    for number in range(1, 601):
        asked, answered = turn(number, grows=10)
        pi.says(f"u{number}", asked)
        pi.says(f"a{number}", answered)
    pi.compacts("c1", "u600", summary=long(100))
    for name, more in ("last1", 0), ("last2", 9000):
        asked, answered = turn(0, 10 + 100 + 10 * (2 if name == "last2" else 1) + more)
        pi.says(f"u-{name}", user(long(10)))
        pi.says(name, answered)
    session = pi.store_in(store, tmp_path)
    assert in_context(store, session) == [(HEAD, None, FIXED), (UNRECORDED, "last2", 9000)]


@pytest.mark.usefixtures("madeup")
class TestOfAHarness:
    @pytest.fixture
    def told(self, tmp_path):
        """A session in which something was sent behind its third record, 3,000 tokens large."""
        log = MemoryLog()
        bring(
            log,
            tmp_path,
            say("a", None),
            say("b", "a", "model", tokens=5000),
            say("c", "b", unsaid="a reminder"),
            say("d", "c", "model", tokens=8000),
        )
        return log

    def test_a_gap_that_it_names_gets_the_size_that_usage_tells(self, told):
        (first, second) = in_context(told, "one")
        assert first[:2] == (HEAD, None)
        assert second[:2] == ("a reminder", "c")
        assert second[2] == pytest.approx(3000, abs=20)
        assert on_path(told, "one") == [first, second]

    @pytest.mark.parametrize(("size", "rest"), [(-1000, 3000), (1000, None)])
    def test_of_a_gap_of_known_size_the_rest_is_unexplained(self, tmp_path, size, rest):
        """Content that was removed is in no context, so that usage does not tell of it."""
        log = MemoryLog()
        bring(
            log,
            tmp_path,
            say("a", None),
            say("b", "a", "model", tokens=5000),
            say("c", "b", unsaid="a reminder", size=size),
            say("d", "c", "model", tokens=8000),
        )
        _, *found = in_context(log, "one")
        # The provider counts three tokens for one of the estimate, the most that is believed.
        assert found[0] == ("a reminder", "c", 3 * size)
        assert [name for _, name, _ in found[1:]] == ([] if rest is None else ["d"])

    def test_without_a_later_call_its_size_is_unknown(self, told):
        assert in_context(told, "one", leaf="c")[1:] == [("a reminder", "c", None)]


@pytest.mark.parametrize(
    ("name", "at"), [("pi-mono-before-compaction.v3", [0]), ("pi-mono-large-session.v1", [0])]
)
def test_real_sessions_have_few_gaps(corpus, tmp_path, name, at):
    with open_store(tmp_path / "store", clock=lambda: NOW) as log:
        session = import_file(log, corpus / "pi" / f"{name}.jsonl").id
        assert [gap.seq for gap in audit(log, session).gaps] == at


def test_a_context_and_an_audit_of_a_real_session_give_the_same_gaps(corpus, tmp_path):
    with open_store(tmp_path / "store", clock=lambda: NOW) as log:
        session = import_file(log, corpus / "claude-code" / "6113e919-3auto.jsonl").id
        gaps = on_path(log, session)
        assert in_context(log, session) == [gaps[0], *gaps[-1:]]
        assert [name for name, _, _ in in_context(log, session, "6ebd54d5-cf29-4953-a996-cdad42437e2b")] == [
            "system prompt, tool definitions and memory files",
            "parallel results lost on resuming",
        ]


class TestOfClaudeCode:
    """A turn is 1,000 tokens larger than the one before, by estimate and by the provider's count."""

    HEAD = "system prompt, tool definitions and memory files"

    @staticmethod
    def turn(number, *, above=None, more=0, size=1000):
        """A request and its answer, which measured it and `more`."""
        measured = {"input_tokens": FIXED + size * number + more, "output_tokens": 1}
        return [
            claude_code.said(f"u{number}", above or (f"a{number - 1}" if number > 1 else None), long(size)),
            claude_code.answer(f"a{number}", f"u{number}", f"m{number}", "", usage=measured),
        ]

    @staticmethod
    def figures_of(tmp_path, lines, version=b"2.1.170"):
        log = MemoryLog()
        lines = [each.replace(b"2.1.170", version) for each in lines]
        claude_code.bring(log, tmp_path / "s.jsonl", *lines)
        return in_context(log, claude_code.SESSION), on_path(log, claude_code.SESSION)

    def test_prompt_tools_and_memory_files_are_as_large_as_the_first_call_says(self, tmp_path):
        lines = [line for number in range(1, 5) for line in self.turn(number)]
        at_leaf, audited = self.figures_of(tmp_path, lines)
        assert at_leaf == audited == [(self.HEAD, None, FIXED)]

    def test_results_that_were_cleared_without_a_record_are_found_by_the_next_call(self, tmp_path):
        """Newer versions clear results by time or on the server, and record neither."""
        before = [line for number in range(1, 4) for line in self.turn(number)]
        after = [line for number in range(4, 6) for line in self.turn(number, more=-3000)]
        at_leaf, audited = self.figures_of(tmp_path, before + after)
        assert at_leaf == audited == [(self.HEAD, None, FIXED), (CLEARED, "a4", -3000)]

    def compacted(self, more):
        lines = [line for number in range(1, 6) for line in self.turn(number)]
        lines += [claude_code.boundary("b", "a5"), claude_code.summary("c", "b", long(1000))]
        return lines + self.turn(6, above="c", more=more - 4000)

    def test_files_that_old_versions_restored_after_a_compaction_are_sized(self, tmp_path):
        restored = "files and lists sent again after a compaction"
        at_leaf, audited = self.figures_of(tmp_path, self.compacted(9000), b"2.1.25")
        assert at_leaf == audited == [(self.HEAD, None, FIXED), (restored, "c", 9000)]

    def test_the_prompts_size_is_the_least_surplus(self, tmp_path):
        at_leaf, audited = self.figures_of(tmp_path, self.compacted(-1000), b"2.1.25")
        restored = "files and lists sent again after a compaction"
        assert at_leaf == audited == [(self.HEAD, None, FIXED - 1000), (restored, "c", None)]

    def test_midway_files_have_no_size_of_a_prompt(self, tmp_path):
        lines = self.compacted(9000)
        lines[0] = lines[0].replace(b'"parentUuid":null', b'"parentUuid":"before"')
        at_leaf, audited = self.figures_of(tmp_path, lines, b"2.1.25")
        restored = "files and lists sent again after a compaction"
        assert at_leaf == audited == [(self.HEAD, None, None), (restored, "c", None)]

    def test_newer_versions_record_what_they_restore(self, tmp_path):
        at_leaf, audited = self.figures_of(tmp_path, self.compacted(0))
        # The line end behind the summary is a token more.
        assert at_leaf == audited == [(self.HEAD, None, FIXED - 1)]


REAL = {
    "0708a5fa-snap3": [12_773, None, 3_724],
    "6113e919-3auto": [42_389, -15_311, 20_404, 14_665, 12_579],
    "67d765b5-manual": [40_163, 8_051],
    "aefcb05b": [34_215, None, 3_216],
}
"""The sizes of the gaps of Claude Code's sessions: what is before the messages, then what only usage reveals.

Words around attachments, None, are in no record of those that have attachments, and no count tells their size.
"""


@pytest.mark.parametrize("name", REAL)
def test_real_sessions_of_claude_code_have_their_gaps_sized(corpus, tmp_path, name):
    with open_store(tmp_path / "store", clock=lambda: NOW) as log:
        session = import_file(log, corpus / "claude-code" / f"{name}.jsonl").id
        audited, at_leaf = on_path(log, session), in_context(log, session)
    assert [tokens for _, _, tokens in audited] == REAL[name]
    assert audited[0][0] == at_leaf[0][0] == TestOfClaudeCode.HEAD
    assert set(at_leaf) <= set(audited)
    assert at_leaf[-1] == audited[-1]


def test_restored_content_without_a_record_is_a_gap(tmp_path):
    """The provider counts as many tokens as refold, 9,000 more than its messages behind the compaction."""
    log = MemoryLog()
    lines = [each.replace(b"2.1.170", b"2.1.25") for each in TestOfClaudeCode().compacted(9000)]
    claude_code.bring(log, tmp_path / "s.jsonl", *lines)
    found = audit(log, claude_code.SESSION)
    size = found.compactions[0].metrics.size
    assert (size.restored, size.after) == (0, 1000)
    assert [gap.tokens for gap in found.gaps if gap.what == SENT_AGAIN] == [9000]
