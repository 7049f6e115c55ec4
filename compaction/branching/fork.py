"""Copy a branch of a session, or the whole tree, into a new session."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from eventstore import paths
from eventstore.checked import checked
from eventstore.errors import BadInputError, EventConflictError, NotFoundError, VersionConflictError
from eventstore.event import NewEvent, Parent, epoch_milliseconds, random_id
from eventstore.harnesses import as_new, node_of
from eventstore.harnesses.refold.events import compose
from eventstore.kinds import is_entry
from eventstore.log import EventLog, Snapshot
from eventstore.node import LabelView
from eventstore.paths import entry_id
from eventstore.records import Link
from projections.context.cursor import Cursor, Leaf, resolve_cursor
from projections.rules import beside_path


class ForkResult(msgspec.Struct, frozen=True, kw_only=True):
    """A new session and its origin: the entry `leaf` of `parent`, None for the root.

    `entries` counts the entries of its tree.
    """

    session: str
    parent: str
    leaf: str | None
    entries: int


def fork(
    log: EventLog,
    session: str,
    *,
    name: str | None = None,
    leaf: Leaf = None,
    whole: bool = False,
    clock: Callable[[], int] = epoch_milliseconds,
    new_id: Callable[[], str] = random_id,
) -> ForkResult:
    """Copy the path to a leaf, or the `whole` tree, into a new session.

    The old session stays unchanged. Entries keep ids, parents, times, causes and bytes, so that every context
    on them is the same. Labels and the title that were set elsewhere in the tree are appended after the leaf.
    Off-path events (imports, decisions) are not copied; a `link` names the origin. All of it is one append.

    Without a `name` the session gets a new id as its name. Raises NotFoundError, and BadInputError for a name
    in use or a leaf of a whole session.
    """
    if whole and leaf is not None:
        problem = "its leaf is always the session's"
        raise BadInputError("fork of a whole session", problem, "omit the leaf, or fork one branch")
    # A copy starts a new digest chain, which would make damaged events look intact.
    with checked(log) as snapshot:
        cursor = resolve_cursor(snapshot, session, leaf=leaf)
        chosen = _free_name(snapshot, new_id) if name is None else name
        if _exists(snapshot, chosen):
            raise _taken(chosen)
        origin = entry_id(snapshot, session, cursor.leaf)
        kept = _with_what_undos_reach(snapshot, session, _entries(snapshot, cursor, is_whole=whole))
        events = [*_copies(snapshot, session, kept), *_set_elsewhere(snapshot, session, kept)]
    taken = {event.id for event in events}
    link_id = next(candidate for candidate in iter(new_id, None) if candidate not in taken)
    link = compose(Link(relation="fork", session=session, event=origin or ""), id=link_id, time=clock())
    try:
        log.append(chosen, [link, *events], expected="new")
    except (VersionConflictError, EventConflictError):
        # Another process took the name after the check.
        raise _taken(chosen) from None
    entries = sum(is_entry(event.kind) for event in events)
    return ForkResult(session=chosen, parent=session, leaf=origin, entries=entries)


def _exists(snapshot: Snapshot, name: str) -> bool:
    try:
        snapshot.head(name)
    except NotFoundError:
        return False
    return True


def _free_name(snapshot: Snapshot, new_id: Callable[[], str]) -> str:
    return next(candidate for candidate in iter(new_id, None) if not _exists(snapshot, candidate))


def _taken(name: str) -> BadInputError:
    return BadInputError(f"session {name!r}", "already exists", "choose another name for the fork")


def _entries(snapshot: Snapshot, cursor: Cursor, *, is_whole: bool) -> set[int]:
    """Return the sequence numbers of the entries of a path, or of the whole tree."""
    if not is_whole:
        on_path = list(paths.path(snapshot, cursor.session, cursor.leaf))
        # Contexts of the path show those beside it, too.
        return {entry.seq for entry in (*on_path, *beside_path(snapshot, on_path))}
    return {each.seq for each in paths.events(snapshot, cursor.session) if each.is_entry}


def _with_what_undos_reach(snapshot: Snapshot, session: str, kept: set[int]) -> set[int]:
    """Add to `kept` the entries through which its undos reach others of it.

    An undo names one event of an append and undoes all of it. If that event lies on another branch, it must
    be copied, or the undo would have no effect.
    """
    entries = [paths.event(snapshot, session, seq) for seq in kept]
    named = {entry.target_seq for entry in entries if entry.kind == "undone"} - kept - {0}
    if not named:
        return kept
    appends = {entry.append for entry in entries}
    reached = {seq for seq in named if paths.append_with(snapshot, session, seq) in appends}
    above = {entry.seq for seq in reached for entry in paths.path(snapshot, session, seq)}
    return kept | reached | above


def _copies(snapshot: Snapshot, session: str, kept: set[int]) -> Iterator[NewEvent]:
    """Yield the kept entries and their later changes by the harness, in order."""
    for each in paths.events(snapshot, session):
        is_of_kept = each.target_seq in kept
        if each.seq in kept or (is_of_kept and each.kind == "observed_rewrite"):
            event = each.decode()
            target = entry_id(snapshot, session, event.target_seq) if is_of_kept else None
            yield as_new(event, parent=event.parent, target=target)


def _set_elsewhere(snapshot: Snapshot, session: str, kept: set[int]) -> Iterator[NewEvent]:
    """Return the labels of kept entries and the title that other branches set, in order.

    As in pi, the newest one in the log counts, whatever its branch.
    """
    newest: dict[str, tuple[paths.LazyEvent, LabelView]] = {}
    labelled_within: set[str] = set()
    for event in paths.events_of_kinds(snapshot, session, {"label"}):
        label = node_of(event).label
        if label and snapshot.locate(session, label.target) in kept:
            newest[label.target] = event, label
            if event.seq in kept:
                labelled_within.add(label.target)
    found = [
        (event.seq, as_new(event.decode(), parent=Parent.LEAF, target=target))
        for target, (event, label) in newest.items()
        if event.seq not in kept and (label.label or target in labelled_within)
    ]
    info_seq = snapshot.head(session).info_seq
    if info_seq and info_seq not in kept:
        info = paths.event(snapshot, session, info_seq).decode()
        found.append((info_seq, as_new(info, parent=Parent.LEAF, target=None)))
    return (copy for _, copy in sorted(found, key=lambda each: each[0]))
