"""Find searches in vain, and paths that do not exist, where the answer had been known."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from eventstore.views import ToolCall
from projections.audit.findings.finding import Finding, refs
from projections.audit.findings.scene import Scene
from projections.mentions import MentionKind
from projections.mentions.message_facts import MessageFacts, commands_of
from projections.mentions.path_names import split_path

_SEARCH_TOOL: Final = re.compile(
    r"(?i)(?:code|file|grep|list|web)?_?(?:grep|glob|find|ls|search|list|dir)(?:_\w+)?"
)
_SEARCH_COMMAND: Final = re.compile(r"(?:git\s+)?(?:grep|rg|ag|ack|find|fd|ls|locate|which|tree)\b")
_TEXT_SEARCH: Final = re.compile(r"(?i)\b(?:code)?_?(?:grep|rg|ag|ack|search)")
_NOTHING: Final = re.compile(
    r"(?i)\W*(?:\(?no (?:output|matches|files|results)[\w ]*\)?|(?:found )?0 (?:matches|results|files).*|nothing found"
    r"|(?:process |command )?exit(?:ed)?(?: with)?(?: code)?:? \d+)?\W*"
)
_FEWEST_IN_VAIN: Final = 3
_FEWEST_FOR_ONE: Final = 4
_MOST_BETWEEN: Final = 2
_SERIOUS: Final = 8


class _Search(NamedTuple):
    """A call that searches, by the message that made it."""

    message: MessageFacts
    is_vain: bool
    things: frozenset[tuple[MentionKind, str]]


def searches(scene: Scene) -> Iterator[Finding]:
    """Find runs of searches, in vain or for one name again and again, for what was known before."""
    for number, turn in enumerate(scene.turns):
        following = scene.turns[number + 1].person if number + 1 < len(scene.turns) else None
        for run in _search_runs(turn.messages):
            vain = [each for each in run if each.is_vain]
            sought = Counter(thing for each in run for thing in each.things)
            lost = [thing for thing, _ in sought.most_common() if scene.is_lost(*thing)]
            if not lost:
                continue
            names = [name for _, name in lost]
            known = scene.first_known(*lost[0])
            told = (
                following
                if following and any(name in text for name in names for text in following.texts)
                else None
            )
            # Searches that find something are work, unless the person has to end them.
            if len(vain) < _FEWEST_IN_VAIN and not (told and sought[lost[0]] >= _FEWEST_FOR_ONE):
                continue
            times = (
                f"{len(run)} times in a row, {len(vain)} in vain" if vain else f"{len(run)} times in a row"
            )
            until = f", until you told it (#{told.seq})" if told else ""
            yield Finding(
                kind="search",
                weight="serious" if told or len(run) >= _SERIOUS else "minor",
                sentence=f"the model searched {times} (#{run[0].message.seq}–#{run[-1].message.seq}) for {names[0]},"  # noqa: RUF001  a dash
                f" which it had seen before{f' (#{known.seq})' if known else ''}{until}.",
                known=refs([known]),
                trouble=refs([*(each.message for each in run), told]),
                names=names,
            )


def _search_runs(messages: Iterable[MessageFacts]) -> Iterator[list[_Search]]:
    """Yield runs of searches with at most two other calls between them."""
    pending: dict[str, tuple[MessageFacts, ToolCall]] = {}
    run: list[_Search] = []
    between = 0
    for message in messages:
        pending.update((call.id, (message, call)) for call in message.calls)
        if message.result_of not in pending:
            continue
        caller, call = pending[message.result_of]
        if _is_search(call, caller):
            is_vain = message.is_error or _NOTHING.fullmatch("\n".join(message.texts)) is not None
            run.append(_Search(caller, is_vain, _sought(call, caller)))
            between = 0
        elif run and (between := between + 1) > _MOST_BETWEEN:
            yield run
            run, between = [], 0
    if run:
        yield run


def _is_search(call: ToolCall, message: MessageFacts) -> bool:
    if call.name in message.tools.shells:
        script = commands_of(call, message.tools)
        return bool(script) and all(map(_SEARCH_COMMAND.match, script))
    return _SEARCH_TOOL.fullmatch(call.name) is not None


def _sought(call: ToolCall, message: MessageFacts) -> frozenset[tuple[MentionKind, str]]:
    """Return what a search is for: names, and paths unless it looks for text in them."""
    script = commands_of(call, message.tools)
    is_for_text = any(map(_TEXT_SEARCH.search, script or (call.name,)))
    kinds = (MentionKind.SYMBOL, MentionKind.IDENTIFIER, *(() if is_for_text else (MentionKind.PATH,)))
    return frozenset((kind, value) for kind in kinds for value in message.visible_mentions.get(kind, ()))


_FEWEST_MISSING: Final = 2
_ABSENT: Final = re.compile(
    r"(?i)no such file|not found|does not exist|doesn't exist|enoent|cannot find the (?:file|path)|file not exist"
)


def missing_paths(scene: Scene) -> Iterator[Finding]:
    """Find calls for paths that do not exist, although other paths of these files were known.

    One such call is cheap, and no finding.
    """
    known: dict[str, dict[str, MessageFacts]] = {}
    for message in scene.earlier:
        for path in message.paths:
            known.setdefault(_file(path), {}).setdefault(path, message)
    missed: dict[int, tuple[MessageFacts, str, str, MessageFacts]] = {}
    for caller, path in _absent(scene.behind):
        for right, source in known.get(_file(path), {}).items():
            if right != path and scene.is_lost(MentionKind.PATH, right):
                missed.setdefault(caller.seq, (caller, path, right, source))
    if len(missed) >= _FEWEST_MISSING:
        caller, path, right, source = next(iter(missed.values()))
        yield Finding(
            kind="path",
            weight="minor",
            sentence=f"the model used {len(missed)} paths that do not exist, such as {path} (#{caller.seq}), although"
            f" it had seen {right} (#{source.seq}).",
            known=refs(source for _, _, _, source in missed.values()),
            trouble=refs(caller for caller, _, _, _ in missed.values()),
            names=[right for _, _, right, _ in missed.values()],
        )


def _file(path: str) -> str:
    return "".join(split_path(path)[-1:])


def _absent(messages: Iterable[MessageFacts]) -> Iterator[tuple[MessageFacts, str]]:
    """Yield the calls whose results say that there is no such file, and its path."""
    callers: dict[str, MessageFacts] = {}
    for message in messages:
        callers.update((call.id, message) for call in message.calls)
        caller = callers.get(message.result_of)
        if caller and message.is_error and any(map(_ABSENT.search, message.texts)):
            # With several calls in a message, only one that reads a single file says which one.
            for path in caller.read if len(caller.calls) == 1 else ():
                yield caller, path
