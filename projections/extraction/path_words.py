"""The words that tell a path from prose with a slash and from names in code."""

from __future__ import annotations

from typing import Final

EXTENSIONS: Final = frozenset(
    "bash bat bmp c cc cfg cjs class conf cpp cs css csv cxx dart db diff dll erl exe exs fish gif go gradle"
    " graphql gz h hpp hs htm html ico ini ipynb jar java jpeg jpg js json json5 jsonc jsonl jsx kt kts less lock log"
    " lua m4a md mdc mdx mjs mk mov mp3 mp4 mts otf patch pdf php plist png proto ps1 pxd py pyc pyi pyx rb rs"
    " rst sass scala scss sh sql sqlite sqlite3 svelte svg swift tar tex tf tgz toml ts tsbuildinfo tsv tsx ttf txt"
    " vue wasm wav webm webp whl woff woff2 xls xlsx xml yaml yml zig zip zsh".split()
)
MEMBERS: Final = frozenset("c class conf cfg cs db diff go h html lock log patch sql zip".split())
"""Extensions that members of objects are called by, too."""
OWNERS: Final = frozenset(
    "this self cls super console process window document module logger Math math app args cfg config ctx data err"
    " checkpoint event item opts options props req res result state summary theme".split()
)
"""Objects whose members have such names: `console.log` is no file."""
CONFIG_EXTENSIONS: Final = frozenset("cjs json toml yaml yml".split())
"""Extensions of files whose names begin with a full stop."""
BRANDS: Final = frozenset(
    "Node.js Next.js Nuxt.js Vue.js React.js Express.js Three.js Chart.js D3.js Ember.js Discord.js Alpine.js"
    " Socket.io ASP.net node.js next.js vue.js three.js".split()
)
NAMES: Final = (
    "Makefile Dockerfile Containerfile Justfile Jenkinsfile Vagrantfile Procfile Gemfile Rakefile Pipfile"
    " Brewfile GNUmakefile go.mod go.sum go.work".split()
)
DOTFILES: Final = frozenset(
    ".bash_history .bash_profile .bashrc .dockerignore .editorconfig .env .eslintrc .git .gitattributes .gitconfig"
    " .gitignore .gitkeep .gitmodules .netrc .npmignore .npmrc .nvmrc .prettierignore .prettierrc .profile .pypirc"
    " .zprofile .zshrc".split()
)
FOLDERS: Final = frozenset(
    "src lib libs internal pkg cmd packages apps crates node_modules dist vendor target __tests__ __pycache__ etc usr"
    " var opt tmp".split()
)
"""First folders that make a path of what has no extension."""
WEAK_FOLDERS: Final = frozenset(
    "app assets bench bin build components config core demo docs examples hooks models modules plugins public resources"
    " scripts server client spec specs static styles templates test tests tools utils web work".split()
)
"""First folders that are words of prose, too: only within quotes, or with two more parts."""
NO_FOLDERS: Final = frozenset(
    "refs heads remotes origin upstream feature feat fix hotfix bugfix release s y".split()
)
"""First parts of git's references and branches, and of `s/this/that/`."""
ROOTS: Final = frozenset(
    "Applications Library System Users Volumes app bin boot build code data dev etc home lib media mnt nix opt private"
    " proc repo root run sbin src srv sys testbed tmp usr var work workdir workspace workspaces".split()
)
"""First folders of absolute paths: others (`/login/start`) may be routes and commands."""
TOP_ROOTS: Final = frozenset(
    "Applications Library Users Volumes bin etc home mnt opt root src tmp usr var".split()
)
"""Folders that stand alone behind a slash."""
QUOTED_ROOTS: Final = "Users home var tmp Volumes private mnt".split()
"""Where files of people are; in quotes, their names may have blanks."""
HOSTS: Final = "com org net io dev ai app edu gov sh co me example invalid test local".split()
"""Ends of hosts' names: what begins with one is an address without its scheme."""
