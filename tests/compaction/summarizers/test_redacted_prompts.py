"""Secrets do not reach a model: prompts are masked where they are sent, and only there."""

from __future__ import annotations

import json

import pytest

from compaction.prompts import MAX_RESULT_CHARACTERS, live_prompt, mask_secrets, serialized_prompt
from compaction.summarizers.chain import SummarizerChain
from compaction.templates import find_template
from eventstore.memory import MemoryLog
from projections.context.build import build_context
from tests.compaction.scripted import Scripted
from tests.support.talk import Story, assistant, call, result, text, thinking, user

TOKEN = f"ghp_{'Ab1' * 12}"
TEMPLATE = find_template("short", [])


@pytest.fixture
def parts():
    story = Story(MemoryLog(clock=lambda: 0))
    signed = thinking(f"It is {TOKEN}.", thinkingSignature="c2lnbmF0dXJl")
    story.says(
        user(f"Use {TOKEN[:20]}\n{TOKEN[20:]} here."),
        assistant(signed, text("I look."), call("bash", command=f"curl -H 'x: {TOKEN}'")),
        result(f"TOKEN={TOKEN}"),
    )
    return build_context(story.log, "s").parts


def serialized(parts):
    return serialized_prompt(TEMPLATE, parts, system="Sum up.", max_tokens=9)


def live(parts, **options):
    return live_prompt(TEMPLATE, parts, system="Sum up.", max_tokens=9, **options)


def asked(prompt, summarizer=None, **options):
    """Return the prompt that a summarizer gets, and the record of the request."""
    scribe = summarizer or Scripted()
    reply = SummarizerChain(summarizers=[scribe], **options).summarize(prompt)
    return scribe.prompts[0], reply.requests[0]


def sent(prompt):
    return "".join([prompt.system, prompt.text, *(part.raw.decode() for part in prompt.prefix)])


@pytest.mark.parametrize("shape", [serialized, live])
def test_a_prompt_is_sent_without_its_secrets(parts, shape):
    prompt, record = asked(shape(parts))
    assert TOKEN[:20] not in sent(prompt)
    assert TOKEN[20:] not in sent(prompt)
    assert record["masked"] == 1


@pytest.mark.parametrize("shown", [1, 4, 12, 39])
def test_a_secret_is_masked_before_a_cut(shown):
    story = Story(MemoryLog(clock=lambda: 0))
    before = "word " * 400
    output = before[: MAX_RESULT_CHARACTERS - shown - 1] + f" {TOKEN} and more"
    story.says(user("PASSWORD=hunt"), result(output))
    prompt, record = asked(serialized(build_context(story.log, "s").parts))
    assert TOKEN[:4] not in sent(prompt)
    assert record["masked"] == 2


def test_tools_and_system_prompt_are_masked_too(parts):
    tools = json.dumps([{"name": "x", "description": TOKEN}]).encode()
    masked = mask_secrets(live(parts[:0], tools=tools))
    assert TOKEN.encode() not in masked.tools
    assert json.loads(masked.tools)[0]["name"] == "x"


def test_signed_thoughts_with_secrets_are_left_out(parts):
    prompt, _ = asked(live(parts))
    kinds = [block["type"] for block in json.loads(prompt.prefix[1].raw)["content"]]
    assert kinds == ["text", "toolCall"]


@pytest.mark.parametrize("shape", [serialized, live])
def test_a_masked_prompt_keeps_its_digest(parts, shape):
    prompt, record = asked(shape(parts))
    assert record["promptDigest"] == prompt.digest == shape(parts).digest


def test_a_prompt_without_secrets_stays_itself(parts):
    prompt = serialized(parts[:0])
    assert mask_secrets(prompt) is prompt


@pytest.mark.parametrize("shape", [serialized, live])
def test_masking_can_be_turned_off(parts, shape):
    prompt, record = asked(shape(parts), redacts=False)
    assert TOKEN in sent(prompt)
    assert "masked" not in record


def test_a_local_summarizer_gets_the_secrets(parts):
    local = Scripted()
    local.is_local = True
    assert TOKEN in sent(asked(serialized(parts), local)[0])
