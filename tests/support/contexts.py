"""Contexts of messages as a test says them, and what a Messages API body made of one says."""

from __future__ import annotations

import json
from typing import Any

from projections.context.parts import Context, Fate, Part
from projections.requests.anthropic import render
from projections.requests.rendered import Rendered
from projections.settings import Model, ModelSettings
from tests.support.talk import Json

MODEL = Model(provider="p", model_id="m")
"""The author of what `talk.assistant` says."""


def context_of(*messages: Json | bytes, model: Model | None = MODEL) -> Context:
    """A context of these messages; their events are e1, e2, …"""
    parts = tuple(
        Part(
            session="s",
            seq=number,
            id=f"e{number}",
            kind="message",
            role="",
            fate=Fate.KEPT,
            raw=message if isinstance(message, bytes) else json.dumps(message).encode(),
            format="pi/3",
            by_person=not isinstance(message, bytes) and message["role"] == "user",
        )
        for number, message in enumerate(messages, 1)
    )
    settings = ModelSettings(model=model)
    return Context(session="s", leaf=None, as_of=len(parts), rules="pi", parts=parts, settings=settings)


def sent(*messages: Json | bytes, **options: Any) -> list[Json]:
    """The messages of the body that a context of these messages becomes."""
    return body_of(render(context_of(*messages), **options))["messages"]


def repaired(*messages: Json | bytes, **options: Any) -> list[tuple[str, str]]:
    """Rule and event of each repair of a context of these messages."""
    return [(repair.rule, repair.event) for repair in render(context_of(*messages), **options).repairs]


def body_of(rendered: Rendered) -> Any:
    return json.loads(rendered.body)


def texts_in(value: Any) -> list[str]:
    """Every text of the text blocks in a JSON value, in their order."""
    if isinstance(value, list):
        return [text for item in value for text in texts_in(item)]
    if not isinstance(value, dict):
        return []
    if value.get("type") == "text" and "text" in value:
        return [value["text"]]
    return [text for item in value.values() for text in texts_in(item)]
