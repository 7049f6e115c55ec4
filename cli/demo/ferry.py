"""The small web service that the demo's agent works on: its files, as they are when the session begins."""

from __future__ import annotations

from string import Template
from typing import Final, NamedTuple

from cli.demo.tools import Disk

GRAPH: Final = (
    "iVBORw0KGgoAAAANSUhEUgAAADAAAAAUCAAAAADuVOF7AAAANElEQVR42mP4TyJgoKYGDQ0ESawGOCKsAVn1qIZRDUhJDU0D"
    "XJwBLWHiRyANBBWhIdprAADrtuVf4o6LygAAAABJRU5ErkJggg=="
)
"""A PNG: requests a second over one night, a bar each half hour."""


class Resource(NamedTuple):
    """A kind of thing that the service serves: `key` names one, `needed` and `optional` are its other fields."""

    one: str
    many: str
    key: str
    needed: tuple[str, ...]
    optional: tuple[str, ...]


RESOURCES: Final = (
    Resource("port", "ports", "code", ("name", "country"), ("timezone", "notes")),
    Resource("crossing", "crossings", "slug", ("origin", "destination"), ("distance_nm", "seasonal")),
    Resource("vessel", "vessels", "imo", ("name", "capacity"), ("car_deck_m", "built")),
    Resource("sailing", "sailings", "number", ("crossing", "departs"), ("arrives", "vessel")),
    Resource("fare", "fares", "fare_id", ("crossing", "kind", "pence"), ("valid_from",)),
    Resource("booking", "bookings", "reference", ("sailing", "contact"), ("passengers", "vehicle")),
    Resource("passenger", "passengers", "passenger_id", ("booking", "name"), ("born", "assistance")),
    Resource("vehicle", "vehicles", "registration", ("booking", "length_cm"), ("height_cm", "fuel")),
    Resource("cabin", "cabins", "cabin_number", ("vessel", "berths"), ("deck", "accessible")),
    Resource("berth", "berths", "berth_id", ("port", "length_m"), ("depth_m", "linkspan")),
    Resource("notice", "notices", "notice_id", ("crossing", "body"), ("severity", "until")),
    Resource("tide", "tides", "tide_id", ("port", "high_at"), ("height_m",)),
    Resource("disruption", "disruptions", "disruption_id", ("sailing", "reason"), ("minutes", "announced")),
)

_HANDLERS: Final = Template('''
async def list_$many(request: Request) -> JSONResponse:
    """All $many, a page at a time, in order of $key."""
    page = page_of(request)
    rows = await request.app.state.store.page("$many", order="$key", after=page.after, limit=page.limit)
    return JSONResponse({"$many": [${one}_body(row) for row in rows], "next": page.next(rows, "$key")})


async def show_$one(request: Request) -> JSONResponse:
    """One $one by its $key."""
    row = await request.app.state.store.one("$many", $key=request.path_params["$key"])
    if row is None:
        raise Problem(404, "no-such-$one", f"No $one has the $key {request.path_params['$key']!r}.")
    return JSONResponse(${one}_body(row))


async def create_$one(request: Request) -> JSONResponse:
    """A new $one. 422 where a field is missing, unknown or of the wrong type."""
    fields = await fields_of(request, needed=$needed, optional=$optional)
    row = await request.app.state.store.insert("$many", fields)
    return JSONResponse(${one}_body(row), 201, {"Location": f"/v1/$many/{row['$key']}"})


async def remove_$one(request: Request) -> Response:
    """The $one is gone. Removing it again is no error."""
    await request.app.state.store.remove("$many", $key=request.path_params["$key"])
    return Response(status_code=204)


def ${one}_body(row: Row) -> dict[str, object]:
    return {
$body
    }

''')

_ROUTES_HEAD: Final = '''"""The resources of the API: a page, one, a new one, one less."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ferry.fields import fields_of
from ferry.health import healthz, readyz
from ferry.paging import page_of
from ferry.problems import Problem
from ferry.store import Row

'''


def routes() -> str:
    """The service's longest module."""
    handlers = [
        _HANDLERS.substitute(
            one=each.one,
            many=each.many,
            key=each.key,
            needed=each.needed,
            optional=each.optional,
            body="\n".join(f'        "{field}": row["{field}"],' for field in _fields(each)),
        )
        for each in RESOURCES
    ]
    table = [
        f'    Route("/v1/{each.many}{tail}", {handler}, methods=["{method}"]),'
        for each in RESOURCES
        for tail, handler, method in (
            ("", f"list_{each.many}", "GET"),
            ("", f"create_{each.one}", "POST"),
            (f"/{{{each.key}}}", f"show_{each.one}", "GET"),
            (f"/{{{each.key}}}", f"remove_{each.one}", "DELETE"),
        )
    ]
    health = ['    Route("/healthz", healthz),', '    Route("/readyz", readyz),']
    return _ROUTES_HEAD + "".join(handlers) + "\nROUTES = [\n" + "\n".join([*health, *table]) + "\n]\n"


_PATHS: Final = Template("""  /v1/$many:
    get:
      operationId: list_$many
      summary: All $many, a page at a time
      parameters:
        - $$ref: '#/components/parameters/After'
        - $$ref: '#/components/parameters/Limit'
      responses:
        '200':
          description: A page of $many
          content:
            application/json:
              schema: {$$ref: '#/components/schemas/${name}Page'}
        default: {$$ref: '#/components/responses/Problem'}
    post:
      operationId: create_$one
      summary: A new $one
      requestBody:
        required: true
        content:
          application/json:
            schema: {$$ref: '#/components/schemas/New$name'}
      responses:
        '201':
          description: The $one as it was stored
          content:
            application/json:
              schema: {$$ref: '#/components/schemas/$name'}
        default: {$$ref: '#/components/responses/Problem'}
  /v1/$many/{$key}:
    parameters:
      - {name: $key, in: path, required: true, schema: {type: string}}
    get:
      operationId: show_$one
      responses:
        '200':
          description: The $one
          content:
            application/json:
              schema: {$$ref: '#/components/schemas/$name'}
        default: {$$ref: '#/components/responses/Problem'}
    delete:
      operationId: remove_$one
      responses:
        '204': {description: 'The $one is gone'}
        default: {$$ref: '#/components/responses/Problem'}
""")

_OPENAPI_HEAD: Final = """openapi: 3.1.0
info:
  title: Ferry
  version: '1.14'
  description: Timetables, fares and bookings of the island ferries.
paths:
"""

_COMPONENTS: Final = """components:
  parameters:
    After: {name: after, in: query, schema: {type: string}}
    Limit: {name: limit, in: query, schema: {type: integer, minimum: 1, maximum: 200, default: 50}}
  responses:
    Problem:
      description: What went wrong
      content:
        application/problem+json:
          schema: {$ref: '#/components/schemas/Problem'}
  schemas:
    Problem:
      type: object
      required: [type, title, status]
      properties:
        type: {type: string, format: uri-reference}
        title: {type: string}
        status: {type: integer}
        detail: {type: string}
"""


def openapi() -> str:
    """The description of the API, kept by hand beside the routes."""
    paths = [
        _PATHS.substitute(one=each.one, many=each.many, key=each.key, name=each.one.capitalize())
        for each in RESOURCES
    ]
    schemas = [
        f"    {each.one.capitalize()}:\n      type: object\n      required: [{', '.join(each.needed)}]\n"
        "      properties:\n" + "".join(f"        {field}: {{type: string}}\n" for field in _fields(each))
        for each in RESOURCES
    ]
    return _OPENAPI_HEAD + "".join(paths) + _COMPONENTS + "".join(schemas)


def _fields(resource: Resource) -> tuple[str, ...]:
    return (resource.key, *resource.needed, *resource.optional)


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
    "src/ferry/settings.py": '''"""What differs from one deployment to the next. Every setting is an environment variable of the same name."""

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
    "src/ferry/problems.py": '''"""Errors as RFC 9457 says: application/problem+json, with a type that a client can rely on."""

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
