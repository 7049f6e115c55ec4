from __future__ import annotations

from tests.cli.running import Refold
from tests.cli.tale import SESSION
from tests.support.pi_files import line

CONTEXT = """\
── compactionSummary c1 #12  5 tokens  summary
The parser is fixed.

── user u2 #7  4 tokens
Now the tests.

── assistant a3 #8  12 tokens
→ read {"path":"tests/test_parser.py"}
They pass.

── branchSummary s1 #11  6 tokens  summary
Expressions are worse.

── user u3 #13  2 tokens
Thanks!

── assistant a4 #14  4 tokens
You are welcome.

6 messages, 33 tokens (utf16/4) at i1 as of #17; model p/m, thinking off
"""


def test_a_context_is_shown_message_by_message_with_totals_at_the_end(told: Refold) -> None:
    assert told("context", SESSION).out == CONTEXT


def test_a_long_message_is_shown_by_its_beginning_and_says_how_much_is_left_out(refold: Refold) -> None:
    said = {"type": "message", "message": {"role": "user", "content": "\n".join(map(str, range(100)))}}
    refold("append", "s", stdin=line(said))
    assert refold("context", "s").lines[1:8] == ["0", "1", "2", "3", "4", "5", "… 94 more lines (--full)"]


def test_one_line_that_is_left_out_is_one_line(refold: Refold) -> None:
    said = {"type": "message", "message": {"role": "user", "content": "\n".join(map(str, range(7)))}}
    refold("append", "s", stdin=line(said))
    assert refold("context", "s").lines[7] == "… 1 more line (--full)"


def test_in_full_a_message_is_whole(refold: Refold) -> None:
    words = "\n".join(["x" * 900, *map(str, range(100))])
    refold("append", "s", stdin=line({"type": "message", "message": {"role": "user", "content": words}}))
    assert words in refold("context", "s", "--full").out


def test_a_model_that_no_message_names_is_none(refold: Refold) -> None:
    refold("append", "s", stdin=line({"type": "message", "message": {"role": "assistant", "content": "hi"}}))
    assert refold("context", "s").lines[-1].endswith("; model none, thinking off")


def test_a_rewritten_message_says_so(refold: Refold) -> None:
    shown = {"type": "rewrite", "reason": "prune", "targets": [{"target": "e1", "shown": "short"}]}
    words = {"type": "message", "id": "e1", "message": {"role": "user", "content": "long " * 40}}
    refold("append", "s", stdin=line(words) + line(shown))
    assert refold("context", "s").lines[:2] == ["── user e1 #1  2 tokens  rewritten", "short"]


def test_the_context_at_the_root_is_empty_and_says_where_it_stands(told: Refold) -> None:
    assert told("context", SESSION, "--leaf", "root").lines == [
        "0 messages, 0 tokens (utf16/4) at the root as of #17; model none, thinking off"
    ]


def test_what_goes_on_after_a_compaction_stands_and_is_marked(refold: Refold) -> None:
    said = {"type": "message", "id": "e1", "message": {"role": "user", "content": "continue"}}
    refold("append", "s", stdin=line({**said, "metadata": {"compaction_continue": True}}))
    assert refold("context", "s").lines[:2] == ["── user e1 #1  2 tokens  injected", "continue"]
