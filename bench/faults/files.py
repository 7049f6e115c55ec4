"""Import damaged files of every harness, and run commands on what came of them."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from random import Random
from typing import Final

from bench.faults import Outcome, tried
from eventstore import open_store
from eventstore.errors import RefoldError
from eventstore.files.importing import import_sessions
from tests.cli.running import Refold
from tests.cli.test_damaged_sessions import reading
from tests.support.damage import SUBJECTS, check, damaged
from tests.support.opencode_damage import CHECKS, damaged_database, damaged_export

HARNESSES: Final = (*SUBJECTS, "opencode")


def imports(name: str, dice: Random, folder: Path) -> Iterator[Outcome]:
    """Import damaged files: no traceback, no good record lost, and the file comes out byte for byte."""
    for number in itertools.count():
        # What a try that fails leaves behind is not in the way of the next.
        place = folder / f"{number}"
        place.mkdir()
        if name == "opencode":
            ((kind, checked),) = dice.choices([*CHECKS.items()], weights=(8, 1, 1))
            seed = dice.random()
            yield tried(
                kind, lambda checked=checked, seed=seed, place=place: checked(Random(seed), place) and None
            )
        else:
            damage = damaged(Random(dice.random()), SUBJECTS[name])
            yield tried(
                ", ".join(damage.done),
                lambda damage=damage, place=place: check(damage, place, name) and None,
            )
        shutil.rmtree(place)


def commands(name: str, dice: Random, folder: Path) -> Iterator[Outcome]:
    """Run one random reading command on each damaged session: none ends with a bug."""
    for session, refold in _sessions(name, dice, folder):
        yield _ended(refold, dice.choice([*reading(session)]))


def all_commands(name: str, dice: Random, folder: Path) -> Iterator[Outcome]:
    """Run every reading command on each damaged session."""
    for session, refold in _sessions(name, dice, folder):
        problems = [_ended(refold, arguments).problem for arguments in reading(session)]
        yield Outcome(of="all", problem="; ".join(filter(None, problems))[:500])


def _sessions(name: str, dice: Random, folder: Path) -> Iterator[tuple[str, Refold]]:
    """Yield sessions that came of damaged files, half of them imported before the damage, each alone in its store."""
    while True:
        file, refold, before = folder / "session.jsonl", Refold(folder / "store"), b""
        if name == "opencode" and dice.random() < 0.5:
            file = damaged_database(dice, folder)[0]
        elif name == "opencode":
            file.write_bytes(damaged_export(dice)[0])
        else:
            seed = dice.random()
            file.write_bytes(damaged(Random(seed), SUBJECTS[name]).content)
            before = b"\n".join([*SUBJECTS[name].lines(Random(seed)), b""]) if dice.random() < 0.5 else b""
        try:
            with open_store(refold.store) as log:
                if before:
                    after = file.read_bytes()
                    file.write_bytes(before)
                    import_sessions(log, file)
                    file.write_bytes(after)
                session = import_sessions(log, file)[0].id
            yield session, refold
        except RefoldError:
            continue
        finally:
            file.unlink(missing_ok=True)
            shutil.rmtree(refold.store, ignore_errors=True)


def _ended(refold: Refold, arguments: tuple[str, ...]) -> Outcome:
    def run() -> None:
        with chdir(refold.store.parent):
            ended = refold(*arguments, code=None)
        assert ended.code != 70, f"{arguments}: {ended.errors}"

    return tried(arguments[0], run)
