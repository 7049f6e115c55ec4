"""Compare templates by what later work used of what their summaries replaced.

Run `python -m bench.templates FOLDER TEMPLATE…` with the folder of real sessions and names or files of
templates. Each session is cut by the policy `refold` at evenly spaced places, and summarized without a model
by each template. It prints a table for the docs: the mean size of the summaries, the mean share of later used
things that the context names, the difference from the first template, paired by place, and how often it is
more or less; then the places at which a template loses most against the first.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from bench.boundaries import PLACES, Boundary, used_later
from bench.extractive import percent, say
from compaction.part import Limits
from compaction.plan import Plan, plan_compaction
from compaction.policy.load import load_preset
from compaction.summarizers.chain import SummarizerChain
from compaction.summarizers.extractive import ExtractiveSummarizer
from compaction.summary import SummaryOptions, summarize_plan
from compaction.templates import Template, find_template, parse_template
from eventstore import import_file, open_store
from eventstore.event import Event
from eventstore.log import Snapshot
from projections.context.cursor import path, resolve_cursor
from projections.tokens import counter

FILES: Final = (
    "pi/pi-mono-before-compaction.v3.jsonl",
    "pi/pi-mono-large-session.v1.jsonl",
    "claude-code/6113e919-3auto.jsonl",
    "claude-code/aefcb05b.jsonl",
    "claude-code/0708a5fa-snap3.jsonl",
)
_POLICY: Final = load_preset("refold")
_TOKENS: Final = counter(_POLICY.counter)
_HEAD: Final = ("template", "tokens", "kept", "points more", "places better : equal : worse")
_WORST: Final = 3
"""The number of worst places to print for each template."""


def main() -> None:
    if len(sys.argv) < 3:
        sys.exit("name the folder and templates: python -m bench.templates FOLDER compaction mine.md")
    templates = [_template(name) for name in sys.argv[2:]]
    measured: list[_Measured] = []
    for file in FILES:
        with tempfile.TemporaryDirectory() as folder, open_store(Path(folder) / "store") as log:
            session = import_file(log, Path(sys.argv[1]) / file).id
            with log.snapshot() as snapshot:
                found = (_measured(snapshot, each, templates) for each in _plans(snapshot, session))
                measured += filter(None, found)
    say(_HEAD)
    say(["---"] * len(_HEAD))
    for number, template in enumerate(templates):
        shares = [each.shares[number] for each in measured]
        gained = [each.gained(number) for each in measured]
        more, less = sum(each > 0 for each in gained), sum(each < 0 for each in gained)
        against = [
            f"{100 * sum(gained) / len(gained):+.1f}",
            f"{more} : {len(gained) - more - less} : {less}",
        ]
        size = sum(each.sizes[number] for each in measured) // len(measured)
        say(
            [
                template.name,
                f"{size:,}",
                percent(sum(shares) / len(shares)),
                *(against if number else ("", "")),
            ]
        )
    sys.stdout.write(f"\n{len(measured)} places in {len(FILES)} sessions\n")
    for number, template in enumerate(templates[1:], 1):
        for each in sorted(measured, key=lambda each: each.gained(number))[:_WORST]:
            if (lost := each.gained(number)) < 0:
                sys.stdout.write(f"{template.name} {100 * lost:+.0f} at {each.leaf} of {each.session}\n")


def _template(name: str) -> Template:
    file = Path(name)
    return parse_template(file.read_text("utf-8"), source=name) if file.is_file() else find_template(name, ())


class _Place(msgspec.Struct, frozen=True):
    """A plan at a leaf, and what came after it."""

    session: str
    plan: Plan
    rest: Sequence[Event]


def _plans(snapshot: Snapshot, session: str) -> Iterator[_Place]:
    """Yield the plans of the policy at evenly spaced places."""
    cursor = resolve_cursor(snapshot, session)
    entries = path(snapshot, cursor)
    places = 4 * PLACES
    for share in range(1, places):
        place = len(entries) * share // places - 1
        # A request follows a person's message or a result.
        while place > 0 and entries[place].role in ("", "assistant"):
            place -= 1
        here = cursor.at_leaf(entries[place].seq)
        limits = Limits(window=200_000)
        plan = plan_compaction(snapshot, here, _POLICY, limits=limits, tokens=_TOKENS)
        if not isinstance(plan, str):
            yield _Place(session, plan, entries[place:])


class _Measured(msgspec.Struct, frozen=True):
    """A place, with the size of each template's summary, and the share of later used things it keeps."""

    session: str
    leaf: str
    sizes: list[int]
    shares: list[float]

    def gained(self, number: int) -> float:
        """Return how much more a template keeps than the first one."""
        return self.shares[number] - self.shares[0]


def _measured(snapshot: Snapshot, found: _Place, templates: Sequence[Template]) -> _Measured | None:
    """Return the measures of a place, None if nothing that is summarized there is used later."""
    chain = SummarizerChain(summarizers=[ExtractiveSummarizer()])
    by_name = {each.name: each for each in templates}
    texts = [
        summarize_plan(
            found.plan,
            _POLICY.prompting,
            chain,
            tokens=_TOKENS,
            sources=[by_name.get],
            options=SummaryOptions(template=each.name),
        ).text
        for each in templates
    ]
    boundary = Boundary(
        session=found.session,
        name="",
        leaf=found.rest[0].id,
        first_kept=found.plan.cut.first_kept,
        parts=found.plan.to_summarize + found.plan.turn_prefix,
        later=found.rest[1:],
        summary=texts[0],
    )
    shares = [share for share in used_later(snapshot, boundary, *texts) if share is not None]
    if len(shares) < len(texts):
        return None
    return _Measured(found.session, boundary.leaf, list(map(_TOKENS.of_text, texts)), shares)


if __name__ == "__main__":
    main()
