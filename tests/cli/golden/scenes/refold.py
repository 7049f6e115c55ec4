"""The scenes of `refold`."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.cli.golden import Run, Scene, Step
from tests.cli.golden.steps import CUSTOM, OTHER, nothing, the_tale, two_generations
from tests.cli.invocations import NAMES, invocations
from tests.cli.running import Refold
from tests.cli.tale import SESSION
from tests.support.pi_files import header, said


def two_sessions(refold: Refold) -> None:
    the_tale(refold)
    Path("other.jsonl").write_bytes(header(session=OTHER) + said("hello", "x1", None))
    refold("sync", "other.jsonl")


def truncated(refold: Refold) -> None:
    data = refold.store / "data.mdb"
    os.truncate(data, data.stat().st_size // 2)


def garbage(refold: Refold) -> None:
    (refold.store / "data.mdb").write_bytes(bytes(range(256)) * 64)


def a_few_bytes(refold: Refold) -> None:
    (refold.store / "data.mdb").write_bytes(b"\x01\x02")


def a_file_in_place_of_the_store(refold: Refold) -> None:
    shutil.rmtree(refold.store)
    refold.store.write_text("a shopping list")


def a_folder_in_place_of_the_data(refold: Refold) -> None:
    (refold.store / "data.mdb").unlink()
    (refold.store / "data.mdb").mkdir()


def a_folder_called_sessions(refold: Refold) -> None:
    del refold
    Path("sessions").mkdir()


def _damage(change: Step) -> Scene:
    return Scene(the_tale, [change, "sessions", "verify"])


WITHOUT_A_STORE: Final = [
    shlex.join(invocations("s")[name]) for name in NAMES if name not in ("sync", "append")
]

SCENES: Final[Sequence[Scene]] = [
    Scene(
        nothing,
        [
            "--help",
            "",
            "--version",
            "adit",
            "xyzzy",
            "--shop x stats",
            "--store '' stats",
            Run(
                "broken",
                env={"REFOLD_TRACEBACK": ""},
                patch={"cli.main.COMMANDS": {"broken": ("nowhere", "Is not there.")}},
            ),
        ],
    ),
    Scene(
        nothing,
        [
            "tree",
            "tree a b",
            "tree a --full=yes",
            "tree a --as-of x",
            "tree a --as-of -1",
            "stats --by size",
            "append a --expected -1",
            "export a",
            "completion tcsh",
            "--counter words context a",
        ],
    ),
    Scene(nothing, [*WITHOUT_A_STORE, "sync nothing.jsonl", "tree @last"]),
    *map(
        _damage,
        (
            truncated,
            garbage,
            a_few_bytes,
            a_file_in_place_of_the_store,
            a_folder_in_place_of_the_data,
        ),
    ),
    # Names of sessions and events, valid and not.
    Scene(
        two_sessions,
        [
            "tree nope",
            "tree ''",
            "tree 0199",
            "tree gone.jsonl",
            f"label {OTHER} --title 'The parser'",
            "tree 'The parser'",
            a_folder_called_sessions,
            "tree sessions",
            Run("append a~draft", CUSTOM),
            Run("append a~02", CUSTOM),
            "tree a~",
        ],
    ),
    Scene(two_generations, ["tree 0199", "tree 0199~3", f"tree {SESSION}"]),
    Scene(
        the_tale,
        [
            "show @last a",
            "show @last nope",
            "show @last ''",
            "show @last '#0'",
            "show @last '#18'",
            "show @last '#'",
            "show @last '#x'",
            "tree @last --as-of 99",
            "context @last --leaf nope",
            "context @last --leaf '#17'",
            "context @last --leaf a4 --as-of 5",
            "undo @last nope",
            "label @last '#99' x",
        ],
    ),
]
