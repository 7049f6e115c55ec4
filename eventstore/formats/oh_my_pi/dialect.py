"""Define oh-my-pi's files as a dialect of pi's: its kinds, its title line, its models."""

from __future__ import annotations

from typing import Any, Final

from eventstore.formats.pi import entry
from eventstore.formats.pi.file import Conversion, Dialect
from eventstore.javascript import tolerant_json

ADDED_KINDS: Final = frozenset(
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


HEADER_FIELDS: Final = frozenset(
    {"title", "titleSource", "additionalDirectories", "previousSessionFiles", "providerPromptCacheKey"}
)
"""Fields of a header that pi does not know."""


def _model_for_pi(record: dict[str, Any]) -> dict[str, Any]:
    provider, slash, model = str(record.get("model", "")).partition("/")
    # A model for a role other than the conversation's has no counterpart.
    if not slash or record.get("role") not in (None, _DEFAULT_ROLE):
        return {"type": ""}
    return {"provider": provider, "modelId": model}


def _model_of_pi(record: dict[str, Any]) -> dict[str, Any]:
    return {"model": f"{record.get('provider', '')}/{record.get('modelId', '')}", "role": _DEFAULT_ROLE}


def _renamed(old: str, new: str) -> Conversion:
    return lambda record: {(new if name == old else name): value for name, value in record.items()}


DIALECT: Final = Dialect(
    harness="oh-my-pi",
    kinds=entry.KINDS | ADDED_KINDS,
    same={"title_change": "session_info"},
    slot=SLOT,
    reads_first=True,
    names_model=names_model,
    header_fields=HEADER_FIELDS,
    to_pi={
        "model_change": _model_for_pi,
        "title_change": lambda record: {"type": "session_info", "name": record.get("title", "")},
        "compaction": _renamed("fromExtension", "fromHook"),
        "branch_summary": _renamed("fromExtension", "fromHook"),
    },
    from_pi={
        "model_change": _model_of_pi,
        "session_info": lambda record: {
            "type": "title_change",
            "title": record.get("name", ""),
            "source": "user",
        },
        "compaction": _renamed("fromHook", "fromExtension"),
        "branch_summary": _renamed("fromHook", "fromExtension"),
    },
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
