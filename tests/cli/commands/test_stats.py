from __future__ import annotations

from eventstore.errors import CorruptionError
from tests.cli.running import Refold
from tests.cli.tale import tale
from tests.support.tampering import tables


def test_json_tells_what_the_store_holds_and_its_size(told: Refold) -> None:
    found = told("stats", "--json").json
    kinds = {each["kind"]: each["events"] for each in found["kinds"]}
    assert kinds == {
        "message": 12,
        "import": 1,
        "compaction": 1,
        "label": 1,
        "session_info": 1,
        "branch_summary": 1,
    }
    assert (found["store"], found["sessions"], found["events"]) == (str(told.store), 1, 17)
    assert 0 <= found["freeBytes"] < found["fileBytes"]
    assert found["bodyBytes"] == sum(each["bytes"] for each in found["kinds"])


def test_the_bytes_of_imported_records_are_those_of_the_file(told: Refold) -> None:
    kinds = {each["kind"]: each["bytes"] for each in told("stats", "--json").json["kinds"]}
    del kinds["import"]
    records = tale().splitlines()[1:]
    assert sum(kinds.values()) == sum(map(len, records))


def test_kinds_with_the_most_bytes_come_first(told: Refold) -> None:
    sizes = [each["bytes"] for each in told("stats", "--json").json["kinds"]]
    assert sizes == sorted(sizes, reverse=True)


def test_people_see_the_sizes_and_a_line_a_kind(told: Refold) -> None:
    lines, found = told("stats").lines, told("stats", "--json").json
    assert [f"{found[name]:,}" in lines[2].split() for name in ("fileBytes", "freeBytes")] == [True, True]
    kinds = [[each["kind"], f"{each['events']:,}", f"{each['bytes']:,}"] for each in found["kinds"]]
    assert [line.split() for line in lines[5:]] == kinds


def test_an_empty_store_has_numbers_too(refold: Refold) -> None:
    refold("append", "s")
    found = refold("stats", "--json").json
    assert (found["sessions"], found["events"], found["bodyBytes"]) == (0, 0, 0)
    assert refold("stats").out


def test_a_kind_that_is_damaged_is_told_as_damage_of_its_event(told: Refold) -> None:
    with tables(told.store) as stored:
        key, value = stored.items("events")[3]
        stored.put("events", key, value[:1] + b"\xfa" + value[2:])
    found = told.refused(CorruptionError, "stats")
    assert (found.seq, "index" in found.problem) == (4, False)
