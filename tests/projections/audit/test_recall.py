"""Recall, kind by kind, on sessions whose figures are worked out by hand, and on any against a plain search."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from eventstore.records import BranchSummary, Compaction, Rewrite, TextReplacement
from projections.audit.losses import KindRecall, recall
from projections.mentions import MentionKind
from projections.mentions.message_facts import SessionFacts
from tests.projections.test_replacement import replacements
from tests.support.examples import examples
from tests.support.mentions import THINGS, names, runs, sessions, told, touches
from tests.support.talk import assistant, call, result, shell, thinking, user

NAMED = {
    "symbols": MentionKind.SYMBOL,
    "identifiers": MentionKind.IDENTIFIER,
    "errors": MentionKind.ERROR,
    "urls": MentionKind.URL,
    "quantities": MentionKind.QUANTITY,
}


def recalls(log):
    facts = SessionFacts()
    return [recall(each, facts) for each in replacements(log)]


def by_kind(log):
    """The kinds of the last replacement by name."""
    return {each.kind: each for each in recalls(log)[-1].kinds}


def compaction(summary, first_kept=""):
    return Compaction(summary=summary, first_kept_entry_id=first_kept, tokens_before=9)


def lost(log, kind):
    return by_kind(log)[kind].lost


def test_kinds_stand_in_one_order_whether_there_are_such_things_or_not(story):
    story.says(user("one"))
    story.add(compaction("nothing"))
    (only,) = recalls(story.log)
    assert [each.kind for each in only.kinds] == [
        "paths-read",
        "paths-modified",
        "symbols",
        "identifiers",
        "errors",
        "urls",
        "quantities",
        "commands",
    ]


def test_where_nothing_was_to_be_found_there_is_no_share(story):
    story.says(user("one"))
    story.add(compaction("nothing"))
    (only,) = recalls(story.log)
    assert (only.total, only.found, only.share, {each.share for each in only.kinds}) == (0, 0, None, {None})


@pytest.mark.parametrize(
    ("kind", "named", "left_out"),
    [
        ("symbols", "parse_header", "flushQueue"),
        ("identifiers", *THINGS[MentionKind.IDENTIFIER]),
        ("errors", "ValueError: bad header in line 7", "KeyError: nothing at all"),
        ("urls", "https://example.com/x", "https://example.org/y"),
        ("quantities", "250 MB", "40 ms"),
    ],
)
def test_what_a_summary_names_is_found_and_the_rest_lost(story, kind, named, left_out):
    story.says(result(f"{named}\n{left_out}"))
    story.add(compaction(named))
    assert by_kind(story.log)[kind] == KindRecall(kind=kind, total=2, found=1, share=0.5, lost=[left_out])


def test_commands_are_those_of_calls_and_of_the_person(story):
    story.says(assistant(call("bash", command="pytest -q")), shell("git status"), user("try npm test"))
    story.add(compaction("run pytest -q"))
    assert by_kind(story.log)["commands"] == KindRecall(
        kind="commands", total=2, found=1, share=0.5, lost=["git status"]
    )


def test_a_path_that_was_modified_counts_as_modified_alone(story):
    story.says(assistant(call("read", path="src/a.py"), call("read", path="src/b.py")))
    story.says(assistant(call("edit", path="src/a.py")))
    story.add(compaction("nothing"))
    assert (lost(story.log, "paths-read"), lost(story.log, "paths-modified")) == (["src/b.py"], ["src/a.py"])


def test_a_path_counts_once_in_whatever_forms_it_stands(story):
    story.says(assistant(call("read", path="src/a.py"), call("read", path="./src/b.py")))
    story.says(assistant(call("edit", path="/repo/src/a.py"), call("read", path="src/b.py")))
    story.add(compaction("nothing"))
    assert (lost(story.log, "paths-read"), lost(story.log, "paths-modified")) == (
        ["src/b.py"],
        ["/repo/src/a.py"],
    )


def test_a_path_that_no_call_touched_was_neither_read_nor_modified(story):
    story.says(user("see src/a.py"))
    story.add(compaction("nothing"))
    assert (lost(story.log, "paths-read"), lost(story.log, "paths-modified")) == ([], [])


def test_a_summary_may_name_a_path_in_its_short_form(story):
    story.says(assistant(call("read", path="/repo/src/a.py"), call("read", path="/repo/src/b.py")))
    story.add(compaction("- src/a.py\n- b.py"))
    assert by_kind(story.log)["paths-read"].found == 2


def test_what_a_kept_message_names_was_not_removed(story):
    story.says(result("250 MB\n40 ms"), user("40 ms is too slow"))
    story.add(compaction("nothing", "e2"))
    assert lost(story.log, "quantities") == ["250 MB"]


def test_thinking_that_is_removed_has_things_to_lose(story):
    story.says(assistant(thinking("call `parse_header`"), "done"))
    story.add(compaction("nothing"))
    assert lost(story.log, "symbols") == ["parse_header"]


def test_losses_stand_in_order_of_appearance(story):
    story.says(result("40 ms, 250 MB"), result("7 GB, 40 ms"))
    story.add(compaction("nothing"))
    assert lost(story.log, "quantities") == ["40 ms", "250 MB", "7 GB"]


def test_a_second_compaction_can_lose_what_the_first_summary_named(story):
    story.says(result("250 MB"))
    story.add(compaction("250 MB"))
    story.says(user("go on"))
    story.add(compaction("nothing"))
    assert [each.found for each in recalls(story.log)] == [1, 0]


def test_messages_that_return_name_things_again(story):
    story.says(user("one"), result("250 MB"), user("three"))
    story.add(compaction("the size is 250 MB", "e3"))
    story.add(compaction("nothing", "e2"))
    second = recalls(story.log)[1]
    assert (second.total, second.found) == (1, 1)


def test_a_rewrite_is_asked_for_what_its_targets_named(story):
    story.says(user("250 MB"), result("250 MB\n40 ms\n7 GB"))
    story.add(Rewrite(reason="prune", targets=[TextReplacement(target="e2", text="[cut: 40 ms]")]))
    assert by_kind(story.log)["quantities"] == KindRecall(
        kind="quantities", total=2, found=1, share=0.5, lost=["7 GB"]
    )


def test_a_branch_summary_is_asked_for_what_the_branch_that_was_left_named(story):
    story.says(user("250 MB"))
    story.says(result("40 ms\n7 GB"))
    story.add(BranchSummary(from_id="e1", summary="it took 40 ms", left="e2"), parent="e1")
    assert by_kind(story.log)["quantities"] == KindRecall(
        kind="quantities", total=2, found=1, share=0.5, lost=["7 GB"]
    )


@settings(max_examples=examples(200))
@given(steps=sessions)
def test_recall_is_what_a_plain_search_finds(steps):
    log = told(steps)
    for replacement, found in zip(replacements(log), recalls(log), strict=True):
        removed, kept, after = (
            [part.raw for part in parts]
            for parts in (replacement.removed, replacement.kept, replacement.after.parts)
        )
        modified = {path for raw in removed for path in touches(raw, "edit")}
        had = {
            "paths-read": {path for raw in removed for path in touches(raw, "read")} - modified,
            "paths-modified": modified,
            "commands": {command for raw in removed for command in runs(raw)},
        }
        for name, kind in NAMED.items():
            had[name] = {thing for thing in THINGS[kind] if any(names(raw, thing) for raw in removed)}
        for each in found.kinds:
            gone = {thing for thing in had[each.kind] if not any(names(raw, thing) for raw in kept)}
            assert each.total == len(gone)
            assert set(each.lost) == {thing for thing in gone if not any(names(raw, thing) for raw in after)}


@given(steps=sessions)
def test_kinds_add_up(steps):
    for found in recalls(told(steps)):
        assert found.total == sum(each.total for each in found.kinds)
        assert found.found == sum(each.found for each in found.kinds)
        for each in found.kinds:
            assert each.total - each.found == len(each.lost) == len(set(each.lost))
