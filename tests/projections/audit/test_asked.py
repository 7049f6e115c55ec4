"""What records keep of the requests for their summaries."""

from __future__ import annotations

import pytest

from eventstore.records import Compaction
from eventstore.views import Usage
from projections.audit.cost import Asked, AskedBy, asked, asked_by
from projections.settings import Model
from tests.support.spending import used


@pytest.fixture
def kept(story):
    """From the request in a record to what is read of it."""

    def read(request):
        record = Compaction(summary="s", first_kept_entry_id="", tokens_before=9, request=request)
        return asked(story[story.add(record)])

    return read


def test_a_record_that_keeps_none_has_none(kept):
    assert kept({}) == []


def test_a_request_has_the_model_that_answered_and_its_usage(kept):
    found = kept({"provider": "p", "model": "m", "usage": used(1, 2, read=3, write=4)})
    usage = Usage(input=1, output=2, cache_read=3, cache_write=4, total=10)
    assert found == [Asked(model=Model(provider="p", model_id="m"), usage=usage, is_free=False)]


def test_of_several_requests_those_that_failed_have_no_answer(kept):
    found = kept({"requests": [{"model": "a"}, {"model": "b", "error": "no"}, {"model": "c"}], "model": "c"})
    assert [each.model.model_id for each in found] == ["a", "c"]


@pytest.mark.parametrize(
    ("summarizer", "is_free"), [("extractive", True), ("recorded", True), ("http", False)]
)
def test_summarizers_that_ask_no_model_are_free(kept, summarizer, is_free):
    assert [each.is_free for each in kept({"summarizer": summarizer})] == [is_free]


@pytest.mark.parametrize("request_", [{"model": 5, "usage": 7}, {"usage": {"input": "many"}}])
def test_fields_of_wrong_types_are_as_if_they_were_not_there(kept, request_):
    assert kept(request_) == [Asked(model=None, usage=None, is_free=False)]


@pytest.fixture
def told(story):
    """From the request in a record to the templates that it names."""

    def read(request):
        record = Compaction(summary="s", first_kept_entry_id="", tokens_before=9, request=request)
        return asked_by(story[story.add(record)])

    return read


def test_the_templates_of_requests_are_named_once_and_in_order(told):
    requests = [{"template": name} for name in ("ours", "turn-prefix", "ours")]
    assert told({"requests": requests, "missingSections": ["Goal"]}) == AskedBy(
        templates=("ours", "turn-prefix"), missing=["Goal"]
    )


def test_a_record_that_names_no_template_does_not_say_what_is_missing(told):
    assert told({"requests": [{"model": "m"}], "missingSections": ["Goal"]}) is None


@pytest.mark.parametrize("missing", ["Goal", 5, [7, None]])
def test_missing_sections_of_a_wrong_type_are_none(told, missing):
    assert told({"requests": [{"template": "ours"}], "missingSections": missing}).missing == []
