"""Logs against a model that finds every pointer by walking: any operations, same outcome."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from eventstore import EventLog, NewEvent, Parent, Snapshot, open_store
from eventstore.errors import RefoldError
from eventstore.frame import decode
from eventstore.memory import MemoryLog
from eventstore.verify import verify
from tests.conformance.model import ModelLog
from tests.support.events import NOW, event
from tests.support.examples import examples
from tests.support.postgres import Server

SESSIONS = ("s", "s", "s", "größe")
CAUSES = ("", "", "", "c1", "c2", "c3")
TARGETED = {
    "compaction": ("firstKeptEntryId", {"summary": "s", "tokensBefore": 1}),
    "undone": ("targetId", {}),
    "label": ("targetId", {"label": "here"}),
    "observed_rewrite": ("targetId", {"record": {}}),
}
PLAIN: dict[str, dict[str, Any]] = {
    "model_change": {"provider": "p", "modelId": "m"},
    "thinking_level_change": {"thinkingLevel": "low"},
    "rewrite": {"reason": "prune", "targets": []},
    "leaf_moved": {},
    "session_info": {"name": "title"},
    "branch_summary": {"fromId": "x", "summary": "left"},
    "custom": {"customType": "x"},
    "decision": {"outcome": "skip", "reason": "small"},
    "link": {"relation": "fork", "session": "other"},
    "harness:ünknown": {"field": [1, 2]},
}
ROLES = ("user", "assistant", "toolResult", "hookMessage", "robot")

counts = st.integers(0, 30)
"""Picks from what is there: of n things, the one behind as many as this, modulo n."""
drafts = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(
            ["message", "message", "compaction", "compaction", "undone", *TARGETED, *PLAIN]
        ),
        "role": st.sampled_from(ROLES),
        "format": st.sampled_from(["refold/1", "refold/1", "pi/2", "pi/3"]),
        "parent": st.sampled_from(["leaf", "leaf", "leaf", "entry", "root"]),
        "pick": counts,
        "target": st.sampled_from(["there", "there", "there", "nowhere", "later"]),
        "aim": st.sampled_from([2, 0, 1, 3, 4, 5, 9]),
        "cause": st.sampled_from(CAUSES),
        "time": st.sampled_from([None, 5, 9, 1000]),
        "length": st.sampled_from([1, 1, 1, 1, 490]),
    }
)


def outcome_of(log: EventLog, *arguments: Any, **options: Any) -> object:
    """Return the result of an append, or its error with all fields."""
    try:
        return log.append(*arguments, **options)
    except RefoldError as error:
        return type(error), vars(error)


def contents(snapshot: Snapshot) -> list[object]:
    """Return everything that a snapshot reads, without paths."""
    heads = list(snapshot.heads())
    told: list[object] = [heads, [(item.position, item.session, item.seq) for item in snapshot.feed()]]
    for head in heads:
        frames = [bytes(frame) for frame in snapshot.frames(head.name)]
        ids = [decode(frame, head.name).id for frame in frames]
        told += [
            frames,
            [bytes(frame) for frame in snapshot.frames(head.name, backward=True)][::-1] == frames,
            sorted(snapshot.ids(head.name)),
            [snapshot.locate(head.name, name) for name in ids] == list(range(1, len(ids) + 1)),
        ]
    return told


class StoredAgainstModel(RuleBasedStateMachine):
    def new_store(self) -> str:
        """The address of a store that is not there yet."""
        raise NotImplementedError

    def opened(self, *, create: bool) -> EventLog:
        return open_store(self.path, create=create, clock=lambda: NOW)

    @initialize()
    def open(self) -> None:
        self.path = self.new_store()
        self.stored = self.opened(create=True)
        self.model = ModelLog(clock=lambda: NOW)
        self.sent: dict[str, list[NewEvent]] = {name: [] for name in SESSIONS}
        self.made = 0

    def teardown(self) -> None:
        if hasattr(self, "stored"):
            findings = [*verify(self.stored).findings, *verify(self.model).findings]
            self.stored.close()
            assert findings == []

    def drawn(self, session: str, draft: dict[str, Any], batch: list[NewEvent]) -> NewEvent:
        """The event that a draft amounts to, given what already exists."""
        self.made += 1
        there = [*self.sent[session], *batch]
        entries = [new for new in there if new.kind not in ("decision", "link", "observed_rewrite")]
        parent: str | Parent | None = Parent.LEAF
        if draft["parent"] == "root":
            parent = None
        elif draft["parent"] == "entry" and entries:
            parent = entries[-1 - draft["pick"] % len(entries)].id
        kind = draft["kind"]
        fields = PLAIN.get(kind, {})
        if kind == "message":
            fields = {"message": {"role": draft["role"], "content": "text " * draft["pick"]}}
        elif kind in TARGETED:
            name, fields = TARGETED[kind]
            target = {"nowhere": "nowhere", "later": f"e{self.made + 1}"}.get(draft["target"])
            worth_it = [old for old in there if kind != "undone" or old.kind in ("compaction", "undone")]
            if target is None and worth_it:
                target = worth_it[-1 - draft["aim"] % len(worth_it)].id
            fields = {**fields, name: target or ""}
        return event(
            f"e{self.made}".ljust(draft["length"], "é"),
            kind,
            parent=parent,
            time=draft["time"],
            cause=draft["cause"],
            format=draft["format"],
            **fields,
        )

    def both(self, session: str, batch: list[NewEvent], **options: Any) -> object:
        """Append to both logs and hold their outcomes against each other."""
        expected = outcome_of(self.model, session, batch, **options)
        assert outcome_of(self.stored, session, batch, **options) == expected
        return expected

    @rule(
        session=st.sampled_from(SESSIONS),
        batch=st.lists(drafts, min_size=4, max_size=8),
        cause=st.sampled_from(["", "c1", "c2"]),
        source=st.sampled_from(["", "file"]),
    )
    def append(self, session: str, batch: list[dict[str, Any]], cause: str, source: str) -> None:
        new: list[NewEvent] = []
        for draft in batch:
            new.append(self.drawn(session, {**draft, "cause": cause or draft["cause"]}, new))
        outcome = self.both(session, new, source=source, expected=len(self.sent[session]))
        assert not isinstance(outcome, tuple)
        self.sent[session] += new

    @rule(session=st.sampled_from(SESSIONS), draft=drafts, expected=st.sampled_from(["any", "new", 0, 1, 5]))
    def append_expecting(self, session: str, draft: dict[str, Any], expected: Any) -> None:
        new = self.drawn(session, draft, [])
        if not isinstance(self.both(session, [new], expected=expected), tuple):
            self.sent[session].append(new)

    @rule(session=st.sampled_from(SESSIONS), batch=st.lists(drafts, min_size=1, max_size=3), bad=counts)
    def append_with_a_bad_parent(self, session: str, batch: list[dict[str, Any]], bad: int) -> None:
        new = [self.drawn(session, draft, []) for draft in batch]
        at = bad % len(new)
        off_path = [old.id for old in self.sent[session] if old.kind in ("decision", "link")]
        new[at] = msgspec.structs.replace(
            new[at],
            kind="custom",
            body=b'{"type":"custom"}',
            format="refold/1",
            parent=off_path[0] if off_path else "nowhere",
        )
        assert isinstance(self.both(session, new), tuple)

    @precondition(lambda self: any(self.sent.values()))
    @rule(
        session=st.sampled_from(SESSIONS),
        start=counts,
        size=st.integers(0, 4),
        fresh=st.lists(drafts, max_size=1),
        expected=st.sampled_from(["any", "new", 1]),
    )
    def send_again(
        self, session: str, start: int, size: int, fresh: list[dict[str, Any]], expected: Any
    ) -> None:
        again = self.sent[session][start : start + size]
        new = [self.drawn(session, draft, []) for draft in fresh]
        if not isinstance(self.both(session, again + new, expected=expected), tuple):
            self.sent[session] += new

    @precondition(lambda self: any(self.sent.values()))
    @rule(
        session=st.sampled_from(SESSIONS),
        pick=counts,
        change=st.sampled_from([{"body": b"{}"}, {"time": 77}, {"cause": "other"}, {"parent": "nowhere"}]),
    )
    def send_again_changed(self, session: str, pick: int, change: dict[str, Any]) -> None:
        if self.sent[session]:
            old = self.sent[session][pick % len(self.sent[session])]
            self.both(session, [msgspec.structs.replace(old, **change)])

    @rule()
    def reopen(self) -> None:
        self.stored.close()
        self.stored = self.opened(create=False)

    @rule(session=st.sampled_from(SESSIONS), leaf=counts, first=counts)
    def read_part_of_a_path(self, session: str, leaf: int, first: int) -> None:
        if self.sent[session]:
            seq = 1 + leaf % len(self.sent[session])
            with self.stored.snapshot() as real, self.model.snapshot() as model:
                assert [bytes(frame) for frame in real.path(session, seq, first=first)] == [
                    bytes(frame) for frame in model.path(session, seq, first=first)
                ]

    @rule(session=st.sampled_from(SESSIONS), first=counts, last=counts, backward=st.booleans())
    def read_a_range(self, session: str, first: int, last: int, *, backward: bool) -> None:
        if self.sent[session]:
            bounds = {"first": first, "last": last, "backward": backward}
            with self.stored.snapshot() as real, self.model.snapshot() as model:
                assert [bytes(frame) for frame in real.frames(session, **bounds)] == [
                    bytes(frame) for frame in model.frames(session, **bounds)
                ]

    @invariant()
    def both_tell_the_same(self) -> None:
        if not hasattr(self, "stored"):
            return
        with self.stored.snapshot() as real, self.model.snapshot() as model:
            assert contents(real) == contents(model)
            for head in model.heads():
                for leaf in range(1, head.version + 1):
                    real_path = [bytes(frame) for frame in real.path(head.name, leaf)]
                    assert real_path == [bytes(frame) for frame in model.path(head.name, leaf)]


EXAMPLES = settings(
    max_examples=examples(200),
    stateful_step_count=12,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


class LmdbAgainstModel(StoredAgainstModel):
    def new_store(self) -> str:
        self.folder = tempfile.TemporaryDirectory()
        return str(Path(self.folder.name, "store"))

    def teardown(self) -> None:
        super().teardown()
        if hasattr(self, "folder"):
            self.folder.cleanup()


class MemoryAgainstModel(StoredAgainstModel):
    def new_store(self) -> str:
        return ""

    def opened(self, *, create: bool) -> EventLog:
        return MemoryLog(clock=lambda: NOW) if create else self.stored


def test_memory() -> None:
    run_state_machine_as_test(MemoryAgainstModel, settings=EXAMPLES)


@pytest.mark.slow
def test_lmdb() -> None:
    run_state_machine_as_test(LmdbAgainstModel, settings=EXAMPLES)


@pytest.mark.slow
def test_postgres(postgres: Server) -> None:
    class PostgresAgainstModel(StoredAgainstModel):
        def new_store(self) -> str:
            return postgres.new_store()

    run_state_machine_as_test(PostgresAgainstModel, settings=settings(EXAMPLES, max_examples=examples(40)))
