"""Summarize with any program: it reads the prompt and prints the answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from compaction import MARK
from compaction.processes import ProgramError, end_marked, run_program, words_of
from compaction.prompts import Prompt
from compaction.summarizers import Answer, Cancellation, CancelledError, SummarizerError
from compaction.summarizers.http import text_of_prompt
from projections.asked import FOLDER

_TIMEOUT: Final = 600.0
_GIVEN: Final = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|TERM|TMPDIR|TZ|LANG|LC_\w+|XDG_\w+|SSL_CERT_\w+|OLLAMA_HOST"
)
"""Variables that a program gets; others only if it is said to need them."""


class CommandSummarizer:
    """Run a command line for each prompt, such as `ollama run qwen3` or `llm -m NAME`.

    The system prompt comes first on standard input, then a blank line and the prompt. It runs in an empty folder, with
    few variables of the environment, and those that `keeps` names. `timeout` is in seconds.
    """

    name = "command"

    def __init__(
        self, command: str, *, environment: Mapping[str, str], keeps: str = "", timeout: float = _TIMEOUT
    ) -> None:
        kept = set(keeps.replace(",", " ").split())
        self._words, self._timeout = words_of(command), timeout
        self._environment = {
            name: value for name, value in environment.items() if name in kept or _GIVEN.fullmatch(name)
        }

    @property
    def model(self) -> str:
        """The program's name, and a digest of its command line, which may hold a key."""
        return f"{Path(self._words[0]).name} {sha256(repr(self._words).encode()).hexdigest()[:8]}"

    def summarize(self, prompt: Prompt, *, is_cancelled: Cancellation) -> Answer:
        """Return what the program prints. Raises SummarizerError, CancelledError."""

        def check() -> None:
            if is_cancelled():
                raise CancelledError

        given = f"{prompt.system}\n\n{text_of_prompt(prompt)}\n".encode("utf-8", "replace")
        with TemporaryDirectory(prefix=FOLDER) as folder:
            mark = Path(folder).name
            try:
                printed = run_program(
                    self._words,
                    given,
                    timeout=self._timeout,
                    environment=self._environment | {MARK: mark},
                    folder=folder,
                    check=check,
                )
                text = printed.decode().strip()
            except ProgramError as error:
                raise SummarizerError(self.name, str(error)) from None
            except UnicodeDecodeError:
                raise SummarizerError(self.name, "the program printed no UTF-8") from None
            finally:
                end_marked(MARK, mark)
        if not text:
            raise SummarizerError(self.name, "the program printed nothing")
        return Answer(text=text, model=self.model)
