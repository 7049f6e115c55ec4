"""The model, the thinking level and the prompt in use at a leaf."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import UNSET

from eventstore.as_of import as_of_event
from eventstore.harnesses import node_of
from eventstore.javascript import stringify
from eventstore.log import EventLog, Snapshot
from eventstore.node import PromptView, SettingsView
from eventstore.paths import LazyEvent, SnapshotCache, event, path_of_kinds, upward
from projections.context.cursor import Cursor, Leaf, resolve_cursor
from projections.rules import rules_at


class Model(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A model, by its provider's name and its own; a field that the record lacks is unset.

    As text it is "PROVIDER/MODEL", and "" if the record names no model.
    """

    provider: Any = UNSET
    model_id: Any = UNSET

    def __str__(self) -> str:
        names = (self.provider, self.model_id) if isinstance(self.model_id, str) and self.model_id else ()
        return "/".join(name for name in names if isinstance(name, str) and name)


class ModelSettings(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The settings at a leaf: `thinkingLevel` ("off" by default) and `model` (None if unnamed)."""

    thinking_level: Any = "off"
    model: Model | None = None


_encode: Final = msgspec.json.Encoder().encode


def settings(
    log: EventLog | Snapshot, session: str, *, leaf: Leaf = None, as_of: int | None = None
) -> ModelSettings:
    """Return the model and thinking level at a leaf, by pi's rules.

    The last one on the whole path wins, even in the part that a compaction hides. An assistant message names
    the model that wrote it, even if the call failed. Raises NotFoundError.
    """
    with log.snapshot() as newest:
        snapshot = as_of_event(newest, session, as_of)
        cursor = resolve_cursor(snapshot, session, leaf=leaf, as_of=as_of)
        return settings_at(snapshot, session, cursor.leaf)


def settings_at(snapshot: Snapshot, session: str, leaf: int) -> ModelSettings:
    """Return the settings at an entry, given by its number; 0 is the root."""
    return _read(*_entries(snapshot, event(snapshot, session, leaf) if leaf else None))


def settings_json(snapshot: Snapshot, leaf: LazyEvent | None) -> bytes:
    """Return the settings at an entry (None: the root) as the JSON object in a context."""
    model, thinking = _entries(snapshot, leaf)
    key = (model and model.digest, thinking and thinking.digest)
    return _JSON.get(key, lambda: encode_settings(_read(model, thinking)))


_JSON: Final = SnapshotCache[bytes]()


def encode_settings(settings: ModelSettings) -> bytes:
    """Encode settings as JSON."""
    try:
        return _encode(settings)
    except UnicodeEncodeError:
        # A lone surrogate has no UTF-8 form, so keep the escape that it came as.
        return stringify(msgspec.to_builtins(settings)).encode()


def _entries(snapshot: Snapshot, leaf: LazyEvent | None) -> tuple[LazyEvent | None, LazyEvent | None]:
    """Return the entries that set the model and the thinking level, None if not set."""
    if leaf is None:
        return None, None
    model, thinking = leaf.model_seq, leaf.thinking_seq
    return (
        event(snapshot, leaf.session, model) if model else _newest_answer(snapshot, leaf),
        event(snapshot, leaf.session, thinking) if thinking else None,
    )


def _newest_answer(snapshot: Snapshot, leaf: LazyEvent) -> LazyEvent | None:
    """Return the newest answer on a path where no record sets the model: it may name one."""
    # A parent that came late puts other answers above an entry, whose digest stays the same.
    now = snapshot.head(leaf.session)
    state = now.digest if now.is_late else b""
    seq = _NEWEST_ANSWERS.get((leaf.digest, state), lambda: _find_answer(snapshot, leaf, state))
    return event(snapshot, leaf.session, seq) if seq else None


def _find_answer(snapshot: Snapshot, leaf: LazyEvent, state: bytes) -> int:
    """Return the number of the newest answer, 0 for none; searches no entry twice."""
    for each in upward(snapshot, leaf.session, leaf.seq):
        if each.role == "assistant":
            return each.seq
        if (found := _NEWEST_ANSWERS.find((each.digest, state))) is not None:
            return found
    return 0


_NEWEST_ANSWERS: Final = SnapshotCache[int]()
"""The number of the newest answer at or above an entry, by digests of both; 0 for none."""


def _read(model: LazyEvent | None, thinking: LazyEvent | None) -> ModelSettings:
    return ModelSettings(
        thinking_level="off"
        if thinking is None
        else (node_of(thinking).settings or SettingsView()).thinking_level,
        model=None if model is None else _model(node_of(model).settings),
    )


def _model(settings: SettingsView | None) -> Model | None:
    return None if settings is None else Model(provider=settings.provider, model_id=settings.model)


_PROMPT_KINDS: Final = frozenset({"session_init"})
"""Kinds of records that may contain a prompt."""


def harness_prompt(snapshot: Snapshot, cursor: Cursor) -> PromptView:
    """Return the prompt from the newest record on the path, or of the newest recorded request."""
    if not cursor.leaf:
        return PromptView()
    leaf = event(snapshot, cursor.session, cursor.leaf)
    rules = rules_at(snapshot, leaf)
    found = list(path_of_kinds(snapshot, cursor.session, cursor.leaf, _PROMPT_KINDS))
    return (node_of(found[-1]).prompt if found else None) or rules.recorded_prompt(snapshot, leaf)
