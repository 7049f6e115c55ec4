from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from cli.views.page.html import MARKER
from eventstore.errors import BadInputError, NotFoundError
from tests.cli.running import Refold
from tests.cli.tale import SESSION, TITLE
from tests.support.patience import PATIENCE
from tests.support.pi_files import header, said


def test_a_report_is_written_where_it_is_told(told: Refold, tmp_path: Path) -> None:
    outcome = told("report", SESSION, "-o", "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert page.startswith("<!doctype html>\n")
    assert f"<title>{TITLE} · refold report</title>" in page
    assert outcome.out.split()[:2] == ["page.html", f"{len(page.encode()):,}"]


def test_without_a_place_it_is_named_after_the_session(told: Refold, tmp_path: Path) -> None:
    told("report", SESSION)
    assert (tmp_path / f"{SESSION}.html").is_file()


@pytest.mark.parametrize(
    ("session", "name"),
    [
        ("../up/ and </script>", "up-and-script.html"),
        ("...", "session.html"),
        ("été", "t.html"),
        ("x" * 300, "x" * 100 + ".html"),
        ("later~2", "later~2.html"),
    ],
)
def test_a_name_of_a_file_is_made_of_any_id(refold: Refold, tmp_path: Path, session: str, name: str) -> None:
    (tmp_path / "given.jsonl").write_bytes(header(session=session) + said("hello", "e1", None))
    refold("report", "given.jsonl")
    assert (tmp_path / name).is_file()


def test_on_standard_output_there_is_nothing_but_the_page(told: Refold) -> None:
    told("report", SESSION, "-o", "page.html")
    assert told("report", SESSION, "-o", "-", "--json").raw == Path("page.html").read_bytes()


def test_json_tells_what_was_written(told: Refold) -> None:
    found = told("report", SESSION, "-o", "page.html", "--json").json
    assert found == {
        "session": SESSION,
        "path": "page.html",
        "bytes": Path("page.html").stat().st_size,
        "events": 17,
        "compactions": 1,
        "branchSummaries": 1,
        "rewrites": 0,
    }


def test_a_file_is_imported_and_reported_with_one_command(refold: Refold, tmp_path: Path) -> None:
    (tmp_path / "new.jsonl").write_bytes(header(session="s") + said("hello there", "e1", None))
    refold("report", "new.jsonl", "-o", "page.html")
    assert "hello there" in Path("page.html").read_text("utf-8")


def test_a_report_that_is_there_is_made_anew(told: Refold) -> None:
    told("report", SESSION, "-o", "page.html")
    told("label", SESSION, "--title", "Another title")
    told("report", SESSION, "-o", "page.html")
    assert "<title>Another title" in Path("page.html").read_text("utf-8")


def test_an_empty_file_may_be_written_to(told: Refold, tmp_path: Path) -> None:
    (tmp_path / "page.html").touch()
    told("report", SESSION, "-o", "page.html")
    assert MARKER in Path("page.html").read_text("utf-8")


@pytest.mark.parametrize("content", ["<!doctype html>\n<p>mine</p>", "x", " " * 5000 + MARKER])
def test_any_other_file_is_left_alone(told: Refold, tmp_path: Path, content: str) -> None:
    (tmp_path / "notes.html").write_text(content)
    assert told.refused(BadInputError, "report", SESSION, "-o", "notes.html").source == "notes.html"
    assert (tmp_path / "notes.html").read_text() == content


def test_a_link_to_another_file_leaves_it_alone_too(told: Refold, tmp_path: Path) -> None:
    (tmp_path / "notes.html").write_text("mine")
    (tmp_path / "page.html").symlink_to("notes.html")
    told.refused(BadInputError, "report", SESSION, "-o", "page.html")
    assert (tmp_path / "notes.html").read_text() == "mine"


@pytest.mark.parametrize("place", ["gone/page.html", "."])
def test_a_place_that_cannot_be_written_is_reported_and_nothing_is_left_behind(
    told: Refold, tmp_path: Path, place: str
) -> None:
    before = sorted(tmp_path.rglob("*"))
    assert told.refused(BadInputError, "report", SESSION, "-o", place).source == place
    assert sorted(tmp_path.rglob("*")) == before


def test_a_pipe_is_written_to_and_stays_a_pipe(told: Refold, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE) as reader:
        told("report", SESSION, "-o", "pipe")
        read, _ = reader.communicate(timeout=PATIENCE)
    assert read.startswith(b"<!doctype html>")
    assert (tmp_path / "pipe").is_fifo()


def test_a_session_that_is_not_there_leaves_no_file(told: Refold, tmp_path: Path) -> None:
    told.refused(NotFoundError, "report", "nope", "-o", "page.html")
    assert not (tmp_path / "page.html").exists()


def page(refold: Refold, *options: str) -> str:
    return refold("report", SESSION, "-o", "-", *options).out


def test_at_another_leaf_what_happened_on_its_path_counts(told: Refold) -> None:
    assert 'id="r-12"' in page(told)
    assert 'id="r-12"' not in page(told, "--leaf", "b2")


def test_texts_are_cut_or_in_full_whole(told: Refold) -> None:
    told("append", SESSION, stdin=said("y" * 5000))
    assert "y" * 5000 not in page(told)
    assert "y" * 5000 in page(told, "--full")


def test_the_counter_that_was_chosen_is_the_one_that_counts(told: Refold) -> None:
    assert [
        "bytes/4" in told("--counter", each, "report", SESSION, "-o", "-").out
        for each in ("bytes/4", "utf16/4")
    ] == [True, False]


def test_a_table_of_prices_says_what_calls_cost(told: Refold, tmp_path: Path) -> None:
    kinds = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")
    prices = "".join(f"{kind} = 1000.0\n" for kind in kinds)
    (tmp_path / "prices.toml").write_text(f'date = 2026-01-01\n[models."m"]\n{prices}')
    # 5,300 tokens in four calls, at a dollar for a thousand.
    priced = told("--prices", "prices.toml", "report", SESSION, "-o", "-").out
    assert ('<span class="value">$5.30</span>' in priced, "prices.toml" in priced) == (True, True)


def test_the_same_store_gives_the_same_page(told: Refold) -> None:
    assert page(told) == page(told)


def test_a_report_after_an_audit_audits_nothing_again(told: Refold, monkeypatch: pytest.MonkeyPatch) -> None:
    told("audit", SESSION)
    monkeypatch.delattr("projections.audit.session._Branch")
    told("report", SESSION, "-o", "page.html")
