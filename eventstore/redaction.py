"""Mask secrets in sessions as they are read, so that everything made from them is masked.

A mask has as many bytes as the secret in the record, so every offset, size and count stays right. refold's own rules
find the secrets (`eventstore.secrets`); the extra `refold[redact]` adds a maintained set, which calls nothing either.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from hashlib import blake2b
from itertools import accumulate, compress
from operator import not_
from typing import Final, TypeVar

import msgspec

from eventstore.checked import CheckedSnapshot
from eventstore.frame import Buffer, body_of, digest_of, header_of, with_other_body
from eventstore.log import EventLog, FeedItem, Snapshot
from eventstore.secrets import FindSecrets, UnwrappedText

T = TypeVar("T")


class MaskCounts(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Counts of what was masked.

    `secrets` are distinct ones, `masks` all places; `rules` counts the distinct secrets of each rule. `dropped`
    are signed blocks that held one: a mask would have broken their signature.
    """

    secrets: int
    masks: int
    dropped: int
    rules: dict[str, int]


_SIGNED: Final = re.compile(rb'(ignature\\*"\s*:\s*\\*")([^"\\]+)')
"""A field that holds a signature, in every harness."""
_OPAQUE: Final = re.compile(rb"(?<![A-Za-z0-9+/=_-])(?!KEY-----)[A-Za-z0-9+/=_-]{2000,}+")
"""The data of an image, or another payload without words: rules would match by chance only."""
_STRIDE: Final = 1_000
_WITHOUT_WORDS: Final = re.compile(rb"[A-Za-z0-9+/=_-]{%d}" % _STRIDE)
"""Stands at a multiple of its size in whatever is `_OPAQUE`."""
_COLOR: Final = rb"\[[0-9;?]*[A-Za-z]"
_MARGIN: Final = (
    rb"(?:\\+(?:[nrt]|u25[0-7][0-9a-fA-F]|u001[bB]%b)|[\s|>]|\xe2[\x94\x95][\x80-\xbf]|\x1b%b)*"
    % (_COLOR, _COLOR)
)
_ODD: Final = re.compile(
    rb"""(\\\\*(?:[nr\r\n]%b|["'/bft]|u001[bB]%b|u[0-9a-fA-F]{4})?|\r%b|\n%b|\x1b(?:%b)?)"""
    % (_MARGIN, _COLOR, _MARGIN, _MARGIN, _COLOR)
)
"""Escapes, also of JSON within JSON; line ends with the margin behind; a terminal's codes.

Each choice begins with one byte, which Python looks for twice as fast.
"""
_TRAILING: Final = b" \t|\xe2\x94\x82"


class _Reading:
    """A text as rules read it: without escapes, line breaks, colors, and what has no words."""

    def __init__(self, raw: bytes) -> None:
        pieces = _ODD.split(_blanked(raw))
        # Of each piece but the last, its length in the raw text and what follows it there, and its text.
        self._raw, self._read = pieces, pieces[:]
        self._read[1::2] = map(_unescaped, pieces[1::2])
        for place in range(1, len(pieces), 2):
            if not self._read[place]:
                self._read[place - 1] = pieces[place - 1].rstrip(_TRAILING)
        self.unwrapped = UnwrappedText(b"".join(self._read), self._breaks)

    def _breaks(self) -> list[int]:
        """Return the offsets of line breaks and colors."""
        ends = list(accumulate(map(len, self._read)))
        return [*dict.fromkeys(compress(ends[1::2], map(not_, self._read[1::2])))]

    @cached_property
    def _offsets(self) -> tuple[list[int], list[int]]:
        """The offsets of the pieces in the readable and in the raw text."""
        read, raw = ([0, *accumulate(map(len, pieces))] for pieces in (self._read, self._raw))
        return read, raw

    def raw_spans(self, start: int, stop: int) -> list[tuple[int, int]]:
        """Return the spans of the raw text that hold the bytes from `start` to `stop`."""
        read, raw = self._offsets
        found: list[tuple[int, int]] = []
        for place in range(bisect_right(read, start) - 1, len(self._read)):
            here, end = read[place], read[place + 1]
            if here >= stop:
                break
            if here == end:
                continue
            first, last = raw[place], raw[place + 1]
            # An escape is masked as a whole.
            if place % 2 == 0:
                first, last = first + max(0, start - here), first + min(stop, end) - here
            if found and found[-1][1] == first:
                first = found.pop()[0]
            found.append((first, last))
        return found


def _blanked(raw: bytes) -> bytes:
    """Return a text with spaces for signatures and payloads without words."""
    if b"ignature" in raw:
        raw = _SIGNED.sub(lambda match: match[1] + b" " * len(match[2]), raw)
    if not any(_WITHOUT_WORDS.match(raw, at) for at in range(0, len(raw), _STRIDE)):
        return raw
    return _OPAQUE.sub(lambda match: b" " * len(match[0]), raw)


@cache
def _unescaped(odd: bytes) -> bytes:
    """Return the text of an escape with any number of backslashes; none for a break."""
    code = odd.lstrip(b"\\")
    if code[:1] == b"u":
        character = chr(int(code[1:5], 16))
        return b"" if character in _BREAKS else character.encode("utf-8", "replace")
    if code[:1] in (b"n", b"r", b"\n", b"\r", b"\x1b"):
        return b""
    return {b"b": b" ", b"f": b" ", b"t": b"\t", b"": b"\\"}.get(code, code)


_BREAKS: Final = "\n\r\x1b\x85\u2028\u2029"
_SHORTEST: Final = 4
"""Minimum bytes of a secret."""
_SIGNATURE: Final = b"ignature"
"""The end of the names of fields that hold a signature, in every harness."""
_TOKENS: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"|[{}\[\],:]', re.DOTALL)


class Masks:
    """The secrets learned so far, and their masks.

    The same secret has the same mask everywhere. One that is no ordinary word is masked everywhere, also where no rule
    would have found it.
    """

    def __init__(self, find: FindSecrets) -> None:
        self._find = find
        self._rules: dict[bytes, str] = {}
        self._numbers: dict[bytes, int] = {}
        self._everywhere: set[bytes] = set()
        self._with_secrets: set[int] = set()
        self._masks = 0
        self._dropped = 0

    def learn(self, text: bytes) -> None:
        """Remember the secrets in a text, or in a line or record of JSON."""
        if self._spans_in(_Reading(text).unwrapped):
            self._with_secrets.add(hash(text))

    def _spans_in(self, unwrapped: UnwrappedText) -> list[tuple[int, int]]:
        """Return the start and stop of the secrets that rules find, and remember them."""
        spans: list[tuple[int, int]] = []
        for found in sorted(self._find(unwrapped), key=lambda found: (found.start, -found.stop)):
            # A match may reach from a key to its value, but a mask must not hide the quotes of JSON.
            secret = max(unwrapped.text[found.start : found.stop].split(b'"'), key=len)
            start = unwrapped.text.index(secret, found.start)
            stop = start + len(secret)
            if len(secret) < _SHORTEST or (spans and stop <= spans[-1][1]):
                continue
            spans.append((start, stop))
            if secret not in self._rules:
                self._rules[secret] = found.rule
                self._numbers[secret] = len(self._numbers) + 1
            if found.is_everywhere:
                self._everywhere.add(secret)
        return spans

    def apply(self, text: bytes, *, is_json: bool = True) -> bytes:
        """Return a text that was learned, of the same length, with masks for the secrets.

        In JSON, a signed block that holds one is dropped.
        """
        if not self._everywhere and hash(text) not in self._with_secrets:
            return text
        reading = _Reading(text)
        readable = reading.unwrapped.text
        spans = self._spans_in(reading.unwrapped) if hash(text) in self._with_secrets else []
        for secret in self._everywhere:
            at = readable.find(secret)
            while at >= 0:
                spans.append((at, at + len(secret)))
                at = readable.find(secret, at + len(secret))
        if not spans:
            return text
        masked = bytearray(text)
        starts = []
        for start, stop in _merged(spans):
            pieces = reading.raw_spans(start, stop)
            mask = self._mask(readable[start:stop], sum(last - first for first, last in pieces))
            starts.append(pieces[0][0])
            at = 0
            for first, last in pieces:
                masked[first:last] = mask[at : at + last - first]
                at += last - first
        dropped = _signed_blocks(text, starts) if is_json and _SIGNATURE in text else []
        for start, stop in dropped:
            _blank(masked, start, stop)
        self._dropped += len(dropped)
        self._masks += sum(not any(at <= start < end for at, end in dropped) for start in starts)
        return bytes(masked)

    def _mask(self, secret: bytes, length: int) -> bytes:
        # Of secrets that overlap, it is the number of one.
        number = self._numbers.get(secret) or next(
            number for known, number in self._numbers.items() if known in secret
        )
        mask = f"[masked-{number}"
        if len(mask) < length:
            return f"{mask:*<{length - 1}}]".encode()
        return f"{number:*>{length}}"[-length:].encode()

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


def _merged(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return spans in order, with those that overlap as one."""
    found: list[tuple[int, int]] = []
    for start, stop in sorted(spans):
        if found and start < found[-1][1]:
            found[-1] = (found[-1][0], max(stop, found[-1][1]))
        else:
            found.append((start, stop))
    return found


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
