"""Open a replay's page in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cli.demo.player import play
from cli.views.page.replay_page import Origin, replay_page
from compaction.part import Limits
from compaction.policy.load import load_preset
from compaction.replay import Measures, replay_session
from compaction.replay.results import summaries
from compaction.replay.variants import RECORDED, Variant
from compaction.summarizers.chain import SummarizerChain
from compaction.summarizers.extractive import ExtractiveSummarizer
from eventstore.memory import MemoryLog
from tests.pages.browsing import PHONE, visit

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAMES = [RECORDED, "a policy with <b>a long name</b> that no plot has room for", "drop"]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the demo's recorded compactions, with three variants."""
    log = MemoryLog(clock=lambda: 0)
    session = play(log)
    chain = SummarizerChain(summarizers=[ExtractiveSummarizer()])
    policy = load_preset("refold").keeping(1_000)
    recorded, own, drop = NAMES
    variants = [
        Variant(name=recorded, policy=None, chain=chain),
        Variant(name=own, policy=policy, chain=chain),
        Variant(name=drop, policy=policy, chain=chain, drops=True),
    ]
    with log.snapshot() as snapshot:
        results = list(
            replay_session(
                snapshot, session, variants, Measures(at="recorded", limits=Limits(window=200_000))
            )
        )
    page = tmp_path_factory.mktemp("replay") / "page.html"
    shown = summaries(results, NAMES)
    origin = Origin(store="./a store", command="refold replay '<b>' " + "--with refold " * 40, made=0)
    page.write_bytes(replay_page(results, shown, origin=origin))
    return page


def test_it_loads_nothing_and_breaks_no_rule_of_its_own(browser: Browser, file: Path) -> None:
    with visit(browser, file) as page:
        assert (page.said, page.requests, page.js("window.violations")) == ([], [file.as_uri()], [])


def test_it_is_no_wider_than_a_phone(browser: Browser, file: Path) -> None:
    with visit(browser, file, viewport=PHONE) as page:
        assert page.js("document.documentElement.scrollWidth <= innerWidth")


def test_every_link_leads_to_a_boundary_with_a_summary_of_each_variant(browser: Browser, file: Path) -> None:
    with visit(browser, file) as page:
        assert page.js(
            """[...document.querySelectorAll("main ol a")].every((link) => {
            const section = document.querySelector(link.getAttribute("href")).closest("section");
            return section.querySelectorAll("article").length === 3;
            })"""
        )
        assert page.js("""document.querySelectorAll("main ol a").length""") == 3
