"""A session in which every text tries to run in the page that shows it."""

from __future__ import annotations

from typing import Any, Final

from tests.support.pi_files import header, line
from tests.support.talk import call, result, shell, text, thinking

RUN: Final = "window.pwned=1"
PAYLOADS: Final = (
    f"</script><script>{RUN}</script>",
    f"</style><script>{RUN}</script>",
    f"</title></head><body><script>{RUN}</script>",
    f"<img src=x onerror={RUN}>",
    f"\"><img src='http://evil.invalid/a.png' onerror={RUN}>",
    f"' onmouseover={RUN} autofocus onfocus={RUN} x='",
    f"<svg onload={RUN}><animate onbegin={RUN}></svg>",
    f"</title></svg><svg><script>{RUN}</script></svg>",
    f"]]><script>{RUN}</script><![CDATA[",
    f"<!--><script>{RUN}</script-->",
    f"[click](javascript:{RUN}) [tab](java\tscript:{RUN}) <javascript:{RUN}>",
    f"[data](data:text/html,<script>{RUN}</script>) [remote](https://evil.invalid/link)",
    "![picture](https://evil.invalid/picture.png) ![x](javascript:window.pwned=1)",
    "<iframe src=https://evil.invalid></iframe><link rel=stylesheet href=//evil.invalid/a.css>",
    '<meta http-equiv=refresh content="0;url=https://evil.invalid"><base href=https://evil.invalid>',
    "{{ 7 * 7 }} {% include 'style.css' %} {# x #} ${7*7} #{7*7} <%= 7*7 %>",
    "<form action=https://evil.invalid><button autofocus>x</button></form><dialog open>x</dialog>",
    "<details open ontoggle=window.pwned=1><summary>x</summary></details>",
    '<a href="#r-1" id="main" name="filter">x</a>',
    "`</code><script>window.pwned=1</script>`\n\n```\n</code></pre><script>window.pwned=1</script>\n```",
    "a\x00b\x1b[31mc\x07\x9bd\x7f",
    "left \u202eright\u202c \u2066isolated\u2069 \u200f\u061c",
    "lone \ud83d surrogate \udc00",
    "\u2028\u2029\ufeff\ufffe\U000e0001 tag",
    "שלום עולם (rtl) مرحبا",
)
EVERYTHING: Final = " ".join(PAYLOADS)


def hostile(session: str) -> bytes:
    """The session's file, of pi's version 3: payloads wherever a record has a text."""
    names = iter(range(1000))
    lines = [header(session=session)]
    parent: str | None = None

    def add(kind: str, *, above: Any = ..., **fields: Any) -> str:
        nonlocal parent
        number = next(names)
        # An id with half a surrogate pair is no id: what names it as its parent would begin anew.
        payload = PAYLOADS[number % len(PAYLOADS)].encode("utf-8", "ignore").decode()
        event_id = f"{number}{payload}"[:200]
        given = {"type": kind, "id": event_id, "parentId": parent if above is ... else above, **fields}
        lines.append(line({**given, "timestamp": f"2025-12-08T22:{number // 60:02}:{number % 60:02}.000Z"}))
        parent = event_id
        return event_id

    def say(message: dict[str, Any], **where: Any) -> str:
        return add("message", message=message, **where)

    add("session_info", name=EVERYTHING)
    add("model_change", provider=PAYLOADS[0], modelId=PAYLOADS[3])
    first = say({"role": "user", "content": f"Never do {EVERYTHING}. You must keep {PAYLOADS[0]}."})
    for number, payload in enumerate(PAYLOADS):
        calls = [
            call(f"read{payload}", f"k{number}", path=payload),
            call("read", f"r{number}", path=f"src/{payload}/a{number}.py"),
            call("bash", f"b{number}", command=f"cat {payload}", **{payload: payload}),
        ]
        say(
            {
                "role": "assistant",
                "content": [
                    thinking(payload),
                    text(f"{payload} make_{number}() in src/x{number}.py"),
                    *calls,
                ],
                "provider": payload,
                "model": payload,
                "stopReason": payload,
                "usage": {"input": 10, "output": 5, "totalTokens": 15, "cost": {"total": 0.01}},
            }
        )
        say(result(payload, tool=payload, call_id=f"k{number}", is_error=True))
        say(result(f"Error: {payload} in make_{number}", tool="bash", call_id=f"b{number}", is_error=True))
        add(payload, data=payload)
        add("label", targetId=first, label=payload)
        add("custom_message", customType=payload, content=payload, display=True)
    kept = say({"role": "user", "content": EVERYTHING})
    say(shell(EVERYTHING, EVERYTHING))
    files = {"readFiles": list(PAYLOADS), "modifiedFiles": [EVERYTHING]}
    compacted = add(
        "compaction",
        summary=f"# {PAYLOADS[0]}\n\n{EVERYTHING}\n\n- make_1 in src/x1.py\n\n" + "\n\n".join(PAYLOADS),
        firstKeptEntryId=kept,
        tokensBefore=9,
        details=files,
    )
    say({"role": "user", "content": EVERYTHING})
    add("branch_summary", above=compacted, fromId=compacted, summary=EVERYTHING, details=files)
    for number, payload in enumerate(PAYLOADS):
        calls = [
            call("read", f"R{number}", path=f"src/{payload}/a{number}.py"),
            call("bash", f"B{number}", command=f"cat {payload}"),
        ]
        say({"role": "assistant", "content": [text(f"make_{number} {payload}"), *calls]})
        say(result(f"Error: {payload} in make_{number}", tool="bash", call_id=f"B{number}", is_error=True))
    say({"role": "user", "content": PAYLOADS[1]})
    add("compaction", summary="", firstKeptEntryId="nowhere", tokensBefore=9)
    return b"".join(lines)
