"""Leaving the largest new results in the log, with their beginning and their address in the context."""

from __future__ import annotations

from compaction.part import Count, PolicyPart
from compaction.rewrites.scene import Line, Scene
from eventstore.records import Shown


class Offload(PolicyPart, frozen=True, tag="offload"):
    """Show a `<persisted-output>` marker with the first `preview` characters in place of results that are too long.

    If the results of the newest assistant message's calls are over `characters` together, the largest go
    first, until the sum fits. The full text stays in the log, where the marker's address finds it.
    """

    characters: Count = 200_000
    preview: Count = 2_000

    def plan(self, scene: Scene) -> list[Shown]:
        """What to show otherwise."""
        newest = _newest_results(scene)
        total = sum(line.characters for line in newest)
        shown: list[Shown] = []
        for line in sorted(newest, key=lambda line: line.characters, reverse=True):
            if total <= self.characters:
                break
            marker = self._marker(scene, line)
            if len(marker) < line.characters:
                total += len(marker) - line.characters
                shown.append(Shown(target=line.id, shown=marker))
        return shown

    def _marker(self, scene: Scene, line: Line) -> str:
        return (
            f'<persisted-output session="{scene.session}" event="{line.id}" characters="0-{line.characters}">\n'
            f"The whole output, {line.characters} characters, is in the log "
            f"(refold show '{scene.session}' {line.id}). It begins:\n"
            f"{line.message.text[: self.preview]}\n</persisted-output>"
        )


def _newest_results(scene: Scene) -> list[Line]:
    for place in range(len(scene.lines) - 1, -1, -1):
        if scene.lines[place].message.tool_calls:
            calls = {call.id for call in scene.lines[place].message.tool_calls}
            behind = scene.lines[place + 1 :]
            return [line for line in behind if line.is_result and line.message.tool_call_id in calls]
    return []
