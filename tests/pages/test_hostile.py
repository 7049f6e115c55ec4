from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.pages.browsing import PHONE, Visit, visit
from tests.pages.hostile import PAYLOADS

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def attacked(browser: Browser, hostile_file: Path) -> Iterator[Visit]:
    """The hostile session's page, with everything on it opened, filtered, walked through and pointed at."""
    with visit(browser, hostile_file) as page:
        page.open_all()
        for payload in PAYLOADS:
            page.page.fill("#filter", payload.encode("utf-8", "replace").decode().replace("\x00", ""))
        page.page.fill("#filter", "")
        for choice in range(page.page.locator("#name option").count()):
            page.page.select_option("#name", index=choice)
        page.page.select_option("#name", index=0)
        page.page.wait_for_function("document.querySelectorAll('.event[hidden]').length === 0")
        page.press("j", "j", "n", "p", "?", "Escape")
        page.page.hover(".context-chart", position={"x": 300, "y": 150})
        page.js("[...document.querySelectorAll('summary, a')].slice(0, 300).forEach((each) => each.focus())")
        page.page.wait_for_timeout(300)
        yield page


def test_nothing_of_it_ran(attacked: Visit) -> None:
    assert attacked.js("window.pwned") is None


def test_nothing_was_said_or_asked(attacked: Visit) -> None:
    assert attacked.said == []


def test_nothing_was_requested_but_the_page(attacked: Visit, hostile_file: Path) -> None:
    assert attacked.requests == [hostile_file.as_uri()]


def test_nothing_broke_the_policy(attacked: Visit) -> None:
    assert attacked.js("violations") == []


def test_nothing_that_loads_or_runs_is_in_the_document(attacked: Visit) -> None:
    found = "script, style, link, img, iframe, base, form, object, embed, image, animate"
    assert attacked.js("(s) => [...document.querySelectorAll(s)].map((each) => each.tagName)", found) == [
        "STYLE",
        "SCRIPT",
    ]


def test_links_lead_to_places_of_the_page_alone(attacked: Visit) -> None:
    strange = attacked.js(
        """() => [...document.querySelectorAll("a")].map((each) => each.getAttribute("href"))
            .filter((href) => !/^#[a-z]+(-[0-9]+)?$/.test(href) || !document.getElementById(href.slice(1)))"""
    )
    assert strange == []


def test_no_element_listens_by_an_attribute(attacked: Visit) -> None:
    assert (
        attacked.js(
            """() => [...document.querySelectorAll("*")].flatMap((each) => each.getAttributeNames())
            .filter((name) => name.startsWith("on") || name === "style")"""
        )
        == []
    )


def test_payloads_stand_there_as_text(attacked: Visit) -> None:
    text = attacked.js("document.querySelector('#e-3 pre').textContent")
    for payload in (
        "</script><script>window.pwned=1</script>",
        "{{ 7 * 7 }} {% include 'style.css' %}",
        "${7*7}",
    ):
        assert payload in text


def test_what_turns_direction_is_spelled_out(attacked: Visit) -> None:
    assert r"left \u202eright\u202c \u2066isolated\u2069" in attacked.js("document.body.textContent")
    assert (
        attacked.js(r"/[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]/.test(document.body.textContent)")
        is False
    )


def test_scripts_written_from_right_to_left_turn_nothing_but_themselves(attacked: Visit) -> None:
    isolated = attacked.js(
        """() => [...document.querySelectorAll("main *")]
            .filter((each) => [...each.childNodes].some((n) => n.nodeType === 3 && /[\\u0590-\\u06ff]/.test(n.data)))
            .filter((each) => !each.closest("bdi, [dir=auto], h1, option, title"))
            .map((each) => each.outerHTML.slice(0, 100))"""
    )
    assert isolated == []


@pytest.mark.parametrize("viewport", [None, PHONE])
def test_the_page_is_no_wider_than_the_window(
    browser: Browser, hostile_file: Path, viewport: dict[str, int] | None
) -> None:
    with visit(browser, hostile_file, **({"viewport": viewport} if viewport else {})) as page:
        page.open_all()
        assert page.js("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize(
    "anchor", ["#<img src=x onerror=window.pwned=1>", "#e-1'%22><script>", "#%00", "#constructor"]
)
def test_a_hostile_address_does_nothing(browser: Browser, demo_file: Path, anchor: str) -> None:
    with visit(browser, demo_file, anchor=anchor) as page:
        assert (page.said, page.js("window.pwned")) == ([], None)
