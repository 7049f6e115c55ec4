from __future__ import annotations

import re
import shlex
import sys
from itertools import takewhile
from pathlib import Path

import pytest

from eventstore.errors import BadInputError, NotFoundError
from tests.cli.lossy import LOSSY, judged, store_lossy
from tests.cli.running import PROJECT, Refold
from tests.cli.tale import tale
from tests.support.pi_files import header
from tests.support.stores import damage, make_store

DEMO = "demo-rate-limiter"


def named(*variants: str) -> tuple[str, ...]:
    """The options that name variants."""
    return tuple(word for each in variants for word in ("--with", each))


def replayed(refold: Refold, *arguments: str, code: int = 0) -> list[str]:
    """The sessions of all boundaries, each once."""
    variants = ("--with", "recorded", "--with", "drop", "--keep-recent", "0")
    found = refold("replay", *arguments, "--at", "recorded", *variants, "--json", code=code).json
    assert len(found["trials"]) == 2 * len(found["boundaries"])
    return list(dict.fromkeys(each["session"] for each in found["boundaries"]))


@pytest.mark.slow
def test_all_leaves_out_forks_which_would_count_the_same_events_twice(refold: Refold) -> None:
    refold("--store", str(refold.store), "demo")
    refold("fork", DEMO, "--as", "trial")
    assert replayed(refold, "trial") == ["trial"]
    assert replayed(refold, "--all") == [DEMO]


@pytest.mark.slow
def test_a_variants_template_may_be_a_file(refold: Refold) -> None:
    def sizes(*variants: str) -> list[int | None]:
        run = ("replay", DEMO, "--at", "recorded", "--keep-recent", "1000", "--json")
        return [each["tokensAfter"] for each in refold(*run, *named(*variants)).json["trials"]]

    refold("--store", str(refold.store), "demo")
    Path("own.md").write_bytes((PROJECT / "compaction/templates/texts/five-sections.md").read_bytes())
    assert sizes("refold:five-sections", "drop") == sizes("refold:own.md", "drop") != sizes("refold", "drop")


def test_a_misspelt_summarizer_is_refused_at_once(told: Refold) -> None:
    assert told.refused(NotFoundError, "replay", "--all", *named("refold@extractve")).what == "summarizer"


@pytest.mark.slow
def test_recorded_comes_first_by_default_at_recorded_boundaries(refold: Refold) -> None:
    refold("--store", str(refold.store), "demo")
    at_recorded = refold("replay", DEMO, "--at", "recorded", "--keep-recent", "1000", "--json").json
    assert [each["variant"] for each in at_recorded["variants"]] == ["recorded", "refold", "drop"]
    at_clean = refold("replay", DEMO, "--json").json
    assert "recorded" not in [each["variant"] for each in at_clean["variants"]]


@pytest.mark.slow
def test_a_note_below_the_table_says_what_rows_count_if_a_variant_failed_somewhere(refold: Refold) -> None:
    refold("--store", str(refold.store), "demo")
    arguments = ("replay", DEMO, "--at", "recorded", "--with", "recorded", "--with", "refold")
    figures = refold(*arguments, "--keep-recent", "5000", "--json").json
    row, shown = figures["variants"][0], refold(*arguments, "--keep-recent", "5000").out
    beside = refold(*arguments, "--keep-recent", "5000", "-o", str(refold.store.parent / "page.html"))
    assert row["trials"] < len(figures["boundaries"])
    of = f"{row['trials']} of {len(figures['boundaries'])} boundaries"
    assert f"rows count the {of} at which every variant has a result" in shown
    assert f"rows count the {of}" in "".join(beside.notes)


@pytest.mark.slow
def test_triggered_warns_if_the_provider_counted_much_more_than_the_estimate(refold: Refold) -> None:
    refold("--store", str(refold.store), "demo")
    arguments = ("replay", DEMO, "--at", "triggered", "--with", "refold")
    run, _ = refold(*arguments, "--json").json["runs"]
    assert run["measuredPeak"] > 1.5 * run["peakTokens"]
    assert f"the provider counted {run['measuredPeak']:,} tokens" in refold(*arguments).out


def test_all_leaves_out_earlier_generations(told: Refold, tmp_path: Path) -> None:
    (session,) = replayed(told, "--all")
    (tmp_path / "anew.jsonl").write_bytes(re.sub(rb'"([a-z][0-9])"', rb'"new-\1"', tale()))
    told("sync", "anew.jsonl")
    assert replayed(told, session) == [session]
    assert replayed(told, "--all") == [f"{session}~2"]


@pytest.mark.usefixtures("cores")
def test_sessions_beside_a_damaged_one_are_replayed(refold: Refold) -> None:
    make_store(refold.store, 3, messages=6)
    damage(refold.store, 2, 3)
    assert replayed(refold, "--all", code=1) == ["session-00000", "session-00002"]


@pytest.mark.slow
def test_the_program_of_the_docs_compacts(refold: Refold, tmp_path: Path) -> None:
    page = (PROJECT / "docs" / "your-compactor.md").read_text("utf-8")
    examples = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (text,) = [each for each in examples if "sys.stdin" in each]
    (tmp_path / "compactor.py").write_text(text)
    refold("--store", str(refold.store), "demo")
    program = shlex.join([sys.executable, str(tmp_path / "compactor.py")])
    found = refold(
        *("replay", DEMO, "--at", "recorded", "--with", "drop", "--keep-recent", "1000"),
        *("--command", program, "--window", "10000", "--json"),
    ).json
    assert [each["variant"] for each in found["variants"]] == ["drop", program]
    theirs = [each for each in found["trials"] if each["variant"] == program]
    assert theirs
    assert all(each["error"] is None and each["tokensAfter"] < each["tokensBefore"] for each in theirs)


@pytest.mark.slow
def test_a_program_that_fails_leaves_the_other_variants_their_results(refold: Refold) -> None:
    refold("--store", str(refold.store), "demo")
    options = ("--at", "recorded", "--with", "recorded", "--command", "false")
    found = refold("replay", DEMO, *options, "--json", code=1).json
    recorded, theirs = found["variants"]
    assert (recorded["failed"], recorded["trials"]) == (0, len(found["boundaries"]))
    assert (theirs["failed"], theirs["trials"]) == (len(found["boundaries"]), 0)


@pytest.mark.slow
def test_a_program_that_is_not_there_is_refused_at_once(refold: Refold) -> None:
    refold("--store", str(refold.store), "demo")
    assert (
        refold.refused(NotFoundError, "replay", DEMO, "--command", "no-such-program").name
        == "no-such-program"
    )
    refold("replay", DEMO, "--with", "refold", "--with", "refold", code=2)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--rounds", "2"), "--rounds and --reader need --at recorded"),
        (("--reader", "a-1"), "--rounds and --reader need --at recorded"),
        (("--at", "triggered", "-o", "page.html"), "--at triggered asks no model"),
        (("--at", "triggered", "--with", "refold@a-1"), "--at triggered asks no model"),
        (("--yes",), "--yes and --budget are for models"),
        (("--budget", "1"), "--yes and --budget are for models"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    told: Refold, options: tuple[str, ...], problem: str
) -> None:
    assert problem in told("replay", "--all", *options, code=2).errors


@pytest.mark.slow
def test_a_variant_without_any_result_fails(refold: Refold) -> None:
    refold("--store", str(refold.store), "demo")
    options = ("--at", "recorded", "--with", "recorded", "--command", "false")
    refold("replay", DEMO, *options, code=1)


@pytest.mark.slow
def test_a_session_that_was_never_compacted_has_no_recorded_boundary(refold: Refold, tmp_path: Path) -> None:
    (tmp_path / "new.jsonl").write_bytes(header(session="new"))
    assert (
        "never compacted: leave out --at recorded"
        in refold("replay", tmp_path / "new.jsonl", "--at", "recorded").out
    )


def test_claims_are_counted_where_a_model_read(refold: Refold) -> None:
    store_lossy(refold)
    run = ("replay", LOSSY, "--at", "recorded", "--with", "recorded")
    assert (
        "what was kept is not counted at 1 of 1 boundary, which nobody has read: refold judge"
        in refold(*run).out
    )
    judged(refold)
    shown = refold(*run).out
    assert re.search(r"recorded +1 +0 +\d+% +- +- +0/1 +0/1 +0/1", shown)
    assert "not counted" not in shown
    (boundary,), (trial,) = (refold(*run, "--json").json[each] for each in ("boundaries", "trials"))
    assert boundary["asked"] == {"rules": 1, "facts": 1, "losses": 1}
    assert [each["claim"] for each in boundary["claims"]][:2] == [
        "Work in pull requests",
        "stdin must be closed",
    ]
    nothing = {"rules": 0, "facts": 0, "losses": 0, "read": None, "standings": [], "unread": ""}
    assert trial["kept"] == nothing


@pytest.fixture
def answering(refold: Refold, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The rows of the page on templates, whose program answers, and whose templates are there."""
    folder = PROJECT / "docs" / "templates"
    monkeypatch.setenv("REFOLD_SUMMARIZER_COMMAND", shlex.join([sys.executable, str(folder / "answers.py")]))
    for name in ("rules-first", "map"):
        new = refold("templates", "new", name, "--from", "compaction", "--json").json["path"]
        Path(new).write_bytes((folder / f"{name}.md").read_bytes())
    page = (PROJECT / "docs" / "improve-your-template.md").read_text("utf-8")
    lines = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| `")]
    return [[name.strip("`"), *figures] for name, *figures in lines]


ROUNDS = ("--at", "recorded", "--rounds", "3", "--reader", "command", "--yes")


@pytest.mark.slow
def test_the_docs_rounds_are_repeated_offline(refold: Refold, answering: list[list[str]]) -> None:
    rows = [row for row in answering if len(row) == 4]
    assert [name for name, *_ in rows][:2] == ["recorded", "refold@command"]
    refold("--store", str(refold.store), "demo")
    shown = refold("replay", DEMO, *ROUNDS, "--keep-recent", "1000", *named(*(name for name, *_ in rows))).out
    assert by_round(shown, "RULES") == rows


@pytest.mark.slow
def test_a_real_sessions_rounds_are_repeated(
    refold: Refold, answering: list[list[str]], corpus: Path
) -> None:
    rows = [row for row in answering if len(row) == 6]
    assert [name for name, *_ in rows][:2] == ["recorded", "refold@command"]
    refold("sync", corpus / "claude-code" / "6113e919-3auto.jsonl")
    refold("judge", "@last", "--summarizer", "command", "--yes")
    shown = refold("replay", "@last", *ROUNDS, *named(*(name for name, *_ in rows))).out
    sizes = re.findall(r"^\S+ +3 +0 +(\d+%)", shown, re.MULTILINE)
    facts = [row[3] for row in by_round(shown, "FACTS")]
    found = [[*row, facts[place], sizes[place]] for place, row in enumerate(by_round(shown, "RULES"))]
    assert found == rows


def by_round(shown: str, what: str) -> list[list[str]]:
    """Return the rows of a table of rounds."""
    table = shown.partition(f"{what} BY ROUND")[2].partition("\n")[2]
    rows = takewhile(lambda line: re.search(r" \d+/\d+", line), table.splitlines())
    return [re.split(r"  +", row) for row in rows]


READER = """
import json, sys
prompt = sys.stdin.read()
sought = prompt.partition("<sought>")[2].partition("</sought>")[0]
numbers = [line.partition(".")[0].strip() for line in sought.splitlines() if line.strip()[:1].isdigit()]
words = ["Half of the tests pass", "words that nobody said"]
print(json.dumps({number: words[place % 2] for place, number in enumerate(numbers)}))
"""


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A program that reads: it quotes the summary for every other claim, and makes the rest up."""
    asked = tmp_path / "asked"
    (tmp_path / "reader.py").write_text(f"open({str(asked)!r}, 'a').write('.')\n{READER}")
    command = shlex.join([sys.executable, str(tmp_path / "reader.py")])
    monkeypatch.setenv("REFOLD_SUMMARIZER_COMMAND", command)
    return asked


def test_a_reader_is_asked_once_and_checked(refold: Refold, reader: Path) -> None:
    store_lossy(refold)
    judged(refold)
    run = ("replay", LOSSY, "--at", "recorded", *named("recorded"), "--reader", "command")
    first = refold(*run, "--yes", "--json").json
    kept = first["trials"][0]["kept"]
    assert kept["read"] == {"rules": 1, "facts": 0, "losses": 1}
    assert [(each["claim"], each["isRead"]) for each in kept["standings"]] == [(0, True), (2, True)]
    assert (kept["rules"], kept["unread"]) == (0, "")
    assert refold(*run, "--json").json == first
    assert reader.read_text() == "."
    assert re.search(r"0/1 \+1 read +0/1 +0/1 \+1 read", refold(*run).out)
    assert refold(*run[:-1], "recorded", "--json").json["trials"] == first["trials"]
    # Without a reader, nobody is asked and nothing of it counts.
    assert refold(*run[:-2], "--json").json["trials"][0]["kept"]["read"] is None


def test_a_reader_needs_consent(refold: Refold, reader: Path) -> None:
    store_lossy(refold)
    judged(refold)
    run = ("replay", LOSSY, "--at", "recorded", *named("recorded"), "--reader")
    assert ": 1 request with" in " ".join(refold(*run, "command", code=2).notes)
    assert "reads nothing" in refold(*run, "extractive", code=2).errors
    assert not reader.exists()


@pytest.mark.slow
def test_rounds_show_what_erodes(refold: Refold) -> None:
    refold("--store", str(refold.store), "demo")
    run = ("replay", DEMO, "--at", "recorded", "--keep-recent", "1000", "--rounds", "3")
    variants = named("recorded", "recorded+given-back", "refold", "drop")
    shown = refold(*run, *variants)
    assert re.search(r"recorded +7/7 +1/8 +0/8\n", shown.out)
    assert re.search(r"recorded\+given-back +7/7 +8/8 +8/8\n", shown.out)
    assert re.search(r"drop +0/7 +0/8 +0/8\n", shown.out)
    figures = refold(*run, *variants, "--json").json
    assert [each["round"] for each in figures["boundaries"]] == [1, 2, 3]
    asked = [[each["asked"]["rules"] for each in variant["rounds"]] for variant in figures["variants"]]
    assert asked == [[7, 8, 8]] * 4
    page = refold(*run, *variants, "-o", "-").out
    assert "rules kept, by round" in page
    assert page.count("<mark>") > 10


def test_nothing_else_can_be_given_back(told: Refold) -> None:
    refused = told.refused(NotFoundError, "replay", "--all", "--at", "recorded", *named("recorded+nope"))
    assert refused.name == "recorded+nope"


def test_few_sessions_have_no_intervals(refold: Refold) -> None:
    store_lossy(refold)
    judged(refold)
    run = ("replay", LOSSY, "--at", "recorded", "--keep-recent", "0", *named("recorded", "drop"))
    assert "no intervals: what was read is of 1 session, and they need 8" in refold(*run).out


def test_no_page_replaces_a_users_file(told: Refold, tmp_path: Path) -> None:
    notes = tmp_path / "notes.html"
    notes.write_text("mine")
    told.refused(BadInputError, "replay", "--all", "-o", notes)
    assert notes.read_text() == "mine"


def test_each_of_several_sessions_is_reported_as_it_is_done(refold: Refold) -> None:
    make_store(refold.store, 2, messages=20)
    options = ("--at", "recorded", "--with", "recorded")
    notes = refold("replay", "--all", *options).notes
    assert [re.findall(r"session-\d+: 1 boundary; size left: recorded", each) != [] for each in notes] == [
        True,
        True,
    ]
    assert refold("replay", "session-00000", *options).notes == []


def test_the_page_names_its_store_and_the_command_that_made_it(told: Refold) -> None:
    page = told("replay", "--all", "--with", "refold", "-o", "-").out
    assert f"<bdi>{told.store}</bdi>" in page
    assert "<bdi>refold replay --all --with refold -o -</bdi>" in page


@pytest.mark.slow
def test_standard_output_holds_the_page_alone(told: Refold) -> None:
    page = told("replay", "--all", "-o", "-", "--json").out
    assert page.startswith("<!doctype html>")
    assert page.rstrip().endswith("</html>")
