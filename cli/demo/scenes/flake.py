"""A test that fails one time in twelve, and why."""

from __future__ import annotations

from typing import Final

from cli.demo import logs, passages, written
from cli.demo.stage import Stage
from cli.demo.tools import bash, edit, read, write

_TESTS: Final = (
    "test_a_new_client_has_its_whole_burst",
    "test_an_empty_bucket_says_how_long_to_wait",
    "test_clients_do_not_share_a_bucket",
    "test_a_bucket_never_holds_more_than_its_burst",
    "test_refill_is_gradual",
)

_TOO_LATE: Final = """
=================================== FAILURES ===================================
____________________________ test_refill_is_gradual ____________________________

    def test_refill_is_gradual():
        buckets = TokenBuckets(per_minute=1200, burst=1)
        buckets.take("a")
        time.sleep(0.03)
>       assert buckets.take("a") > 0
E       assert 0.0 > 0

tests/test_limits.py:38: AssertionError
=========================== short test summary info ============================
FAILED tests/test_limits.py::test_refill_is_gradual - assert 0.0 > 0
1 failed in 0.12s
stress: 4 workers, 20 s, done
"""


def guesses(stage: Stage) -> None:
    """The build fails now and then; the agent reads runs and guesses."""
    stage.extension(
        "ci-status",
        """
        Build 4127 of branch limiter failed: tests/test_limits.py::test_refill_is_gradual, assert 0.0 > 0. Builds
        4124 to 4126 of the same commit passed.
        """,
        after=600,
    )
    stage.person(
        "Can you make sense of that? It is green here. Don't rerun the build until it passes; find out why.",
        after=60,
    )
    stage.agent(
        bash(
            'for i in $(seq 48); do echo "---- run $i"; pytest -v --durations=1 tests/test_limits.py'
            " | grep -E 'PASSED|FAILED|call|====.* in '; done",
            logs.repeated_runs(48, _TESTS, failing=(9, 22, 31, 44)),
            seconds=57,
        ),
        read("tests/test_limits.py"),
    )
    stage.agent(
        bash(
            "stress --cpu 4 --timeout 20 & pytest -q tests/test_limits.py -k gradual",
            _TOO_LATE,
            exit_code=1,
            seconds=21,
        ),
        thinking="""
        Four of 48, always the last test, and slower whenever it fails: 0.09 s instead of 0.06 s. The first sleep of
        30 ms takes more than the 50 ms that a token needs. If that is it, a busy machine should make it fail at will.
        """,
    )
    stage.agent(
        text="""
        It is the load of the machine: `time.sleep(0.03)` may take 60 ms, and by then the token is there. With
        `stress` beside it the test fails at once. I could widen the margins: a rate of one token a second,
        and sleeps of 0.4 s.
        """
    )


def clock(stage: Stage) -> None:
    """Another model, told where to begin, takes the real clock out of it."""
    stage.uses("claude-opus-4-5")
    stage.thinks("high")
    stage.person(
        """
        Wider margins make it rarer and slower, not right. No sleeping in tests: the clock goes in as an argument. And
        ask yourself what time.time() does to a bucket when somebody sets the clock.
        """,
        after=90,
    )
    stage.agent(
        read("src/ferry/limits.py"),
        bash(
            "grep -rn 'time\\.' src/ferry | grep -v runtime",
            "src/ferry/limits.py:27:        now = time.time()",
        ),
        thinking="""
        Two faults, then. The tests wait for a clock that they cannot hold still. And the bucket itself reads wall time:
        when NTP steps it back by a minute, `now - bucket.updated` is negative and the refill takes tokens away, so
        that a client may wait for a minute too long. time.monotonic never goes back. With the clock as an argument
        of TokenBuckets both go away, and the tests can say exact numbers.
        """,
    )
    stage.agent(
        edit(
            "src/ferry/limits.py",
            "import time\nfrom dataclasses import dataclass\n",
            "import time\nfrom collections.abc import Callable\nfrom dataclasses import dataclass\n",
        ),
        edit("src/ferry/limits.py", passages.WALL_TIME, passages.CLOCK_GIVEN),
        write("tests/test_limits.py", written.BUCKET_TESTS_BY_HAND),
    )
    stage.agent(
        bash(
            "for i in $(seq 200); do pytest -q tests/test_limits.py | tail -1; done | cut -d' ' -f1-2 | sort | uniq -c",
            "    200 5 passed",
            seconds=96,
        ),
        bash("pytest -q", logs.passed(85, "3.52"), seconds=5),
    )
    stage.agent(
        text="""
        Fixed at the root. TokenBuckets takes its clock, by default time.monotonic: wall time could step back, and a
        bucket then lost tokens that it had. The tests turn a clock by hand and state exact waits; 200 runs
        of the module pass, and so do all 85 tests.
        """
    )
