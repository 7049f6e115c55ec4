from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.pages.browsing import PHONE, Visit, visit

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CONTRASTS = """() => {
    const pixel = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const rgba = (colour) => {
        pixel.clearRect(0, 0, 1, 1);
        pixel.fillStyle = colour;
        pixel.fillRect(0, 0, 1, 1);
        return [...pixel.getImageData(0, 0, 1, 1).data];
    };
    const over = ([r, g, b, a], below) => [r, g, b].map((part, at) => (part * a + below[at] * (255 - a)) / 255);
    const background = (element) => {
        const layers = [];
        for (let each = element; each; each = each.parentElement) {
            layers.push(rgba(getComputedStyle(each).backgroundColor));
        }
        return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
    };
    const luminance = (rgb) => {
        const [r, g, b] = rgb.map((part) => part / 255).map((part) =>
            part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const poor = new Map();
    for (const element of document.querySelectorAll("body *")) {
        const says = [...element.childNodes].some((each) => each.nodeType === 3 && each.textContent.trim());
        if (!says || element.matches("script, option, title, .vh, .vh *") || !element.checkVisibility()) continue;
        const style = getComputedStyle(element);
        const below = background(element);
        const colour = element instanceof SVGElement ? style.fill : style.color;
        const pair = [luminance(over(rgba(colour), below)), luminance(below)].sort((one, other) => other - one);
        const ratio = (pair[0] + 0.05) / (pair[1] + 0.05);
        const opacity = Number(style.opacity);
        if (ratio < 4.5 || opacity < 1) {
            poor.set(`${element.tagName} ${element.getAttribute("class")}`, `${ratio.toFixed(2)} ${opacity}`);
        }
    }
    return Object.fromEntries(poor);
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_stands_out_from_what_is_behind_it(browser: Browser, demo_file: Path, scheme: str) -> None:
    with visit(browser, demo_file, color_scheme=scheme) as page:
        page.js(
            "document.querySelectorAll('.replacement, .replacement details').forEach((e) => { e.open = true; })"
        )
        page.js(
            "document.querySelectorAll('.event:nth-child(20n) details').forEach((e) => { e.open = true; })"
        )
        assert page.js(CONTRASTS) == {}


def test_the_page_has_one_of_each_landmark(demo: Visit) -> None:
    for selector in ("main", "body header", "nav", "footer", "h1"):
        assert demo.page.locator(selector).count() == 1, selector


def test_every_control_and_picture_has_a_name(demo: Visit) -> None:
    nameless = demo.js(
        """() => [...document.querySelectorAll("a, button, input, select, summary, svg, [role=img], [role=group]")]
            .filter((each) => !each.closest("[aria-hidden=true]"))
            .filter((each) => !(each.getAttribute("aria-label") || each.getAttribute("aria-labelledby") ||
                each.textContent.trim() || each.labels?.[0]?.textContent.trim()))
            .map((each) => each.outerHTML.slice(0, 100))"""
    )
    assert nameless == []


def test_names_by_reference_are_there(demo: Visit) -> None:
    missing = demo.js(
        """() => [...document.querySelectorAll("[aria-labelledby], [for]")]
            .flatMap((each) => (each.getAttribute("aria-labelledby") ?? each.getAttribute("for")).split(" "))
            .filter((id) => !document.getElementById(id))"""
    )
    assert missing == []


def test_every_table_has_headings_with_a_scope(demo: Visit) -> None:
    poor = demo.js(
        """() => [...document.querySelectorAll("table")]
            .filter((table) => !table.querySelector("thead th[scope=col]") || table.querySelector("th:not([scope])"))
            .map((table) => table.className)"""
    )
    assert poor == []


def test_what_scrolls_can_be_reached_by_the_keyboard(browser: Browser, demo_file: Path) -> None:
    with visit(browser, demo_file, viewport=PHONE) as page:
        page.open_all()
        unreachable = page.js(
            """() => [...document.querySelectorAll("main *")]
                .filter((each) => ["auto", "scroll"].includes(getComputedStyle(each).overflowX))
                .filter((each) => each.scrollWidth > each.clientWidth + 1 && each.tabIndex < 0)
                .filter((each) => !each.querySelector("a, button"))
                .map((each) => each.outerHTML.slice(0, 80))"""
        )
        assert unreachable == []


def test_a_fate_is_told_by_a_sign_and_in_words(demo: Visit) -> None:
    signs = demo.js(
        """() => Object.fromEntries([...document.querySelectorAll(".fate")]
            .map((each) => [each.getAttribute("aria-label"), each.textContent]))"""
    )
    assert len(set(signs.values())) == len(signs) >= 7


def test_nothing_moves(demo: Visit) -> None:
    moving = demo.js(
        """() => [...document.querySelectorAll("*")].filter((each) => {
            const style = getComputedStyle(each);
            return style.animationName !== "none" || style.transitionDuration !== "0s" ||
                style.scrollBehavior === "smooth";
        }).length"""
    )
    assert moving == 0
