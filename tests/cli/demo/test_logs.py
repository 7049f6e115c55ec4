from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise

from cli.demo.logs import access_log, load, mixed, passed, repeated_runs, staging_log


def test_neighbours_do_not_resemble_each_other() -> None:
    drawn = [mixed(number, 1) for number in range(200)]
    assert len(set(drawn)) == 200
    assert min(abs(later - earlier) for earlier, later in pairwise(drawn)) > max(drawn) / 4


def test_passing_tests_are_a_dot_each_and_end_with_all_of_them() -> None:
    printed = passed(85, "3.52").splitlines()
    assert "".join(printed).count(".") - printed[-1].count(".") == 85
    assert [line.split()[-1] for line in printed[:-1]] == ["84%]", "[100%]"]
    assert printed[-1] == "85 passed in 3.52s"


def test_three_of_four_requests_of_the_night_are_the_scrapers() -> None:
    lines = access_log(40).splitlines()
    assert Counter(line.split()[0] == "203.0.113.77" for line in lines) == {True: 30, False: 10}


def test_the_last_test_fails_in_the_runs_that_are_named() -> None:
    printed = repeated_runs(3, ("test_a", "test_b"), failing=(2,))
    runs = printed.split("---- run ")[1:]
    assert ["1 failed, 1 passed" in run for run in runs] == [False, True, False]
    assert "test_b FAILED" in runs[1]


def test_in_each_second_of_a_load_test_every_request_had_an_answer() -> None:
    for line in load(20, median=190).splitlines()[1:]:
        _, sent, through, limited, *latencies = line.split()
        assert int(sent) == int(through) + int(limited)
        assert sorted(latencies, key=float) == latencies
        assert 1.9 <= float(latencies[0]) < 2.2


def test_only_who_was_limited_has_to_wait() -> None:
    for line in staging_log(60).splitlines():
        told = json.loads(line)
        assert told["event"] in ("limited", "passed")
        assert told["event"] == "limited" or told["wait"] == 0
