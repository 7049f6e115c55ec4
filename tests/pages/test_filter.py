from __future__ import annotations

import pytest

from tests.pages.browsing import Visit


def shown(page: Visit, text: str = "", *, fate: str = "", name: str = "") -> int:
    """Return the number of events that the filter leaves."""
    page.js(
        """([text, fate, name]) => {
            const set = (id, value) => { document.querySelector(id).value = value; };
            set("#filter", text); set("#fate", fate); set("#name", name);
            document.querySelector("#filter").dispatchEvent(new Event("input", { bubbles: true }));
            return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        }""",
        [text, fate, name],
    )
    return int(page.js("document.querySelectorAll('.event:not([hidden])').length"))


def test_without_a_filter_all_events_are_there(demo: Visit) -> None:
    assert shown(demo) == 174
    assert demo.js("document.querySelector('#matches').value") == ""


def test_all_words_have_to_be_there_in_whatever_case(demo: Visit) -> None:
    one, both = shown(demo, "REDIS"), shown(demo, "redis lua")
    assert 0 < both < one < 174


def test_words_are_found_in_texts_that_are_closed(demo: Visit) -> None:
    assert shown(demo, "RequestResponseEndpoint") > 0


@pytest.mark.parametrize(("text", "name"), [("role:user", "user"), ("kind:compaction", "compaction")])
def test_a_role_or_a_kind_can_be_named(demo: Visit, text: str, name: str) -> None:
    by_text, by_choice = shown(demo, text), shown(demo, name=name)
    assert by_text == by_choice == demo.page.locator(f".event[data-name={name}]").count() > 0


def test_a_fate_can_be_named(demo: Visit) -> None:
    by_text, by_choice = shown(demo, "fate:aside"), shown(demo, fate="aside")
    assert by_text == by_choice == demo.page.locator(".event[data-fate=aside]").count() > 0


def test_how_many_are_left_is_told(demo: Visit) -> None:
    count = shown(demo, name="user")
    assert demo.js("document.querySelector('#matches').value") == f"{count} of 174"


def test_a_group_without_events_goes_too(demo: Visit) -> None:
    shown(demo, "xyzzy")
    assert demo.js("document.querySelectorAll('.group:not([hidden])').length") == 0


def test_choices_tell_how_many_events_they_stand_for(demo: Visit) -> None:
    choices = demo.js("[...document.querySelectorAll('#name option')].map((each) => each.textContent)")
    assert "compaction (3)" in choices


def test_a_link_to_an_event_that_is_filtered_out_takes_the_filter_away(demo: Visit) -> None:
    shown(demo, fate="kept")
    demo.js("location.hash = '#e-5'")
    demo.page.wait_for_function("document.querySelector('#e-5 details').open")
    assert demo.js("document.querySelectorAll('.event[hidden]').length") == 0


def test_j_passes_over_events_that_are_filtered_out(demo: Visit) -> None:
    shown(demo, name="user")
    demo.js("document.querySelector('#e-4 summary').focus()")
    demo.press("j")
    assert demo.focused == "e-18"
