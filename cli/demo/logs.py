"""What the programs of the demo session print, where it is long. Counted, not drawn: the same every time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from cli.demo.ferry_api import RESOURCES

_PATHS: Final = [f"/v1/{each.many}" for each in RESOURCES]
_AGENTS: Final = (
    "FerryApp/5.2 (Android 15)",
    "FerryApp/5.2 (iOS 18.3)",
    "okhttp/4.12.0",
    "Mozilla/5.0 (X11)",
)
_CRAWLER: Final = "203.0.113.77"
_DOTS_A_LINE: Final = 72


def mixed(number: int, salt: int) -> int:
    """A number made of a count that neighbours do not resemble."""
    return (number * 0x9E3779B1 + salt * 0x85EBCA6B & 0xFFFFFFFF) >> 9


def passed(tests: int, seconds: str) -> str:
    """What `pytest -q` prints of so many tests that pass."""
    lines = []
    for start in range(0, tests, _DOTS_A_LINE):
        done = min(start + _DOTS_A_LINE, tests)
        lines.append(f"{'.' * (done - start):<{_DOTS_A_LINE}} [{done * 100 // tests:3}%]")
    return "\n".join([*lines, f"{tests} passed in {seconds}s"])


def access_log(lines: int) -> str:
    """The proxy's log of a night in which one address asks for the timetable without end."""
    return "\n".join(_access(number) for number in range(lines))


def _access(number: int) -> str:
    second = 13 * 60 + number // 6
    time = f"04/Mar/2026:02:{second // 60:02}:{second % 60:02} +0000"
    if number % 4:
        page = 40 + number
        asked = f"GET /v1/sailings?after={page * 17:05}&limit=200 HTTP/1.1"
        who, agent, size = _CRAWLER, "python-requests/2.32.3", 18_200 + mixed(number, 1) % 900
    else:
        asked = f"GET {_PATHS[mixed(number, 2) % len(_PATHS)]} HTTP/1.1"
        who, agent = f"198.51.100.{mixed(number, 3) % 250 + 1}", _AGENTS[mixed(number, 4) % len(_AGENTS)]
        size = 400 + mixed(number, 5) % 2600
    took = (9 + mixed(number, 6) % 70 + (number % 4 > 0) * 120) / 1000
    return f'{who} - - [{time}] "{asked}" 200 {size} "-" "{agent}" {took:.3f}'


def repeated_runs(runs: int, tests: Sequence[str], *, failing: Iterable[int]) -> str:
    """A test module run over and over with every test named; the last test fails in the `failing` runs."""
    fails = set(failing)
    return "\n".join(_run(number, tests, fails=number in fails) for number in range(1, runs + 1))


def _run(number: int, tests: Sequence[str], *, fails: bool) -> str:
    lines = [f"---- run {number}"]
    for index, test in enumerate(tests):
        outcome = "FAILED" if fails and index == len(tests) - 1 else "PASSED"
        lines.append(f"tests/test_limits.py::{test} {outcome} [{(index + 1) * 100 // len(tests):3}%]")
    slowest = (60 + mixed(number, 7) % 9 + fails * 31) / 1000
    lines.append(f"{slowest:.2f}s call     tests/test_limits.py::{tests[-1]}")
    if fails:
        lines.append(f"FAILED tests/test_limits.py::{tests[-1]} - assert 0.0 > 0")
    count = f"1 failed, {len(tests) - 1} passed" if fails else f"{len(tests)} passed"
    return "\n".join([*lines, f"==== {count} in 0.{18 + mixed(number, 8) % 9}s ===="])


def load(seconds: int, *, median: int) -> str:
    """A load test, a line each second; `median` in hundredths of a millisecond."""
    lines = [f"{'second':>6} {'sent':>6} {'200':>6} {'429':>6} {'p50 ms':>8} {'p95 ms':>8} {'p99 ms':>8}"]
    for second in range(1, seconds + 1):
        sent = 380 + mixed(second, 9) % 40
        limited = sent // 9 + mixed(second, 10) % 7
        p50 = median + mixed(second, 11) % 30
        p95 = 2 * p50 + mixed(second, 12) % 90
        p99 = 3 * p50 + mixed(second, 13) % 400
        lines.append(
            f"{second:>6} {sent:>6} {sent - limited:>6} {limited:>6}"
            f" {p50 / 100:>8.2f} {p95 / 100:>8.2f} {p99 / 100:>8.2f}"
        )
    return "\n".join(lines)


def staging_log(lines: int) -> str:
    """The service's own log of a lunch hour: who was let through, and who had to wait."""
    return "\n".join(_staged(number) for number in range(lines))


def _staged(number: int) -> str:
    second = number * 11
    time = f"2026-03-04T10:{second // 60 % 60:02}:{second % 60:02}Z"
    path = _PATHS[mixed(number, 14) % len(_PATHS)]
    if number % 3 == 0:
        # One address of a mobile carrier, behind which many people share a bucket.
        client, event = "ip:198.51.100.23", "limited" if number % 2 else "passed"
    elif number % 7 == 0:
        client, event = f"ip:{_CRAWLER}", "limited"
    else:
        client, event = f"ip:192.0.2.{mixed(number, 16) % 250 + 1}", "passed"
    wait = f"{mixed(number, 17) % 300 / 100:.2f}" if event == "limited" else "0"
    agent = _AGENTS[mixed(number, 18) % 2]
    return (
        f'{{"time":"{time}","event":"{event}","client":"{client}","path":"{path}",'
        f'"wait":{wait},"agent":"{agent}"}}'
    )
