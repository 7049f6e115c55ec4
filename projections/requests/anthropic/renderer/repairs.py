"""The repairs of a rendering: changes so that the API takes it."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from projections.requests.protocol import Repair


class RepairRule(StrEnum):
    """Why something was repaired."""

    FIRST_MESSAGE = "first-message"
    """A conversation begins with the user."""
    EMPTY_MESSAGE = "empty-message"
    """A message has content."""
    UNKNOWN_ROLE = "unknown-role"
    """A message of a role that pi tells no model of."""
    BLANK_TEXT = "blank-text"
    """A text is more than white space."""
    FINAL_SPACE = "final-space"
    """A last message of the assistant's does not end in white space."""
    SURROGATE = "surrogate"
    """JSON is UTF-8, which half a surrogate pair has none of."""
    BLOCK = "block"
    """Blocks are of types that the API has, in messages of roles that may hold them."""
    UNSIGNED_THINKING = "unsigned-thinking"
    """Thinking bears the provider's signature."""
    FOREIGN_THINKING = "foreign-thinking"
    """A signature is of the model that the request goes to."""
    FINAL_THINKING = "final-thinking"
    """A message does not end in thinking."""
    CALL_ID = "call-id"
    """Ids of calls are 1 to 64 letters, digits, `_` and `-`."""
    DUPLICATE_CALL_ID = "duplicate-call-id"
    """No two calls share an id."""
    TOOL_NAME = "tool-name"
    """Names of tools are 1 to 128 letters, digits, `_` and `-`."""
    ARGUMENTS = "arguments"
    """A call's input is a JSON object."""
    MISSING_RESULT = "missing-result"
    """Every call has its result in the very next message."""
    ORPHAN_RESULT = "orphan-result"
    """Every result has its call in the message before."""
    DUPLICATE_RESULT = "duplicate-result"
    """A call has one result."""
    RESULT_ORDER = "result-order"
    """Results come first in their message."""
    EMPTY_ERROR = "empty-error"
    """A failed call's result says something."""
    IMAGE_IN_ERROR = "image-in-error"
    """A failed call's result is text."""
    IMAGE_TYPE = "image-type"
    """Images are JPEG, PNG, GIF or WebP, and say so."""
    IMAGE_DATA = "image-data"
    """An image's data is base64, and can be read."""
    IMAGE_SIZE = "image-size"
    """An image has at most 5 MB of base64, and 8,000 pixels a side; 2,000 among more than 20."""
    IMAGE_COUNT = "image-count"
    """A request has at most 100 images, of 24 MB together."""
    COMPACTION_BLOCK = "compaction-block"
    """There is one compaction block, and it stands first."""
    CACHE_BREAKPOINTS = "cache-breakpoints"
    """A request has four cache breakpoints at most: its own."""


Note = Callable[[RepairRule, str], None]
"""Takes down a repair of the message at hand: its rule, and what was done."""


class Repairs:
    """The repairs of one rendering, in the order in which they are made."""

    def __init__(self, made: list[Repair]) -> None:
        self.made = made

    def of(self, event: str) -> Note:
        """Return a function that takes down the repairs of an event's message."""

        def note(rule: RepairRule, action: str) -> None:
            self.made.append(Repair(rule=rule, event=event, action=action))

        return note
