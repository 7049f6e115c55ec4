from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cli.views.page.charts import RIGHT, WIDTH
from tests.pages.browsing import DESKTOP, PHONE, Visit, visit

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SCREENS = [
    pytest.param({"viewport": size, "color_scheme": scheme}, id=f"{name} {scheme}")
    for name, size in (("desktop", DESKTOP), ("phone", PHONE))
    for scheme in ("light", "dark")
]


@pytest.mark.parametrize("screen", SCREENS)
def test_the_page_is_as_wide_as_the_window_also_with_everything_open(
    browser: Browser, demo_file: Path, screen: dict[str, Any]
) -> None:
    with visit(browser, demo_file, **screen) as page:
        page.open_all()
        assert page.js("document.documentElement.scrollWidth") == screen["viewport"]["width"]


@pytest.mark.parametrize("screen", SCREENS)
def test_the_page_says_nothing_and_asks_for_nothing(
    browser: Browser, demo_file: Path, screen: dict[str, Any]
) -> None:
    with visit(browser, demo_file, **screen) as page:
        page.open_all()
        assert (page.said, page.requests, page.js("violations")) == ([], [demo_file.as_uri()], [])


def test_a_dark_screen_is_dark(browser: Browser, demo_file: Path) -> None:
    def paper(scheme: str) -> int:
        with visit(browser, demo_file, color_scheme=scheme) as page:
            colour = page.js("getComputedStyle(document.body).backgroundColor")
            return sum(map(int, colour.removeprefix("rgb(").removesuffix(")").split(",")))

    assert paper("dark") < 100
    assert paper("light") > 700


def test_on_a_phone_a_chart_is_scrolled_not_shrunk(browser: Browser, demo_file: Path) -> None:
    hint = "getComputedStyle(document.querySelector('.chart-scroll'), '::before').content"
    with visit(browser, demo_file, viewport=PHONE) as page:
        assert page.js("document.querySelector('.context-chart').getBoundingClientRect().width") == 760
        assert "Scroll sideways" in page.js(hint)
    with visit(browser, demo_file) as page:
        assert page.js(hint) == "none"


@pytest.mark.parametrize("width", [390, 860, 1100, 1280])
def test_work_done_again_is_whole_beside_costs(browser: Browser, demo_file: Path, width: int) -> None:
    with visit(browser, demo_file, viewport={"width": width, "height": 900}) as page:
        page.open_all()
        page.js(
            """() => document.querySelectorAll(".again tbody").forEach((body) => {
                body.querySelector(".kind").textContent = "exec_command failed";
                body.querySelector("th code").textContent = "/Users/somebody/workspace/cli/cmd/entire/explain.go";
                body.querySelectorAll(".again-at").forEach((each) => { each.textContent = "#12345"; });
                body.querySelectorAll("td:last-child").forEach((each) => { each.textContent = "126,499"; });
            })"""
        )
        rooms = page.js(
            "[...document.querySelectorAll('.again')].map((each) => "
            "[each.scrollWidth, each.parentElement.clientWidth])"
        )
        assert rooms
        assert all(needed <= room for needed, room in rooms), rooms


def test_the_worst_replacement_is_open_and_the_others_are_closed(demo: Visit) -> None:
    is_open = demo.js("[...document.querySelectorAll('.replacement')].map((each) => [each.id, each.open])")
    worst = demo.js("document.querySelector('.worst tbody a').getAttribute('href').slice(1)")
    assert [name for name, opened in is_open if opened] == [worst]


def test_every_message_of_both_contexts_is_a_row(demo: Visit) -> None:
    counts = demo.js(
        "[...document.querySelectorAll('#r-131 .rows')].map((each) => each.tBodies[0].rows.length)"
    )
    assert counts == [43, 2]


def test_before_and_after_stand_side_by_side_or_on_a_phone_one_above_the_other(
    browser: Browser, demo_file: Path
) -> None:
    def lefts(page: Visit) -> list[float]:
        panes = "[...document.querySelectorAll('#r-131 .pane')]"
        return list(page.js(f"{panes}.map((each) => each.getBoundingClientRect().left)"))

    with visit(browser, demo_file) as page:
        before, after = lefts(page)
        assert before < after
    with visit(browser, demo_file, viewport=PHONE) as page:
        before, after = lefts(page)
        assert before == after


def test_a_link_from_the_table_leads_to_its_section_and_opens_it(demo: Visit) -> None:
    demo.page.click(".worst a[href='#r-69']")
    demo.page.wait_for_function("document.querySelector('#r-69').open")
    assert 0 <= demo.top_of("#r-69") < 100


def test_a_mark_of_the_chart_leads_to_its_section(demo: Visit) -> None:
    demo.page.click(".context-chart a[href='#r-28'] circle")
    demo.page.wait_for_function("document.querySelector('#r-28').open")
    assert demo.js("location.hash") == "#r-28"


def test_a_link_to_an_event_opens_it(browser: Browser, demo_file: Path) -> None:
    with visit(browser, demo_file, anchor="#e-120") as page:
        page.page.wait_for_function("document.querySelector('#e-120 details').open")
        assert 0 <= page.top_of("#e-120") < 120


def test_the_same_link_opens_an_event_once_more(demo: Visit) -> None:
    link = "#r-131 a.again-at >> nth=0"
    demo.page.click(link)
    demo.page.wait_for_function("location.hash")
    target = demo.js("location.hash")
    demo.page.wait_for_function("(id) => document.querySelector(`${id} details`).open", arg=target)
    demo.js("(id) => { document.querySelector(`${id} details`).open = false; }", target)
    demo.page.click(link)
    demo.page.wait_for_function("(id) => document.querySelector(`${id} details`).open", arg=target)


def test_a_chart_tells_the_value_under_the_pointer_and_leads_to_its_event(demo: Visit) -> None:
    chart = demo.page.locator(".context-chart")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    assert box is not None
    right = box["x"] + box["width"] * (RIGHT - 1) / WIDTH
    demo.page.mouse.move(right, box["y"] + box["height"] - 60)
    assert demo.js("document.querySelector('.context-chart .reading text').textContent.trim()").startswith(
        "#172"
    )
    demo.page.mouse.click(right, box["y"] + box["height"] - 60)
    assert demo.js("location.hash") == "#e-172"


def test_without_its_script_the_page_is_whole(browser: Browser, demo_file: Path) -> None:
    with visit(browser, demo_file, java_script_enabled=False, anchor="#e-120") as page:
        assert page.page.locator(".event").count() == 174
        assert page.page.locator(".filter").is_hidden()
        page.page.click("#r-69 > summary")
        assert page.page.locator("#r-69 .inside").is_visible()
