"""What is claimed of Deep Sea: BootDQN+Prior learns it at every size, DQN not beyond about 14; the prior is needed.

Osband et al. (2018) print curves, no numbers; the claims are theirs and ours, the bounds are ours. That the prior is
needed was claimed of size 20 before it was run, and is wrong there: most runs learn it without. It is asked of size 30
too, since runs there had shown it, so that its agreement is no test.
"""

import csv
import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path

from bayesbellman.experiments.artefact import Address, Cell, Expected, Judgement, mean_cell
from bayesbellman.experiments.deep_sea.sweep import BASELINE, BASELINE_SIZES, FULL, FULL_AGENT, SIZES

LARGEST_ASKED = 30
GROWTH = (f"{FULL_AGENT}, exponent of N", f"{SIZES[0]} to {SIZES[-1]}")
POLYNOMIAL = 3.0
"""An exponent that nothing exponential would stay below over these sizes: 2^N grows by N^20 from 10 to 50"""


def expected() -> Mapping[Address, Expected]:
    def learnt(least: float, rule: str) -> Callable[[Cell], Judgement]:
        return lambda cell: Judgement(cell.mean >= least, rule)

    def not_learnt(most: float, rule: str) -> Callable[[Cell], Judgement]:
        return lambda cell: Judgement(cell.mean <= most, rule)

    claims: dict[Address, Expected] = {}
    for size in SIZES:
        if size <= LARGEST_ASKED:
            claims[FULL_AGENT, f"{size}"] = Expected("learns", learnt(0.9, "at least 9 of 10 runs learn"))
    for size in BASELINE_SIZES:
        if size > 14:
            claims[BASELINE, f"{size}"] = Expected("does not", not_learnt(0.2, "at most a fifth of the runs learns"))
    for agent, size in (("no prior", FULL.harder_size), ("1 member", FULL.ablation_size)):
        claims[agent, f"{size}"] = Expected("does not", not_learnt(0.2, "at most a fifth of the runs learns"))
    claims["no prior", f"{FULL.ablation_size}"] = Expected(
        "does not", not_learnt(0.5, "at most half of the runs learn")
    )
    claims[GROWTH] = Expected(
        "polynomial", lambda cell: Judgement(cell.mean + 2 * cell.stderr < POLYNOMIAL, f"below {POLYNOMIAL:g}")
    )
    return claims


def cells(folder: Path) -> Mapping[Address, Cell]:
    """Share of the runs that learnt, and the exponent of the learning time."""
    again = f"bbo reproduce deep-sea --out {folder}"
    for name in ("runs.csv", "growth.json"):
        if not (folder / name).exists():
            raise FileNotFoundError(f"{folder} holds no {name}; make it with: {again}")
    learnt: dict[Address, list[float]] = defaultdict(list)
    try:
        with (folder / "runs.csv").open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                learnt[row["agent"], f"{int(row['size'])}"].append(1.0 if row["learning_time"] else 0.0)
        growth = json.loads((folder / "growth.json").read_text(encoding="utf-8"))
        exponent = (float(growth["exponent"]), float(growth["exponent_stderr"])) if growth else None
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{folder} is damaged ({error!r}); make it with: {again} --overwrite") from error
    found = {address: mean_cell(each) for address, each in learnt.items()}
    if exponent is not None:
        runs = sum(int(sum(each)) for (agent, _), each in learnt.items() if agent == FULL_AGENT)
        found[GROWTH] = Cell(*exponent, 0.0, runs, 0)
    return found
