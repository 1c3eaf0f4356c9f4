"""``bbo tune``: search settings by the paper's protocol."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from bayesbellman.cli.options import Flag, Names, OrNone

STUDIES = {"nonlinear": "nonlinear_tuning"}
"""Studies that have settings to search, and the artefact of each search."""


@dataclass(frozen=True)
class Tune:
    """Search the settings of a study's methods on tuning data, and leave a table of what was tried and chosen."""

    study: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="STUDY")]
    """nonlinear: policy evaluation with networks."""
    out: OrNone[Path] = None
    """Folder for the results. [default: reproduced/STUDY_tuning]"""
    quick: Flag = False
    """A check that it works, not a search."""
    seeds: OrNone[int] = None
    """Tuning data sets. [default: the paper's 3]"""
    tasks: Names = None
    """Only these tasks. [default: all]"""
    methods: Names = None
    """Only these methods, and those searched together with them. [default: all]"""
    overwrite: Flag = False
    """Replace the results folder if it exists; drop an interrupted search that was asked for something else."""

    def run(self) -> None:
        from bayesbellman.cli.reproduce import Reproduce

        if self.study not in STUDIES:
            raise ValueError(f"there is no study {self.study!r} to tune; there are: {', '.join(STUDIES)}")
        asked = {name: getattr(self, name) for name in ("out", "quick", "seeds", "tasks", "methods", "overwrite")}
        Reproduce(STUDIES[self.study], **asked).run()
