"""The first line of a pi session file: which session it is, and of which version."""

from __future__ import annotations

import json
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable
from hashlib import sha256
from typing import Any, Final

import msgspec

from eventstore.errors import BadInputError
from eventstore.formats.pi_entry import KINDS, is_name
from eventstore.formats.pi_lines import BLANK, BOM, objects_in

NEWEST_VERSION: Final = 3
_NUL_WITHIN: Final = 4096
_UTF_16: Final = (BOM_UTF16_LE, BOM_UTF16_BE)


class PiHeader(msgspec.Struct, frozen=True, kw_only=True):
    """What a file says of itself: `raw` is the header as it came ("{}": there is none), `line` its line (0: none).

    `differs` is what pi makes of a file whose header is not as it should be.
    """

    raw: bytes
    session: str
    version: int
    line: int
    differs: str = ""


def find_header(lines: Iterable[bytes], source: str) -> PiHeader:
    """The header of a file's lines; where none is whole, one that follows from the first record.

    Raises BadInputError for what is no session file, and for a version that is not known.
    """
    first_entry: tuple[bytes, dict[str, Any]] | None = None
    number = 0
    for number, line in enumerate(lines, 1):
        if line.startswith(_UTF_16) or (line[:1] == b"{" and line[1:2] == b"\0") or line[:2] == b"\0{":
            raise BadInputError(source, "is in UTF-16", "save it as UTF-8, as pi writes it", line=number)
        if b"\0" in line[:_NUL_WITHIN]:
            raise BadInputError(source, "is no text", "name a session file of pi", line=number)
        for raw, decoded in _objects(line):
            if decoded.get("type") == "session":
                return _header(raw, decoded, number, source, is_first=first_entry is None)
            if decoded.get("type") in KINDS:
                first_entry = first_entry or (raw, decoded)
            elif first_entry is None:
                raise BadInputError(
                    source,
                    "not a session file that refold knows (a pi session begins with a line of type session)",
                    "name a session file of pi",
                    line=number,
                )
    if first_entry is not None:
        raw, decoded = first_entry
        return PiHeader(
            raw=b"{}",
            session=f"headless-{sha256(raw).hexdigest()[:16]}",
            version=NEWEST_VERSION if "parentId" in decoded else 1,
            line=0,
            differs="there is no session header: pi takes the file for empty, and replaces it",
        )
    if number:
        raise BadInputError(source, "holds no record that can be read", "name a session file of pi")
    raise BadInputError(source, "is empty", "there is nothing to import")


def _objects(line: bytes) -> list[tuple[bytes, dict[str, Any]]]:
    text = line.removeprefix(BOM).strip(BLANK)
    return [(text[start:stop], decoded) for start, stop, decoded in objects_in(text)[0]] if text else []


def _header(raw: bytes, decoded: dict[str, Any], number: int, source: str, *, is_first: bool) -> PiHeader:
    session, differs = decoded.get("id"), ""
    if not isinstance(session, str) or not is_name(session):
        session = f"noid-{sha256(raw).hexdigest()[:16]}"
        differs = "the session header has no id: pi takes the file for empty, and replaces it"
    elif not is_first:
        differs = "an entry stands before the session header: pi takes the file for empty, and replaces it"
    return PiHeader(
        raw=raw,
        session=session,
        version=_version(decoded.get("version"), source, number),
        line=number,
        differs=differs,
    )


def _version(version: Any, source: str, number: int) -> int:
    """1 where it is missing; what is no number migrates nothing, which is how the newest version is read."""
    if version is None:
        return 1
    if isinstance(version, bool) or not isinstance(version, int | float):
        return NEWEST_VERSION
    if version > NEWEST_VERSION:
        raise BadInputError(
            source,
            f"pi session version {json.dumps(version)} is unknown",
            f"this refold reads versions 1 to {NEWEST_VERSION}",
            line=number,
        )
    return max(int(version), 1)
