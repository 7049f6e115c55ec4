"""The request, the rules, and a limiter that works in one process."""

from __future__ import annotations

from typing import Final

from cli.demo import ferry, logs, written
from cli.demo.stage import Stage
from cli.demo.tools import bash, edit, read, write

_TESTS_BEFORE: Final = 74

_OVERFULL: Final = """
...F.                                                                    [100%]
=================================== FAILURES ===================================
________________ test_a_bucket_never_holds_more_than_its_burst _________________

    def test_a_bucket_never_holds_more_than_its_burst():
        buckets = TokenBuckets(per_minute=6000, burst=2)
        drain(buckets, "a", 2)
        time.sleep(0.05)
>       assert [wait == 0 for wait in drain(buckets, "a", 3)] == [True, True, False]
E       assert [True, True, True] == [True, True, False]
E         At index 2 diff: True != False

tests/test_limits.py:31: AssertionError
=========================== short test summary info ============================
FAILED tests/test_limits.py::test_a_bucket_never_holds_more_than_its_burst
1 failed, 4 passed in 0.19s
"""

_NO_ADDRESS: Final = """
F
=================================== FAILURES ===================================
_______________ test_the_request_after_the_burst_is_told_to_wait _______________
tests/test_limit_middleware.py:21: in test_the_request_after_the_burst_is_told_to_wait
    assert statuses(client, 2) == [200, 200]
           ^^^^^^^^^^^^^^^^^^^
tests/test_limit_middleware.py:17: in statuses
    return [client.get("/v1/ports", headers=named).status_code for _ in range(count)]
            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
src/ferry/request_id.py:27: in __call__
    await self.app(scope, receive, send_with_id)
src/ferry/middleware.py:27: in dispatch
    wait = math.ceil(self.buckets.take(client_of(request)))
                                       ^^^^^^^^^^^^^^^^^^
src/ferry/middleware.py:41: in client_of
    address = ipaddress.ip_address(forwarded or request.client.host)
              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
E   ValueError: 'testclient' does not appear to be an IPv4 or IPv6 address
=========================== short test summary info ============================
FAILED tests/test_limit_middleware.py::test_the_request_after_the_burst_is_told_to_wait
!!!!!!!!!!!!!!!!!!!!!!!!!! stopping after 1 failures !!!!!!!!!!!!!!!!!!!!!!!!!!!
1 failed in 0.31s
"""


def request(stage: Stage) -> None:
    """The person asks for a limiter; the agent looks round and plans."""
    stage.opens("Rate limiter for the ferry API", cwd="/src/ferry")
    stage.uses("claude-sonnet-4-5")
    stage.thinks("low")
    stage.person(
        """
        One scraper took the API down again last night; the graph shows requests per second, a bar each half
        hour. I want a token bucket rate limiter in front of the routes, written by us, in memory to begin with. Look
        round first, then tell me your plan and what you need to know. No code yet.
        """,
        image=ferry.GRAPH,
    )
    stage.agent(
        bash("git ls-files", ferry.LISTING),
        read("pyproject.toml"),
        read("src/ferry/app.py"),
        text="I'll start with the layout, the dependencies and the application itself.",
    )
    stage.agent(
        read("src/ferry/routes.py"),
        read("src/ferry/settings.py"),
        read("tests/conftest.py"),
    )
    stage.agent(
        bash("sed -n '/02:13:00/,/02:13:40/p' logs/access.log | head -150", logs.access_log(150)),
        bash(
            "awk '{print $1}' logs/access.log | sort | uniq -c | sort -rn | head -4",
            " 301877 203.0.113.77\n   1630 198.51.100.23\n    212 198.51.100.118\n    197 198.51.100.74",
        ),
        thinking="""
        The routes carry nothing that limits, so this belongs in a middleware. Before I choose what to count by, the
        log should show whether last night was one address or many.
        """,
    )
    stage.agent(
        text="""
        It was one address: 203.0.113.77 paged through /v1/sailings some 300,000 times with no API key. The next
        busiest is 198.51.100.23 with 1,630.

        My plan:
        1. `src/ferry/limits.py`: token buckets, no HTTP in it, with tests.
        2. `src/ferry/middleware.py`: takes a token for each request, answers 429 with Retry-After as a problem.
           `create_app` adds it inside `RequestId`, so that a refusal has its id, too; the rate comes from `Settings`.
        3. The 429 in `openapi.yaml`.

        What I need to know: what identifies a client, which rate and burst, and whether any path must never be
        limited.
        """
    )


def bucket(stage: Stage) -> None:
    """The person says what holds for the whole session; the buckets are written, overflow, and are mended."""
    stage.person(
        """
        A client is its API key if we gave that key out, else its address. 60 a minute, bursts of 20. Harbour
        Office (key k-harbour) will want 600 a minute some day, not now.

        Rules for the whole session:
        1. Never touch anything in migrations/, neither a file that is there nor a new one: the schema is mine, so
        tell me what you need and I write it.
        2. /healthz and /readyz must never be limited, whoever asks and however often: the load balancer polls them
        from every zone, and takes an instance out of service after two answers that are not 200.
        3. Run `pytest -q` over everything before you say that something is done.
        4. No new runtime dependency without asking me first.
        5. Every error body must stay application/problem+json, as in problems.py.
        6. Name each test after the one thing that it promises.
        7. Write comments only where the code cannot say why.

        Start with the buckets.
        """,
        after=140,
    )
    stage.agent(
        write("src/ferry/limits.py", written.BUCKETS),
        write("tests/test_limits.py", written.BUCKET_TESTS),
        text="The buckets and their tests:",
    )
    stage.agent(bash("pytest -q tests/test_limits.py", _OVERFULL, exit_code=1))
    stage.agent(
        edit(
            "src/ferry/limits.py",
            "        bucket.tokens += (now - bucket.updated) * self.per_second\n",
            "        refilled = bucket.tokens + (now - bucket.updated) * self.per_second\n"
            "        bucket.tokens = min(self.burst, refilled)\n",
        ),
        bash("pytest -q", logs.passed(_TESTS_BEFORE + 5, "3.41"), seconds=5),
        thinking="""
        The refill has no ceiling: a client that was away for 50 ms came back with five tokens more than its bucket
        holds. Cap it where the tokens are added.
        """,
    )
    stage.agent(
        text="""
        The buckets are done: refill had no ceiling at first, one of the new tests found it. All 79 tests pass.
        """
    )


def middleware(stage: Stage) -> None:
    """The middleware: an edit from memory misses, a test finds an address that is none."""
    stage.person(
        "Good. Now the middleware. Keep it thin: what counts belongs into limits.py, where no test needs HTTP.",
        after=75,
    )
    stage.agent(read("src/ferry/problems.py"), read("src/ferry/request_id.py"))
    stage.agent(
        write("src/ferry/middleware.py", written.MIDDLEWARE),
        edit(
            "src/ferry/app.py",
            "        middleware=[Middleware(RequestId)],\n",
            "        middleware=[Middleware(RequestId), Middleware(RateLimit)],\n",
        ),
        thinking="""
        RequestId has to stay outermost, so that a refusal has a request id, too. Only the last address of
        X-Forwarded-For is the proxy's word; the rest is whatever the client sent.
        """,
    )
    stage.agent(
        read("src/ferry/app.py"),
        text="I wrote that edit from memory, and app.py reads otherwise. I'll look again.",
    )
    stage.agent(
        edit(
            "src/ferry/app.py",
            "            Middleware(RequestId, header=settings.request_id_header),\n",
            "            Middleware(RequestId, header=settings.request_id_header),\n"
            "            Middleware(\n"
            "                RateLimit,\n"
            "                buckets=TokenBuckets(per_minute=settings.rate_per_minute, burst=settings.burst),\n"
            "            ),\n",
        ),
        edit(
            "src/ferry/app.py",
            "from ferry.problems import Problem, on_problem\n",
            "from ferry.limits import TokenBuckets\n"
            "from ferry.middleware import RateLimit\n"
            "from ferry.problems import Problem, on_problem\n",
        ),
        edit(
            "src/ferry/settings.py",
            '    """From API keys to their owners."""\n',
            '    """From API keys to their owners."""\n    rate_per_minute: int = 60\n    burst: int = 20\n',
        ),
        write("tests/test_limit_middleware.py", written.MIDDLEWARE_TESTS),
    )
    stage.agent(bash("pytest -q -x --tb=short tests/test_limit_middleware.py", _NO_ADDRESS, exit_code=1))
    stage.agent(
        edit(
            "src/ferry/middleware.py",
            "    address = ipaddress.ip_address(forwarded or request.client.host)\n"
            "    if address.version == 6:\n"
            "        # A household owns a /64 and may use any address of it.\n"
            '        return f"ip:{ipaddress.ip_network((address, 64), strict=False)}"\n'
            '    return f"ip:{address}"\n',
            '    return f"ip:{_network(forwarded or request.client.host)}"\n'
            "\n\n"
            "def _network(address: str) -> str:\n"
            "    try:\n"
            "        parsed = ipaddress.ip_address(address)\n"
            "    except ValueError:\n"
            "        return address\n"
            "    # A household owns a /64 and may use any address of it.\n"
            "    return str(ipaddress.ip_network((parsed, 64), strict=False)) if parsed.version == 6 else address\n",
        ),
        bash("pytest -q", logs.passed(_TESTS_BEFORE + 11, "3.78"), seconds=5),
        thinking="""
        The test client is called "testclient", which is no address. It is not only a matter of tests: proxies write
        "unknown" into that header, and then every such request would be a 500. What cannot be parsed is a name like
        any other.
        """,
    )
    stage.agent(
        text="""
        The middleware is in, inside RequestId, and all 85 tests pass. What it does beyond the plan: IPv6 clients are
        counted by their /64, an unknown key counts as none, and an address that cannot be parsed has a bucket
        by its text instead of ending in a 500.
        """
    )


def description(stage: Stage) -> str:
    """The person tries it; the API's description learns of the 429. Gives the answer with which one process is done."""
    stage.person_runs(
        "for i in $(seq 40); do curl -so /dev/null -w '%{http_code}\\n' :8000/v1/ports; done | sort | uniq -c",
        "     20 200\n     20 429",
        after=160,
    )
    stage.person(
        "That's what I wanted to see. On to openapi.yaml. Describe the 429 once, and refer to it everywhere.",
        after=15,
    )
    stage.agent(read("openapi.yaml"))
    stage.agent(
        edit(
            "openapi.yaml",
            "  responses:\n    Problem:\n",
            "  responses:\n"
            "    TooManyRequests:\n"
            "      description: The client has used up its requests for the moment\n"
            "      headers:\n"
            "        Retry-After: {schema: {type: integer, minimum: 1}}\n"
            "      content:\n"
            "        application/problem+json:\n"
            "          schema: {$ref: '#/components/schemas/Problem'}\n"
            "    Problem:\n",
        ),
        bash(
            r"""sed -i "s|^\( *\)default: {\$ref: '#/components/responses/Problem'}|"""
            r"""\1'429': {\$ref: '#/components/responses/TooManyRequests'}\n&|" openapi.yaml"""
            " && grep -c TooManyRequests openapi.yaml",
            "53",
        ),
        text="All operations share one default response, so the 429 goes in front of each of those lines:",
    )
    stage.agent(bash("pytest -q", logs.passed(_TESTS_BEFORE + 11, "3.70"), seconds=5))
    return stage.agent(
        text="""
        Each of the 52 operations now names the 429 and its Retry-After, and all 85 tests pass. In one process the
        limiter is complete.
        """
    )
