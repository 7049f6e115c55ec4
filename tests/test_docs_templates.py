"""docs/improve-your-template.md can be followed, and its templates are templates."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from compaction.prompts import Prompt
from compaction.summarizers.chain import never
from compaction.summarizers.extractive import ExtractiveSummarizer
from compaction.templates import missing_sections, parse_template, template_warnings
from tests.cli.running import PROJECT
from tests.test_docs import run_in

PAGE: Final = (PROJECT / "docs" / "improve-your-template.md").read_text("utf-8")
TEMPLATES: Final = sorted((PROJECT / "docs" / "templates").glob("*.md"))


@pytest.mark.parametrize("file", TEMPLATES, ids=lambda file: file.stem)
def test_a_template_of_the_documentation_has_no_faults_and_is_linked(file: Path) -> None:
    template = parse_template(file.read_text("utf-8"), source=str(file))
    assert (template.name, template_warnings(template)) == (file.stem, [])
    assert f"[{file.stem}](templates/{file.name})" in PAGE


@pytest.mark.parametrize("file", TEMPLATES, ids=lambda file: file.stem)
def test_a_template_of_the_documentation_can_be_filled_without_a_model(file: Path) -> None:
    template = parse_template(file.read_text("utf-8"), source=str(file))
    prompt = Prompt(template=template, system="", text="", max_tokens=1_000, parts=())
    answer = ExtractiveSummarizer().summarize(prompt, is_cancelled=never)
    assert missing_sections(answer.text, template.sections) == []


@pytest.mark.slow
def test_the_page_can_be_followed(tmp_path: Path) -> None:
    lines = [line.strip() for line in PAGE.splitlines() if line.startswith("    ")]
    commands = [line.replace("$PWD", str(PROJECT)) for line in lines if "claude-" not in line]
    exports = [line for line in commands if line.startswith("export")]
    begun = next(place for place, line in enumerate(commands) if " new " in line) + 1
    first = run_in(tmp_path, *commands[:begun])
    assert (first.returncode, first.stderr) == (0, "")
    new = tmp_path / "settings" / "templates" / "rules-first.md"
    assert 'name = "rules-first"' in new.read_text("utf-8")
    new.write_text((PROJECT / "docs" / "templates" / "rules-first.md").read_text("utf-8"), "utf-8")
    done = run_in(tmp_path, *exports, *commands[begun:])
    problems = [line for line in done.stderr.splitlines() if "refold: note:" not in line]
    assert (done.returncode, problems) == (0, [])
    assert re.search(r"template rules-first", done.stdout)
    assert re.search(r"^page.html  [\d,]+ bytes$", done.stdout, re.MULTILINE)
