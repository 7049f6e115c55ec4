"""Name the model that a request goes to."""

from __future__ import annotations

import msgspec

from projections.context.parts import Context


class Author(msgspec.Struct, frozen=True):
    """A model, by its provider's name and its own; only its own thinking is sent back to it."""

    provider: str
    model: str


def model_of(context: Context) -> Author:
    """Return the model in use at a context's leaf."""
    used = context.settings.model
    provider, name = (used.provider, used.model_id) if used else ("", "")
    return Author(provider if isinstance(provider, str) else "", name if isinstance(name, str) else "")


def author_of(context: Context, model: str | None, *, provider: str) -> Author:
    """Return the model that a request goes to: the context's, or another one of a provider."""
    used = model_of(context)
    return used if model is None or model == used.model else Author(provider, model)
