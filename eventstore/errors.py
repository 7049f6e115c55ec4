"""Define the errors that refold raises on purpose; each carries data and a remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class RefoldError(Exception):
    """The base of all errors that refold raises on purpose; its text is one line.

    `attempt` is the id of the record that was appended about it, "" for none.
    """

    attempt = ""

    def __reduce__(self) -> tuple[Callable[..., RefoldError], tuple[object, ...]]:
        # Errors of other processes arrive whole: an error's arguments are not those of its constructor.
        return _rebuilt, (type(self), self.args, self.__dict__)

    @property
    def lines(self) -> list[str]:
        """The error's text in lines, one for each problem."""
        return [str(self)]


def _rebuilt(
    kind: type[RefoldError], arguments: tuple[object, ...], fields: dict[str, object]
) -> RefoldError:
    error = kind.__new__(kind, *arguments)
    error.args = arguments
    error.__dict__.update(fields)
    return error


class StoreError(RefoldError):
    """A folder cannot be used as a store: not one, truncated, too new, closed, or full."""

    def __init__(self, path: str, problem: str, remedy: str) -> None:
        self.path, self.problem, self.remedy = path, problem, remedy
        super().__init__(f"{path}: {problem}; {remedy}")


class StoreOptionsError(StoreError):
    """A store is already open in this process with another value of `option` than `wanted`."""

    def __init__(self, path: str, option: str, opened: object, wanted: object) -> None:
        self.option, self.opened, self.wanted = option, opened, wanted
        super().__init__(
            path,
            f"is open in this process with {option} {opened!r}, not {wanted!r}",
            "open it with the same options, or close it first",
        )


class NotFoundError(RefoldError):
    """A session, event or blob is not in the store."""

    def __init__(self, what: str, name: str, remedy: str) -> None:
        self.what, self.name, self.remedy = what, name, remedy
        super().__init__(f"no {what} {name!r}; {remedy}")


def shell_command(command: str, *names: str) -> str:
    """Return a refold command to show to people, quoted for a shell.

    `command` follows `refold` and includes options. Names that look like options are protected.
    """
    import shlex  # noqa: PLC0415  few runs fail

    guard = ["--"] if any(name.startswith("-") for name in names) else []
    return " ".join(["refold", command, *guard, *map(shlex.quote, names)])


def no_session(name: str) -> NotFoundError:
    """Return the error for a session that the store does not have, perhaps not yet."""
    return NotFoundError(
        "session", name, "name one that the store has; a new one is stored with its first message"
    )


def no_parent(name: str) -> NotFoundError:
    """Return the error for the missing parent of a new event."""
    return NotFoundError("parent entry", name, "append it to its session first, or name another parent")


def no_event(session: str, name: str) -> NotFoundError:
    """Return the error for an unknown event id, or "#" and an unknown event number."""
    return NotFoundError(
        "event", name, f"name an event of session {session!r} by its id, or by its number, such as '#1'"
    )


def no_entry(name: str, leaf: int) -> NotFoundError:
    """Return the error for an event that is no entry; `leaf` is that of its time, 0 for none."""
    near = f"'#{leaf}'" if leaf else "root"
    return NotFoundError("entry", name, f"this event is not in the tree: choose an entry, such as {near}")


class AmbiguousError(RefoldError):
    """A prefix, title or label matches several things."""

    def __init__(self, what: str, name: str, candidates: list[str]) -> None:
        self.what, self.name, self.candidates = what, name, candidates
        shown = ", ".join(candidates[:5]) + (", …" if len(candidates) > 5 else "")  # noqa: PLR2004
        super().__init__(
            f"{what} {name!r} is ambiguous ({shown}); give one of these ids, or more of its characters"
        )


class VersionConflictError(RefoldError):
    """A session has another version than an append expected, after so many tries."""

    def __init__(self, session: str, expected: int | str, actual: int, *, tries: int = 1) -> None:
        self.session, self.expected, self.actual, self.tries = session, expected, actual, tries
        once = (
            f"session {session!r} is at version {actual}, not {expected}; read what is new, then append again"
        )
        often = (
            f"session {session!r} grew during each of {tries} tries, to version {actual}; "
            "try again when others append less often"
        )
        super().__init__(once if tries == 1 else often)


class EventConflictError(RefoldError):
    """An event's id already exists in the session with other content."""

    def __init__(self, session: str, event_id: str) -> None:
        self.session, self.event_id = session, event_id
        super().__init__(
            f"session {session!r} already has event {event_id!r} with different content; use a new id"
        )


class BadInputError(RefoldError):
    """A file or record cannot be parsed."""

    def __init__(self, source: str, problem: str, remedy: str, *, line: int | None = None) -> None:
        self.source, self.problem, self.remedy, self.line = source, problem, remedy, line
        where = source if line is None else f"{source}:{line}"
        super().__init__(f"{where}: {problem}; {remedy}")


class NoSessionError(BadInputError):
    """A file holds no session of any harness that refold reads."""


class NoSessionYetError(BadInputError):
    """A harness has made a session's file, and written none of its conversation."""


class CorruptionError(RefoldError):
    """Stored bytes differ from those that were appended.

    `seq` is 0 if no single event is concerned, `session` is "" if no single session is.
    """

    def __init__(self, session: str, seq: int, problem: str) -> None:
        self.session, self.seq, self.problem = session, seq, problem
        where = f"session {session!r}" if session else "the store"
        if seq:
            where += f", event {seq}"
        super().__init__(f"{where}: {problem}; run 'refold verify', then restore a backup")
