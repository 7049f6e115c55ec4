"""Hold one history in refold and in each peer; time appends, and opening with a rebuild of the context.

Each peer is used as its own documentation shows, with its defaults, and with all that it knows of to be fast.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter
from typing import Any, Final, NamedTuple

import msgspec

from bench.peers.history import History, names_of
from bench.sessions import result_message
from eventstore import SessionWriter, import_file, open_store
from projections.context.build import context_json


class Rebuilt(NamedTuple):
    """The time of opening and rebuilding, in seconds, and the messages of the context."""

    seconds: float
    messages: list[Any]


class Peer:
    """A store that holds one history in a folder. `version` is that of the installed package."""

    name: str
    package: str

    def __init__(self, folder: Path, history: History) -> None:
        self.folder, self.history = folder, history

    @classmethod
    def version(cls) -> str | None:
        """Return the installed version, None if the peer is not installed."""
        try:
            return version(cls.package)
        except PackageNotFoundError:
            return None

    def fill(self) -> None:
        """Store the history; not timed."""
        raise NotImplementedError

    def rebuild(self) -> Rebuilt:
        """Open the closed store, return the messages of the next request, and close it."""
        raise NotImplementedError

    def append(self, messages: Sequence[dict[str, Any]]) -> list[float]:
        """Append messages one by one to the open store, durably; return the seconds of each."""
        raise NotImplementedError

    def close(self) -> None:
        """Stop what the peer started."""


def timed(function: Callable[[], Any]) -> float:
    start = perf_counter()
    function()
    return perf_counter() - start


class Refold(Peer):
    name, package = "refold", "refold"

    def fill(self) -> None:
        with open_store(self.folder) as log:
            self.session = import_file(log, self.history.file).id

    def rebuild(self) -> Rebuilt:
        start = perf_counter()
        with open_store(self.folder) as log:
            context = context_json(log, self.session)
        seconds = perf_counter() - start
        return Rebuilt(seconds, json.loads(context)["messages"])

    def append(self, messages: Sequence[dict[str, Any]]) -> list[float]:
        with open_store(self.folder) as log:
            writer = SessionWriter(log, self.session)
            return [timed(lambda each=each: writer.message(each)) for each in messages]


class OpenAIAgents(Peer):
    name, package = "openai-agents, SQLiteSession", "openai-agents"

    def fill(self) -> None:
        self.loop = asyncio.new_event_loop()
        session = self._session()
        for start in range(0, len(self.history.items), 1000):
            items = self.history.items[start : start + 1000]
            self.loop.run_until_complete(session.add_items(items))
        session.close()
        self._extra = 0

    def _session(self) -> Any:
        from agents import SQLiteSession

        return SQLiteSession("session", self.folder.with_suffix(".db"))

    def rebuild(self) -> Rebuilt:
        # It has no compaction that keeps messages: the caller asks for the newest ones.
        limit = self.history.in_context + self._extra
        start = perf_counter()
        session = self._session()
        items = self.loop.run_until_complete(session.get_items(limit=limit))
        session.close()
        seconds = perf_counter() - start
        return Rebuilt(seconds, self.history.arranged(items))

    def append(self, messages: Sequence[dict[str, Any]]) -> list[float]:
        session = self._session()
        try:
            self._extra += len(messages)
            return [
                timed(lambda each=each: self.loop.run_until_complete(session.add_items([each])))
                for each in messages
            ]
        finally:
            session.close()

    def close(self) -> None:
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()


class LangGraph(Peer):
    """A checkpoint holds the whole state, so an append writes the context again."""

    name, package = "langgraph-checkpoint-sqlite", "langgraph-checkpoint-sqlite"

    @contextmanager
    def _saver(self) -> Iterator[Any]:
        from langgraph.checkpoint.sqlite import SqliteSaver

        with SqliteSaver.from_conn_string(str(self.folder.with_suffix(".db"))) as saver:
            yield saver

    def fill(self) -> None:
        self._config: dict[str, Any] = {"configurable": {"thread_id": "session", "checkpoint_ns": ""}}
        with self._saver() as saver:
            # One checkpoint a copy of the history: one for each message would be hundreds of gigabytes.
            for _ in range(self.history.copies):
                self._put(saver, self.history.context)

    def _put(self, saver: Any, messages: list[Any]) -> None:
        from langgraph.checkpoint.base import empty_checkpoint

        state = empty_checkpoint() | {"channel_values": {"messages": messages}}
        self._config = saver.put(self._config, state, {"source": "loop", "step": 1}, {})

    def rebuild(self) -> Rebuilt:
        start = perf_counter()
        with self._saver() as saver:
            found = saver.get_tuple({"configurable": {"thread_id": "session", "checkpoint_ns": ""}})
        seconds = perf_counter() - start
        return Rebuilt(seconds, found.checkpoint["channel_values"]["messages"])

    def append(self, messages: Sequence[dict[str, Any]]) -> list[float]:
        with self._saver() as saver:
            # The agent has the state in memory.
            found = saver.get_tuple({"configurable": {"thread_id": "session", "checkpoint_ns": ""}})
            state = list(found.checkpoint["channel_values"]["messages"])
            took = []
            for each in messages:
                state.append(each)
                took.append(timed(lambda: self._put(saver, state)))
            return took


class EventSourcing(Peer):
    """An aggregate with a snapshot at each compaction."""

    name, package = "eventsourcing, SQLite", "eventsourcing"

    def _application(self) -> Any:
        from bench.peers.aggregate import Conversations

        path = self.folder.with_suffix(".db")
        module = "eventsourcing.sqlite"
        return Conversations(env={"PERSISTENCE_MODULE": module, "SQLITE_DBNAME": str(path)})

    def fill(self) -> None:
        from bench.peers.aggregate import Conversation

        application = self._application()
        conversation = Conversation()
        self._id = conversation.id
        for at, item in enumerate(self.history.items, 1):
            if item["role"] == "compactionSummary":
                conversation.compact(json.dumps(item), self.history.kept_at[at - 1])
            else:
                conversation.append(json.dumps(item))
            if at % 1000 == 0 or at == len(self.history.items):
                application.save(conversation)
            if item["role"] == "compactionSummary":
                application.save(conversation)
                application.take_snapshot(self._id)
        application.close()

    def rebuild(self) -> Rebuilt:
        start = perf_counter()
        application = self._application()
        conversation = application.repository.get(self._id)
        application.close()
        seconds = perf_counter() - start
        return Rebuilt(seconds, [json.loads(each) for each in conversation.messages])

    def append(self, messages: Sequence[dict[str, Any]]) -> list[float]:
        application = self._application()
        conversation = application.repository.get(self._id)

        def append(message: dict[str, Any]) -> None:
            conversation.append(json.dumps(message))
            application.save(conversation)

        try:
            return [timed(lambda each=each: append(each)) for each in messages]
        finally:
            application.close()


class Harness(Peer):
    """A harness's own session manager, on a session file. It does not flush what it appends."""

    program: str

    @classmethod
    def version(cls) -> str | None:
        program = cls._program()
        if program is None or not (HERE / "node_modules" / cls.package).is_dir():
            return None
        file = HERE / "node_modules" / cls.package / "package.json"
        return str(json.loads(file.read_bytes())["version"])

    @classmethod
    def _program(cls) -> str | None:
        own = HERE / "node_modules" / ".bin" / cls.program
        return shutil.which(cls.program) or (str(own) if own.exists() else None)

    def fill(self) -> None:
        program = self._program()
        assert program is not None
        self._file = self.folder.with_suffix(".jsonl")
        shutil.copy(self.history.file, self._file)
        self._process = subprocess.Popen(
            [program, str(HERE / "harness.mjs"), self.package],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=HERE,
        )

    def _ask(self, does: str, **options: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        request = {"does": does, "path": str(self._file), **options}
        self._process.stdin.write(msgspec.json.encode(request) + b"\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def rebuild(self) -> Rebuilt:
        found = self._ask("rebuild")
        return Rebuilt(found["seconds"], found["messages"])

    def append(self, messages: Sequence[dict[str, Any]]) -> list[float]:
        took: list[float] = self._ask("append", messages=messages)
        return took

    def close(self) -> None:
        with self._process:
            assert self._process.stdin is not None
            self._process.stdin.close()


class Pi(Harness):
    name, package, program = "pi (no flush)", "@mariozechner/pi-coding-agent", "node"


class OhMyPi(Harness):
    name, package, program = "oh-my-pi (no flush)", "@oh-my-pi/pi-coding-agent", "bun"


HERE = Path(__file__).parent
PEERS: tuple[type[Peer], ...] = (Refold, OpenAIAgents, LangGraph, EventSourcing, Pi, OhMyPi)
"""Refold first; the others are its peers."""
ROUNDS: Final = 10
FEWEST: Final = 3
PATIENCE: Final = 10
"""Seconds of rebuilds after which a slow peer has only the fewest rounds."""
APPENDS: Final = 20
"""Appends of each peer before it is the next one's turn."""


def installed() -> list[type[Peer]]:
    return [peer for peer in PEERS if peer.version() is not None]


Times = dict[str, tuple[list[float], list[float]]]
"""From a peer's name to the fastest append of each round, and the rebuild of each, in seconds."""


def measure(session: Path, copies: int) -> Times:
    """Fill all peers with the same history, check their contexts, and time them in turns."""
    with tempfile.TemporaryDirectory(prefix="refold-peers-") as name, ExitStack() as stack:
        folder = Path(name)
        history = History(session, copies, folder)
        peers = [peer(folder / f"peer-{number}", history) for number, peer in enumerate(installed())]
        for peer in peers:
            peer.fill()
            stack.callback(peer.close)
            assert names_of(peer.rebuild().messages) == names_of(history.context), peer.name
        took: Times = {peer.name: ([], []) for peer in peers}
        for turn in range(ROUNDS):
            for peer in peers:
                rebuilds = took[peer.name][1]
                if turn < FEWEST or sum(rebuilds) < PATIENCE:
                    rebuilds.append(peer.rebuild().seconds)
        for turn in range(ROUNDS):
            messages = [result_message(turn * APPENDS + number) for number in range(APPENDS)]
            for peer in peers:
                took[peer.name][0].append(min(peer.append(messages)))
        return took
