"""Find made-up addresses, names and commands where the model had known similar ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from projections.audit.findings.finding import Finding, refs
from projections.audit.findings.scene import Scene, folder_of, places_in, results_in
from projections.mentions import MentionKind
from projections.mentions.message_facts import MessageFacts, commands_of
from projections.mentions.path_names import split_path

_FEWEST_LISTED: Final = 3
"""Addresses in a folder that are as good as a listing of it."""
_SHORTEST_NAME: Final = 4
_SEPARATORS: Final = re.compile(r"[^a-z0-9]+")
_PLURAL: Final = re.compile(r"(?:es|s)$")


def inventions(scene: Scene) -> Iterator[Finding]:
    """Find what was made up after the pattern of something that is no longer in the context."""
    yield from _addresses(scene)
    yield from _names(scene)
    yield from _misused_commands(scene)


def _addresses(scene: Scene) -> Iterator[Finding]:
    """Find addresses that differ from a listed one only in case, separators or a plural.

    Nothing has to fail: an address that is written into a file is not tried.
    """
    met = set[str]()
    made_up: dict[str, list[tuple[str, str, MessageFacts, MessageFacts]]] = {}
    for message in scene.all_behind:
        for kind, address in places_in([message]):
            if kind is not MentionKind.URL or address in met:
                continue
            met.add(address)
            listed = scene.known_places.get(folder_of(address), {}) if message.role == "assistant" else {}
            if len(listed) < _FEWEST_LISTED or (kind, address) in listed:
                continue
            for (_, right), source in listed.items():
                if (
                    _is_variant(_name(address), _name(right))
                    and right not in met
                    and scene.is_lost(kind, right)
                ):
                    made_up.setdefault(folder_of(address), []).append((address, right, message, source))
                    break
    for found in made_up.values():
        address, right, message, source = found[0]
        others = f" and {len(found) - 1} more" if len(found) > 1 else ""
        yield Finding(
            kind="invented",
            weight="serious",
            sentence=f"the model made up {_end(address)}{others} (#{message.seq}); it had seen"
            f" {_end(right)} (#{source.seq}), which is no longer in the context.",
            known=refs(each for _, _, _, each in found),
            trouble=refs(each for _, _, each, _ in found),
            names=[right for _, right, _, _ in found],
        )


def _name(place: str) -> str:
    return "".join(split_path(place)[-1:])


def _end(place: str) -> str:
    return f"{folder_of(place)}/{_name(place)}"


def _is_variant(name: str, right: str) -> bool:
    """Return True if two file names differ, but only in separators or a plural."""
    if name.lower() == right.lower():
        return False
    (stem, _, kind), (right_stem, _, right_kind) = name.lower().rpartition("."), right.lower().rpartition(".")
    plain = _plain(stem or kind)
    return len(plain) >= _SHORTEST_NAME and (plain, bool(stem) and kind) == (
        _plain(right_stem or right_kind),
        bool(right_stem) and right_kind,
    )


def _plain(stem: str) -> str:
    return _PLURAL.sub("", _SEPARATORS.sub("", stem))


_UNDEFINED: Final = re.compile(
    r"undefined: (?:\w+\.)?(?P<go>\w+)|has no attribute '(?P<attribute>\w+)'|name '(?P<name>\w+)' is not defined"
    r"|cannot import name '(?P<import>\w+)'|Cannot find name '(?P<ts>\w+)'|Property '(?P<property>\w+)' does not exist"
    r"|has no exported member (?:named )?'(?P<member>\w+)'|ReferenceError: (?P<js>\w+) is not defined"
    r"|TypeError: (?:\w+\.)*(?P<function>\w+) is not a function|undefined method [`'](?P<ruby>\w+)'"
    r"|cannot find (?:function|value|type|struct|method|macro)[^`\n]*`(?P<rust>\w+)`"
    r"|has no field or method (?P<field>\w+)|[Uu]ndefined function:? (?P<php>\w+)"
    r"|cannot find symbol\s+symbol:\s+\w+ (?P<java>\w+)"
)
"""Messages of compilers and interpreters about a name that does not exist."""


def _names(scene: Scene) -> Iterator[Finding]:
    """Find names of code that do not exist, although a name almost like it had been seen."""
    behind = list(scene.behind)
    for caller, _, result in results_in(behind):
        unknown = {
            name
            for text in result.texts
            if result.is_error
            for found in _UNDEFINED.finditer(text)
            if len(name := str(found[str(found.lastgroup)])) >= _SHORTEST_NAME
            and not scene.was_known(MentionKind.SYMBOL, name)
        }
        for name in sorted(unknown):
            right = _nearest(name, scene.known_symbols)
            use = next(
                (
                    each
                    for each in behind
                    if right and each.seq > result.seq and each.role == "assistant"
                    if right in each.visible_mentions.get(MentionKind.SYMBOL, ())
                ),
                None,
            )
            # A name that is merely not written yet does not lead back to the one that it is like.
            if right and use and scene.is_lost(MentionKind.SYMBOL, right):
                source = scene.first_known(MentionKind.SYMBOL, right)
                yield Finding(
                    kind="invented",
                    weight="minor",
                    sentence=f"the model used {name}, which does not exist (#{caller.seq}), and then {right}"
                    f" (#{use.seq}); it had seen that{f' (#{source.seq})' if source else ''}, but it had left the"
                    " context.",
                    known=refs([source]),
                    trouble=refs([caller, result, use]),
                    names=[right],
                )


_WORDS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_FEWEST_WORDS: Final = 3


def _nearest(name: str, known: Iterable[str]) -> str | None:
    """Return a known name that differs only in plurals, or in one word of three or more."""
    words = _words_of_name(name)
    nearest = None
    for each in known:
        its = _words_of_name(each)
        if len(its) == len(words) and each.lower() != name.lower():
            different = sum(one != other for one, other in zip(words, its, strict=True))
            if not different:
                return each
            if different == 1 and len(words) >= _FEWEST_WORDS:
                nearest = nearest or each
    return nearest


def _words_of_name(name: str) -> list[str]:
    return [_PLURAL.sub("", word.lower()) for word in _WORDS.findall(name)]


_MISUSED: Final = re.compile(
    r"(?i)exceeding timeout|timed out|command not found|missing script|no such (?:command|option|target)"
    r"|(?:unknown|invalid|unrecogni[sz]ed|unexpected) (?:option|command|flag|argument|subcommand)"
    r"|no rule to make target"
)
"""Messages about a wrong command, rather than about the work that it is for."""
_END: Final = 2_000
"""Characters at the end of a result that say how the command ended."""
_FAILED: Final = re.compile(
    r"(?i)\bexit(?:ed)?\b.{0,20}\bcode:? [1-9]|\bcommand (?:after exceeding timeout|timed out after) (?:of )?\d"
)
"""The note of a shell that failed or was stopped, in results that are not marked as errors."""
_ALIKE: Final = 80
"""Minimum similarity of two commands in percent, by edit distance; less is another task."""
_LONGEST_LINE: Final = 400
_SIGNS: Final = "\"'`,;()[]{} "


def _misused_commands(scene: Scene) -> Iterator[Finding]:
    """Find commands that are wrong, although one almost like it had been run or named."""
    for caller, call, result in results_in(scene.behind):
        text = "\n".join(result.texts)
        if not (result.is_error or _FAILED.search(text[-_END:])) or not _MISUSED.search(text[-_END:]):
            continue
        for command in commands_of(call, caller.tools):
            right, sources = _nearest_command(command, scene)
            if sources:
                yield Finding(
                    kind="invented",
                    weight="minor",
                    sentence=f"the model ran `{command}`, which failed (#{caller.seq}); before, it was"
                    f" `{right}` (#{sources[0].seq}), which is no longer in the context.",
                    known=refs(sources),
                    trouble=refs([caller, result]),
                    names=[right],
                )
                break


def _nearest_command(command: str, scene: Scene) -> tuple[str, list[MessageFacts]]:
    """Return the command that is most like another, and the messages before that have it.

    It is of the same program and no longer in the context; "" if none is alike.
    """
    from rapidfuzz import fuzz  # noqa: PLC0415  heavy

    program, *arguments = command.split()
    start = re.compile(rf"(?<![\w./-]){re.escape(program)} ")
    found: dict[str, list[MessageFacts]] = {}
    for message in scene.earlier if arguments and len(command) <= _LONGEST_LINE else ():
        for text in message.texts if message.role in ("assistant", "user") else ():
            for line in text.splitlines() if f"{program} " in text else ():
                named = start.search(line) if len(line) <= _LONGEST_LINE else None
                if named:
                    rest = line[named.end() :].split()
                    words = [program, *(word.strip(_SIGNS) for word in rest)][: len(arguments) + 1]
                    found.setdefault(" ".join(words), []).append(message)
    if command in found:
        return "", []
    alike = {each: fuzz.ratio(command, each) for each in found}
    nearest = max(alike, key=lambda each: alike[each], default="")
    is_lost = not any(nearest in text for each in scene.after for text in each.texts)
    return (nearest, found[nearest]) if alike.get(nearest, 0) >= _ALIKE and is_lost else ("", [])
