"""Passages of files that the demo's agent replaces: how each stands, or as it thinks, and what it puts there."""

from __future__ import annotations

from typing import Final

WALL_TIME: Final = '''    def __init__(self, *, per_minute: float, burst: int) -> None:
        self.per_second = per_minute / 60
        self.burst = burst
        self._buckets: dict[str, Bucket] = {}

    def take(self, client: str) -> float:
        """Take a token. Gives 0 where there was one, else the seconds until there is."""
        now = time.time()
'''
CLOCK_GIVEN: Final = '''    def __init__(
        self, *, per_minute: float, burst: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self.per_second = per_minute / 60
        self.burst = burst
        self._buckets: dict[str, Bucket] = {}

    def take(self, client: str) -> float:
        """Take a token. Gives 0 where there was one, else the seconds until there is."""
        now = self._clock()
'''

SETTINGS_OF_ONE: Final = """    burst: int = 20

    @classmethod
    def from_env(cls, env: Mapping[str, str] = os.environ) -> Settings:
        pairs = (pair.split("=") for pair in env.get("FERRY_KEYS", "").split(",") if pair)
        return cls(
"""
SETTINGS_OF_WORKERS: Final = '''    burst: int = 20
    workers: int = 1
    """Processes that share the limit: each enforces its part of it."""

    @classmethod
    def from_env(cls, env: Mapping[str, str] = os.environ) -> Settings:
        pairs = (pair.split("=") for pair in env.get("FERRY_KEYS", "").split(",") if pair)
        return cls(
            workers=int(env.get("WEB_CONCURRENCY", cls.workers)),
'''

WHOLE_LIMIT: Final = """        self, *, per_minute: float, burst: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self.per_second = per_minute / 60
        self.burst = burst
"""
SHARED_LIMIT: Final = """        self,
        *,
        per_minute: float,
        burst: int,
        workers: int = 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self.workers = workers
        self.per_second = per_minute / 60 / workers
        self.burst = burst // workers
"""

ONE_RATE: Final = '''    def take(self, client: str) -> float:
        """Take a token. Gives 0 where there was one, else the seconds until there is."""
        now = self._clock()
        bucket = self._buckets.setdefault(client, Bucket(self.burst, now))
        refilled = bucket.tokens + (now - bucket.updated) * self.per_second
        bucket.tokens = min(self.burst, refilled)
        bucket.updated = now
        if bucket.tokens >= 1:
            bucket.tokens -= 1
            return 0.0
        return (1 - bucket.tokens) / self.per_second
'''
RATE_BY_CLIENT: Final = '''    def take(self, client: str, *, per_minute: float | None = None) -> float:
        """Take a token. Gives 0 where there was one, else the seconds until there is.

        `per_minute` is the client's own rate, if it has one; its burst is that of everyone.
        """
        per_second = self.per_second if per_minute is None else per_minute / 60 / self.workers
        now = self._clock()
        bucket = self._buckets.setdefault(client, Bucket(self.burst, now))
        refilled = bucket.tokens + (now - bucket.updated) * per_second
        bucket.tokens = min(self.burst, refilled)
        bucket.updated = now
        if bucket.tokens >= 1:
            bucket.tokens -= 1
            return 0.0
        return (1 - bucket.tokens) / per_second
'''

GUESSED_START: Final = """def create_app(settings: Settings) -> Starlette:
    app = Starlette(
"""
START_WITH_KEYS: Final = """@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    app.state.keys = await Keys.load(app.state.store, app.state.settings.keys)
    yield


def create_app(settings: Settings) -> Starlette:
    app = Starlette(
        lifespan=lifespan,
"""
