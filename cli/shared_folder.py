"""Many paths told shortly: by the folder that most of them are in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence


def shared_folder(paths: Sequence[str]) -> str:
    """The deepest folder that at least two paths and three in four are in, with its slash; "" for none."""
    counts = Counter(folder for path in paths for folder in _folders(path))
    shared = [folder for folder, count in counts.items() if count > 1 and count * 4 >= len(paths) * 3]
    return max(shared, key=len, default="")


def _folders(path: str) -> Iterator[str]:
    end = path.find("/", 1)
    while end != -1:
        yield path[: end + 1]
        end = path.find("/", end + 1)
