"""Find trouble behind a compaction in made-up sessions, and none where nothing was missed."""

from __future__ import annotations

import pytest

from eventstore.records import Rewrite, TextReplacement
from projections.audit.session import audit
from tests.support.talk import assistant, thinking, user

CLASS = "class SessionStore:\n" + "    def read_queue(self): ...\n" * 40
LISTING = "tests/parser_spec.rb\ntests/lexer_spec.rb"


def test_a_compaction_after_which_nobody_complains_has_no_findings(agent):
    agent.does("read", CLASS, path="src/session_store.py")
    agent.compacts()
    agent.says(user("now the parser please"))
    agent.does("read", CLASS, path="src/session_store.py")
    assert agent.found() == []


def test_a_file_that_a_person_has_to_point_to_was_missed(agent):
    agent.does("read", CLASS, path="src/session_store.py")
    agent.compacts()
    agent.does("write", path="src/interactive.py", content="queue = []")
    objection = agent.says(user("why would we keep a queue here? the session store does that"))
    again = agent.does("read", CLASS, path="src/session_store.py", says="You're right.")
    assert agent.found() == [("objection", "minor", [objection, again])]


@pytest.mark.parametrize(
    "words",
    [
        "no, why would we keep a queue here? the session store does that",
        "you forgot what we agreed: the session store alone keeps the queue",
        "TypeError: cannot read header of undefined stream",
    ],
)
def test_an_objection_before_the_model_did_anything_is_about_what_it_did_before(agent, words):
    agent.says(assistant("The session store alone keeps the queue: we agreed."))
    agent.does("read", CLASS, path="src/session_store.py")
    agent.does("bash", "TypeError: cannot read header of undefined stream", fails=True, command="make")
    agent.compacts()
    agent.says(user(words))
    agent.does("read", CLASS, path="src/session_store.py")
    assert agent.found() == []


def test_a_file_that_the_context_still_shows_was_not_missed(agent):
    kept = agent.does("read", CLASS, path="src/session_store.py")
    agent.compacts(first_kept=kept)
    agent.goes_on()
    agent.says(user("why would we keep a queue here? the session store does that"))
    agent.does("read", CLASS, path="src/session_store.py", says="You're right.")
    assert agent.found() == []


def test_a_file_that_was_read_again_before_the_objection_was_not_missed(agent):
    agent.does("read", CLASS, path="src/session_store.py")
    agent.compacts()
    agent.does("read", CLASS, path="src/session_store.py")
    agent.says(user("why would we keep a queue here? the session store does that"))
    agent.does("read", CLASS, path="src/session_store.py", says="You're right.")
    assert agent.found() == []


def test_a_file_that_was_never_seen_before_was_not_lost(agent):
    agent.does("read", "x = 1\n" * 200, path="src/other_thing.py")
    agent.compacts()
    agent.goes_on()
    agent.says(user("why would we keep a queue here? the session store does that"))
    agent.does("read", CLASS, path="src/session_store.py", says="You're right.")
    assert agent.found() == []


def test_a_new_request_about_a_file_is_no_objection(agent):
    agent.does("read", CLASS, path="src/session_store.py")
    agent.compacts()
    agent.says(user("add a docstring to the session store"))
    agent.does("read", CLASS, path="src/session_store.py")
    assert agent.found() == []


@pytest.mark.parametrize("mark", ["1. Low: ", "[P2] ", "- Medium - "])
def test_a_pasted_point_of_a_review_is_no_objection(agent, mark):
    agent.does("read", CLASS, path="src/session_store.py")
    agent.compacts()
    agent.goes_on()
    agent.says(user(f"{mark}the session store still does not work with an empty queue"))
    agent.does("read", CLASS, path="src/session_store.py")
    assert agent.found() == []


def test_a_second_objection_about_the_same_file_is_serious(agent):
    agent.does("read", CLASS, path="src/session_store.py")
    agent.compacts()
    agent.goes_on()
    first = agent.says(user("no, why would we keep a queue? the session store does that"))
    looked = agent.does("bash", "3: def read_queue", command="grep -n queue src/session_store.py")
    second = agent.says(user("isn't that in the session store too? you did not read it"))
    again = agent.does("read", CLASS, path="src/session_store.py")
    assert agent.found() == [("objection", "serious", [first, second, looked, again])]


def test_files_pointed_to_one_after_the_other_are_one_finding(agent):
    agent.does("read", CLASS, path="src/session_store.py")
    agent.does("read", "x = 1\n" * 200, path="docs/refactor_plan.md")
    agent.compacts()
    agent.does("write", path="src/interactive.py", content="queue = []")
    first = agent.says(user("wait, remember docs/refactor_plan.md"))
    plan = agent.does("read", "x = 1\n" * 200, path="docs/refactor_plan.md")
    second = agent.says(user("no, the session store keeps the queue"))
    store = agent.does("read", CLASS, path="src/session_store.py")
    assert agent.found() == [("objection", "minor", [first, second, plan, store])]


def test_files_pointed_to_far_apart_are_two_findings(agent):
    agent.does("read", CLASS, path="src/session_store.py")
    agent.does("read", "x = 1\n" * 200, path="docs/refactor_plan.md")
    agent.compacts()
    agent.does("write", path="src/interactive.py", content="queue = []")
    agent.says(user("wait, remember docs/refactor_plan.md"))
    agent.does("read", "x = 1\n" * 200, path="docs/refactor_plan.md")
    agent.says(user("now the tests"))
    agent.says(user("no, the session store keeps the queue"))
    agent.does("read", CLASS, path="src/session_store.py")
    assert len(agent.found()) == 2


@pytest.mark.parametrize(
    ("path", "words", "belongs"),
    [
        ("src/session_store.py", "why do you read ten lines at a time?", True),
        ("src/session_store.py", "fine, go on", False),
        ("src/session_store.py", "no, lib/other.py is wrong", False),
        ("src/parser.py", "why do you read ten lines at a time?", False),
    ],
)
def test_an_objection_that_goes_on_belongs_to_the_one_before(agent, path, words, belongs):
    agent.does("read", CLASS, path="src/session_store.py")
    agent.compacts()
    agent.does("write", path="src/interactive.py", content="queue = []")
    first = agent.says(user("no, the session store keeps the queue"))
    looked = agent.does("bash", "class SessionStore:", command="head src/session_store.py")
    if path != "src/session_store.py":
        agent.says(user("go on"))
        agent.does("read", "x = 1", path=path)
    second = agent.says(user(words))
    assert agent.found() == [("objection", "minor", [first, *[second] * belongs, looked])]


def test_work_that_is_undone_after_an_objection_is_serious(agent):
    agent.does("read", CLASS, path="src/session_store.py")
    agent.compacts()
    agent.does("write", path="src/interactive.py", content="queue = []")
    objection = agent.says(user("no, the session store keeps the queue"))
    again = agent.does("read", CLASS, path="src/session_store.py")
    undo = agent.does("bash", command="rm src/interactive.py")
    assert agent.found() == [("objection", "serious", [objection, again, undo])]


def test_a_name_that_comes_back_only_after_an_objection_was_forgotten(agent):
    agent.says(assistant("Rendering flickers because of the cursor: I call flushFrame() after each frame."))
    agent.compacts("The rendering flickered.")
    agent.does("edit", path="render.ts", newText="cursor()")
    objection = agent.says(
        user("the rendering still flickers when the cursor moves, why did you change that?")
    )
    again = agent.does("edit", path="render.ts", newText="flushFrame()")
    assert agent.found() == [("objection", "minor", [objection, again])]


def test_a_concession_behind_a_thought_makes_an_objection(agent):
    agent.does("read", CLASS, path="src/session_store.py")
    agent.compacts()
    agent.goes_on()
    objection = agent.says(user("the session store keeps a queue as well"))
    agent.says(assistant(thinking("They point to the store.")))
    agent.says(assistant("You're right, it does."))
    again = agent.does("read", CLASS, path="src/session_store.py")
    assert agent.found() == [("objection", "minor", [objection, again])]


def searches(agent, number, gives="No matches found"):
    return [
        agent.does("grep", gives, pattern="findModel", path=f"packages/p{each}") for each in range(number)
    ]


def test_searches_in_vain_for_what_was_known_are_a_finding(agent):
    agent.does("read", "export function findModel() {}\n" * 30, path="packages/ai/models.ts")
    agent.compacts()
    trouble = searches(agent, 3)
    assert agent.found() == [("search", "minor", trouble)]


def test_searches_that_a_person_has_to_end_are_serious(agent):
    agent.does("read", "export function findModel() {}\n" * 30, path="packages/ai/models.ts")
    agent.compacts()
    trouble = searches(agent, 3)
    told = agent.says(user("findModel is in packages/ai"))
    assert agent.found() == [("search", "serious", [*trouble, told])]


@pytest.mark.parametrize(
    ("words", "is_found"), [("findModel is in packages/ai", True), ("now the tests", False)]
)
def test_searches_that_find_something_are_work_unless_a_person_has_to_end_them(agent, words, is_found):
    agent.does("read", "export function findModel() {}\n" * 30, path="packages/ai/models.ts")
    agent.compacts()
    searches(agent, 5, gives="b.ts: findModel()")
    agent.says(user(words))
    assert [(kind, weight) for kind, weight, _ in agent.found()] == [("search", "serious")] * is_found


def test_searches_for_what_was_never_known_are_no_finding(agent):
    agent.does("read", "export function other() {}\n" * 30, path="packages/ai/models.ts")
    agent.compacts()
    searches(agent, 5)
    assert agent.found() == []


def test_searches_for_what_the_summary_names_are_no_finding(agent):
    agent.does("read", "export function findModel() {}\n" * 30, path="packages/ai/models.ts")
    agent.compacts("`findModel` is in packages/ai/models.ts.")
    searches(agent, 5)
    assert agent.found() == []


def made_up(agent, name):
    return agent.does("read", "ENOENT: no such file", fails=True, path=f"spec/{name}_spec.rb")


def test_made_up_paths_of_files_that_were_known_are_a_finding(agent):
    agent.does("ls", LISTING, path="tests")
    agent.compacts()
    trouble = [made_up(agent, name) for name in ("parser", "lexer")]
    assert agent.found() == [("path", "minor", trouble)]


def test_one_made_up_path_is_cheap(agent):
    agent.does("ls", LISTING, path="tests")
    agent.compacts()
    made_up(agent, "parser")
    assert agent.found() == []


def fails(agent, command):
    return agent.does("bash", "unknown option", fails=True, command=command)


def test_calls_that_had_failed_before_and_fail_again_are_a_finding(agent):
    commands = ("npm test --fast", "npm run lint --quick")
    for command in commands:
        fails(agent, command)
    agent.compacts()
    trouble = [fails(agent, command) for command in commands]
    assert agent.found() == [("retry", "minor", trouble)]


def test_one_call_that_fails_again_is_cheap(agent):
    fails(agent, "npm test --fast")
    agent.compacts()
    fails(agent, "npm test --fast")
    assert agent.found() == []


def test_a_call_that_fails_again_after_something_was_written_is_work(agent):
    commands = ("npm test", "npm run lint")
    for command in commands:
        fails(agent, command)
    agent.compacts()
    agent.does("write", path="src/a.ts", content="x")
    for command in commands:
        fails(agent, command)
    assert agent.found() == []


def changes(agent, number, *, commits):
    """A turn in which a file is changed, and perhaps committed. The id of its last call's result."""
    agent.says(user(f"change number {number}"))
    agent.does("write", path=f"src/part_{number}.py", content="x")
    if commits:
        agent.does("bash", command=f"git commit -am 'change {number}'")


def test_a_habit_that_ends_with_a_compaction_is_a_finding(agent):
    for number in range(6):
        changes(agent, number, commits=True)
    agent.compacts("Six changes were made.")
    for number in range(6, 9):
        changes(agent, number, commits=False)
    assert [(kind, weight) for kind, weight, _ in agent.found()] == [("habit", "minor")]


def test_a_habit_that_goes_on_is_none(agent):
    for number in range(9):
        changes(agent, number, commits=True)
        if number == 5:
            agent.compacts("Six changes were made.")
    assert agent.found() == []


@pytest.mark.parametrize("goes_on", [True, False])
def test_an_objection_about_a_folder_that_was_used_in_part_is_serious_if_more_of_it_is_used(agent, goes_on):
    pages = "https://example.com/site/docs/components/{}.mdx"
    for name in ("alert", "badge", "card", "button"):
        agent.does("fetch", f"# {name}", url=pages.format(name))
    agent.compacts(f"The page {pages.format('button')} was followed.")
    last = agent.says(assistant(f"Done: {pages.format('button')}"))
    objection = agent.says(user("but https://example.com/site/docs/components/ has many, I see just one"))
    agent.says(assistant(f"Then {pages.format('badge')}, too." if goes_on else "This is the only one here."))
    assert agent.found() == [("objection", "serious", [last, objection])] * goes_on


def test_trouble_behind_the_next_compaction_belongs_to_that_one(agent):
    agent.does("read", CLASS, path="src/session_store.py")
    agent.compacts()
    agent.goes_on()
    agent.compacts()
    agent.goes_on()
    agent.says(user("why would we keep a queue here? the session store does that"))
    agent.does("read", CLASS, path="src/session_store.py")
    first, second = audit(agent.story.log, "s").compactions
    assert [len(first.findings), len(second.findings)] == [0, 1]


def test_a_result_that_a_rewrite_emptied_can_be_missed(agent):
    call_id = agent.does("read", CLASS, path="src/session_store.py")
    emptied = f"e{int(call_id[1:]) + 1}"
    agent.story.add(Rewrite(reason="prune", targets=[TextReplacement(target=emptied, text="")]))
    agent.goes_on()
    objection = agent.says(user("why would we keep a queue here? the session store does that"))
    again = agent.does("read", CLASS, path="src/session_store.py")
    (rewrite,) = audit(agent.story.log, "s").rewrites
    assert [ref.event for each in rewrite.findings for ref in each.trouble] == [objection, again]


@pytest.mark.parametrize(
    "rule", ["Never edit the snapshots by hand.", "Ask me before you push.", "Use tabs for indentation."]
)
def test_a_rule_that_is_gone_is_no_finding_while_it_is_kept_to(agent, rule):
    agent.says(user(rule), assistant("ok"))
    agent.compacts()
    agent.says(user("go on"), assistant("done"))
    assert agent.found() == []


def test_a_rule_that_is_gone_and_broken_is_serious(agent):
    agent.says(user("Use tabs. Don't touch tests/golden.txt."), assistant("ok"))
    agent.compacts()
    agent.says(user("go on"))
    broken = agent.does("edit", path="tests/golden.txt", newText="x")
    assert agent.found() == [("rule", "serious", [broken])]


def test_a_rule_that_the_summary_tells_is_not_gone(agent):
    agent.says(user("Don't touch tests/golden.txt."), assistant("ok"))
    agent.compacts("The user forbids to touch tests/golden.txt.")
    agent.says(user("go on"))
    agent.does("edit", path="tests/golden.txt", newText="x")
    assert agent.found() == []


PAGES = "\n".join(f"https://docs.example.org/guide/{page}.html" for page in ("alerts", "badges", "cards"))


def test_an_address_made_up_after_a_listing_that_is_gone_is_serious(agent):
    agent.does("fetch", PAGES, url="https://docs.example.org/guide")
    agent.compacts()
    made_up = agent.does("write", path="src/alert.py", content="# https://docs.example.org/guide/alert.html")
    assert agent.found() == [("invented", "serious", [made_up])]


@pytest.mark.parametrize(
    "address",
    [
        "https://docs.example.org/guide/alerts.html",
        "https://docs.example.org/guide/modal.html",
        "https://docs.example.org/other/alert.html",
    ],
)
def test_an_address_that_is_listed_or_unlike_any_is_not_made_up(agent, address):
    agent.does("fetch", PAGES, url="https://docs.example.org/guide")
    agent.compacts()
    agent.does("write", path="src/alert.py", content=f"# {address}")
    assert agent.found() == []


def test_an_address_whose_listing_is_in_the_context_was_not_made_up_for_want_of_it(agent):
    kept = agent.does("fetch", PAGES, url="https://docs.example.org/guide")
    agent.compacts(first_kept=kept)
    agent.does("write", path="src/alert.py", content="# https://docs.example.org/guide/alert.html")
    assert agent.found() == []


@pytest.mark.parametrize(
    ("used", "then", "is_found"),
    [
        ("read_session_queues", "read_session_queue", True),
        ("load_session_queue", "read_session_queue", True),
        ("load_session_queue", "load_session_queue", False),
        ("write_other_queue", "read_session_queue", False),
    ],
)
def test_a_name_that_does_not_exist_is_a_finding_if_the_model_comes_back_to_one_like_it(
    agent, used, then, is_found
):
    agent.does("read", "def read_session_queue(): ...", path="src/session_store.py")
    agent.compacts()
    agent.does("bash", f"NameError: name '{used}' is not defined", command="python main.py", fails=True)
    agent.does("write", path="main.py", content=f"{then}()")
    assert [kind for kind, *_ in agent.found()] == ["invented"] * is_found


def test_a_wrong_command_is_a_finding_if_one_almost_like_it_was_run(agent):
    agent.does("bash", "listening", command="serve demo --port 8000 --root public")
    agent.compacts()
    wrong = agent.does("bash", "unknown option", command="serve demo --port 8080 --dir public", fails=True)
    assert [(kind, weight, trouble[0]) for kind, weight, trouble in agent.found()] == [
        ("invented", "minor", wrong)
    ]


@pytest.mark.parametrize("answer", ["2 tests failed", "unknown option"])
def test_a_command_that_fails_in_its_work_or_was_run_before_is_no_finding(agent, answer):
    command = "serve demo --port 8080 --dir public"
    agent.does("bash", "listening", command="serve demo --port 8000 --root public")
    if answer == "unknown option":
        agent.does("bash", answer, command=command, fails=True)
    agent.compacts()
    agent.does("bash", answer, command=command, fails=True)
    assert agent.found() == []


def test_a_message_that_the_model_dropped_and_the_person_comes_back_to_is_a_finding(agent):
    agent.says(user("the totals of the report should be right, why are they not?"))
    agent.does("bash", "12 rows", command="cat report.csv")
    agent.compacts()
    stopped = agent.says(assistant("The report is complete."))
    back = agent.says(user("can you look at the totals of that report again?"))
    assert agent.found() == [("unanswered", "minor", [stopped, back])]


def test_a_message_that_the_summary_says_was_not_dropped(agent):
    agent.says(user("the totals of the report should be right, why are they not?"))
    agent.does("bash", "12 rows", command="cat report.csv")
    agent.compacts("The user asked why the totals of the report are not right, although they should be.")
    agent.says(assistant("The report is complete."))
    agent.says(user("can you look at the totals of that report again?"))
    assert agent.found() == []


def test_a_dropped_message_leads_to_the_text_of_the_answer_not_to_the_thinking_before_it(agent):
    agent.says(user("the totals of the report should be right, why are they not?"))
    agent.does("bash", "12 rows", command="cat report.csv")
    agent.compacts()
    agent.says(assistant(thinking("What was asked?")))
    stopped = agent.says(assistant("The report is complete."))
    back = agent.says(user("can you look at the totals of that report again?"))
    assert agent.found() == [("unanswered", "minor", [stopped, back])]


def test_a_message_that_the_model_goes_on_with_was_not_dropped(agent):
    agent.says(user("the totals of the report should be right, why are they not?"))
    agent.does("bash", "12 rows", command="cat report.csv")
    agent.compacts()
    agent.does("bash", "13 rows", command="cat totals.csv")
    agent.says(assistant("A row is missing."))
    agent.says(user("can you look at the totals of that report again?"))
    assert agent.found() == []


def test_a_message_that_had_its_answer_was_not_dropped(agent):
    agent.says(user("the totals of the report should be right, why are they not?"))
    agent.says(assistant("A row is missing."))
    agent.compacts()
    agent.says(assistant("The report is complete."))
    agent.says(user("can you look at the totals of that report again?"))
    assert agent.found() == []


PLAN = [
    {"content": "Update the parser", "status": "completed"},
    {"content": "Migrate the invoice table", "status": "pending"},
]


def test_an_open_item_of_a_plan_that_the_person_asks_for_was_dropped(agent):
    agent.does("todowrite", todos=PLAN)
    agent.compacts()
    agent.says(assistant("All is done."))
    asked = agent.says(user("you forgot the invoice table"))
    assert agent.found() == [("unanswered", "serious", [asked])]


def test_an_open_item_that_a_later_plan_has_was_not_dropped(agent):
    agent.does("todowrite", todos=PLAN)
    agent.compacts()
    agent.does("todowrite", todos=PLAN[1:])
    agent.says(user("you forgot the invoice table"))
    assert agent.found() == []


def test_a_command_that_did_not_fail_was_not_wrong(agent):
    agent.does("bash", "ok", command="pytest tests/unit -q --timeout 30")
    agent.compacts()
    agent.does("bash", "12 passed, 0 timed out", command="pytest tests/units -q --timeout 60")
    assert audit(agent.story.log, "s").compactions[0].findings == []


@pytest.mark.parametrize(
    "note",
    ["shell tool terminated command after exceeding timeout 120000 ms", "Command timed out after 2m 0.0s"],
)
def test_a_command_that_the_tool_had_to_stop_was_wrong(agent, note):
    agent.does("bash", "started", command="composer demo -S localhost:8000 -t demo")
    agent.compacts()
    agent.does("bash", f"started\n{note}", command="composer demo -S localhost:8080 -t demo")
    (found,) = audit(agent.story.log, "s").compactions[0].findings
    assert (found.kind, found.weight) == ("invented", "minor")


def test_a_program_whose_name_ends_anothers_is_not_it(agent):
    agent.says(assistant("cargo build --release --features=gui"))
    agent.compacts()
    agent.does("bash", "go: unknown flag", command="go build --release --features=cli", fails=True)
    assert audit(agent.story.log, "s").compactions[0].findings == []
