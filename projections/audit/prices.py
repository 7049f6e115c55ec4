"""Prices of models, from the library `genai-prices` or from the user's own table."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from datetime import UTC, date, datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Protocol

import msgspec

from eventstore.errors import BadInputError
from eventstore.views import Usage

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo

MILLION: Final = 1_000_000
_NEWEST: Final = datetime.max.replace(tzinfo=UTC)
"""The time to assume for a call without one."""


_Dollars = Annotated[float, msgspec.Meta(ge=0, lt=MILLION)]


class Price(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """US dollars per million tokens; cache writes are priced for five minutes and for one hour."""

    input: _Dollars
    output: _Dollars
    cache_read: _Dollars
    cache_write_5m: _Dollars
    cache_write_1h: _Dollars

    def of(self, usage: Usage) -> float:
        """Return the cost of a call, in dollars."""
        counts = (
            (usage.input, self.input),
            (usage.output, self.output),
            (usage.cache_read, self.cache_read),
            (usage.cache_write - usage.cache_write_1h, self.cache_write_5m),
            (usage.cache_write_1h, self.cache_write_1h),
        )
        return math.fsum(tokens * price for tokens, price in counts) / MILLION


class Prices(Protocol):
    """A source of prices.

    `name` identifies the table, `date` is its date, or "" if unknown.
    """

    @property
    def name(self) -> str: ...

    @property
    def date(self) -> str: ...

    def price(
        self, model: str, *, provider: str = "", time: int | None = None, prompt: int = 0
    ) -> Price | None:
        """Return a model's prices for a call with a prompt of `prompt` tokens; None if unknown.

        `time` is in epoch milliseconds; None means the newest prices.
        """


class LibraryPrices(msgspec.Struct, frozen=True, kw_only=True):
    """The prices in the installed `genai-prices`, by provider and date; nothing is downloaded.

    Long prompts have the price of their tier. If a provider lists no separate price for cache reads or
    writes, they cost as much as input.
    """

    name: str
    date: str = ""

    def price(
        self, model: str, *, provider: str = "", time: int | None = None, prompt: int = 0
    ) -> Price | None:
        # The library's `calc_price` prices a whole usage, which takes longer than reading the call's record.
        known = _known_model(model, provider)
        if known is None:
            return None
        found = known.get_prices(_moment(time))
        input_ = _rate(found.input_mtok, prompt)
        output = _rate(found.output_mtok, prompt)
        if input_ is None or output is None:
            return None
        read = _rate(found.cache_read_mtok, prompt)
        write = _rate(found.cache_write_mtok, prompt)
        write = input_ if write is None else write
        write_5m = _rate(found.cache_write_5m_mtok, prompt)
        write_1h = _rate(found.cache_write_1h_mtok, prompt)
        return Price(
            input=input_,
            output=output,
            cache_read=input_ if read is None else read,
            cache_write_5m=write if write_5m is None else write_5m,
            cache_write_1h=write if write_1h is None else write_1h,
        )


def context_window(model: str, *, provider: str = "") -> int | None:
    """Return a model's context window in tokens by the installed `genai-prices`, or None."""
    known = _known_model(model, provider)
    return known.context_window if known else None


@lru_cache(maxsize=256)
def _known_model(model: str, provider: str) -> ModelInfo | None:
    from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415  heavy

    try:
        _, known = get_snapshot().find_provider_model(model, None, provider or None, None)
    except LookupError:
        return None
    return known


def library_prices() -> LibraryPrices:
    """Return the prices in the installed `genai-prices`."""
    from importlib.metadata import version  # noqa: PLC0415  only needed here

    return LibraryPrices(name=f"genai-prices {version('genai-prices')}")


def _moment(time: int | None) -> datetime:
    try:
        return _NEWEST if time is None else datetime.fromtimestamp(time / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return _NEWEST


def _rate(rate: Any, prompt: int) -> float | None:
    """Return the library's price for a prompt of this length.

    The last tier that the prompt exceeds applies to all of its tokens.
    """
    if rate is None or not hasattr(rate, "tiers"):
        return None if rate is None else float(rate)
    beyond = [tier.price for tier in rate.tiers if prompt > tier.start]
    return float(beyond[-1] if beyond else rate.base)


class FilePrices(msgspec.Struct, frozen=True, kw_only=True):
    """Prices from the user's own table, regardless of time, provider and prompt size."""

    name: str
    date: str
    models: Mapping[str, Price]

    def price(
        self,
        model: str,
        *,
        provider: str = "",  # noqa: ARG002  the table tells no providers apart
        time: int | None = None,  # noqa: ARG002  nor times
        prompt: int = 0,  # noqa: ARG002  nor tiers
    ) -> Price | None:
        """Return the price of the longest name in the table that is a prefix of the model's name."""
        fitting = [name for name in self.models if model.startswith(name)]
        return self.models[max(fitting, key=len)] if fitting else None


def identity_of_prices(prices: Prices) -> tuple[str, str, str]:
    """Identify a table of prices, and the library, which also knows models' windows."""
    table = msgspec.json.encode(prices).decode() if isinstance(prices, msgspec.Struct) else prices.date
    return prices.name, table, library_prices().name


def prices_of_file(path: str | Path) -> FilePrices:
    """Load prices from a TOML file: a `date`, and a table `[models."NAME"]` for each model.

    Each table has five numbers in US dollars per million tokens: `input`, `output`, `cache_read`,
    `cache_write_5m`, `cache_write_1h`. A model uses the longest name that is a prefix of its own. Raises
    BadInputError.
    """
    file = Path(path)
    try:
        table = tomllib.loads(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise BadInputError(str(path), f"cannot be read ({reason})", _SEE) from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadInputError(str(path), f"is not valid TOML ({error})", _SEE) from None
    models = table.get("models")
    if not isinstance(models, dict) or not models:
        raise BadInputError(str(path), "has no models", 'add a table [models."NAME"] for each; ' + _SEE)
    since = table.get("date")
    if not isinstance(since, date):
        raise BadInputError(str(path), "has no date", "add the day of its prices: date = 2026-11-01")
    return FilePrices(
        name=file.name,
        date=since.isoformat()[:10],
        models={name: _price(str(path), name, given) for name, given in models.items()},
    )


_SEE: Final = "the page on audits (docs/audit.md, Cost) shows a table of prices"


def _price(path: str, name: str, given: Any) -> Price:
    try:
        return msgspec.convert(given, Price)
    except msgspec.ValidationError as error:
        raise BadInputError(path, f"table [models.{name!r}]: {error}", _SEE) from None
