"""Rules that the model breaks after a replacement, and rules that the user gives again."""

from __future__ import annotations

import pytest

from eventstore.records import Compaction
from projections.audit.instruction_fates import instructions
from projections.mentions.message_facts import SessionFacts
from tests.projections.test_replacement import replacements
from tests.support.talk import assistant, call, result, user


@pytest.fixture
def after(story):
    """From a rule, and what happens after a compaction that loses it, to the rule's result."""

    def measured(rule, *happens, summary="All went well."):
        story.says(user(rule), assistant("ok"))
        story.add(Compaction(summary=summary, first_kept_entry_id="", tokens_before=1))
        story.says(*happens)
        (found,) = instructions(replacements(story.log)[0], SessionFacts()).rules
        return found

    return measured


def writes(path):
    return assistant(call("write", path=path, content="x"))


def edits(path):
    return assistant(call("edit", path=path, oldText="x", newText="y"))


def runs(command):
    return assistant(call("bash", command=command))


def places(found):
    return [each.seq for each in found]


@pytest.mark.parametrize(
    ("rule", "breach"),
    [
        ("Never touch anything in migrations/.", writes("db/migrations/0008.sql")),
        ("don't edit src/generated.ts", edits("/code/src/generated.ts")),
        ("please dont touch the tests", edits("tests/test_a.py")),
        ("leave the changelog alone", edits("CHANGELOG.md")),
        ("plase don't rewrite teh changelog.md make surgical edits", writes("changelog.md")),
        ("nothing in vendor/ may be changed", edits("vendor/a.go")),
        ("never commit without asking me first", runs("git add . && git commit -m done")),
        ("nver push to main directly", runs("git push origin main")),
        ("don't ever force push", runs("git push --force")),
        ("never run npm run dev", runs("npm run dev")),
        ("use pnpm instead of npm", runs("npm install left-pad")),
        ("we use pnpm here, not npm", runs("npm test")),
        ("do not install anything without asking", runs("pip install requests")),
    ],
)
def test_a_rule_is_broken_by_a_call_that_it_forbids(after, rule, breach):
    found = after(rule, user("go on"), breach)
    assert (found.state, places(found.broken_by)) == ("gone", [5])


@pytest.mark.parametrize(
    ("rule", "allowed"),
    [
        ("Never touch anything in migrations/.", writes("src/migrate.py")),
        ("Never touch anything in migrations/.", assistant(call("read", path="migrations/1.sql"))),
        ("don't rewrite the changelog", edits("CHANGELOG.md")),
        ("never commit without asking me first", runs("git status")),
        ("never commit without asking me first", runs("echo commit")),
        ("don't ever force push", runs("git push")),
        ("use pnpm instead of npm", runs("pnpm install")),
        ("never use sleep in tests", runs("pytest -q")),
        ("be concise in your answers", writes("answers.md")),
    ],
)
def test_other_calls_break_nothing(after, rule, allowed):
    assert after(rule, user("go on"), allowed).broken_by == []


def test_what_the_user_then_asks_for_breaks_nothing(after):
    asked = after("never commit without asking me first", user("looks good, commit it"), runs("git commit"))
    assert asked.broken_by == []


def test_a_call_that_fails_breaks_nothing(after):
    failed = result("no such file", call_id="c1", is_error=True)
    breach = assistant(call("edit", path="migrations/1.sql"))
    assert after("Never touch migrations/.", user("go on"), breach, failed).broken_by == []


@pytest.mark.parametrize(
    ("rule", "again"),
    [
        ("Never touch the migrations.", "I said: never touch the migrations!"),
        ("Never touch the migrations.", "why did you touch the migrations again?"),
        ("No new dependencies without asking.", "remove it, no new dependencies please"),
        ("i would only want e2e tests for it, anything else is shitty", "again, only e2e tests"),
        ("Always use absolute imports.", "please alwyas use absoulte imports"),
    ],
)
def test_a_rule_is_repeated_in_other_words(after, rule, again):
    found = after(rule, user("go on"), assistant("done"), user(again))
    assert places(found.repeated_by) == [6]


@pytest.mark.parametrize(
    ("rule", "other"),
    [
        ("Never touch the migrations.", "run the migrations"),
        ("Never touch the migrations.", "which migrations are there?"),
        (
            "keep the old code around",
            "remove the old files and write about the code of the new parser in docs",
        ),
        ("be concise", "ok, go on"),
    ],
)
def test_what_only_shares_words_repeats_nothing(after, rule, other):
    assert after(rule, user("go on"), assistant("done"), user(other)).repeated_by == []


def test_a_rule_that_was_kept_is_followed_to_the_next_compaction(story):
    story.says(user("Never touch migrations/."), assistant("ok"))
    story.add(Compaction(summary="Never touch migrations/.", first_kept_entry_id="", tokens_before=1))
    story.says(user("go on"), assistant("ok"))
    story.add(Compaction(summary="All went well.", first_kept_entry_id="", tokens_before=1))
    story.says(user("next"), writes("migrations/2.sql"))
    first, second = (instructions(each, SessionFacts()).rules[0] for each in replacements(story.log))
    assert (first.state, places(first.broken_by)) == ("kept", [])
    assert (second.state, places(second.broken_by)) == ("gone", [8])


@pytest.mark.parametrize(
    ("rule", "happens"),
    [
        ("Stay away from the alembic/ folder, I write the schema myself.", writes("alembic/0003.py")),
        ("Hands off alembic/, please!", edits("alembic/env.py")),
        ("we don't change files in alembic/ here", writes("alembic/0003.py")),
    ],
)
def test_a_folder_that_is_forbidden_in_other_words_is_still_forbidden(after, rule, happens):
    found = after(rule, user("go on"), happens)
    assert (found.state, places(found.broken_by)) == ("gone", [5])


@pytest.mark.parametrize(
    ("rule", "again"),
    [
        (
            "Probes of the load balancer must stay exempt from the quota.",
            "the load balancer's probes are exempt from the quota!",
        ),
        (
            "let's keep the probes of the load balancer out of the quota",
            "I said keep the load balancer's probes out of the quota",
        ),
    ],
)
def test_a_rule_that_is_given_again_in_other_words_is_repeated(after, rule, again):
    found = after(rule, user("go on"), assistant("done"), user(again))
    assert (found.state, places(found.repeated_by)) == ("gone", [6])


def test_a_request_beside_a_rule_is_no_part_of_what_is_repeated(after):
    found = after(
        "ok, do nothing, can we add some tests?", user("yes, add a multi step integration test, testing this")
    )
    assert (found.state, places(found.repeated_by)) == ("gone", [])


def test_a_limit_of_a_task_that_is_given_again_is_a_rule(after):
    found = after("keep buttons narrow", user("again: keep buttons narrow"))
    assert (found.state, places(found.repeated_by)) == ("gone", [4])
