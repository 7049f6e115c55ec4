from __future__ import annotations

from compaction.summarizers.chain import request_record

FIRST = {"model": "small", "answer": "a", "usage": {"input": 90, "output": 10}}
FAILED = {"model": "busy", "error": "429: wait"}
LAST = {"model": "large", "answer": "b", "usage": {"input": 5, "output": 1}}


def test_where_nobody_was_asked_there_is_nothing_to_tell():
    assert request_record([], missing=["Goal"]) == {}


def test_every_request_is_reported_in_order():
    assert request_record([FIRST, FAILED, LAST])["requests"] == [FIRST, FAILED, LAST]


def test_the_model_is_the_one_that_answered_last():
    assert request_record([FIRST, LAST, FAILED])["model"] == "large"


def test_what_they_used_is_summed():
    assert request_record([FIRST, FAILED, LAST])["usage"] == {"input": 95, "output": 11}


def test_of_requests_that_all_failed_neither_model_nor_usage_is_told():
    assert request_record([FAILED]) == {"requests": [FAILED]}


def test_what_is_missing_and_what_was_left_out_is_told_where_there_is_any():
    told = request_record([FIRST], missing=["Goal"], left_out=["e1"])
    assert (told["missingSections"], told["leftOut"]) == (["Goal"], ["e1"])
