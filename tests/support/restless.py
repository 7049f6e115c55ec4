"""A program that treats session files as harnesses, editors and crashes do: run it with a folder and a seed."""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

from tests.support.pi_files import header, said


class RestlessWriter:
    """Write sessions of pi below a folder: append, tear, truncate, rewrite, replace, rename, move and delete."""

    def __init__(self, folder: Path, seed: int, pause: float = 0.02) -> None:
        self._folder, self._random, self._pause = folder, random.Random(seed), pause
        self._names = (f"{seed}-{number}" for number in count())
        self._ids = (f"e{seed}x{number}" for number in count())
        self.files = sorted(folder.glob("*/*.jsonl"))

    def act(self) -> None:
        """Do something to a file at random; most often append."""
        acts: list[Callable[[], None]] = [self.append] * 12 + [self.tear] * 4
        acts += [self.truncate, self.rewrite, self.replace, self.rename, self.move, self.delete]
        if len(self.files) < 6:
            acts += [self.begin] * 4
        (self._random.choice(acts) if self.files else self.begin)()
        time.sleep(self._random.uniform(0, 2 * self._pause))

    def begin(self) -> None:
        name = next(self._names)
        path = self._new_folder() / f"{name}.jsonl"
        path.write_bytes(header(3, session=f"0199aaaa-0000-7000-8000-{name}"))
        self.files.append(path)

    def append(self) -> None:
        with self._any().open("ab") as file:
            for _ in range(self._random.choice([1, 1, 1, 2, 20])):
                file.write(self._line())

    def tear(self) -> None:
        """Write the halves of a line with a pause between them."""
        line = self._line()
        middle = self._random.randrange(1, len(line))
        with self._any().open("ab", buffering=0) as file:
            file.write(line[:middle])
            time.sleep(self._random.uniform(0, 10 * self._pause))
            file.write(line[middle:])

    def truncate(self) -> None:
        path = self._any()
        os.truncate(path, self._random.randrange(path.stat().st_size + 1))

    def rewrite(self) -> None:
        """Change a file in its place, as an editor may."""
        path = self._any()
        path.write_bytes(self._changed(path.read_bytes()))

    def replace(self) -> None:
        """Put another file in a file's place in one step."""
        path = self._any()
        beside = path.with_suffix(".tmp")
        beside.write_bytes(self._changed(path.read_bytes()))
        beside.replace(path)

    def rename(self) -> None:
        self._move_to(self._any().parent)

    def move(self) -> None:
        self._move_to(self._new_folder())

    def delete(self) -> None:
        path = self._any()
        self.files.remove(path)
        path.unlink()

    def _any(self) -> Path:
        return self._random.choice(self.files)

    def _line(self) -> bytes:
        return said("word " * self._random.randrange(50), next(self._ids), None)

    def _changed(self, content: bytes) -> bytes:
        lines = content.splitlines(keepends=True)
        kept = [each for each in lines if each is lines[0] or self._random.random() < 0.8]
        return b"".join([*kept, self._line()])

    def _new_folder(self) -> Path:
        folder = self._folder / f"--day-{self._random.randrange(4)}--"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _move_to(self, folder: Path) -> None:
        path = self._any()
        target = folder / f"{next(self._names)}.jsonl"
        path.rename(target)
        self.files[self.files.index(path)] = target


def main() -> None:
    writer = RestlessWriter(Path(sys.argv[1]), int(sys.argv[2]))
    while True:
        writer.act()
        sys.stdout.write("\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
