from __future__ import annotations

from typing import Any

from cli.views.model import Page
from cli.views.page.build import build_page
from cli.views.page.material import Material
from eventstore import EventLog
from eventstore.records import SessionInfo
from tests.cli.report.reading import material_of
from tests.support.pi_files import bring, header, said
from tests.support.talk import Story, user


def page(story: Story, **where: Any) -> Page:
    return build_page(material_of(story.log, **where))


def test_a_session_is_called_by_its_title(story: Story) -> None:
    story.says(user("the first request"))
    story.add(SessionInfo(name="A title"))
    assert page(story).title == "A title"


def test_without_one_by_its_first_request_cut(story: Story) -> None:
    story.says(user("x" * 500))
    assert page(story).title == "x" * 119 + "…"


def test_without_either_by_its_id(story: Story) -> None:
    story.add(SessionInfo(cwd="/src"))
    assert page(story).title == "s"


def test_dates_are_those_of_the_first_and_the_last_entry(store: EventLog, tmp_path) -> None:
    content = header() + said("a", "e1", None) + said("b", "e2", "e1").replace(b"2025-11-20", b"2025-11-21")
    session = bring(store, tmp_path, content).id
    assert build_page(material_of(store, session)).dates == "2025-11-20 23:33 to 2025-11-21 23:33 UTC"


def test_on_one_day_the_date_stands_once(story: Story) -> None:
    story.says(user("a"), user("b"))
    assert page(story).dates == "1970-01-01 00:00 to 00:00 UTC"


def test_how_tokens_were_counted_is_told(story: Story) -> None:
    story.says(user("a"))
    assert ("utf16/4" in page(story).note, "estimate" in page(story).note) == (True, True)


def test_replacements_stand_in_order_of_the_log_and_once_more_the_worst_first(demo_page: Page) -> None:
    assert [each.replacement.seq for each in demo_page.replacements] == [28, 69, 103, 131, 166]
    assert sorted(each.replacement.seq for each in demo_page.worst) == [28, 69, 103, 131, 166]


def test_marks_and_tree_lines_of_replacements_lead_to_their_sections(demo_page: Page) -> None:
    assert demo_page.context is not None
    sections = {f"r-{seq}" for seq in (28, 69, 103, 131, 166)}
    assert {mark.target for mark in demo_page.context.marks if mark.target.startswith("r-")} == sections
    assert {line.target for line in demo_page.tree if line.target.startswith("r-")} == sections


def test_every_event_is_listed(demo: Material, demo_page: Page) -> None:
    listed = [event.seq for group in demo_page.groups for event in group.events]
    assert listed == [event.seq for event in demo.events]
