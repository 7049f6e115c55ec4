"""Ask real programs for a summary: their input, their environment, their end, and their failures."""

from __future__ import annotations

import os
import shlex
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from compaction.summarizers import CancelledError, SummarizerError
from compaction.summarizers.command import CommandSummarizer
from compaction.summarizers.registry import SummarizerContext, make_summarizer
from eventstore.errors import BadInputError
from eventstore.memory import MemoryLog
from tests.compaction.summarizers.prompts import prompt
from tests.support.patience import comes
from tests.support.postgres import is_running

PATH = {"PATH": os.environ["PATH"]}


def asking(
    code: str, *, environment: dict[str, str] = PATH, keeps: str = "", timeout: float = 60
) -> CommandSummarizer:
    command = shlex.join([sys.executable, "-c", code])
    return CommandSummarizer(command, environment=environment, keeps=keeps, timeout=timeout)


def answer(summarizer: CommandSummarizer) -> str:
    return summarizer.summarize(prompt(), is_cancelled=lambda: False).text


def test_the_prompt_comes_on_standard_input() -> None:
    asked, said = prompt(), answer(asking("import sys; print(sys.stdin.read())"))
    assert said == f"{asked.system}\n\n{asked.text}"


def test_a_program_gets_no_secrets() -> None:
    given = PATH | {"MY_API_KEY": "k", "PGPASSFILE": "f", "HTTPS_PROXY": "u:p@h", "LLM_KEY": "l", "LANG": "C"}
    code = f"import os; print(*sorted(set(os.environ) & {{*{[*given]}, 'REFOLD_ASKS'}} - {{'PATH'}}))"
    assert answer(asking(code, environment=given, keeps="LLM_KEY")) == "LANG LLM_KEY REFOLD_ASKS"


def test_an_answer_waits_for_no_other_process() -> None:
    code = "import subprocess; subprocess.Popen(['sleep', '60']); print('done')"
    assert answer(asking(code, timeout=30)) == "done"


LEAVES_ITS_GROUP = """
import pathlib, subprocess, sys, time
child = "import os, time; os.fork(); os.setsid(); open({started!r}, 'a').write(str(os.getpid()) + ' '); time.sleep(600)"
quiet = subprocess.DEVNULL
subprocess.Popen([sys.executable, "-c", child], stdout=quiet, stderr=quiet)
while not pathlib.Path({started!r}).exists() or len(pathlib.Path({started!r}).read_text().split()) < 2:
    time.sleep(0.05)
print("done")
{ending}
"""


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="this system tells no environments")
@pytest.mark.parametrize(
    ("ending", "problem"), [("", ""), ("sys.exit(1)", "code 1"), ("time.sleep(60)", "no answer")]
)
def test_what_left_its_group_ends_too(tmp_path: Path, ending: str, problem: str) -> None:
    started = tmp_path / "started"
    summarizer = asking(LEAVES_ITS_GROUP.format(started=str(started), ending=ending), timeout=5)
    with pytest.raises(SummarizerError, match=problem) if problem else nullcontext():
        answer(summarizer)
    pids = started.read_text().split()
    assert len(pids) == 2
    assert comes(lambda: not any(is_running(int(each)) for each in pids))


def test_a_program_runs_in_an_empty_folder() -> None:
    folder = answer(asking("import os; print(os.listdir('.'), os.getcwd())"))
    empty, _, place = folder.partition(" ")
    assert (empty, Path(place).exists()) == ("[]", False)


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("", "the program printed nothing"),
        ("import sys; sys.stdout.buffer.write(b'\\xff')", "the program printed no UTF-8"),
        ("import sys; sys.exit('no model')", "the program exited with code 1: no model"),
        ("import time; time.sleep(60)", "the program gave no answer within 0.5 s"),
    ],
)
def test_a_failure_says_why(code: str, problem: str) -> None:
    with pytest.raises(SummarizerError, match=problem):
        answer(asking(code, timeout=0.5 if "sleep" in code else 60))


def test_a_cancelled_program_ends(tmp_path: Path) -> None:
    started = tmp_path / "started"
    code = f"import os, time; open({str(started)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    with pytest.raises(CancelledError):
        asking(code).summarize(prompt(), is_cancelled=lambda: started.exists() and bool(started.read_text()))
    assert comes(lambda: not is_running(int(started.read_text())))


def test_no_command_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REFOLD_SUMMARIZER_COMMAND", raising=False)
    with pytest.raises(BadInputError, match="REFOLD_SUMMARIZER_COMMAND"):
        make_summarizer("command", SummarizerContext(log=MemoryLog()))


def test_its_model_tells_no_arguments() -> None:
    one, other = (
        CommandSummarizer(f"/usr/bin/llm --key {key}", environment=PATH) for key in ("sk-1", "sk-2")
    )
    assert one.model.startswith("llm ")
    assert "sk-1" not in one.model
    assert one.model != other.model
