"""The README's excerpt of a real session's audit."""

from __future__ import annotations

from pathlib import Path

from tests.cli.running import Refold

README = Path(__file__).parents[2] / "README.md"


def test_the_excerpt_is_what_the_audit_prints(corpus: Path, tmp_path: Path) -> None:
    _, _, rest = README.read_text("utf-8").partition("```text\n")
    excerpt = rest.partition("```")[0].splitlines()
    (session,) = (corpus / "claude-code").glob("cli-79e9becd-*.jsonl")
    printed = Refold(tmp_path / "store")("audit", session).lines
    assert 5 <= len(excerpt) <= 10
    begins = printed.index(excerpt[0])
    assert printed[begins : begins + len(excerpt)] == excerpt
