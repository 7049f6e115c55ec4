"""Rates for keys, written from a summary that had no room for two of the rules."""

from __future__ import annotations

from typing import Final

from cli.demo import logs, passages, written_for_keys
from cli.demo.stage import Stage
from cli.demo.tools import bash, edit, read, write

_EXEMPT_TEST: Final = """

@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_the_load_balancer_is_never_limited(client, path):
    assert [client.get(path).status_code for _ in range(50)] == [200] * 50
"""


def rates(stage: Stage) -> None:
    """The agent writes rates for keys, and a migration that it was told never to write."""
    stage.person("Go ahead with the keys.", after=20)
    stage.agent(
        read("src/ferry/keys.py"),
        read("src/ferry/middleware.py"),
        bash("ls migrations | tail -2", "0006_notices.sql\n0007_disruptions.sql"),
    )
    stage.agent(
        write("migrations/0008_api_keys.sql", written_for_keys.API_KEYS_MIGRATION),
        write("src/ferry/keys.py", written_for_keys.KEYS),
        write("src/ferry/middleware.py", written_for_keys.MIDDLEWARE_BY_KEY),
        read("src/ferry/limits.py"),
        thinking="""
        The table needs a migration, number 0008. The middleware looks a key up once and takes its rate along. The
        set of exempt paths at its top is explained nowhere, and no test needs it: a path that anybody may ask for
        without end looks like a leftover in a limiter. I'll write the module without it.
        """,
    )
    stage.agent(
        edit("src/ferry/limits.py", passages.ONE_RATE, passages.RATE_BY_CLIENT),
        edit("src/ferry/app.py", passages.GUESSED_START, passages.START_WITH_KEYS),
    )
    stage.agent(read("src/ferry/app.py"), text="So much for my memory of app.py. I'll look.")
    stage.agent(write("src/ferry/app.py", written_for_keys.APP_BY_KEY))
    stage.agent(bash("pytest -q", logs.passed(87, "3.61"), seconds=5))
    stage.agent(
        text="""
        Keys now come from the table api_keys, created by migrations/0008_api_keys.sql, and each may have a rate of its
        own. Every test passes.
        """
    )


def amends(stage: Stage) -> None:
    """The person misses two rules; the agent makes both good."""
    stage.person(
        """
        Two things, and both were among my rules. Never touch anything in migrations/: take that file out, I write it
        myself. And the load balancer has just taken both staging instances out, because /healthz answers 429:
        /healthz and /readyz are never limited.
        """,
        after=900,
    )
    stage.agent(
        bash(
            "git status -s migrations && rm migrations/0008_api_keys.sql",
            "?? migrations/0008_api_keys.sql",
        ),
        bash(
            "git log -p --format='%h %s' -S EXEMPT -- src/ferry/middleware.py | grep -E '^[0-9a-f]{7}|EXEMPT'",
            '91c2b7e Limit requests: 429 with Retry-After\n+EXEMPT = frozenset({"/healthz", "/readyz"})\n'
            "+        if request.url.path in EXEMPT:",
        ),
        thinking="""
        Neither is anywhere in what I have before me: the summary that I work from names the rules about tests,
        dependencies and problem bodies, not the one about migrations, and nothing about health checks. Both must
        have stood in the part that it replaced. First take the file out, then bring the exemption back, with a test
        and a reason beside it, so that it does not depend on anyone's memory.
        """,
    )
    stage.agent(
        edit(
            "src/ferry/middleware.py",
            "from ferry.problems import Problem\n\n",
            "from ferry.problems import Problem\n\n"
            "# The load balancer polls these, and takes an instance out that refuses it twice.\n"
            'EXEMPT = frozenset({"/healthz", "/readyz"})\n\n',
        ),
        edit(
            "src/ferry/middleware.py",
            "        client, per_minute = client_of(request)\n",
            "        if request.url.path in EXEMPT:\n"
            "            return await call_next(request)\n"
            "        client, per_minute = client_of(request)\n",
        ),
        bash(f"cat >> tests/test_limit_middleware.py <<'END'{_EXEMPT_TEST}END", ""),
    )
    stage.agent(bash("pytest -q", logs.passed(89, "3.72"), seconds=5))
    stage.agent(
        text="""
        Both are made good, and I am sorry: neither rule was in my context any longer. The migration is
        gone, for you to write: api_keys with key (text, primary key), owner (text) and per_minute (integer, null for
        everyone's rate). /healthz and /readyz are exempt again, with the reason beside them and two tests, which were
        missing from the start. All 89 tests pass, migrations/ is untouched.
        """
    )


def aside(stage: Stage, *, at: str) -> None:
    """A question asked from an earlier point of the session; its answer stays there."""
    here = stage.leaf()
    stage.moves(at)
    stage.person(
        "Seen from here: would a decorator on each route have been less code than a middleware?", after=60
    )
    stage.agent(
        text="""
        No. There are 52 routes, and each would need its line; a new one without it would be unlimited and nobody would
        notice. The middleware fails the other way round: a new route is limited until somebody exempts it.
        """
    )
    stage.moves(here)


def ending(stage: Stage) -> None:
    """The work gets its commit message."""
    stage.person("Good. The message for the commit, please; I commit it myself.", after=45)
    stage.agent(
        text="""
        Give API keys rates of their own

        Keys are read from the table api_keys when the application starts; one without a rate has that of everyone.
        /healthz and /readyz stay exempt, which tests now say. Needs the table: key, owner, per_minute.
        """
    )
