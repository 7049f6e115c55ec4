"""Generate large pi sessions: equal bytes for equal shapes, sizes as in real sessions.

A turn is a user's message, nine calls with their results, and an answer: twenty messages. Turns are counted
from the leaf, so that the context at the leaf has the wanted number of messages after any history.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import msgspec

_TURN: Final = 20
_TURNS_TO_A_LEVEL: Final = 10
_TURNS_TO_A_MODEL: Final = 25
_TURNS_TO_A_COMPACTION: Final = 40
_BEHIND_COMPACTION: Final = {60: 40, 1000: 500}
"""Messages after the compaction, in whole turns, by messages in the context."""

_SPREAD: Final = 0x9E3779B1
"""Odd, so that multiplication permutes the 32-bit numbers: unique ids, evenly mixed sizes."""
_START: Final = datetime(2025, 12, 8, 22, 41, 5, 306000, tzinfo=UTC)

_USER_BYTES: Final = (40, 60, 80, 100, 130, 170, 230, 420, 700, 2300)
_ASSISTANT_BYTES: Final = (90, 120, 160, 200, 250, 320, 400, 550, 750, 1000, 1500, 1900, 2800, 3700, 5900)
_RESULT_BYTES: Final = (60, 180, 330, 500, 700, 900, 1150, 1400, 1700, 2050, 2500, 3400, 4500, 6800, 11000)
"""Sizes of texts at even quantiles of real sessions, without the few enormous ones."""
_SUMMARY_BYTES: Final = 4200
_SIGNATURE_BYTES: Final = 340
_TOOLS: Final = ("read", "bash", "edit", "grep")
_LEVELS: Final = ("off", "low", "medium", "high")
_MODELS: Final = ("claude-opus-4-5", "claude-sonnet-4-5")
_PHRASES: Final = (
    'const session = await open("./state.json", { flags: "r+" });\n',
    "\treturn entries.filter((entry) => entry.parent00000 !== null);\n",
    "The order of events is kept — a caller sees “first” before “second”. ",
    "A naïve sort breaks it: see `packages/agent/src/fold.ts` → line 00000.\n",
    "export function fold(log: Log): Context {\n",
    "\tif (!log.leaf) throw new Error(`no leaf in ${log.path}\\n`);\n",
    "\t// Walk from the leaf to the root; the newest compaction wins.\n}\n\n",
    "FAIL test/agent-session-00000.test.ts > compacts → keeps the tail\n",
    "    expected 12 to be 13\n",
    "- **Done**: extracted `runCommand00000` to `bash-executor.ts` (885 lines)\n",
    "- **Next**: wire `print-mode.ts`, then delete the old code\n",
)

_NUMBER: Final = "00000"
"""Replaces another number in each line, so that lines recur as often as in real sessions."""

_encode: Final = msgspec.json.Encoder().encode


def session_file(events: int, messages: int, folder: Path | None = None) -> Path:
    """Return a cached pi v3 file with so many entries, and so many messages at its leaf."""
    if folder is None:
        generator = sha256(Path(__file__).read_bytes()).hexdigest()[:12]
        folder = Path(tempfile.gettempdir()) / "refold-bench" / generator
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{session_name(events, messages)}.jsonl"
    if not path.exists():
        unfinished = path.with_suffix(".part")
        with unfinished.open("wb") as file:
            file.writelines(lines(events, messages))
        unfinished.replace(path)
    return path


def session_name(events: int, messages: int) -> str:
    """Return the session id of that shape."""
    return f"made-{events}-{messages}"


def lines(events: int, messages: int) -> Iterator[bytes]:
    """Yield the lines of a session file, starting with the header."""
    yield _line(
        {
            "type": "session",
            "version": 3,
            "id": session_name(events, messages),
            "timestamp": _iso(0),
            "cwd": "/src",
        }
    )
    kinds = _kinds(events, _BEHIND_COMPACTION[messages])
    kept = _ids_of_first_kept(kinds, messages)
    for number, kind in enumerate(kinds):
        entry = {
            "type": kind if kind in _ENTRIES else "message",
            "id": entry_id(number),
            "parentId": entry_id(number - 1) if number else None,
            "timestamp": _iso(number),
        }
        if kind == "compaction":
            entry |= _compaction(number) | {"firstKeptEntryId": kept[number]}
        elif kind in _ENTRIES:
            entry |= _ENTRIES[kind](number)
        else:
            entry["message"] = _MESSAGES[kind](number)
        yield _line(entry)


def result_message(number: int) -> dict[str, Any]:
    """Return a call's result as a harness would append it; sizes vary with the number."""
    return _result(number)


def entry_id(number: int) -> str:
    """Return the id of entry `number`: eight hex digits, like pi's."""
    return f"{number * _SPREAD & 0xFFFFFFFF:08x}"


def _kinds(events: int, behind: int) -> list[str]:
    """Return the kind of each entry, oldest first."""
    kinds: list[str] = []
    turn = 0
    while len(kinds) + _TURN + 3 <= events:
        turn += 1
        kinds += _turn_from_its_end()
        if turn * _TURN == behind or (turn * _TURN > behind and turn % _TURNS_TO_A_COMPACTION == 0):
            kinds.append("compaction")
        if turn % _TURNS_TO_A_MODEL == 0:
            kinds.append("model_change")
        if turn % _TURNS_TO_A_LEVEL == 0:
            kinds.append("thinking_level_change")
    kinds += ["thinking_level_change"] * (events - len(kinds) - 1)
    kinds.append("model_change")
    kinds.reverse()
    return kinds


def _turn_from_its_end() -> Iterator[str]:
    yield "answer"
    for _ in range(_TURN // 2 - 1):
        yield "result"
        yield "call"
    yield "user"


def _ids_of_first_kept(kinds: list[str], messages: int) -> dict[int, str]:
    """Map the number of each compaction to the id of its first kept entry."""
    shown = [number for number, kind in enumerate(kinds) if kind in _MESSAGES]
    newest = max((number for number, kind in enumerate(kinds) if kind == "compaction"), default=-1)
    # The summary counts as a message of the context.
    kept = {newest: entry_id(shown[-(messages - 1)])}
    for number, kind in enumerate(kinds[:newest]):
        if kind == "compaction":
            kept[number] = entry_id(number - _TURN)
    return kept


def _text(number: int, size: int) -> str:
    at = number * _SPREAD % (len(_TEXT) - size)
    before, *behind = _TEXT[at : at + size].split(_NUMBER)
    numbered = (f"{(number * _SPREAD + place) % 100_000:05d}{rest}" for place, rest in enumerate(behind))
    return before + "".join(numbered)


def _size(number: int, sizes: tuple[int, ...]) -> int:
    return sizes[(number * _SPREAD & 0xFFFFFFFF) * len(sizes) >> 32]


def _user(number: int) -> dict[str, Any]:
    text = _text(number, _size(number, _USER_BYTES))
    return {"role": "user", "content": [{"type": "text", "text": text}], "timestamp": _ms(number)}


def _call(number: int) -> dict[str, Any]:
    size = _size(number, _ASSISTANT_BYTES)
    blocks: list[dict[str, Any]] = []
    if number % 3 == 0:
        signature = sha256(b"%d" % number).hexdigest() * (_SIGNATURE_BYTES // 64)
        blocks.append(
            {"type": "thinking", "thinking": _text(number, size // 2), "thinkingSignature": signature}
        )
        size -= size // 2
    tool = _TOOLS[number % len(_TOOLS)]
    arguments = {"path": f"/src/packages/agent/src/part-{number % 97}.ts", "text": _text(number + 1, size)}
    blocks.append({"type": "toolCall", "id": _call_id(number), "name": tool, "arguments": arguments})
    return _assistant(number, blocks, "toolUse")


def _answer(number: int) -> dict[str, Any]:
    text = _text(number, _size(number, _ASSISTANT_BYTES))
    return _assistant(number, [{"type": "text", "text": text}], "stop")


def _assistant(number: int, blocks: list[dict[str, Any]], stop_reason: str) -> dict[str, Any]:
    read, output = 20_000 + number % 150_000, 100 + number % 900
    return {
        "role": "assistant",
        "content": blocks,
        "api": "anthropic-messages",
        "provider": "anthropic",
        "model": _MODELS[0],
        "usage": {
            "input": 10,
            "output": output,
            "cacheRead": read,
            "cacheWrite": 700,
            "totalTokens": 710 + read + output,
            "cost": {
                "input": 0.00005,
                "output": output * 25 / 1e6,
                "cacheRead": read / 2e6,
                "cacheWrite": 0.004375,
                "total": 0.004425 + output * 25 / 1e6 + read / 2e6,
            },
        },
        "stopReason": stop_reason,
        "timestamp": _ms(number),
    }


def _result(number: int) -> dict[str, Any]:
    return {
        "role": "toolResult",
        "toolCallId": _call_id(number - 1),
        "toolName": _TOOLS[(number - 1) % len(_TOOLS)],
        "content": [{"type": "text", "text": _text(number, _size(number, _RESULT_BYTES))}],
        "isError": number % 37 == 0,
        "timestamp": _ms(number),
    }


def _call_id(number: int) -> str:
    return "toolu_" + sha256(b"call %d" % number).hexdigest()[:24]


def _compaction(number: int) -> dict[str, Any]:
    return {
        "summary": _text(number, _SUMMARY_BYTES),
        "tokensBefore": 180_000 + number % 1000,
        "details": {"readFiles": ["/src/a.ts", "/src/b.ts"], "modifiedFiles": ["/src/c.ts"]},
    }


def _ms(number: int) -> int:
    return int(_time(number).timestamp() * 1000)


def _iso(number: int) -> str:
    return _time(number).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _time(number: int) -> datetime:
    return _START + timedelta(seconds=4 * number)


def _line(entry: dict[str, Any]) -> bytes:
    return _encode(entry) + b"\n"


_TEXT: Final = "".join(_PHRASES[number * _SPREAD % 1_000_003 % len(_PHRASES)] for number in range(3000))

_MESSAGES: Final = {"user": _user, "call": _call, "answer": _answer, "result": _result}
_ENTRIES: Final = {
    "compaction": _compaction,
    "model_change": lambda number: {"provider": "anthropic", "modelId": _MODELS[number % 2]},
    "thinking_level_change": lambda number: {"thinkingLevel": _LEVELS[number % len(_LEVELS)]},
}
