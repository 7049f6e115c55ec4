"""Settings of automatic compaction, as a person writes them down."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.settings_file import settings_in, settings_of
from compaction.maintaining import BranchSummaries, Promotion, Settings
from compaction.part import Limits
from eventstore.errors import BadInputError, RefoldError

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
        ("enabled = 1", "enabled: it is 1; give true or false"),
        ('strategy = "guess"', "strategy: it is 'guess'; give one of context-full, handoff, off"),
        ("enable = true", "enable: there is no such key; did you mean enabled?"),
        ("reserveTokens = 0", "reserveTokens: it is 0; give a whole number, 1 or more"),
        ("reserveToken = 1", "reserveToken: there is no such key; did you mean reserve_tokens?"),
        (
            "reserve_tokens = 1\nreserveTokens = 2",
            "reserveTokens: it sets what reserve_tokens sets; leave one out",
        ),
        (
            "[promotion]\nmodel = 'x'\nwindow = 1\noutput = 2\nOutput = 3",
            "[promotion] Output: it sets what [promotion] output sets; leave one out",
        ),
        (
            "[promotion]\nmodel = 'x'\nwindow = 1\nwidth = 2",
            "[promotion] width: there is no such key; there are: model, window, output",
        ),
        ("[promotion]\nmodel = 'x'", "[promotion] window: it is missing; give a whole number, 1 or more"),
        ("promotion = 1", "promotion: it is 1; give a table"),
        ("threshold_tokens = -2", "threshold_tokens: it is -2; give a whole number, -1 or more"),
        (
            "threshold_percent = 101",
            "threshold_percent: it is 101; give a whole number, -1 or more, 100 or less",
        ),
        ("keep_recent_tokens = -1", "keep_recent_tokens: it is -1; give a whole number, 1 or more"),
        (
            "threshold_percent = '80'",
            "threshold_percent: it is '80'; give a whole number, -1 or more, 100 or less",
        ),
        ("[[[", "is no TOML ("),
        ("enabled = true\nenabled = true", "is no TOML ("),
    ],
)
def test_what_is_wrong_is_told_with_its_key(written, text, told):
    assert told in problem(written, text)


def test_all_that_is_wrong_is_told_a_line_each_by_the_files_own_keys(written):
    with pytest.raises(RefoldError) as raised:
        written(
            "thresholdPercent = 'x'\nenabledd = true\nmostFailures = 1\nmost_failures = 0\n"
            "[branchSummary]\nreserveTokens = -1\n[promotion]\nmodel = 'x'"
        )
    assert [line.partition("settings.toml: ")[2] for line in raised.value.lines] == [
        "most_failures: it sets what mostFailures sets; leave one out",
        "thresholdPercent: it is 'x'; give a whole number, -1 or more, 100 or less",
        "enabledd: there is no such key; did you mean enabled?",
        "most_failures: it is 0; give a whole number, 1 or more",
        "[branchSummary] reserveTokens: it is -1; give a whole number, 0 or more",
        "[promotion] window: it is missing; give a whole number, 1 or more",
    ]


_keys = st.sampled_from([*Settings.__struct_fields__, "reserveTokens", "model", "window", "output", "x"])
_values = st.recursive(
    st.booleans() | st.integers(-2, 101) | st.floats() | st.sampled_from(["off", "http://x", ""]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_keys, inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(_keys, _values, max_size=4))
def test_whatever_a_table_says_it_is_settings_or_what_is_wrong_is_told(table):
    told = "here: "
    try:
        settings_of(table, "here")
    except BadInputError as error:
        told = str(error)
    assert told.startswith("here: ")


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("reserveTokens = 8_000", "reserveTokens"),
        ("keep_recent_tokens = 8_000", "keep_recent_tokens"),
        ("[branch_summary]\nreserve_tokens = 8_000", "[branch_summary] reserve_tokens"),
    ],
)
def test_what_the_models_window_is_too_small_for_is_told_with_its_key(tmp_path, text, key):
    (tmp_path / "settings.toml").write_text(text)
    assert settings_in(str(tmp_path / "settings.toml"), Limits(window=8_001))
    with pytest.raises(BadInputError) as raised:
        settings_in(str(tmp_path / "settings.toml"), Limits(window=8_000))
    assert str(raised.value) == (
        f"{tmp_path}/settings.toml: {key}: it is 8,000, and the window has 8,000 tokens; "
        "give fewer, or tell of a larger window"
    )


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(BadInputError, match="No such file"):
        settings_in(str(tmp_path / "none.toml"))


def test_a_file_that_is_no_text_is_told(tmp_path):
    (tmp_path / "settings.toml").write_bytes(b"\xff")
    with pytest.raises(BadInputError, match="is no TOML"):
        settings_in(str(tmp_path / "settings.toml"))
