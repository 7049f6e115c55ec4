"""Rules that stand, tasks that are done once, and sentences that are neither."""

from __future__ import annotations

import pytest

from projections.mentions.standing_rules import InstructionKind, kind_of


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("Never commit without asking.", InstructionKind.RULE),
        ("Use tabs, not spaces.", InstructionKind.RULE),
        ("Add a test for the parser.", InstructionKind.TASK),
        ("Why is it slow?", None),
    ],
)
def test_a_rule_stands_and_a_task_is_done_once(sentence: str, kind: InstructionKind | None) -> None:
    assert kind_of(sentence) is kind
