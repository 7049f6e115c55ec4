"""The scenes of `refold context`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.cli.golden import File, Run, Scene
from tests.cli.golden.steps import (
    CONTINUE,
    HELLO,
    REWRITE,
    help_of,
    lines,
    message,
    nothing,
    person,
    the_tale,
)
from tests.support.talk import assistant, call

SCENES: Final[Sequence[Scene]] = [
    help_of("context"),
    Scene(
        the_tale,
        ["context @last", "context @last --leaf root"],
    ),
    Scene(
        nothing,
        [
            Run(
                "append s",
                lines(
                    person("e1", "\n".join(map(str, range(100)))),
                    person("e2", "\n".join(map(str, range(7)))),
                    person("e3", "long " * 40),
                    {**CONTINUE, "id": "e4", "metadata": {"compaction_continue": True}},
                    {**REWRITE, "targets": [{"target": "e3", "shown": "short"}]},
                    message("e5", {"role": "assistant", "content": "hi"}),
                ),
            ),
            "context s",
            "context s --full",
        ],
    ),
    Scene(
        the_tale,
        [
            "context @last --format anthropic --leaf a2",
            "context @last --format anthropic --leaf u1",
            "context @last --format anthropic --leaf root --model claude",
            "context @last --format anthropic --system gone",
            "context @last --format anthropic --tools gone",
            "context @last --format anthropic --cache-breakpoints 5",
            "context @last --format anthropic --cache-breakpoints -1",
        ],
    ),
    Scene(
        nothing,
        [
            Run(
                "append s",
                lines(message("a", assistant(*(call("read", f"k{each}", path="x") for each in range(3))))),
            ),
            "context s --format anthropic",
            "context s --format anthropic --full",
        ],
    ),
    Scene(
        nothing,
        [
            Run("append s", HELLO),
            File("given", b"\xff"),
            "context s --format anthropic --model m --system given",
            File("given", "{"),
            "context s --format anthropic --model m --tools given",
            File("given", '[{"name":"x"}]'),
            "context s --format anthropic --model m --tools given",
            File("given", '[{"name":"a b"}]'),
            "context s --format anthropic --model m --tools given",
        ],
    ),
]
