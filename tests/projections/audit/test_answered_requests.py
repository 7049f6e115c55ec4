"""Read the requests for summaries that records keep."""

from __future__ import annotations

import pytest

from eventstore.harnesses import node_of
from eventstore.node import RequestView
from eventstore.records import Compaction
from eventstore.views import Usage
from projections.audit.cost import answered_requests, is_free
from tests.support.spending import used


@pytest.fixture
def kept(story):
    """From the request in a record to what is read of it."""

    def read(request):
        record = Compaction(summary="s", first_kept_entry_id="", tokens_before=9, request=request)
        return answered_requests(story[story.add(record)])

    return read


def test_a_record_that_keeps_none_has_none(kept):
    assert kept({}) == []


def test_a_request_has_the_model_that_answered_and_its_usage(kept):
    found = kept({"provider": "p", "model": "m", "usage": used(1, 2, read=3, write=4)})
    usage = Usage(input=1, output=2, cache_read=3, cache_write=4, total=10)
    assert found == [RequestView(provider="p", model="m", usage=usage)]


def test_of_several_requests_those_that_failed_have_no_answer(kept):
    found = kept({"requests": [{"model": "a"}, {"model": "b", "error": "no"}, {"model": "c"}], "model": "c"})
    assert [each.model for each in found] == ["a", "c"]


@pytest.mark.parametrize(("summarizer", "free"), [("extractive", True), ("recorded", True), ("http", False)])
def test_summarizers_that_ask_no_model_are_free(kept, summarizer, free):
    assert list(map(is_free, kept({"summarizer": summarizer}))) == [free]


@pytest.mark.parametrize("request_", [{"model": 5, "usage": 7}, {"usage": {"input": "many"}}])
def test_fields_of_wrong_types_are_as_if_they_were_not_there(kept, request_):
    assert kept(request_) == [RequestView()]


@pytest.fixture
def told(story):
    """From the request in a record to the templates that it names, and the sections that the summary lacks."""

    def read(request):
        record = Compaction(summary="s", first_kept_entry_id="", tokens_before=9, request=request)
        view = node_of(story[story.add(record)])
        return [each.template for each in view.requests], view.compaction.missing_sections

    return read


def test_the_templates_of_requests_are_reported_in_order_with_the_missing_sections(told):
    requests = [{"template": name} for name in ("ours", "turn-prefix", "ours")]
    assert told({"requests": requests, "missingSections": ["Goal"]}) == (
        ["ours", "turn-prefix", "ours"],
        ("Goal",),
    )


@pytest.mark.parametrize("missing", ["Goal", 5, [7, None]])
def test_missing_sections_of_a_wrong_type_are_none(told, missing):
    assert told({"requests": [{"template": "ours"}], "missingSections": missing}) == (["ours"], ())
