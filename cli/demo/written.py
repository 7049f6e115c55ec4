"""The files that the demo's agent writes, as it first writes them: faults and all."""

from __future__ import annotations

from typing import Final

BUCKETS: Final = '''"""Token buckets: how many requests a client may make, and how soon the next one."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass
class Bucket:
    """The tokens that a client had left when it last asked."""

    tokens: float
    updated: float


class TokenBuckets:
    """A bucket for each client: it holds `burst` tokens and gains `per_minute` of them."""

    def __init__(self, *, per_minute: float, burst: int) -> None:
        self.per_second = per_minute / 60
        self.burst = burst
        self._buckets: dict[str, Bucket] = {}

    def take(self, client: str) -> float:
        """Take a token. Gives 0 where there was one, else the seconds until there is."""
        now = time.time()
        bucket = self._buckets.setdefault(client, Bucket(self.burst, now))
        bucket.tokens += (now - bucket.updated) * self.per_second
        bucket.updated = now
        if bucket.tokens >= 1:
            bucket.tokens -= 1
            return 0.0
        return (1 - bucket.tokens) / self.per_second
'''

BUCKET_TESTS: Final = """import time

from ferry.limits import TokenBuckets


def drain(buckets, client, count):
    return [buckets.take(client) for _ in range(count)]


def test_a_new_client_has_its_whole_burst():
    buckets = TokenBuckets(per_minute=60, burst=3)
    assert drain(buckets, "a", 3) == [0, 0, 0]


def test_an_empty_bucket_says_how_long_to_wait():
    buckets = TokenBuckets(per_minute=60, burst=1)
    buckets.take("a")
    assert 0.9 < buckets.take("a") <= 1


def test_clients_do_not_share_a_bucket():
    buckets = TokenBuckets(per_minute=60, burst=1)
    buckets.take("a")
    assert buckets.take("b") == 0


def test_a_bucket_never_holds_more_than_its_burst():
    buckets = TokenBuckets(per_minute=6000, burst=2)
    drain(buckets, "a", 2)
    time.sleep(0.05)
    assert [wait == 0 for wait in drain(buckets, "a", 3)] == [True, True, False]


def test_refill_is_gradual():
    buckets = TokenBuckets(per_minute=1200, burst=1)
    buckets.take("a")
    time.sleep(0.03)
    assert buckets.take("a") > 0
    time.sleep(0.03)
    assert buckets.take("a") == 0
"""

MIDDLEWARE: Final = '''"""Answers 429 to a client that asks too often."""

from __future__ import annotations

import ipaddress
import math

from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from ferry.limits import TokenBuckets
from ferry.problems import Problem

EXEMPT = frozenset({"/healthz", "/readyz"})


class RateLimit(BaseHTTPMiddleware):
    def __init__(self, app: ASGIApp, buckets: TokenBuckets) -> None:
        super().__init__(app)
        self.buckets = buckets

    async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        if request.url.path in EXEMPT:
            return await call_next(request)
        wait = math.ceil(self.buckets.take(client_of(request)))
        if wait:
            detail = f"Too many requests: the next one is welcome in {wait} s."
            return Problem(429, "too-many-requests", detail, {"Retry-After": str(wait)}).response()
        return await call_next(request)


def client_of(request: Request) -> str:
    """Whose bucket a request draws on: its API key's, else its address's."""
    key = request.headers.get("x-api-key")
    if key and request.app.state.keys.owner(key):
        return f"key:{key}"
    # The proxy appends the address that it saw; what stands before it, anybody may have written.
    forwarded = request.headers.get("x-forwarded-for", "").rpartition(",")[2].strip()
    address = ipaddress.ip_address(forwarded or request.client.host)
    if address.version == 6:
        # A household owns a /64 and may use any address of it.
        return f"ip:{ipaddress.ip_network((address, 64), strict=False)}"
    return f"ip:{address}"
'''

MIDDLEWARE_TESTS: Final = """import pytest
from starlette.testclient import TestClient

from ferry.app import create_app
from ferry.settings import Settings


@pytest.fixture
def client():
    settings = Settings(database="memory:", environment="test", keys={"k-1": "One"}, burst=2)
    with TestClient(create_app(settings)) as client:
        yield client


def statuses(client, count, **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return [client.get("/v1/ports", headers=named).status_code for _ in range(count)]


def test_the_request_after_the_burst_is_told_to_wait(client):
    assert statuses(client, 2) == [200, 200]
    refused = client.get("/v1/ports")
    assert refused.status_code == 429
    assert refused.headers["Retry-After"] == "1"
    assert refused.json()["type"] == "/problems/too-many-requests"


def test_a_refusal_has_a_request_id(client):
    statuses(client, 2)
    assert client.get("/v1/ports").headers["X-Request-Id"]


def test_a_known_key_has_a_bucket_of_its_own(client):
    assert statuses(client, 3) == [200, 200, 429]
    assert statuses(client, 2, x_api_key="k-1") == [200, 200]


def test_an_unknown_key_buys_nothing(client):
    assert statuses(client, 2, x_api_key="made-up") == [200, 200]
    assert statuses(client, 1, x_api_key="made-up-too") == [429]


def test_an_address_is_the_last_that_the_proxy_names(client):
    assert statuses(client, 2, x_forwarded_for="10.9.9.9, 192.0.2.1") == [200, 200]
    assert statuses(client, 1, x_forwarded_for="10.8.8.8, 192.0.2.1") == [429]
    assert statuses(client, 1, x_forwarded_for="10.8.8.8, 192.0.2.2") == [200]


def test_a_household_shares_a_bucket(client):
    assert statuses(client, 2, x_forwarded_for="2001:db8:1:1::1") == [200, 200]
    assert statuses(client, 1, x_forwarded_for="2001:db8:1:1::2") == [429]
"""

BUCKET_TESTS_BY_HAND: Final = """import pytest

from ferry.limits import TokenBuckets


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def drain(buckets, client, count):
    return [buckets.take(client) for _ in range(count)]


def test_a_new_client_has_its_whole_burst(clock):
    buckets = TokenBuckets(per_minute=60, burst=3, clock=clock)
    assert drain(buckets, "a", 4) == [0, 0, 0, 1]


def test_clients_do_not_share_a_bucket(clock):
    buckets = TokenBuckets(per_minute=60, burst=1, clock=clock)
    buckets.take("a")
    assert buckets.take("b") == 0


def test_a_bucket_never_holds_more_than_its_burst(clock):
    buckets = TokenBuckets(per_minute=60, burst=2, clock=clock)
    drain(buckets, "a", 2)
    clock.now += 3600
    assert drain(buckets, "a", 3) == [0, 0, 1]


def test_a_wait_counts_down(clock):
    buckets = TokenBuckets(per_minute=60, burst=1, clock=clock)
    buckets.take("a")
    clock.now += 0.75
    assert buckets.take("a") == pytest.approx(0.25)


def test_refill_is_gradual(clock):
    buckets = TokenBuckets(per_minute=60, burst=1, clock=clock)
    buckets.take("a")
    clock.now += 0.5
    assert buckets.take("a") > 0
    clock.now += 0.5
    assert buckets.take("a") == 0
"""

REDIS_BUCKETS: Final = '''"""Token buckets in Redis, which all workers share."""

from __future__ import annotations

import redis.asyncio as redis

# Refill and take happen on the server, as one step: two workers cannot take the same token.
_TAKE = """
local per_second, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local bucket = redis.call('HMGET', KEYS[1], 'tokens', 'updated')
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local tokens = tonumber(bucket[1]) or burst
tokens = math.min(burst, tokens + (now - (tonumber(bucket[2]) or now)) * per_second)
local wait = 0
if tokens >= 1 then tokens = tokens - 1 else wait = (1 - tokens) / per_second end
redis.call('HSET', KEYS[1], 'tokens', tokens, 'updated', now)
redis.call('EXPIRE', KEYS[1], math.ceil(burst / per_second) + 1)
return tostring(wait)
"""


class RedisBuckets:
    """`TokenBuckets` whose buckets live in Redis. `take` is a coroutine."""

    def __init__(self, url: str, *, per_minute: float, burst: int) -> None:
        self.per_second, self.burst = per_minute / 60, burst
        self._client = redis.from_url(url, socket_timeout=0.25)
        self._take = self._client.register_script(_TAKE)

    async def take(self, client: str) -> float:
        """Take a token. Gives 0 where there was one, else the seconds until there is."""
        keys, limits = [f"ferry:bucket:{client}"], [self.per_second, self.burst]
        return float(await self._take(keys=keys, args=limits))
'''

REDIS_TESTS: Final = """import asyncio
import os

import pytest

from ferry.redis_buckets import RedisBuckets

URL = os.environ.get("FERRY_TEST_REDIS", "redis://localhost:6379/15")


@pytest.fixture
def bucket():
    return RedisBuckets(URL, per_minute=60, burst=2)


def test_two_workers_share_a_bucket(bucket):
    async def from_both():
        other = RedisBuckets(URL, per_minute=60, burst=2)
        return [await bucket.take("a"), await other.take("a"), await bucket.take("a")]

    first, second, third = asyncio.run(from_both())
    assert (first, second) == (0, 0)
    assert 0 < third <= 1
"""
