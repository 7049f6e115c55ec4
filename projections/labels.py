"""Labels: names that people give to entries."""

from __future__ import annotations

from eventstore.event import Event
from eventstore.javascript import tolerant_json


class LabelFold:
    """Labels after the events applied so far, by the ids they are on.

    pi's rules: the order of the file counts, whatever the branch; no label, or an empty one, takes the label
    away; one that is set again goes to the end; what it is on need not exist.
    """

    def __init__(self) -> None:
        self.labels: dict[str, str] = {}

    def apply(self, event: Event) -> None:
        """Take one more event into account."""
        if event.kind != "label":
            return
        record = tolerant_json(event.body)
        target, label = record.get("targetId"), record.get("label")
        if not isinstance(target, str):
            return
        if isinstance(label, str) and label:
            self.labels[target] = label
        else:
            self.labels.pop(target, None)
