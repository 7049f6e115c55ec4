"""Define oh-my-pi's files as a dialect of pi's: its kinds, its title line, its models."""

from __future__ import annotations

from typing import Any, Final

from eventstore.formats.pi import entry
from eventstore.formats.pi.file import Dialect
from eventstore.javascript import tolerant_json

OWN_KINDS: Final = frozenset(
    {
        "credential_pin",
        "mode_change",
        "model_usage",
        "reset_boundary",
        "service_tier_change",
        "session_init",
        "title_change",
        "ttsr_injection",
    }
)
"""The entry types that pi does not write."""
SLOT: Final = "title"
"""The type of a first line with the session's title."""
_DEFAULT_ROLE: Final = "default"


def names_model(kind: str, role: str, record: bytes) -> bool:
    """Return True if a record puts a model in use.

    A change for another role does not, and an answer names only the model that wrote it: a fallback or what a
    provider took instead is not what the person chose.
    """
    return kind == "model_change" and role == "" and default_model(fields_of(record)) is not None


DIALECT: Final = Dialect(
    harness="oh-my-pi",
    kinds=entry.KINDS | OWN_KINDS,
    same={"title_change": "session_info"},
    slot=SLOT,
    reads_first=True,
    names_model=names_model,
)


def default_model(fields: dict[str, Any]) -> str | None:
    """Return the model that a change selects, as "provider/id"; None if it is for another role."""
    model, role = fields.get("model"), fields.get("role")
    if not isinstance(model, str) or not model:
        return None
    return model if role is None or role == _DEFAULT_ROLE else None


def fields_of(record: bytes) -> dict[str, Any]:
    """Return a record's fields, {} if it is not an object."""
    fields = tolerant_json(record)
    return fields if isinstance(fields, dict) else {}
