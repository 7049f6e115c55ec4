"""A session whose every text tries to command the terminal that shows it."""

from __future__ import annotations

from typing import Any, Final

from tests.support.pi_files import header, line
from tests.support.talk import call, result, shell, text

EVIL: Final = "\x1b[31mred\x1b]0;owned\x07\x9b2J\u202e\x00\x7f\r"
LONE: Final = "\ud83d"
MARKUP: Final = "[red]not red[/red] [link=x] [bold"
SESSION: Final = f"hostile{EVIL}"
FIRST: Final = f"first{EVIL}\nforged line"


def hostile() -> bytes:
    """The session's file, of pi's version 3."""
    entries: list[dict[str, Any]] = [
        _message(FIRST, {"role": "user", "content": f"{MARKUP} {EVIL} {LONE}"}),
        _message(
            "e2",
            {
                "role": "assistant",
                "content": [
                    text("the " + "wide " * 4000 + EVIL),
                    text("x" * 20000),
                    call(f"read{EVIL}", "k1", path=f"a{EVIL}\n{LONE}[bold].py", size=10**30),
                    call("write", "k2", path=f"w{EVIL}\nforged.py"),
                ],
                "provider": f"p{LONE}{EVIL}",
                "model": f"m{EVIL}",
                "usage": {"input": 5, "output": 5, "totalTokens": 10**12},
            },
        ),
        _message("e3", result(EVIL * 3, tool=f"t{EVIL}", is_error=True)),
        {"type": f"kind{EVIL}\nforged", "id": "e4", "x": 10**40},
        {"type": "custom_message", "id": "e5", "customType": EVIL, "content": MARKUP + EVIL, "display": True},
        _message("e6", shell(f"ls{EVIL}", EVIL)),
        {"type": "session_info", "id": "e7", "name": f"title {EVIL} {MARKUP}"},
        {"type": "label", "id": "e8", "targetId": FIRST, "label": f"label{EVIL}\n{MARKUP}"},
        {"type": "thinking_level_change", "id": "e9", "thinkingLevel": f"high{EVIL}"},
        {"type": "model_change", "id": "e10", "provider": f"p{LONE}{EVIL}", "modelId": f"m{EVIL}"},
        {
            "type": "compaction",
            "id": "e11",
            "summary": f"S {EVIL} {MARKUP} {LONE} " + "w" * 3000,
            "firstKeptEntryId": "e3",
            "tokensBefore": 99,
            "details": {"readFiles": [f"r{EVIL}", LONE], "modifiedFiles": [MARKUP]},
        },
        _message("e12", {"role": f"odd{EVIL}", "content": EVIL}),
        {"type": "branch_summary", "id": "e13", "fromId": f"x{EVIL}", "summary": EVIL + MARKUP},
    ]
    parent = None
    lines = [header(session=SESSION)]
    for number, entry in enumerate(entries, 1):
        lines.append(line({**entry, "parentId": parent, "timestamp": f"2025-12-08T22:00:{number:02}.000Z"}))
        parent = entry["id"]
    return b"".join(lines)


def _message(event_id: str, message: dict[str, Any]) -> dict[str, Any]:
    return {"type": "message", "id": event_id, "message": message}
