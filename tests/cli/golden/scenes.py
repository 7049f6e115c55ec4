"""The scenes of the golden files: what is run of each command, on which store, for its words to be held.

One list for each command, by its name; `refold` has those of no command. A scene is played by `tests.cli.golden`.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final

from msgspec import structs

from cli.views.full import print_metrics
from cli.views.screen import print_glance, print_screen
from compaction.hooks import Cancel, Hooks
from projections.audit.cost import Cost
from projections.audit.session import TokensBefore
from projections.audit.summary_text import Growth, Sections
from tests.cli import long_talk, tale
from tests.cli.audit_view.printing import printed
from tests.cli.golden import API, File, Run, Scene, Step
from tests.cli.hostile import hostile
from tests.cli.invocations import NAMES, invocations
from tests.cli.running import Refold
from tests.cli.tale import SESSION
from tests.support import measured
from tests.support.local_http import answers, refuses
from tests.support.messages_api import complete, errs, says
from tests.support.pi_files import entry, header, line, said
from tests.support.stores import damage, make_store
from tests.support.talk import PiSession, assistant, call, result, user
from tests.support.tampering import tables

OTHER: Final = "0199bbbb-0000-7000-8000-000000000002"
CUSTOM: Final = line({"type": "custom", "customType": "x"})
HELLO: Final = line({"type": "message", "id": "m1", "message": {"role": "user", "content": "hello"}})
CONTINUE: Final = {"type": "message", "message": {"role": "user", "content": "continue"}}
CLAUDE_CODE: Final = '{"type":"mode","mode":"normal","sessionId":"s"}\n{"type":"user","sessionId":"s"}\n'
KEY: Final = {"ANTHROPIC_API_KEY": "no-key"}
AFTER_TURN: Final = '{"on":"after_turn"}\n'


# Stores to begin from


def nothing(refold: Refold) -> None:
    del refold


def an_empty_store(refold: Refold) -> None:
    refold("append", "s")


def the_tale(refold: Refold) -> None:
    refold("import", tale.write(Path("tale.jsonl")))


def the_talk(refold: Refold) -> None:
    refold("import", long_talk.write(Path("talk.jsonl")))


def two_sessions(refold: Refold) -> None:
    the_tale(refold)
    Path("other.jsonl").write_bytes(header(session=OTHER) + said("hello", "x1", None))
    refold("import", "other.jsonl")


def two_generations(refold: Refold) -> None:
    the_tale(refold)
    Path("tale.jsonl").write_bytes(re.sub(rb'"([a-z][0-9])"', rb'"new-\1"', tale.tale()))
    refold("import", "tale.jsonl")


def three_sessions(refold: Refold) -> None:
    for name, request, entries, hour in (("b", "Beta", 2, 10), ("c", "Gamma", 1, 12), ("a", "Alpha", 3, 11)):
        given: dict[str, Any] = {
            "message": {"role": "user", "content": request},
            "timestamp": f"2025-12-08T{hour}:00:00.000Z",
        }
        lines = [entry(f"{name}{number}", None, "message", **given) for number in range(entries)]
        Path(f"{name}.jsonl").write_bytes(header(session=f"session-{name}") + b"".join(lines))
        refold("import", f"{name}.jsonl")


def four_sessions(refold: Refold) -> None:
    make_store(refold.store, 4, messages=6)


def a_hostile_session(refold: Refold) -> None:
    Path("hostile.jsonl").write_bytes(hostile())
    refold("import", "hostile.jsonl")


def the_demo(refold: Refold) -> None:
    refold("--store", refold.store, "demo")


# What happens between two commands


def truncated(refold: Refold) -> None:
    data = refold.store / "data.mdb"
    os.truncate(data, data.stat().st_size // 2)


def garbage(refold: Refold) -> None:
    (refold.store / "data.mdb").write_bytes(bytes(range(256)) * 64)


def a_few_bytes(refold: Refold) -> None:
    (refold.store / "data.mdb").write_bytes(b"\x01\x02")


def a_file_in_place_of_the_store(refold: Refold) -> None:
    shutil.rmtree(refold.store)
    refold.store.write_text("a shopping list")


def a_folder_in_place_of_the_data(refold: Refold) -> None:
    (refold.store / "data.mdb").unlink()
    (refold.store / "data.mdb").mkdir()


def a_changed_event(refold: Refold) -> None:
    with tables(refold.store) as stored:
        key, value = stored.items("events")[0]
        stored.put("events", key, value.replace(b"Fix the parser.", b"Fix the sparrow"))


def a_changed_answer(refold: Refold) -> None:
    with tables(refold.store) as stored:
        for key, value in stored.items("events"):
            if b"You are welcome." in value:
                stored.put("events", key, value.replace(b"You are welcome.", b"You are tampered"))


def a_missing_event(refold: Refold) -> None:
    with tables(refold.store) as stored:
        stored.delete("events", stored.items("events")[3][0])


def a_missing_id(refold: Refold) -> None:
    with tables(refold.store) as stored:
        stored.delete("ids", stored.items("ids")[0][0])


def a_missing_position(refold: Refold) -> None:
    with tables(refold.store) as stored:
        stored.delete("positions", stored.items("positions")[-1][0])


def a_garbled_event(refold: Refold) -> None:
    with tables(refold.store) as stored:
        stored.put("events", stored.items("events")[2][0], b"\xff" * 40)


def damaged_in_session_2(refold: Refold) -> None:
    damage(refold.store, 2, 3)


def a_folder_called_sessions(refold: Refold) -> None:
    del refold
    Path("sessions").mkdir()


def a_pipe_called_pipe(refold: Refold) -> None:
    del refold
    os.mkfifo("pipe.jsonl")


class _Words(HTMLParser):
    """What a page says: its texts, a line for each block, and what its marks are called."""

    _IN_LINE = ("a", "span", "mark", "code", "strong", "em", "b", "small", "title", "td", "th", "dd")

    def __init__(self, html: str) -> None:
        super().__init__()
        self.lines = [""]
        self._silent = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._silent = tag in ("style", "script")
        if tag not in self._IN_LINE:
            self.lines.append("")
        self.lines[-1] += "".join(f" [{value}]" for name, value in attrs if name in ("title", "aria-label"))

    def handle_endtag(self, tag: str) -> None:
        self._silent = False
        if tag not in self._IN_LINE:
            self.lines.append("")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.lines[-1] += f" {' '.join(data.split())}"


def the_words_of_the_page(refold: Refold) -> str:
    del refold
    said = (" ".join(line.split()) for line in _Words(Path("page.html").read_text("utf-8")).lines)
    return "\n".join(line for line in said if line)


def the_overview_of_the_page(refold: Refold) -> str:
    """Up to the replacements, each of which is long."""
    return the_words_of_the_page(refold).partition("\nTurns one by one")[0]


def views_of_made_up_audits(refold: Refold) -> str:
    """What no session here has: metrics, remarks and costs of every kind."""
    del refold
    regret = measured.repeated()
    found = {
        "size": measured.size(1000, 250, removed=800, kept=200, added=40, returned=10),
        "future_use": measured.future_use(1, 3, measured.loss("take", had=4, needed=15)),
        "regret": regret,
        "sections": Sections(
            template="pi", headings=["Goal"], present=["Goal"], missing=["Next", "Notes"], duplicated=["Goal"]
        ),
        "growth": Growth(total=9, carried=4, fresh=5, left_out=2),
        "cost": Cost(model="p/m", calls=9, summary=0.5, is_estimate=True, rewrite=0.25, saved=1.0, net=0.25),
    }
    before = TokensBefore(claimed=500, measured=1000, measured_at="e1", recomputed=800, unexplained=None)
    nothing_known = measured.spent(9, None, None, unrecorded=9, unpriced=9)
    some_known = measured.spent(9, 1.0, 2.0, unrecorded=3, unpriced=1)
    worse = measured.compaction(3, before=before, **{**found, "size": measured.size(10, 11)})
    seen = measured.audit(worse, measured.rewrite(4, undone=True), cost=some_known)
    return "\n".join(
        line
        for view, shown in (
            (print_metrics, measured.metrics()),
            (print_metrics, measured.metrics(**found)),
            (print_metrics, measured.metrics(regret=structs.replace(regret, rounds_to_new_action=None))),
            (print_glance, measured.audit(counter="o200k", exact=True, estimate=False, cost=nothing_known)),
            (print_screen, seen),
        )
        for line in printed(view, shown, width=200)
    )


def session_file(name: str, session: PiSession) -> File:
    return File(name, b"".join(session._lines))


def _paths() -> PiSession:
    told = PiSession()
    told.says("u1", user("Read them."))
    for number, path in enumerate(["/etc/d", "/w/p/a.py", "/w/p/s/b.py", "/w/p/s/c.py", "/kept"]):
        told.says(f"a{number}", assistant(call("read", f"k{number}", path=path)))
        told.says(f"r{number}", result("x" * 4_000, tool="read", call_id=f"k{number}"))
    return told


def _long_result() -> PiSession:
    told = PiSession()
    told.says("u1", user("x" * 40_000))
    told.says("u2", user("Read it."))
    told.says("a2", assistant(call("read", "k", path="a.py")))
    told.says("r2", result("y" * 60_000, tool="read", call_id="k"))
    return told


def _two_requests() -> PiSession:
    told = PiSession()
    for name, size in (("u1", 36_000), ("u2", 4_000)):
        told.says(name, user("x" * size))
    return told


def lines(*records: Mapping[str, Any]) -> bytes:
    return b"".join(map(line, records))


def message(event_id: str, spoken: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "message", "id": event_id, "message": spoken}


def person(event_id: str, words: str) -> dict[str, Any]:
    return message(event_id, user(words))


def compaction(event_id: str, **fields: Any) -> dict[str, Any]:
    given = {"summary": "s", "firstKeptEntryId": "", "tokensBefore": 14, **fields}
    return {"type": "compaction", "id": event_id, **given}


REWRITE: Final = {"type": "rewrite", "id": "w1", "reason": "prune", "tokensSaved": 12}

# A summary of a pi that began behind the compaction before: what that one had kept is in none.
OLDER: Final = {
    "type": "compaction",
    "id": "c2",
    "parentId": "i1",
    "summary": "later",
    "firstKeptEntryId": "a4",
    "tokensBefore": 9,
    "timestamp": "2025-12-08T23:00:00.000Z",
}

MASK: Final = File("all.toml", 'name = "all"\nrewrites = [{part = "mask", keep_observations = 0}]\n')
TIGHT: Final = File(
    "tight.toml",
    'name = "tight"\nextends = "pi"\ncontinuation = "auto-continue"\n'
    '[trigger]\nreserve = 300\n[cut]\npart = "keep-recent"\ntokens = 250\n',
)
GREEDY: Final = File("greedy.toml", 'name = "greedy"\nextends = "pi"\n[trigger]\nreserve = 1_000\n')
NO_TEMPLATE: Final = (
    File("config/templates/broken.md", "no front matter"),
    File(
        "mine.toml",
        'name = "mine"\n[trigger]\nreserve = 300\n[cut]\npart = "keep-recent"\ntokens = 250\n'
        '[prompting]\ntemplate = "nope"\nshort = "broken"\n',
    ),
)
PROMPT_OF_NO_TEXT: Final = File("prompt.md", b"\xff")
NO_TOOLS: Final = File("tools.json", "{}")
OWN: Final = '+++\nname = "{name}"\nversion = 7\nsections = ["Goal"]\n+++\nSay the goal.\n\n## Goal\n'
PRICES: Final = File(
    "mine.toml",
    'date = 2026-01-01\n[models."m"]\n'
    "input = 1\noutput = 2\ncache_read = 0\ncache_write_5m = 1\ncache_write_1h = 1\n",
)
NAMES_FOR_NO_SESSION: Final = ("session.jsonl", "x/y", "export.json", "tale.jsonl", "#3", "", "@last", "a\nb")
EXTRACTING: Final = "--summarizer extractive"
KEEPING: Final = "compact @last --keep-recent 250"
BY_A_MODEL: Final = f"--summarizer anthropic --endpoint {API}"
BY_A_SERVICE: Final = f"--summarizer http --endpoint {API}"


def _hooked(command: str, **functions: Any) -> Run:
    hooks = [Hooks(name="ticketing", **functions)]
    return Run(command, patch={"compaction.hooks.installed_hooks": lambda: hooks})


def _closed(happening: object) -> Cancel:
    del happening
    return Cancel("the ticket is closed")


def _broken(happening: object) -> None:
    del happening
    raise OSError("no\nnetwork")


def _damage(change: Step) -> Scene:
    return Scene(the_tale, [change, "sessions", "verify"])


def _named(command: str) -> list[str]:
    return [f"{command} --as {shlex.quote(name)}" for name in NAMES_FOR_NO_SESSION]


def _help(name: str) -> Scene:
    return Scene(nothing, [f"{name} --help"])


WITHOUT_A_STORE: Final = [
    shlex.join(invocations("s")[name]) for name in NAMES if name not in ("import", "append")
]

SCENES: Final[dict[str, Sequence[Scene]]] = {
    "refold": [
        Scene(
            nothing,
            [
                "--help",
                "",
                "--version",
                "adit",
                "xyzzy",
                "--shop x stats",
                "--store '' stats",
                Run(
                    "broken",
                    env={"REFOLD_TRACEBACK": ""},
                    patch={"cli.main.COMMANDS": {"broken": ("nowhere", "Is not there.")}},
                ),
            ],
        ),
        Scene(
            nothing,
            [
                "tree",
                "tree a b",
                "tree a --full=yes",
                "tree a --as-of x",
                "tree a --as-of -1",
                "sessions --sort size",
                "sessions --limit 0",
                "log a --first 0",
                "append a --expected -1",
                "export a",
                "completion tcsh",
                "context a --counter words",
            ],
        ),
        Scene(nothing, [*WITHOUT_A_STORE, "import nothing.jsonl", "tree @last"]),
        *map(
            _damage,
            (
                truncated,
                garbage,
                a_few_bytes,
                a_file_in_place_of_the_store,
                a_folder_in_place_of_the_data,
            ),
        ),
        # What a session and an event may be called.
        Scene(
            two_sessions,
            [
                "tree nope",
                "tree ''",
                "tree 0199",
                "tree gone.jsonl",
                f"rename {OTHER} 'The parser'",
                "tree 'The parser'",
                a_folder_called_sessions,
                "tree sessions",
                Run("append a~draft", CUSTOM),
                Run("append a~02", CUSTOM),
                "tree a~",
            ],
        ),
        Scene(two_generations, ["tree 0199", "tree 0199~3", f"tree {SESSION}"]),
        Scene(
            the_tale,
            [
                "show @last a",
                "show @last nope",
                "show @last ''",
                "show @last '#0'",
                "show @last '#18'",
                "show @last '#'",
                "show @last '#x'",
                "tree @last --as-of 99",
                "context @last --leaf nope",
                "context @last --leaf '#17'",
                "context @last --leaf a4 --as-of 5",
                "undo @last nope",
                "label @last '#99' x",
            ],
        ),
    ],
    "import": [
        _help("import"),
        Scene(
            nothing,
            [
                File("tale.jsonl", tale.tale()),
                "import tale.jsonl",
                "import tale.jsonl",
                "import tale.jsonl --as second",
                "import tale.jsonl tale.jsonl --as third",
                *_named("import tale.jsonl"),
            ],
        ),
        Scene(
            nothing,
            [
                File("tale.jsonl", tale.tale()),
                File("notes.txt", "a shopping list\n"),
                File("empty.jsonl", ""),
                File("claude.jsonl", CLAUDE_CODE),
                "import tale.jsonl notes.txt gone.jsonl empty.jsonl claude.jsonl",
            ],
        ),
        Scene(
            nothing,
            [
                File("empty/notes.txt", "a shopping list\n"),
                "import empty",
                File("claude/a.jsonl", CLAUDE_CODE),
                File("claude/b.jsonl", CLAUDE_CODE),
                File("claude/c.jsonl", header(session=OTHER) + said("hello", "x1", None)),
                "import claude",
                File("exports/a.json", '{\n "info": {"id": "ses_1"}, "messages": []\n}'),
                "import exports",
            ],
        ),
        Scene(
            nothing,
            [
                File("tale.jsonl", tale.tale() + b"[1]\n{broken\n" + said("an id once more", "u1", "i1")),
                "import tale.jsonl",
                File(
                    "bytes.jsonl", header(session=OTHER) + b'{"type":"custom","id":"x","customType":"\xff"}\n'
                ),
                "import bytes.jsonl",
                File(
                    "longer.jsonl",
                    header(session="l") + said("hello", "e1", None) + said("again", "e2", "e1"),
                ),
                "import longer.jsonl",
                File("shorter.jsonl", header(session="l") + said("hello", "e1", None)),
                "files shorter.jsonl",
                File("utf-16.jsonl", tale.tale().decode().encode("utf-16")),
                "import utf-16.jsonl",
                File("orphan.jsonl", header(session="orphan") + said("hello", "x1", "gone")),
                "import orphan.jsonl",
            ],
        ),
        Scene(
            the_tale,
            [
                Run("append @last", said("said here", role="user")),
                File("tale.jsonl", tale.tale() + said("said there", "u9", "i1") + said("more", "v9", "u9")),
                "import tale.jsonl",
                File("tale.jsonl", tale.tale().replace(b"Fix the parser.", b"Mend the parser.")),
                "import tale.jsonl",
                File("tale.jsonl", re.sub(rb'"([a-z][0-9])"', rb'"new-\1"', tale.tale())),
                "import tale.jsonl",
            ],
        ),
    ],
    "sessions": [
        _help("sessions"),
        Scene(nothing, [Run("append s"), "sessions"]),
        Scene(
            three_sessions,
            [
                "sessions",
                "sessions --sort id --limit 2",
                "rename session-c 'Nightly run'",
                "sessions --match nightly",
            ],
        ),
    ],
    "log": [
        _help("log"),
        Scene(
            the_tale,
            [
                "log @last",
                "log @last --reverse --limit 2",
                "log @last --kind message --kind compactoin",
                "log @last --role usr",
                Run(
                    "append @last",
                    lines(
                        {"type": "thinking_level_change", "id": "t1", "thinkingLevel": "high"},
                        {**CONTINUE, "id": "g1", "metadata": {"compaction_continue": True}},
                        {"type": "decision", "outcome": "skip", "reason": "small"},
                    ),
                ),
                "log @last --first 16",
            ],
        ),
    ],
    "show": [
        _help("show"),
        Scene(the_tale, ["show @last u1", "show @last c1", "show @last '#16'", "show @last u1 --raw"]),
    ],
    "tree": [
        _help("tree"),
        Scene(
            the_tale,
            [
                "tree @last",
                "tree @last --full",
                "tree @last --as-of 0",
                Run("append @last", lines({"type": "leaf_moved", "parentId": "b2", "id": "m1"})),
                "tree @last --full",
                Run(
                    "append @last", lines({"type": "custom", "customType": "x", "id": "r9", "parentId": None})
                ),
                "tree @last",
            ],
        ),
        Scene(
            nothing,
            [
                Run(
                    "append s",
                    lines(
                        {**CONTINUE, "id": "e0"},
                        {**CONTINUE, "id": "e1", "metadata": {"compaction_continue": True}},
                        {
                            "type": "custom_message",
                            "customType": "compaction_continue",
                            "content": "Go on.",
                            "id": "e2",
                        },
                        message("e3", assistant("Next.")),
                        person("e4", "Thanks!"),
                    ),
                ),
                "tree s",
                "tree s --full",
            ],
        ),
    ],
    "context": [
        _help("context"),
        Scene(
            the_tale,
            ["context @last", "context @last --leaf root", "context @last --format transcript"],
        ),
        Scene(
            nothing,
            [
                Run(
                    "append s",
                    lines(
                        person("e1", "\n".join(map(str, range(100)))),
                        person("e2", "\n".join(map(str, range(7)))),
                        person("e3", "long " * 40),
                        {**CONTINUE, "id": "e4", "metadata": {"compaction_continue": True}},
                        {**REWRITE, "targets": [{"target": "e3", "shown": "short"}]},
                        message("e5", {"role": "assistant", "content": "hi"}),
                    ),
                ),
                "context s",
                "context s --full",
            ],
        ),
        Scene(
            the_tale,
            [
                "context @last --format anthropic --leaf a2",
                "context @last --format anthropic --leaf u1",
                "context @last --format anthropic --leaf root --model claude",
                "context @last --format anthropic --system gone",
                "context @last --format anthropic --tools gone",
                "context @last --format anthropic --max-tokens 0",
                "context @last --format anthropic --cache-breakpoints 5",
                "context @last --format anthropic --cache-breakpoints -1",
            ],
        ),
        Scene(
            nothing,
            [
                Run(
                    "append s",
                    lines(
                        message("a", assistant(*(call("read", f"k{each}", path="x") for each in range(3))))
                    ),
                ),
                "context s --format anthropic",
                "context s --format anthropic --full",
            ],
        ),
        Scene(
            nothing,
            [
                Run("append s", HELLO),
                File("given", b"\xff"),
                "context s --format anthropic --model m --system given",
                File("given", "{"),
                "context s --format anthropic --model m --tools given",
                File("given", '[{"name":"x"}]'),
                "context s --format anthropic --model m --tools given",
                File("given", '[{"name":"a b"}]'),
                "context s --format anthropic --model m --tools given",
            ],
        ),
    ],
    "audit": [
        _help("audit"),
        Scene(the_tale, ["audit @last", "audit @last --full", "audit @last --leaf root"]),
        Scene(the_demo, ["audit @last", "audit @last --full --as-of 69"]),
        Scene(nothing, [views_of_made_up_audits]),
        Scene(
            the_tale,
            [
                File("tale.jsonl", tale.tale() + line(OLDER)),
                "audit tale.jsonl",
                "audit @last --full",
                PRICES,
                "audit @last --prices mine.toml --as-of 12",
                "audit @last --prices none.toml",
                Run("audit @last --counter o200k", patch={"projections.tokens._o200k": lambda _: None}),
                a_pipe_called_pipe,
                "audit pipe.jsonl",
            ],
        ),
        Scene(
            nothing,
            [
                Run("append none", lines(person("e1", "hi"))),
                Run(
                    "append grew",
                    lines(
                        person("e1", "hi"), compaction("c1", summary="much longer than what it stands for")
                    ),
                ),
                Run("append empty", lines(person("e1", "hello " * 9), compaction("c1", summary=" "))),
                Run("append sound", lines(person("e1", "hello " * 9), compaction("c1"))),
                Run(
                    "append lacks",
                    lines(
                        message("e1", assistant("I look. " * 9, call("read", "k", path="a.py"))),
                        compaction("c1", details={"readFiles": [], "modifiedFiles": []}, tokensBefore=23),
                    ),
                ),
                Run(
                    "append rewritten",
                    lines(
                        person("e1", "hello " * 9),
                        {**REWRITE, "targets": [{"target": "e1", "shown": "short"}]},
                    ),
                ),
                Run(
                    "append undone",
                    lines(
                        person("e1", "hello " * 9),
                        compaction("c1"),
                        {"type": "undone", "id": "n1", "targetId": "c1"},
                    ),
                ),
                "audit none grew",
                "audit --full none grew empty sound lacks rewritten undone",
                "audit --all --jobs 1",
            ],
        ),
        Scene(
            four_sessions,
            [
                "audit session-00000 --fail-under recall.paths-read=0.5 --fail-under recall=1",
                "audit --all --jobs 1 --fail-under recall.paths-read=0.5",
                damaged_in_session_2,
                "audit --all --jobs 1",
                "audit session-00001",
            ],
        ),
        Scene(two_generations, ["audit --all --jobs 1"]),
        Scene(
            nothing,
            [
                "audit",
                "audit --all s",
                "audit --all --full",
                "audit --all --leaf root",
                "audit --all --as-of 0",
                "audit --jobs 2 s",
                "audit --all --jobs 0",
                "audit s --fail-under speed=1",
                "audit s --fail-under recall=2",
            ],
        ),
    ],
    "report": [
        _help("report"),
        Scene(
            the_tale,
            [
                "report @last",
                "report @last -o page.html",
                the_words_of_the_page,
                File("notes.html", "<p>mine</p>"),
                "report @last -o notes.html",
                "report @last -o gone/page.html",
                "report @last -o .",
                "report nope",
            ],
        ),
        Scene(the_demo, ["report @last -o page.html", the_overview_of_the_page]),
    ],
    "diff": [
        _help("diff"),
        Scene(
            the_tale,
            [
                "diff @last b2 s1",
                "diff @last b2 s1 --all",
                "diff @last a3 a4",
                "diff @last root nope",
                "diff @last root '#17'",
                "diff @last root '#99'",
                Run(
                    "append s",
                    lines(
                        person("e1", "hi"),
                        {**CONTINUE, "id": "e2", "metadata": {"compaction_continue": True}},
                    ),
                ),
                "diff s e1 e2",
            ],
        ),
    ],
    "timeline": [
        _help("timeline"),
        Scene(the_tale, ["timeline @last", "timeline @last --full", "timeline @last --leaf a3"]),
        Scene(
            nothing,
            [
                Run(
                    "append s",
                    lines(person("e1", "hello"), {**CONTINUE, "metadata": {"compaction_continue": True}}),
                ),
                "timeline s",
                "timeline s --full",
            ],
        ),
    ],
    "files": [
        _help("files"),
        Scene(
            the_tale, ["files @last", "files @last --read", "files @last --modified", "files @last --leaf a1"]
        ),
    ],
    "export": [
        _help("export"),
        Scene(
            the_tale,
            [
                "export @last -o again.jsonl",
                "export @last -o again.jsonl",
                "export @last -o gone/again.jsonl",
                "export @last -o .",
                "export @last -o store",
                "export nope -o other.jsonl",
                Run("append s", CUSTOM),
                "export s -o -",
                "export s --format pi -o s.jsonl",
                a_changed_answer,
                f"export {SESSION} -o other.jsonl",
            ],
        ),
    ],
    "append": [
        _help("append"),
        Scene(
            nothing,
            [
                Run("append s --expected 0", HELLO + b"\n" + CUSTOM),
                Run("append s --expected 1", CUSTOM),
                Run("append s", HELLO.replace(b"hello", b"goodbye")),
                Run("append s", line({"type": "custom", "customType": "x", "parentId": "gone"})),
                Run("append s", HELLO.replace(b"m1", b"m2") + b"{broken\n" + CUSTOM),
                *(
                    Run("append s", b"\n" + broken + b"\n")
                    for broken in (
                        b"[1]",
                        b'{"id":"x"}',
                        b'{"type":"custom","customType":"x","id":7}',
                        b'{"type":"custom","customType":"x","parentId":7}',
                        b'{"type":"custom","customType":"x","timestamp":"noon"}',
                        b'{"type":"compaction","summary":"s"}',
                        b'{"type":"label","targetId":[]}',
                        b'{"type":"custom","customType":"\xff"}',
                    )
                ),
            ],
        ),
    ],
    "go": [
        _help("go"),
        Scene(the_tale, ["go @last a3", "undo @last", "go @last u2"]),
        Scene(
            the_tale,
            [
                "go @last i1",
                "go @last b1 --dry-run",
                "go @last root --dry-run",
                "go @last nope",
                "go @last i1 --summary Nothing.",
                "go @last a3 --summary ''",
                "go @last root --label x",
                Run("go @last b2 --summary -", b"\xff"),
                "go @last b2 --summary x --summarize",
                f"go @last b2 {EXTRACTING}",
                f"go @last a3 --summarize 'Be brief.' {EXTRACTING} --dry-run",
                f"go @last a3 --summarize 'Be brief.' {EXTRACTING}",
            ],
        ),
        Scene(the_tale, ["go @last b2 --summarize"]),
        Scene(the_tale, [_hooked(f"go @last b2 --summarize {EXTRACTING}", before_move=_closed)]),
        Scene(the_tale, [_hooked(f"go @last b2 --summarize {EXTRACTING}", before_move=_broken)]),
        Scene(the_tale, ["go @last b2 --summary 'It was fixed.' --label 'once more'"]),
        Scene(the_tale, ["label @last a3 here", f"go @last i1 --summarize {EXTRACTING}"]),
        Scene(
            the_tale,
            [f"go @last b2 --summarize {BY_A_SERVICE}"],
            [answers({"summary": "## Goal\nto fix it"})],
        ),
        Scene(the_tale, [f"go @last b2 --summarize {BY_A_SERVICE}"], [refuses(400, "no")]),
    ],
    "fork": [
        _help("fork"),
        Scene(
            the_tale,
            [
                f"fork {SESSION} --as again",
                f"fork {SESSION} --leaf root --as rooted",
                f"fork {SESSION} --whole",
                f"fork {SESSION} --as {SESSION}",
                f"fork {SESSION} --whole --leaf a3",
                f"fork {SESSION} --leaf nope",
                *_named(f"fork {SESSION}"),
            ],
        ),
    ],
    "undo": [
        _help("undo"),
        Scene(
            the_tale,
            [
                "undo @last",
                *(f"undo @last {event}" for event in ("u3", "b2", "s1", "nope", "''")),
                "undo @last c1 --dry-run",
                "undo @last c1",
                "undo @last",
                "undo @last 00000001",
                "go @last a3 --label x",
                "undo @last",
            ],
        ),
    ],
    "compact": [
        _help("compact"),
        Scene(
            the_talk,
            [
                "compact @last --keep-recent 350 --dry-run",
                f"{KEEPING} --template five-sections --model a --model b --dry-run",
                f"compact @last 'Be brief.' {EXTRACTING} --keep-recent 250 --dry-run",
                "compact @last --dry-run",
                "compact @last 'Be brief.'",
                f"compact @last --policy mask {EXTRACTING}",
                f"compact @last {EXTRACTING} --window 16000",
                f"{KEEPING} {EXTRACTING}",
                f"{KEEPING} {EXTRACTING}",
                f"{KEEPING} {EXTRACTING} --dry-run",
            ],
        ),
        Scene(the_talk, [KEEPING]),
        Scene(
            the_talk,
            [
                Run(
                    f"{KEEPING} {EXTRACTING} --counter o200k",
                    patch={"projections.tokens._o200k": lambda _: None},
                )
            ],
        ),
        Scene(
            nothing,
            [
                session_file("two.jsonl", _two_requests()),
                "compact two.jsonl --keep-recent 1000 --dry-run",
            ],
        ),
        Scene(
            nothing,
            [
                session_file("long.jsonl", _long_result()),
                f"compact long.jsonl --policy opencode {EXTRACTING} --dry-run",
            ],
        ),
        Scene(
            nothing, [session_file("paths.jsonl", _paths()), "compact paths.jsonl --keep-recent 0 --dry-run"]
        ),
        Scene(the_talk, [Run(KEEPING, env={**KEY, "ANTHROPIC_BASE_URL": API})], [says(complete)]),
        Scene(
            the_talk,
            [Run(f"{KEEPING} --model first --model second --endpoint {API}", env=KEY)],
            [errs(404, "no such model", "not_found_error"), says(complete)],
        ),
        Scene(the_talk, [Run(f"{KEEPING} {BY_A_MODEL}", env=KEY)], [says("## Goal\nall of it")]),
        Scene(
            the_talk,
            [Run(f"{KEEPING} {BY_A_MODEL}", env=KEY)],
            [errs(401, "invalid x-api-key", "authentication_error")],
        ),
        Scene(the_talk, [f"{KEEPING} {BY_A_SERVICE}"], [answers({"summary": "word " * 4000})]),
        Scene(the_talk, [f"{KEEPING} {BY_A_SERVICE}"], [refuses(429, "Spent.", retry_after="3600")]),
        Scene(
            the_talk,
            [f"{KEEPING} --template short {BY_A_SERVICE}"],
            [refuses(529, "overloaded", retry_after="0.01"), answers({"summary": "In short."})],
        ),
        Scene(
            the_talk,
            [
                _hooked(f"{KEEPING} {EXTRACTING}", before_compaction=_closed),
                _hooked(f"{KEEPING} {EXTRACTING}", before_compaction=_broken, after_compaction=_broken),
            ],
        ),
        Scene(
            the_talk,
            [
                f"compact @last --model x {EXTRACTING}",
                "compact @last --endpoint http://x",
                "compact @last --keep-recent -1",
                "compact @last --window 0",
                "compact @last --counter words",
                "compact @last --system nope",
                "compact @last --policy nope",
                "compact @last --policy ./nope.toml",
                "compact @last --summarizer http",
                "compact @last --leaf nope",
                "compact @last --template nope",
                "compact @last --template nope.md",
                "compact @last --template talk.jsonl/x.md",
                PROMPT_OF_NO_TEXT,
                "compact @last --system prompt.md",
                *NO_TEMPLATE,
                f"compact @last --policy mine.toml {EXTRACTING}",
                f"compact @last --policy mine.toml {EXTRACTING} --template compaction",
            ],
        ),
    ],
    "prune": [
        _help("prune"),
        Scene(
            the_talk,
            [
                MASK,
                "prune @last --policy all.toml --dry-run",
                File(
                    "exact.toml",
                    'name = "exact"\ncounter = "o200k"\nrewrites = [{part = "mask", keep_observations = 0}]\n',
                ),
                Run(
                    "prune @last --policy exact.toml --dry-run",
                    patch={"projections.tokens._o200k": lambda _: None},
                ),
                "prune @last --policy all.toml",
                "prune @last --policy all.toml",
                "undo @last",
                File(
                    "two.toml",
                    'name = "two"\nrewrites = [{part = "mask", keep_observations = 0}, {part = "micro"}]\n',
                ),
                "prune @last --policy two.toml --dry-run",
                "prune @last --policy two.toml --part mask --dry-run",
                "prune @last --part mask",
                "prune @last --policy pi",
                File("snip.toml", 'name = "snip"\nrewrites = [{part = "snip", longest = 5, head = 2}]\n'),
                "prune @last --policy snip.toml",
                "prune @last",
            ],
        ),
    ],
    "handoff": [
        _help("handoff"),
        Scene(
            the_talk,
            [
                f"handoff @last {EXTRACTING}",
                f"handoff {SESSION} 'Be brief.' {EXTRACTING} --as next",
                f"handoff {SESSION} {EXTRACTING} --as {SESSION}",
                f"handoff {SESSION} {EXTRACTING} --as 'a\x1bb'",
                Run("append empty", CUSTOM),
                f"handoff empty {EXTRACTING}",
            ],
        ),
        Scene(
            the_tale,
            _named(f"handoff {SESSION} {EXTRACTING}"),
        ),
        Scene(
            the_talk,
            [Run(f"handoff @last {BY_A_MODEL}", env=KEY)],
            [errs(400, "no", "invalid_request_error")],
        ),
    ],
    "maintain": [
        _help("maintain"),
        Scene(
            the_talk,
            [
                TIGHT,
                Run(
                    f"maintain @last {EXTRACTING} --window 1000 --policy tight.toml",
                    '{"on":"before_request"}\n{"on":"after_turn"}\n{"on":"idle","seconds":1}\n'
                    '{"on":"error","error":"overloaded"}\n{"seconds":9,"on":"before_request"}\n',
                ),
                # Each alone: one that waits calls off what is at hand.
                Run(f"maintain @last {EXTRACTING}", '{"on":"abort"}\n'),
                Run(f"maintain @last {EXTRACTING}", '{"on":"compact"}\n'),
            ],
        ),
        Scene(
            the_talk,
            [
                Run(
                    f"maintain @last {EXTRACTING}",
                    "nonsense\n[]\n{}\n"
                    '{"on":"lunch"}\n{"on":"error"}\n{"on":"idle","seconds":"long"}\n{"on":"idle","seconds":-1}\n'
                    '{"on":"compact","instructions":"\\ud83d"}\n',
                ),
                Run(f"maintain @last {EXTRACTING}", b'{"on":"compact","instructions":"\xff"}\n'),
                File("settings.toml", "reserveTokens = 8_000\n"),
                f"maintain @last {EXTRACTING} --settings settings.toml --window 8000",
                File("settings.toml", "enable = true\nthreshold_percent = 101\n[promotion]\nmodel = 'x'\n"),
                f"maintain @last {EXTRACTING} --settings settings.toml",
                File(
                    "settings.toml",
                    "enabled = 1\nstrategy = 'guess'\nreserveToken = 1\nthreshold_tokens = -2\n"
                    "keep_recent_tokens = -1\nreserve_tokens = 1\nreserveTokens = 2\nmostFailures = 0\n"
                    "[promotion]\nmodel = 'x'\nwindow = 1\nwidth = 2\n[branchSummary]\nreserveTokens = -1\n",
                ),
                f"maintain @last {EXTRACTING} --settings settings.toml",
                File("settings.toml", "promotion = 1\nthreshold_percent = '80'\n"),
                f"maintain @last {EXTRACTING} --settings settings.toml",
                File("settings.toml", "[[["),
                f"maintain @last {EXTRACTING} --settings settings.toml",
                File("settings.toml", b"\xff"),
                f"maintain @last {EXTRACTING} --settings settings.toml",
                f"maintain @last {EXTRACTING} --settings none.toml",
                NO_TOOLS,
                "maintain @last --tools tools.json",
                "maintain @last --tools -",
                "maintain @last --system -",
                f"maintain nope {EXTRACTING}",
                f"maintain - {EXTRACTING}",
                f"maintain '' {EXTRACTING}",
                GREEDY,
                f"maintain @last --policy greedy.toml {EXTRACTING} --window 1000",
                Run(f"maintain @last {EXTRACTING} --window 16000", AFTER_TURN),
                *NO_TEMPLATE,
                f"maintain @last --policy mine.toml {EXTRACTING}",
            ],
        ),
        Scene(
            the_talk,
            [Run(f"maintain @last {BY_A_SERVICE} --policy layered", '{"on":"compact"}\n' + AFTER_TURN)],
            [refuses(400, "no")],
        ),
    ],
    "label": [
        _help("label"),
        Scene(
            the_tale,
            [
                "label @last u2",
                "label @last u3",
                "label @last u3 'the end'",
                "label @last u2 --remove",
                "label @last u2 --remove",
                "label @last u2 x --remove",
                "label @last u2 ''",
                "label @last u2 '' --remove",
                "label @last nope x",
            ],
        ),
    ],
    "rename": [_help("rename"), Scene(the_tale, ["rename @last Grammar", "rename @last ' '"])],
    "stats": [_help("stats"), Scene(the_tale, ["stats"]), Scene(nothing, [Run("append s"), "stats"])],
    "backup": [
        _help("backup"),
        Scene(
            the_tale,
            ["backup copy", "backup copy", "backup gone/copy", a_changed_event, "backup another"],
        ),
    ],
    "verify": [
        _help("verify"),
        Scene(nothing, [Run("append s"), "verify"]),
        Scene(the_tale, ["verify"]),
        *(
            Scene(the_tale, [change, "verify"])
            for change in (
                a_changed_event,
                a_missing_event,
                a_missing_id,
                a_missing_position,
                a_garbled_event,
            )
        ),
    ],
    "policies": [
        _help("policies"),
        Scene(
            nothing,
            [
                "policies",
                "policies show pi",
                "policies check pi",
                "policies check opencode",
                "policies check mask",
                "policies check pi --window 16000",
                "policies check layered --window 16000",
                "policies new mine",
                "policies new mine",
                "policies new ../mine",
                "policies new yours --from nope",
                "policies new yours --from mine",
                "policies show",
                "policies list --from pi",
                "policies show pi --window 9",
                "policies rewrite x",
                "policies check nope",
                "policies",
            ],
        ),
        Scene(
            nothing,
            [
                File("config/policies/broken.toml", "memory = 1\ncut = 2\n"),
                File("config/policies/mine.toml", 'name = "pi"\n'),
                "policies",
                "policies check mine",
                File(
                    "config/policies/mine.toml",
                    'name = "mine"\nextends = "pi"\n[prompting]\nshort = "nope"\n',
                ),
                "policies check mine",
                File("x.toml", 'name = "x"\nextends = "oh-my-pi"\ncut = "none"\nrewrites = []\n'),
                "policies check x.toml",
                File("x.toml", 'name = "x"\nextends = "pi"\n[trigger]\nreserve = 300_000\n'),
                "policies check x.toml",
                File(
                    "x.toml",
                    'name = "x"\nextends = "pie"\nplacement = "below"\n[cut]\npart = "keep-recent"\ntokns = 1\n'
                    '[prompting]\ntemplate = "nope"\nreserve = "all"\nsummarizer = "nobody"\n',
                ),
                "policies check x.toml",
                File("x.toml", 'extends = "pi"\n[cut]\npart = "keep-recent"\ntokens = 5\n'),
                "policies check x.toml",
                File("x.toml", "[[["),
                "policies check x.toml",
                File("x.toml", b"\xff"),
                "policies check x.toml",
            ],
        ),
    ],
    "templates": [
        _help("templates"),
        Scene(
            nothing,
            [
                "templates",
                "templates show short",
                "templates check turn-prefix",
                "templates new short",
                "templates new short",
                "templates new ../mine --from short",
                "templates new mine",
                "templates new mine --from frist",
                "templates show nope",
                "templates check",
                "templates show short --from branch",
            ],
        ),
        Scene(
            nothing,
            [
                File("config/templates/compaction.md", OWN.format(name="compaction")),
                "templates check compaction",
                File("config/templates/broken.md", "no front matter"),
                "templates",
                "templates new mine --from broken",
                *(
                    step
                    for written in (
                        '+++\nname = "x"\nversion = 1\nsections = ["Goal", "Mood"]\n+++\nSay it.\n\n## Goal\n',
                        '+++\nname = "x"\nversion = 1\nsections = ["Goal"]\n+++\nSay it.\n\n## Goal\n\n## Mood\n',
                        '+++\nname = "x"\n+++\nSay it.',
                        '+++\nname = "y"\nversion = 1\n+++\nSay it.',
                        '+++\nname = "x"\nversion = 0\nsection = []\n+++\nSay it.',
                        b"\xff",
                    )
                    for step in (File("config/templates/x.md", written), "templates check x")
                ),
            ],
        ),
    ],
    "demo": [
        _help("demo"),
        Scene(nothing, ["demo"]),
        Scene(the_tale, ["--store store demo"]),
    ],
    "completion": [
        _help("completion"),
        Scene(nothing, [f"completion {each}" for each in ("bash", "zsh", "fish")]),
    ],
}
