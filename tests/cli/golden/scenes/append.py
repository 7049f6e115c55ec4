"""The scenes of `refold append`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.cli.golden import Run, Scene
from tests.cli.golden.steps import CUSTOM, HELLO, help_of, nothing
from tests.support.pi_files import line

SCENES: Final[Sequence[Scene]] = [
    help_of("append"),
    Scene(
        nothing,
        [
            Run("append s --expected 0", HELLO + b"\n" + CUSTOM),
            Run("append s --expected 1", CUSTOM),
            Run("append s", HELLO.replace(b"hello", b"goodbye")),
            Run("append s", line({"type": "custom", "customType": "x", "parentId": "gone"})),
            Run("append s", HELLO.replace(b"m1", b"m2") + b"{broken\n" + CUSTOM),
            *(
                Run("append s", b"\n" + broken + b"\n")
                for broken in (
                    b"[1]",
                    b'{"id":"x"}',
                    b'{"type":"custom","customType":"x","id":7}',
                    b'{"type":"custom","customType":"x","parentId":7}',
                    b'{"type":"custom","customType":"x","timestamp":"noon"}',
                    b'{"type":"compaction","summary":"s"}',
                    b'{"type":"label","targetId":[]}',
                    b'{"type":"custom","customType":"\xff"}',
                )
            ),
        ],
    ),
]
