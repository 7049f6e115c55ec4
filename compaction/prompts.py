"""Build prompts for summaries: serialize conversations, and define the prompt shapes.

To add a shape, write a `PromptShape`, its name in `PROMPT_SHAPES`, tests and docs.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from eventstore.javascript import compact_json, cut_utf16, stringify, utf16_length
from eventstore.node import PromptView
from eventstore.views import Message, Text, Thinking, ToolCall, shell_text
from projections.context.parts import Part, view_of_part
from projections.tokens import Counter

if TYPE_CHECKING:
    from compaction.templates import Template  # reads what packages offer, which takes long to load

MAX_SUMMARY_TOKENS: Final = 16_384
"""The maximum number of tokens of a summary."""
_MAX_SHORT_SUMMARY: Final = 512


def output_budget(reserve: int) -> int:
    """Return the token limit of a summary: 80 % of the reserve, at most 16,384."""
    return min(int(reserve * 0.8), MAX_SUMMARY_TOKENS)


def turn_prefix_budget(reserve: int) -> int:
    """Return the token limit for a split turn's prefix: half of the reserve."""
    return int(reserve * 0.5)


def short_budget(reserve: int) -> int:
    """Return the token limit of a short summary: a fifth of the reserve, at most 512."""
    return min(_MAX_SHORT_SUMMARY, int(reserve * 0.2))


MAX_RESULT_CHARACTERS: Final = 2_000
"""Characters of a tool result in a prompt, in UTF-16 units, as pi counts them."""
_USER: Final = "[User]: "
_CONTINUATION: Final = "[Continuation]: "
_TAGS: Final = (
    "conversation",
    "previous-summary",
    "additional-context",
    "draft",
    "summary",
    "analysis",
    "afterwards",
    "claim",
    "known",
)
_IMITATED: Final = re.compile(rf"<(?=\s*+(?:/\s*+)?(?:{'|'.join(_TAGS)})\b)", re.IGNORECASE)
_HALF_A_PAIR: Final = re.compile("[\ud800-\udbff]\\Z")


def serialize(parts: Iterable[Part]) -> str:
    """Serialize messages as text with blank lines between them, in pi's form.

    Lines begin with `[User]: `, `[Assistant thinking]: `, `[Assistant]: `, `[Assistant tool calls]:
    name(key=json, …); …` or `[Tool result]: `. Results over 2,000 characters are cut, with a note of how much
    is missing. Images and messages that were hidden from the model are left out. A continuation message is
    not the user's and begins with `[Continuation]: `.
    """
    return "\n\n".join(line for part in parts for line in _lines_of(part))


def wrap_in_tag(tag: str, text: str) -> str:
    """Wrap a text in a tag; escape imitations of the prompt's tags inside it."""
    return f"<{tag}>\n{escape_tags(text)}\n</{tag}>"


def escape_tags(text: str) -> str:
    """Escape everything in a text that looks like a tag of the prompt."""
    return _IMITATED.sub("&lt;", text)


def _lines_of(part: Part) -> Iterator[str]:
    lines = _lines(view_of_part(part))
    return (line.replace(_USER, _CONTINUATION, 1) for line in lines) if part.continues else lines


def _lines(message: Message) -> Iterator[str]:
    if message.shell is not None:
        if not message.shell.excluded:
            yield f"{_USER}{shell_text(message.shell)}"
    elif message.role == "assistant":
        yield from _answer(message)
    elif message.role == "toolResult":
        if message.text:
            yield f"[Tool result]: {_cut(message.text)}"
    elif message.text:
        yield f"{_USER}{message.text}"


def _answer(message: Message) -> Iterator[str]:
    thinking = [block.text for block in message.blocks if isinstance(block, Thinking)]
    text = [block.text for block in message.blocks if isinstance(block, Text)]
    if thinking:
        yield "[Assistant thinking]: " + "\n".join(thinking)
    if text:
        yield "[Assistant]: " + "\n".join(text)
    if message.tool_calls:
        yield "[Assistant tool calls]: " + "; ".join(map(_call, message.tool_calls))


def _call(call: ToolCall) -> str:
    """Serialize a call as pi does; unlike pi, keep arguments that are no object."""
    arguments = call.decoded
    if not isinstance(arguments, dict):
        return f"{call.name}({compact_json(call.arguments)})"
    return f"{call.name}({', '.join(f'{key}={stringify(value)}' for key, value in arguments.items())})"


def _cut(text: str) -> str:
    """Return the beginning of a long text; unlike pi, never split a surrogate pair."""
    length = utf16_length(text) if len(text) > MAX_RESULT_CHARACTERS // 2 else 0
    if length <= MAX_RESULT_CHARACTERS:
        return text
    shown = _HALF_A_PAIR.sub("", cut_utf16(text, MAX_RESULT_CHARACTERS))
    return f"{shown}\n\n[... {length - utf16_length(shown)} more characters truncated]"


_PREVIOUS: Final = "previous-summary"
_CARRY_OVER: Final = (
    f"Carry over what still holds of <{_PREVIOUS}>: nothing else is left of what came before."
)
"""Instructions for templates that do not say what to do with a previous summary."""


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """A system prompt, and a text after the messages of `prefix`.

    A serialized prompt holds its messages inside the text. `max_tokens` limits the answer. `parts` are the
    messages to summarize, in either shape. `previous` is the summary to update, "" for none. `tools` are the
    definitions before a live prefix, a JSON list; with `forbids_tools` the model may not call them. `schema` is the
    JSON schema of an answer, for APIs that have such, empty for text. `is_reminder` means that it follows an
    incomplete answer. `masked` counts the secrets that are masked in it; then `unmasked` is the digest of the prompt
    that has them.
    """

    template: Template
    system: str
    text: str
    max_tokens: int
    parts: tuple[Part, ...]
    previous: str = ""
    is_live: bool = False
    tools: bytes = b""
    forbids_tools: bool = False
    schema: bytes = b""
    is_reminder: bool = False
    masked: int = 0
    unmasked: str = ""

    @property
    def prefix(self) -> tuple[Part, ...]:
        """The messages to send unchanged before the text."""
        return self.parts if self.is_live else ()

    @property
    def digest(self) -> str:
        """The SHA-256 of everything that the model reads, secrets included, in hexadecimal."""
        if self.unmasked:
            return self.unmasked
        texts = (text.encode("utf-8", "surrogatepass") for text in (self.system, self.text))
        pieces = (*texts, *filter(None, (self.tools, self.schema)), *(part.raw for part in self.prefix))
        digest = hashlib.sha256()
        for piece in pieces:
            digest.update(len(piece).to_bytes(8, "big") + piece)
        return digest.hexdigest()


def mask_secrets(prompt: Prompt) -> Prompt:
    """Return a prompt with masks for the secrets in all that the model reads."""
    # Its many patterns take long to compile, and most commands send nothing.
    from eventstore.redaction import Masks  # noqa: PLC0415
    from eventstore.secrets import find_secrets  # noqa: PLC0415

    masks = Masks(find_secrets)
    records = [prompt.tools, *(part.raw for part in prompt.parts)]
    for each in records:
        masks.learn(each)
    text = prompt.text
    if not prompt.is_live:
        # Masked before it is cut: of a secret at the limit, a beginning would stay that no rule finds.
        parts = _with_raw(prompt.parts, (masks.apply(each, is_json=False) for each in records[1:]))
        text = text.replace(_conversation(prompt.parts), _conversation(parts), 1)
    texts = [each.encode("utf-8", "surrogatepass") for each in (prompt.system, text)]
    for each in texts:
        masks.learn(each)
    found = masks.count().secrets
    if not found:
        return prompt
    system, text = (masks.apply(each, is_json=False).decode("utf-8", "surrogatepass") for each in texts)
    tools, *raw = map(masks.apply, records if prompt.is_live else records[:1])
    return msgspec.structs.replace(
        prompt,
        system=system,
        text=text,
        tools=tools,
        parts=_with_raw(prompt.parts, raw) if prompt.is_live else prompt.parts,
        masked=found,
        unmasked=prompt.digest,
    )


def _with_raw(parts: Sequence[Part], raw: Iterable[bytes]) -> tuple[Part, ...]:
    return tuple(msgspec.structs.replace(part, raw=each) for part, each in zip(parts, raw, strict=True))


def with_reminder(prompt: Prompt, answer: str, missing: Sequence[str], *, is_cut: bool = False) -> Prompt:
    """Return a prompt that asks again after an answer that lacks sections or was cut off."""
    pieces = [prompt.text, wrap_in_tag("draft", answer)]
    if missing:
        pieces.append("Your draft lacks these sections:\n" + "\n".join(f"## {each}" for each in missing))
    if is_cut:
        pieces.append("Your draft was too long and broke off: say the same in fewer words.")
    pieces.append("Write the whole answer again, with every section.")
    return msgspec.structs.replace(prompt, text="\n\n".join(pieces), is_reminder=True)


def request_text(template: Template, previous: str, context: Sequence[str], instructions: str) -> str:
    """Return the request after the conversation.

    It consists of the previous summary, lines of context, the template and a person's instructions; "" and ()
    stand for none.
    """
    pieces = [wrap_in_tag(_PREVIOUS, previous)] if previous else []
    pieces += [wrap_in_tag("additional-context", "\n".join(context))] if context else []
    pieces.append(template.text)
    if previous and f"<{_PREVIOUS}>" not in template.text:
        pieces.append(_CARRY_OVER)
    if instructions:
        pieces.append(f"Besides, and above all:\n{instructions}")
    return "\n\n".join(pieces)


class PromptInputs(msgspec.Struct, frozen=True, kw_only=True):
    """The inputs of a prompt for a summary, in any shape.

    `parts` are the messages to summarize. `previous` is the summary to update, "" for none; `shown` is the
    message in which the context shows it, None if it does not. `updates` means that the policy has a template
    for updates. `system` is refold's system prompt, `harness` what the harness sends before its messages.
    `max_tokens` limits the answer. `context` are lines from hooks, `instructions` those of a person.
    """

    template: Template
    parts: Sequence[Part]
    system: str
    max_tokens: int
    previous: str = ""
    shown: Part | None = None
    updates: bool = False
    harness: PromptView = PromptView()
    context: Sequence[str] = ()
    instructions: str = ""


class PromptShape(msgspec.Struct, frozen=True, kw_only=True):
    """A way to ask for a summary.

    `name` is its name in policies. `prompt` builds the prompt, `sizes` counts the tokens of each message in
    it. With `follows_harness`, the prompt repeats what the harness sends before its messages, which is looked
    up in the log.
    """

    name: str
    prompt: Callable[[PromptInputs], Prompt]
    sizes: Callable[[Sequence[Part], Counter], list[int]]
    follows_harness: bool = False


def serialized_prompt(
    template: Template,
    parts: Sequence[Part],
    *,
    system: str,
    max_tokens: int,
    previous: str = "",
    context: Sequence[str] = (),
    instructions: str = "",
) -> Prompt:
    """Return a prompt that holds the conversation as text.

    The order is: conversation, previous summary, lines of context from hooks, template, a person's
    instructions. Imitations of the tags between them are escaped.
    """
    return Prompt(
        template=template,
        system=system,
        text=f"{_conversation(parts)}\n\n{request_text(template, previous, context, instructions)}",
        max_tokens=max_tokens,
        parts=tuple(parts),
        previous=previous,
    )


def _conversation(parts: Iterable[Part]) -> str:
    return wrap_in_tag("conversation", serialize(parts))


def _serialized(of: PromptInputs) -> Prompt:
    return serialized_prompt(
        of.template,
        of.parts,
        system=of.system,
        max_tokens=of.max_tokens,
        previous=of.previous,
        context=of.context,
        instructions=of.instructions,
    )


def _sizes(parts: Sequence[Part], tokens: Counter) -> list[int]:
    return [tokens.of_text(serialize([part])) for part in parts]


SERIALIZED: Final = PromptShape(name="serialized", prompt=_serialized, sizes=_sizes)


def live_prompt(
    template: Template,
    parts: Sequence[Part],
    *,
    system: str,
    max_tokens: int,
    previous: str = "",
    context: Sequence[str] = (),
    instructions: str = "",
    tools: bytes = b"",
    forbids_tools: bool = False,
) -> Prompt:
    """Return a prompt that follows the real messages, which a provider may have cached.

    For this, system prompt and tools must be those of the harness that sent the messages.
    """
    return Prompt(
        template=template,
        system=system,
        text=request_text(template, previous, context, instructions),
        max_tokens=max_tokens,
        parts=tuple(parts),
        previous=previous,
        is_live=True,
        tools=tools,
        forbids_tools=forbids_tools,
    )


def _live_prefix(of: PromptInputs) -> Prompt:
    """Build a prompt that follows the real messages and the previous summary."""
    prompt = live_prompt(
        of.template,
        of.parts if of.shown is None else (of.shown, *of.parts),
        system=of.harness.system or of.system,
        max_tokens=of.max_tokens,
        previous=of.previous if of.shown is None or of.updates else "",
        context=of.context,
        instructions=of.instructions,
        tools=of.harness.tools,
    )
    return msgspec.structs.replace(prompt, previous=of.previous)


LIVE_PREFIX: Final = PromptShape(
    name="live-prefix",
    prompt=_live_prefix,
    sizes=lambda parts, tokens: tokens.count(parts),
    follows_harness=True,
)


PROMPT_SHAPES: Final[dict[str, PromptShape]] = {each.name: each for each in (SERIALIZED, LIVE_PREFIX)}
"""The shapes that a policy can name."""
