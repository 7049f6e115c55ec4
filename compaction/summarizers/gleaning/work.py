"""What was worked on: commands with their outcome, errors, and what is spoken of most."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

import msgspec

from compaction.summarizers.gleaning.line import one_line
from eventstore.views import Message, answered
from projections.mentions import Kind
from projections.mentions.message_facts import Holding, commands_of

_HALF_LIFE: Final = 300
"""Messages after which a mention counts half."""
_LONG: Final = 200
"""Characters that are told of a failure."""
_MESSAGE: Final = re.compile(
    r"(?:error|exception|fatal|panic\w*|failed|failure)\b[^:]{0,40}:\s+(.*)", re.IGNORECASE
)
_NUMBER: Final = re.compile(r"\d+")
_TIMES: Final = re.compile(r" \((\d{1,9}) times\)\Z")
_REMEMBERED: Final = 1 << 10
"""Errors that are remembered with what they say: the same ones are met again and again."""


class Run(msgspec.Struct, frozen=True):
    """A command that was run; `failure` is what was said of it where it failed, None where it went well."""

    command: str
    failure: str | None


def _one(_: str) -> int:
    return 1


def ranked(messages: Sequence[Iterable[str]], *, size: Callable[[str], int] = _one) -> list[str]:
    """The things that messages name, oldest message first, by how often and how lately they do.

    A mention counts half as much as one 300 messages later. By `size` it is how much that is for each
    character which a thing takes, so that more of them fit.
    """
    weights: dict[str, float] = {}
    newest: dict[str, int] = {}
    for place, things in enumerate(messages):
        weight = 2.0 ** ((place - len(messages)) / _HALF_LIFE)
        for thing in things:
            weights[thing] = weights.get(thing, 0.0) + weight
            newest[thing] = place
    return sorted(weights, key=lambda thing: (-weights[thing] / size(thing), -newest[thing], thing))


def runs(messages: Sequence[tuple[Message, Holding]]) -> list[list[Run]]:
    """The commands that each message runs: a shell's calls, and what the person ran."""
    results: dict[int, dict[str, tuple[Message, Holding]]] = {}
    for result, caller in answered([view for view, _ in messages]).items():
        results.setdefault(caller, {})[messages[result][0].tool_call_id] = messages[result]
    found = []
    for place, (view, held) in enumerate(messages):
        if view.shell:
            found.append([Run(command, _failure(view, held)) for command in _commands(held)])
        else:
            found.append(list(_of_calls(view, held, results.get(place, {}))))
    return found


def _of_calls(view: Message, held: Holding, results: Mapping[str, tuple[Message, Holding]]) -> Iterator[Run]:
    """The commands of an answer's calls, with their results by the ids of the calls."""
    for call in view.tool_calls:
        # What a message holds of all its calls is what its only one holds.
        made = _commands(held) if len(view.tool_calls) == 1 else commands_of(call)
        result = results.get(call.id)
        for command in made:
            yield Run(command, _failure(*result) if result else None)


def _commands(held: Holding) -> tuple[str, ...]:
    return held.named.get(Kind.COMMAND, ())


def _failure(view: Message, held: Holding) -> str | None:
    """The first error that a failed command reports, else its last line."""
    if not held.is_error:
        return None
    errors = held.named.get(Kind.ERROR, ())
    output = view.shell.output if view.shell else view.text
    return one_line(errors[0] if errors else output.rstrip().rpartition("\n")[2], _LONG)


def counted(errors: Sequence[Sequence[str]]) -> list[str]:
    """Errors by how often and how lately messages have them: of those that are alike the newest, with their number."""
    times: Counter[str] = Counter()
    newest: dict[str, str] = {}
    for error, number in (uncounted(error) for message in errors for error in message):
        times[_alike(error)] += number
        newest[_alike(error)] = error
    met = ranked([[_alike(uncounted(error)[0]) for error in message] for message in errors], size=len)
    return [newest[error] + (f" ({times[error]} times)" if times[error] > 1 else "") for error in met]


def uncounted(error: str) -> tuple[str, int]:
    """An error and how many like it there were, by a line that may tell the number."""
    found = _TIMES.search(error)
    return (error[: found.start()], int(found[1])) if found else (error, 1)


@lru_cache(maxsize=_REMEMBERED)
def _alike(error: str) -> str:
    """What an error says, without where; one that says nothing apart from that, without its numbers."""
    found = _MESSAGE.search(error)
    return (found and found[1]) or _NUMBER.sub("#", error)
