"""``bbo reproduce``: make an artefact of the paper again."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from bayesbellman.cli.options import Flag, Names, OrNone
from bayesbellman.cli.saying import say

if TYPE_CHECKING:
    from bayesbellman.experiments.artefact import Request


@dataclass(frozen=True)
class Reproduce:
    """Make a table or figure of the paper again, and leave tables, figures and a report.

    A run that was stopped goes on where it was when the same command is given again.
    """

    artefact: Annotated[OrNone[str], tyro.conf.Positional, tyro.conf.arg(metavar="ARTEFACT")] = None
    """What to reproduce; --list names what there is."""
    out: OrNone[Path] = None
    """Folder for the results. [default: reproduced/ARTEFACT]"""
    quick: Flag = False
    """A few runs of everything: a check that it works, not a result."""
    seeds: OrNone[int] = None
    """Independent runs of each task and method. [default: the paper's, or the study's]"""
    tasks: Names = None
    """Only these tasks. [default: all]"""
    methods: Names = None
    """Only these methods. [default: the study's]"""
    variants: Names = None
    """Only these variants: as published, corrected, and so on. [default: the study's]"""
    sizes: Names = None
    """Only these sizes, 10 14 20 or 10..50. For deep-sea. [default: all]"""
    steps: OrNone[int] = None
    """Steps of each run. For studies of MountainCar and the cart-pole, sparse-tasks. [default: the study's]"""
    minutes: OrNone[float] = None
    """Stop within this time and keep what there is; the same command goes on. [default: as long as it takes]"""
    jobs: Names = None
    """Only these jobs of it, in this order; they are kept for the command that makes the whole. [default: all]"""
    list: Flag = False
    """Name what can be reproduced, or the jobs of ARTEFACT."""
    overwrite: Flag = False
    """Replace the results folder if it exists; drop an interrupted run that was asked for something else."""

    def run(self) -> None:
        from bayesbellman.experiments.registry import TITLES, artefact

        if self.artefact is None:
            print("\n".join(f"{name}: {title}" for name, title in TITLES.items()))
            if not self.list:
                raise ValueError("name what to reproduce, one of the above")
            return
        chosen = artefact(self.artefact)
        request = self.request(chosen.name, chosen.options)
        if self.list:
            plan = chosen.plan(request)
            print("\n".join(f"{job.name}: {job.units:,} {plan.unit}" for job in plan.jobs))
            return

        from bayesbellman.experiments.running import reproduce

        out = self.out if self.out is not None else Path("reproduced") / chosen.name
        jobs = self.jobs or ()
        outcome = reproduce(chosen, request, out, overwrite=self.overwrite, say=say, minutes=self.minutes, jobs=jobs)
        print(outcome.text)
        if outcome.written:
            print(f"Report: {out / 'report.md'}")
        if not outcome.complete:
            again = "with --overwrite tries them again and keeps the rest" if outcome.written else "tries them again"
            say(f"some jobs failed; the same command {again}")
            sys.exit(3)

    def request(self, name: str, options: tuple[str, ...]) -> "Request":
        """What is asked of the artefact of that name, which has those options beyond the common ones."""
        from bayesbellman.experiments.artefact import Request

        chosen_names = {"tasks": self.tasks, "methods": self.methods, "variants": self.variants, "sizes": self.sizes}
        for kind, names in {**chosen_names, "jobs": self.jobs}.items():
            if names == ():
                raise ValueError(f"--{kind} is there without names; give some, or leave it out for all")
        for kind, given in (("sizes", self.sizes), ("steps", self.steps)):
            if given is not None and kind not in options:
                words = " ".join(given) if isinstance(given, tuple) else given
                raise ValueError(f"--{kind} is {words}; {name} has none to choose from, leave it out")
        chosen_names = {kind: names or () for kind, names in chosen_names.items()}
        return Request(self.quick, self.seeds, steps=self.steps, **chosen_names)
