"""A small artefact, declared as a stranger would: squares of seeds, in jobs of two."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from bayesbellman.experiments.artefact import Address, Artefact, Cell, Done, Expected, Job, Judgement, Plan, Request
from bayesbellman.runs.tables import write_csv

ran: list[str] = []
"""Names of the jobs that were run."""
broken: set[str] = set()
"""Names of the jobs that are to fail."""


def plan(request: Request) -> Plan:
    seeds = request.seeds or 6

    def job(first: int) -> Job:
        name = f"squares.{first}"

        def run() -> dict[str, np.ndarray]:
            ran.append(name)
            if name in broken:
                raise ArithmeticError("the square is round")
            return {"square": np.arange(first, min(first + 2, seeds)) ** 2.0}

        return Job(name, min(2, seeds - first), run)

    return Plan({"seeds": seeds}, "seeds", tuple(job(first) for first in range(0, seeds, 2)))


def analyse(plan: Plan, done: Done, folder: Path) -> str:
    squares = np.concatenate([done.results[name]["square"] for name in sorted(done.results)])
    write_csv(folder / "squares.csv", ("square",), [(square,) for square in squares.tolist()])
    (folder / "report.md").write_text("squares", encoding="utf-8")
    return f"{len(squares)} squares, {len(done.failures)} jobs failed"


def cells(folder: Path) -> Mapping[Address, Cell]:
    squares = np.loadtxt(folder / "squares.csv", skiprows=1)
    return {("mean",): Cell(float(squares.mean()), 0.1, 0.0, len(squares), 0)}


def expected() -> Mapping[Address, Expected]:
    return {
        ("mean",): Expected("9.17", lambda cell: Judgement(abs(cell.mean - 9.1667) < 0.01, "to two decimals")),
        ("median",): Expected("6.50", lambda cell: Judgement(True, "any")),
    }


TOY = Artefact("toy", plan, analyse, cells, expected, ("what",))
