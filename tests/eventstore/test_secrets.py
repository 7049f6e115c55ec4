"""Secrets that rules find, each in one line and wrapped over lines, and texts that are none."""

from __future__ import annotations

import json
import random
import re
import string
import textwrap
import time
from collections.abc import Callable, Iterator
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventstore.redaction import Masks
from eventstore.secrets import find_secrets

LETTERS: Final = string.ascii_letters + string.digits
HEX: Final = "0123456789abcdef"
UPPER: Final = string.ascii_uppercase + string.digits


def some(count: int, alphabet: str = LETTERS) -> str:
    """Return characters that look random and are always the same."""
    return "".join(random.Random(f"{count}{alphabet}").choices(alphabet, k=count))


def masked(text: str) -> str:
    masks = Masks(find_secrets)
    masks.learn(text.encode())
    return masks.apply(text.encode(), is_json=False).decode()


# Written in parts, so that no scanner takes them for real ones.
TOKENS: Final = {
    "anthropic-oauth": f"sk-ant-oat01-{some(40)}-{some(50)}_{some(5)}AA",
    "anthropic-api": f"sk-ant-api03-{some(93)}AA",
    "anthropic-admin": f"sk-ant-admin01-{some(90)}AA",
    "openai": f"sk-{some(20)}T3BlbkFJ{some(20)}",
    "openai-project": f"sk-proj-{some(60)}_{some(60)}-{some(20)}",
    "openrouter": f"sk-or-v1-{some(64, HEX)}",
    "google-client": f"GOCSPX-{some(12)}-{some(15)}",
    "google-access": f"ya29.{'a0'}{some(80)}_{some(60)}-{some(20)}",
    "google-api": f"AIza{'Sy'}{some(33)}",
    "google-refresh": f"1//0{some(20)}-{some(60)}",
    "github": f"ghp_{some(36)}",
    "github-app": f"ghs_{some(36)}",
    "github-fine": f"github_pat_{some(22)}_{some(59)}",
    "gitlab": f"glpat-{some(20)}",
    "slack-bot": f"xoxb-{some(12, string.digits)}-{some(13, string.digits)}-{some(24)}",
    "slack-app": f"xapp-1-{some(11, UPPER)}-{some(13, string.digits)}-{some(64, HEX)}",
    "slack-webhook": f"hooks.slack.com/services/T{some(8, UPPER)}/B{some(10, UPPER)}/{some(24)}",
    "discord-bot": f"MTE{some(23)}.G{some(5)}.{some(38)}",
    "discord-webhook": f"discord.com/api/webhooks/{some(18, string.digits)}/{some(68)}",
    "datadog": f"ddapp_{some(34)}",
    "aws-id": f"AKIA{some(16, UPPER)}",
    "aws-session-id": f"ASIA{some(16, UPPER)}",
    "stripe": f"sk_live_{some(24)}",
    "jwt": f"eyJhbGciOiJIUzI1NiJ9.eyJ{some(60)}.{some(43)}",
    "npm": f"npm_{some(36)}",
    "pypi": f"pypi-{some(150)}",
    "huggingface": f"hf_{some(34)}",
    "sendgrid": f"SG.{some(22)}.{some(43)}",
    "telegram": f"{some(10, string.digits)}:AA{some(33)}",
    "digitalocean": f"dop_v1_{some(64, HEX)}",
    "shopify": f"shpat_{some(32, HEX)}",
    "databricks": f"dapi{some(32, HEX)}",
    "vault": f"hvs.{some(90)}",
    "age": f"AGE-SECRET-KEY-1{some(58, UPPER)}",
    "groq": f"gsk_{some(52)}",
    "linear": f"lin_api_{some(40)}",
    "tailscale": f"tskey-auth-{some(12)}-{some(32)}",
}
"""Tokens that their form alone reveals."""
VALUES: Final = {
    "datadog-key": ("DD_API_KEY=", some(32, HEX), ""),
    "datadog-app-key": ("DATADOG_APP_KEY: ", some(40, HEX), ""),
    "hex": ("ENCRYPTION_KEY=", some(64, HEX), ""),
    "hex-in-json": ('{"signing_key": "', some(64, HEX), '"}'),
    "hex-behind-a-plain-name": ("key: ", some(64, HEX), ""),
    "setting": ("export MY_SERVICE_TOKEN=", some(30), ""),
    "quoted-setting": ('STRIPE_SECRET="', some(30), '"'),
    "password-setting": ("DB_PASSWORD=", "correct-horse-battery-staple", ""),
    "spaced-setting": ("github_token = '", some(40), "'"),
    "yaml": ("client_secret: ", some(40), ""),
    "json": ('{"accessToken": "', some(40), '", "other": 1}'),
    "json-in-json": ('{"body": "{\\"api_key\\": \\"', some(40), '\\", \\"n\\": 1}"}'),
    "json-in-json-in-json": (
        '"{\\"a\\": \\"{\\\\\\"refresh_token\\\\\\": \\\\\\"',
        some(40),
        '\\\\\\"}\\"}"',
    ),
    "aws-secret": ("aws_secret_access_key = ", some(39, LETTERS + "/+") + "7", ""),
    "flag": ("curl --token ", some(30), " https://host"),
    "query": ("https://host/path?access_token=", some(40), "&x=1"),
    "bearer": ("Authorization: Bearer ", some(40), ""),
    "basic": ("authorization: Basic ", some(40) + "==", ""),
    "header": ("x-api-key: ", some(40), ""),
    "url": ("postgres://app:", some(20), "@db.host/app"),
    "url-token": ("https://", some(40), "@host/repo.git"),
    "xml": ("<password>", some(20), "</password>"),
    "call": ('setenv("SOME_API_KEY", "', some(30), '")'),
    "typed": ('api_key: str = "', some(30), '"'),
    "signature": ("https://x.blob.host/a?sv=1&sig=", some(40) + "%3D", "&se=2"),
}
"""Values that the text before them reveals, and the text behind them."""


def plain(text: str) -> str:
    return text


def in_json(text: str) -> str:
    return json.dumps({"text": text})


def in_json_in_json(text: str) -> str:
    return json.dumps({"text": json.dumps({"output": f"so\n{text}\n"})})


def at(width: int, end: str = "\n") -> Callable[[str], str]:
    """Return how a text is wrapped at a width."""

    def wrapped(text: str) -> str:
        return end.join(text[start : start + width] for start in range(0, len(text), width))

    wrapped.__name__ = f"at {width}"
    return wrapped


SHAPES: Final = [plain, in_json, in_json_in_json]
WRAPS: Final = [plain, at(80), at(44, "\n    "), at(29, " |\r\n| "), at(17)]


def planted() -> Iterator[tuple[str, str, str, str]]:
    for name, token in TOKENS.items():
        yield name, "Use ", token, " from now on."
        yield f"{name}-alone", "", token, ""
    for name, (before, value, behind) in VALUES.items():
        yield name, before, value, behind


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("wrap", WRAPS)
@pytest.mark.parametrize(
    ("before", "secret", "behind"), [pytest.param(*each, id=name) for name, *each in planted()]
)
def test_a_secret_is_masked_however_it_is_wrapped(
    before: str, secret: str, behind: str, wrap: Callable[[str], str], shape: Callable[[str], str]
) -> None:
    text = shape(wrap(f"{before}{secret}{behind}"))
    result = masked(text)
    assert len(result) == len(text)
    left = re.sub(r"\\+[nr]|[\s|]", "", result)
    assert not [
        secret[start : start + 6] for start in range(len(secret) - 5) if secret[start : start + 6] in left
    ]


KEY_LINES: Final = textwrap.wrap(some(1600), 64)
HEADS: Final = {
    kind: (f"-----BEGIN {kind}-----", f"-----END {kind}-----")
    for kind in (f"{name}PRIVATE {'KEY'}" for name in ("", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "))
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", HEADS)
@pytest.mark.parametrize("margin", ["\n", "\r\n", "\n    ", "\n> "])
def test_all_lines_of_a_private_key_are_masked(kind: str, margin: str, shape: Callable[[str], str]) -> None:
    begin, end = HEADS[kind]
    result = masked(shape(margin.join([begin, *KEY_LINES, end])))
    assert [line for line in KEY_LINES if line[:16] in result] == []


@pytest.mark.parametrize(
    "text",
    [
        "\n".join([HEADS["RSA PRIVATE KEY"][0], *KEY_LINES[:3]]),
        "".join([HEADS["RSA PRIVATE KEY"][0], *KEY_LINES * 2, HEADS["RSA PRIVATE KEY"][1]]),
        "\n".join(f"{at:6}\t{line}" for at, line in enumerate([HEADS["PRIVATE KEY"][0], *KEY_LINES])),
    ],
    ids=["cut off", "in one line", "with line numbers"],
)
def test_a_private_key_of_another_shape_is_masked(text: str) -> None:
    assert [line for line in KEY_LINES[:3] if line[:16] in masked(text)] == []


def test_an_aws_secret_is_masked_beside_its_id() -> None:
    secret = some(39, LETTERS + "/+") + "7"
    assert secret not in masked(f"{TOKENS['aws-id']},{secret}")


@pytest.mark.parametrize(
    "lines",
    [["one", "{}", "two"], ["{}", "Done."], ["use {}", "now and then"], ["A_TOKEN={}", "</conversation>"]],
)
def test_the_words_of_the_next_line_stay(lines: list[str]) -> None:
    secret = TOKENS["github"]
    text = "\n".join(lines)
    assert masked(text.format(secret)) == text.format(f"[masked-1{'*' * (len(secret) - 10)}]")


def test_each_of_several_settings_is_masked_alone() -> None:
    secrets = [some(count) for count in (20, 24, 28)]
    result = masked("".join(f"NAME_{at}_TOKEN={each}\nDEBUG=1\n" for at, each in enumerate(secrets)))
    assert re.sub(r"[*\[\]]|masked-", "", result) == "".join(
        f"NAME_{at}_TOKEN={at + 1}\nDEBUG=1\n" for at in range(3)
    )


def test_tokens_on_lines_have_own_masks() -> None:
    result = masked(f"{TOKENS['github']}\n{TOKENS['github-app']}\n")
    assert re.findall(r"masked-\d", result) == ["masked-1", "masked-2"]


def test_a_token_between_colors_is_masked() -> None:
    colored = f"\x1b[32m{TOKENS['github']}\x1b[0m"
    assert TOKENS["github"] not in masked(colored)
    assert TOKENS["github"][:20] not in masked(json.dumps(colored))


def test_ordinary_passwords_are_masked_behind_their_names() -> None:
    assert masked("DB_PASSWORD=postgres\nstart postgres") == "DB_PASSWORD=*******1\nstart postgres"


def test_a_random_value_is_masked_everywhere() -> None:
    value = some(40)
    assert value not in masked(f"API_TOKEN={value}\nused {value} twice")


SHA: Final = some(40, HEX)
DIGEST: Final = some(64, HEX)
UUID: Final = "3d0c7f4e-1b6a-4a55-9d0e-2f1c8b7a6e5d"


@pytest.mark.parametrize(
    "text",
    [
        f"commit {SHA}\nAuthor: a",
        f"{SHA[:7]} Merge {SHA}",
        f"sha256:{DIGEST}",
        f"image@sha256:{DIGEST}",
        f'"digest": "{DIGEST}"',
        f"{DIGEST}  dist/file.tar.gz",
        f'"integrity": "sha512-{some(86)}=="',
        f'"cacheKey": "{DIGEST}"',
        f"public_key: {DIGEST}",
        f'"uuid": "{UUID}", "parentUuid": "{UUID}"',
        f'"key": "{UUID}"',
        f"session key: {SHA}",
        'max_tokens: 4096, "total_tokens": 123456789',
        "token = get_token(request.user2)",
        "const token = this.tokens[42]",
        "api_key = os.environ['API_KEY']",
        "API_KEY=$OTHER_KEY_2",
        "API_KEY=${{ secrets.KEY2 }}",
        "API_KEY=your-key-1234",
        "API_KEY=...",
        "GH_TOKEN=github_pat_",
        'password: string; "password": "required"',
        "SSH_KEY=~/.ssh/id_ed25519",
        "--- PASS: TestTokens/case_42 (0.00s)",
        "key=lambda item: item[2]",
        "next_page_token: abc123def456",
        "a token is a word2vec unit",
        "https://user@host.com:8080/path",
        "npm install @scope/package-name-2.1.0",
        "https://example.com/a/b/c?key=1&token=2",
        "toolu_01A09q90qw90lq917835lq9",
        "claude-opus-4-5-20251101",
        f"/home/user/{SHA}/file.py",
        "begin with '-----BEGIN PRIVATE KEY-----' and say so",
    ],
)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_text_without_secrets_stays(text: str, shape: Callable[[str], str]) -> None:
    assert masked(shape(text)) == shape(text)


def test_a_signature_is_never_touched() -> None:
    signature = f"{TOKENS['aws-id']}{some(300)}{TOKENS['github']}=="
    block = {"type": "thinking", "thinking": "I think", "signature": signature}
    record = json.dumps([block, f"use {TOKENS['aws-id']} and {TOKENS['github']}"]).encode()
    masks = Masks(find_secrets)
    masks.learn(record)
    masked_block, text = json.loads(masks.apply(record))
    assert (masked_block, text.count("[masked")) == (block, 2)


_WORDS = st.sampled_from(
    [*TOKENS.values(), "word", '"', "\\", "\n", "\t", "ä", "=", "API_KEY=", "\x08", "\x0c", " "]
)


@given(st.lists(_WORDS, max_size=12).map("".join), st.booleans())
def test_masked_json_is_valid_json(text: str, ascii_only: bool) -> None:  # noqa: FBT001
    record = json.dumps({"a": text, "b": json.dumps([text])}, ensure_ascii=ascii_only)
    masks = Masks(find_secrets)
    masks.learn(record.encode())
    result = masks.apply(record.encode())
    assert (len(result), json.loads(result).keys()) == (len(record.encode()), {"a", "b"})


@given(st.text() | st.lists(_WORDS, max_size=12).map("".join))
def test_any_text_keeps_its_length(text: str) -> None:
    assert len(masked(text).encode()) == len(text.encode())


@pytest.mark.slow
def test_ten_megabytes_are_masked_in_seconds() -> None:
    said = "an ordinary line of output, /a/path/to/file.py:12\n" * 200
    line = json.dumps({"text": f"{said}use {TOKENS['github']}"}).encode()
    masks = Masks(find_secrets)
    count = 10_000_000 // len(line)
    begun = time.process_time()
    for _ in range(count):
        masks.learn(line)
        masks.apply(line)
    assert time.process_time() - begun < 10
