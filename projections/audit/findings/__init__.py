"""Find the trouble after a replacement that comes from what it removed.

A finding starts from trouble: a person objects, says something again or comes back to it, the model searches in vain,
makes up paths, names or commands, or repeats a call that failed before. Only then look for what was known before and
is not in the context. Names that are missing without trouble are not findings.

To add a kind: its function in a module here, its name in `FindingKind`, a line in `_FINDERS`, tests, docs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from projections.audit.findings.finding import Finding, listed, rank_of_finding
from projections.audit.findings.inventions import inventions
from projections.audit.findings.objections import objections
from projections.audit.findings.reminders import (
    dropped_items,
    reminded,
    repeated_facts,
    unanswered,
)
from projections.audit.findings.repetitions import ended_habits, failed_again, gone_rules, repeated_messages
from projections.audit.findings.scene import Scene
from projections.audit.findings.searches import missing_paths, searches
from projections.audit.instruction_fates import Rule
from projections.audit.measure import EventRef
from projections.mentions.message_facts import SessionFacts
from projections.mentions.path_names import split_path
from projections.replacement import Replacement

_FINDERS: Final[Sequence[Callable[[Scene], Iterator[Finding]]]] = (
    objections,
    repeated_messages,
    repeated_facts,
    unanswered,
    dropped_items,
    reminded,
    searches,
    missing_paths,
    inventions,
    failed_again,
    ended_habits,
)
"""Functions that look for trouble; a later one omits what an earlier one explains."""


def findings(
    replacement: Replacement,
    facts: SessionFacts,
    *,
    rules: Sequence[Rule] = (),
    dropped: Sequence[EventRef] = (),
) -> list[Finding]:
    """Return the findings from a replacement to the next compaction, the worst first.

    `rules` are the user's standing rules with their states, `dropped` the messages that left the context although
    no summary covers them.
    """
    scene = Scene(replacement, facts)
    spoken = {turn.person.seq for turn in scene.turns if turn.person}
    found = [*_uncovered(dropped, scene), *gone_rules(scene, rules)]
    explained = {each.seq for finding in found for each in finding.trouble}
    for finding in (each for find in _FINDERS for each in find(scene)) if replacement.removed else ():
        trouble = {each.seq for each in finding.trouble}
        # One message of the person's is one trouble, whatever led to it.
        if not (trouble & spoken or trouble) <= explained:
            found.append(finding)
            explained |= trouble
    return sorted(found, key=rank_of_finding)


_LISTED: Final = 3
"""Files in a sentence."""


def _uncovered(dropped: Sequence[EventRef], scene: Scene) -> Iterator[Finding]:
    if not dropped:
        return
    first, last, seqs = dropped[0].seq, dropped[-1].seq, {each.seq for each in dropped}
    changed = [path for each in scene.earlier if each.seq in seqs for path in each.modified]
    files = list(dict.fromkeys(map(scene.paths.longest_form, changed)))
    yours = sum(turn.person is not None and turn.person.seq in seqs for turn in scene.turns_before)
    names = [split_path(path)[-1] for path in files[:_LISTED]]
    rest = len(files) - _LISTED
    others = [f"{rest} more file{'s' if rest > 1 else ''}"] if rest > 0 else []
    held = listed(
        [
            *([f"{yours} of yours"] if yours else []),
            *([f"changes of {listed([*names, *others])}"] if names else []),
        ]
    )
    what = f"{len(dropped):,} messages (#{first}–#{last})" if last > first else f"a message (#{first})"  # noqa: RUF001  a dash
    yield Finding(
        kind="uncovered",
        weight="serious",
        sentence=f"{what}{f', with {held},' if held and last > first else ''} {'are' if last > first else 'is'} neither"
        " in the context nor covered by any summary.",
        known=list(dropped),
        trouble=[],
        names=files,
    )
