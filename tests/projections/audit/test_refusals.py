"""Read the words with which a user refuses a call of Claude Code's like those of a message."""

from __future__ import annotations

from pathlib import Path

import pytest

from eventstore.formats import view_of_event
from eventstore.memory import MemoryLog
from projections.audit.rules_at_leaf import rules_at
from projections.audit.session import audit
from projections.context.cursor import resolve_cursor
from tests.support.claude_code import SESSION, Json, answer, boundary, bring, call, result, said, summary
from tests.support.events import events

REFUSED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the"
    " new_string was NOT written to the file). To tell you how to proceed, the user said:\n"
)
NOTE = "\n\nNote: The user's next message may contain a correction or preference."
CLASS = "class SessionStore:\n" + "    def read_queue(self): ...\n" * 40
OTHERS = 6
"""Files read after the one that is missed: Claude Code shows the last five again."""


def refused(words: str) -> list[Json]:
    """A request, a call, and the words with which the user refuses the call."""
    return [
        said("u", None, "go"),
        answer("a", "u", "m", call("c", "Bash", command="git push")),
        result("r", "a", "c", f"{REFUSED}{words}", fails=True),
    ]


@pytest.mark.parametrize(
    ("text", "fails", "feedback"),
    [
        (f"{REFUSED}no, use the store", True, "no, use the store"),
        (f"{REFUSED}no,\n\nuse the store{NOTE}", True, "no,\n\nuse the store"),
        (f"{REFUSED}The user wants to clarify these questions.\n    Start by asking.", True, ""),
        (f"{REFUSED}no, use the store", False, ""),
        ("The user doesn't want to proceed with this tool use. STOP what you are doing.", True, ""),
        (f"cat says: {REFUSED}no", True, ""),
    ],
)
def test_words_of_a_refusal_are_told_from_the_harness_s(
    tmp_path: Path, text: str, *, fails: bool, feedback: str
) -> None:
    log = MemoryLog()
    bring(
        log,
        tmp_path / "s.jsonl",
        said("u", None, "go"),
        answer("a", "u", "m", call("c")),
        result("r", "a", "c", text, fails=fails),
    )
    view = view_of_event(next(each for each in events(log, SESSION) if each.id == "r"))
    assert view is not None
    assert view.feedback == feedback


def test_an_objection_in_a_refusal_leads_to_the_file_that_was_missed(tmp_path: Path) -> None:
    log = MemoryLog()
    lines, last = [said("u", None, "go")], "u"
    for number, name in enumerate(("session_store", *(f"part_{each}" for each in range(OTHERS)))):
        lines += [
            answer(f"a{number}", last, f"m{number}", call(f"c{number}", file_path=f"/w/{name}.py")),
            result(f"r{number}", f"a{number}", f"c{number}", CLASS),
        ]
        last = f"r{number}"
    bring(
        log,
        tmp_path / "s.jsonl",
        *lines,
        boundary("b", last),
        summary("s", "b"),
        answer("x", "s", "mx", call("cx", "Write", file_path="/w/queue.py", content="queue = []")),
        result("y", "x", "cx", f"{REFUSED}no, the session store keeps the queue", fails=True),
        answer("z", "y", "mz", call("cz", file_path="/w/session_store.py")),
        result("zz", "z", "cz", CLASS),
    )
    (compaction,) = audit(log, SESSION).compactions
    assert [(each.kind, [at.event for at in each.trouble]) for each in compaction.findings] == [
        ("objection", ["y", "z"])
    ]


def test_a_rule_given_in_a_refusal_is_a_rule(tmp_path: Path) -> None:
    log = MemoryLog()
    bring(
        log,
        tmp_path / "s.jsonl",
        *refused("never push without asking me"),
        boundary("b", "r"),
        summary("s", "b"),
        answer("x", "s", "mx", "done"),
    )
    (compaction,) = audit(log, SESSION).compactions
    (rule,) = compaction.metrics.instructions.rules
    assert (rule.event, rule.state) == ("r", "gone")


def test_a_rule_given_in_a_refusal_is_listed_at_the_leaf(tmp_path: Path) -> None:
    log = MemoryLog()
    bring(
        log,
        tmp_path / "s.jsonl",
        *refused(f"Never push to main.{NOTE}"),
    )
    with log.snapshot() as snapshot:
        found = rules_at(snapshot, resolve_cursor(snapshot, SESSION))
    assert [(rule.text, rule.event) for rule in found] == [("Never push to main.", "r")]


def test_a_task_given_in_a_refusal_is_a_task(tmp_path: Path) -> None:
    log = MemoryLog()
    bring(log, tmp_path / "s.jsonl", *refused("read the store first"), boundary("b", "r"), summary("s", "b"))
    (compaction,) = audit(log, SESSION).compactions
    assert compaction.metrics.instructions.tasks == 1
