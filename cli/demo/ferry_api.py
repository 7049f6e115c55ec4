"""The two long files of the demo's web service: its routes, and the description of its API."""

from __future__ import annotations

from string import Template
from typing import Final, NamedTuple


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
