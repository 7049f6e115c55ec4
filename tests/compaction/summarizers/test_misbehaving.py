"""Servers that send too much, too slowly, or elsewhere, and that tell what they should keep to themselves."""

from __future__ import annotations

import json
import tracemalloc
import zlib

import pytest

from compaction.summarizers import (
    CancelledError,
    SummarizerError,
    transport,
)
from compaction.summarizers.chain import SummarizersFailedError
from compaction.summarizers.http import HttpSummarizer
from tests.compaction.summarizers.prompts import Clock, Saying, chain, chat, claude, never, prompt
from tests.support.local_http import answers
from tests.support.patience import PATIENCE

KEY = "configured-key-0123456789"
MOST = 2 << 20
"""Bytes of an answer here; the real bound takes longer to reach."""
PIECE = bytes(1 << 20)
PIECES = 10 * MOST // len(PIECE)
"""A limit, so that an answer ends even if nothing bounds it."""


@pytest.fixture(autouse=True)
def _bound_is_near(monkeypatch):
    monkeypatch.setattr(transport, "MAX_RESPONSE_BYTES", MOST)


@pytest.fixture(params=["anthropic", "http", "openai"])
def summarizer(request):
    """From an address to a summarizer that asks there."""
    by_key = {"anthropic": claude, "openai": chat}.get(request.param)
    return (lambda url: by_key(url, api_key=KEY)) if by_key else HttpSummarizer


def failure(summarizer):
    with pytest.raises(SummarizerError) as raised:
        summarizer.summarize(prompt(), is_cancelled=never)
    return raised.value


def asking_failure(*summarizers, **options):
    with pytest.raises(SummarizersFailedError) as raised:
        chain(*summarizers, **options).summarize(prompt())
    return raised.value


# Too much


def plain(status):
    def reply(exchange):
        exchange.begin(status=status)
        for _ in range(PIECES):
            exchange.send(PIECE)

    return reply


def bomb(status):
    """Ten times as much as may come, in a hundredth of the bytes."""

    def reply(exchange):
        exchange.begin(status=status, content_encoding="gzip")
        deflate = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
        for _ in range(PIECES):
            exchange.send(deflate.compress(PIECE) + deflate.flush(zlib.Z_SYNC_FLUSH))

    return reply


@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize("flood", [plain, bomb])
def test_an_answer_without_end_is_given_up_and_not_tried_again(server, summarizer, flood, status):
    problem = failure(summarizer(server(flood(status)).url))
    assert problem.problem == f"the answer has more than {MOST:,} bytes; check the address"
    assert not problem.is_transient


@pytest.mark.parametrize("flood", [plain, bomb])
def test_an_answer_without_end_takes_no_more_memory_than_is_read_of_it(server, summarizer, flood):
    asked = summarizer(server(flood(200)).url)
    tracemalloc.start()
    try:
        failure(asked)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 6 * MOST


def test_the_connection_of_an_answer_that_is_given_up_is_closed(server, summarizer):
    service = server(plain(200))
    failure(summarizer(service.url))
    assert service.requests[0].is_left.wait(PATIENCE)


def test_a_compressed_answer_is_read(server):
    def reply(exchange):
        body = zlib.compress(json.dumps({"summary": "Done."}).encode(), wbits=zlib.MAX_WBITS | 16)
        exchange.answer(200, body, content_encoding="gzip")

    answer = HttpSummarizer(server(reply).url).summarize(prompt(), is_cancelled=never)
    assert answer.text == "Done."


# Too slowly


class Drips:
    """Drips for ever; a clock by which each drop takes a second."""

    def __init__(self, *, in_head=False):
        self.drops = 0
        self._in_head = in_head

    def seconds(self):
        return self.drops

    def reply(self, exchange):
        exchange.raw(b"HTTP/1.1 200 OK\r\nx-drops: ") if self._in_head else exchange.begin()
        exchange.drip(lambda: self._drop(exchange))

    def _drop(self, exchange):
        exchange.raw(b"o") if self._in_head else exchange.send(b" ")
        self.drops += 1


@pytest.mark.parametrize("in_head", [False, True])
def test_an_answer_that_drips_ends_at_the_deadline(server, summarizer, in_head):
    drips = Drips(in_head=in_head)
    service = server(drips.reply)
    problem = asking_failure(summarizer(service.url), seconds=drips.seconds, deadline=5)
    (last,) = problem.failures
    assert last.problem == "no answer in time; a summary may take 5 s, retries included"
    assert service.requests[0].is_left.wait(PATIENCE)


def test_a_request_that_ends_at_the_deadline_is_recorded(server, summarizer):
    drips = Drips()
    problem = asking_failure(summarizer(server(drips.reply).url), seconds=drips.seconds, deadline=5)
    assert [each["error"] for each in problem.requests] == [problem.failures[0].problem]


def test_one_that_drips_leaves_time_for_the_next(server, summarizer):
    drips = Drips()
    dripping = summarizer(server(drips.reply).url)
    # By this clock, no time goes by once half of it is over.
    asking = chain(dripping, Saying("Done."), seconds=lambda: min(drips.drops, 4), deadline=8)
    assert asking.summarize(prompt()).text == "Done."


def test_a_deadline_counts_for_all_tries_together():
    busy = SummarizerError("one", "busy", is_transient=True, retry_after=10)
    assert len(asking_failure(Saying(busy), retries=9, deadline=25).requests) == 3


def test_a_deadline_counts_for_the_reminder_too():
    clock = Clock()

    class Slow(Saying):
        def summarize(self, prompt, *, is_cancelled):
            clock.wait(10)
            return super().summarize(prompt, is_cancelled=is_cancelled)

    slow = Slow("No headings.")
    reply = chain(slow, clock=clock, deadline=10).summarize(prompt("compaction"))
    assert (reply.text, len(slow.prompts)) == ("No headings.", 1)


def test_one_that_is_called_off_before_the_deadline_is_called_off(server, summarizer):
    service = server(Drips().reply)
    with pytest.raises(CancelledError):
        chain(summarizer(service.url), is_cancelled=lambda: bool(service.requests)).summarize(prompt())


# Elsewhere


def moved(status, location):
    return lambda exchange: exchange.answer(status, b"", location=location)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_nothing_is_sent_to_where_a_server_has_moved(server, summarizer, status):
    other = server(answers({"summary": "Done."}))
    problem = failure(summarizer(server(moved(status, f"{other.url}/v2")).url))
    assert problem.problem.endswith(f" redirects to {other.url}/v2; use that address")
    assert (problem.is_transient, other.requests) == (False, [])


def test_a_redirect_on_the_same_server_is_not_followed_either(server, summarizer):
    service = server(moved(307, "/v2"), answers({"summary": "Done."}))
    problem = failure(summarizer(service.url))
    assert problem.problem.endswith(" redirects to /v2; use that address")
    assert len(service.requests) == 1


# Secrets


def echoes(exchange):
    """Tell all that came, in the shape of the API's errors, in the first characters of which the key is cut."""
    request = exchange.request
    told = f"{'x' * 140} {request.headers} {request.path}"
    body = {"type": "error", "error": {"type": "authentication_error", "message": told}}
    exchange.answer(401, json.dumps(body).encode())


def echoes_in_short(exchange):
    headers = exchange.request.headers
    exchange.answer(401, f"no {headers.get('x-api-key', headers.get('authorization'))}".encode())


@pytest.mark.parametrize("reply", [echoes, echoes_in_short])
@pytest.mark.parametrize("key", [KEY, "sk-ant-api03-abcdefghijklmnop", "tiny7"])
@pytest.mark.parametrize("asking", [chat, claude])
def test_a_key_that_an_error_echoes_is_masked(server, asking, reply, key):
    problem = asking_failure(asking(server(reply).url, api_key=key))
    assert key[:5] not in f"{problem} {problem.failures} {problem.requests}"


@pytest.mark.parametrize("reply", [echoes, echoes_in_short])
def test_what_is_secret_in_an_address_is_masked_where_an_error_echoes_it(server, reply):
    address = server(reply).url.replace("//", "//robot:pass-word@") + "/?key=query-token"
    problem = asking_failure(HttpSummarizer(address))
    told = f"{problem} {problem.failures} {problem.requests}"
    # The beginning of "robot:pass-word" in base 64 is that of what is sent.
    assert not [each for each in ("robot", "pass-", "query-", "cm9ib3Q") if each in told]


def test_a_key_in_an_error_within_a_stream_is_masked(server):
    def reply(exchange):
        error = {"type": "error", "error": {"type": KEY, "message": f"no {KEY}"}}
        exchange.begin()
        exchange.send(f"event: error\ndata: {json.dumps(error)}\n\n".encode())
        exchange.end()

    assert KEY not in str(failure(claude(server(reply).url, api_key=KEY)))


def test_a_key_in_a_redirects_address_is_masked(server, summarizer):
    problem = failure(summarizer(server(moved(307, f"http://localhost/{KEY}")).url + f"?key={KEY}"))
    assert KEY not in str(problem)


@pytest.mark.parametrize("address", ["http://me:pa/ss-word@127.0.0.1", "http://me:pa?ss-word@127.0.0.1"])
def test_a_password_that_makes_an_address_none_is_not_told(summarizer, address):
    problem = failure(summarizer(address))
    assert "pa" not in problem.problem.replace("path", "")
