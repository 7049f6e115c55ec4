"""The scenes of `refold audit`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Final

from cli.views.model import audit_view
from cli.views.screen import print_overview, print_screen
from projections.audit.conditions import TokensBefore
from projections.audit.cost import Cost
from tests.cli import tale
from tests.cli.golden import File, Run, Scene
from tests.cli.golden.steps import (
    REWRITE,
    help_of,
    lines,
    message,
    nothing,
    person,
    the_demo,
    the_tale,
    two_generations,
)
from tests.cli.running import Refold
from tests.cli.views.printing import printed
from tests.support import measured
from tests.support.pi_files import line
from tests.support.stores import damage, make_store
from tests.support.talk import assistant, call


def four_sessions(refold: Refold) -> None:
    make_store(refold.store, 4, messages=6)


def damaged_in_session_2(refold: Refold) -> None:
    damage(refold.store, 2, 3)


def a_pipe_called_pipe(refold: Refold) -> None:
    del refold
    os.mkfifo("pipe.jsonl")


def views_of_made_up_audits(refold: Refold) -> str:
    """Render remarks and costs of every kind that no session here has."""
    del refold
    found = {
        "size": measured.size(1000, 250, removed=800, kept=200, added=40, returned=10),
        "rework": measured.redone("src/a.py", "b.py"),
        "next": measured.followed(4, 9, refusals=(9,)),
        "cost": Cost(
            model="p/m",
            calls=9,
            summary=0.5,
            is_estimate=True,
            rewrite=0.25,
            saved=1.0,
            net=0.25,
            window=None,
            too_long=0,
        ),
    }
    before = TokensBefore(claimed=500, measured=1000, measured_at="e1", recomputed=800, unexplained=None)
    nothing_known = measured.spent(9, None, None, unrecorded=9, unpriced=9)
    some_known = measured.spent(9, 1.0, 2.0, unrecorded=3, unpriced=1)
    worse = measured.compaction(
        3,
        before=before,
        answers_since=1,
        uncovered=[measured.ref(1), measured.ref(2)],
        old_summary=measured.ref(1),
        missing_sections=["Next", "Notes"],
        conditions=["uncovered", "larger", "quick", "fetched-again", "failed-again", "claim"],
        **{**found, "size": measured.size(10, 11)},
    )
    seen = measured.audit(worse, measured.rewrite(4, undone=True), cost=some_known)
    return "\n".join(
        line
        for view, shown in (
            (print_overview, measured.audit(counter="o200k", exact=True, estimate=False, cost=nothing_known)),
            (print_screen, audit_view(seen)),
        )
        for line in printed(view, shown, width=200)
    )


def compaction(event_id: str, **fields: Any) -> dict[str, Any]:
    given = {"summary": "s", "firstKeptEntryId": "", "tokensBefore": 14, **fields}
    return {"type": "compaction", "id": event_id, **given}


def attempt(event_id: str, error: str) -> dict[str, Any]:
    request = {"reason": "threshold", "policy": "refold", "requests": []}
    return {"type": "attempt", "id": event_id, "request": request, "error": error}


# A summary of a pi that began behind the compaction before: what that one had kept is in none.
OLDER: Final = {
    "type": "compaction",
    "id": "c2",
    "parentId": "i1",
    "summary": "later",
    "firstKeptEntryId": "a4",
    "tokensBefore": 9,
    "timestamp": "2025-12-08T23:00:00.000Z",
}

PRICES: Final = File(
    "mine.toml",
    'date = 2026-01-01\n[models."m"]\n'
    "input = 1\noutput = 2\ncache_read = 0\ncache_write_5m = 1\ncache_write_1h = 1\n",
)

SCENES: Final[Sequence[Scene]] = [
    help_of("audit"),
    Scene(the_tale, ["audit @last", "audit @last --leaf root"]),
    Scene(the_demo, ["audit @last", "audit @last --leaf '#69'"]),
    Scene(nothing, [views_of_made_up_audits]),
    Scene(
        the_tale,
        [
            File("tale.jsonl", tale.tale() + line(OLDER)),
            "audit tale.jsonl",
            PRICES,
            "--prices mine.toml audit @last --leaf '#12'",
            "--prices none.toml audit @last",
            Run("--counter o200k audit @last", patch={"projections.tokens._o200k": lambda _: None}),
            a_pipe_called_pipe,
            "audit pipe.jsonl",
        ],
    ),
    Scene(
        nothing,
        [
            Run("append none", lines(person("e1", "hi"))),
            Run(
                "append grew",
                lines(person("e1", "hi"), compaction("c1", summary="much longer than what it stands for")),
            ),
            Run("append empty", lines(person("e1", "hello " * 9), compaction("c1", summary=" "))),
            Run("append sound", lines(person("e1", "hello " * 9), compaction("c1"))),
            Run(
                "append lacks",
                lines(
                    message("e1", assistant("I look. " * 9, call("read", "k", path="a.py"))),
                    compaction("c1", details={"readFiles": [], "modifiedFiles": []}, tokensBefore=23),
                ),
            ),
            Run(
                "append rewritten",
                lines(
                    person("e1", "hello " * 9),
                    {**REWRITE, "targets": [{"target": "e1", "shown": "short"}]},
                ),
            ),
            Run(
                "append undone",
                lines(
                    person("e1", "hello " * 9),
                    compaction("c1"),
                    {"type": "undone", "id": "n1", "targetId": "c1"},
                ),
            ),
            Run(
                "append failed",
                lines(person("e1", "hi"), attempt("a1", "overloaded"), attempt("a2", "no model")),
            ),
            "audit failed",
            "audit none grew empty sound lacks rewritten undone",
            "audit --all",
        ],
    ),
    Scene(
        four_sessions,
        [
            "audit session-00000 --fail-on files --fail-on larger",
            "audit --all --fail-on files",
            damaged_in_session_2,
            "audit --all",
            "audit session-00001",
        ],
    ),
    Scene(two_generations, ["audit --all"]),
    Scene(
        nothing,
        [
            "audit",
            "audit --all s",
            "audit --all --leaf root",
            "audit s --fail-on speed",
        ],
    ),
]
