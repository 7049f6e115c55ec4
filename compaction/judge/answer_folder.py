"""Take answers from a folder, and write down the prompts that have none."""

from __future__ import annotations

from pathlib import Path

from compaction.prompts import Prompt
from compaction.summarizers import Answer, Cancellation, SummarizerError
from compaction.summarizers.http import text_of_prompt
from eventstore.lmdb.data_files import PRIVATE_FILE, PRIVATE_FOLDER


class AnswerFolder:
    """Answer prompts from files, and write those without an answer to a folder.

    `answers` and `prompts` are folders, None for none; a file is named by its prompt's template and digest.
    """

    name = "answers"

    def __init__(self, *, answers: Path | None, prompts: Path | None) -> None:
        self._answers, self._prompts = answers, prompts
        self.written: list[Path] = []

    def summarize(self, prompt: Prompt, *, is_cancelled: Cancellation) -> Answer:
        """Return the answer in the folder. Raises SummarizerError if there is none."""
        del is_cancelled
        name = f"{prompt.template.name}-{prompt.digest[:16]}.txt"
        if self._answers is not None and (file := self._answers / name).is_file():
            return Answer(text=file.read_text("utf-8", errors="replace"), model="")
        if self._prompts is not None:
            self._prompts.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
            written = self._prompts / name
            written.touch(PRIVATE_FILE)
            written.write_text(f"{prompt.system}\n\n{text_of_prompt(prompt)}\n", "utf-8", "replace")
            self.written.append(written)
        raise SummarizerError(self.name, f"there is no answer {name} yet", is_sent=False)
