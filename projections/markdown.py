"""Render a session as a document in GitHub-flavoured Markdown, to read and to share.

Recorded text cannot change the document's structure, and does nothing on a page: it loads no image, notifies nobody
and closes no issue. Prose is quoted with its HTML escaped, everything else is in code fences that are longer than any
run of backticks inside.
"""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Final

import msgspec

from eventstore.harnesses import format_of, node_of
from eventstore.harnesses.base import NO_TOOLS, Tools
from eventstore.javascript import iso_time
from eventstore.log import Snapshot
from eventstore.node import CompactionView, Node
from eventstore.paths import LazyEvent, events, path, upward
from eventstore.views import Image, Message, Opaque, Shell, Text, Thinking, ToolCall, call_indexes
from projections.overview import SessionOverview
from projections.rules import beside_path
from projections.tree import tree

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

MAX_RESULT: Final = 2000
"""Maximum characters of a call's arguments or result; the rest is counted."""
_MAX_LABEL: Final = 100
_MAX_TITLE: Final = 80
_MAX_PATH: Final = 60
"""Maximum characters of a path; of a longer one, the end is shown."""
_PASSES: Final = 8
"""Attempts to escape the HTML of a text before it is shown as code."""
_NEWLINES: Final = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_UNSAFE: Final = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")
"""Characters that no text shows: controls, marks that reorder text, lone surrogates."""
_BACKTICKS: Final = re.compile("`+")
_MARKUP: Final = re.compile(r"((?<=[0-9A-Za-z])\*+(?=[\]…]))|[\\`*_{}\[\]<>()#+!|~@&$:.-]")
"""Markup to escape, except for its group.

Stars between a letter or digit and "]" or "…" open no emphasis.
"""
_TAGS: Final = re.compile(r"</?[\w-]+>")
_FOLDED: Final = frozenset({"Extension", "Harness"})
"""Speakers that are neither a person nor a model."""
_SPEAKERS: Final = {"user": "User", "assistant": "Assistant", "custom": "Extension"}


class _Entry(msgspec.Struct, frozen=True):
    """A record to show; `is_new_branch` means that it does not continue the entries above it."""

    seq: int
    view: Node
    is_new_branch: bool
    kept_from: int
    tools: Tools


def session_markdown(
    snapshot: Snapshot, overview: SessionOverview, *, leaf: str | None = None
) -> Iterator[str]:
    """Yield a session as Markdown, in pieces.

    Shows the branch of entry `leaf`, or all branches in log order.
    Thinking, calls, results, and what an extension or the harness sent are folded. Images are named, not included.
    Raises NotFoundError.
    """
    yield _title(overview)
    yield from _facts(overview, leaf)
    entries = list(_entries(snapshot, overview.name, leaf))
    messages = [message for entry in entries for message in entry.view.messages]
    results: dict[tuple[int, str], list[Message]] = {}
    attached = call_indexes(messages)
    for place, asked in attached.items():
        results.setdefault((asked, messages[place].tool_call_id), []).append(messages[place])
    place, speaker = 0, ""
    for entry in entries:
        if entry.is_new_branch:
            yield "## Another branch\n\nThe conversation went back to an earlier message and continued from there.\n\n"
            speaker = ""
        if entry.view.summary is not None:
            yield from _summary(snapshot, overview.name, entry)
            speaker = ""
        for message in entry.view.messages:
            here, place = place, place + 1
            if here in attached or entry.view.summary is not None:
                continue
            now = _speaker(entry.view, message)
            if now in _FOLDED:
                yield _aside(now, entry.seq, message)
                continue
            if now != speaker or entry.view.by_person:
                yield f"## {now}\n\n{_code(f'#{entry.seq}')}{_model(message)}\n\n"
                speaker = now
            answers = {call.id: results.get((here, call.id), []) for call in message.tool_calls}
            yield from _message(message, answers, entry.tools)


def _entries(snapshot: Snapshot, session: str, leaf: str | None) -> Iterator[_Entry]:
    newest = 0
    # A path to a leaf has no branches, whatever stands beside it.
    beside = None if leaf else {node.id: node.beside for node in tree(snapshot, session).nodes}
    for each in _recorded(snapshot, session, leaf):
        view = node_of(each, snapshot)
        if not (view.messages or view.summary) or (beside is not None and each.id not in beside):
            continue
        is_new, is_aside = False, all(message.role == "toolResult" for message in view.messages)
        if beside is not None and (view.summary or not is_aside) and not beside[each.id]:
            is_new = newest > 0 and not _continues(snapshot, each, newest)
            newest = each.seq
        yield _Entry(each.seq, view, is_new, each.target_seq, format_of(each.format).tools)


def _recorded(snapshot: Snapshot, session: str, leaf: str | None) -> Iterator[LazyEvent]:
    if leaf is None:
        return (each for each in events(snapshot, session) if each.is_entry)
    on_path = list(path(snapshot, session, snapshot.locate(session, leaf)))
    return iter(sorted([*on_path, *beside_path(snapshot, on_path)], key=attrgetter("seq")))


def _continues(snapshot: Snapshot, entry: LazyEvent, newest: int) -> bool:
    """Return True if entry number `newest` is above an entry."""
    for above in upward(snapshot, entry.session, entry.parent_seq):
        if above.seq <= newest:
            return above.seq == newest
    return False


def _title(overview: SessionOverview) -> str:
    title = _one_line(overview.title or overview.first_request or overview.name)
    if len(title) > _MAX_TITLE:
        begin = title[:_MAX_TITLE]
        title = begin[: max(begin.rfind(" "), _MAX_TITLE // 2)] + "…"
    return f"# {_escaped(_apart(title))}\n\n"


def _facts(overview: SessionOverview, leaf: str | None) -> Iterator[str]:
    spent, head = overview.spent, overview.head
    first = min((each.day for each in overview.calls if each.day), default="")
    last = (iso_time(head.last_time) or "")[:10]
    models = dict.fromkeys(each.model for each in overview.calls if each.model)
    project = next((name for name in reversed(re.split(r"[/\\]", overview.folder)) if name), "")
    cost = (
        ""
        if spent.cost is None
        else f"${spent.cost:,.2f}" + ("+" if spent.without_cost + spent.understated else "")
    )
    facts = {
        "Session": overview.name,
        "Branch of": leaf or "",
        "Harness": overview.harness,
        "Project": project,
        "Model": ", ".join(models) or overview.model,
        "Dates": " to ".join(dict.fromkeys(filter(None, (first, last)))),
        "Tokens": f"{spent.tokens:,}" if spent.tokens else "",
        "Cost": cost,
    }
    for name, value in facts.items():
        if value:
            yield f"- {name}: {_code(_one_line(value))}\n"
    yield "\n"


def _speaker(view: Node, message: Message) -> str:
    if message.role == "user" and view.continues:
        return "Continuation"
    if message.shell is not None or view.by_person:
        return "User"
    return _SPEAKERS.get(message.role, "Tool" if message.role == "toolResult" else "Harness")


def _model(message: Message) -> str:
    return f" {_code(_one_line(message.model))}" if message.role == "assistant" and message.model else ""


def _aside(speaker: str, seq: int, message: Message) -> str:
    """Return a text of neither a person nor the model, folded, labelled by its beginning."""
    label = f"#{seq} {speaker}: {_TAGS.sub('', message.text)}"
    return _folded(label, "".join(_message(message, {}, NO_TOOLS)))


def _message(message: Message, results: Mapping[str, Sequence[Message]], tools: Tools) -> Iterator[str]:
    if message.shell is not None:
        yield _shell(message.shell)
        return
    if message.role == "toolResult":
        yield _folded(f"Result of {message.tool_name or 'a tool'}", _result(message))
        return
    for block in message.blocks:
        if isinstance(block, Text):
            yield _quoted(block.text)
        elif isinstance(block, Thinking):
            yield _folded("Thinking", _quoted(block.text)) if block.text.strip() else ""
        elif isinstance(block, ToolCall):
            yield _call(block, results.get(block.id, ()), tools)
        else:
            yield _named(block)
    if not message.blocks and message.stop_reason:
        yield f"Stopped: {_code(_one_line(message.stop_reason))}\n\n"


def _call(call: ToolCall, results: Sequence[Message], tools: Tools) -> str:
    lead = _lead(call, tools)
    failed = "✗ " if any(result.is_error for result in results) else ""
    body = _fenced(call.arguments.decode("utf-8", "replace"), "json")
    for result in results:
        body += ("Error:\n\n" if result.is_error else "Result:\n\n") + _result(result)
    return _folded(f"{failed}{call.name} {_one_line(lead)}", body)


def _lead(call: ToolCall, tools: Tools) -> str:
    """Return what a call is about: its file or its command, else its first text."""
    arguments = call.decoded
    if not isinstance(arguments, dict):
        return ""
    name = call.name
    telling = (
        *tools.modifies.get(name, ()), *tools.reads.get(name, ()), *tools.shells.get(name, ()), *arguments,
    )  # fmt: skip
    values = (arguments.get(each) for each in telling)
    lead = next((_one_line(value) for value in values if isinstance(value, str) and value.strip()), "")
    *_, before, last = ("", *lead.split("/"))
    return f"…/{before}/{last}" if len(lead) > _MAX_PATH and " " not in lead and before else lead


def _result(message: Message) -> str:
    others = "".join(_named(block) for block in message.blocks if isinstance(block, Image | Opaque))
    return (_fenced(message.text) if message.text else "" if others else "(empty)\n\n") + others


def _shell(shell: Shell) -> str:
    body = _fenced(shell.command, "sh") + (_fenced(shell.output) if shell.output else "(no output)\n\n")
    if shell.cancelled:
        body += "Cancelled.\n\n"
    elif shell.exit_code:
        body += f"Exit code {shell.exit_code}.\n\n"
    return _folded(f"! {shell.command}", body)


def _named(block: Image | Opaque) -> str:
    """Return a line for a block that has no text."""
    if isinstance(block, Image):
        return f"Image: {_code(_one_line(block.mime))}, {block.size * 3 // 4:,} bytes\n\n"
    return f"Block of type {_code(_one_line(block.type or 'unknown'))}, not shown\n\n"


def _summary(snapshot: Snapshot, session: str, entry: _Entry) -> Iterator[str]:
    summary = entry.view.summary
    if summary is None:
        return
    if isinstance(summary, CompactionView):
        before = (
            "" if summary.tokens_before is None else f" The context had {summary.tokens_before:,} tokens."
        )
        kept = f", except those from {_code(f'#{entry.kept_from}')} on" if entry.kept_from else ""
        yield (
            f"## Compaction\n\n{_code(f'#{entry.seq}')} From here on, the model saw this summary instead of"
            f" the messages above{kept}.{before}\n\n"
        )
    else:
        left = snapshot.locate(session, entry.view.branch.left) if entry.view.branch else 0
        where = f" that ended at {_code(f'#{left}')}" if left else ""
        yield f"## Branch summary\n\n{_code(f'#{entry.seq}')} The model saw this summary of the branch{where}.\n\n"
    yield _folded("Summary", _quoted(summary.summary)) if summary.summary.strip() else ""


def _folded(label: str, body: str) -> str:
    label = html.escape(_apart(textwrap.shorten(_one_line(label), _MAX_LABEL, placeholder="…")))
    return f"<details>\n<summary>{label or 'Tool'}</summary>\n\n{body}</details>\n\n"


def _fenced(text: str, language: str = "text") -> str:
    """Return a text, cut, in a fence that is longer than any run of backticks inside."""
    surplus = len(text) - MAX_RESULT
    shown = _safe(text[:MAX_RESULT])
    fence = "`" * max(3, 1 + max(map(len, _BACKTICKS.findall(shown)), default=0))
    cut = f"… {surplus:,} more characters\n\n" if surplus > 0 else ""
    return f"{fence}{language}\n{shown}\n{fence}\n\n{cut}"


def _code(text: str) -> str:
    """Return a text of one line as inline code."""
    fence = "`" * (1 + max(map(len, _BACKTICKS.findall(text)), default=0))
    return f"{fence} {text} {fence}" if "`" in text else f"{fence}{text}{fence}"


def _quoted(text: str) -> str:
    """Return Markdown as a quotation without HTML, images and references, else as code."""
    lines = _safe(text).strip("\n").split("\n")
    for attempt in range(_PASSES):
        with_html, live = _places(lines)
        if not with_html and not live:
            return "".join(f"> {line}".rstrip() + "\n" for line in lines) + "\n"
        before = lines.copy()
        for place in with_html:
            lines[place] = re.sub(r"\\*<", r"\\<", lines[place])
        for place in live:
            # Later, also in what looks like code and is none.
            pieces = [lines[place]] if attempt else _SPAN.split(lines[place])
            pieces[::2] = [_IMAGE.sub(r"\1\\!", _apart(piece)) for piece in pieces[::2]]
            lines[place] = "".join(pieces)
        if attempt and lines == before:
            break
    return "".join(f"> {line}\n" for line in _fenced_whole("\n".join(lines)).split("\n")) + "\n"


_APART: Final = "\N{ZERO WIDTH SPACE}"
_LIVE: Final = re.compile(
    r"\b(?:clos|fix|resolv)(?:e|es|ed)?(?=:?\s+<?https?://\S+/(?:issues|pull)/\d|:?\s*\Z)|(?P<address>https?://\S+)"
    r"|(?<!\w)@(?=\w)|(?<![\w&/(])#(?=\d)|(?<=[\w-]/)[\w.-]+#(?=\d)|\bGH-(?=\d)",
    re.IGNORECASE,
)
"""Words that close the issue behind them, addresses, mentions, and issues by number."""
_IMAGE: Final = re.compile(r"(?<!\\)((?:\\\\)*)!(?=\[)")
_SPAN: Final = re.compile(r"((?<![\\`])(?:`[^`]+`|``.+?``)(?!`))")


def _apart(text: str) -> str:
    """Return a text that mentions nobody and refers to no issue on a page of GitHub.

    It has an invisible space behind each sign. An address is only a link, and stays.
    """
    return _LIVE.sub(lambda found: found["address"] or found[0] + _APART, text)


def _fenced_whole(text: str) -> str:
    fence = "`" * max(3, 1 + max(map(len, _BACKTICKS.findall(text)), default=0))
    return f"{fence}text\n{text}\n{fence}"


def _places(lines: Sequence[str]) -> tuple[set[int], set[int]]:
    """Return the lines of a quotation with HTML, and those with images and references."""
    with_html, live = set[int](), set[int]()
    for token in _parser().parse("".join(f"> {line}".rstrip() + "\n" for line in lines)):
        children = token.children or ()
        places = [place for place in range(*token.map or (0, 0)) if place < len(lines)]
        if token.type == "html_block" or any(child.type == "html_inline" for child in children):
            with_html.update(place for place in places if "<" in lines[place])
        texts = [child.content for child in children if child.type == "text"]
        if any(child.type == "image" for child in children) or any(text != _apart(text) for text in texts):
            live.update(places)
    return with_html, live


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415  only documents need it

    return MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def _escaped(text: str) -> str:
    return _MARKUP.sub(lambda found: found[1] or f"\\{found[0]}", text)


def _one_line(text: str) -> str:
    return " ".join(_safe(text).split())


def _safe(text: str) -> str:
    """Normalize line ends, and replace characters that cannot be shown."""
    return _UNSAFE.sub("\N{REPLACEMENT CHARACTER}", _NEWLINES.sub("\n", text))
