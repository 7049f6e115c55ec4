"""Install a program, run it, compare what it sent with refold's contexts, and write docs/checks.md.

    python -m tests.wire HARNESS [--version VERSION]
    python -m tests.wire all

HARNESS is one of claude-code, pi, oh-my-pi, codex, opencode. Without a version, all releases of `install.RELEASES` run.
It needs npm, a network to install from, and Linux with namespaces (`unshare`). `REFOLD_WIRE_CACHE` names a folder that
keeps what was installed. Each run replaces its fixture in tests/wire/recorded/.

    python -m tests.wire all --recorded

compares the fixtures again and writes docs/checks.md, without a program or a network: for changes of refold itself.

    python -m tests.wire all --quick

runs one scenario of the newest release of each program and writes nothing. It fails if more requests differ than in the
fixture; a program that cannot be installed or run here is named, and left out.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from tests.wire.compare import compare
from tests.wire.install import CACHE, RELEASES, InstallError, cache_folder, install
from tests.wire.recording import fixture, record, unpacked
from tests.wire.run import can_run
from tests.wire.table import Row, rows, write


def main() -> int:
    """Run what the command line asks for; return 1 if something failed."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.wire", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("harness", choices=[*RELEASES, "all"])
    parser.add_argument("--version", help="a release; by default those of docs/checks.md")
    parser.add_argument("--quick", action="store_true", help="one scenario each; write nothing")
    parser.add_argument("--recorded", action="store_true", help="compare the fixtures again; run nothing")
    options = parser.parse_args()
    if options.recorded:
        for harness, version in _releases(options.harness, options.version, is_quick=False):
            with unpacked(fixture(harness, version)) as run:
                counts = compare(run)
            write(Row.of(harness, version, rows()[harness, version].date, counts))
        return 0
    if not can_run():
        sys.stdout.write("nothing was run: it needs npm, and Linux with namespaces (unshare)\n")
        return int(not options.quick)
    failed, cache = False, cache_folder()
    for harness, version in _releases(options.harness, options.version, is_quick=options.quick):
        try:
            install(harness, version, cache)
        except InstallError as error:
            sys.stdout.write(f"{harness} {version} was not installed: {error}\n")
            failed |= not options.quick
            continue
        sys.stdout.write(f"{harness} {version}\n")
        sys.stdout.flush()
        with tempfile.TemporaryDirectory(prefix="refold-wire-") as folder:
            failed |= not _run(harness, version, Path(folder), cache, is_quick=options.quick)
    return int(failed)


def _releases(harness: str, version: str | None, *, is_quick: bool) -> Iterator[tuple[str, str]]:
    for name in RELEASES if harness == "all" else (harness,):
        named = RELEASES[name][-1:] if is_quick else RELEASES[name]
        yield from ((name, each) for each in ((version,) if version else named))


def _run(harness: str, version: str, folder: Path, cache: Path, *, is_quick: bool) -> bool:
    """Run a program, and compare; return True if all went well."""
    command = [sys.executable, "-m", "tests.wire.run", harness, version, str(folder)]
    quick = ["--quick"] if is_quick else []
    ran = subprocess.run([*command, *quick], env={**os.environ, CACHE: str(cache)}, check=False)
    counts, kept = compare(folder), fixture(harness, version)
    row = Row.of(harness, version, f"{datetime.now(UTC):%Y-%m-%d}", counts)
    sys.stdout.write(f"{row}\n")
    sys.stdout.flush()
    if ran.returncode or not counts.requests:
        return False
    if is_quick:
        (scenario,) = (path.name for path in folder.iterdir())
        with unpacked(kept) as before:
            return counts.different <= compare(before, scenario).different
    record(folder, kept)
    with unpacked(kept) as again:
        if compare(again) != counts:
            sys.stdout.write("the fixture differs from the run\n")
            return False
    write(row)
    return True


if __name__ == "__main__":
    sys.exit(main())
