"""A limiter for several workers without a common store, and a lunch hour on staging."""

from __future__ import annotations

from typing import Final

from cli.demo import logs, passages
from cli.demo.stage import Stage
from cli.demo.tools import bash, edit, read

_SHUT: Final = """
......F                                                                  [100%]
=================================== FAILURES ===================================
________________________ test_a_share_is_never_nothing _________________________

    def test_a_share_is_never_nothing():
        buckets = TokenBuckets(per_minute=60, burst=3, workers=4)
>       assert buckets.take("a") == 0
E       assert 4.0 == 0

tests/test_limits.py:64: AssertionError
=========================== short test summary info ============================
FAILED tests/test_limits.py::test_a_share_is_never_nothing - assert 4.0 == 0
1 failed, 6 passed in 0.06s
"""

_SHARE_TESTS: Final = """

def test_workers_share_rate_and_burst(clock):
    buckets = TokenBuckets(per_minute=60, burst=4, workers=2, clock=clock)
    assert drain(buckets, "a", 3) == [0, 0, 2]


def test_a_share_is_never_nothing():
    buckets = TokenBuckets(per_minute=60, burst=3, workers=4)
    assert buckets.take("a") == 0
"""


def share(stage: Stage) -> None:
    """Each worker gets its part of the limit; rounding down leaves a bucket that nobody can draw on."""
    stage.person_runs("git restore . && git clean -fdq src tests && git status --short", "", after=30)
    stage.person(
        """
        Simpler: each worker takes its part. uvicorn reads the number of workers from WEB_CONCURRENCY, so we can,
        too. That it is not exact when one worker is busier is fine. Don't start anything that I have to keep running.
        """,
        after=50,
    )
    stage.agent(
        read("src/ferry/settings.py"),
        read("src/ferry/limits.py"),
        read("deploy/compose.yaml"),
    )
    stage.agent(
        edit("src/ferry/settings.py", passages.SETTINGS_OF_ONE, passages.SETTINGS_OF_WORKERS),
        edit("src/ferry/limits.py", passages.WHOLE_LIMIT, passages.SHARED_LIMIT),
        edit(
            "src/ferry/app.py",
            "                buckets=TokenBuckets(per_minute=settings.rate_per_minute, burst=settings.burst),\n",
            "                buckets=TokenBuckets(\n"
            "                    per_minute=settings.rate_per_minute,\n"
            "                    burst=settings.burst,\n"
            "                    workers=settings.workers,\n"
            "                ),\n",
        ),
        edit(
            "deploy/compose.yaml",
            "--host 0.0.0.0 --workers 2\n    environment:\n",
            "--host 0.0.0.0\n    environment:\n      WEB_CONCURRENCY: 2\n",
        ),
        bash(f"cat >> tests/test_limits.py <<'END'{_SHARE_TESTS}END", ""),
    )
    stage.agent(bash("pytest -q tests/test_limits.py", _SHUT, exit_code=1))
    stage.agent(
        edit(
            "src/ferry/limits.py",
            "        self.burst = burst // workers\n",
            "        # A bucket that cannot hold one token would never open.\n"
            "        self.burst = max(1, burst // workers)\n",
        ),
        bash("pytest -q", logs.passed(87, "3.55"), seconds=5),
    )
    stage.agent(
        text="""
        Each worker now enforces its part of rate and burst, and a part is never less than one token: rounding down
        shut the bucket for good when there are more workers than burst. WEB_CONCURRENCY tells uvicorn and us alike.
        All 87 tests pass.
        """
    )


def staging(stage: Stage) -> None:
    """Who was limited that should not have been."""
    stage.person(
        """
        It has been on staging over lunch, with a mirror of the real traffic: logs/staging.log. Who was limited that
        should not have been? Just look, change nothing.
        """,
        after=5400,
    )
    stage.agent(
        bash("head -180 logs/staging.log", logs.staging_log(180)),
        bash(
            "jq -r 'select(.event==\"limited\").client' logs/staging.log | sort | uniq -c | sort -rn | head -3",
            "   1214 ip:203.0.113.77\n    611 ip:198.51.100.23\n      3 ip:192.0.2.31",
        ),
    )
    stage.agent(
        bash(
            "jq -r 'select(.client==\"ip:198.51.100.23\") | .agent' logs/staging.log | sort | uniq -c",
            "    618 FerryApp/5.2 (Android 15)\n    604 FerryApp/5.2 (iOS 18.3)",
        ),
        read("src/ferry/routes.py"),
        thinking="""
        The first is the scraper, as intended. The second asks for everything, evenly, with our own app on two systems:
        many people behind one address of a mobile carrier. Which routes does the app need without a key?
        """,
    )
    stage.agent(
        text="""
        203.0.113.77 is the scraper, rightly limited 1,214 times. 198.51.100.23 is not one client: half Android, half
        iOS, all of them our own app, so it must be a mobile carrier's gateway. It was limited 611 times, and those were
        passengers. Addresses cannot tell them apart; a key in the app could, with a rate of its own.
        """
    )


def next_task(stage: Stage) -> None:
    """What is to be done next."""
    stage.person(
        """
        Then the app gets a key with a rate of its own, 6,000 a minute. Keys move from the environment to a table
        api_keys for that: key, owner, per_minute. Tell me how you understand it before you begin.
        """,
        after=200,
    )
    stage.agent(
        text="""
        Understood: keys in a table api_keys, each with its own rate where it has one, and the 60 a minute of everyone
        where it has none.
        """
    )
