"""Mask secrets in sessions as they are read, so that everything made from them is masked.

A mask has as many bytes as the secret in the record, so every offset, size and count stays right. A maintained rule
set finds the secrets; it is in the extra `refold[redact]` and calls nothing.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from hashlib import blake2b
from string import ascii_letters, digits
from typing import Final, NamedTuple, TypeVar

import msgspec

from eventstore.checked import CheckedSnapshot
from eventstore.errors import BadInputError
from eventstore.frame import Buffer, body_of, digest_of, header_of, with_other_body
from eventstore.log import EventLog, FeedItem, Snapshot

T = TypeVar("T")


class FoundSecret(NamedTuple):
    """A secret in a text: the rule that found it, and the bytes from `start` to `stop`."""

    rule: str
    start: int
    stop: int


FindSecrets = Callable[[bytes], Iterable[FoundSecret]]
"""Finds the secrets in a text."""


@cache
def secret_rules() -> FindSecrets:
    """Load the rules of Kingfisher. Raises BadInputError if it is not installed.

    The first time, compiling them takes about ten seconds; they are kept in the user's cache folder.
    """
    try:
        from kingfisher_sdk import Scanner  # noqa: PLC0415  heavy, and an extra
    except ModuleNotFoundError as error:
        raise BadInputError(
            "redaction", "needs a package that is not installed", "run: pip install 'refold[redact]'"
        ) from error
    # Without a policy, comments that tell scanners to ignore a line are not obeyed.
    scanner = Scanner()

    def find(text: bytes) -> Iterator[FoundSecret]:
        spans: list[tuple[int, int]] = []
        # Many rules want a space or a quote behind a token, which here may stand in a URL, a path or a sentence.
        for variant in (text, *_with_tokens_apart(text)):
            for each in scanner.scan(variant):
                # Also what is reported only together with another, such as the secret key of an access key's id.
                start, stop = each.location["start_offset"], each.location["end_offset"]
                secret = each.secret.encode()
                # The location is that of the whole match, or of the Base64 in which the secret is.
                at = variant.find(secret, start, stop)
                if at >= 0 and len(secret) >= _SHORTEST:
                    start, stop = at, at + len(secret)
                if variant is text or not any(begin <= start < stop <= end for begin, end in spans):
                    spans.append((start, stop))
                    yield FoundSecret(each.rule_id.rpartition(".")[2], start, stop)

    return find


def _with_tokens_apart(text: bytes) -> Iterator[bytes]:
    """Yield a text with spaces for punctuation, of the same length.

    First without what may stand in a key or between a name and its value, then with all but the dots in a token.
    """
    for escape in _LINE_ENDS:
        text = text.replace(escape, b"  ")
    for apart in _APART:
        yield _OTHER_DOTS.sub(b" ", text.translate(apart))


class MaskCounts(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Counts of what was masked.

    `secrets` are distinct ones, `masks` all places; `rules` counts the distinct secrets of each rule. `dropped`
    are signed blocks that held one: a mask would have broken their signature.
    """

    secrets: int
    masks: int
    dropped: int
    rules: dict[str, int]


_LINE_ENDS: Final = (b"\\n", b"\\r", b"\\t")
"""Escapes in JSON that is itself a text in JSON."""
_OTHER_DOTS: Final = re.compile(rb"\.(?![0-9A-Za-z_-]{12})")
"""Dots that end a sentence or begin a file's extension."""
_LETTERS: Final = frozenset((ascii_letters + digits).encode())
_APART: Final = tuple(
    bytes(code if code in _LETTERS or code in kept else 0x20 for code in range(256))
    for kept in (b"_-.\n\"':=/+~", b"_-.\n")
)
"""Tables that translate other bytes to spaces."""
_SHORTEST: Final = 8
"""Minimum bytes of a secret: a shorter one would be masked in innocent words as well."""
_PIECES: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[^"]++', re.DOTALL)
"""The strings of a JSON text, and what is between them; those of torn text, too."""
_ESCAPES: Final = re.compile(rb"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u....|\\.|[^\\]", re.DOTALL)
_OPAQUE: Final = re.compile(rb"[A-Za-z0-9+/=_-]{2000,}")
"""The data of an image, or another payload without words: rules would match by chance only."""
_SIGNATURE: Final = b"ignature"
"""The end of the names of fields that hold a signature, in every harness."""
_TOKENS: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"|[{}\[\],:]', re.DOTALL)


class Masks:
    """The secrets learned so far, and their masks.

    The same secret has the same mask everywhere, also where no rule would have found it.
    """

    def __init__(self, find: FindSecrets) -> None:
        self._find = find
        self._rules: dict[bytes, str] = {}
        self._numbers: dict[bytes, int] = {}
        self._pattern: re.Pattern[bytes] | None = None
        self._masks = 0
        self._dropped = 0

    def learn(self, text: bytes) -> None:
        """Remember the secrets in a line or record of JSON, read without the escapes of its strings."""
        pieces: list[bytes] = []
        before = (b"", b"")
        for raw in _PIECES.findall(text):
            is_opaque = _OPAQUE.fullmatch(raw.strip(b'"')) or _is_signature(*before, raw)
            pieces.append(b'""' if is_opaque else _unescaped(raw))
            before = (before[1], raw.strip())
        readable = b"".join(pieces)
        for found in self._find(readable):
            at, parts = 0, []
            for piece in pieces:
                parts.append(piece[max(0, found.start - at) : max(0, found.stop - at)].strip(b'"'))
                at += len(piece)
            # A match may reach from a key to its value.
            secret = max(parts, key=len)
            if len(secret) >= _SHORTEST and secret not in self._rules:
                self._rules[secret] = found.rule
                self._numbers[secret] = len(self._numbers) + 1
                self._pattern = None

    def apply(self, text: bytes) -> bytes:
        """Return a line or record of JSON of the same length, with masks in place of the secrets."""
        if not self._rules:
            return text
        if self._pattern is None:
            # The longest first: a secret may be the beginning of another.
            longest = sorted(self._rules, key=len, reverse=True)
            self._pattern = re.compile(b"|".join(map(re.escape, longest)))
        spans = list(self._spans(text, self._pattern))
        if not spans:
            return text
        masked = bytearray(text)
        for start, stop, secret in spans:
            masked[start:stop] = self._mask(secret, stop - start)
        dropped = _signed_blocks(text, [start for start, _, _ in spans])
        for start, stop in dropped:
            _blank(masked, start, stop)
        self._dropped += len(dropped)
        self._masks += sum(not any(at <= start < end for at, end in dropped) for start, _, _ in spans)
        return bytes(masked)

    def _spans(self, text: bytes, pattern: re.Pattern[bytes]) -> Iterator[tuple[int, int, bytes]]:
        """Yield the start and stop of each secret in a text, and the secret."""
        for piece in _PIECES.finditer(text):
            raw = piece[0]
            readable = _unescaped(raw)
            found = list(pattern.finditer(readable))
            offsets = [offset for match in found for offset in match.span()]
            if readable is not raw:
                offsets = _raw_offsets(raw, offsets)
            for match, start, stop in zip(found, offsets[::2], offsets[1::2], strict=True):
                yield piece.start() + start, piece.start() + stop, match[0]

    def _mask(self, secret: bytes, length: int) -> bytes:
        number = self._numbers[secret]
        mask = f"[masked-{number}"
        return (f"{mask:*<{length - 1}}]" if len(mask) < length else f"{number:*>{length}}").encode()

    def restart_count(self) -> None:
        """Count what is masked from here on; the secrets learned so far stay known."""
        self._masks = self._dropped = 0

    def count(self) -> MaskCounts:
        """Return what was masked so far."""
        return MaskCounts(
            secrets=len(self._rules),
            masks=self._masks,
            dropped=self._dropped,
            rules=dict(Counter(self._rules.values())),
        )


def _unescaped(raw: bytes) -> bytes:
    """Return a piece of JSON without the escapes of a string; the same object if there are none."""
    if b"\\" not in raw or raw[:1] != b'"':
        return raw
    return b"".join(_unescape(match[0]) for match in _ESCAPES.finditer(raw))


def _unescape(escape: bytes) -> bytes:
    """Return the UTF-8 of one character of a JSON string."""
    if escape[:1] != b"\\":
        return escape
    try:
        return msgspec.json.decode(b'"%s"' % escape, type=str).encode()
    except (msgspec.DecodeError, UnicodeEncodeError):
        return escape


def _raw_offsets(raw: bytes, offsets: Sequence[int]) -> list[int]:
    """Translate ascending offsets in an unescaped text into offsets in its raw string."""
    found: list[int] = []
    at = 0
    for match in _ESCAPES.finditer(raw) if offsets else ():
        while len(found) < len(offsets) and at >= offsets[len(found)]:
            found.append(match.start())
        at += len(_unescape(match[0]))
    return found + [len(raw)] * (len(offsets) - len(found))


def _signed_blocks(text: bytes, secrets: Sequence[int]) -> list[tuple[int, int]]:
    """Return the spans of the blocks that hold secrets at some offsets, and a signature."""
    blocks: list[tuple[int, int]] = []
    # Of each open bracket: its offset, and whether a signature stands in it.
    opened: list[tuple[int, bool]] = []
    before = (b"", b"")
    for token in _TOKENS.finditer(text):
        if token[0] in b"{[":
            opened.append((token.start(), False))
        elif token[0] in b"}]":
            if not opened:
                return blocks
            start, is_signed = opened.pop()
            is_element = bool(opened) and text[opened[-1][0] : opened[-1][0] + 1] == b"["
            if is_signed and is_element and any(start <= each < token.end() for each in secrets):
                blocks.append((start, token.end()))
        elif _is_signature(*before, token[0]) and opened:
            opened[-1] = (opened[-1][0], True)
        before = (before[1], token[0])
    return blocks


def _is_signature(key: bytes, colon: bytes, value: bytes) -> bool:
    """Return True if three tokens are a field that holds a signature."""
    return key.endswith(_SIGNATURE + b'"') and colon == b":" and value[:1] == b'"' and value != b'""'


def _blank(text: bytearray, start: int, stop: int) -> None:
    """Replace an element of a list, and the comma beside it, by spaces."""
    text[start:stop] = b" " * (stop - start)
    after = re.compile(rb"\s*,").match(text, stop)
    if after:
        text[after.end() - 1 : after.end()] = b" "
        return
    before = text[:start].rstrip()
    if before.endswith(b","):
        text[len(before) - 1 : len(before)] = b" "


def masked_lines(read: Callable[[], Iterable[bytes]], masks: Masks) -> Iterator[bytes]:
    """Yield the masked lines of a file of JSON lines.

    `read` yields its pieces, and is called twice.
    """
    for line in _lines(read()):
        masks.learn(line)
    for line in _lines(read()):
        yield masks.apply(line)


def _lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    rest: list[bytes] = []
    for piece in pieces:
        *whole, last = piece.split(b"\n")
        for line in whole:
            yield b"".join((*rest, line, b"\n"))
            rest = []
        rest.append(last)
    if last_line := b"".join(rest):
        yield last_line


@contextmanager
def redacted(log: EventLog | Snapshot, masks: Masks) -> Iterator[Snapshot]:
    """Open a snapshot of a log in which secrets are masked.

    Reading an altered event raises CorruptionError.
    """
    with log.snapshot() as snapshot:
        yield _RedactedSnapshot(snapshot, masks)


def read_redacted(log: EventLog, masks: Masks, read: Callable[[Snapshot], T]) -> T:
    """Return what `read` makes of a log in which secrets are masked.

    It is called until no call finds another secret, so that one which shows first in a later session is masked in
    the earlier ones too.
    """
    while True:
        known = masks.count().secrets
        masks.restart_count()
        with redacted(log, masks) as snapshot:
            result = read(snapshot)
        if masks.count().secrets == known:
            return result


class _RedactedSnapshot(CheckedSnapshot):
    """A `Snapshot` with masked records; what was derived from others is not used."""

    def __init__(self, snapshot: Snapshot, masks: Masks) -> None:
        super().__init__(snapshot)
        self._masks = masks
        self._masked: dict[str, dict[int, bytes]] = {}
        self._key = os.urandom(32)

    def frame(self, session: str, seq: int) -> Buffer:
        return self._redact(session, super().frame(session, seq))

    def frames(
        self, session: str, *, first: int = 1, last: int | None = None, backward: bool = False
    ) -> Iterator[Buffer]:
        frames = super().frames(session, first=first, last=last, backward=backward)
        return (self._redact(session, frame) for frame in frames)

    def path(self, session: str, leaf: int, *, first: int = 1) -> Iterator[Buffer]:
        return (self._redact(session, frame) for frame in super().path(session, leaf, first=first))

    def feed(self, after: int = 0) -> Iterator[FeedItem]:
        for item in super().feed(after):
            yield msgspec.structs.replace(item, frame=self._redact(item.session, item.frame))

    def blob(self, digest: bytes) -> bytes:
        payload = super().blob(digest)
        self._masks.learn(payload)
        return self._masks.apply(payload)

    def derived(self, key: bytes) -> bytes | None:  # noqa: ARG002  others are asked
        return None

    def _redact(self, session: str, frame: Buffer) -> Buffer:
        if session not in self._masked:
            self._masked[session] = dict(self._with_secrets(session))
        body = self._masked[session].get(header_of(frame).seq) or body_of(frame)
        # Folds remember what they made of an event by its digest: here it has another.
        return with_other_body(frame, body, blake2b(digest_of(frame), digest_size=32, key=self._key).digest())

    def _with_secrets(self, session: str) -> Iterator[tuple[int, bytes]]:
        """Yield the number and the masked body of each event with a secret."""
        for frame in super().frames(session):
            self._masks.learn(bytes(body_of(frame)))
        for frame in super().frames(session):
            body = bytes(body_of(frame))
            masked = self._masks.apply(body)
            if masked is not body:
                yield header_of(frame).seq, masked
