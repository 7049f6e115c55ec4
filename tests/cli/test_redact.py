"""`--redact` on a session of every harness: no output holds a secret."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from base64 import b64encode, urlsafe_b64encode
from pathlib import Path
from random import Random
from string import ascii_letters, digits
from typing import Final

import pytest

from eventstore.redaction import Masks
from eventstore.secrets import all_rules, find_secrets
from tests.cli.running import Refold
from tests.cli.test_every_harness import FILES, MODEL, entry
from tests.support.offline import needs_filter
from tests.support.patience import PATIENCE

TOKEN: Final = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"  # noqa: S105
KEY: Final = "\\n".join(
    (
        "-----BEGIN RSA PRIVATE KEY-----",
        *["MIIEpAIBAAKCAQEA7bq2f3v0n5i8m6k2u3R9QeJ0p1d4"] * 3,
        "-----END RSA PRIVATE KEY-----",
    )
)
"""As it stands in JSON."""


@pytest.fixture(params=FILES)
def refold(refold: Refold, request: pytest.FixtureRequest, tmp_path: Path) -> Refold:
    """The story, with a token in what a person wrote, in a path, and in a result; and a key in the summary."""
    file = FILES[request.param]()
    file = file.replace(b"Fix the parser.", f"Fix the parser with {TOKEN}.".encode())
    file = file.replace(b"src/readme.md", f"src/{TOKEN}.md".encode())
    file = file.replace(b'parser.py"', f'parser.py {TOKEN} # kingfisher:ignore"'.encode())
    file = file.replace(b"The parser is fixed.", f"The parser is fixed. {KEY}".encode())
    assert file.count(TOKEN.encode()) >= 3
    (tmp_path / "story.jsonl").write_bytes(file)
    refold("sync", "story.jsonl")
    return refold


def holds_a_secret(output: bytes) -> bool:
    return TOKEN.encode() in output or b"MIIEpAIBAAKCAQEA" in output


@pytest.mark.slow
@pytest.mark.parametrize("leaf", ["r2", "a4"])
@pytest.mark.parametrize("form", ["text", "json", "native", "anthropic"])
def test_no_context_holds_a_secret(refold: Refold, form: str, leaf: str) -> None:
    options = ["--json"] if form == "json" else ["--format", form]
    options += ["--model", MODEL] if form == "anthropic" else []
    (session,) = refold("sessions", "--json").json["sessions"]
    shown = ["context", "@last", "--leaf", entry(session["harness"], leaf), *options]
    assert holds_a_secret(refold(*shown).raw)
    redacted = refold(*shown, "--redact")
    assert not holds_a_secret(redacted.raw)
    assert b"[masked-" in redacted.raw


def test_masked_files_can_be_imported(refold: Refold) -> None:
    (session,) = refold("sessions", "--json").json["sessions"]
    for form in dict.fromkeys(["original", "pi", "oh-my-pi", session["harness"]]):
        refold("export", session["id"], "--format", form, "-o", f"{form}.jsonl", "--redact", "--yes")
        assert not holds_a_secret(Path(f"{form}.jsonl").read_bytes())
        (again,) = refold("sync", f"{form}.jsonl", "--as", form, "--json").json["sessions"]
        assert (again["skipped"], again["events"] > 0) == ([], True)


def test_a_redacted_original_differs_only_where_secrets_were(refold: Refold) -> None:
    refold("export", "@last", "-o", "out.jsonl", "--redact")
    before, after = Path("story.jsonl").read_bytes(), Path("out.jsonl").read_bytes()
    assert len(before) == len(after)
    unlike = [at for at, (one, other) in enumerate(zip(before, after, strict=True)) if one != other]
    secrets = before.count(TOKEN.encode()) * len(TOKEN) + before.count(KEY.encode()) * len(KEY)
    assert len(unlike) <= secrets


def test_a_report_holds_no_secret(refold: Refold) -> None:
    refold("report", "@last", "-o", "page.html")
    assert holds_a_secret(Path("page.html").read_bytes())
    refold("report", "@last", "-o", "page.html", "--redact")
    assert not holds_a_secret(Path("page.html").read_bytes())


def test_what_is_found_is_shown_without_its_secrets(refold: Refold) -> None:
    assert holds_a_secret(refold("search", "fix", "--json").raw)
    redacted = refold("search", "fix", "--json", "--redact")
    assert redacted.json["hits"]
    assert not holds_a_secret(redacted.raw)


def test_a_secret_cannot_be_searched_for_in_redacted_texts(refold: Refold) -> None:
    assert refold("search", TOKEN, "--json").json["hits"]
    assert refold("search", TOKEN, "--json", "--redact", code=1).json["hits"] == []


def test_masks_are_counted(refold: Refold) -> None:
    counts = refold("export", "@last", "-o", "out.jsonl", "--redact", "--json").json["redaction"]
    story = Path("story.jsonl").read_bytes()
    places = story.count(TOKEN.encode()) + story.count(KEY.encode())
    assert counts == {
        "secrets": 2,
        "masks": places,
        "dropped": 0,
        "rules": {"github": 1, "private-key": 1},
    }


@pytest.mark.parametrize(
    "shown",
    [
        ("context", "@last", "--json"),
        ("context", "@last", "--format", "anthropic", "--model", MODEL, "--json"),
        ("report", "@last", "-o", "page.html", "--json"),
        ("search", "fix", "--json"),
    ],
)
def test_json_has_the_counts_only_with_the_option(refold: Refold, shown: tuple[str, ...]) -> None:
    assert "redaction" not in refold(*shown).json
    assert refold(*shown, "--redact").json["redaction"]["secrets"] == 2


_OFFLINE: Final = """
from tests.support.offline import refuse_sockets
refuse_sockets()
from cli.main import main
main()
"""


@pytest.mark.slow
@needs_filter
def test_masking_opens_no_socket(refold: Refold, tmp_path: Path) -> None:
    arguments = ["export", "@last", "-o", "-", "--redact"]
    done = subprocess.run(
        [sys.executable, "-c", _OFFLINE, *arguments],
        env=refold.environment(),
        cwd=tmp_path,
        capture_output=True,
        check=False,
        timeout=PATIENCE,
    )
    assert (done.returncode, holds_a_secret(done.stdout), b"[masked-" in done.stdout) == (0, False, True)


@pytest.mark.slow
@needs_filter
def test_a_socket_would_end_the_process() -> None:
    opens_one = (
        "from tests.support.offline import refuse_sockets; refuse_sockets(); import socket; socket.socket()"
    )
    assert subprocess.run([sys.executable, "-c", opens_one], check=False).returncode == -signal.SIGSYS


def test_without_the_extra_own_rules_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kingfisher_sdk", None)
    assert all_rules.__wrapped__() is find_secrets


def test_the_extra_finds_tokens_in_base64() -> None:
    pytest.importorskip("kingfisher_sdk", reason="needs refold[redact]")
    secret = b64encode(f"token = {TOKEN}".encode())
    masks = Masks(all_rules())
    masks.learn(record := json.dumps({"text": secret.decode()}).encode())
    assert secret not in masks.apply(record)


SECRET_KEY: Final = "0JxXujr4qqaaZ8fT2mVw9LkQ3sYb7RdN5cHg1PeK"  # noqa: S105


@pytest.mark.parametrize(
    "text",
    [
        f"export AWS_ACCESS_KEY_ID=AKIAQWB5PDKHXYZ2ABCD\nexport AWS_SECRET_ACCESS_KEY={SECRET_KEY}",
        f"AWS_SECRET_ACCESS_KEY={SECRET_KEY}",
        f"aws_secret_access_key = {SECRET_KEY}",
        json.dumps({"SecretAccessKey": SECRET_KEY, "a": 1}),
        f"AWS_SECRET_ACCESS_KEY={SECRET_KEY} # kingfisher:ignore gitleaks:allow",
    ],
)
def test_a_secret_that_rules_report_only_with_another_is_masked(text: str) -> None:
    record = json.dumps({"content": [{"text": text}]}).encode()
    masks = Masks(all_rules())
    masks.learn(record)
    assert SECRET_KEY.encode() not in masks.apply(record)


def token(prefix: str, *parts: int) -> str:
    """A made-up token: a prefix, then runs of so many letters and digits, with dots between them."""
    random = Random(prefix)
    return prefix + ".".join("".join(random.choices(ascii_letters + digits, k=count)) for count in parts)


def web_token() -> str:
    head, body = (
        urlsafe_b64encode(json.dumps(each).encode()) for each in ({"alg": "HS256"}, {"sub": "12345"})
    )
    return f"{head.decode().rstrip('=')}.{body.decode().rstrip('=')}.{token('', 43)}"


@pytest.mark.parametrize(
    "secret",
    [token("AIza", 35), token("sk_live_", 24), token("npm_", 36), token("SG.", 22, 43), web_token()],
    ids=["google", "stripe", "npm", "sendgrid", "web token"],
)
@pytest.mark.parametrize(
    "text",
    [
        "it is {}.",
        "it is {}, as before",
        "({})",
        "it is {}…",
        "**{}**",
        "<key>{}</key>",
        "https://example.com/?key={}&alt=json",
        "/srv/{}/config.toml",
        "/srv/{}.toml",
        json.dumps({"output": "first\n{}\nlast"}),
    ],
)
def test_a_token_is_masked_whatever_stands_beside_it(text: str, secret: str) -> None:
    record = json.dumps({"content": [{"text": text.replace("{}", secret)}]}).encode()
    masks = Masks(all_rules())
    masks.learn(record)
    assert secret.encode() not in masks.apply(record)
    assert masks.count().secrets == 1
