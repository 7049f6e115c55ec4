"""Price models by the library and its history, and by a person's own table."""

from __future__ import annotations

import socket
import subprocess
import sys
from datetime import UTC, datetime

import genai_prices
import pytest
from genai_prices.data_snapshot import get_snapshot
from hypothesis import given
from hypothesis import strategies as st

from eventstore.errors import BadInputError
from eventstore.views import Usage
from projections.audit.prices import Price, library_prices, prices_of_file
from tests.support import sentences
from tests.support.spending import A_TOKEN

TABLE = """
date = 2026-11-01

[models."claude-opus-4-5"]
input = 5
output = 25
cache_read = 0.5
cache_write_5m = 6.25
cache_write_1h = 10
"""
FIELDS = ["input", "output", "cache_read", "cache_write_5m", "cache_write_1h"]
NAMES = {*FIELDS, "models", "claude-opus-4-5", "x", "date", "2026-11-01", "cacheRead", "TOML"}
NAMES |= {"5", "-1", "nan", "True"}
OPUS = Price(input=5, output=25, cache_read=0.5, cache_write_5m=6.25, cache_write_1h=10)


def at(year, month, day):
    return int(datetime(year, month, day, tzinfo=UTC).timestamp() * 1000)


@pytest.fixture
def table(tmp_path):
    """From a text to the prices of a file that says so."""

    def read(text):
        path = tmp_path / "prices.toml"
        path.write_text(text)
        return prices_of_file(path)

    return read


@pytest.mark.parametrize(
    ("usage", "dollars"),
    [
        (Usage(input=1), 4),
        (Usage(output=1), 16),
        (Usage(cache_read=1), 1),
        (Usage(cache_write=1), 5),
        (Usage(cache_write=1, cache_write_1h=1), 8),
        (Usage(input=1, output=2, cache_read=3, cache_write=5, cache_write_1h=1), 4 + 32 + 3 + 20 + 8),
        (Usage(total=9), 0),
    ],
)
def test_each_token_costs_what_its_kind_costs(usage, dollars):
    assert A_TOKEN.of(usage) == dollars


class TestLibrary:
    def test_it_has_its_name_and_version(self):
        assert library_prices().name == f"genai-prices {genai_prices.__version__}"

    def test_it_knows_what_a_model_costs(self):
        assert library_prices().price("claude-opus-4-5", provider="anthropic", time=at(2025, 12, 8)) == OPUS

    def test_a_model_without_a_provider_is_its_makers(self):
        assert library_prices().price("claude-opus-4-5", time=at(2025, 12, 8)) == OPUS

    @pytest.mark.parametrize(
        ("model", "provider"),
        [
            ("claude-opus-4-5", "nobody"),
            ("claude-opus-99", "anthropic"),
            ("m", ""),
            ("", ""),
            ("", "anthropic"),
        ],
    )
    def test_it_guesses_nothing_of_what_it_does_not_know(self, model, provider):
        assert library_prices().price(model, provider=provider) is None

    def test_a_model_costs_what_it_did_then(self):
        then, later = (
            library_prices().price("o3", provider="openai", time=time)
            for time in (at(2025, 5, 1), at(2025, 7, 1))
        )
        assert (then.input, later.input) == (10, 2)

    @pytest.mark.parametrize("time", [None, 10**18, -(10**18)])
    def test_at_an_unknown_time_the_newest_prices_hold(self, time):
        assert library_prices().price("o3", provider="openai", time=time).input == 2

    @pytest.mark.parametrize(("prompt", "input_"), [(0, 3), (200_000, 3), (200_001, 6)])
    def test_a_long_prompt_costs_what_its_tier_costs(self, prompt, input_):
        time = at(2025, 12, 8)
        found = library_prices().price("claude-sonnet-4-5", provider="anthropic", time=time, prompt=prompt)
        assert found.input == input_

    def test_a_cache_without_a_price_of_its_own_costs_what_input_costs(self):
        found = library_prices().price("gpt-5.1-codex", provider="openai")
        assert (found.input, found.cache_read, found.cache_write_5m, found.cache_write_1h) == (
            1.25,
            0.125,
            1.25,
            1.25,
        )

    @given(
        model=st.sampled_from(
            [
                ("claude-opus-4-5", "anthropic"),
                ("claude-sonnet-4-5", "anthropic"),
                ("gpt-5.1-codex", "openai"),
            ]
        ),
        tokens=st.tuples(*[st.integers(0, 300_000)] * 5),
    )
    def test_a_call_costs_what_the_library_says(self, model, tokens):
        name, provider = model
        input_, output, read, write_5m, write_1h = tokens
        usage = Usage(
            input=input_,
            output=output,
            cache_read=read,
            cache_write=write_5m + write_1h,
            cache_write_1h=write_1h,
        )
        reported = genai_prices.Usage(
            input_tokens=usage.prompt,
            output_tokens=output,
            cache_read_tokens=read,
            cache_write_tokens=usage.cache_write,
            cache_write_1h_tokens=write_1h,
        )
        moment = datetime(2025, 12, 8, tzinfo=UTC)
        theirs = genai_prices.calc_price(reported, name, provider_id=provider, genai_request_timestamp=moment)
        ours = library_prices().price(name, provider=provider, time=at(2025, 12, 8), prompt=usage.prompt)
        assert ours.of(usage) == pytest.approx(float(theirs.total_price), abs=1e-9)

    def test_nothing_is_fetched(self, monkeypatch):
        def no_network(*_):
            raise AssertionError("a connection was made")

        monkeypatch.setattr(socket.socket, "connect", no_network)
        monkeypatch.setattr(socket, "getaddrinfo", no_network)
        assert library_prices().price("claude-opus-4-5", provider="anthropic") is not None

    def test_it_is_loaded_when_a_price_is_asked_for_and_not_before(self):
        code = (
            "import sys; from projections.audit.prices import library_prices; library_prices();"
            "sys.exit('genai_prices' in sys.modules)"
        )
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


class TestFile:
    def test_a_table_says_what_models_cost_and_of_when_it_is(self, table):
        found = table(TABLE)
        assert (found.name, found.date, found.price("claude-opus-4-5")) == (
            "prices.toml",
            "2026-11-01",
            OPUS,
        )

    def test_a_model_has_the_prices_of_the_longest_name_that_its_own_begins_with(self, table):
        shorter = TABLE.split("\n\n")[1].replace("-opus-4-5", "").replace("5\n", "7\n", 1)
        found = table(TABLE + shorter)
        assert [
            found.price(model).input for model in ("claude-opus-4-5-20251101", "claude-opus-4", "claude")
        ] == [
            5,
            7,
            7,
        ]

    def test_a_model_of_no_such_name_has_none(self, table):
        assert table(TABLE).price("claude-opus-4") is None

    @pytest.mark.parametrize(
        ("change", "to", "problem", "remedy"),
        [
            ("date = 2026-11-01", "", ["date"], ["date", "2026-11-01"]),
            ("date = 2026-11-01", "date = 'May'", ["date"], ["date", "2026-11-01"]),
            ('[models."claude-opus-4-5"]', "[prices]", ["models"], ["models"]),
            ("input = 5\n", "", ["models", "claude-opus-4-5", "input"], []),
            ("cache_read", "cacheRead", ["models", "claude-opus-4-5", "cacheRead"], []),
            ("input = 5\n", "input = '5'\n", ["models", "claude-opus-4-5", "input"], []),
            ("input = 5\n", "input = -1\n", ["models", "claude-opus-4-5", "input"], []),
            ("input = 5\n", "input = nan\n", ["models", "claude-opus-4-5", "input"], []),
            ("input = 5\n", "input = true\n", ["models", "claude-opus-4-5", "input"], []),
            ("input = 5\n", "input =\n", ["TOML", "5"], []),
            ('[models."claude-opus-4-5"]', "[models]\nx = 1\n[y]", ["models", "x"], []),
        ],
    )
    def test_what_is_wrong_with_a_table_is_said_in_one_line(self, table, change, to, problem, remedy):
        assert change in TABLE
        with pytest.raises(BadInputError) as caught:
            table(TABLE.replace(change, to))
        assert caught.value.source.endswith("prices.toml")
        assert "\n" not in str(caught.value)
        assert sentences.names(caught.value.problem, NAMES) == problem
        assert sentences.names(caught.value.remedy, NAMES) == remedy

    def test_a_name_with_a_line_end_in_it_stays_in_the_line(self, table):
        with pytest.raises(BadInputError) as caught:
            table(TABLE.replace("claude-opus-4-5", r"a\nb").replace("output = 25\n", ""))
        assert r"'a\nb'" in caught.value.problem
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize(
        "content",
        [None, b"\xff\xfe", b"a = " + b"[" * 5_000],
        ids=["is not there", "is no text", "is too deep"],
    )
    def test_a_table_that_cannot_be_read_is_named(self, tmp_path, content):
        if content is not None:
            (tmp_path / "prices.toml").write_bytes(content)
        with pytest.raises(BadInputError) as caught:
            prices_of_file(tmp_path / "prices.toml")
        assert caught.value.source == str(tmp_path / "prices.toml")


@pytest.mark.slow
@pytest.mark.parametrize("time", [None, at(2024, 6, 1), at(2025, 9, 1) + 17 * 3_600_000, at(2026, 6, 1)])
def test_prices_are_those_by_which_the_library_prices_a_usage(time):
    moment = datetime.max.replace(tzinfo=UTC) if time is None else datetime.fromtimestamp(time / 1000, UTC)
    compared = 0
    for provider in get_snapshot().providers:
        for model in provider.models:
            try:
                priced = genai_prices.calc_price(
                    genai_prices.Usage(),
                    model.id,
                    provider_id=provider.id,
                    genai_request_timestamp=moment,
                ).model_price
            except LookupError:
                continue
            found = library_prices().price(model.id, provider=provider.id, time=time)
            rates = [getattr(rate, "base", rate) for rate in (priced.input_mtok, priced.output_mtok)]
            expected = None if None in rates else [float(rate) for rate in rates]
            assert (found and [found.input, found.output]) == expected
            compared += found is not None
    assert compared > 100
