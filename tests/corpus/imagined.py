"""Count findings behind compactions that never were, in stretches of real sessions without any.

`python -m tests.corpus.imagined [SESSION…]` prints each finding, and their number by kind. The model had everything in
its context there, so each of them is a false alarm. An imagined compaction keeps the newest messages and has no
summary.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable
from itertools import takewhile
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from eventstore.files.importing import import_file
from eventstore.memory import MemoryLog
from projections.audit.findings import findings
from projections.audit.findings.finding import Finding
from projections.context.build import context_at
from projections.context.cursor import path, resolve_cursor
from projections.mentions.message_facts import SessionFacts
from projections.replacement import Replacement
from tests.corpus.labelled import CORPUS, Source
from tests.labels.corpus import corpus_folder
from tests.support.foreign import Foreign, append_codex


def _import(log: MemoryLog, file: Path) -> Foreign:
    return Foreign(import_file(log, file).id, {})


STRETCHES: Final = {
    "pi-large": Source("pi/pi-mono-large-session.v1.jsonl", _import),
    "aefcb05b": Source("claude-code/aefcb05b.jsonl", _import),
    "0708a5fa": Source("claude-code/0708a5fa-snap3.jsonl", _import),
    "019d86e6": Source("codex/rollout-019d86e6-0.120.jsonl", append_codex),
    **CORPUS,
}
"""Sessions without compactions, and those with some, of which the stretch before the first is used."""
KEPT: Final = 20_000
"""Tokens that an imagined compaction keeps, an estimate."""
_FEWEST_BEFORE: Final = 40
_FEWEST_BEHIND: Final = 20
_STEP: Final = 20
"""Entries before the first imagined compaction, behind the last, and from one to the next."""


class Alarm(NamedTuple):
    """A finding behind an imagined compaction before the entry `seq`."""

    session: str
    seq: int
    finding: Finding


class Imagined(NamedTuple):
    """The number of imagined compactions and the findings behind them."""

    compactions: int
    alarms: list[Alarm]


def imagine(name: str, corpus: Path) -> Imagined:
    """Imagine compactions in a stretch and look for findings."""
    source, log, facts = STRETCHES[name], MemoryLog(), SessionFacts()
    session = source.append(log, corpus / source.file).session
    count, alarms = 0, list[Alarm]()
    with log.snapshot() as snapshot:
        cursor = resolve_cursor(snapshot, session)
        entries = [*takewhile(lambda each: each.kind != "compaction", path(snapshot, cursor))]
        for place in range(_FEWEST_BEFORE, len(entries) - _FEWEST_BEHIND, _STEP):
            context = context_at(snapshot, cursor.at_leaf(entries[place - 1].seq))
            first, size = len(context.parts), 0
            while first and size < KEPT:
                first -= 1
                size += context.parts[first].utf16
            if first:
                count += 1
                replacement = Replacement(
                    event=entries[place],
                    before=context,
                    after=msgspec.structs.replace(context, parts=context.parts[first:]),
                    removed=tuple(context.parts[:first]),
                    kept=tuple(context.parts[first:]),
                    added=(),
                    returned=(),
                    earlier=entries[:place],
                    later=entries[place:],
                )
                alarms += [Alarm(name, entries[place].seq, each) for each in findings(replacement, facts)]
    return Imagined(count, alarms)


def distinct(alarms: Iterable[Alarm]) -> list[Alarm]:
    """Return one alarm for each trouble: the same may be behind several imagined compactions."""
    met = {
        (each.session, each.finding.kind, tuple(r.seq for r in each.finding.trouble)): each for each in alarms
    }
    return list(met.values())


def main() -> None:
    parser = argparse.ArgumentParser(description="Count findings behind compactions that never were.")
    parser.add_argument("sessions", nargs="*", metavar="SESSION", choices=[[], *STRETCHES])
    names, corpus = parser.parse_args().sessions or list(STRETCHES), corpus_folder()
    found = [imagine(name, corpus) for name in names]
    alarms = [alarm for each in found for alarm in each.alarms]
    for each in distinct(alarms):
        sys.stdout.write(
            f"{each.session} {each.seq} {each.finding.kind} {each.finding.weight}: {each.finding.sentence}\n"
        )
    all_of, once = (Counter(each.finding.kind for each in some) for some in (alarms, distinct(alarms)))
    for kind, count in all_of.most_common():
        sys.stdout.write(f"{kind:<10} {count:4} findings about {once[kind]} troubles\n")
    total = sum(each.compactions for each in found)
    sys.stdout.write(
        f"{'all':<10} {len(alarms):4} findings at {total} imagined compactions of {len(names)} sessions\n"
    )


if __name__ == "__main__":
    main()
