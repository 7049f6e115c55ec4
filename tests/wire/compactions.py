"""Compare compactions that programs made with the presets that follow their releases.

    python -m tests.wire.compactions

compares the fixtures and writes the table in docs/checks.md. Three questions are asked: does the preset's trigger fire
before the same requests, does it cut at the same message, and does it keep the same messages?
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import takewhile
from operator import attrgetter
from pathlib import Path
from typing import Final, NamedTuple

from compaction.maintainer import Settings
from compaction.part import Limits
from compaction.plan import plan_compaction
from compaction.policy.load import load_preset
from compaction.policy.model import Policy
from eventstore.event import Event
from eventstore.harnesses import node_of
from eventstore.log import Snapshot
from eventstore.paths import event, events
from projections.context.build import context_at
from projections.context.cursor import Cursor, resolve_cursor
from projections.context.parts import Fate, Part, has_message, view_of_part
from projections.tokens import counter
from projections.usage import context_size
from tests.wire.contexts import answers_in, sessions_in
from tests.wire.masking import stretched
from tests.wire.recording import fixture, unpacked
from tests.wire.table import PAGE


class Setup(NamedTuple):
    """The settings of a scenario. `is_automatic`: the program compacts by itself."""

    limits: Limits = Limits(window=200_000)
    settings: Settings = Settings()
    is_automatic: bool = False


PRESETS: Final[Mapping[tuple[str, str], str]] = {
    ("codex", "0.169.0"): "codex-0.169",
    ("codex", "0.171.0"): "codex-0.169",
    ("claude-code", "2.1.332"): "claude-code-2.1",
    ("pi", "0.73.1"): "pi",
    ("pi", "0.87.1"): "pi-0.87",
    ("pi", "1.6.0"): "pi-0.87",
    ("opencode", "1.18.33"): "opencode-1.18",
    ("oh-my-pi", "18.2.3"): "oh-my-pi-18",
}
_OF_OH_MY_PI: Final = Settings(threshold_tokens=22_000, keep_recent_tokens=2_000)
_CHOSEN: Final = ("replaced-compaction", "summary-from-here", "summary-up-to-here")
"""Scenarios of Claude Code in which a plugin or a person chooses what is kept."""
_OF_CODEX: Final = Setup(settings=Settings(threshold_tokens=15_000), is_automatic=True)
_SETUPS: Final[Mapping[tuple[str, str], Setup]] = {
    ("pi", "automatic-compaction"): Setup(
        Limits(window=9_000), Settings(reserve_tokens=4_000, keep_recent_tokens=1_500), is_automatic=True
    ),
    **{
        ("pi", name): Setup(settings=Settings(reserve_tokens=4_000, keep_recent_tokens=300))
        for name in ("manual-compaction", "errors")
    },
    **{
        ("oh-my-pi", f"compaction-{method}"): Setup(Limits(window=100_000), _OF_OH_MY_PI, is_automatic=True)
        for method in ("soft", "snapcompact", "handoff", "remote")
    },
    ("oh-my-pi", "manual-compaction"): Setup(settings=Settings(keep_recent_tokens=300)),
    ("codex", "automatic-compaction"): _OF_CODEX,
    ("codex", "remote-compaction"): _OF_CODEX,
    ("claude-code", "automatic-compaction"): Setup(Limits(window=100_000), is_automatic=True),
    ("opencode", "automatic-compaction"): Setup(Limits(window=30_000, output=4_000), is_automatic=True),
    ("opencode", "manual-compaction"): Setup(Limits(window=200_000, output=4_000)),
}
HEAD: Final = (
    "| program | release | preset | same decisions | same cuts | same kept messages |\n"
    "| --- | --- | --- | --- | --- | --- |\n"
)
_KEPT: Final = (Fate.KEPT, Fate.REWRITTEN)
_SAID: Final = ("user", "assistant", "toolResult")


class Compared(NamedTuple):
    """Counts of compared requests and compactions, and of decisions, cuts and tails that agree."""

    requests: int = 0
    same_decisions: int = 0
    compactions: int = 0
    same_cuts: int = 0
    same_tails: int = 0

    def row(self, harness: str, version: str) -> str:
        """Return the row of the page for a release."""
        decisions = f"{self.same_decisions} of {self.requests}"
        cuts, tails = (f"{same} of {self.compactions}" for same in (self.same_cuts, self.same_tails))
        return f"| {harness} | {version} | `{PRESETS[harness, version]}` | {decisions} | {cuts} | {tails} |"


class Decision(NamedTuple):
    """A leaf before a request, its size, and if the preset and the program compact there."""

    leaf: Event
    size: int
    fires: bool
    compacted: bool


class Tails(NamedTuple):
    """A compaction, and the messages that the preset and the program keep word for word."""

    made: Event
    ours: list[str]
    theirs: list[str]


def compare_compactions(run: Path, harness: str, version: str) -> Compared:
    """Compare the compactions of all scenarios of a run."""
    counts = Compared()
    folders = {path.parent for path in run.glob("*/requests.jsonl")}
    for folder in sorted(each for each in folders if each.name not in _CHOSEN):
        decisions, tails = compare_scenario(folder, harness, version)
        found = Compared(
            requests=len(decisions),
            same_decisions=sum(each.fires == each.compacted for each in decisions),
            compactions=len(tails),
            same_cuts=sum(each.ours[:1] == each.theirs[:1] for each in tails),
            same_tails=sum(each.ours == each.theirs for each in tails),
        )
        counts = Compared(*map(sum, zip(counts, found, strict=True)))
    return counts


def compare_scenario(folder: Path, harness: str, version: str) -> tuple[list[Decision], list[Tails]]:
    """Return the decisions of a scenario that compacts by itself, and the tails of its compactions."""
    for path in (folder / "sessions").rglob("*.jsonl"):
        # Sizes decide, so what a fixture has masked gets its length again.
        path.write_text(stretched(path.read_text("utf-8")), "utf-8")
    setup = _SETUPS.get((harness, folder.name), Setup())
    policy = setup.settings.applied_to(load_preset(PRESETS[harness, version]))
    with sessions_in(folder / "sessions").snapshot() as snapshot:
        made = [
            entry.decode()
            for head in snapshot.heads()
            for entry in events(snapshot, head.name)
            if entry.kind == "compaction"
        ]
        answers = answers_in(snapshot, folder / "sessions").values() if setup.is_automatic else ()
        decisions = [*_decisions(snapshot, made, list(answers), policy, setup.limits)]
        return decisions, [_tails(snapshot, each, policy, setup.limits) for each in made]


def _decisions(
    snapshot: Snapshot, made: list[Event], answers: list[Event], policy: Policy, limits: Limits
) -> Iterator[Decision]:
    """Yield the decisions before each request, and at compactions that no request follows."""
    if not answers:
        return
    compacted = {_before(snapshot, each) for each in made}
    asked = compacted | {_before(snapshot, each) for each in answers}
    for cursor in sorted(asked, key=attrgetter("session", "leaf", "as_of")):
        leaf = event(snapshot, cursor.session, cursor.leaf).decode() if cursor.leaf else None
        if leaf is not None and leaf.kind != "compaction":
            size = context_size(snapshot, cursor, counter(policy.counter)).tokens
            yield Decision(leaf, size, policy.trigger.fires(size, limits), cursor in compacted)


def _tails(snapshot: Snapshot, made: Event, policy: Policy, limits: Limits) -> Tails:
    after = context_at(snapshot, resolve_cursor(snapshot, made.session, as_of=made.seq).at_leaf(made.seq))
    if is_replaced := made.format.startswith("codex/"):
        # Its record has copies of what it keeps.
        theirs = [part for part in after.parts if part.role == "user"]
    else:
        theirs = [part for part in after.parts if part.fate in _KEPT and part.role in _SAID]
    plan = plan_compaction(
        snapshot, _before(snapshot, made), policy, limits=limits, tokens=counter(policy.counter)
    )
    if isinstance(plan, str):
        return Tails(made, [plan], [])
    kept = {*plan.cut.quoted, *plan.cut.kept}
    ours = [
        part
        for part in (*plan.to_summarize, *plan.turn_prefix, *plan.kept)
        if part.id in kept and part.role in _SAID
    ]

    def name(part: Part) -> str:
        return view_of_part(part).text if is_replaced else part.id

    return Tails(made, [*map(name, ours)], [*map(name, theirs)])


def _before(snapshot: Snapshot, entry: Event) -> Cursor:
    """Return the leaf above an answer or a compaction: a message, or a compaction.

    The harness's own records of how it compacts are passed over: Codex records the answer of the model.
    """
    child = entry
    while child.parent_seq:
        leaf = event(snapshot, entry.session, child.parent_seq).decode()
        if leaf.kind == "compaction" or (has_message(leaf) and not _is_summary(leaf, entry)):
            break
        child = leaf
    here = resolve_cursor(snapshot, entry.session, as_of=child.seq - 1)
    return here.at_leaf(child.parent_seq)


def _is_summary(leaf: Event, made: Event) -> bool:
    """Return True if a message is the answer that a compaction took as its summary."""
    said, compaction = node_of(leaf).message, node_of(made).compaction
    return bool(said and compaction and said.text and compaction.summary.endswith(said.text))


def main() -> None:
    rows = []
    for release in PRESETS:
        with unpacked(fixture(*release)) as run:
            rows.append(compare_compactions(run, *release).row(*release) + "\n")
    before, head, after = PAGE.read_text("utf-8").partition(HEAD)
    old = len("".join(takewhile(lambda line: line.startswith("|"), after.splitlines(keepends=True))))
    PAGE.write_text(before + head + "".join(rows) + after[old:], "utf-8")


if __name__ == "__main__":
    main()
