"""oh-my-pi's words around messages, and the histories of `snapcompact`, are those that oh-my-pi 18.2.3 gave."""

from __future__ import annotations

import json
from typing import Any

import pytest

from eventstore.harnesses import format_of, node_of
from eventstore.harnesses.oh_my_pi.snapcompact import history_blocks
from eventstore.harnesses.oh_my_pi.wording import formatted
from eventstore.memory import MemoryLog
from tests.support.events import events
from tests.support.oh_my_pi_sessions import file_of, time_of
from tests.support.pi_files import bring

Json = dict[str, Any]
PAGE = {"data": "QUJD", "mimeType": "image/png", "cols": 1, "rows": 1, "chars": 1}
SHOWN = {"type": "image", "data": "QUJD", "mimeType": "image/png"}


def worded(message: Json) -> list[Json] | None:
    found = format_of("oh-my-pi/3").api_message(json.dumps(message).encode())
    if found is None:
        return None
    assert found.view.role == "user"
    assert len(found.view.blocks) == len(found.payloads)
    return [json.loads(payload.raw) for payload in found.payloads]


def text(words: str) -> Json:
    return {"type": "text", "text": words}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("a\n\nb", "a\n\nb"),
        ("a\n\n\nb", "a\nb"),
        ("a  \n\n \n\n", "a"),
        ("\n\na", "a"),
        ("a\n\n  </files>\nb", "a\n  </files>\nb"),
        ("```\n\n\n| a |\n```\n\n\nb", "```\n\n\n| a |\n```\nb"),
        ("```\n\n\n```", "```\n\n\n```"),
        ("| a | b  |\n|:----|:-:| - |\n| 1 |", "|a|b|\n|:---|:---:|---|\n|1|"),
        ("  | a |", "  |a|"),
        ("|", "|"),
    ],
)
def test_blank_lines_and_padding_go(given: str, expected: str) -> None:
    assert formatted(given) == expected


def test_a_summary_has_the_words_of_its_method() -> None:
    soft = {"role": "compactionSummary", "summary": "so\n\n\nfar", "method": "soft"}
    assert worded(soft) == [
        text(
            "Prior model work/tool state available.\nMUST build on prior work; NEVER duplicate prior work.\n\n"
            "<summary>\nso\nfar\n</summary>"
        )
    ]
    [handoff] = worded({**soft, "method": "handoff"}) or []
    assert handoff["text"].startswith("Context replaced. The <handoff> below is a handoff document a prior ")
    assert handoff["text"].endswith("duplicate prior work.\n\n<handoff>\nso\nfar\n</handoff>")
    branch = {"role": "branchSummary", "summary": "{tried}"}
    assert worded(branch) == [text("Branch-return summary:\n\n<summary>\n{tried}\n</summary>")]


def test_a_history_follows_its_summary_unworded() -> None:
    summary = {"role": "compactionSummary", "summary": "so\n\n\nfar", "blocks": [text("a"), SHOWN]}
    assert worded(summary) == [text("so\n\n\nfar"), text("a"), SHOWN]


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": [text("wait"), SHOWN, text("stop")], "steering": True},
        {
            "role": "custom",
            "customType": "collab-prompt",
            "attribution": "user",
            "content": [text("wait\nstop"), SHOWN],
        },
    ],
)
def test_what_interrupts_the_work_has_a_notice(message: Json) -> None:
    assert worded(message) == [
        text(
            "<system-notice>\nUser interjection during work: priority; supersedes conflicting prior instructions. "
            "Re-read; ensure current work reflects user intent.\n</system-notice>\nwait\nstop"
        ),
        SHOWN,
    ]


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": "hi"},
        {"role": "user", "content": "hi", "steering": "true"},
        {"role": "user", "content": "", "steering": True},
        {"role": "user", "content": 5, "steering": True},
        {"role": "assistant", "content": [text('"steering"')], "steering": True},
        {"role": "custom", "customType": "collab-prompt", "content": "hi"},
    ],
)
def test_other_messages_are_sent_as_recorded(message: Json) -> None:
    assert worded(message) is None


@pytest.mark.parametrize(
    ("archive", "blocks"),
    [
        ({"textHead": "a\u2588\x0eb\x0f"}, [text("a\nb")]),
        (
            {"frames": [PAGE], "textHead": "a", "textTail": "z"},
            [
                text("a\n-------------- imaged middle below\n"),
                SHOWN,
                text("-------------- imaged middle above\nz"),
            ],
        ),
        ({"textTail": "z", "truncatedChars": 3}, [text("\n-------------- middle history omitted above\nz")]),
        ({"textHead": "a", "textTail": "z"}, [text("az")]),
        (
            {"frames": [{**PAGE, "data": "x" * 3_000_000}, PAGE]},
            [
                text(
                    "-------------- snapcompact image middle omitted\n1 archived image frame could not be included. "
                    "3.0 MB of base64 exceeded the per-request snapcompact payload budget. The compacted summary "
                    "and visible text edges remain available.\n--------------"
                ),
                SHOWN,
            ],
        ),
        ({"text": "a", "frames": [{}, 5]}, None),
        ([], None),
    ],
)
def test_a_history_is_texts_around_pages(archive: object, blocks: list[Json] | None) -> None:
    assert history_blocks({"snapcompact": archive}) == blocks


def test_a_compaction_counts_its_history(tmp_path: Any) -> None:
    kept = {"preserveData": {"snapcompact": {"textHead": "all of it"}}}
    entries = [
        {"type": "compaction", "id": name, "parentId": None, "timestamp": time_of(0), "summary": "s", **more}
        for name, more in (("00000000", {}), ("00000001", kept))
    ]
    log = MemoryLog()
    session = bring(log, tmp_path, file_of(entries)).id
    plain, whole = (event for event in events(log, session) if event.kind == "compaction")
    assert (plain.utf8, whole.utf8) == (1, 4)
    message = node_of(whole).message
    assert message is not None
    assert message.text == "sall of it"
