"""The words that tell a path from prose with a slash and from names in code."""

from __future__ import annotations

from typing import Final

from projections.extraction.words import words

EXTENSIONS: Final = words(
    "bash bat bmp c cc cfg cjs class conf cpp cs css csv cxx dart db diff dll erl exe exs fish gif go gradle graphql"
    " gz h hpp hs htm html ico ini ipynb jar java jpeg jpg js json json5 jsonc jsonl jsx kt kts less lock log lua m4a"
    " md mdc mdx mjs mk mov mp3 mp4 mts otf patch pdf php plist png proto ps1 pxd py pyc pyi pyx rb rs rst sass scala"
    " scss sh sql sqlite sqlite3 svelte svg swift tar tex tf tgz toml ts tsbuildinfo tsv tsx ttf txt vue wasm wav webm"
    " webp whl woff woff2 xls xlsx xml yaml yml zig zip zsh"
)
"""What the names of files end in; also a name without a folder is one with such an end."""
CONFIG_EXTENSIONS: Final = words("cjs js json mjs toml yaml yml")
"""Extensions of files whose names begin with a full stop."""
MEMBERS: Final = words("c class conf cfg cs db diff go h html lock log patch sql zip")
"""Extensions that members of objects are called by, too."""
OWNERS: Final = words(
    "Math app args cfg checkpoint cls config console ctx data document err event item logger math module options opts"
    " process props req res result self state summary super theme this window"
)
"""Objects whose members have such names, as single letters are: `console.log` is no file."""
BRANDS: Final = words(
    "Alpine.js Chart.js D3.js Discord.js Ember.js Express.js Next.js Node.js Nuxt.js React.js Three.js Vue.js next.js"
    " node.js three.js vue.js"
)
"""Products that are written like files."""
NAMES: Final = words(
    "Brewfile Containerfile Dockerfile GNUmakefile Gemfile Jenkinsfile Justfile Makefile Pipfile Procfile Rakefile"
    " Vagrantfile"
)
"""Files without an extension; `README` and `LICENSE` are as often words of prose."""
MODULES: Final = words("go.mod go.sum go.work")
"""Files whose extensions are too rare, and too much like members of objects, to count elsewhere."""
DOTFILES: Final = words(
    ".bash_history .bash_profile .bashrc .dockerignore .editorconfig .env .eslintrc .git .gitattributes .gitconfig"
    " .gitignore .gitkeep .gitmodules .netrc .npmignore .npmrc .nvmrc .prettierignore .prettierrc .profile .pypirc"
    " .zprofile .zshrc"
)

FOLDERS: Final = words(
    "__pycache__ __tests__ apps cmd crates dist etc internal lib libs node_modules opt packages pkg src target tmp usr"
    " var vendor"
)
"""First folders that make a path of what has no extension."""
WEAK_FOLDERS: Final = words(
    "app assets bench bin build client components config core demo docs examples hooks models modules plugins public"
    " resources scripts server spec specs static styles templates test tests tools utils web work"
)
"""First folders that are words of prose, too: only within quotes, or with two more parts."""
NO_FOLDERS: Final = words("bugfix feat feature fix heads hotfix origin refs release remotes s upstream y")
"""First parts of git's references and branches, and of `s/this/that/`."""
ROOTS: Final = words(
    "Applications Library System Users Volumes app bin boot build code data dev etc home lib media mnt nix opt private"
    " proc repo root run sbin src srv sys testbed tmp usr var work workdir workspace workspaces"
)
"""First folders of absolute paths without an extension: others (`/login/start`) may be routes."""
TOP_ROOTS: Final = words("Applications Library Users Volumes bin etc home mnt opt root src tmp usr var")
"""Folders that stand alone behind a slash."""
HOMES: Final = words("Users Volumes home mnt private tmp var")
"""Where files of people are: in quotes, their names may have blanks."""
HOSTS: Final = words("ai app co com dev edu example gov invalid io local me net org sh test")
"""Ends of hosts' names: what begins with one is an address without its scheme."""
