"""Heads of sessions in a file beside the store: with them, a store that lost its newest commit is found out."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from eventstore.errors import BadInputError
from eventstore.log import Head


class SavedHead(msgspec.Struct, frozen=True, kw_only=True):
    """The version that a session had, ≥ 1, and the digest of its newest event in 64 hexadecimal digits."""

    session: str
    version: Annotated[int, msgspec.Meta(ge=1)]
    digest: Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{64}\Z")]


class SavedHeads(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of a file of heads. What `backup` has saved belongs to the backup and is never changed."""

    format: Literal["refold-heads/1"] = "refold-heads/1"
    by: Literal["backup", "verify"]
    heads: tuple[SavedHead, ...]


def encode_heads(heads: Iterable[Head], by: Literal["backup", "verify"]) -> bytes:
    """Return the contents of a file of these heads: a line of JSON, and one for each of them in it."""
    saved = SavedHeads(
        by=by,
        heads=tuple(
            SavedHead(session=head.name, version=head.version, digest=head.digest.hex()) for head in heads
        ),
    )
    return msgspec.json.format(msgspec.json.encode(saved), indent=0) + b"\n"


def read_heads(path: str | os.PathLike[str]) -> SavedHeads:
    """Return the heads saved in a file. Raises BadInputError if it holds none or cannot be read."""
    try:
        return msgspec.json.decode(Path(path).read_bytes(), type=SavedHeads)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadInputError(
            str(path), f"is no file of saved heads ({error})", "name another file with --heads"
        ) from error
    except IsADirectoryError as error:
        raise BadInputError(str(path), "is a folder", "name a file with --heads") from error
    except OSError as error:
        raise BadInputError(
            str(path), f"cannot be read ({error.strerror})", "name another file with --heads"
        ) from error
