"""Limit the size of an answer after decompression."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import httpx2

from compaction.summarizers import AnswerTooLargeError

MAX_RESPONSE_BYTES: Final = 16 * 1024 * 1024
"""Maximum decoded size: five times a summary of 20,000 tokens as an event stream."""


def limit_response(response: httpx2.Response, summarizer: str) -> None:
    """Make a response raise AnswerTooLargeError once more than 16 MiB of it are decoded.

    Call this before reading the response. Compressed data is decoded piece by piece.
    """
    encoded = httpx2.Response(response.status_code, headers=response.headers, stream=response.stream)
    response.stream = _Bounded(encoded, summarizer)
    response.headers.pop("content-encoding", None)


class _Bounded(httpx2.SyncByteStream):
    """The decoded bytes of a response, up to the limit."""

    def __init__(self, encoded: httpx2.Response, summarizer: str) -> None:
        self._encoded, self._summarizer = encoded, summarizer

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for piece in self._encoded.iter_bytes():
            size += len(piece)
            if size > MAX_RESPONSE_BYTES:
                raise AnswerTooLargeError(self._summarizer, MAX_RESPONSE_BYTES)
            yield piece

    def close(self) -> None:
        self._encoded.close()
