"""Export sessions as files of another program, resume them there, and compare its next request with refold's context.

    python -m tests.wire.export [--corpus] [HARNESS ...]

The sessions are those of the fixtures: one of each program, one with its own compaction, and one that refold compacted,
forked, or moved to an earlier entry. With `--corpus` they are the published ones of other programs, up to 1 MB each.
Without names, all programs resume them. It needs what `python -m tests.wire` needs.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from tests.cli.running import Refold
from tests.wire.contexts import database_of
from tests.wire.corpus import corpus_folder
from tests.wire.install import RELEASES, InstallError, cache_folder
from tests.wire.recording import fixture, unpacked
from tests.wire.resume import Resumed, resume
from tests.wire.run import can_run

COMPACTED: Final = "manual-compaction"
CHANGED: Final = ("compacted", "forked", "moved")
"""Names of what refold makes of the session of each program."""
LARGEST: Final = 1_000_000
"""Bytes of the largest published file to export."""


def sessions_in(refold: Refold, folder: Path, changed: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Import the fixtures; yield the harness and the name of each session, and of those `changed` by refold."""
    for harness in RELEASES:
        with unpacked(fixture(harness, RELEASES[harness][-1])) as run:
            for scenario in ("tools", COMPACTED):
                name = f"{harness}-{scenario}"
                (file,) = list((run / scenario / "sessions").rglob("*.jsonl"))[:1] or (None,)
                if file is None:
                    continue
                kept = folder / name
                kept.mkdir()
                path = database_of(file, kept) if file.stem == "opencode" else file.rename(kept / file.name)
                refold("sync", path, "--as", name)
                yield harness, name
    for harness in changed:
        refold("fork", f"{harness}-tools", "--as", f"{harness}-compacted")
        refold("compact", f"{harness}-compacted", "--summarizer", "extractive", "--keep-recent", "500")
        answers = [
            each["id"]
            for each in refold("log", f"{harness}-tools", "--json").json_lines
            if each["role"] == "assistant"
        ]
        refold("fork", f"{harness}-tools", "--leaf", answers[-1], "--as", f"{harness}-forked")
        refold("fork", f"{harness}-tools", "--as", f"{harness}-moved")
        refold("go", f"{harness}-moved", answers[-2])
        yield from ((harness, f"{harness}-{change}") for change in CHANGED)


def published(refold: Refold) -> Iterator[tuple[str, str]]:
    """Import the corpus; yield the harness and the name of each session."""
    for harness in RELEASES:
        for path in sorted((corpus_folder() / harness).glob("*.json*")):
            if path.stat().st_size <= LARGEST:
                name = f"{harness}-{path.stem}"
                refold("sync", path, "--as", name)
                yield harness, name


def export(form: str, version: str, cache: Path, *, of_corpus: bool = False) -> list[Resumed]:
    """Export the sessions as files of a program, and resume these. Raises `InstallError`."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        refold, files = Refold(folder / "store"), list[Path]()
        changed = sorted({"pi", "claude-code", form})
        for harness, name in published(refold) if of_corpus else sessions_in(refold, folder, changed):
            if harness != form or name.endswith(CHANGED):
                files.append(folder / f"{name}{'.json' if form == 'opencode' else '.jsonl'}")
                refold("export", name, "--format", form, "--yes", "-o", files[-1])
        return resume(form, version, files, cache)


def main(named: Sequence[str]) -> int:
    """Export for the programs named; return 1 if a request differs."""
    if not can_run():
        sys.stdout.write("nothing was exported: it needs npm, and Linux with namespaces (unshare)\n")
        return 1
    failed = False
    of_corpus = "--corpus" in named
    for form in [each for each in named if each != "--corpus"] or RELEASES:
        version = RELEASES[form][-1]
        try:
            found = export(form, version, cache_folder(), of_corpus=of_corpus)
        except InstallError as error:
            sys.stdout.write(f"{form} {version} was not installed: {error}\n")
            failed = True
            continue
        for each in found:
            sys.stdout.write(f"{each.path.stem}: {', '.join(sorted(each.differences)) or 'equal'}\n")
        equal = sum(not each.differences for each in found)
        sys.stdout.write(f"{form} {version}: {len(found)} resumed, {equal} equal\n")
        sys.stdout.flush()
        failed |= equal < len(found)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
