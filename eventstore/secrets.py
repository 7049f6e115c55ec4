"""Find secrets in a text: tokens of a known form, values behind a name, private keys.

A text is read without its line breaks, because a terminal or a document may have wrapped a secret over lines. A match
that goes on behind a break ends there if the next line begins with another word.

To add a token of a known form, write a line in `_FORMS`, and one in the table of `tests/eventstore/test_secrets.py`.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import cache, cached_property
from itertools import pairwise
from string import ascii_letters, digits
from typing import Final, NamedTuple, Self


class FoundSecret(NamedTuple):
    """A secret in a text: the rule that found it, and the bytes from `start` to `stop`.

    With `is_everywhere`, it is a secret wherever it stands; otherwise it may be an ordinary word elsewhere.
    """

    rule: str
    start: int
    stop: int
    is_everywhere: bool = True


class UnwrappedText:
    """A text without line breaks and margins; `breaks` returns the offsets where they were."""

    def __init__(self, text: bytes, breaks: Callable[[], list[int]] = list) -> None:
        self.text, self._find_breaks = text, breaks

    @cached_property
    def breaks(self) -> list[int]:
        """The ascending offsets where lines ended."""
        return self._find_breaks()

    def breaks_in(self, start: int, stop: int) -> list[int]:
        """Return the breaks between two offsets."""
        return self.breaks[bisect_right(self.breaks, start) : bisect_left(self.breaks, stop)]

    def has_break(self, at: int) -> bool:
        """Return True if a line ended at an offset."""
        place = bisect_left(self.breaks, at)
        return place < len(self.breaks) and self.breaks[place] == at

    def lines(self) -> bytes:
        """Return the text with its line ends."""
        return b"\n".join(
            self.text[start:stop] for start, stop in pairwise([0, *self.breaks, len(self.text)])
        )

    @cached_property
    def _line_ends(self) -> list[int]:
        return [each + place for place, each in enumerate(self.breaks)]

    def offset_in_line(self, at: int) -> int:
        """Return the offset here of an offset in `lines`."""
        return at - bisect_left(self._line_ends, at)

    def is_full(self, at: int) -> bool:
        """Return True if the line that ends at an offset is as long as its neighbor."""
        place = bisect_left(self.breaks, at)
        ends = [*self.breaks[max(0, place - 1) : place + 2], len(self.text)]
        size = self._size_of_line(place)
        return size in (ends[ends.index(at) + 1] - at, self._size_of_line(place - 1) if place else 0)

    def _size_of_line(self, place: int) -> int:
        """Return the size of the line before a break; a text in JSON begins behind the quote."""
        start, end = self.breaks[place - 1] if place else 0, self.breaks[place]
        return end - max(start, self.text.rfind(b'"', start, end) + 1)


FindSecrets = Callable[[UnwrappedText], Iterable[FoundSecret]]
"""Finds the secrets in a text."""


def find_secrets(unwrapped: UnwrappedText) -> Iterator[FoundSecret]:
    """Yield the secrets that refold's own rules find; they may overlap."""
    yield from _tokens(unwrapped)
    yield from _private_keys(unwrapped)
    yield from _in_addresses(unwrapped)
    yield from _behind_names(unwrapped)


@cache
def all_rules() -> FindSecrets:
    """Return refold's own rules, and with the extra `redact` also those of Kingfisher.

    The first time, compiling them takes about ten seconds; they are kept in the user's cache folder.
    """
    try:
        from kingfisher_sdk import Scanner  # noqa: PLC0415  heavy, and an extra
    except ModuleNotFoundError:
        return find_secrets
    # Without a policy, comments that tell scanners to ignore a line are not obeyed.
    scanner = Scanner()

    def find(unwrapped: UnwrappedText) -> Iterator[FoundSecret]:
        own = list(find_secrets(unwrapped))
        yield from own
        lines = unwrapped.lines()
        dotless = _OTHER_DOTS.sub(b" ", lines)
        # Many rules want a space or a quote behind a token, which here may stand in a URL, a path or a sentence.
        for text in (lines, *(dotless.translate(apart) for apart in _APART)):
            for each in scanner.scan(text):
                # Also what is reported only together with another, such as the secret key of an access key's id.
                start, stop = each.location["start_offset"], each.location["end_offset"]
                # The location is that of the whole match, or of the Base64 in which the secret is.
                secret = each.secret.encode()
                at = text.find(secret, start, stop)
                if at >= 0 and len(secret) >= _SHORTEST_OF_OTHERS:
                    start, stop = at, at + len(secret)
                start, stop = unwrapped.offset_in_line(start), unwrapped.offset_in_line(stop)
                if not any(found.start < stop and start < found.stop for found in own):
                    yield FoundSecret(each.rule_id.rpartition(".")[2], start, stop)

    return find


_OTHER_DOTS: Final = re.compile(rb"\.(?![0-9A-Za-z_-]{12})")
"""Dots that end a sentence or begin a file's extension."""
_APART: Final = tuple(
    bytes(code if code in kept else 0x20 for code in range(256))
    for kept in ((ascii_letters + digits).encode() + others for others in (b"_-.\n\"':=/+~", b"_-.\n"))
)
"""Tables that translate other bytes to spaces."""
_SHORTEST_OF_OTHERS: Final = 8
"""Minimum bytes of a secret that Kingfisher names: a shorter one may be an ordinary word."""


class _Token(NamedTuple):
    """A token's form from its literal `beginning` on, and what stands before that, if anything.

    `head` is the part of the beginning that `_heads` shows, b"" if it may not show it.
    """

    rule: str
    form: bytes
    beginning: bytes
    head: bytes
    before: re.Pattern[bytes] | None = None

    @classmethod
    def of(cls, rule: str, form: bytes, before: re.Pattern[bytes] | None = None) -> Self:
        found = _LETTERS.match(form)
        beginning = found[0].removeprefix(b"\\") if found else b""
        head = re.split(rb"(?<=[_-])", beginning)[0] if _HEADED.match(form) else b""
        return cls(rule, form, beginning, head, before)


_HEADED: Final = re.compile(rb"\w{2,8}(?:\[\w+\]|\(\?:[\w|]+\)\??)?(?:[_-]|\\\.)")
"""Forms whose first word ends in one of `_HEAD_ENDS`."""
_HEAD_ENDS: Final = (b"_", b"-", b".")
_LONGEST_HEAD: Final = 12
_LETTERS: Final = re.compile(rb"\\?[\w:.-]+(?![\w:.?*{-])")
_compiled: Final = cache(re.compile)
"""Compiles a form when its letters are there.

To compile all of them takes longer than to search most texts.
"""


# Each pattern begins with a literal text, which the engine finds much faster than a choice.
_FORMS: Final = {
    "anthropic": [rb"sk-ant-[a-z0-9]{2,12}-[\w-]{16,}"],
    "openai": [
        rb"sk-(?:proj|svcacct|admin|None|lf|or)-[\w-]{20,}",
        rb"sk-(?:[a-z0-9]{1,8}-){0,3}[A-Za-z0-9]{20,}",
        rb"sess-[A-Za-z0-9]{40}",
    ],
    "google": [
        rb"AIza[\w-]{35}",
        rb"GOCSPX-[\w-]{16,}",
        rb"ya29\.[\w.-]{16,}",
        rb"1//0[\w-]{30,}",
    ],
    "github": [rb"gh[oprsu]_[A-Za-z0-9]{30,}", rb"github_pat_\w{22,}"],
    "gitlab": [rb"gl(?:pat|rt|dt|ptt|cbt|soat|ft|imt|agent|oas|wt)-[\w.-]{20,}"],
    "slack": [
        rb"xox[abceoprs]-[\w-]{10,}",
        rb"xapp-\d-[\w-]{20,}",
        rb"hooks\.slack\.com/(?:services|workflows|triggers)/[\w/-]{20,}",
    ],
    "discord": [rb"mfa\.[\w-]{60,}", rb"discord(?:app)?\.com/api/webhooks/\d{16,20}/[\w-]{40,}"],
    "datadog": [rb"dd(?:pat|app|api|ptk|p|w)_[A-Za-z0-9]{16,}"],
    "aws": [
        rb"AKIA[A-Z0-9]{16}",
        rb"ASIA[A-Z0-9]{16}",
        rb"ABSK[A-Za-z0-9+/]{100,}=*",
        rb"bedrock-api-key-[\w=+/-]{40,}",
    ],
    "stripe": [
        rb"sk_(?:live|test|prod)_[A-Za-z0-9]{16,}",
        rb"rk_(?:live|test|prod)_[A-Za-z0-9]{16,}",
        rb"whsec_[A-Za-z0-9+/]{24,}=*",
    ],
    "jwt": [rb"eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*){1,3}"],
    "npm": [rb"npm_[A-Za-z0-9]{36}"],
    "pypi": [rb"pypi-[\w-]{50,}"],
    "huggingface": [rb"hf_[A-Za-z0-9]{30,}"],
    "sendgrid": [rb"SG\.[\w-]{16,}\.[\w-]{30,}"],
    "twilio": [rb"SK[0-9a-f]{32}"],
    "mailgun": [rb"key-[0-9a-f]{32}"],
    "digitalocean": [rb"do[opr]_v1_[0-9a-f]{64}"],
    "shopify": [rb"shp(?:at|ca|pa|ss|tka)_[0-9a-fA-F]{32}"],
    "databricks": [rb"dapi[0-9a-f]{32}"],
    "atlassian": [rb"AT(?:AT|CT)T3[\w=-]{50,}"],
    "airtable": [rb"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"],
    "vault": [rb"hv[bsr]\.[\w-]{24,}"],
    "age": [rb"AGE-SECRET-KEY-1[0-9A-Z]{58}"],
    "figma": [rb"figd_[\w-]{36,}"],
    "planetscale": [rb"pscale_(?:pw|tkn|oauth)_[\w.-]{32,}"],
    "doppler": [rb"dp\.(?:audit|ct|pt|sa|scim|st)\.[\w.]{36,}"],
    "grafana": [rb"glc_eyJ[\w+/=-]{30,}", rb"glsa_\w{32,}"],
    "newrelic": [rb"NRAK-[A-Z0-9]{24,}"],
    "postman": [rb"PMAK-[0-9a-f-]{24,}"],
    "sentry": [rb"sntry[su]_[\w=+/-]{32,}"],
    "tailscale": [rb"tskey-[a-z]+-[\w-]{16,}"],
    "docker": [rb"dckr_pat_[\w-]{20,}"],
    "linear": [rb"lin_(?:api|oauth)_[A-Za-z0-9]{32,}"],
    "notion": [rb"ntn_[A-Za-z0-9]{32,}", rb"secret_[A-Za-z0-9]{40,}"],
    "supabase": [rb"sbp_[0-9a-f]{40}", rb"sb_secret_[\w-]{20,}"],
    "groq": [rb"gsk_[A-Za-z0-9]{32,}"],
    "xai": [rb"xai-[A-Za-z0-9]{32,}"],
    "perplexity": [rb"pplx-[A-Za-z0-9]{32,}"],
    "replicate": [rb"r8_[A-Za-z0-9]{32,}"],
    "tavily": [rb"tvly-[\w-]{24,}"],
    "fireworks": [rb"fw_[A-Za-z0-9]{20,}"],
}
"""The forms of tokens, by who gives them out."""
_TOKENS: Final = (
    *(_Token.of(rule, form) for rule, forms in _FORMS.items() for form in forms),
    _Token.of("discord", rb"\.[\w-]{6,7}\.[\w-]{27,40}", re.compile(rb"[A-Za-z\d][\w-]{22,27}\Z")),
    _Token.of("telegram", rb":AA[\w-]{33}", re.compile(rb"\d{8,10}\Z")),
)
_LONGEST_BEFORE: Final = 28


def _tokens(unwrapped: UnwrappedText) -> Iterator[FoundSecret]:
    text, heads = unwrapped.text, _heads(unwrapped.text)
    for token in _TOKENS:
        if token.head not in heads or token.beginning not in text:
            continue
        rule, pattern, before, at = token.rule, _compiled(token.form), token.before, 0
        # Not `finditer`: the next token may begin in what a match takes for more of this one.
        while (match := pattern.search(text, at)) is not None:
            start, at = match.start(), _end(unwrapped, match.start(), match.end(), pattern)
            if before is not None:
                found = before.search(text, max(0, start - _LONGEST_BEFORE), start)
                start = found.start() if found else -1
            if start >= 0 and _begins(unwrapped, start):
                yield FoundSecret(rule, start, at)
                if rule == "aws":
                    yield from _aws_secrets(text, at)


def _heads(text: bytes) -> bytes:
    """Return the different ends of words, in lines, which are searched six times as fast."""
    return b"\n".join({word[-_LONGEST_HEAD:] + end for end in _HEAD_ENDS for word in text.split(end)})


def _aws_secrets(text: bytes, behind: int) -> Iterator[FoundSecret]:
    """Yield the secret key that stands near its id, without a name of its own."""
    for match in _AWS_SECRET.finditer(text, behind, behind + _NEAR):
        if _is_mixed(match[0]):
            yield FoundSecret("aws", *match.span())


def _begins(unwrapped: UnwrappedText, start: int) -> bool:
    """Return True if no word goes on at an offset."""
    before = unwrapped.text[start - 1 : start]
    return not before or before not in _WORD or unwrapped.has_break(start)


_WORD: Final = f"{ascii_letters}{digits}_-".encode()
_NAME: Final = re.compile(rb"""[A-Za-z_][\w.-]{0,60}(?::|=(?![=\s"']|\Z))""")
"""The name of another value, which follows a value in a list of them."""
_INSIDE: Final = re.compile(rb"[\w+/=.~%-]")
"""Bytes with which a line of a secret may begin."""
_PLAIN_WORD: Final = re.compile(rb"[A-Z]?[a-z]{2,}")
_SENTENCE_ENDS: Final = (b".", b":", b"!", b"?")
_MOST_LINES: Final = 100
_SHORTEST_WRAPPED: Final = 16
"""Bytes from which a secret in a line is likely to go on in the next one."""


def _end(unwrapped: UnwrappedText, start: int, stop: int, form: re.Pattern[bytes] | None = None) -> int:
    """Return where a secret ends: at the end of a line before another word, or at `stop`.

    `form` is that of a token: a part of it is none, and the next line may begin another one.
    """
    text, breaks = unwrapped.text, [*unwrapped.breaks_in(start, stop)[:_MOST_LINES], stop]
    is_whole = form is None
    for at, end in pairwise(breaks):
        is_whole = is_whole or (form is not None and form.fullmatch(text, start, at) is not None)
        if not is_whole:
            continue
        ends = text[at - 1 : at] in _SENTENCE_ENDS if form is None else form.match(text, at)
        if ends or _NAME.match(text, at) or not _INSIDE.match(text, at):
            return at
        if _is_mixed(text[at:end]) or _CAPITAL.search(text, at, end) or unwrapped.is_full(at):
            continue
        is_prose = end == stop and text[stop : stop + 1].isspace() and not unwrapped.has_break(stop)
        is_word = form is not None and _PLAIN_WORD.fullmatch(text, at, end)
        if is_prose or is_word or at - start < _SHORTEST_WRAPPED:
            return at
    return stop


_BEGIN_KEY: Final = re.compile(rb"-----BEGIN[ A-Z0-9]{0,30} PRIVATE KEY(?: BLOCK)?-----")
_END_KEY: Final = b"-----END"
_KEY_LINE: Final = re.compile(rb"[A-Za-z0-9+/]{16,}={0,2}")
_NEAR: Final = 200
"""Bytes between the beginning of a key and its first line, or an id and its secret."""
_BETWEEN_LINES: Final = 16
"""Bytes between two lines of a key without an end."""


def _private_keys(unwrapped: UnwrappedText) -> Iterator[FoundSecret]:
    """Yield the lines of private keys, also of one whose end was cut off."""
    text = unwrapped.text
    begins = [begin.span() for begin in _BEGIN_KEY.finditer(text)]
    for (_, first), (limit, _) in pairwise([*begins, (len(text), 0)]):
        end = text.find(_END_KEY, first, limit)
        latest = first + _NEAR
        for line in _KEY_LINE.finditer(text, first, end if end >= 0 else limit):
            if line.start() > latest:
                break
            yield FoundSecret("private-key", *line.span(), is_everywhere=False)
            latest = line.end() + (_NEAR if end >= 0 else _BETWEEN_LINES)


_PASSWORD_IN_URL: Final = re.compile(rb"""://[^\s/:@"'<>`\\]{0,100}:([^\s/@"'<>`\\]{3,200})@""")
_TOKEN_IN_URL: Final = re.compile(rb"""://([^\s/:@"'<>`\\]{16,200})@""")
_USER_AND_PASSWORD: Final = re.compile(rb"""[ ]-(?:u|-user)[ =]["']?[\w.@-]{1,60}:([^\s"'`\\]{4,200})""")
_SHARED_SIGNATURE: Final = re.compile(rb"sig=(?<=[?&]sig=)([\w%+/-]{20,}=*)")


def _in_addresses(unwrapped: UnwrappedText) -> Iterator[FoundSecret]:
    for pattern in (_PASSWORD_IN_URL, _USER_AND_PASSWORD):
        for match in pattern.finditer(unwrapped.text):
            if not _REFERENCE.match(match[1]):
                yield FoundSecret("url", *match.span(1), _is_random(match[1]))
    for pattern, is_likely in ((_TOKEN_IN_URL, _is_random), (_SHARED_SIGNATURE, _is_mixed)):
        for match in pattern.finditer(unwrapped.text):
            if is_likely(match[1]):
                yield FoundSecret("url", *match.span(1))


_BETWEEN: Final = (
    rb"""(?:["'`\])]{0,2}[ \t]{0,8}(?::[ ]?[\w\[\]| .]{1,30}=[ ]?|=>|:=|={1,3}|[:>]|,(?=[ ]?["']))[ \t]{0,8}"""
    rb"|[ ]is:?[ ]|[ ](?=\S))"
)
_NAMES: Final = tuple(
    (
        word,
        word + rb"(?:_?(?:value|\d{1,2}|old|new|prod|dev|test|live|main|default|base64|b64|hex))?" + _BETWEEN,
    )
    for word in (
        b"key",
        b"token",
        b"secret",
        b"password",
        b"passwd",
        b"passphrase",
        b"pass",
        b"pwd",
        b"credential",
        b"credentials",
    )
)
"""Words that end the name of a secret, with what stands between it and its value."""
_WHOLE_NAME: Final = re.compile(rb"[\w-]*\Z")
_LONGEST_NAME: Final = 60
_NAME_WORDS: Final = re.compile(rb"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_OPENING: Final = re.compile(rb"""(?:[bru]{0,2}(["'`]))?(?:(?:bearer|basic|token) +)?""", re.IGNORECASE)
_QUOTED: Final = re.compile(rb"""[^"'`\\]{4,4096}""")
_BARE: Final = re.compile(rb"""[^\s"'`,;<>(){}\[\]|&\\]{4,4096}""")
_OF_SETTING: Final = re.compile(rb"""[^\s"'`<>\\]{4,4096}""")
_CALL: Final = re.compile(rb"[\w.]+[(\[{]")
_CREDENTIALS: Final = re.compile(
    rb"""(?:bearer|authorization["']?[ ]?:[ ]?["']?(?:apikey|basic|token))[ ]*([\w.~+/-]{8,}=*)"""
)

_OF_KEYS: Final = frozenset(
    b"access account admin api app application auth client consumer deploy encryption jwt license master private"
    b" registration secret service signing ssh subscription webhook".split()
)
"""Words before `key` that make it a secret."""
_RUN_TOGETHER: Final = tuple(each + b"key" for each in _OF_KEYS)
_HARMLESS: Final = frozenset(
    b"bos cache cancel cancellation completion context continuation eos foreign idempotency input max min next num"
    b" output pad page partition primary prompt pub public sort stop sync total unk".split()
)
"""Words before `key` or `token` that make it no secret."""
_PASSWORDS: Final = frozenset({b"password", b"passwd", b"passphrase", b"pass", b"pwd"})


def _behind_names(unwrapped: UnwrappedText) -> Iterator[FoundSecret]:
    """Yield values behind names such as `API_KEY`, `"password"` or `--token`."""
    text, lowered = unwrapped.text, unwrapped.text.lower()
    for word, form in _NAMES:
        for match in _compiled(form).finditer(lowered) if word in lowered else ():
            found = _value_behind(unwrapped, word, match)
            if found is not None:
                yield found
    for match in _CREDENTIALS.finditer(lowered):
        start, stop = match.start(1), _end(unwrapped, *match.span(1))
        said = text[start:stop]
        is_apart = text[start - 1 : start] == b" " or unwrapped.has_break(start)
        if is_apart and (_is_mixed(said) or _CAPITAL.search(said) or said.endswith(b"=")):
            yield FoundSecret("authorization", start, stop, _is_random(said))


def _value_behind(unwrapped: UnwrappedText, word: bytes, match: re.Match[bytes]) -> FoundSecret | None:
    """Return the value behind a name, None if it is no secret."""
    text, end = unwrapped.text, match.start() + len(word)
    between = text[end : match.end()]
    named = _WHOLE_NAME.search(text, max(0, match.start() - _LONGEST_NAME), end)
    first = named.start() if named else end
    # Above a break, there is another word, or the beginning of a wrapped name.
    starts = (first, max(unwrapped.breaks_in(first, match.start() + 1), default=first))
    names = {text[start:end] for start in starts if _may_name(text, start, between)}
    opening = _OPENING.match(text, match.end())
    start = opening.end() if opening else match.end()
    is_quoted = bool(opening and opening[1])
    is_setting = between == b"=" and any(name.isupper() for name in names)
    value = (_QUOTED if is_quoted else _OF_SETTING if is_setting else _BARE).match(text, start)
    if value is None or any(_is_harmless(name, word) for name in names):
        return None
    stop = value.end() if is_quoted else _end(unwrapped, start, value.end())
    said = text[start:stop] if is_quoted else text[start:stop].rstrip(b".,:;)]}")
    is_called = not is_quoted and (_CALL.match(said) or text[stop : stop + 1] in (b"(", b"[", b"{"))
    if is_called or not any(_is_value(name, word, said, is_setting=is_setting) for name in names):
        return None
    return FoundSecret("value", start, start + len(said), _is_random(said))


def _may_name(text: bytes, start: int, between: bytes) -> bool:
    """Return True if a name that begins at `start` can have a value behind `between`."""
    if between == b" ":
        return text.startswith(b"--", start)
    return b"," not in between or text[start - 2 : start - 1] == b"("


_REFERENCE: Final = re.compile(
    rb"""[$<{%*\[(]|@|\\?\$|[~.]{0,2}/|\w{2,10}://|arn:|sha\d|md5|[x*.#-]+\Z|\*{2,}\d+\Z|\.\.\.|\d{1,7}\Z|[\w-]*[_-]\Z|.*\*\*\*"""
    rb"|(?:true|false|null|none|undefined|string|str|bytes|required|optional)\b|process\.env|os\.environ|env\.|your[\W_]",
    re.IGNORECASE,
)
"""Values that name, or stand for, a secret that is elsewhere."""
_DOTTED: Final = re.compile(rb"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\Z")
_SHORTEST_VALUE: Final = 4
_SHORTEST: Final = {True: 6, False: 8}
"""Minimum bytes of a password, and of another secret."""
_DIGEST: Final = re.compile(rb"(?:0x)?[0-9a-fA-F]{64}\Z")


def _is_value(name: bytes, word: bytes, value: bytes, *, is_setting: bool) -> bool:
    """Return True if a value is a secret; `is_setting`: as in `NAME=value`, in capitals."""
    is_password, is_random = word in _PASSWORDS, _is_random(value)
    if _DIGEST.match(value):
        return True
    if len(value) < _SHORTEST_VALUE or (_REFERENCE.match(value) and not is_random):
        return False
    if is_setting and (is_password or b"_" in name):
        return is_password or _is_mixed(value) or not _PLACEHOLDER.search(value)
    is_key = word != b"key" or _word_before(name) in _OF_KEYS or name.lower().endswith(_RUN_TOGETHER)
    is_chosen = len(value) >= _SHORTEST[is_password] and _is_mixed(value) and not _DOTTED.match(value)
    return is_key and b" " not in value and (is_random or is_chosen)


def _is_harmless(name: bytes, word: bytes) -> bool:
    """Return True for names such as `public_key`, `max_token`, and the word "pass" alone."""
    before = _word_before(name)
    return (before in _HARMLESS and word not in _PASSWORDS) or (word == b"pass" and not before)


def _word_before(name: bytes) -> bytes:
    """Return the last but one of a name's words."""
    return b"".join(_NAME_WORDS.findall(name)[-2:-1]).lower()


_PLACEHOLDER: Final = re.compile(rb"key|token|secret|here|example|\.\.\.|xxx", re.IGNORECASE)
_RUN: Final = re.compile(rb"[A-Za-z0-9+=]{10,}")
_AWS_SECRET: Final = re.compile(rb"(?<![\w/+=-])[A-Za-z0-9/+]{40}(?![\w/+=-])")
_UUID: Final = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z", re.IGNORECASE)
_CHANGE: Final = re.compile(rb"(?<=[a-zA-Z])(?=\d)|(?<=\d)(?=[a-zA-Z])|(?<=[a-z])(?=[A-Z])")
_CAPITAL: Final = re.compile(rb"(?<=[a-z])(?=[A-Z])")


def _is_random(value: bytes) -> bool:
    """Return True if no person would have chosen a value."""
    return (
        any(_is_random_run(run) for run in _RUN.findall(value))
        or bool(_UUID.match(value))
        or bool(_AWS_SECRET.fullmatch(value) and _is_mixed(value))
    )


_FEW: Final = 2
"""Changes between letters and digits, or digits, that a name or a word may have."""


def _is_random_run(run: bytes) -> bool:
    changes = len(_CHANGE.findall(run))
    return (changes > _FEW and len(_DIGIT.findall(run)) >= _FEW) or len(_CAPITAL.findall(run)) > len(run) / 5


_DIGIT: Final = re.compile(rb"\d")
_LETTER: Final = re.compile(rb"[A-Za-z]")
_SIGN: Final = re.compile(rb"[!@#$%^*+~]")


def _is_mixed(value: bytes) -> bool:
    """Return True if a value has letters, and digits or signs among them."""
    return bool(_LETTER.search(value) and (_DIGIT.search(value) or _SIGN.search(value)))
