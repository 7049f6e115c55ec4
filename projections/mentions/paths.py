"""Find files and folders, as sessions write them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from projections.mentions.mention import Match, word_set

EXTENSIONS: Final = word_set(
    "bash bat bmp c cc cfg cjs class conf cpp cs css csv cxx dart db diff dll erl exe exs fish gif go gradle graphql"
    " gz h hpp hs htm html ico ini ipynb jar java jpeg jpg js json json5 jsonc jsonl jsx kt kts less lock log lua m4a"
    " md mdc mdx mjs mk mov mp3 mp4 mts otf patch pdf php plist png proto ps1 pxd py pyc pyi pyx rb rs rst sass scala"
    " scss sh sql sqlite sqlite3 svelte svg swift tar tex tf tgz toml ts tsbuildinfo tsv tsx ttf txt vue wasm wav webm"
    " webp whl woff woff2 xls xlsx xml yaml yml zig zip zsh"
)
"""File extensions; a name without a folder that has one is a file too."""
CONFIG_EXTENSIONS: Final = word_set("cjs js json mjs toml yaml yml")
"""Extensions of files whose names begin with a dot."""
MEMBERS: Final = word_set("c class conf cfg cs db diff go h html lock log patch sql zip")
"""Extensions that are also names of object members."""
OWNERS: Final = word_set(
    "Math app args cfg checkpoint cls config console ctx data document err event item logger math module options opts"
    " process props req res result self state summary super theme this window"
)
"""Objects with such members, as are single letters: `console.log` is not a file."""
BRANDS: Final = word_set(
    "Alpine.js Chart.js D3.js Discord.js Ember.js Express.js Next.js Node.js Nuxt.js React.js Three.js Vue.js next.js"
    " node.js three.js vue.js"
)
"""Products whose names look like files."""
NAMES: Final = word_set(
    "Brewfile Containerfile Dockerfile GNUmakefile Gemfile Jenkinsfile Justfile Makefile Pipfile Procfile Rakefile"
    " Vagrantfile"
)
"""Files without an extension; `README` and `LICENSE` are as often ordinary words."""
MODULES: Final = word_set("go.mod go.sum go.work")
"""Files whose extensions are too rare, and too like object members, to count elsewhere."""
DOTFILES: Final = word_set(
    ".bash_history .bash_profile .bashrc .dockerignore .editorconfig .env .eslintrc .git .gitattributes .gitconfig"
    " .gitignore .gitkeep .gitmodules .netrc .npmignore .npmrc .nvmrc .prettierignore .prettierrc .profile .pypirc"
    " .zprofile .zshrc"
)

FOLDERS: Final = word_set(
    "__pycache__ __tests__ apps cmd crates dist etc internal lib libs node_modules opt packages pkg src target tmp usr"
    " var vendor"
)
"""First folders that make a path of a name without an extension."""
WEAK_FOLDERS: Final = word_set(
    "app assets bench bin build client components config core demo docs examples hooks models modules plugins public"
    " resources scripts server spec specs static styles templates test tests tools utils web work"
)
"""First folders that are also ordinary words: only in quotes, or with two more parts."""
NO_FOLDERS: Final = word_set("bugfix feat feature fix heads hotfix origin refs release remotes s upstream y")
"""First parts of git references and branches, and of `s/this/that/`."""
ROOTS: Final = word_set(
    "Applications Library System Users Volumes app bin boot build code data dev etc home lib media mnt nix opt private"
    " proc repo root run sbin src srv sys testbed tmp usr var work workdir workspace workspaces"
)
"""First folders of absolute paths without extension; others (`/login/start`) may be routes."""
TOP_ROOTS: Final = word_set("Applications Library Users Volumes bin etc home mnt opt root src tmp usr var")
"""Folders that may stand alone after a slash."""
HOMES: Final = word_set("Users Volumes home mnt private tmp var")
"""Folders of user files: in quotes, names in them may contain spaces."""
HOSTS: Final = word_set("ai app co com dev edu example gov invalid io local me net org sh test")
"""Top-level domains: a name that ends in one starts a URL without its scheme."""


_EXTENSION: Final = re.compile(r"\w\.([A-Za-z][A-Za-z0-9]{0,9})$")
_TREE: Final = re.compile(r"(?:^|\n)[ \t\u2502\u251c\u2514\u2500|*+-]*$")
_QUOTES: Final = ("`", '"', "'")
_FEW: Final = 2
_REMEMBERED: Final = 1 << 13
"""Names to cache: the same ones occur in many texts."""


@lru_cache(maxsize=_REMEMBERED)
def is_file_name(name: str) -> bool:
    """Return True if a name without a folder is a file's: a known extension or a known name."""
    if name in NAMES or name in MODULES:
        return True
    stem, _, extension = name.rpartition(".")
    if name.startswith("."):
        # `.env.local`, `.eslintrc.json`; but `.test.ts` ends names.
        head = f".{name[1:].partition('.')[0]}"
        return head in DOTFILES or (extension in CONFIG_EXTENSIONS and stem == head)
    if name in BRANDS or not _is_extension(extension, stem):
        return False
    owner = stem.partition(".")[0]
    return extension not in MEMBERS or not (len(owner) == 1 or owner in OWNERS)


@lru_cache(maxsize=_REMEMBERED)
def has_extension(path: str) -> bool:
    """Return True if a path ends in a file extension."""
    found = _EXTENSION.search(path)
    return found is not None and path not in BRANDS and _is_extension(found[1], path[: found.start() + 1])


def _is_extension(extension: str, stem: str) -> bool:
    return extension in EXTENSIONS or (stem.isupper() and extension.lower() in EXTENSIONS)


def is_absolute(parts: list[str]) -> bool:
    """Return True if parts after a slash are a path, by an extension or by their first folder.

    `/help` may be a command, `/users/me` a route, `/ab+c/g` a regular expression.
    """
    if len(parts) == 1:
        return parts[0] in TOP_ROOTS or has_extension(parts[0])
    return parts[0] in ROOTS or parts[0][0] == "." or has_extension(parts[-1])


def is_relative(parts: list[str], before: str, around_end: str) -> bool:
    """Return True if slashed parts are a path: by extension, first folder or trailing slash.

    `before` is the text before them; `around_end` are their last two characters and the next one.
    """
    first = parts[0]
    if first in NO_FOLDERS:
        return False
    if first in FOLDERS or (first[0] == "." and len(first) > 1) or has_extension(parts[-1]):
        return True
    last, after = around_end[:_FEW], around_end[_FEW:]
    is_quoted = after in _QUOTES and before.endswith(after)
    if last[-1] == "/" and last != "//" and not first[0].isdigit():
        is_alone = is_quoted or (before.endswith("(") and after == ")")
        is_listed = len(first) > _FEW and _TREE.search(before) is not None
        return after not in (">", "*") and (len(parts) > 1 or is_alone or is_listed)
    return first in WEAK_FOLDERS and len(parts) > 1 and (is_quoted or len(parts) > _FEW)


_PART: Final = r"[\w.@+~%-]"
_SPACED: Final = r"[^\"'\n<>|*? ]{1,300}+ [^\"'\n<>|*?]{1,300}+"
_QUOTED: Final = rf"(?<=[\"'])(?:/(?:{'|'.join(sorted(HOMES))})/|~/|[A-Z]:\\){_SPACED}(?=[\"'])"
_WINDOWS: Final = rf"[A-Za-z]:[\\/]++{_PART}++(?>(?:[\\/]++{_PART}++)*)"
_BACKSLASHED: Final = rf"(?<![^\s\"'`(])\.{{1,2}}(?>(?:\\{_PART}++)+)"
_SLASHED: Final = rf"{_PART}*+(?>(?:/++{_PART}*+)+)"
# A bracket after a dotted name makes it a method call; but `a.ts(12,5)` is a position in a file.
_BARE: Final = r"@?+\.?+[\w+-]++(?>(?:\.[\w+-]++)+)(?!\((?!\d)|/)|\.[a-z][\w-]++"
_NAMED: Final = rf"(?:{'|'.join(sorted(NAMES))})(?![\w.-])"

PATH: Final = (
    rf"{_QUOTED}|(?<![\w.$@%+~</-])(?<!node:)"
    rf"(?:{_WINDOWS}|{_BACKSLASHED}|(?=[\w@+~%-]*+[./])(?:{_SLASHED}|{_BARE})|{_NAMED})"
)
"""Not inside a word, after a variable (`$HOME/x`), in a closing tag, or in a Node module
(`node:fs/promises`).
"""

_AROUND: Final = "+-%,"
_BEHIND: Final = ".,-~+%@"
_ESCAPES: Final = ("n", "r", "t")
_PLACEHOLDER: Final = ("{", "[", "<", "$", "*", "\u2026")
_HOST: Final = re.compile(rf"(?:[a-z0-9-]++\.)+(?:{'|'.join(sorted(HOSTS))})/|localhost/")
_CONTEXT: Final = re.compile(r"(?<=\.)([a-z]{1,5})-\d{1,6}(?:-.*)?$", re.IGNORECASE)
_DIFF: Final = re.compile(r"(?:^|\n|\\n)(?:diff --git |--- |\+\+\+ )(?:a/\S+ )?$")
_LOOKBACK: Final = 200


def find_path(text: str, start: int, stop: int) -> Match:
    """Return the path without its surroundings.

    Prose with slashes, hosts and object members are not paths.
    """
    whole = text[start:stop]
    if " " in whole:
        return (start, stop, whole) if has_extension(whole) and " -" not in whole else None
    before = text[start - 1 : start]
    is_bare = "/" not in whole and "\\" not in whole
    if not (is_bare and before not in ("\\", "*")) and _is_part_of_more(text, start, stop):
        return start, stop, ""
    start += len(whole) - len(whole.lstrip(_AROUND)) + (before == "\\")
    raw = _without_surroundings(text[start:stop])
    stop = start + len(raw)
    if "/" in raw or "\\" in raw:
        return _with_folders(text, start, stop, raw)
    name = raw.removeprefix("@")
    return (stop - len(name), stop, name) if is_file_name(name) else None


def _is_part_of_more(text: str, start: int, stop: int) -> bool:
    r"""Return True for a part of a text that names no file: a pattern, or a URL without scheme.

    Examples are `src/*.ts`, `packages/[name]`, `./...`, `example.com/a.js`, and the end of `\\server\a.txt`;
    after a single backslash only the `n` of a line break is allowed.
    """
    whole, before, after = text[start:stop], text[start - 1 : start] if start else "", text[stop : stop + 1]
    if before == "\\" and text[start] not in _ESCAPES:
        return True
    is_emphasized = before == after == "*"
    is_glob = before == "*" and not is_emphasized and text[start - 2 : start] != "**"
    if "/" not in whole and "\\" not in whole:
        return is_glob and is_file_name(whole)
    is_open = after in _PLACEHOLDER and not is_emphasized
    return is_glob or is_open or "/..." in whole or _HOST.match(whole) is not None


@lru_cache(maxsize=_REMEMBERED)
def _without_surroundings(raw: str) -> str:
    """Return a path without signs behind it and the number that `grep -C` adds: `a.go-12-`."""
    raw = raw.rstrip(_BEHIND)
    found = _CONTEXT.search(raw)
    return raw[: found.end(1)] if found and found[1].lower() in EXTENSIONS else raw


def _with_folders(text: str, start: int, stop: int, raw: str) -> Match:
    before = text[start - 1 : start] if start else ""
    if raw.startswith(("a/", "b/")) and _DIFF.search(text[max(0, start - _LOOKBACK) : start]):
        start, raw, is_path = start + 2, raw[2:], True
    elif raw.startswith("@"):
        # `@src/a.ts` passes a file to an agent; `@scope/name` is a package.
        start, raw = start + 1, raw[1:]
        is_path = before not in _QUOTES and raw.partition("/")[0] in FOLDERS
    else:
        is_path = any(map(str.isalnum, raw)) and _is_path(text, start, stop, raw)
    return (start, stop, raw.removeprefix("./").rstrip("/\\")) if is_path else None


def _is_path(text: str, start: int, stop: int, raw: str) -> bool:
    if raw.startswith((".\\", "..\\")):
        return has_extension(raw)
    if raw.startswith(("./", "../", "~/")) or raw[1:2] == ":":
        return True
    parts = [part for part in raw.split("/") if part]
    if raw[0] == "/":
        before = text[start - 1 : start] if start else ""
        is_rest = before in (")", "]", "}", "*") or (before == ">" and parts[0] not in ROOTS)
        return raw[1] != "/" and not is_rest and is_absolute(parts)
    return is_relative(parts, text[max(0, start - _LOOKBACK) : start], text[stop - 2 : stop + 1])
