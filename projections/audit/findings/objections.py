"""Find things that a person had to point out although the model had known them before."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from projections.audit.findings.finding import Finding, listed, refs
from projections.audit.findings.scene import Scene, folder_of, places_in
from projections.audit.restatements import words_of
from projections.files import files_of_call
from projections.mentions import MentionKind, mentions
from projections.mentions.message_facts import MessageFacts, SessionFacts, commands_of
from projections.mentions.path_names import PathIndex, split_path

_LONGEST_PROSE: Final = 5_000
"""Characters of a message that are compared with a person's words."""
_AROUND: Final = 200
"""Characters on both sides of a name that are about it."""
_LISTED: Final = 3
"""Names in a sentence."""
_LEAST_CONTENT: Final = 400
"""Characters that show a file's content; fewer are lines that a search found."""
_COMMON_WORDS: Final = 3
"""Content words that two messages about the same thing share at least."""
_NAMES: Final = (MentionKind.SYMBOL, MentionKind.IDENTIFIER, MentionKind.COMMAND)
_UNDOES: Final = re.compile(
    r"(?:git\s+)?(?:rm|restore|checkout\s+(?:--|\.|HEAD|\S*/)|reset\s+--hard|revert|clean|stash)\b"
)
_NEXT: Final = 1
"""Messages of the person from one objection to the next, if they belong together."""
_UNDONE_WITHIN: Final = 2
"""Messages of the person after which an undo no longer belongs to their objection."""


class _Missed(NamedTuple):
    """A thing that the model used only after an objection, although `known` had shown it before.

    `turn` is the number of the objection, `again` the message that uses it.
    """

    thing: str
    known: MessageFacts
    turn: int
    again: MessageFacts


def objections(scene: Scene) -> Iterator[Finding]:
    """Find files and names that the model had known, and came back to only after an objection."""
    files, names = _missed_files(scene), _missed_names(scene)
    undone = _undone(scene)
    with_file = {each.turn for times in files.values() for each in times}
    for together in _neighbours(files):
        times = [each for path in together for each in files[path]]
        turns = {each.turn for each in times}
        also = [each.thing for each in names if each.turn in turns]
        seen = [f"{split_path(path)[-1]} (#{files[path][0].known.seq})" for path in together]
        what = f"the model worked without the content of {listed(seen)}, which it had seen before"
        more = _objections_that_go_on(scene, times, with_file)
        is_repeated = any(len({each.turn for each in files[path]}) > 1 for path in together)
        yield _objected(scene, what, times, [*together, *also], undone, more=more, is_repeated=is_repeated)
    yield from _incomplete(scene, with_file)
    for turn in dict.fromkeys(each.turn for each in names if each.turn not in with_file):
        times = [each for each in names if each.turn == turn]
        some = ", ".join(dict.fromkeys(each.thing for each in times[:_LISTED]))
        what = f"the model no longer knew of {some} (#{times[0].known.seq})"
        yield _objected(scene, what, times, [each.thing for each in times], undone)


def _neighbours(files: Mapping[str, Sequence[_Missed]]) -> list[list[str]]:
    """Return together the files that a person named in one message, or in one after another."""
    groups: list[list[str]] = []
    last = -_NEXT - 1
    for path in sorted(files, key=lambda each: files[each][0].turn):
        if files[path][0].turn - last > _NEXT:
            groups.append([])
        groups[-1].append(path)
        last = max(last, *(each.turn for each in files[path]))
    return groups


def _objections_that_go_on(scene: Scene, times: Sequence[_Missed], explained: set[int]) -> list[int]:
    """Return the turns that object again, naming nothing, while the model is at the files."""
    paths = {each.thing for each in times}
    files = FileContents(scene.paths, scene.facts)
    found: list[int] = []
    for number in sorted({each.turn for each in times}):
        for following in range(number + 1, len(scene.turns)):
            turn = scene.turns[following]
            calls = [each for each in scene.turns[following - 1].messages if each.calls]
            if (
                following in explained
                or not turn.is_objection
                or (turn.person and any(places_in([turn.person])))
            ):
                break
            if not calls or paths.isdisjoint(files.touched_by(calls[-1])):
                break
            found.append(following)
    return found


def _objected(
    scene: Scene,
    what: str,
    times: Sequence[_Missed],
    names: list[str],
    undone: dict[int, _Undone],
    *,
    more: Sequence[int] = (),
    is_repeated: bool = False,
) -> Finding:
    turns = {*(each.turn for each in times), *more}
    objected = refs(scene.turns[turn].person for turn in turns)
    last = max(turns)
    undo = next((undone[turn] for turn in range(last, last + _UNDONE_WITHIN + 1) if turn in undone), None)
    sentence = f"{what}, until you stepped in ({', '.join(f'#{each.seq}' for each in objected)})"
    if undo:
        sentence += f"; {undo.file}, which it had written meanwhile, was undone (#{undo.message.seq})"
    return Finding(
        kind="objection",
        weight="serious" if undo or is_repeated else "minor",
        sentence=f"{sentence}.",
        known=refs(each.known for each in times),
        trouble=[*objected, *refs([*(each.again for each in times), undo.message if undo else None])],
        names=list(dict.fromkeys(names)),
    )


_FEWEST_SIBLINGS: Final = 2


def _incomplete(scene: Scene, explained: set[int]) -> Iterator[Finding]:
    """Find objections about a folder of which the model had used a part, and then used more."""
    used: dict[str, dict[tuple[MentionKind, str], MessageFacts]] = {}
    for number, turn in enumerate(scene.turns):
        if turn.person is not None and turn.is_objection and number not in explained:
            for folder in {folder_of(f"{value.rstrip('/')}/x") for _, value in places_in([turn.person])}:
                known = scene.known_places.get(folder, {})
                lost = [
                    thing for thing in known if thing not in used.get(folder, {}) and scene.is_lost(*thing)
                ]
                goes_on = any(
                    folder_of(value) == folder and (kind, value) not in used.get(folder, {})
                    for kind, value in places_in(turn.messages)
                )
                if folder in used and len(lost) >= _FEWEST_SIBLINGS and goes_on:
                    some = ", ".join(split_path(value)[-1] for _, value in lost[:_LISTED])
                    last = list(used[folder].values())[-1]
                    yield Finding(
                        kind="objection",
                        weight="serious",
                        sentence=f"the model used only a part of {folder} (#{last.seq}): it no longer knew of"
                        f" {some} (#{known[lost[0]].seq}), until you stepped in (#{turn.person.seq}).",
                        known=refs(known[thing] for thing in lost),
                        trouble=refs([last, turn.person]),
                        names=[value for _, value in lost],
                    )
        for message in turn.messages:
            for thing in places_in([message]) if message.role == "assistant" else ():
                used.setdefault(folder_of(thing[1]), {})[thing] = message


def _missed_files(scene: Scene) -> dict[str, list[_Missed]]:
    known = FileContents(scene.paths, scene.facts).extend(scene.earlier)
    shown = FileContents(scene.paths, scene.facts).extend(scene.after)
    restored = known.newest(scene.restored_files, _LEAST_CONTENT)
    missed: dict[str, list[_Missed]] = {}
    for number, turn in enumerate(scene.turns):
        seen = set[str](restored)
        for message in turn.messages if turn.is_objection else ():
            for path in shown.touched_by(message):
                view = known.largest.get(path)
                if path in seen or view is None or view.size < _LEAST_CONTENT:
                    continue
                seen.add(path)
                if 2 * shown.shown.get(path, 0) < view.size and _names(turn.prose, path, scene.paths):
                    missed.setdefault(path, []).append(_Missed(path, view.message, number, message))
        shown.extend(turn.messages)
    return missed


_APART: Final = re.compile(r"[^a-z0-9]+")
_WORDS: Final = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")


def _names(prose: str, path: str, paths: PathIndex) -> bool:
    """Return True if a person names a file: by a path, or by two words or more of its name."""
    stem, dot, _ = split_path(path)[-1].rpartition(".")
    if not dot:
        return False
    if any(
        paths.longest_form(each.value) == path for each in mentions(prose) if each.kind is MentionKind.PATH
    ):
        return True
    return len(_WORDS.findall(stem)) > 1 and _APART.sub("", stem.lower()) in _APART.sub("", prose.lower())


def _missed_names(scene: Scene) -> list[_Missed]:
    """Return names that the model used again only after an objection about the same thing."""
    missed: list[_Missed] = []
    met = set[tuple[MentionKind, str]]()
    for number, turn in enumerate(scene.turns):
        words = words_of(turn.prose) if turn.is_objection else frozenset()
        for act in turn.messages if words else ():
            named = act.visible_mentions if act.role == "assistant" else {}
            lost = [
                (kind, value)
                for kind in _NAMES
                for value in named.get(kind, ())
                if (kind, value) not in met and scene.is_lost(kind, value)
            ]
            for kind, value in lost:
                known = scene.first_known(kind, value)
                if known and len(words & _words_about(value, known)) >= _COMMON_WORDS:
                    missed.append(_Missed(value, known, number, act))
        for message in (turn.person, *turn.messages):
            if message is not None:
                met.update((kind, value) for kind, values in message.mentions.items() for value in values)
    return missed


def _words_about(name: str, message: MessageFacts) -> frozenset[str]:
    """Return the words around a name in a message in prose; results and summaries have none."""
    if message.role not in ("assistant", "user"):
        return frozenset()
    prose = " ".join(message.texts)[:_LONGEST_PROSE]
    places = (found.start() for found in re.finditer(re.escape(name), prose))
    return words_of(" … ".join(prose[max(place - _AROUND, 0) : place + _AROUND] for place in places))


class _Undone(NamedTuple):
    """A call that undid the work on a file."""

    message: MessageFacts
    file: str


def _undone(scene: Scene) -> dict[int, _Undone]:
    """Return, by turn, the first call that undid a file written after the replacement."""
    undone: dict[int, _Undone] = {}
    written: dict[str, None] = {}
    for number, turn in enumerate(scene.turns):
        for message in turn.messages:
            for call in message.calls:
                for command in commands_of(call, message.tools):
                    if number in undone or not _UNDOES.match(command):
                        continue
                    named = [each.value for each in mentions(command) if each.kind is MentionKind.PATH]
                    lost = next(
                        (path for path in map(scene.paths.longest_form, named) if path in written), None
                    )
                    if lost:
                        undone[number] = _Undone(message, split_path(lost)[-1])
            written.update(dict.fromkeys(map(scene.paths.longest_form, message.modified)))
    return undone


class FileView(NamedTuple):
    """A message that shows a part of a file: the call if it is a result. `size` in characters."""

    path: str
    size: int
    message: MessageFacts


class _CallFiles(NamedTuple):
    """The files that a call is about; `written` characters of each are in its arguments."""

    id: str
    paths: tuple[str, ...]
    written: int


class FileContents:
    """The parts of files that messages have shown so far.

    `shown` has the characters of each file, `largest` the largest part that one message showed.
    """

    def __init__(self, paths: PathIndex, facts: SessionFacts) -> None:
        self._paths, self._facts = paths, facts
        self._calls: dict[str, tuple[str, ...]] = {}
        self.shown: dict[str, int] = {}
        self.largest: dict[str, FileView] = {}
        self.last_shown: dict[str, None] = {}

    def add(self, message: MessageFacts) -> list[FileView]:
        """Add the next message; return the parts of files that it shows."""
        views = list(self._views(message))
        for view in views:
            self.shown[view.path] = self.shown.get(view.path, 0) + view.size
            self.last_shown.pop(view.path, None)
            self.last_shown[view.path] = None
            if view.path not in self.largest or view.size > self.largest[view.path].size:
                self.largest[view.path] = view
        return views

    def extend(self, messages: Iterable[MessageFacts]) -> FileContents:
        """Add messages; return self."""
        for message in messages:
            self.add(message)
        return self

    def newest(self, count: int, least: int) -> list[str]:
        """Return the files shown last, of those with at least `least` characters in one message."""
        return (
            [path for path in self.last_shown if self.largest[path].size >= least][-count:] if count else []
        )

    def touched_by(self, message: MessageFacts) -> list[str]:
        """Return the files that a message's calls are about."""
        calls = self._facts.derive(_files_of_calls, message) if message.calls else []
        return [self._paths.longest_form(path) for call in calls for path in call.paths]

    def _views(self, message: MessageFacts) -> Iterator[FileView]:
        for call in self._facts.derive(_files_of_calls, message) if message.calls else ():
            paths = tuple(dict.fromkeys(map(self._paths.longest_form, call.paths)))
            self._calls[call.id] = paths
            if call.written:
                for path in paths:
                    yield FileView(path, call.written, message)
        paths = self._calls.get(message.result_of, ())
        if paths and not message.is_error:
            size = sum(map(len, message.texts)) // len(paths)
            for path in paths:
                yield FileView(path, size, message)


def _files_of_calls(message: MessageFacts) -> list[_CallFiles]:
    found = []
    for call in message.calls:
        read, modified = files_of_call(call, message.tools)
        named = [
            mention.value
            for command in commands_of(call, message.tools)
            for mention in mentions(command)
            if mention.kind is MentionKind.PATH
        ]
        paths = tuple(dict.fromkeys([*read, *modified, *named]))
        if paths:
            found.append(_CallFiles(call.id, paths, len(call.arguments) if modified else 0))
    return found
