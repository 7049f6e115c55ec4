"""The repairs that make a request acceptable to the API."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from projections.requests.rendered import Repair


class RepairRule(StrEnum):
    """Why something was repaired."""

    FIRST_MESSAGE = "first-message"
    """A conversation begins with the user."""
    EMPTY_MESSAGE = "empty-message"
    """A message has content."""
    UNKNOWN_ROLE = "unknown-role"
    """A message has a role that pi sends to models."""
    BLANK_TEXT = "blank-text"
    """A text is more than white space."""
    FINAL_SPACE = "final-space"
    """A final assistant message does not end in white space."""
    SURROGATE = "surrogate"
    """JSON is UTF-8, which cannot encode half a surrogate pair."""
    BLOCK = "block"
    """Blocks have types that the API knows and that the message's role may hold."""
    UNSIGNED_THINKING = "unsigned-thinking"
    """Thinking has the provider's signature."""
    FOREIGN_THINKING = "foreign-thinking"
    """A signature comes from the model that the request goes to."""
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
    """A failed call's result is not empty."""
    IMAGE_IN_ERROR = "image-in-error"
    """A failed call's result is text."""
    IMAGE_TYPE = "image-type"
    """Images are JPEG, PNG, GIF or WebP, and say so."""
    IMAGE_DATA = "image-data"
    """An image's data is readable base64."""
    IMAGE_SIZE = "image-size"
    """An image has at most 5 MB of base64, and 8,000 pixels a side; 2,000 among more than 20."""
    IMAGE_COUNT = "image-count"
    """A request has at most 100 images, of 24 MB together."""
    NATIVE_HISTORY = "native-history"
    """A history in one provider's own form is sent to that provider alone."""
    COMPACTION_BLOCK = "compaction-block"
    """There is one compaction block, and it comes first."""
    CACHE_BREAKPOINTS = "cache-breakpoints"
    """A request has at most four cache breakpoints, all its own."""


Note = Callable[[RepairRule, str], None]
"""Records a repair of the current message: its rule and the action."""


class Repairs:
    """The repairs of one rendering, in the order in which they were made."""

    def __init__(self, made: list[Repair]) -> None:
        self.made = made

    def of(self, event: str) -> Note:
        """Return a function that records the repairs of an event's message."""

        def note(rule: RepairRule, action: str) -> None:
            self.made.append(Repair(rule=rule, event=event, action=action))

        return note


def unnoted(rule: RepairRule, action: str) -> None:
    """Record no repair: what the caller passed in is not part of the log."""
