"""A PostgreSQL server of the tests' own, on a socket in a temporary folder."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.support.patience import PATIENCE

try:
    import psycopg
except ImportError:
    psycopg = None  # type: ignore[assignment]

_SCHEMAS = count(1)


def programs() -> Path | None:
    """Return the folder of the server's programs, None if they are not installed."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: -float(folder.parent.name)
    )
    return next((folder for folder in folders if (folder / "initdb").exists()), None)


def missing() -> str:
    """Return what a server or its clients lack here, empty if nothing."""
    if psycopg is None:
        return "psycopg is not installed: pip install 'refold[postgres]'"
    return "" if programs() else "no PostgreSQL server is installed (Debian's package: postgresql)"


class Server:
    """A server with its data in a folder. `settings` are those of `postgresql.conf`."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder = folder
        self.data = folder / "data"
        self._settings = {"fsync": "off", "autovacuum": "off", **settings}
        self._process: subprocess.Popen[bytes] | None = None

    def make(self) -> None:
        """Make the data of a new server, as one who is not root: the server refuses root."""
        self._give_away()
        self.run(
            "initdb", "-D", self.data, "-U", "refold", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C"
        )

    def follow(self, primary: Server) -> None:
        """Replace the data by a copy of another server's, and become its standby."""
        self._give_away()
        shutil.rmtree(self.data, ignore_errors=True)
        self.run("pg_basebackup", "-D", self.data, "-R", "-X", "stream", "-c", "fast", "-d", primary.url())

    def promote(self) -> None:
        """Make a standby the primary."""
        self.run("pg_ctl", "promote", "-w", "-t", str(PATIENCE), "-D", self.data)

    def _give_away(self) -> None:
        if os.geteuid() == 0:
            shutil.chown(self.folder, "nobody", "nogroup")

    def run(self, program: str, *arguments: str | Path) -> None:
        """Run one of the server's programs to its end."""
        subprocess.run(
            [self._path(program), *arguments], check=True, stdout=subprocess.DEVNULL, **self._as_user()
        )

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(self.folder),
            "max_connections": "200",
            **self._settings,
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._path("postgres"), "-D", self.data, *options], stdout=log, stderr=log, **self._as_user()
            )
        until = time.monotonic() + PATIENCE
        while True:
            try:
                psycopg.connect(self.url()).close()
            except psycopg.OperationalError:
                if time.monotonic() > until or self._process.poll() is not None:
                    raise
                time.sleep(0.01)
            else:
                return

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End the server: at once without a word to clients (SIGQUIT), or as soon as it has tidied up."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(PATIENCE)
            self._process = None

    def kill(self) -> None:
        """Kill the server and all its processes, as a loss of power would."""
        assert self._process is not None
        parent = self._process.pid
        os.kill(parent, signal.SIGSTOP)
        killed = [parent, *_children(parent)]
        for pid in killed:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait(PATIENCE)
        self._process = None
        # The data cannot be opened again while a process still holds its shared memory.
        while any(map(is_running, killed)):
            time.sleep(0.01)

    def url(self, schema: str = "public", *, user: str = "refold") -> str:
        """The address of the store in a schema."""
        options = quote(f"-csearch_path={schema}", safe="")
        place = f"host={quote(str(self.folder), safe='')}&connect_timeout={PATIENCE}"
        return f"postgresql://{user}@/postgres?{place}&options={options}"

    def new_store(self) -> str:
        """The address of a store that is not there yet, in a schema of its own."""
        schema = f"store_{next(_SCHEMAS)}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {schema}")
        return self.url(schema)

    def _path(self, program: str) -> str:
        folder = programs()
        assert folder is not None
        return str(folder / program)

    def _as_user(self) -> dict[str, Any]:
        as_nobody = {"user": "nobody", "group": "nogroup", "extra_groups": []}
        return {"cwd": self.folder, **(as_nobody if os.geteuid() == 0 else {})}


def _children(parent: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            pid, _, rest = path.read_text().partition(" ")
            if int(rest.rpartition(")")[2].split()[1]) == parent:
                found.append(int(pid))
    return found


def new_server(parent: Path | None = None, **settings: str) -> Server:
    """A running server in a temporary folder, which `remove` ends. Skips the test if it cannot be had."""
    if reason := missing():
        pytest.skip(reason)
    server = Server(new_folder(parent), **settings)
    try:
        server.make()
        server.start()
    except BaseException:
        remove(server)
        raise
    return server


def new_folder(parent: Path | None = None) -> Path:
    """Return a new folder for servers; without `parent`, one whose path is short enough for sockets.

    `TMPDIR` may be a folder that only root may enter, and the server does not run as root.
    """
    return Path(tempfile.mkdtemp(prefix="refold-pg-", dir=parent or "/tmp"))  # noqa: S108


def remove(server: Server) -> None:
    """End a server and remove its folder."""
    # Its data goes with it, so it need not write them.
    server.stop(signal.SIGQUIT)
    shutil.rmtree(server.folder)


def is_running(pid: int) -> bool:
    """Return False for a process that has ended, even if nobody has waited for it."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"
