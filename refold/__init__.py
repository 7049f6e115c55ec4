"""Open a store, write sessions, rebuild and compact their contexts.

    import refold

    with refold.open("store") as store:
        session = store.new()
        session.append({"role": "user", "content": "What is in here?"})
        print(session.context().messages())

For everything else, pass `store.log` and a session's `id` to the functions of `eventstore`, `projections` and
`compaction`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from importlib import import_module
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Protocol, Self

import msgspec

from compaction.part import DEFAULT_POLICY, DEFAULT_WINDOW
from eventstore import SessionWriter, export_original, import_sessions, open_store
from eventstore.append import check_new_session
from eventstore.errors import (
    AmbiguousError,
    BadInputError,
    CorruptionError,
    EventConflictError,
    NoSessionError,
    NoSessionYetError,
    NotFoundError,
    RefoldError,
    StoreError,
    StoreOptionsError,
    VersionConflictError,
)
from eventstore.event import epoch_milliseconds
from eventstore.files.discovery import ForeignSessionError
from eventstore.files.exporting import export_formats
from eventstore.harnesses import node_of
from eventstore.harnesses.refold.messages import PROVIDER, stored_messages
from eventstore.log import Snapshot
from eventstore.views import ToolCall
from eventstore.writing import message_record
from projections.context.build import build_context
from projections.context.cursor import ROOT, Leaf, newest_first, resolve_cursor
from projections.context.parts import Context as RecordedContext
from projections.harness_file import harness_file
from projections.tokens import counter

if TYPE_CHECKING:
    from anthropic.types import Message, MessageParam

    from compaction.branching.move import AppendedMove, StaleSummaryError
    from compaction.compactor import CompactionResult, Compactor
    from compaction.maintainer import Recommendation
    from compaction.policy.load import InvalidPolicyError
    from compaction.policy.model import Policy
    from compaction.processes import ProgramError
    from compaction.prompts import Prompt
    from compaction.replay.model_answers import BudgetError
    from compaction.summarizers import (
        Answer,
        Cancellation,
        CancelledError,
        Summarizer,
        SummarizerError,
    )
    from compaction.summarizers.chain import SummarizersFailedError
    from compaction.validation import InvalidInputError
    from eventstore.javascript import TooDeepError
    from eventstore.lmdb.environment import Durability
    from eventstore.log import StoredLog
    from eventstore.transfer import DivergedError
    from projections.audit.session import Audit
    from projections.tree import Tree

__all__ = [
    "ROOT",
    "AmbiguousError",
    "Answer",
    "BadInputError",
    "BudgetError",
    "Cancellation",
    "CancelledError",
    "Context",
    "CorruptionError",
    "DivergedError",
    "EventConflictError",
    "ForeignSessionError",
    "InvalidInputError",
    "InvalidPolicyError",
    "NoSessionError",
    "NoSessionYetError",
    "NotFoundError",
    "Policy",
    "ProgramError",
    "Prompt",
    "RefoldError",
    "Session",
    "StaleSummaryError",
    "Store",
    "StoreError",
    "StoreOptionsError",
    "Summarizer",
    "SummarizerError",
    "SummarizersFailedError",
    "TooDeepError",
    "VersionConflictError",
    "open",
]

_MODULES: Final = {
    "Answer": "compaction.summarizers",
    "BudgetError": "compaction.replay.model_answers",
    "ProgramError": "compaction.processes",
    "SummarizersFailedError": "compaction.summarizers.chain",
    "Cancellation": "compaction.summarizers",
    "CancelledError": "compaction.summarizers",
    "DivergedError": "eventstore.transfer",
    "InvalidInputError": "compaction.validation",
    "InvalidPolicyError": "compaction.policy.load",
    "StaleSummaryError": "compaction.branching.move",
    "Policy": "compaction.policy.model",
    "Prompt": "compaction.prompts",
    "Summarizer": "compaction.summarizers",
    "SummarizerError": "compaction.summarizers",
    "TooDeepError": "eventstore.javascript",
}
"""Names that are imported on first use: reading a session loads no summarizer."""

Api = Literal["anthropic", "openai-responses", "openai-chat"]
"""The APIs whose messages a context can be."""
_ORIGINAL: Final = "original"
_Window = Annotated[int, msgspec.Meta(ge=1)]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__all__", "__doc__", "__file__", "__name__", "__path__"]


def open(  # noqa: A001  refold.open is the name that a user expects
    path: str | os.PathLike[str], *, create: bool = True, durability: Durability = "each"
) -> Store:
    """Open the store in a folder; make it if it is not there and `create` is set.

    With `durability` "batch", appends of several threads share a flush to disk. Raises StoreError, and
    BadInputError for an argument of another type or value.
    """
    return Store(open_store(_path(path), create=_converted("create", create, bool), durability=durability))


def _path(path: str | os.PathLike[str]) -> str:
    """Return a path as a text. Raises BadInputError."""
    text: str = _converted("path", os.fspath(path) if isinstance(path, os.PathLike) else path, str)
    if not text or "\0" in text:
        problem = "it holds a null character" if text else "it is empty"
        raise BadInputError("argument 'path'", problem, "correct the call")
    return text


def _converted(name: str, value: Any, type_: Any) -> Any:
    """Return the value of an argument. Raises BadInputError if it is of another type."""
    try:
        return msgspec.convert(value, type_)
    except msgspec.ValidationError as error:
        raise BadInputError(f"argument {name!r}", str(error), "correct the call") from None


def _leaf(name: str, leaf: Leaf) -> Leaf:
    """Return the leaf that an argument names. Raises BadInputError for what can be no id."""
    return leaf if leaf is ROOT else _converted(name, leaf, str | None)


class Store:
    """A store of sessions. Close it, or use it in a `with` block; threads may share it.

    `log` is the log that the functions of `eventstore`, `projections` and `compaction` take.
    """

    def __init__(self, log: StoredLog) -> None:
        self.log = log

    def __repr__(self) -> str:
        return f"<Store {self.log.place!r}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __getitem__(self, id: str) -> Session:
        with self.log.snapshot() as snapshot:
            return Session(self, snapshot.head(_converted("id", id, str)).name)

    def __contains__(self, id: object) -> bool:
        try:
            return isinstance(id, str) and self[id] is not None
        except NotFoundError:
            return False

    def __iter__(self) -> Iterator[str]:
        """Yield the ids of all sessions, in order."""
        with self.log.snapshot() as snapshot:
            names = [head.name for head in snapshot.heads()]
        return iter(names)

    def new(self, id: str | None = None) -> Session:
        """Begin a session, with a random id by default; its first message stores it.

        Raises BadInputError for an id that another session has, and for one that is no name for a session: it is
        empty, begins with @ or #, holds a slash or a control character, or ends as the name of a session file.
        """
        if id is None:
            from uuid import uuid4

            return Session(self, str(uuid4()))
        check_new_session(_converted("id", id, str))
        if id in self:
            raise BadInputError(f"session {id!r}", "already exists", f"open it with store[{id!r}]")
        return Session(self, id)

    def import_file(self, path: str | os.PathLike[str]) -> Session:
        """Import a harness's session file, or what it has grown by since, and return its session.

        A file may hold sessions of subagents, too: the first is returned, all are in the store. Raises BadInputError.
        """
        return Session(self, import_sessions(self.log, _path(path))[0].id)

    def close(self) -> None:
        """Close the store. Closing it twice is fine."""
        self.log.close()


class Context(RecordedContext, frozen=True, kw_only=True):
    """The messages that a model is sent, with the event that each comes from: see `parts`."""

    def messages(self, api: Api = "anthropic") -> list[Any]:
        """Return the messages for a request to an API.

        For `anthropic` they are those of `client.messages.create`; for `openai-responses` the `input` of
        `client.responses.create`; for `openai-chat` the `messages` of `client.chat.completions.create`. They are valid
        for the API: a call without a result gets one, for example. Thinking goes back to the model that it is of,
        signature included. `projections.requests` also says what was repaired.
        """
        from projections.requests.anthropic import render
        from projections.requests.openai import render_chat, render_responses

        name = _converted("api", api, Api)
        used = self.settings.model
        if name == "anthropic":
            is_its_own = used is None or used.provider in (PROVIDER, msgspec.UNSET)
            body = render(self, model=None if is_its_own else "").body
        else:
            body = (render_chat if name == "openai-chat" else render_responses)(self).body
        found: list[Any] = msgspec.json.decode(body)["input" if name == "openai-responses" else "messages"]
        return found


class ClientObject(Protocol):
    """An object of a provider's client, such as a `Response` of the `openai` client."""

    def model_dump(self) -> dict[str, Any]:
        """Return the fields of the object."""


class Session:
    """One session of a store: append to it, look at it, compact it."""

    def __init__(self, store: Store, id: str) -> None:
        self.store, self.id = store, id
        self._log = store.log
        self._writer = SessionWriter(self._log, id)

    def __repr__(self) -> str:
        return f"<Session {self.id!r}>"

    def append(self, message: Message | MessageParam | ClientObject | Mapping[str, Any]) -> str:
        """Append a message below the newest entry, and return its id; it is on disk then.

        Takes an answer of the `anthropic` client as it comes, a `Response` of the `openai` client, or a dict with
        `role` and `content` in the shape of the Messages API or of refold's own records. Each tool result becomes an
        entry of its own; the id is that of the last. Raises BadInputError for a message that no request could carry;
        its `source` is the path of the block, as `message.content[1].text`.
        """
        records = [message_record(each) for each in stored_messages(message, self._tool_of)]
        return self._writer.append(*records)[-1]

    def context(self, *, as_of: int | None = None, leaf: Leaf = None) -> Context:
        """Rebuild what the model is sent: now, as of an earlier event's number, or at another entry.

        Raises NotFoundError, also for a new session without a message, and CorruptionError where the store is damaged.
        """
        at = _converted("as_of", as_of, Annotated[int, msgspec.Meta(ge=0)] | None)
        context = build_context(self._log, self.id, as_of=at, leaf=_leaf("leaf", leaf), readable=True)
        return Context(**msgspec.structs.asdict(context))

    def tree(self) -> Tree:
        """Return the session's entries as a tree."""
        from projections.tree import tree

        return tree(self._log, self.id)

    def audit(self) -> Audit:
        """Return what compactions and rewrites did, and what the session cost."""
        from projections.audit.session import audit

        return audit(self._log, self.id)

    def compact(
        self,
        policy: Policy | str | os.PathLike[str] = DEFAULT_POLICY,
        *,
        window: int = DEFAULT_WINDOW,
        summarizer: Summarizer | str | None = None,
    ) -> CompactionResult:
        """Replace older messages by a summary; the result's `reason` says why if it did not.

        `policy` is the name of one that comes with refold, the path of a TOML file, or a `Policy`. `window` is the
        model's context window in tokens, ≥ 1. `summarizer` writes the summary: one of refold's by its name, or your
        own. By default it is the policy's, else `anthropic` where its key is set, else `extractive`, which asks no
        model. Raises SummarizerError where no summary is to be had, NotFoundError for a name that nothing has, and
        BadInputError for a policy or a window that is none.
        """
        return self._compactor(policy, window, summarizer).compact(self._writer)

    def compact_if_due(
        self,
        policy: Policy | str | os.PathLike[str] = DEFAULT_POLICY,
        *,
        window: int = DEFAULT_WINDOW,
        summarizer: Summarizer | str | None = None,
    ) -> Recommendation:
        """Compact if the context has outgrown the policy's threshold: call it before each request.

        Take the arguments of `compact`. Apply the policy's rewrites first, then summarize. If the summary fails,
        `error` says why and the session is unchanged; after three failures in a row no more are tried.
        """
        from compaction.maintainer import Maintainer

        compactor = self._compactor(policy, window, summarizer)
        return Maintainer(compactor=compactor, now=epoch_milliseconds).before_request(self._writer)

    def move(self, to: Leaf) -> AppendedMove:
        """Go to another entry, or to `ROOT`; what is appended next goes below it.

        For a user's message the session stands above it then, and `move.editor_text` is its text. Raises
        NotFoundError.
        """
        from compaction.branching.move import go

        return go(self._writer, to if to is ROOT else _converted("to", to, str))

    def export(self, format: str = "pi") -> bytes:
        """Return the session as a pi file, or the exact bytes of the file it was imported from.

        `format` names a harness whose files refold writes, or is "original". Raises BadInputError for another, and if
        the file would lack something; raises NotFoundError where the original is asked of a session that was not
        imported.
        """
        if format == _ORIGINAL:
            return b"".join(export_original(self._log, self.id))
        if format not in (formats := [*export_formats()]):
            known = ", ".join([*sorted(formats), _ORIGINAL])
            raise BadInputError(f"format {format!r}", "is not known", f"use one of {known}")
        pieces, lost = harness_file(self._log, self.id, format)
        if lost:
            problem = f"a file of {format} would lack {sum(lost.values()):,} of its records and blocks"
            raise BadInputError(f"session {self.id!r}", problem, "'refold export --yes' lists and writes it")
        return b"".join(pieces)

    def _compactor(
        self, policy: Policy | str | os.PathLike[str], window: int, summarizer: Summarizer | str | None
    ) -> Compactor:
        from compaction.compactor import Compactor
        from compaction.part import Limits
        from compaction.policy.load import find_policy, load_policy_file
        from compaction.policy.model import Policy
        from compaction.summarizers.chain import SummarizerChain

        window = _converted("window", window, _Window)
        if isinstance(policy, os.PathLike):
            policy = load_policy_file(_path(policy))
        elif not isinstance(policy, Policy):
            name = _converted("policy", policy, str)
            policy = load_policy_file(_path(name)) if name.endswith(".toml") else find_policy(name)
        return Compactor(
            policy=policy,
            chain=SummarizerChain(summarizers=self._summarizers(policy, summarizer)),
            limits=Limits(window=window),
            tokens=counter(policy.counter, log=self._log),
        )

    def _summarizers(self, policy: Policy, chosen: Summarizer | str | None) -> list[Summarizer]:
        from compaction.summarizers.registry import (
            SUMMARIZERS,
            SummarizerContext,
            default_summarizer,
            make_summarizer,
            summarizer_named,
        )

        if chosen is not None and not isinstance(chosen, str):
            if not isinstance(getattr(chosen, "name", None), str) or not callable(
                getattr(chosen, "summarize", None)
            ):
                problem = "it has no `name` or no method `summarize`"
                raise BadInputError("argument 'summarizer'", problem, "see docs/summaries.md")
            return [chosen]
        by_default = policy.prompting.summarizer or default_summarizer()
        name, model = summarizer_named(by_default if chosen is None else chosen)
        models = (model,) if model else policy.prompting.models if SUMMARIZERS[name].asks_models else ()
        return [
            make_summarizer(name, SummarizerContext(log=self._log, session=self.id, model=model))
            for model in models or ("",)
        ]

    def _tool_of(self, call_id: str) -> str:
        """Return the tool that the newest answer with calls has called by an id, "" for none."""
        with self._log.snapshot() as snapshot:
            return _called_tool(snapshot, self.id, call_id)


def _called_tool(snapshot: Snapshot, session: str, call_id: str) -> str:
    try:
        cursor = resolve_cursor(snapshot, session)
    except NotFoundError:
        return ""
    for event in newest_first(snapshot, cursor):
        view = node_of(event).message if event.role == "assistant" else None
        calls = [block for block in view.blocks if isinstance(block, ToolCall)] if view else []
        if calls:
            return next((call.name for call in calls if call.id == call_id), "")
    return ""
