from __future__ import annotations

import pytest

from tests.cli.running import Refold
from tests.cli.tale import SESSION
from tests.support.pi_files import line

GLANCE = """\
0199aaaa-0000-7000-8000-000000000001
The parser
16 entries · 1 compaction · 1 branch summary · 0 rewrites
context now 6 messages, 33 tokens by utf16/4, an estimate
"""
COMPACTION = """\
── Compaction 1 of 1 c1 #12  2025-12-08 22:00:12
   !        1 file in its list that no call touched
   by       p/m · pi/3
   before   2,500 claimed · 2,400 measured at a3 · 1,056 recomputed · +1,350 that the log cannot explain
   after    27 recomputed · 693 sent at the next call, a4
            █░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░ 3% left
   messages 6 summarized · 3 kept from u2 on · 0 dropped with no summary covering them
   files    1 read, 1 modified claimed · 0 read, 1 modified by the log
            unfounded: gone.py
   size     1,034 of 1,056 tokens removed (98%) · 5 added in their place (0%) · 22 kept
"""
SUMMARY = """\
   summary  5 tokens (utf16/4)
            The parser is fixed.
"""
BRANCH_SUMMARY = """\
── Branch summary s1 #11  2025-12-08 22:00:11
   left     2 entries up to b2
   at       a3
   files    no claim · 0 read, 1 modified by the log
   size     19 of 1,069 tokens removed (2%) · 6 added in their place (32%) · 1,050 kept
"""
ABOUT_THE_BRANCH = """\
   summary  6 tokens (utf16/4)
            Expressions are worse.
"""


PARTS = [GLANCE, COMPACTION, SUMMARY, BRANCH_SUMMARY, ABOUT_THE_BRANCH]


@pytest.mark.parametrize("part", PARTS, ids=["glance", "compaction", "summary", "branch", "about the branch"])
def test_an_audit_in_full_shows_a_glance_then_all_of_each_compaction_and_branch_summary(
    told: Refold, part: str
) -> None:
    assert part in told("audit", SESSION, "--full").out


def test_each_has_every_metric(told: Refold) -> None:
    lines = told("audit", SESSION, "--full").lines
    for metric in ("size", "needed", "recall", "rules", "again", "sections", "names", "cache", "cost"):
        assert len([line for line in lines if line.startswith(f"   {metric:<9}")]) == 2


def append(refold: Refold, *records: dict[str, object]) -> None:
    refold("append", "s", stdin=b"".join(map(line, records)))


def say(event_id: str, words: str) -> dict[str, object]:
    return {"type": "message", "id": event_id, "message": {"role": "user", "content": words}}


def compaction(event_id: str, **fields: object) -> dict[str, object]:
    given = {"summary": "s", "firstKeptEntryId": "", "tokensBefore": 14, **fields}
    return {"type": "compaction", "id": event_id, **given}


def warnings(refold: Refold) -> list[str]:
    return [line[12:] for line in refold("audit", "s", "--full").lines if line.startswith("   ! ")]


def test_messages_that_no_summary_covers_are_warned_of(told: Refold) -> None:
    # A summary of a pi that began behind the compaction before: what that one had kept is in none.
    older = {"type": "compaction", "id": "c2", "parentId": "i1", "summary": "later", "firstKeptEntryId": "a4"}
    with open("tale.jsonl", "ab") as file:
        file.write(line({**older, "tokensBefore": 9, "timestamp": "2025-12-08T23:00:00.000Z"}))
    told("import", "tale.jsonl")
    assert (
        "   !        3 messages left the context with no summary covering them"
        in told("audit", SESSION, "--full").lines
    )


def test_a_compaction_that_saved_nothing_is_warned_of(refold: Refold) -> None:
    append(refold, say("e1", "hi"), compaction("c1", summary="much longer than what it stands for"))
    assert "the context did not get smaller" in warnings(refold)


def test_an_empty_summary_is_warned_of(refold: Refold) -> None:
    append(refold, say("e1", "hello " * 9), compaction("c1", summary=" "))
    assert "its summary is empty" in warnings(refold)


def test_touched_files_that_a_list_lacks_are_warned_of_and_named(refold: Refold) -> None:
    read = {"type": "toolCall", "id": "k", "name": "read", "arguments": {"path": "a.py"}}
    said = {"role": "assistant", "content": [{"type": "text", "text": "I look. " * 9}, read]}
    details = {"readFiles": [], "modifiedFiles": []}
    append(
        refold,
        {"type": "message", "id": "e1", "message": said},
        compaction("c1", details=details, tokensBefore=23),
    )
    assert warnings(refold) == ["1 touched file that its list lacks"]
    assert "            missing: a.py" in refold("audit", "s", "--full").lines


def test_a_sound_compaction_is_warned_of_in_no_way(refold: Refold) -> None:
    append(refold, say("e1", "hello " * 9), compaction("c1"))
    assert warnings(refold) == []


def test_a_rewrite_is_shown_with_its_targets_and_what_it_says_it_saved(refold: Refold) -> None:
    targets = [{"target": "e1", "shown": "short"}]
    append(
        refold,
        say("e1", "hello " * 9),
        {"type": "rewrite", "id": "w1", "reason": "prune", "targets": targets, "tokensSaved": 12},
    )
    lines = refold("audit", "s", "--full").lines
    place = next(number for number, line in enumerate(lines) if line.startswith("── Rewrite w1 #2"))
    assert lines[place + 1 : place + 4] == [
        "   reason   prune",
        "   targets  1 message: e1",
        "   saved    12 tokens, by its own count",
    ]


def test_a_compaction_that_was_undone_says_so(refold: Refold) -> None:
    append(
        refold, say("e1", "hello " * 9), compaction("c1"), {"type": "undone", "id": "n1", "targetId": "c1"}
    )
    heading = next(line for line in refold("audit", "s", "--full").lines if line.startswith("── Compaction"))
    assert heading.endswith("  undone")


def test_a_session_without_compactions_is_said_to_have_none(refold: Refold) -> None:
    append(refold, say("e1", "hi"))
    assert "1 entry · 0 compactions · 0 branch summaries · 0 rewrites" in refold("audit", "s", "--full").lines


def test_on_a_narrow_terminal_a_field_goes_on_below_its_beginning(told: Refold) -> None:
    lines = told.on_terminal("audit", SESSION, "--full", columns=60, NO_COLOR="1", TERM="dumb").splitlines()
    place = next(number for number, line in enumerate(lines) if line.startswith("   before"))
    assert lines[place + 1].startswith(" " * 12)
