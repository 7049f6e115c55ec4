"""Audit sessions whose figures are worked out by hand.

Tokens are pi's estimate: four characters are one.
"""

from __future__ import annotations

import pytest

from eventstore.errors import NotFoundError
from eventstore.records import (
    Attempt,
    BranchSummary,
    Compaction,
    CustomMessage,
    FileOperations,
    Rewrite,
    TextReplacement,
    Undone,
)
from projections.audit.session import Counts, FilesAudit, Producer, TokensAfter, TokensBefore, audit
from projections.context.cursor import ROOT
from projections.tokens import counter
from tests.support.growth import times_as_long
from tests.support.rewritten import rewritten_turns
from tests.support.talk import PiSession, Story, assistant, call, text, user

DETAILS = {"readFiles": ["a.py", "claimed.py"], "modifiedFiles": []}


def long(tokens):
    return "x" * 4 * tokens


@pytest.fixture
def two_compactions(store, tmp_path):
    """From the details of the second compaction to the audit of a session.

    a5 summarizes a1 and a2 and keeps a3 and a4; a8 keeps a7.
    """

    def audited(**second):
        session = PiSession()
        session.entry("a0", "model_change", provider="q", modelId="n")
        session.says("a1", user(long(10)))
        calls = [call("read", path="a.py"), call("edit", path="b.py")]
        session.says("a2", assistant(text(long(20)), *calls, tokens=100))
        session.says("a3", user(long(5)))
        session.says("a4", assistant(long(2), tokens=999, stop="aborted"))
        session.compacts("a5", "a3", summary=long(3), tokensBefore=104, details=DETAILS)
        session.says("a6", user(long(1)))
        session.says("a7", assistant(long(1), tokens=60))
        session.compacts("a8", "a7", summary=long(4), tokensBefore=61, **second)
        session.says("a9", assistant(long(1), tokens=55, stop="error"))
        return audit(store, session.store_in(store, tmp_path))

    return audited


@pytest.fixture
def audited(two_compactions):
    return two_compactions(details={"readFiles": [], "modifiedFiles": []})


# Of a2, the calls count 2 * 4 characters of names and 15 each of arguments: 38 characters, 10 tokens.
CALLS = 10


def test_failed_compactions_are_told_in_order_with_their_errors(story):
    asked = {"reason": "threshold", "policy": "refold", "requests": []}
    story.add(Attempt(request=asked, error="overloaded"), Attempt(request=asked, error="no such model"))
    story.add(Attempt(request={"reason": "branch", "requests": []}, error="cancelled"))
    story.add(Attempt(request={"reason": "replay", "requests": []}, error=""))
    found = audit(story.log, "s").failed_compactions
    assert [(each.id, each.seq, each.error) for each in found] == [
        ("e1", 1, "overloaded"),
        ("e2", 2, "no such model"),
    ]


def test_before_a_compaction_stand_claim_measurement_and_our_own_count(audited):
    assert audited.compactions[0].before == TokensBefore(
        claimed=104,
        measured=100,
        measured_at="a2",
        recomputed=10 + 20 + CALLS + 5,
        unexplained=100 - (10 + 20 + CALLS),
    )


def test_before_a_later_compaction_the_summary_of_the_earlier_one_counts(audited):
    context = 3 + 5 + 1 + 1
    assert audited.compactions[1].before == TokensBefore(
        claimed=61, measured=60, measured_at="a7", recomputed=context, unexplained=60 - context
    )


def test_after_a_compaction_stand_our_own_count_and_what_the_next_call_sent(audited):
    assert audited.compactions[0].after == TokensAfter(
        claimed=None, measured=53, measured_at="a7", recomputed=3 + 5
    )


def test_a_call_that_failed_measured_nothing_after_a_compaction(audited):
    assert audited.compactions[1].after == TokensAfter(
        claimed=None, measured=None, measured_at=None, recomputed=4 + 1
    )


def test_after_a_compaction_stands_all_that_was_appended_with_it(story):
    story.says(user(long(50)), user(long(5)))
    restored = CustomMessage(custom_type="restored_file", content=long(30))
    made = Compaction(summary=long(3), first_kept_entry_id="e2", tokens_before=55, tokens_after=38)
    story.add(made, restored, cause="once")
    (only,) = audit(story.log, "s").compactions
    assert only.after == TokensAfter(claimed=38, measured=None, measured_at=None, recomputed=3 + 5 + 30)
    size = only.metrics.size
    assert (size.after, size.added, size.restored, size.returned) == (38, 3, 30, 0)


def test_what_was_appended_with_a_compaction_was_not_kept_by_it(story):
    story.says(user("one"), user("two"))
    restored = CustomMessage(custom_type="restored_file", content="a file")
    story.add(Compaction(summary="s", first_kept_entry_id="ghost", tokens_before=9), restored, cause="once")
    (only,) = audit(story.log, "s").compactions
    assert (only.messages, only.first_kept) == (Counts(summarized=2, kept=0, uncovered=0), None)


def test_a_rewrite_tells_the_compaction_that_it_was_appended_with(story):
    story.says(user("one"), user(long(50)))
    cut = Rewrite(reason="cut", targets=[TextReplacement(target="e2", text="…")])
    made = Compaction(summary="s", first_kept_entry_id="e2", tokens_before=9)
    compaction = story.add(made, cause="once")
    story.add(cut, cause="once")
    story.add(cut)
    assert [each.compaction for each in audit(story.log, "s").rewrites] == [compaction, None]


@pytest.mark.slow
def test_rewrites_share_what_is_the_same_in_their_contexts():
    plain, rewritten = rewritten_turns(60, rewrites=False), rewritten_turns(60)
    # Each rewrite is compared with all messages.
    assert times_as_long(lambda log: audit(log, "s"), plain, rewritten) < 100


@pytest.fixture
def snipped(story):
    """e2 to e4 are snipped by e6, then the model needs what e3 said; e9 summarizes what is left, and it does again."""
    story.says(
        user("Start."),
        user("Never touch lib/core.py."),
        assistant("It is `def load_ports` in src/ports.py."),
        user("ok"),
        user("Go on."),
    )
    hidden = TextReplacement(target="e2", text="[snipped 3 messages]", through="e4")
    story.add(Rewrite(reason="snip", targets=[hidden]))
    story.says(assistant("I call load_ports of src/ports.py."), user("And now?"))
    story.add(Compaction(summary="Started.", first_kept_entry_id="e7", tokens_before=9))
    story.says(assistant("I call load_ports of src/ports.py."))
    return audit(story.log, "s")


def test_what_was_snipped_went_into_no_summary(snipped):
    # Of e1 to e5, e1 and e5 and one message in place of three.
    assert snipped.compactions[0].messages == Counts(summarized=3, kept=2, uncovered=0)


def test_a_first_compaction_drops_nothing(audited):
    assert audited.compactions[0].messages == Counts(summarized=2, kept=1, uncovered=0)


def test_a_window_that_begins_at_what_was_kept_drops_nothing(audited):
    assert audited.compactions[1].messages == Counts(summarized=2, kept=1, uncovered=0)


def test_a_window_that_begins_behind_the_compaction_drops_what_was_kept(two_compactions):
    without_details = two_compactions().compactions[1]
    assert without_details.messages == Counts(summarized=1, kept=1, uncovered=1)


def test_what_was_dropped_is_named(two_compactions):
    assert [each.event for each in two_compactions().compactions[1].uncovered] == ["a3"]


def test_a_compaction_says_what_it_kept_first(audited):
    assert [each.first_kept for each in audited.compactions] == ["a3", "a7"]


def test_a_compaction_that_kept_nothing_names_nothing(story):
    story.says(user("one"))
    story.add(Compaction(summary="s", first_kept_entry_id="ghost", tokens_before=9))
    (only,) = audit(story.log, "s").compactions
    assert (only.first_kept, only.messages) == (None, Counts(summarized=1, kept=0, uncovered=0))


def test_files_that_are_not_claimed_are_missing_and_those_not_touched_unfounded(audited):
    assert audited.compactions[0].files == FilesAudit(
        claimed=FileOperations(read_files=["a.py", "claimed.py"], modified_files=[]),
        recomputed=FileOperations(read_files=["a.py"], modified_files=["b.py"]),
        missing=["b.py"],
        unfounded=["claimed.py"],
    )


def test_files_are_cumulative_over_compactions(audited):
    assert audited.compactions[1].files.missing == ["a.py", "b.py"]


def test_a_compaction_without_details_claims_no_files(two_compactions):
    assert two_compactions().compactions[1].files == FilesAudit(
        claimed=None,
        recomputed=FileOperations(read_files=["a.py"], modified_files=["b.py"]),
        missing=[],
        unfounded=[],
    )


def test_missing_files_stand_in_order_of_utf16(story):
    names = ["\ue000", "\U0001f600", "a"]
    story.says(assistant(*(call("read", path=name) for name in names)))
    no_files = FileOperations(read_files=[], modified_files=[])
    story.add(Compaction(summary="s", first_kept_entry_id="ghost", tokens_before=9, details=no_files))
    assert audit(story.log, "s").compactions[0].files.missing == ["a", "\U0001f600", "\ue000"]


def test_a_compaction_says_who_made_it(audited):
    by = Producer(format="pi/3", model="p/m", from_extension=False, reason="", policy="", template="")
    assert audited.compactions[0].by == by


def test_a_compaction_of_refold_says_how_it_was_made(story):
    story.says(user("one"))
    record = Compaction(
        summary="s",
        first_kept_entry_id="e1",
        tokens_before=9,
        reason="manual",
        policy="pi",
        template="short",
        from_extension=True,
    )
    story.add(record)
    by = Producer(
        format="refold/1", model=None, from_extension=True, reason="manual", policy="pi", template="short"
    )
    assert audit(story.log, "s").compactions[0].by == by


def test_a_summary_is_given_with_its_tokens_and_time(audited):
    first = audited.compactions[0]
    assert (first.summary, first.summary_tokens, first.time) == (long(3), 3, "2025-12-08T22:00:06.000Z")


def test_claims_that_are_no_numbers_are_none(store, tmp_path, pi):
    pi.compacts("a1", "ghost", tokensBefore="many", tokensAfter=True)
    (only,) = audit(store, pi.store_in(store, tmp_path)).compactions
    assert (only.before.claimed, only.after.claimed) == (None, None)


def test_a_call_from_before_the_compaction_before_measured_another_context(story):
    _, kept = story.says(user("one"), assistant("kept", tokens=100))
    for _ in range(2):
        story.add(Compaction(summary="s", first_kept_entry_id=kept, tokens_before=9))
    assert [each.before.measured for each in audit(story.log, "s").compactions] == [100, None]


def test_a_call_under_a_compaction_that_was_undone_measured_another_context(story):
    _, kept = story.says(user("one"), assistant("kept", tokens=100))
    undone = story.add(Compaction(summary="s", first_kept_entry_id=kept, tokens_before=9))
    story.says(assistant("small", tokens=30))
    story.add(Undone(target_id=undone))
    story.add(Compaction(summary="s", first_kept_entry_id=kept, tokens_before=9))
    before = audit(story.log, "s").compactions[1].before
    assert (before.measured, before.measured_at) == (100, kept)


def test_a_call_behind_an_undo_measured_no_context_of_the_compaction(story):
    _, kept = story.says(user("one"), assistant("kept", tokens=100))
    undone = story.add(Compaction(summary="s", first_kept_entry_id=kept, tokens_before=9))
    story.add(Undone(target_id=undone))
    story.says(assistant("large", tokens=130))
    assert audit(story.log, "s").compactions[0].after.measured is None


def test_a_call_behind_a_compaction_that_was_brought_back_measured_its_context(story):
    _, kept = story.says(user("one"), assistant("kept", tokens=100))
    undo = story.add(
        Undone(target_id=story.add(Compaction(summary="s", first_kept_entry_id=kept, tokens_before=9)))
    )
    story.add(Undone(target_id=undo))
    (call_,) = story.says(assistant("small", tokens=30))
    after = audit(story.log, "s").compactions[0].after
    assert (after.measured, after.measured_at) == (23, call_)


def test_nothing_is_dropped_behind_a_compaction_that_was_undone(story):
    one, two, three = story.says(user("one"), user("two"), user("three"))
    undone = story.add(Compaction(summary="s", first_kept_entry_id=two, tokens_before=9))
    story.add(Undone(target_id=undone))
    story.add(Compaction(summary="s", first_kept_entry_id=three, tokens_before=9))
    second = audit(story.log, "s").compactions[1]
    assert (second.messages, one in [each.event for each in second.uncovered]) == (
        Counts(summarized=2, kept=1, uncovered=0),
        False,
    )


def test_compactions_and_rewrites_that_were_undone_say_so(story):
    one, two = story.says(user("one"), user("two"))
    rewrite = story.add(
        Rewrite(reason="prune", targets=[TextReplacement(target=one, text="1")], tokens_saved=5)
    )
    story.add(Rewrite(reason="prune", targets=[TextReplacement(target=two, text="2")]))
    compaction = story.add(Compaction(summary="s", first_kept_entry_id=two, tokens_before=9))
    story.add(Undone(target_id=compaction), Undone(target_id=rewrite))
    found = audit(story.log, "s")
    assert (
        [each.undone for each in found.compactions],
        [each.undone for each in found.rewrites],
    ) == ([True], [True, False])


def test_what_is_undone_depends_on_the_leaf(story):
    (one,) = story.says(user("one"))
    compaction = story.add(Compaction(summary="s", first_kept_entry_id=one, tokens_before=9))
    story.add(Undone(target_id=compaction))
    assert audit(story.log, "s", leaf=compaction).compactions[0].undone is False


def test_a_rewrite_says_why_what_and_how_much(story):
    (one,) = story.says(user("one"))
    story.add(Rewrite(reason="prune", targets=[TextReplacement(target=one, text="1")], tokens_saved=5))
    (only,) = audit(story.log, "s").rewrites
    assert (only.id, only.seq, only.reason, only.targets, only.tokens_saved, only.time) == (
        "e2",
        2,
        "prune",
        [one],
        5,
        "1970-01-01T00:00:02.000Z",
    )


def test_a_branch_summary_says_what_it_is_about(story):
    root = story.says(user("root"))[0]
    _, left = story.says(user("tried"), assistant(call("read", path="left.py")))
    claim = FileOperations(read_files=["claimed.py"], modified_files=[])
    story.add(BranchSummary(from_id=root, summary="no good", left=left, details=claim), parent=root)
    (only,) = audit(story.log, "s").branch_summaries
    assert (only.attached_to, only.left, only.entries, only.summary) == (root, left, 2, "no good")


def test_a_branch_summarys_files_are_those_of_the_branch_that_was_left(story):
    root = story.says(assistant(call("read", path="root.py")))[0]
    (left,) = story.says(assistant(call("read", path="left.py")))
    claim = FileOperations(read_files=["claimed.py"], modified_files=[])
    story.add(BranchSummary(from_id=root, summary="no good", left=left, details=claim), parent=root)
    (only,) = audit(story.log, "s").branch_summaries
    assert (only.files.missing, only.files.unfounded) == (["left.py"], ["claimed.py"])


@pytest.fixture
def branched(story) -> Story:
    """e3 is a compaction on a branch, e5 one on another, e6 a rewrite behind it."""
    one, _ = story.says(user("one"), user("two"))
    story.add(Compaction(summary="first", first_kept_entry_id=one, tokens_before=9))
    story.add(CustomMessage(custom_type="x", content="elsewhere"), parent=one)
    story.add(
        Compaction(summary="second", first_kept_entry_id=one, tokens_before=9),
        Rewrite(reason="prune", targets=[TextReplacement(target=one, text="1")]),
    )
    return story


def test_an_audit_is_about_the_path_to_the_leaf(branched):
    assert [each.id for each in audit(branched.log, "s").compactions] == ["e5"]


def test_an_audit_of_another_leaf_is_about_its_path(branched):
    found = audit(branched.log, "s", leaf="e3")
    assert ([each.id for each in found.compactions], found.rewrites) == (["e3"], [])


def test_an_audit_of_the_root_finds_nothing(branched):
    assert audit(branched.log, "s", leaf=ROOT).compactions == []


def test_an_audit_begins_with_the_session_and_its_context(two_compactions):
    found = two_compactions()
    assert (found.session[:8], found.title, found.leaf, found.events, found.entries) == (
        "0199aaaa",
        long(10),
        "a9",
        11,
        10,
    )


def test_an_audit_counts_the_context_at_its_leaf(audited):
    assert (audited.context_messages, audited.context_tokens) == (2, 4 + 1)


def test_an_audit_says_what_it_counted_with(story):
    story.says(user("é" * 4))
    found = audit(story.log, "s", tokens=counter("bytes/4"))
    assert (found.counter, found.exact, found.note, found.context_tokens) == ("bytes/4", False, "", 2)


def test_an_unknown_session_cannot_be_audited(log):
    with pytest.raises(NotFoundError) as refused:
        audit(log, "s")
    assert (refused.value.what, refused.value.name) == ("session", "s")
