"""Collect facts from a conversation without a model.

To add a kind of fact, write its name in `FactKind`, the code that finds it, and a row in the extractive
summarizer's table that says where it goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Final, NamedTuple

import msgspec

from compaction.summarizers import Cancellation, CancelledError
from compaction.summarizers.chain import never
from compaction.summarizers.facts import talk
from compaction.summarizers.facts.earlier import EarlierFacts, is_summary, parse_summaries
from compaction.summarizers.facts.lines import (
    AT_FIRST,
    BEFORE,
    CHANGED,
    FAILED,
    FILES,
    GO_ON,
    NAMES,
    OK,
    QUESTION,
    Fact,
    FactKind,
    FolderIndex,
    one_line,
    rank_in_order,
    rank_newest_first,
    render_root,
)
from compaction.summarizers.facts.talk import CommandRun, command_runs, count_repeats, rank_by_mentions
from eventstore.javascript import utf8_length
from eventstore.views import Message, Text
from projections.context.parts import CONTINUE_WORD, Part, view_of_part
from projections.mentions import MentionKind
from projections.mentions.instructions import instructions_in
from projections.mentions.message_facts import LineMentions, MessageFacts, SessionFacts, message_facts
from projections.mentions.path_names import PathIndex


class ReadMessage(NamedTuple):
    """A message and its facts."""

    view: Message
    held: MessageFacts


def read_messages(
    parts: Sequence[Part], is_cancelled: Cancellation, facts: SessionFacts | None = None
) -> Iterator[ReadMessage]:
    """Yield messages with their facts, in order; parse repeated lines only once.

    `facts` holds what was read before. Skip continuation messages without content. Raises CancelledError.
    """
    facts = facts or SessionFacts()
    for part in parts:
        if is_cancelled():
            raise CancelledError
        view = view_of_part(part)
        if part.continues and view.text == CONTINUE_WORD:
            continue
        yield ReadMessage(view, facts.of_part(part))


_NAMES: Final = (MentionKind.SYMBOL, MentionKind.URL, MentionKind.IDENTIFIER)
_MAX_LENGTH: Final = range(200, 600)
"""Characters of the newest and the first request: a quarter of a short conversation."""
_LONG: Final = range(200, 300)
"""Characters of other requests: a sixteenth of a short conversation."""
_MAX_COMMAND_LENGTH: Final = 300
_MIN_WORDS: Final = 3
"""Minimum words of a request that is clear by itself."""
_MIN_NAME_LENGTH: Final = 3
"""Minimum characters of a name."""
_MAX_FAILING: Final = 3


class Facts(msgspec.Struct, frozen=True):
    """Facts by kind, most important first.

    `paths` are all mentioned paths. `size` is the size of the messages in bytes of UTF-8, `before` that of
    the earlier summaries.
    """

    lines: dict[FactKind, list[Fact]]
    paths: PathIndex
    size: int
    before: int


def collect_facts(
    parts: Sequence[Part],
    previous: str = "",
    *,
    is_cancelled: Cancellation = never,
    facts: SessionFacts | None = None,
) -> Facts:
    """Collect facts from messages and the previous summary, "" for none. Raises CancelledError.

    `facts` holds what was read of the session before.
    """
    messages = list(read_messages(parts, is_cancelled, facts))
    summaries = [previous, *(view.text for view, _ in messages if _is_summary(view))]
    before = parse_summaries(summaries)
    # The previous summary counts as the oldest message.
    held = [_facts_of(previous), *(each for _, each in messages)]
    spoken = chain(before[FactKind.CHANGED], before[FactKind.FILE], *(each.paths for each in held))
    paths = PathIndex(dict.fromkeys(spoken))
    turns = talk.split_turns(view for view, _ in messages)
    size = sum(utf8_length(text) for view, each in messages if not _is_summary(view) for text in each.texts)
    users = [view.text for view, _ in messages if view.role == "user"]
    lines = {
        **_asked(turns, users, before, size),
        **_answered(turns, before),
        **_run(command_runs(messages), _newest_turn([view.role for view, _ in messages]), before),
        **_files(held, before, paths),
        FactKind.NOTE: rank_in_order(before[FactKind.NOTE]),
        FactKind.ERROR: rank_in_order(
            count_repeats(
                [before[FactKind.ERROR], *(_named(each, MentionKind.ERROR) for _, each in messages)]
            )
        ),
        FactKind.NAME: _names(
            [
                [*before[FactKind.NAME], *_named(held[0], *_NAMES)],
                *(_named(each, *_NAMES) for _, each in messages),
            ]
        ),
    }
    return Facts(lines, paths, size, sum(map(utf8_length, summaries)))


def mentioned_names(text: str, paths: PathIndex) -> set[str]:
    """Return names and full paths that a text already mentions and lists may omit."""
    named = LineMentions().mentions_in([text])
    names = chain.from_iterable(named.get(kind, ()) for kind in _NAMES)
    return {*names, *map(paths.longest_form, named.get(MentionKind.PATH, ()))}


def _is_summary(view: Message) -> bool:
    """Return True if a message is a summary, possibly an extension's handoff document."""
    is_one = view.role in ("compactionSummary", "branchSummary")
    return is_one or (view.role == "custom" and is_summary(view.text))


def _facts_of(text: str) -> MessageFacts:
    return message_facts(0, "", Message(role="compactionSummary", blocks=(Text(text),)))


def _named(held: MessageFacts, *kinds: MentionKind) -> list[str]:
    return [value for kind in kinds for value in held.mentions.get(kind, ())]


def _newest_turn(roles: Sequence[str]) -> int:
    """Return the index of the message that begins the newest turn."""
    return max((place for place, role in enumerate(roles) if role == "user"), default=0)


def _asked(
    turns: Sequence[talk.ConversationTurn], users: Iterable[str], before: EarlierFacts, size: int
) -> dict[FactKind, list[Fact]]:
    """Return requests, and their sentences that order, forbid or prefer."""
    asked = [turn.request for turn in turns if turn.request]
    requests = [request for request in asked if len(request.split()) >= _MIN_WORDS] or asked
    goals = [line for line in before[FactKind.GOAL] if not line.startswith(AT_FIRST)]
    firsts = [line.removeprefix(AT_FIRST) for line in before[FactKind.GOAL] if line.startswith(AT_FIRST)]
    first = next(iter([*firsts, *goals, *requests]), "")
    newest = next(iter([*requests[::-1], *goals]), first)
    others = [*before[FactKind.REQUEST], *goals[1:], *goals[:1], *requests]
    rules = [one_line(rule) for text in users for rule in instructions_in(text)]
    # A request that is only a rule is already listed as a request.
    uncovered = [
        line
        for line in (*firsts, *goals, *before[FactKind.REQUEST])
        if not _tells_any(line, before[FactKind.RULE])
    ]
    alone = [one_line(rule) for line in uncovered for rule in instructions_in(line)]
    longest, long = _within(size // 4, _MAX_LENGTH), _within(size // 16, _LONG)
    return {
        FactKind.GOAL: rank_in_order(
            [one_line(newest, longest), AT_FIRST + one_line(first, longest) if first != newest else ""]
        ),
        FactKind.RULE: rank_newest_first([*before[FactKind.RULE], *alone, *rules]),
        FactKind.REQUEST: rank_newest_first(
            one_line(each, long) for each in others if each not in (first, newest)
        ),
    }


def _within(number: int, bounds: range) -> int:
    return min(max(number, bounds.start), bounds.stop)


def _tells_any(text: str, others: Iterable[str]) -> bool:
    return any(other in text for other in others)


def _answered(turns: Sequence[talk.ConversationTurn], before: EarlierFacts) -> dict[FactKind, list[Fact]]:
    """Return how turns ended, the state of the newest one, and the next steps."""
    newest = turns[-1] if turns else talk.ConversationTurn("")
    standing = talk.current_work(newest)
    plans = [plan for plan in talk.find_plans(newest) if plan != standing] or ([GO_ON] if standing else [])
    decisions = [decision for turn in turns for decision in talk.find_decisions(turn)]
    planned = [plan for plan in before[FactKind.PLAN] if plan != GO_ON]
    return {
        FactKind.DONE: rank_newest_first([*before[FactKind.DONE], *map(talk.turn_outcome, turns)]),
        FactKind.DOING: rank_in_order([standing] if turns else before[FactKind.DOING]),
        FactKind.DECISION: rank_newest_first([*before[FactKind.DECISION], *decisions]),
        FactKind.PLAN: rank_in_order([*plans, *_once_more(planned)] if turns else before[FactKind.PLAN]),
        FactKind.QUESTION: rank_in_order(
            [QUESTION + question for question in talk.find_questions(newest)]
            if turns
            else before[FactKind.QUESTION]
        ),
    }


def _once_more(lines: Iterable[str]) -> list[str]:
    """Mark lines that may no longer be true; they are carried over once."""
    return [BEFORE + line for line in lines if not line.startswith(BEFORE)]


def _run(
    worked: Sequence[Sequence[CommandRun]], newest: int, before: EarlierFacts
) -> dict[FactKind, list[Fact]]:
    """Return commands with their outcome, and failures since `newest` that are not fixed yet."""
    last = {run.command: run for each in worked for run in each}
    failed = {
        run.command for each in worked[newest:] for run in each if last[run.command].failure is not None
    }
    outcomes = dict(line.removeprefix("`").rsplit("`: ", 1) for line in before[FactKind.COMMAND])
    outcomes |= {command: OK if run.failure is None else FAILED for command, run in last.items()}
    order = rank_by_mentions([list(outcomes), *([run.command for run in each] for each in worked)])
    failing = [f"{_code(command)} {FAILED}: {last[command].failure}" for command in last if command in failed]
    return {
        FactKind.COMMAND: rank_in_order(f"{_code(command)}: {outcomes[command]}" for command in order),
        FactKind.FAILING: rank_newest_first(
            [*_once_more(before[FactKind.FAILING]), *failing[-_MAX_FAILING:]]
            if worked
            else before[FactKind.FAILING]
        ),
    }


def _code(command: str) -> str:
    return f"`{one_line(command, _MAX_COMMAND_LENGTH)}`"


def _files(
    held: Sequence[MessageFacts], before: EarlierFacts, paths: PathIndex
) -> dict[FactKind, list[Fact]]:
    """Return changed files and other mentioned files, each with its folder."""
    longest = cache(paths.longest_form)

    def whole(each: Iterable[Iterable[str]]) -> list[dict[str, None]]:
        return [dict.fromkeys(map(longest, named)) for named in each]

    oldest, *others = held
    changed = rank_by_mentions(whole([before[FactKind.CHANGED], *(each.modified for each in others)]))
    spoken = rank_by_mentions(
        whole([(*before[FactKind.FILE], *oldest.paths), *(each.paths for each in others)]),
        size=_length_of_name,
    )
    known = set(changed)
    unchanged = [path for path in sorted(spoken, key=_may_be_folder) if path not in known]
    folders = FolderIndex([*changed, *unchanged], paths)

    def line(path: str, remark: str = "") -> Fact:
        folder, name = folders.split(path)
        return Fact(name + remark, head=folder or FILES, thing="" if remark else path)

    return {
        FactKind.CHANGED: [line(path, CHANGED) for path in changed],
        FactKind.FILE: [*rank_in_order([render_root(folders.root)]), *map(line, unchanged)],
    }


def _length_of_name(path: str) -> int:
    return len(path.rpartition("/")[2]) + len(", ")


def _may_be_folder(path: str) -> bool:
    """Return True if a path has no extension; its files name it too, so files go first."""
    return "." not in path.rpartition("/")[2]


def _names(named: Sequence[Iterable[str]]) -> list[Fact]:
    order = rank_by_mentions(list(map(dict.fromkeys, named)), size=lambda name: len(name) + len(", "))
    return [Fact(one_line(name), head=NAMES, thing=name) for name in order if _is_specific(name)]


def _is_specific(name: str) -> bool:
    """Return True if a name is specific enough to list."""
    return len(name) >= _MIN_NAME_LENGTH and not name.startswith("__")


__all__ = ["Fact", "FactKind", "Facts", "collect_facts"]
