"""A session whose summary forgot a rule and a remedy, and the answers of a model that read it."""

from __future__ import annotations

import json
from typing import Any

from compaction.judge.material import Material, materials
from compaction.summarizers import Answer, Cancellation
from eventstore.memory import MemoryLog
from eventstore.records import Compaction
from projections.context.cursor import resolve_cursor
from tests.support.events import NOW
from tests.support.talk import Story, assistant, call, result, user

RULE = "never push to main, open a pull request"
REMEDY = "The tests hang unless stdin is closed: run them with </dev/null."
COMPLAINT = "I told you to open a pull request!"
SUMMARY = "The person wants the parser faster. Half of the tests pass."


def lossy() -> Story:
    """Write the session: events e1 to e9, the compaction is e5."""
    story = Story(MemoryLog(clock=lambda: NOW))
    story.says(
        user(f"Make the parser faster. From now on: {RULE}."),
        assistant(call("bash", "c1", command="pytest </dev/null")),
        result("12 passed", call_id="c1", is_error=False),
        assistant(REMEDY),
    )
    story.add(Compaction(summary=SUMMARY, first_kept_entry_id="", tokens_before=9))
    story.says(
        assistant(call("bash", "c2", command="pytest")),
        result("it hangs", call_id="c2", is_error=True),
        assistant(call("bash", "c3", command="git push origin main")),
        user(COMPLAINT),
    )
    return story


def material_of(story: Story, place: int = 0) -> Material:
    """Return what is read at one of its boundaries."""
    with story.log.snapshot() as snapshot:
        return list(materials(snapshot, resolve_cursor(snapshot, story.session)))[place]


def quote(event: int, words: str) -> dict[str, Any]:
    return {"event": event, "quote": words}


RULE_CLAIM = {
    "rule": "Work in pull requests",
    "said": [quote(1, RULE)],
    "state": "broken",
    "in_summary": None,
    "broken": [quote(8, "git push origin main")],
}
FACT_CLAIM = {
    "fact": "stdin must be closed",
    "kind": "remedy",
    "known": [quote(4, "run them with </dev/null")],
}
LOSS_CLAIM = {
    "loss": "The tests hang unless stdin is closed",
    "kind": "remedy",
    "known": [quote(4, REMEDY)],
    "missing": ["/dev/null"],
    "trouble": [quote(7, "it hangs")],
}
LOOK = {"verdict": "lost", "because": quote(7, "it hangs"), "person": None}


def answer(**lists: Any) -> str:
    """Return an answer with lists of claims, the others empty."""
    return json.dumps({"rules": [], "facts": [], "losses": [], "statements": [], **lists})


class Scripted:
    """Gives answers in turn, and remembers the prompts."""

    name = "scripted"

    def __init__(self, *answers: str) -> None:
        self._answers, self.prompts = [*answers], list[str]()

    def summarize(self, prompt: Any, *, is_cancelled: Cancellation) -> Answer:
        del is_cancelled
        self.prompts.append(prompt.text)
        return Answer(text=self._answers.pop(0), model="m")
