"""``bbo compare``: training runs against each other."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from bayesbellman.cli.options import Flag, OrNone, RunFolders


@dataclass(frozen=True)
class Compare:
    """Compare training runs over their seeds: final and mean returns with intervals, and who is better than whom.

    Runs that differ in nothing but environments and seeds count as one. All are compared at the last step all have.
    """

    runs: RunFolders
    """Folders that bbo train left; also of runs that go on or broke off."""
    out: Path = Path("compared")
    """Folder for figure, tables and report."""
    overwrite: Flag = False
    """Replace the folder if it exists."""
    at: OrNone[int] = None
    """Compare at this step, without the seeds that ended before. [default: the last step that all have]"""
    failed: Literal["worst", "last", "drop"] = "worst"
    """What stands for seeds that diverged or failed: the lowest evaluation of all, their last one, or nothing."""
    normalise: Annotated[tuple[str, ...], tyro.conf.arg(metavar="ENV=MIN:MAX [...]", help_behavior_hint="")] = ()
    """Bring returns to [0, 1], for each environment. [default: as they are]"""

    def run(self) -> None:
        bounds = dict(_bounds(text) for text in self.normalise) or None
        if not self.runs:
            raise ValueError("RUN: name the folders to compare; bbo runs lists them")
        if self.at is not None and self.at < 1:
            raise ValueError(f"--at is {self.at}; accepted is a number of steps >= 1")

        from bayesbellman.experiments.comparing.analysis import REPORT, write_comparison
        from bayesbellman.experiments.comparing.grouping import read_contenders
        from bayesbellman.experiments.comparing.values import settle
        from bayesbellman.runs.folder import refuse_if_unusable, whole_folder

        refuse_if_unusable(self.out, overwrite=self.overwrite)
        comparison = read_contenders(self.runs)
        settled = settle(comparison, at=self.at, failed=self.failed, bounds=bounds)
        with whole_folder(self.out, overwrite=self.overwrite) as folder:
            text = write_comparison(comparison, settled, folder)
        print(text)
        print(f"Report: {self.out / REPORT}")


def _bounds(text: str) -> tuple[str, tuple[float, float]]:
    env, _, numbers = text.rpartition("=")
    try:
        low, high = (float(number) for number in numbers.split(":"))
    except ValueError:
        low = high = math.nan
    if not env or not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(f"--normalise is {text}; accepted is ENV=MIN:MAX, such as Pendulum-v1=-1600:0")
    return env, (low, high)
