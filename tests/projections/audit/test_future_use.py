"""Future-use recall, on sessions whose figures are worked out by hand, and on any against a plain search."""

from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import given, settings

from eventstore.records import BranchSummary, Compaction, Rewrite, TextReplacement
from projections.audit.future_use import KindFutureUse, Loss, future_use
from projections.mentions import MentionKind
from projections.mentions.message_facts import SessionFacts
from tests.projections.test_replacement import replacements
from tests.support.examples import examples
from tests.support.mentions import THINGS, names, runs, sessions, told, without_thinking
from tests.support.talk import assistant, call, result, shell, thinking, user


def future_uses(log):
    facts = SessionFacts()
    return [future_use(each, facts) for each in replacements(log)]


def first(log):
    return future_uses(log)[0]


def values(found):
    return [(loss.kind, loss.value) for loss in found.losses]


def compaction(summary="nothing", first_kept=""):
    return Compaction(summary=summary, first_kept_entry_id=first_kept, tokens_before=9)


def test_what_was_needed_and_is_not_in_the_context_is_a_loss(story):
    story.says(result("fetched from https://example.com/x"))
    story.add(compaction())
    story.says(assistant("again from https://example.com/x"))
    assert first(story.log).losses == [
        Loss(
            kind="url",
            value="https://example.com/x",
            had="e1",
            had_seq=1,
            needed="e3",
            needed_seq=3,
        )
    ]


@pytest.mark.parametrize(
    ("kind", "had", "use"),
    [
        ("path", user("in src/parser.py"), assistant(call("edit", path="src/parser.py"))),
        ("symbol", result("def parse_header(line):"), assistant("`parse_header` is wrong")),
        (
            "identifier",
            result("run " + THINGS[MentionKind.IDENTIFIER][0]),
            assistant(THINGS[MentionKind.IDENTIFIER][0]),
        ),
        ("error", result("fatal: the disk is full"), assistant("fatal: the disk is full")),
        ("quantity", user("at most 250 MB"), assistant(call("write", path="x.md", content="250 MB"))),
        ("command", shell("pytest -q"), assistant(call("bash", command="pytest -q"))),
        ("command", user("check with pytest -q"), assistant(call("bash", command="pytest -q"))),
    ],
)
def test_a_use_is_a_thing_that_a_text_or_a_calls_argument_names(story, kind, had, use):
    story.says(had)
    story.add(compaction())
    story.says(use)
    found = first(story.log)
    assert ([loss.kind for loss in found.losses], found.total, found.found) == ([kind], 1, 0)


def test_what_the_summary_names_is_found(story):
    story.says(user("250 MB, then 40 ms"))
    story.add(compaction("it was 250 MB"))
    story.says(assistant("250 MB and 40 ms"))
    found = first(story.log)
    assert (found.total, found.found, found.share, values(found)) == (2, 1, 0.5, [("quantity", "40 ms")])


def test_what_a_kept_message_names_is_found(story):
    story.says(result("250 MB"), user("250 MB"))
    story.add(compaction(first_kept="e2"))
    story.says(assistant("250 MB"))
    assert (first(story.log).total, first(story.log).found) == (1, 1)


def test_what_was_not_removed_counts_as_found(story):
    story.says(user("one"), user("250 MB"))
    story.add(compaction(first_kept="e2"))
    story.says(assistant("250 MB and 40 ms"))
    assert (first(story.log).total, first(story.log).found) == (1, 1)


def test_with_no_needs_there_is_no_share(story):
    story.says(user("one"))
    story.add(compaction())
    found = first(story.log)
    assert (found.messages, found.total, found.share) == (0, 0, None)


def test_every_kind_is_there_and_each_need_in_one(story):
    story.says(user("250 MB of src/parser.py, 40 ms"))
    story.add(compaction("src/parser.py, 40 ms"))
    story.says(assistant("250 MB, 40 ms"), assistant(call("read", path="src/parser.py")))
    nothing = [KindFutureUse(kind=kind, total=0, found=0, share=None) for kind in ("error", "url")]
    assert first(story.log).kinds == [
        KindFutureUse(kind="path", total=1, found=1, share=1.0),
        KindFutureUse(kind="symbol", total=0, found=0, share=None),
        KindFutureUse(kind="identifier", total=0, found=0, share=None),
        *nothing,
        KindFutureUse(kind="quantity", total=2, found=1, share=0.5),
        KindFutureUse(kind="command", total=0, found=0, share=None),
    ]


@pytest.mark.parametrize("again", [user("250 MB"), result("250 MB"), shell("du", "250 MB")])
def test_what_others_say_is_no_use(story, again):
    story.says(user("250 MB"))
    story.add(compaction())
    story.says(again)
    assert first(story.log).total == 0


def test_thinking_is_no_use(story):
    story.says(user("250 MB"))
    story.add(compaction())
    story.says(assistant(thinking("was it 250 MB?"), "hm"))
    assert (first(story.log).messages, first(story.log).total) == (1, 0)


@pytest.mark.parametrize("again", [user("250 MB"), result("250 MB"), shell("du", "250 MB")])
def test_what_is_named_again_before_its_use_is_no_loss(story, again):
    story.says(user("250 MB"))
    story.add(compaction())
    story.says(user("go on"), again, assistant("250 MB"))
    found = first(story.log)
    assert (found.total, found.found, found.given, values(found)) == (1, 0, 1, [])


def test_what_is_named_again_after_its_use_is_a_loss(story):
    story.says(user("250 MB"))
    story.add(compaction())
    story.says(assistant("250 MB"), user("250 MB"))
    assert values(first(story.log)) == [("quantity", "250 MB")]


def test_the_models_own_thinking_gives_nothing_back(story):
    story.says(user("250 MB"))
    story.add(compaction())
    story.says(assistant(thinking("250 MB?"), "hm"), assistant("250 MB"))
    assert values(first(story.log)) == [("quantity", "250 MB")]


DEFINED = result("def parse_header(line):")


@pytest.mark.parametrize("split", [False, True])
def test_what_the_call_that_uses_it_finds_is_a_search(story, split):
    story.says(DEFINED)
    story.add(compaction())
    asked = ["I look for `parse_header`."], [call("grep", pattern="parse_header")]
    story.says(*([assistant(*each) for each in asked] if split else [assistant(*asked[0], *asked[1])]))
    story.says(result("a.py:1:def parse_header(line):"), assistant("`parse_header` is there"))
    found = first(story.log)
    assert (found.total, found.searched, values(found)) == (1, 1, [])


def test_what_a_search_does_not_find_is_a_loss(story):
    story.says(DEFINED)
    story.add(compaction())
    story.says(assistant(call("grep", pattern="parse_header")), result("no matches"))
    assert (first(story.log).searched, values(first(story.log))) == (0, [("symbol", "parse_header")])


def test_the_result_of_an_edit_finds_nothing(story):
    story.says(DEFINED)
    story.add(compaction())
    story.says(assistant(call("edit", path="x.py", newText="parse_header(3)")), result("+parse_header(3)"))
    assert (first(story.log).searched, values(first(story.log))) == (0, [("symbol", "parse_header")])


@pytest.mark.parametrize(
    "look",
    [
        call("read", path="src/parser.py"),
        call("bash", command="cat src/parser.py"),
        call("bash", command="cd /repo && sed -n 1,80p src/parser.py | head"),
    ],
)
def test_a_file_that_is_only_read_again_is_counted(story, look):
    story.says(user("see src/parser.py"))
    story.add(compaction())
    story.says(assistant(look))
    found = first(story.log)
    assert (found.reread, [value for kind, value in values(found) if kind == "path"]) == (1, [])


def test_a_file_whose_name_a_listing_returned_is_no_loss(story):
    story.says(user("see src/parser.py"))
    story.add(compaction())
    story.says(
        assistant(call("ls", path="src")),
        result("src/parser.py"),
        assistant(call("edit", path="src/parser.py")),
    )
    assert (first(story.log).given, values(first(story.log))) == (1, [])


@pytest.mark.parametrize(
    ("had", "use"),
    [
        (user("call `run --dry-run`"), assistant("with --dry-run")),
        (result("strings.HasSuffix(x)"), assistant("it calls HasSuffix")),
        (result("const newLevel = 3"), assistant("newLevel is a level")),
        (DEFINED, assistant(call("write", path="x.py", content="def parse_header(): ..."))),
        (result("took 40 ms"), assistant("40 ms")),
        (
            result("in /tmp/x.txt, /dev/null"),
            assistant(call("bash", command="make > /dev/null 2> /tmp/x.txt")),
        ),
        (shell("git status"), assistant(call("bash", command="git diff && ls"))),
    ],
)
def test_a_name_that_is_not_the_sessions_own_is_no_loss(story, had, use):
    story.says(had)
    story.add(compaction())
    story.says(use)
    assert values(first(story.log)) == []


@pytest.mark.parametrize("is_error", [False, True])
def test_an_edit_that_remembers_a_definition_is_a_loss_if_it_fails(story, is_error):
    story.says(DEFINED)
    story.add(compaction())
    edit = call("edit", path="x.py", oldText="def parse_header(file):", newText="")
    story.says(assistant(edit), {**result("the old text"), "isError": is_error})
    assert values(first(story.log)) == ([("symbol", "parse_header")] if is_error else [])


def test_a_file_of_one_package_is_not_that_of_another(story):
    story.says(result("ai/src/index.ts, tui/src/index.ts"))
    story.add(compaction("ai/src/index.ts"))
    story.says(assistant(call("edit", path="src/index.ts")), assistant(call("edit", path="tui/src/index.ts")))
    found = first(story.log)
    assert (found.total, values(found)) == (1, [("path", "tui/src/index.ts")])


def test_what_an_earlier_replacement_removed_is_counted(story):
    story.says(DEFINED)
    story.add(compaction())
    story.add(compaction())
    story.says(assistant("`parse_header` is called"))
    second = future_uses(story.log)[1]
    assert (second.total, second.found, second.earlier, values(second)) == (1, 0, 1, [])


def test_replacements_at_one_boundary_share_their_needs(story):
    story.says(user("250 MB, 40 ms"), DEFINED)
    story.add(compaction("40 ms"))
    story.says(assistant("250 MB, 40 ms, `parse_header`"))
    one = replacements(story.log)[0]
    facts = SessionFacts()
    kept = msgspec.structs.replace(one, after=one.before)
    shares = [future_use(each, facts) for each in (one, kept)]
    assert [(each.total, each.found, len(each.losses)) for each in shares] == [(3, 1, 2), (3, 3, 0)]


@pytest.mark.parametrize(("horizon", "total"), [(2, 0), (3, 1), (4, 2), (99, 2), (None, 2)])
def test_nothing_behind_the_horizon_counts(story, horizon, total):
    story.says(user("250 MB, 40 ms"))
    story.add(compaction())
    story.says(assistant("250 MB"), assistant("40 ms"))
    (only,) = replacements(story.log)
    assert future_use(only, SessionFacts(), horizon=horizon).total == total


def test_a_need_counts_once_however_often_it_is_used(story):
    story.says(user("250 MB"), result("250 MB"))
    story.add(compaction())
    story.says(assistant("250 MB"), assistant("250 MB, yes 250 MB"))
    found = first(story.log)
    assert (found.messages, found.total, found.losses[0].had, found.losses[0].needed) == (2, 1, "e1", "e4")


def test_a_later_absolute_path_is_the_relative_one_from_before(story):
    story.says(user("in src/parser.py"))
    story.add(compaction())
    story.says(assistant(call("edit", path="/repo/src/parser.py")), assistant("src/parser.py is changed"))
    found = first(story.log)
    assert (found.total, values(found)) == (1, [("path", "/repo/src/parser.py")])


def test_losses_stand_in_order_of_need(story):
    story.says(user("250 MB, 40 ms, `parse_header`"))
    story.add(compaction())
    story.says(assistant("40 ms"), assistant("`parse_header` takes 250 MB"))
    assert [(loss.value, loss.needed) for loss in first(story.log).losses] == [
        ("40 ms", "e3"),
        ("parse_header", "e4"),
        ("250 MB", "e4"),
    ]


def test_the_next_compaction_is_the_horizon(story):
    story.says(user("250 MB"))
    story.add(compaction())
    story.add(compaction())
    story.says(assistant("250 MB"))
    assert [each.total for each in future_uses(story.log)] == [0, 1]


def test_only_the_branch_that_one_stands_on_counts(story):
    story.says(user("250 MB"))
    replaced = story.add(compaction())
    story.says(assistant("250 MB"))
    story.add(compaction(), parent=replaced)
    assert first(story.log).total == 0


def test_a_rewrite_loses_what_it_no_longer_shows(story):
    story.says(user("250 MB, 40 ms"))
    story.add(Rewrite(reason="prune", targets=[TextReplacement(target="e1", text="40 ms")]))
    story.says(assistant("250 MB, 40 ms"))
    found = first(story.log)
    assert (found.total, values(found)) == (2, [("quantity", "250 MB")])


def test_a_branch_summary_loses_what_the_branch_knew(story):
    story.says(user("begin"), user("250 MB, 40 ms"))
    story.add(BranchSummary(from_id="e1", summary="40 ms", left="e2"), parent="e1")
    story.says(assistant("250 MB, 40 ms"))
    found = first(story.log)
    assert (found.total, values(found)) == (2, [("quantity", "250 MB")])


USED = {kind.value: things for kind, things in THINGS.items()}


def uses(raw, kind, thing):
    """Return True if a message of the model's uses a thing."""
    return thing in runs(raw) if kind == "command" else names(without_thinking(raw), thing)


@settings(max_examples=examples(200))
@given(steps=sessions)
def test_future_use_is_what_a_plain_search_finds(steps):
    log = told(steps)
    for replacement, found in zip(replacements(log), future_uses(log), strict=True):
        ends = ("compaction", "branch_summary")
        end = next((event.seq for event in replacement.later if event.kind in ends), math.inf)
        later = [event for event in replacement.later if event.role and event.seq < end]
        acts = [event for event in later if event.role == "assistant"]
        assert found.messages == len(acts)
        log = [event.message for event in replacement.earlier if event.role]
        log += [part.raw for part in replacement.before.parts]
        log += [event.body for event in replacement.earlier if event.kind in ends]
        for kind, things in USED.items():
            needs = {
                thing: next(event.seq for event in acts if uses(event.message, kind, thing))
                for thing in things
                if any(uses(event.message, kind, thing) for event in acts)
                and any(names(raw, thing) for raw in log)
            }
            gone = [
                thing
                for thing in needs
                if not any(names(part.raw, thing) for part in replacement.after.parts)
            ]
            (own,) = [each for each in found.kinds if each.kind == kind]
            assert (own.total, own.found) == (len(needs), len(needs) - len(gone))
            for loss in found.losses:
                if loss.kind == kind:
                    assert loss.value in gone
                    assert loss.needed_seq == needs[loss.value]
                    given = (event for event in later if event.role != "assistant")
                    assert not any(
                        event.seq < loss.needed_seq and names(event.body, loss.value) for event in given
                    )


@given(steps=sessions)
def test_needs_add_up(steps):
    for found in future_uses(told(steps)):
        assert found.total == sum(each.total for each in found.kinds)
        assert found.found == sum(each.found for each in found.kinds)
        others = (found.earlier, found.given, found.searched, found.reread, found.common)
        assert found.total - found.found == len(found.losses) + sum(others)
        assert len(found.losses) == len(set(values(found)))
