"""A store with a session whose summary lost something, and its reading by files of answers."""

from __future__ import annotations

import json
from pathlib import Path

from eventstore import SessionWriter, open_store
from eventstore.records import Compaction
from tests.cli.running import Outcome, Refold
from tests.compaction.judge.lossy import (
    COMPLAINT,
    FACT_CLAIM,
    LOOK,
    LOSS_CLAIM,
    REMEDY,
    RULE,
    RULE_CLAIM,
    SUMMARY,
    answer,
    quote,
)
from tests.support.talk import assistant, call, result, user

LOSSY = "lossy"
UNFOUNDED = {"sentence": "Half of the tests pass.", "said": []}
FOUNDED = {"sentence": "wants the parser faster.", "said": [quote(1, "Make the parser faster.")]}
CLAIMS = answer(
    rules=[RULE_CLAIM],
    facts=[FACT_CLAIM, {**FACT_CLAIM, "known": []}],
    losses=[LOSS_CLAIM],
    statements=[UNFOUNDED, FOUNDED],
)
BROKEN = json.dumps(LOOK | {"because": quote(8, "git push origin main")})
SERIOUS = json.dumps(LOOK | {"person": quote(9, COMPLAINT)})


def store_lossy(refold: Refold) -> None:
    """Store the session in which a summary forgot a rule and a remedy."""
    with open_store(refold.store) as log:
        writer = SessionWriter(log, LOSSY)
        writer.message(user(f"Make the parser faster. From now on: {RULE}."))
        writer.message(assistant(call("bash", "c1", command="pytest </dev/null")))
        writer.message(result("12 passed", call_id="c1", is_error=False))
        writer.message(assistant(REMEDY))
        writer.append(Compaction(summary=SUMMARY, first_kept_entry_id="", tokens_before=9))
        writer.message(assistant(call("bash", "c2", command="pytest")))
        writer.message(result("it hangs", call_id="c2", is_error=True))
        writer.message(assistant(call("bash", "c3", command="git push origin main")))
        writer.message(user(COMPLAINT))


def judged(refold: Refold, *options: str) -> Outcome:
    """Read the boundary of the compaction: the claims, then a second look."""
    run = ("judge", LOSSY, "--boundary", "1", "--prompts", "prompts")
    refold(*run)
    _answer(CLAIMS)
    refold(*run, "--answers", "answers")
    _answer(SERIOUS, BROKEN)
    return refold(*run, "--answers", "answers", *options)


def _answer(text: str, of_rule: str = "") -> None:
    """Answer each prompt that has none; one about the rule otherwise."""
    Path("answers").mkdir(exist_ok=True)
    for prompt in Path("prompts").iterdir():
        if not (answers := Path("answers", prompt.name)).exists():
            is_of_rule = f"<claim>\n{RULE_CLAIM['rule']}" in prompt.read_text()
            answers.write_text(of_rule if is_of_rule else text)
