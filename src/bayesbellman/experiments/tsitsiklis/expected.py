"""What must come out on the triangle: who converges to V = 0 and who diverges.

The paper claims it of TD(0), TDC, GTD2 and BBO (its `fig:spiral_result`). That BBO is the gradient form there, and that
the two-timescale rule diverges, is ours: for every omega ``phi*(omega) - omega = 1.19``, so that its slow step always
leads away.
"""

import csv
from collections.abc import Mapping
from pathlib import Path

from bayesbellman.experiments.artefact import Address, Cell, Expected, Judgement

PAPER = {"BBO": "converges", "TDC": "converges", "GTD2": "converges", "TD(0)": "diverges"}
OURS = {"BBO, two timescales": "diverges"}
CONVERGED = 0.1
"""Of the error at the start; 300 units of omega, 3,000 steps of 0.1, leave 0.05."""


def expected() -> Mapping[Address, Expected]:
    return {(method,): Expected(word, _rule(word)) for method, word in {**PAPER, **OURS}.items()}


def _rule(word: str):
    def judge(cell: Cell) -> Judgement:
        if word == "converges":
            return Judgement(cell.mean < CONVERGED, "the error falls below a tenth of that at the start")
        return Judgement(cell.mean > 1, "the error ends above that at the start")

    return judge


def cells(folder: Path) -> Mapping[Address, Cell]:
    """Error at the end over that at the start, by method; nothing is random."""
    path = folder / "summary.csv"
    if not path.exists():
        raise FileNotFoundError(f"{folder} holds no summary.csv; make it with: bbo reproduce tsitsiklis --out {folder}")
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    try:
        return {(row["method"],): Cell(float(row["ratio"]), 0.0, 0.0, 1, 0) for row in rows}
    except (KeyError, TypeError, ValueError) as error:
        again = f"make it with: bbo reproduce tsitsiklis --out {folder} --overwrite"
        raise ValueError(f"{path} is damaged ({error!r}); {again}") from error
