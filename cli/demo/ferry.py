"""The small web service that the demo's agent works on: its files, as they are when the session begins."""

from __future__ import annotations

from typing import Final

from cli.demo.ferry_api import RESOURCES, openapi, routes
from cli.demo.tools import Disk

GRAPH: Final = (
    "iVBORw0KGgoAAAANSUhEUgAAADAAAAAUCAAAAADuVOF7AAAANElEQVR42mP4TyJgoKYGDQ0ESawGOCKsAVn1qIZRDUhJDU0D"
    "XJwBLWHiRyANBBWhIdprAADrtuVf4o6LygAAAABJRU5ErkJggg=="
)
"""A PNG: requests a second over one night, a bar each half hour."""


def files() -> Disk:
    """The files that the session reads or changes, as they are when it begins."""
    return {**_FILES, "src/ferry/routes.py": routes(), "openapi.yaml": openapi()}


_FILES: Final = {
    "pyproject.toml": """[project]
name = "ferry"
version = "1.14.2"
requires-python = ">=3.12"
dependencies = ["starlette>=0.46", "uvicorn>=0.34", "asyncpg>=0.30"]

[dependency-groups]
dev = ["pytest>=8", "httpx>=0.28", "ruff>=0.12"]

[tool.pytest.ini_options]
testpaths = ["tests"]
pythonpath = ["src"]
""",
    "src/ferry/app.py": '''"""The application: its routes, its middleware, and what they share."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.middleware import Middleware

from ferry.keys import Keys
from ferry.problems import Problem, on_problem
from ferry.request_id import RequestId
from ferry.routes import ROUTES
from ferry.settings import Settings
from ferry.store import Store


def create_app(settings: Settings | None = None) -> Starlette:
    settings = settings or Settings.from_env()
    app = Starlette(
        routes=ROUTES,
        middleware=[
            Middleware(RequestId, header=settings.request_id_header),
        ],
        exception_handlers={Problem: on_problem},
    )
    app.state.settings = settings
    app.state.store = Store(settings.database)
    app.state.keys = Keys(settings.keys)
    return app
''',
    "src/ferry/settings.py": '''"""What differs from one deployment to the next; read from the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Settings:
    database: str = "postgresql://localhost/ferry"
    environment: str = "development"
    request_id_header: str = "X-Request-Id"
    keys: Mapping[str, str] = field(default_factory=dict)
    """From API keys to their owners."""

    @classmethod
    def from_env(cls, env: Mapping[str, str] = os.environ) -> Settings:
        pairs = (pair.split("=") for pair in env.get("FERRY_KEYS", "").split(",") if pair)
        return cls(
            database=env.get("FERRY_DATABASE", cls.database),
            environment=env.get("FERRY_ENVIRONMENT", cls.environment),
            request_id_header=env.get("FERRY_REQUEST_ID_HEADER", cls.request_id_header),
            keys=dict(pairs),
        )
''',
    "src/ferry/problems.py": '''"""Errors as RFC 9457 has them, of types that a client can rely on."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import JSONResponse


class Problem(Exception):
    def __init__(self, status: int, kind: str, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.kind, self.detail, self.headers = status, kind, detail, headers

    def response(self) -> JSONResponse:
        body = {
            "type": f"/problems/{self.kind}",
            "title": self.kind.replace("-", " ").capitalize(),
            "status": self.status,
            "detail": self.detail,
        }
        return JSONResponse(body, self.status, self.headers, media_type="application/problem+json")


async def on_problem(request: Request, problem: Problem) -> JSONResponse:
    return problem.response()
''',
    "src/ferry/request_id.py": '''"""A request id on every response: the one that came in, or a new one."""

from __future__ import annotations

import uuid

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class RequestId:
    def __init__(self, app: ASGIApp, header: str) -> None:
        self.app, self.header = app, header

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        sent = dict(scope["headers"]).get(self.header.lower().encode())
        request_id = sent.decode("latin-1") if sent else uuid.uuid4().hex

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[self.header] = request_id
            await send(message)

        await self.app(scope, receive, send_with_id)
''',
    "src/ferry/keys.py": '''"""API keys: whose they are."""

from __future__ import annotations

from collections.abc import Mapping


class Keys:
    def __init__(self, owners: Mapping[str, str]) -> None:
        self._owners = dict(owners)

    def owner(self, key: str) -> str | None:
        """Whose key it is, None for one that nobody was given."""
        return self._owners.get(key)
''',
    "tests/conftest.py": """import pytest
from starlette.testclient import TestClient

from ferry.app import create_app
from ferry.settings import Settings


@pytest.fixture
def settings():
    return Settings(database="memory:", environment="test", keys={"k-harbour": "Harbour Office"})


@pytest.fixture
def client(settings):
    with TestClient(create_app(settings)) as client:
        yield client
""",
    "deploy/compose.yaml": """services:
  api:
    image: registry.example/ferry:${TAG}
    command: uvicorn ferry.app:create_app --factory --host 0.0.0.0 --workers 2
    environment:
      FERRY_DATABASE: postgresql://ferry@db/ferry
      FERRY_ENVIRONMENT: production
    depends_on: [db]
  proxy:
    image: caddy:2
    ports: ['443:443']
  db:
    image: postgres:17
    volumes: ['data:/var/lib/postgresql/data']
volumes:
  data: {}
""",
    "migrations/0007_disruptions.sql": """CREATE TABLE disruptions (
    disruption_id text PRIMARY KEY,
    sailing       text NOT NULL REFERENCES sailings (number),
    reason        text NOT NULL,
    minutes       integer,
    announced     timestamptz NOT NULL DEFAULT now()
);
""",
}

LISTING: Final = "\n".join(
    sorted(
        [
            *_FILES,
            "README.md",
            "openapi.yaml",
            "src/ferry/__init__.py",
            "src/ferry/fields.py",
            "src/ferry/health.py",
            "src/ferry/paging.py",
            "src/ferry/routes.py",
            "src/ferry/store.py",
            "migrations/0001_ports.sql",
            "migrations/0002_crossings.sql",
            "migrations/0003_vessels.sql",
            "migrations/0004_sailings.sql",
            "migrations/0005_bookings.sql",
            "migrations/0006_notices.sql",
            *(f"tests/test_{each.many}.py" for each in RESOURCES),
        ]
    )
)
"""What `git ls-files` prints."""
