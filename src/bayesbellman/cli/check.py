"""``bbo check``: hold a reproduction against the paper, cell by cell."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from bayesbellman.cli.options import OrNone


@dataclass(frozen=True)
class Check:
    """Print the paper's numbers beside ours, with a verdict for each; the exit code is 3 if one falls short."""

    artefact: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="ARTEFACT")]
    """What was reproduced (bbo reproduce --list)."""
    results: OrNone[Path] = None
    """Folder that bbo reproduce left. [default: reproduced/ARTEFACT]"""

    def run(self) -> None:
        from bayesbellman.experiments.checking import HEADER, judge, made_quickly
        from bayesbellman.experiments.registry import artefact
        from bayesbellman.runs.tables import aligned

        chosen = artefact(self.artefact)
        folder = self.results if self.results is not None else Path("reproduced") / chosen.name
        expected = chosen.expected()
        if not expected:
            raise ValueError(f"the paper prints no numbers of {chosen.name}, so there is nothing to check it against")
        verdicts = judge(expected, chosen.cells(folder))
        header = (*chosen.header, chosen.source, *HEADER[1:])
        print(aligned(header, [(*verdict.address, *verdict.row) for verdict in verdicts]))
        short = [verdict for verdict in verdicts if not verdict.ok]
        print(f"{len(verdicts) - len(short)} of {len(verdicts)} cells agree with the {chosen.source}.")
        if made_quickly(folder):
            print(f"{folder} was made with --quick, to try the command: too small for any of these verdicts.")
        if short:
            sys.exit(3)
