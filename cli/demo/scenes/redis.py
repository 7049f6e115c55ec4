"""A branch that is given up: buckets in Redis."""

from __future__ import annotations

from typing import Final

from cli.demo import logs, written
from cli.demo.stage import Stage
from cli.demo.tools import bash, edit, read, write

_REFUSED: Final = """
F                                                                        [100%]
=================================== FAILURES ===================================
_________________________ test_two_workers_share_a_bucket ______________________
tests/test_redis_buckets.py:21: in test_two_workers_share_a_bucket
    first, second, third = asyncio.run(from_both())
tests/test_redis_buckets.py:19: in from_both
    return [await bucket.take("a"), await other.take("a"), await bucket.take("a")]
            ^^^^^^^^^^^^^^^^^^^^^^
src/ferry/redis_buckets.py:34: in take
    return float(await self._take(keys=keys, args=limits))
                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
E   redis.exceptions.ConnectionError: Error 111 connecting to localhost:6379. Connection refused.
=========================== short test summary info ============================
FAILED tests/test_redis_buckets.py::test_two_workers_share_a_bucket
1 failed in 0.44s
"""


def redis(stage: Stage) -> None:
    """Tried with the person's leave, measured, and found to cost more than it is worth."""
    stage.person(
        """
        In production two workers run side by side, so everybody has twice the rate. Try it with Redis: this once,
        `redis` as a dependency is all right. I want to see what it costs before I decide.
        """,
        after=110,
    )
    stage.agent(read("deploy/compose.yaml"))
    stage.agent(
        write("src/ferry/redis_buckets.py", written.REDIS_BUCKETS),
        write("tests/test_redis_buckets.py", written.REDIS_TESTS),
        edit("pyproject.toml", '"asyncpg>=0.30"]', '"asyncpg>=0.30", "redis>=5"]'),
        bash(
            "pip install -q 'redis>=5' && pip show redis | head -2", "Name: redis\nVersion: 5.2.1", seconds=7
        ),
        thinking="""
        Read, refill and take must be one step on the server, or two workers take the same token: a Lua script. Redis
        has a clock of its own, which also settles whose time counts.
        """,
    )
    stage.agent(bash("pytest -q tests/test_redis_buckets.py --tb=short", _REFUSED, exit_code=1))
    stage.agent(
        bash("docker run -d --rm -p 6379:6379 redis:7", "5d0c1ff7a6b2", seconds=6),
        bash("sleep 1; pytest -q tests/test_redis_buckets.py", logs.passed(1, "0.21")),
        text="Nothing listens there yet. I'll start one in a container.",
    )
    stage.agent(
        bash(
            "python scripts/load.py --seconds 45 --rate 400 --limiter memory",
            logs.load(45, median=190),
            seconds=46,
        ),
        bash(
            "python scripts/load.py --seconds 45 --rate 400 --limiter redis",
            logs.load(45, median=430),
            seconds=46,
        ),
        text="Both workers now share a bucket. The cost, at 400 requests a second:",
    )
    stage.agent(
        text="""
        Redis works and is exact over both workers, but each request waits for it: the median goes from about 2.0 to
        4.4 ms, the 99th percentile from 8 to 15 ms. And there is a decision that we cannot avoid: with Redis gone,
        either everybody is let through or nobody is.
        """
    )
    stage.person(
        """
        More than double, and one more thing to keep running. No. Let's forget Redis, take it all out, and go back to
        where we were.
        """,
        after=180,
    )
