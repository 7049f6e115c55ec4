"""What the chart of the context's size points out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from cli.output import counted
from cli.report.chart import Place
from cli.report.lines import Lines
from cli.report.material import Material
from cli.report.model import ReplacementView
from cli.report.texts import line_of

_LONGEST: Final = 60
_NAMED: Final = 3
"""How many of the things that were needed at one event are named."""


def places(
    material: Material, lines: Lines, views: Sequence[ReplacementView], target: Callable[[int], str]
) -> list[Place]:
    """Replacements, needs that were not met, forks and changes of the model, in order of the path."""
    found = [*_replaced(views, target), *_needed(views), *_forks(material), *_models(material, lines)]
    return sorted((place for place in found if place.seq in material.path), key=lambda place: place.seq)


def _replaced(views: Sequence[ReplacementView], target: Callable[[int], str]) -> Iterator[Place]:
    for view in views:
        size = view.metrics.size
        yield Place(
            seq=view.seq,
            kind=view.kind,
            sign=view.sign,
            title=f"{view.name} at #{view.seq}: {size.before:,} to {size.after:,} tokens",
            target=target(view.seq),
        )


def _needed(views: Sequence[ReplacementView]) -> Iterator[Place]:
    """Events that needed what had been lost, each once."""
    values: dict[int, dict[str, None]] = {}
    for view in views:
        for loss in view.metrics.future_use.losses:
            values.setdefault(loss.needed_seq, {})[line_of(loss.value, _LONGEST)] = None
    for seq, needed in values.items():
        named = ", ".join(list(needed)[:_NAMED])
        more = f" and {len(needed) - _NAMED} more" if len(needed) > _NAMED else ""
        yield Place(
            seq=seq,
            kind="need",
            title=f"#{seq} needed what was lost: {named}{more}",
            target=f"e-{seq}",
            where="curve",
        )


def _forks(material: Material) -> Iterator[Place]:
    seq_of = {event.id: event.seq for event in material.events}
    for node in material.tree.nodes:
        if len(node.children) > 1:
            others = counted(len(node.children) - 1, "other branch leaves", "other branches leave")
            seq = seq_of[node.id]
            yield Place(
                seq=seq,
                kind="fork",
                title=f"#{seq}: {others} here",
                target=f"e-{seq}",
                where="floor",
            )


def _models(material: Material, lines: Lines) -> Iterator[Place]:
    for event in material.events:
        if event.kind == "model_change":
            yield Place(
                seq=event.seq,
                kind=event.kind,
                title=f"#{event.seq}: the model is now {line_of(lines[event.seq].text, _LONGEST)}",
                target=f"e-{event.seq}",
                where="floor",
            )
