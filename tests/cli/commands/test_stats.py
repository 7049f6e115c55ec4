from __future__ import annotations

from tests.cli.running import Refold
from tests.cli.tale import tale


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


def test_people_see_totals_and_a_line_a_kind(told: Refold) -> None:
    lines = told("stats").lines
    assert lines[0] == str(told.store)
    assert lines[1].startswith("1 session, 17 events, ")
    assert lines[2].endswith(" of them free")
    assert lines[4].split() == ["KIND", "EVENTS", "BYTES"]
    assert lines[5].startswith("message ")


def test_an_empty_store_has_numbers_too(refold: Refold) -> None:
    refold("append", "s")
    assert refold("stats").lines[1] == "0 sessions, 0 events, 0 bytes of records"
