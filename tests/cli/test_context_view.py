from __future__ import annotations

import re

from tests.cli.running import Refold
from tests.cli.tale import SESSION
from tests.support.pi_files import line

MESSAGES = [
    ["compactionSummary", "c1", "#12", "5", "The parser is fixed."],
    ["user", "u2", "#7", "4", "Now the tests."],
    ["assistant", "a3", "#8", "12", '→ read {"path":"tests/test_parser.py"}', "They pass."],
    ["branchSummary", "s1", "#11", "6", "Expressions are worse."],
    ["user", "u3", "#13", "2", "Thanks!"],
    ["assistant", "a4", "#14", "4", "You are welcome."],
]


def test_a_context_is_shown_message_by_message_with_totals_at_the_end(told: Refold) -> None:
    *messages, totals = told("context", SESSION).out.rstrip("\n").split("\n\n")
    shown = [message.split("\n") for message in messages]
    assert [[*heading.split()[1:5], *text] for heading, *text in shown] == MESSAGES
    assert re.findall(r"#?\d+|\w+/\w+", totals) == ["6", "33", "utf16/4", "1", "#17", "p/m"]


def test_a_long_message_is_shown_by_its_beginning_and_says_how_much_is_left_out(refold: Refold) -> None:
    said = {"type": "message", "message": {"role": "user", "content": "\n".join(map(str, range(100)))}}
    refold("append", "s", stdin=line(said))
    *shown, left_out = refold("context", "s").lines[1:8]
    assert (shown, left_out.split()[:2]) == (["0", "1", "2", "3", "4", "5"], ["…", "94"])


def test_in_full_a_message_is_whole(refold: Refold) -> None:
    words = "\n".join(["x" * 900, *map(str, range(100))])
    refold("append", "s", stdin=line({"type": "message", "message": {"role": "user", "content": words}}))
    assert words in refold("context", "s", "--full").out


def test_a_model_that_no_message_names_is_none(refold: Refold) -> None:
    refold("append", "s", stdin=line({"type": "message", "message": {"role": "assistant", "content": "hi"}}))
    assert "model none" in refold("context", "s").lines[-1]


def test_a_rewritten_message_says_so(refold: Refold) -> None:
    shown = {"type": "rewrite", "reason": "prune", "targets": [{"target": "e1", "shown": "short"}]}
    words = {"type": "message", "id": "e1", "message": {"role": "user", "content": "long " * 40}}
    refold("append", "s", stdin=line(words) + line(shown))
    heading, text = refold("context", "s").lines[:2]
    assert (heading.split()[1:5], heading.split()[-1], text) == (
        ["user", "e1", "#1", "2"],
        "rewritten",
        "short",
    )


def test_the_context_at_the_root_is_empty_and_says_where_it_stands(told: Refold) -> None:
    (totals,) = told("context", SESSION, "--leaf", "root").lines
    assert re.findall(r"#?\d+", totals) == ["0", "0", "16", "4", "#17"]


def test_what_goes_on_after_a_compaction_stands_and_is_marked(refold: Refold) -> None:
    said = {"type": "message", "id": "e1", "message": {"role": "user", "content": "continue"}}
    refold("append", "s", stdin=line({**said, "metadata": {"compaction_continue": True}}))
    heading, text = refold("context", "s").lines[:2]
    assert (heading.split()[-1], text) == ("injected", "continue")
