from __future__ import annotations

from tests.pages.browsing import Visit

A4 = {"width": 718, "height": 1000}
"""A sheet between its margins, in pixels."""


def test_it_becomes_a_pdf_of_some_sheets(demo: Visit) -> None:
    pdf = demo.page.pdf(format="A4")
    assert pdf.startswith(b"%PDF-")
    assert pdf.count(b"/Type /Page\n") > 10


def test_replacements_are_printed_whole_also_those_that_are_closed(demo: Visit) -> None:
    demo.page.emulate_media(media="print")
    heights = demo.js(
        """() => [...document.querySelectorAll(".replacement:not([open]) > .inside")]
            .map((each) => each.getBoundingClientRect().height)"""
    )
    assert len(heights) == 4
    assert min(heights) > 500


def test_what_was_cut_to_a_window_is_printed_whole(demo: Visit) -> None:
    demo.page.emulate_media(media="print")
    assert demo.js(
        """() => [...document.querySelectorAll(".pane, .tree")]
            .every((each) => each.scrollHeight <= each.clientHeight + 2)"""
    )


def test_a_sheet_is_wide_enough(demo: Visit) -> None:
    demo.page.set_viewport_size(A4)  # type: ignore[arg-type]
    demo.page.emulate_media(media="print")
    assert demo.js("document.documentElement.scrollWidth") == A4["width"]


def test_what_only_works_on_a_screen_is_not_printed(demo: Visit) -> None:
    demo.page.emulate_media(media="print")
    for selector in (".filter", ".contents", ".skip"):
        assert demo.page.locator(selector).is_hidden(), selector
