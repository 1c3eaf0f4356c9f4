"""The paper's two linear tables, cell by cell, and when a number of ours agrees with one of theirs.

Tables `tab:linear_policy_evaluation_final_MSE` and `tab:linear_policy_evaluation_sum_RMSE`. Both are of root mean
squared errors: the first caption says MSE, but its numbers are means of sqrt(MSE).
"""

import math
from collections.abc import Mapping

from bayesbellman.data.datasets import TASKS
from bayesbellman.experiments.artefact import Address, Cell, Expected, Judgement
from bayesbellman.experiments.linear.methods import METHODS

TABLES = {"final": "RMSE at the last checkpoint", "sum": "sum of the RMSE over checkpoints"}

FINAL = """
boyan                 0.16  6.89  0.36  0.40  0.10  0.16  2.32
disc_random_on        0.07  1.34  1.09  0.69  0.07  0.07  0.08
disc_random_off       0.11  2.03  1.02  1.33  0.11  9.50  0.11
lqr_imp_onpolicy      2.46  2.37  2.51  2.51  2.60  2.60  3.58
lqr_imp_offpolicy     2.42  2.33  2.44  2.44  2.47  4.17  4.37
lqr_full_onpolicy     0.15  3.13  0.72  1.75  0.15  0.15  1.93
lqr_full_offpolicy    0.17  4.04  0.57  2.10  0.17  1.38  1.95
link20_imp_onpolicy   4.26  4.41  4.31  4.75  4.27  4.26  7.71
link20_imp_offpolicy  4.17  8.01  4.25  4.25  4.17  8.04  7.68
"""
SUM = """
boyan                  33.46  841.45   61.33   61.55   25.06   32.21  214.35
disc_random_on         24.74  342.56  122.51  119.84   24.74   27.75   27.87
disc_random_off        29.65  442.96  113.30  266.36   29.65    >1e3   32.13
lqr_imp_onpolicy       76.99   89.96   79.65   79.61   81.56   81.56  109.88
lqr_imp_offpolicy     243.86  291.02  253.96  253.88  253.53    >1e3  438.94
lqr_full_onpolicy      13.51  116.98   31.85   68.75   13.51   13.51   62.78
lqr_full_offpolicy     24.58  267.92   67.91  159.23   24.57  681.19  122.12
link20_imp_onpolicy   428.98  555.56  441.97  508.58  431.56  428.97  770.76
link20_imp_offpolicy  415.37  802.78  470.12  470.20  421.74  804.45  768.59
"""

HALF_DIGIT = 0.005
FLOAT32 = {("sum", "lqr_full_offpolicy", "BBO"): 0.01}
"""Cells that hang on the order in which float32 sums were rounded: how far the last digit may be off."""


def expected() -> Mapping[Address, Expected]:
    """All 126 cells, by table, task and method."""
    return {
        (table, task, method): _cell(table, task, method, printed)
        for table, text in (("final", FINAL), ("sum", SUM))
        for task, *row in (line.split() for line in text.strip().splitlines())
        for method, printed in zip(METHODS, row, strict=True)
    }


def _cell(table: str, task: str, method: str, printed: str) -> Expected:
    if printed.startswith(">"):
        floor = float(printed[1:])
        return Expected(printed, lambda cell: Judgement(cell.mean > floor, "exceeds it"))
    value = float(printed)
    if TASKS[task].runs_per_draw is not None:
        return Expected(printed, lambda cell: _of_another_draw(cell, value))
    slack = FLOAT32.get((table, task, method), 0.0)
    return Expected(printed, lambda cell: _of_these_seeds(cell, value, TASKS[task].runs, slack))


def _of_another_draw(cell: Cell, value: float) -> Judgement:
    """Ours is a mean over draws of the problem, theirs one draw's. In logarithms: errors are positive."""
    tolerance = 3 * math.hypot(cell.stderr, cell.spread) / cell.mean if cell.mean > 0 else math.nan
    ok = cell.mean > 0 and abs(math.log(cell.mean / value)) <= tolerance + HALF_DIGIT / value
    return Judgement(ok, f"within a factor of {math.exp(tolerance):.2f}, 3 deviations: theirs is one unseeded draw")


def _of_these_seeds(cell: Cell, value: float, paper_runs: int, slack: float) -> Judgement:
    """Seeds are the paper's from 0 on: all of them, some of them, or more."""
    if cell.runs == paper_runs:
        rule = "to the printed two decimals" + (", the last one off by float32 rounding" if slack else "")
        return Judgement(abs(round(cell.mean, 2) - value) < slack + HALF_DIGIT, rule)
    # One sample holds the other, so the variance of the difference is s^2 |1/n - 1/N|.
    allowed = errors_allowed(cell.runs)
    tolerance = allowed * cell.stderr * math.sqrt(abs(1 - cell.runs / paper_runs)) + HALF_DIGIT
    return Judgement(
        abs(cell.mean - value) <= tolerance,
        f"within {allowed:.1f} errors, {tolerance:.2g}: not the paper's {paper_runs} runs",
    )


def errors_allowed(runs: int) -> float:
    """As many standard errors as 3 are for many runs: Student's t, whose tails are heavy while the error is a guess.

    By the expansion of its quantile in powers of 1/(runs - 1).
    """
    z, dof = 3.0, max(runs - 1, 1)
    first, second = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / dof + second / dof**2 + third / dof**3
