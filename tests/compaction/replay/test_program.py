"""Replay sessions with real programs that compact them, well and badly."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from compaction.part import Limits
from compaction.processes import words_of
from compaction.replay import Measures, replay_session
from compaction.replay.program import Program
from compaction.replay.results import ReplayResult, Trial
from compaction.replay.variants import Variant
from compaction.summarizers.chain import SummarizerChain
from eventstore.errors import BadInputError
from eventstore.memory import MemoryLog
from tests.support.patience import PATIENCE, comes
from tests.support.postgres import is_running
from tests.support.talk import Story, assistant, call, result, user

CHAIN = SummarizerChain(summarizers=[])
READ = "import json, os, sys, time\ncontext = json.load(sys.stdin)\nmessages = context['messages']\n"
GOOD = READ + (
    "summary = {'role': 'user', 'content': 'Summary: src/part_3.py is to be repaired.'}\n"
    "json.dump({'messages': [{'message': summary}, *messages[-4:]]}, sys.stdout)\n"
)

Try = Callable[..., ReplayResult]


@pytest.fixture
def story() -> Story:
    story = Story(MemoryLog(clock=lambda: 0))
    story.says(user("Fix the parser. Use src/parser.py, says J\u00fcrgen."))
    for number in range(20):
        story.says(
            assistant(call("read", f"c{number}", path=f"src/part_{number}.py")),
            result("def take_line(): ...\n" * 400, tool="read", call_id=f"c{number}"),
        )
    story.says(user("Now repair src/part_3.py."))
    for number in range(4):
        story.says(
            assistant(call("edit", f"d{number}", path="src/part_3.py", newText="x")),
            result("done", tool="edit", call_id=f"d{number}"),
        )
    return story


@pytest.fixture
def tried(story: Story, tmp_path: Path) -> Try:
    """Replay with a program's text, and return the first boundary's result."""

    def tried(text: str, *, timeout: float = PATIENCE, window: int = 100_000) -> ReplayResult:
        script = tmp_path / "compactor.py"
        script.write_text(text)
        command = shlex.join([sys.executable, str(script)])
        program = Program(command=command, timeout=timeout)
        variants = [
            Variant(name="theirs", policy=None, chain=CHAIN, program=program),
        ]
        with story.log.snapshot() as snapshot:
            return next(
                replay_session(snapshot, story.session, variants, Measures(limits=Limits(window=window)))
            )

    return tried


def failed(result: ReplayResult) -> str:
    trial: Trial = result.trials[0]
    assert trial.tokens_after is None
    assert trial.error is not None
    assert "\n" not in trial.error
    return trial.error


def test_a_program_compacts_the_context(tried: Try) -> None:
    found = tried(GOOD)
    trial = found.trials[0]
    assert trial.error is None
    assert trial.first_kept == f"e{found.boundary.seq - 3}"
    assert (trial.tokens_after or 0) < (trial.tokens_before or 0) / 2


def test_a_program_is_given_the_messages_the_window_and_the_size(tried: Try) -> None:
    text = READ + (
        "assert context['window'] == 77_777\n"
        "assert context['tokens'] == sum(each['tokens'] for each in messages) > 30_000\n"
        "first = messages[0]\n"
        "assert first['message']['content'] == 'Fix the parser. Use src/parser.py, says J\u00fcrgen.', first\n"
        "assert (first['event'], first['seq'], first['role']) == ('e1', 1, 'user'), first\n"
        "json.dump({'messages': messages[-1:]}, sys.stdout)\n"
    )
    assert tried(text, window=77_777).trials[0].error is None


def test_a_program_may_change_messages(tried: Try) -> None:
    text = READ + (
        "for each in messages:\n"
        "    if each['role'] == 'toolResult': each['message']['content'] = [{'type': 'text', 'text': 'gone'}]\n"
        "json.dump({'messages': messages}, sys.stdout)\n"
    )
    found = tried(text)
    assert found.trials[0].error is None
    assert found.trials[0].first_kept == "e1"
    assert (found.trials[0].tokens_after or 0) < 2_000


def test_a_program_that_changes_nothing_has_no_result(tried: Try) -> None:
    assert failed(tried(READ + "json.dump(context, sys.stdout)")) == "the context would not get smaller"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("print('Sure! Here is the JSON.')", "the program printed no JSON"),
        ("print('[' * 100_000)", "the program printed JSON that is nested deeper than 500 levels"),
        ("print('[]')", 'the program printed no JSON object with a list "messages"'),
        ("pass", "the program printed no JSON"),
        (
            """print('{"messages": [{"role": "user"}]}')""",
            'messages[0] is not an object with an object "message"',
        ),
        (
            """print('{"messages": [{"message": {"role": "user"}}]}')""",
            "messages[0] is new: it needs a role, user or assistant, and its content",
        ),
        (
            """print('{"messages": [{"event": "nowhere", "message": {"role": "user"}}]}')""",
            'messages[0] has an "event" that is not in the context, or that it repeats',
        ),
        (
            READ + "json.dump({'messages': [messages[1], messages[1]]}, sys.stdout)",
            'messages[1] has an "event" that is not in the context, or that it repeats',
        ),
        (
            READ + "messages[0]['message']['role'] = 'assistant'\njson.dump(context, sys.stdout)",
            "messages[0] has another role than its event; only its content may change",
        ),
    ],
)
def test_a_bad_answer_is_the_variants_failure(tried: Try, text: str, error: str) -> None:
    assert failed(tried(text)) == error


def test_a_crash_shows_the_last_line_of_stderr(tried: Try) -> None:
    assert (
        failed(tried(READ + "raise KeyError('first')")) == "the program exited with code 1: KeyError: 'first'"
    )


def test_a_program_that_dies_after_half_an_answer_has_failed(tried: Try) -> None:
    text = (
        "import os, sys\nsys.stdout.write('{\"messages\": [')\nsys.stdout.flush()\nos.kill(os.getpid(), 9)\n"
    )
    assert failed(tried(text)) == "the program was ended by signal 9"


def test_a_program_that_hangs_is_ended(tried: Try) -> None:
    error = failed(tried("import time\ntime.sleep(600)", timeout=0.2))
    assert error == "the program gave no answer within 0.2 s"


def test_a_program_that_hangs_is_ended_with_its_children(
    tried: Try, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, now = tmp_path / "started", time.monotonic
    # Its time is over as soon as its child is there; what it prints then wakes refold.
    monkeypatch.setattr("time.monotonic", lambda: now() + 2 * PATIENCE * started.exists())
    text = (
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(started)!r} + '+', 'w').write(str(child.pid))\n"
        f"os.rename({str(started)!r} + '+', {str(started)!r})\n"
        "print('still thinking', file=sys.stderr, flush=True)\n"
        "time.sleep(600)\n"
    )
    assert failed(tried(text)).startswith(f"the program gave no answer within {PATIENCE} s")
    assert_ended(int(started.read_text()))


def test_children_that_a_program_leaves_behind_are_ended(tried: Try, tmp_path: Path) -> None:
    started = tmp_path / "started"
    text = GOOD + (
        "import subprocess\n"
        "child = subprocess.Popen(['sleep', '600'], stdin=-3, stdout=-3, stderr=-3)\n"
        f"open({str(started)!r}, 'w').write(str(child.pid))\n"
    )
    assert tried(text).trials[0].error is None
    assert_ended(int(started.read_text()))


@pytest.mark.slow
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_endless_output_is_stopped(tried: Try, stream: str) -> None:
    text = f"import sys\nwhile True: sys.{stream}.write('x' * 1_000_000)\n"
    assert failed(tried(text)).startswith("the program printed more than 64 MiB")


def test_many_errors_are_no_failure(tried: Try) -> None:
    text = "import sys\nfor _ in range(20): sys.stderr.write('x' * 1_000_000)\n" + GOOD
    assert tried(text).trials[0].error is None


def test_a_program_may_answer_without_reading(tried: Try) -> None:
    text = """print('{"messages": [{"message": {"role": "user", "content": "All is well."}}]}')"""
    assert tried(text).trials[0].error is None


def test_a_missing_program_is_the_variants_failure(story: Story) -> None:
    program = Program(command="/nowhere/compactor --fast")
    variants = [Variant(name="theirs", policy=None, chain=CHAIN, program=program)]
    with story.log.snapshot() as snapshot:
        found = next(
            replay_session(snapshot, story.session, variants, Measures(limits=Limits(window=100_000)))
        )
    assert failed(found) == "the program cannot be started: No such file or directory"


@pytest.mark.parametrize("command", ["", "  ", "'unclosed"])
def test_a_command_line_without_a_program_is_refused(command: str) -> None:
    with pytest.raises(BadInputError):
        words_of(command)


@pytest.mark.slow
def test_a_program_is_ended_if_refold_is_terminated(tmp_path: Path) -> None:
    started = tmp_path / "started"
    # Once it has read something, refold waits for its answer.
    hang = (
        "import os, sys, time; sys.stdin.read(1);"
        f"open({str(started)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    )
    code = (
        "from compaction.processes import run_program\n"
        f"run_program({[sys.executable, '-c', hang]!r}, b'x' * 1_000_000, timeout=60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code])
    try:
        assert comes(lambda: started.exists() and bool(started.read_text()))
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 128 + signal.SIGTERM
    finally:
        process.kill()
        process.wait()
    assert_ended(int(started.read_text()))


def assert_ended(pid: int) -> None:
    """Wait until a process is gone, or is dead and waits for its parent."""
    if not comes(lambda: not is_running(pid)):
        os.kill(pid, signal.SIGKILL)
        raise AssertionError(f"process {pid} still runs")
