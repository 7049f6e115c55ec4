"""The files that the demo's agent writes when keys get rates of their own, one of them against the rules."""

from __future__ import annotations

from typing import Final

API_KEYS_MIGRATION: Final = """CREATE TABLE api_keys (
    key        text PRIMARY KEY,
    owner      text NOT NULL,
    per_minute integer CHECK (per_minute > 0)
);

COMMENT ON COLUMN api_keys.per_minute IS 'Requests a minute; null for what everyone gets';
"""

KEYS: Final = '''"""API keys: whose they are, and how often they may ask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ferry.store import Store


@dataclass(frozen=True)
class Key:
    owner: str
    per_minute: int | None = None
    """None: as often as everyone."""


class Keys:
    def __init__(self, keys: Mapping[str, Key]) -> None:
        self._keys = dict(keys)

    @classmethod
    async def load(cls, store: Store, owners: Mapping[str, str]) -> Keys:
        """The keys of the table `api_keys`, and those of the environment with the rate of everyone."""
        keys = {key: Key(owner) for key, owner in owners.items()}
        for row in await store.all("api_keys"):
            keys[row["key"]] = Key(row["owner"], row["per_minute"])
        return cls(keys)

    def find(self, key: str) -> Key | None:
        """What is known of a key, None for one that nobody was given."""
        return self._keys.get(key)
'''

MIDDLEWARE_BY_KEY: Final = '''"""Answers 429 to a client that asks too often."""

from __future__ import annotations

import ipaddress
import math

from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from ferry.limits import TokenBuckets
from ferry.problems import Problem


class RateLimit(BaseHTTPMiddleware):
    def __init__(self, app: ASGIApp, buckets: TokenBuckets) -> None:
        super().__init__(app)
        self.buckets = buckets

    async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        client, per_minute = client_of(request)
        wait = math.ceil(self.buckets.take(client, per_minute=per_minute))
        if wait:
            detail = f"Too many requests: the next one is welcome in {wait} s."
            return Problem(429, "too-many-requests", detail, {"Retry-After": str(wait)}).response()
        return await call_next(request)


def client_of(request: Request) -> tuple[str, int | None]:
    """Whose bucket a request draws on, its API key's or its address's, and the rate that is its own."""
    sent = request.headers.get("x-api-key")
    if sent and (key := request.app.state.keys.find(sent)):
        return f"key:{sent}", key.per_minute
    # The proxy appends the address that it saw; what stands before it, anybody may have written.
    forwarded = request.headers.get("x-forwarded-for", "").rpartition(",")[2].strip()
    return f"ip:{_network(forwarded or request.client.host)}", None


def _network(address: str) -> str:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    # A household owns a /64 and may use any address of it.
    return str(ipaddress.ip_network((parsed, 64), strict=False)) if parsed.version == 6 else address
'''

APP_BY_KEY: Final = '''"""The application: its routes, its middleware, and what they share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.middleware import Middleware

from ferry.keys import Keys
from ferry.limits import TokenBuckets
from ferry.middleware import RateLimit
from ferry.problems import Problem, on_problem
from ferry.request_id import RequestId
from ferry.routes import ROUTES
from ferry.settings import Settings
from ferry.store import Store


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    app.state.keys = await Keys.load(app.state.store, app.state.settings.keys)
    yield


def create_app(settings: Settings | None = None) -> Starlette:
    settings = settings or Settings.from_env()
    app = Starlette(
        routes=ROUTES,
        lifespan=lifespan,
        middleware=[
            Middleware(RequestId, header=settings.request_id_header),
            Middleware(
                RateLimit,
                buckets=TokenBuckets(
                    per_minute=settings.rate_per_minute,
                    burst=settings.burst,
                    workers=settings.workers,
                ),
            ),
        ],
        exception_handlers={Problem: on_problem},
    )
    app.state.settings = settings
    app.state.store = Store(settings.database)
    return app
'''
