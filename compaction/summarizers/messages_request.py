"""A prompt as a request to Anthropic's Messages API."""

from __future__ import annotations

from typing import Final

from compaction.prompts import Prompt
from eventstore.javascript import stringify
from projections.context import Context, Fate, Part
from projections.renderers.anthropic import render
from projections.settings import Settings

_STREAMED: Final = b',"stream":true'
_NO_CALLS: Final = b',"tool_choice":{"type":"none"}'
_CACHED: Final = b',"cache_control":{"type":"ephemeral"}'
"""The provider reads from its cache what it has of the messages, without marks in them."""


def request_body(prompt: Prompt, model: str, *, is_cached: bool = False) -> bytes:
    """The JSON of a request: the prompt's text is the last user's message, behind the prefix if there is one.

    A live prefix is what the context's own rendering begins with, byte for byte. `is_cached`: the provider is to
    read it from its cache.
    """
    rendered = render(
        Context(
            session="",
            leaf=None,
            as_of=0,
            rules="pi",
            parts=(*prompt.prefix, _said(prompt.text)),
            settings=Settings(),
        ),
        model=model,
        max_tokens=prompt.max_tokens,
        system=prompt.system or None,
        tools=prompt.tools or None,
    )
    forbidden = _NO_CALLS if prompt.tools and prompt.forbids_tools else b""
    return b"%s%s%s%s}" % (rendered.body[:-1], forbidden, _CACHED if is_cached else b"", _STREAMED)


def _said(text: str) -> Part:
    raw = stringify({"role": "user", "content": text}).encode()
    return Part(seq=0, id="prompt", kind="message", role="user", fate=Fate.INJECTED, raw=raw, utf16=0, utf8=0)
