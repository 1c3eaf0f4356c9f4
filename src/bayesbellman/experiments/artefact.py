"""What an artefact of the paper declares: what to run, how to show it, what is expected of it. To add one:

- a folder ``experiments/<name>/`` with ``sweep.py`` (a `Plan` of jobs), ``analysis.py`` (tables, figures, a report) and
  ``expected.py`` (the paper's numbers with a tolerance and a reason), and in its ``__init__.py`` an `Artefact`;
- one row in `experiments.registry`.

Progress, parallel jobs, resuming, output folders and verdicts are then shared.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bayesbellman.runs.provenance import provenance

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Request:
    """What the user asks for; empty tuples are everything."""

    quick: bool = False
    seeds: int | None = None
    tasks: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    sizes: tuple[str, ...] = ()
    """Of tasks that come in sizes"""
    steps: int | None = None
    """Of each run, for studies that can be made shorter"""


class Paused(Exception):
    """A job has been told to stop and has put down what it has; it goes on when it is run again."""

    def __init__(self, so_far: Arrays | None = None) -> None:
        super().__init__()
        self.so_far = so_far
        """Of its result, what there is"""


@dataclass(frozen=True)
class Desk:
    """What a job that is made in pieces is given: where it puts down its work, and who tells it when."""

    folder: Path | None = None
    """Of the job alone; None: nothing is put down."""
    must_stop: Callable[[float], bool] = lambda seconds: False
    """Whether to put it all down now, as so many seconds more would be too many."""
    report: Callable[[int], None] = lambda units: None
    """Takes the units that are done so far, those of earlier pieces included."""
    resumed: Callable[[int], None] = lambda units: None
    """Takes the units that earlier pieces have done, before anything is added to them."""


class Job(NamedTuple):
    """A part of the work that is done, and kept, as one."""

    name: str
    """Unique; the name of the file that keeps its result."""
    units: int
    run: Callable[..., Arrays]
    """Of nothing, or of a `Desk`"""
    in_pieces: bool = False
    """``run`` takes a `Desk`, and ends with `Paused` where it is told to stop."""


class Plan(NamedTuple):
    """All of the work. ``settings`` describe it as JSON: interrupted work is resumed only under the same settings."""

    settings: dict[str, object]
    unit: str
    jobs: tuple[Job, ...]


class Done(NamedTuple):
    """What came of a plan: results by job, and what went wrong by job."""

    results: Mapping[str, Arrays]
    failures: Mapping[str, str]
    seconds: float = float("nan")
    """How long it took, with the pieces that were stopped in order, without those that were killed."""
    resumed: int = 0
    """Jobs that were already done."""
    unfinished: tuple[str, ...] = ()
    """Jobs that are still to be done; their results are what there is of them so far."""

    @property
    def lacks(self) -> list[str]:
        """What a reader must know of it, a sentence each."""
        failed = [f"Job {name} failed: {why}." for name, why in self.failures.items()]
        return failed + [f"Job {name} is not finished." for name in self.unfinished]


class Cell(NamedTuple):
    """One number of ours, by its address in the artefact."""

    mean: float
    stderr: float
    spread: float
    """Deviation between repetitions of the paper's experiment that its seeds do not fix; 0 where they fix all."""
    runs: int
    """Runs that ended with a finite number; the mean is over them."""
    failed: int
    """Runs that did not."""


def mean_cell(numbers: Sequence[float]) -> Cell:
    """The mean of a number of each run, and its standard error, which one run alone does not tell."""
    finite = np.isfinite(numbers)
    each = np.asarray(numbers, float)[finite]
    if not len(each):
        return Cell(np.nan, np.nan, 0.0, 0, len(numbers))
    error = float(np.std(each, ddof=1) / np.sqrt(len(each))) if len(each) > 1 else np.nan
    return Cell(float(np.mean(each)), error, 0.0, len(each), int(np.sum(~finite)))


class Judgement(NamedTuple):
    """Whether a number of ours agrees, and by which rule: the tolerance and its reason, in words."""

    agrees: bool
    rule: str


class Expected(NamedTuple):
    """One number of the paper, and when ours agrees with it."""

    printed: str
    judge: Callable[[Cell], Judgement]
    optional: bool = False
    """Of what a study makes only if it is asked to: judged where it is there"""


Address = tuple[str, ...]


@dataclass(frozen=True)
class Artefact:
    """A table or figure of the paper, as data."""

    name: str
    plan: Callable[[Request], Plan]
    analyse: Callable[[Plan, Done, Path], str]
    """Writes tables, figures and ``report.md`` into the folder; returns what to print."""
    cells: Callable[[Path], Mapping[Address, Cell]]
    """Our numbers, read back from a folder that `analyse` wrote."""
    expected: Callable[[], Mapping[Address, Expected]]
    header: tuple[str, ...]
    """Names of an address's parts."""
    options: tuple[str, ...] = ()
    """Of a `Request`, what only some artefacts have: ``sizes``, ``steps``."""
    source: str = "paper"
    """Whose claims `expected` has: what is not in the paper has claims of its own, made before it was run unless
    `expected` says otherwise."""


def origin(plan: Plan, done: Done) -> dict[str, object]:
    """What it takes to make a result again, how long it took, and what failed: for its ``provenance.json``."""
    took = {"seconds": round(done.seconds, 1), "jobs": len(plan.jobs), "jobs_resumed": done.resumed}
    lacks = {"unfinished": list(done.unfinished)} if done.unfinished else {}
    return {"settings": plan.settings, "failures": dict(done.failures), **lacks, **took, **provenance()}


def slug(name: str) -> str:
    """A name that files can have too."""
    return "".join(c if c.isalnum() or c == "." else "-" for c in name.lower().replace("*", "-star")).strip("-")


def refuse(study: str, request: Request, *kinds: str) -> None:
    """What a study has no choice of."""
    for kind in kinds:
        if asked := getattr(request, kind):
            raise ValueError(f"--{kind} is {', '.join(asked)}; {study} has no {kind} to choose from, leave it out")


def choose(kind: str, asked: tuple[str, ...], existing: tuple[str, ...]) -> tuple[str, ...]:
    """Those asked for, in the order in which they exist; all if none is asked for."""
    unknown = [repr(name) for name in asked if name not in existing]
    if unknown:
        there = ", ".join(map(repr, existing))  # in quotes, as some have commas
        raise ValueError(f"--{kind}: there is no {', '.join(unknown)}; there are {there}")
    return tuple(name for name in existing if name in asked) if asked else existing
