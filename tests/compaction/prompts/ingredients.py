"""Ingredients of prompts, for tests of shapes."""

from __future__ import annotations

from typing import Any

from compaction.prompts import PromptInputs
from compaction.templates import parse_template
from eventstore.node import PromptView
from tests.support.contexts import context_of
from tests.support.talk import assistant, user

SHOWN, *PARTS = context_of(user("what was before"), user("build it"), assistant("I look.")).parts
TEMPLATE = parse_template("+++\nname = 't'\nversion = 1\nsections = []\n+++\nSum up.\n", source="test")
HARNESS = PromptView(system="You are a harness.", tools=b"[]")


def ingredients(**changes: Any) -> PromptInputs:
    return PromptInputs(
        **{"template": TEMPLATE, "parts": PARTS, "system": "Ours.", "max_tokens": 9, "harness": HARNESS}
        | changes
    )
