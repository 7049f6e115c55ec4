"""Ratios are kept: one that is worse by half is found, by its group and role."""

from __future__ import annotations

import json
import subprocess
import sys
import time

from bench.kept import RECORDED, Ratios, processor_seconds, worse


def bench(group, role, least, name):
    return {"group": group, "extra_info": {"role": role}, "stats": {"min": least}, "fullname": name}


REPORT = {
    "benchmarks": [
        bench("append", "refold", 0.004, "a.py::refold[0]"),
        bench("append", "refold", 0.003, "a.py::refold[1]"),
        bench("append", "floor", 0.002, "a.py::floor[0]"),
        bench("append", "floor", 0.001, "a.py::floor[1]"),
        bench("import", "refold", 0.5, "b.py::refold"),
        bench("import", "parse", 0.1, "b.py::parse"),
        bench("alone", "refold", 0.5, "c.py::refold"),
        bench("no refold", "floor", 0.5, "c.py::floor"),
    ]
}


def test_a_ratio_is_that_of_the_least_times():
    measured = Ratios(REPORT)
    assert measured.ratios() == {"append: floor": 3.0, "import: parse": 5.0}
    assert measured.benches(["append: floor"]) == [each["fullname"] for each in REPORT["benchmarks"][:4]]


def test_of_several_runs_the_least_times_count():
    measured = Ratios(REPORT)
    measured.add(
        {
            "benchmarks": [
                bench("import", "refold", 0.6, "b.py::refold"),
                bench("import", "parse", 0.2, "b.py::parse"),
            ]
        }
    )
    assert measured.ratios()["import: parse"] == 5.0
    slower = [bench("import", "refold", 0.6, "b.py::refold"), bench("import", "parse", 0.2, "b.py::parse")]
    measured.add({"benchmarks": slower})
    assert measured.ratios()["import: parse"] == 5.0
    measured.add({"benchmarks": [bench("import", "refold", 0.25, "b.py::refold")]})
    assert (measured.ratios()["import: parse"], len(measured.benches(["import: parse"]))) == (2.5, 2)


def test_times_are_the_processors_those_of_processes_included():
    before, begun = processor_seconds(), time.monotonic()
    time.sleep(0.2)
    slept = processor_seconds() - before
    assert slept < 0.2 <= time.monotonic() - begun
    subprocess.run([sys.executable, "-c", "sum(range(3_000_000))"], check=True)
    assert processor_seconds() - before > slept + 0.01


def test_what_is_worse_by_half_is_found():
    ratios = {"append: floor": 3.0, "import: parse": 5.0, "new: floor": 9.0}
    assert worse(ratios, {"append: floor": 2.1, "import: parse": 3.4}) == []
    assert worse(ratios, {"append: floor": 1.9, "import: parse": 3.4}) == ["append: floor"]


def test_ratios_are_recorded():
    recorded = json.loads(RECORDED.read_bytes())
    assert len(recorded) >= 20
    assert all(ratio > 0 for ratio in recorded.values())
