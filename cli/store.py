"""Find the store, the session and the event that the user means."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from eventstore.files.importing import ImportResult
    from eventstore.log import EventLog, Head, Snapshot, StoredLog
    from projections.audit.prices import Prices
    from projections.context.cursor import Leaf
    from projections.overview import Family, SessionFilter

_LONGEST: Final = 24
_WIDE: Final = 100
"""Columns from which whole ids of events fit."""
_RECOGNIZABLE: Final = 8
"""Minimum characters of a shortened id of an event."""
_SHORTEST: Final = 13
"""Minimum characters of a shortened id: the time part of a version 7 UUID."""


def newest_generation(names: Sequence[str]) -> str | None:
    """Return the newest generation if all names are of one session; otherwise None."""
    from eventstore.imports import generation_of

    if len({generation_of(name)[0] for name in names}) != 1:
        return None
    return max(names, key=lambda name: generation_of(name)[1])


def begin_with(beginning: str, names: Iterable[str]) -> list[str]:
    """Return the names that start with a prefix; `PREFIX~N` matches only generations N."""
    from eventstore.imports import generation_of

    names = list(names)
    if found := [name for name in names if name.startswith(beginning)]:
        return found
    start, wanted = generation_of(beginning)
    parts = ((name, *generation_of(name)) for name in names)
    return [name for name, base, number in parts if base.startswith(start) and number == wanted]


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Map names to unique short forms: a prefix of a long id, and `~N` for generations.

    A short name stays whole, and so does one that a unique prefix would not shorten enough. A subagent's session
    goes by the agent's name.
    """
    from eventstore.imports import generation_of

    parts = {name: generation_of(name) for name in names}
    counts = Counter(base for base, _ in parts.values())
    agents = Counter(_agent(base) for base in counts)
    own = _without_agents(list(counts))
    short = {base: _agent(base) if agents[_agent(base)] == 1 else base for base in counts} | _short(own)
    return {
        name: f"{short[base]}~{number}"
        if counts[base] > 1 and short[base] != base
        else short[base] + name[len(base) :]
        for name, (base, number) in parts.items()
    }


def _short(bases: Iterable[str]) -> dict[str, str]:
    ordered = sorted(bases)
    shown: dict[str, str] = {}
    for before, each, after in zip(["", *ordered], ordered, [*ordered[1:], ""], strict=False):
        needed = max(_SHORTEST, _shared(each, before) + 1, _shared(each, after) + 1)
        shown[each] = each[:needed] if needed <= _LONGEST < len(each) else each
    return shown


def _shared(one: str, other: str) -> int:
    """Return the length of the common prefix of two texts."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def unique_prefix(snapshot: Snapshot, session: str, event_id: str) -> str:
    """Return the shortest unique beginning of an event's id that is long enough to recognize."""
    length = _RECOGNIZABLE
    while length < len(event_id) and len(list(islice(snapshot.ids(session, event_id[:length]), 2))) > 1:
        length += 1
    return event_id[:length]


def fitted_id(snapshot: Snapshot, session: str, event_id: str, width: int) -> str:
    """Return an event's id for a terminal of `width` columns: on a narrow one a unique prefix."""
    return event_id if width >= _WIDE else unique_prefix(snapshot, session, event_id)


_LONGEST_NUMBER: Final = 20
"""Maximum characters of `#N` that can be an event number."""


def store_path(store: str | None) -> str:
    """Return the store's folder: as given, or in the platform's data directory."""
    if store:
        return store
    from eventstore.user_folders import user_folder

    return os.path.join(user_folder("data"), "store")


@contextmanager
def opened(ctx: click.Context, *, create: bool = False, writes: bool = False) -> Iterator[StoredLog]:
    """Open the store that the command line names, and close it at the end of the block.

    It is for reading unless it `writes`, or may `create` the store.
    """
    from eventstore import open_store

    read_only = not (create or writes)
    with open_store(store_path(ctx.obj), create=create, read_only=read_only) as log:
        yield log


@contextmanager
def opened_session(ctx: click.Context, name: str, *, writes: bool = False) -> Iterator[tuple[StoredLog, str]]:
    """Open the store, and resolve a session name in it; a file is imported first."""
    is_file = looks_like_file(name)
    with opened(ctx, create=is_file, writes=writes) as log:
        session = resolve_session(log, name)
        with explain_missing(log, session):
            yield log, session


@contextmanager
def explain_missing(log: StoredLog, session: str) -> Iterator[None]:
    """Explain a missing event by damage, else name the command that lists the events.

    Raises CorruptionError, NotFoundError.
    """
    from eventstore.checked import require_sound
    from eventstore.errors import NotFoundError, shell_command

    try:
        yield
    except NotFoundError as error:
        if error.what != "event":
            raise
        require_sound(log, session)
        listed = f"take an id or #N from: {shell_command('log', session)}"
        raise NotFoundError(error.what, error.name, listed) from None


def looks_like_file(name: str) -> bool:
    """Return True if a session name should be read as a file path."""
    return os.sep in name or name.endswith((".jsonl", ".json")) or os.path.isfile(name)


def new_session_name() -> str:
    """Return a name for a session that continues another one."""
    from eventstore.event import random_id

    return f"handoff-{random_id()}"


def check_new_name(name: str) -> str:
    """Return the id for a new session. Raises BadInputError for one that looks like a file."""
    from eventstore.append import check_new_session
    from eventstore.errors import BadInputError

    if os.path.isfile(check_new_session(name)):
        raise BadInputError(f"session {name!r}", "the name looks like a file path", "choose another name")
    return name


def chosen_names(log: StoredLog, chosen: SessionFilter | None = None) -> list[str]:
    """Return the ids of the chosen sessions and their subagents, by default of all, sorted.

    Earlier generations are left out. Sessions that hold answers of replays are left out, too.
    """
    from eventstore.imports import earlier_generations
    from projections.overview import holds_answers

    if chosen is None or chosen.is_empty:
        with log.snapshot() as snapshot:
            earlier = earlier_generations(snapshot)
            return [
                head.name for head in snapshot.heads() if head.name not in earlier and not holds_answers(head)
            ]
    return sorted(each.name for family in chosen_sessions(log, chosen) for each in family.counted)


def chosen_sessions(
    log: EventLog, chosen: SessionFilter, *, prices: Prices | None = None, with_answers: bool = False
) -> list[Family]:
    """Return the chosen sessions with their subagents, those with the newest entry last.

    Without `with_answers`, none of those that hold answers of replays.
    """
    from cli.output import progress_bar
    from projections.overview import holds_answers, overviews

    with progress_bar("reading sessions") as progress:
        found = chosen.chosen(overviews(log, prices=prices, progress=progress))
    found = [each for each in found if with_answers or not holds_answers(each.overview.head)]
    return sorted(found, key=lambda family: family.ended or 0)


def resolve_session(log: EventLog, name: str) -> str:
    """Return a session's id, given `@last`, an id or its prefix, a file, an agent or a title.

    A session without a title has its first request instead. A prefix of a session and of its subagents
    means the session. These are tried in this order. If a name could mean several generations of one session, it
    means the newest, and a note says so; `PREFIX~N` is the Nth.
    Raises NotFoundError, AmbiguousError, and for a file what an import raises.
    """
    from cli.output import echo_note
    from eventstore.errors import AmbiguousError, BadInputError, NotFoundError

    with log.snapshot() as snapshot:
        if name != "@last" and _is_session(snapshot, name):
            return name
        heads = list(snapshot.heads())
        names = [head.name for head in heads]
        readable = [head.name for head in heads if head.version]
        if name == "@last" and heads:
            return _newest_session(snapshot, heads)
        is_file = looks_like_file(name)
        if not is_file and name:
            found = _without_agents(begin_with(name, names))
            found = found or [each for each in names if _agent(each).startswith(name)]
            found = found or _titled(snapshot, name, readable)
            if newest := newest_generation(found):
                if len(found) > 1:
                    echo_note(
                        f"{name!r} is {newest!r}, the newest of {len(found):,} generations of the session"
                    )
                return newest
            if found:
                raise AmbiguousError("session", name, found)
    if is_file:
        found_in_file = {each.id: each for each in import_with_progress(log, name)}
        first, *others = _without_agents(list(found_in_file))
        if others:
            ids = ", ".join([first, *others][:_NAMED]) + ", …" * (len(others) >= _NAMED)
            raise BadInputError(name, f"holds {len(others) + 1:,} sessions ({ids})", "name one of them")
        imported = found_in_file[first]
        note_remarks(name, imported)
        note_more_in_store(log, name, imported)
        return imported.id
    if name and os.path.isdir(name):
        remedy = "this is a folder: name a session file in it"
    else:
        remedy = (
            f"'refold sessions' lists the sessions{_similar_titles(log, name, readable)}"
            if names
            else "the store is empty: run refold sync"
        )
    raise NotFoundError("session", name, remedy)


def _newest_session(snapshot: Snapshot, heads: Sequence[Head]) -> str:
    """Return the session that was written last and is no subagent's, if there is one."""
    from eventstore.imports import origin_of

    # Answers that a replay keeps are in no tree.
    newest_first = sorted(heads, key=lambda head: (head.entries > 0, head.position), reverse=True)
    sessions = (head.name for head in newest_first if not origin_of(snapshot, head.name, "subagent"))
    return next(sessions, newest_first[0].name)


def _similar_titles(log: EventLog, name: str, names: Sequence[str]) -> str:
    """Return the end of a message that lists titles like an unknown name; "" for none."""
    from difflib import get_close_matches

    from cli.output import one_line
    from projections import descriptions

    with log.snapshot() as snapshot:
        titles = dict.fromkeys(descriptions.heading(snapshot, each) for each in names)
    shown = {title.casefold(): title for title in titles if title}
    wanted = name.casefold()
    close = get_close_matches(wanted, shown, _CLOSE) or [each for each in shown if wanted and wanted in each]
    found = ", ".join(repr(one_line(shown[each], _LONGEST_TITLE)) for each in close[:_CLOSE])
    return f"; titles like it: {found}" if found else ""


def _titled(snapshot: Snapshot, title: str, names: Sequence[str]) -> list[str]:
    from projections import descriptions

    return [each for each in names if descriptions.heading(snapshot, each) == title]


def _agent(name: str) -> str:
    """Return a subagent's own name in that of its session, `SESSION/AGENT`."""
    return name.rpartition("/")[2]


def _without_agents(names: Sequence[str]) -> list[str]:
    """Leave out sessions of subagents whose parent is among them: their ids extend its own."""
    known = set(names)
    return [each for each in names if each.rpartition("/")[0] not in known]


def _is_session(snapshot: Snapshot, name: str) -> bool:
    from eventstore.errors import NotFoundError

    try:
        snapshot.head(name)
    except NotFoundError:
        return False
    return True


def resolve_leaf(snapshot: Snapshot, session: str, name: str | None) -> Leaf:
    """Return the leaf that the user means: an entry, `root`, or by default the session's leaf.

    Raises NotFoundError, AmbiguousError.
    """
    from eventstore.errors import no_entry
    from eventstore.paths import event
    from projections.context.cursor import ROOT

    if name is None:
        return None
    if name == "root":
        return ROOT
    leaf = resolve_event(snapshot, session, name)
    if not (found := event(snapshot, session, snapshot.locate(session, leaf))).is_entry:
        raise no_entry(name, found.parent_seq)
    return leaf


def _is_number(text: str) -> bool:
    """Return True for a text that can be the number of an event."""
    return text.isascii() and text.isdecimal() and len(text) < _LONGEST_NUMBER


def resolve_event(snapshot: Snapshot, session: str, name: str) -> str:
    """Return the id of an event, given as id, `#N`, label, or unique prefix of an id.

    These are tried in this order. A note tells who leaves out the `#` of a number how to write it.
    Raises NotFoundError, AmbiguousError.
    """
    from cli.output import echo_note
    from eventstore.errors import AmbiguousError, no_event
    from eventstore.paths import event
    from projections.tree import labels_of

    if snapshot.locate(session, name):
        return name
    if name.startswith("#") and _is_number(name[1:]):
        return event(snapshot, session, int(name[1:])).id
    labelled = [target for target, label in labels_of(snapshot, session).items() if label == name]
    found = [target for target in labelled if snapshot.locate(session, target)]
    kind = "a label" if found else "the beginning of an id"
    found = found or (list(snapshot.ids(session, name)) if name else [])
    if _is_number(name) and 0 < int(name) <= snapshot.head(session).version:
        echo_note(f"{name!r} is read as {kind if found else 'an id'}; event number {name} is '#{name}'")
    if len(found) == 1:
        return found[0]
    if found:
        raise AmbiguousError("event", name, found)
    raise no_event(session, name)


_WORTH_A_BAR = 4 << 20
_CLOSE: Final = 3
_LONGEST_TITLE: Final = 60
"""Maximum number of similar titles in a message, and of their characters."""
_NAMED = 5
"""Maximum number of a file's sessions to name."""


def import_with_progress(log: EventLog, path: str) -> list[ImportResult]:
    """Import the sessions of a file, with a progress bar for a large one on a terminal.

    Raises BadInputError, and its subclass ForeignSessionError for a session of another harness.
    """
    from pathlib import Path

    from eventstore.files.importing import import_sessions

    file = Path(path)
    if not sys.stderr.isatty() or not file.is_file() or file.stat().st_size < _WORTH_A_BAR:
        return import_sessions(log, path)
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    from cli.output import error_console, one_line

    text = TextColumn("{task.description}", markup=False)
    columns = (text, BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=error_console(), transient=True) as bar:
        task = bar.add_task(f"importing {one_line(file.name, 40)}", total=file.stat().st_size)
        return import_sessions(log, path, progress=lambda done, _: bar.update(task, completed=done))


def note_remarks(path: str, imported: ImportResult) -> None:
    """Print one line on stderr if a session in a file that was imported implicitly had problems."""
    from cli.output import command_line, echo_note

    if facts := remarks_on(imported):
        echo_note(f"{path}: {', '.join(facts)}; to list them: {command_line('sync', path)}")


def note_remarks_of_many(imported: Sequence[tuple[str, ImportResult]]) -> None:
    """Print such lines for sessions that had problems, each given with its file's path."""
    from cli.output import counted, echo_note

    for path, each in imported[:_NAMED]:
        note_remarks(path, each)
    if more := imported[_NAMED:]:
        echo_note(f"{counted(len(more), 'more session')} with such lines; sync their files to list them")


def remarks_on(imported: ImportResult) -> list[str]:
    """Count a file's problem lines by kind, each kind as a text."""
    from cli.output import counted

    facts = [
        f"{counted(lines, 'line')} {what}"
        for remarks, what in (
            (imported.skipped, "skipped"),
            (imported.differs_from_harness, "read differently by the harness"),
            (imported.orphans, "with a missing parent, where contexts start"),
            (imported.not_utf8, "not in UTF-8"),
            (imported.inserted, "added to a branch of their own"),
        )
        if (lines := sum(remark.line > 0 for remark in remarks))
    ]
    facts += ["both the session and the file have grown: the leaf stays"] if imported.diverged else []
    facts += [f"the leaf is on another branch: the file lacks {imported.left!r}"] if imported.left else []
    return facts


def note_more_in_store(log: EventLog, path: str, imported: ImportResult) -> None:
    """Print one line on stderr if a file holds less than its session in the store."""
    from cli.output import counted, echo_note

    with log.snapshot() as snapshot:
        entries = snapshot.head(imported.id).entries
    if imported.events < entries:
        echo_note(
            f"{path}: holds {imported.events:,} of the {counted(entries, 'entry', 'entries')} that the store has for "
            f"session {imported.id!r}; all of them are used"
        )
