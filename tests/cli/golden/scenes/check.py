"""The scenes of `refold check`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.cli.golden import Run, Scene
from tests.cli.golden.steps import a_changed_event, help_of, lines, message, nothing, the_tale
from tests.support.talk import assistant, user

_CALLS: Final = {"input": 0, "output": 1, "cacheRead": 0, "cacheWrite": 100, "totalTokens": 101}
_NEXT: Final = {**_CALLS, "cacheRead": 100, "totalTokens": 201}
_DIVERGED: Final = lines(
    message("m1", user("go")),
    message("m2", assistant("done", usage=_CALLS)),
    {**message("m3", user("elsewhere")), "parentId": None},
    message("m4", assistant("done", usage=_NEXT)),
)

SCENES: Final[Sequence[Scene]] = [
    help_of("check"),
    Scene(nothing, ["check", "check nowhere --all"]),
    Scene(the_tale, ["check @last", "check --all"]),
    Scene(nothing, [Run("append diverged", stdin=_DIVERGED), "check diverged", "check --all"]),
    Scene(the_tale, [a_changed_event, "check --all"]),
]
