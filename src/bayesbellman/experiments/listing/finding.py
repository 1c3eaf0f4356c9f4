"""Finds runs and studies below folders: a few levels deep, links not followed, no file opened that need not be."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from bayesbellman.experiments.training.plan import CONFIG, METRICS
from bayesbellman.experiments.training.reading import is_run
from bayesbellman.experiments.work_folder import SETTINGS
from bayesbellman.runs.folder import OURS

DEPTH = 4
"""Levels below a folder that was asked for"""
MOST_FOLDERS = 20_000
"""That are looked into; what was not is said"""
PART = ".part"
PASSED = {"node_modules", "__pycache__", "site-packages"}
"""Folders that hold many files and none of ours; so do those whose names begin with a dot"""


class Found(NamedTuple):
    """A folder of ours: a training run, or the kept jobs of a study that has not ended."""

    folder: Path
    kind: Literal["run", "study"]


class Search:
    """A walk below folders. ``cut``: whether some were left out because there are too many."""

    def __init__(self, folders: Sequence[Path], depth: int = DEPTH, most: int = MOST_FOLDERS) -> None:
        self.folders, self.depth, self.most = folders, depth, most
        self.looked, self.cut = 0, False
        self.closed: list[Path] = []
        """Folders that we may not look into"""

    def __iter__(self) -> Iterator[Found]:
        seen: set[Path] = set()
        for folder in self.folders:
            for found in self._below(folder, self.depth):
                place = found.folder.resolve()
                if place not in seen:
                    seen.add(place)
                    yield found

    def _below(self, folder: Path, depth: int) -> Iterator[Found]:
        if self.looked >= self.most:
            self.cut = True
            return
        self.looked += 1
        try:
            with os.scandir(folder) as entries:
                inside = {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
        except OSError:
            self.closed.append(folder)
            return
        if folder.name.endswith(PART) and SETTINGS in inside:
            yield Found(folder, "study")
        elif _is_ours(folder, inside):
            yield Found(folder, "run")
        elif depth > 0:
            for name in sorted(name for name, is_folder in inside.items() if is_folder):
                if not name.startswith(".") and name not in PASSED:
                    yield from self._below(folder / name, depth - 1)


def _is_ours(folder: Path, inside: dict[str, bool]) -> bool:
    """Whether a run began here; also one whose files are damaged, by what lies beside them."""
    if CONFIG in inside and is_run(folder):
        return True
    if METRICS in inside and (CONFIG in inside or OURS in inside):
        return True
    if OURS not in inside:
        return False
    try:
        listed = (folder / OURS).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return False
    return CONFIG in listed and (METRICS in listed or any(name.startswith("seed-") for name in listed))
