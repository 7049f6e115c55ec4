"""The commands of docs/deploy.md are run in their order, on two servers of this machine in place of two hosts."""

from __future__ import annotations

import os
import random
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.patience import PATIENCE, comes
from tests.support.postgres import missing, new_folder, programs

PAGE = Path(__file__).parents[2] / "docs/deploy.md"
BLOCK = re.compile(r"```bash\n# on (.+?)\n(.*?)```", re.DOTALL)
SAID = '{"type": "message", "message": {"role": "user", "content": "Hello"}}'

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing()), reason=missing()),
    pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed"),
]


def is_free(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


class Hosts:
    """Folders that stand for hosts. Servers run as a user who is not root; each has a port of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.programs = folder, str(programs())
        self.ports = {}
        # The system gives higher ports to connections of others while a server is down.
        candidates = iter(random.sample(range(20_000, 32_000), 1_000))
        for host in ("db1.example", "db2.example"):
            self.ports[host] = str(next(filter(is_free, candidates)))
        for host in (*self.ports, "an agent's host"):
            (folder / host / ".postgresql").mkdir(parents=True)
            (password := folder / host / ".pgpass").write_text("*:*:*:*:secret\n")
            password.chmod(0o600)
            self.give_away(host)

    def give_away(self, host: str) -> None:
        if os.geteuid() == 0 and host in self.ports:
            for path in (self.folder / host, *(self.folder / host).rglob("*")):
                shutil.chown(path, "nobody", "nogroup")

    def run(self, host: str, script: str) -> str:
        """Run a script of the page on a host, and return what it prints."""
        one, two = self.ports["db1.example"], self.ports["db2.example"]
        for page, here in {
            "/usr/lib/postgresql/15/bin": self.programs,
            "10.0.0.0/24": "127.0.0.1/32",
            "?": f"?connect_timeout={PATIENCE}&",
            "createuser ": r"printf 'secret\nsecret\n' | createuser ",
            "DNS:$host": "DNS:localhost",
            "listen_addresses = '*'": "listen_addresses = 'localhost'\nunix_socket_directories = '..'",
            "@db1.example,db2.example/": f"@localhost:{one},localhost:{two}/",
            "@db1.example/": f"@localhost:{one}/",
            "@db2.example/": f"@localhost:{two}/",
            "host=db1.example": f"host=localhost port={one}",
            "host=db2.example": f"host=localhost port={two}",
        }.items():
            script = script.replace(page, here)
        home = self.folder / host
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        environment = {"HOME": str(home), "PATH": path, "PYTHONPATH": str(PAGE.parents[1])}
        user: dict[str, Any] = {}
        if host in self.ports:
            data = str(home / "refold")
            path = os.pathsep.join([os.environ["PATH"], self.programs])
            # Sockets in the data folder would be copied with it, and their locks with them.
            environment |= {"PATH": path, "PGDATA": data, "PGHOST": str(home), "PGPORT": self.ports[host]}
            environment["PGCTLTIMEOUT"] = str(PATIENCE)
            if os.geteuid() == 0:
                user = {"user": "nobody", "group": "nogroup", "extra_groups": []}
        found = subprocess.run(
            ["bash", "-euc", script],
            cwd=home,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            # Without a terminal, a password is read from the input.
            start_new_session=True,
            check=False,
            **user,
        )
        logs = "\n".join(each.read_text() for each in home.glob("*.log"))
        assert found.returncode == 0, f"{script}\n{found.stdout}\n{logs}"
        return found.stdout

    def copy(self, name: str, host: str, to: str) -> None:
        """Copy a certificate or key from where it was made."""
        path = self.folder / host / to
        path.parent.mkdir(exist_ok=True)
        shutil.copy2(self.folder / "db1.example/tls" / name, path)
        self.give_away(host)


@pytest.fixture
def hosts() -> Iterator[Hosts]:
    folder = new_folder()
    folder.chmod(0o755)
    found = Hosts(folder)
    yield found
    for host in found.ports:
        found.run(host, f"{found.programs}/pg_ctl stop --mode=immediate || true")
    shutil.rmtree(folder)


def test_its_commands_make_a_store_that_survives_a_failover_and_a_restore(hosts: Hosts) -> None:
    page = PAGE.read_text()
    blocks = BLOCK.findall(page)
    assert [host for host, _ in blocks[:2]] == ["db1.example"] * 2
    hosts.run(*blocks[0])
    for host in (*hosts.ports, "an agent's host"):
        hosts.copy("ca.crt", host, ".postgresql/root.crt")
    hosts.copy("db2.example.crt", "db2.example", "tls/server.crt")
    hosts.copy("db2.example.key", "db2.example", "tls/server.key")
    (hosts.folder / "an agent's host/roles.sql").write_text(page.split("```sql\n")[1].split("```")[0])
    for host, script in blocks[1:-1]:
        if "sync_state" in script:
            # The server applies its settings a moment after it was told to read them.
            assert comes(lambda: re.search(r"db2 +\| sync", hosts.run(host, script)) is not None)  # noqa: B023
        else:
            hosts.run(host, script)
        if "REFOLD_STORE=" in script:
            hosts.run(host, f"{script}\nrefold append talk <<<'{SAID}'")
    assert hosts.run(*blocks[-1]) == "1 event of 1 session: sound\n"
