"""Recognize errors about a request that was too long, in each provider's words."""

from __future__ import annotations

from compaction.summarizers.refusals import is_context_overflow


def test_a_request_was_too_long_for_its_model():
    rows = [
        "400: prompt is too long: 209353 tokens > 200000 maximum",
        "400: input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
        "413: request_too_large: Request exceeds the maximum size",
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 8545 tokens.",
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        '{"error":{"code":"context_length_exceeded","type":"invalid_request_error"}}',
        "The input token count (314175) exceeds the maximum number of tokens allowed (131072).",
        "The input token count exceeds the maximum number of tokens allowed (1048576).",
        "ValidationException: Input is too long for requested model.",
        "This endpoint's maximum context length is 32768 tokens. However, you requested about 42832 tokens.",
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        "prompt token count of 200000 exceeds the limit of 128000",
        "the request exceeds the available context size, try increasing it",
        "tokens to keep from the initial prompt is greater than the context length",
        "Please reduce the length of the messages or completion.",
        "invalid params, context window exceeds limit",
        "Your request exceeded model token limit: 131072",
        "prompt too long; exceeded max context length",
        "litellm.ContextWindowExceededError",
    ]
    assert [error for error in rows if not is_context_overflow(error)] == []


def test_what_a_shorter_context_would_not_help_is_another_thing():
    rows = [
        "",
        "529: Overloaded",
        "429: This request would exceed your organization's rate limit of 30,000 input tokens per minute.",
        "Request too large for gpt-4o in organization org on tokens per min (TPM): Limit 30000, Requested 40000.",
        "ThrottlingException: Too many tokens, please wait before trying again.",
        "You exceeded your current quota, please check your plan and billing details.",
        "Quota exceeded for metric: generate_content_free_tier_input_token_count, limit: 250000",
        "max_tokens: 70000 > 64000, which is the maximum allowed number of output tokens",
        "messages.1.content.0.image.source.base64: image exceeds 5 MB maximum",
        "messages: too many images in one request",
        "invalid x-api-key",
        "The model's answer was cut off at its maximum length.",
    ]
    assert [error for error in rows if is_context_overflow(error)] == []
