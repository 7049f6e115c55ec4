from __future__ import annotations

import pytest

from tests.pages.browsing import Visit


def focus(page: Visit, selector: str) -> None:
    page.js("(s) => document.querySelector(s).focus()", selector)


def test_the_first_tab_skips_to_the_report(demo: Visit) -> None:
    demo.press("Tab")
    assert demo.js("document.activeElement.className") == "skip"
    demo.press("Enter")
    assert demo.focused == "main"


def test_j_and_k_go_from_stop_to_stop(demo: Visit) -> None:
    focus(demo, "#r-28 > summary")
    demo.press("j", "j")
    assert demo.focused == "r-103"
    demo.press("k")
    assert demo.focused == "r-69"


def test_j_goes_on_from_the_replacements_to_the_events(demo: Visit) -> None:
    focus(demo, "#r-166 > summary")
    demo.press("j")
    assert demo.focused == "e-1"


def test_j_begins_with_what_is_in_the_window(demo: Visit) -> None:
    demo.js("document.querySelector('#e-50').scrollIntoView()")
    demo.press("j")
    assert abs(int(demo.focused.removeprefix("e-")) - 50) <= 1


def test_arrows_go_from_stop_to_stop_where_one_has_the_focus(demo: Visit) -> None:
    focus(demo, "#e-10 summary")
    demo.press("ArrowDown", "ArrowDown", "ArrowUp")
    assert demo.focused == "e-11"


def test_arrows_scroll_where_none_has(demo: Visit) -> None:
    demo.press("ArrowDown")
    assert demo.js("document.activeElement === document.body")


def test_enter_opens_and_closes(demo: Visit) -> None:
    focus(demo, "#e-10 summary")
    demo.press("Enter")
    demo.page.wait_for_function("document.querySelector('#e-10 details').open")
    demo.press("Enter")
    assert not demo.js("document.querySelector('#e-10 details').open")


def test_n_goes_to_the_first_thing_done_again(demo: Visit) -> None:
    demo.press("n")
    assert demo.js("document.activeElement.matches('.redone')")
    assert demo.focused == "r-28"
    demo.page.wait_for_function("document.querySelector('#r-28').open")


def test_n_and_p_go_through_all_and_round(demo: Visit) -> None:
    count = demo.page.locator(".redone").count()
    demo.press(*["n"] * count)
    last = demo.js("[...document.querySelectorAll('.redone')].indexOf(document.activeElement)")
    assert last == count - 1
    demo.press("n")
    assert demo.js("document.querySelectorAll('.redone')[0] === document.activeElement")
    demo.press("p")
    assert demo.js("[...document.querySelectorAll('.redone')].indexOf(document.activeElement)") == count - 1


def test_enter_goes_to_the_repeated_call(demo: Visit) -> None:
    demo.press("n")
    again = demo.js("document.activeElement.querySelector('.again-at').getAttribute('href')")
    demo.press("Enter")
    demo.page.wait_for_function("(id) => document.activeElement.closest(id) !== null", arg=again)


def test_a_slash_leads_to_the_filter_and_escape_takes_it_away(demo: Visit) -> None:
    demo.press("/")
    assert demo.focused == "filter"
    demo.page.keyboard.type("redis")
    demo.page.wait_for_function("document.querySelectorAll('.event[hidden]').length > 0")
    demo.press("Escape")
    assert demo.js("document.querySelectorAll('.event[hidden]').length") == 0
    assert demo.js("document.activeElement === document.body")


def test_keys_are_letters_where_one_types(demo: Visit) -> None:
    demo.press("/")
    demo.page.keyboard.type("jnp?")
    assert demo.js("document.querySelector('#filter').value") == "jnp?"
    assert not demo.js("document.querySelector('#help').open")


@pytest.mark.parametrize("closing", ["Escape", "?"])
def test_a_question_mark_opens_the_help(demo: Visit, closing: str) -> None:
    demo.press("?")
    assert demo.js("document.querySelector('#help').open")
    demo.press(closing)
    assert not demo.js("document.querySelector('#help').open")


def test_the_help_opens_and_closes_by_its_buttons(demo: Visit) -> None:
    demo.page.click("#keys")
    assert demo.js("document.querySelector('#help').open")
    demo.page.click("dialog .close")
    assert not demo.js("document.querySelector('#help').open")


def test_combinations_are_left_to_the_browser(demo: Visit) -> None:
    demo.press("Control+j")
    assert demo.js("document.activeElement === document.body")


def test_what_has_the_focus_can_be_seen(demo: Visit) -> None:
    for selector in ("#r-28 > summary", "#e-1 summary", ".worst a", ".context-chart a", "#r-131 .pane"):
        focus(demo, selector)
        demo.press("Shift")
        is_seen = demo.js(
            """(s) => {
                const element = document.querySelector(s);
                const own = getComputedStyle(element), inner = element.querySelector("circle, path, .hit");
                return (own.outlineStyle !== "none" && parseFloat(own.outlineWidth) >= 2) ||
                    (inner !== null && getComputedStyle(inner).strokeWidth === "3px");
            }""",
            selector,
        )
        assert is_seen, selector
