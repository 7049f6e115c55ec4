"""Bound the size of an answer, however small it was made for its way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import httpx2

from compaction.summarizers import AnswerTooLargeError

MAX_RESPONSE_BYTES: Final = 16 * 1024 * 1024
"""Of an answer, decoded: five times what a summary of 20,000 tokens takes as a stream of events."""


def limit_response(response: httpx2.Response, summarizer: str) -> None:
    """Let a response of a summarizer end with AnswerTooLargeError once more than 16 MiB of it are decoded.

    It has to be called before anything is read. What was compressed is decoded on the way, piece by piece.
    """
    encoded = httpx2.Response(response.status_code, headers=response.headers, stream=response.stream)
    response.stream = _Bounded(encoded, summarizer)
    response.headers.pop("content-encoding", None)


class _Bounded(httpx2.SyncByteStream):
    """The decoded bytes of a response."""

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
