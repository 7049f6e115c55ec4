"""Answer requests for summaries as a broken or hostile server does: nothing, too much, too slowly, or nonsense."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final
from unittest.mock import patch

from bench.faults import Outcome, tried
from compaction.summarizers import transport
from compaction.summarizers.anthropic import AnthropicSummarizer
from compaction.summarizers.chain import SummarizerChain, SummarizersFailedError
from compaction.summarizers.http import HttpSummarizer
from eventstore import open_store
from eventstore.verify import verify
from tests.cli import long_talk
from tests.cli.running import Refold
from tests.compaction.summarizers.prompts import prompt
from tests.support.local_http import Exchange, LocalServer, Reply, hangs
from tests.support.pi_files import import_file

_KEY: Final = "configured-key-0123456789"
_MOST: Final = 2 << 20
"""Bytes of an answer that are read here; the real bound takes longer to reach."""
_LONGEST: Final = 30.0
"""Seconds that a try may take, of which a request has one, and a summary three."""


def hostile_models(dice: Random, folder: Path) -> Iterator[Outcome]:
    """Ask for summaries in the library and by the command: a summary or one line, in time, and no key in it."""
    with open_store(folder / "store") as log:
        session = import_file(log, long_talk.write(folder / "talk.jsonl")).id
    refold = Refold(folder / "store")
    with patch.object(transport, "MAX_RESPONSE_BYTES", _MOST):
        while True:
            name = dice.choice([*_REPLIES])
            reply = _REPLIES[name](dice)
            # The command has no option for how long a request may take, so it is asked with what ends by itself.
            kinds = [_http, _anthropic, *([_command] if name in _ENDING else [])]
            began, ask = time.monotonic(), dice.choice(kinds)
            with LocalServer(reply) as server:
                yield tried(name, lambda ask=ask, url=server.url: ask(url, refold, session))
            if time.monotonic() - began > _LONGEST:
                yield Outcome(of=name, problem=f"took {time.monotonic() - began:.0f} s")


def _http(url: str, *_: object) -> None:
    address = f"{url.replace('//', '//robot:pass-word@')}/?key={_KEY}"
    _library(HttpSummarizer(address, timeout=1))


def _anthropic(url: str, *_: object) -> None:
    _library(AnthropicSummarizer(base_url=url, api_key=_KEY, model="claude-opus-4-5", timeout=1))


def _library(summarizer: HttpSummarizer | AnthropicSummarizer) -> None:
    chain, told = SummarizerChain(summarizers=[summarizer], wait=lambda _: None, deadline=3), ""
    try:
        chain.summarize(prompt())
    except SummarizersFailedError as error:
        told = str(error)
        shown = f"{error} {error.failures} {error.requests}"
    else:
        return
    assert "\n" not in told, "an error has more than one line"
    assert _KEY not in shown, "an error tells the key"
    assert "pass-word" not in shown, "an error tells the password"


def _command(url: str, refold: Refold, session: str) -> None:
    with patch.dict("os.environ", REFOLD_SUMMARIZER_ENDPOINT=url, NO_PROXY="127.0.0.1"):
        ended = refold("compact", session, "--keep-recent", "250", "--summarizer", "http", code=None)
    assert ended.code in (0, 1), ended.errors
    assert ended.code == 0 or ended.errors.splitlines()[-1].startswith("refold: "), ended.errors
    if ended.code == 0:
        refold("undo", session)
    with open_store(refold.store) as log:
        assert verify(log).findings == []


def _garbage(dice: Random) -> Reply:
    return lambda exchange: exchange.raw(dice.randbytes(dice.randint(0, 5000)))


def _nonsense(dice: Random) -> Reply:
    """Answer well-formed HTTP with a body that is no summary."""
    deep = b"[" * 200_000
    body = dice.choice(
        [
            *(b"", b"null", b"{", b'{"summary":', deep, b'{"summary":' + deep, b"\xff\xfe", b'{"summary":7}'),
            *(
                b'{"summary":"\\ud800"}',
                b'{"summary":""}',
                b'{"summary":"\\u0000\\u001b[2J"}',
                dice.randbytes(999),
            ),
            json.dumps({"summary": "x" * dice.randint(1, 1 << 20)}).encode(),
            json.dumps({"type": "error", "error": {"type": _KEY, "message": [_KEY] * 9}}).encode(),
            b"event: message_start\ndata: " + dice.choice((b"{}", b"null", deep, b'{"type":7}')) + b"\n\n",
        ]
    )
    status = dice.choice([200, 200, 200, 204, 206, 400, 401, 404, 413, 429, 500, 503, 529, 999])
    kind = dice.choice(["application/json", "text/event-stream", "text/html", "", "x" * 9000])
    after = dice.choice(["", "-1", "1e999", "nan", "9" * 400, "Wed, 21 Oct 2015 07:28:00 GMT", "0.01"])
    return lambda exchange: exchange.answer(status, body, kind, retry_after=after)


def _flood(dice: Random) -> Reply:
    packed, status = dice.random() < 0.5, dice.choice([200, 500])

    def reply(exchange: Exchange) -> None:
        exchange.begin(status=status, **({"content_encoding": "gzip"} if packed else {}))
        deflate = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
        for _ in range(20):
            piece = bytes(1 << 20)
            exchange.send(deflate.compress(piece) + deflate.flush(zlib.Z_SYNC_FLUSH) if packed else piece)

    return reply


def _broken_coding(dice: Random) -> Reply:
    coding, body = dice.choice(["gzip", "deflate", "br", "zstd", "x"]), dice.randbytes(dice.randint(0, 900))
    return lambda exchange: exchange.answer(200, body, content_encoding=coding)


def _drips(dice: Random) -> Reply:
    if dice.random() < 0.5:
        return lambda exchange: (exchange.begin(), exchange.drip(lambda: exchange.send(b" ")))[1]
    return lambda exchange: (
        exchange.raw(b"HTTP/1.1 200 OK\r\nx-drops: "),
        exchange.drip(lambda: exchange.raw(b"o")),
    )[1]


def _cut_short(dice: Random) -> Reply:
    sent, told = dice.randbytes(dice.randint(0, 99)), dice.choice(["100", "-5", "x", "9" * 30])
    return lambda exchange: exchange.raw(
        b"HTTP/1.1 200 OK\r\ncontent-length: %s\r\n\r\n%s" % (told.encode(), sent)
    )


def _endless_head(dice: Random) -> Reply:
    line = b"x-%d: y\r\n" if dice.random() < 0.5 else b"x%d"

    def reply(exchange: Exchange) -> None:
        exchange.raw(b"HTTP/1.1 200 OK\r\n")
        for number in range(300_000):
            exchange.raw(line % number)

    return reply


def _moved(dice: Random) -> Reply:
    to = dice.choice(
        ["http://127.0.0.1:1/", f"http://h/{_KEY}", "//", "", "\x01", "file:///etc/passwd", "x" * 9000]
    )
    return lambda exchange: exchange.answer(dice.choice([301, 302, 303, 307, 308]), b"", location=to)


_ENDING: Final = ("is nonsense", "floods", "has a broken coding", "redirects")
_REPLIES: Final = {
    "hangs": lambda _: hangs,
    "is garbage": _garbage,
    "is nonsense": _nonsense,
    "floods": _flood,
    "has a broken coding": _broken_coding,
    "drips": _drips,
    "is cut short": _cut_short,
    "has an endless head": _endless_head,
    "redirects": _moved,
}
