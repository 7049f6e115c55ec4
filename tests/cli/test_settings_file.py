"""Settings of automatic compaction, as a person writes them down."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cli.settings_file import settings_in
from compaction.maintaining import BranchSummaries, Promotion, Settings
from eventstore.errors import BadInputError

ALL = """
enabled = false
strategy = "handoff"
reserve_tokens = 1_000
keep_recent_tokens = 2_000
threshold_percent = 80
threshold_tokens = 3_000
auto_continue = false
remote_enabled = false
remote_endpoint = "http://127.0.0.1/sum"
idle_enabled = true
idle_threshold_tokens = 4_000
idle_timeout_seconds = 5
most_failures = 6
subtracts_savings = false

[promotion]
model = "vast"
window = 1_000_000
output = 64_000

[branch_summary]
enabled = true
reserve_tokens = 7_000
"""


@pytest.fixture
def written(tmp_path: Path):
    """From what a file says to its settings."""

    def written(text: str) -> Settings:
        (tmp_path / "settings.toml").write_text(text)
        return settings_in(str(tmp_path / "settings.toml"))

    return written


def problem(written, text: str) -> str:
    with pytest.raises(BadInputError) as raised:
        written(text)
    told = str(raised.value)
    assert "settings.toml: " in told
    assert "\n" not in told
    return told.partition("settings.toml: ")[2]


def test_every_setting_can_be_written_down(written):
    assert written(ALL) == Settings(
        enabled=False,
        strategy="handoff",
        reserve_tokens=1_000,
        keep_recent_tokens=2_000,
        threshold_percent=80,
        threshold_tokens=3_000,
        auto_continue=False,
        remote_enabled=False,
        remote_endpoint="http://127.0.0.1/sum",
        idle_enabled=True,
        idle_threshold_tokens=4_000,
        idle_timeout_seconds=5,
        most_failures=6,
        subtracts_savings=False,
        promotion=Promotion(model="vast", window=1_000_000, output=64_000),
        branch_summary=BranchSummaries(enabled=True, reserve_tokens=7_000),
    )


def test_every_setting_may_go_by_the_name_that_it_has_in_oh_my_pi(written):
    camel = re.sub(r"_([a-z])", lambda found: found[1].upper(), ALL)
    assert "reserveTokens = 1_000" in camel
    assert written(camel) == written(ALL)


def test_all_that_there_are_were_tried():
    assert all(f"{name} =" in ALL or f"[{name}]" in ALL for name in Settings.__struct_fields__)


def test_an_empty_file_sets_nothing(written):
    assert written("") == Settings()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("enabled = 1", "Expected `bool`, got `int` - at `$.enabled`; docs/policies.md names the settings"),
        ('strategy = "guess"', "Invalid enum value 'guess' - at `$.strategy`"),
        ("enable = true", "contains unknown field `enable`; docs/policies.md names the settings"),
        ("reserveTokens = 0", "Expected `int` >= 1 - at `$.reserve_tokens`"),
        ("reserveToken = 1", "contains unknown field `reserve_token`; docs/policies.md names the settings"),
        (
            "reserve_tokens = 1\nreserveTokens = 2",
            "sets `reserve_tokens` twice, the other time as `reserveTokens`; leave one out",
        ),
        (
            "[promotion]\nmodel = 'x'\nwindow = 1\noutput = 2\nOutput = 3",
            "sets `output` twice",
        ),
        (
            "[promotion]\nmodel = 'x'\nwindow = 1\nwidth = 2",
            "contains unknown field `width` - at `$.promotion`",
        ),
        ("[promotion]\nmodel = 'x'", "missing required field `window` - at `$.promotion`"),
        ("reserve_tokens = 0", "Expected `int` >= 1 - at `$.reserve_tokens`"),
        ("threshold_tokens = -2", "Expected `int` >= -1 - at `$.threshold_tokens`"),
        ("threshold_percent = '80'", "Expected `int`, got `str` - at `$.threshold_percent`"),
        ("[[[", "is no TOML ("),
        ("enabled = true\nenabled = true", "is no TOML ("),
    ],
)
def test_what_is_wrong_is_told_with_its_key(written, text, told):
    assert told in problem(written, text)


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(BadInputError, match="No such file"):
        settings_in(str(tmp_path / "none.toml"))


def test_a_file_that_is_no_text_is_told(tmp_path):
    (tmp_path / "settings.toml").write_bytes(b"\xff")
    with pytest.raises(BadInputError, match="is no TOML"):
        settings_in(str(tmp_path / "settings.toml"))
