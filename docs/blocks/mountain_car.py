"""Of sparse MountainCar: who solved it and when, and what the ensemble and the prior are worth."""

from pathlib import Path

from blocks.reading import RESULTS, head, line, runs_in_a_cell, table_of
from blocks.seed_by_seed import check_of, study_of

OURS = RESULTS / "mountain_car"
"""With the default recipe"""
PAPER_RATE = RESULTS / "mountain_car_paper_rate"
"""RP-BBAC and BAC at the paper's learning rate, 3e-4, with the entropy bonus and without"""


def mountain_car() -> str:
    """Who solved it, when, and whether it stayed solved; target entropies; what the check says."""
    from bayesbellman.experiments.mountain_car import ARTEFACT

    entropies = table_of(OURS / "entropies.csv")
    lines = [*_agents(OURS), "", *head(list(entropies[0])), *(line(row.values()) for row in entropies)]
    made = f"{check_of(ARTEFACT, OURS)} {study_of(OURS)}"
    return "\n".join([*lines, "", made])


def mountain_car_paper_rate() -> str:
    """At the paper's learning rate."""
    return "\n".join([*_agents(PAPER_RATE), "", study_of(PAPER_RATE)])


def _agents(folder: Path) -> list[str]:
    """Who solved it, when, and whether it stayed solved."""
    first = {(row["agent"], row["seed"]): row["solved_at"] for row in table_of(folder / "seeds.csv")}
    later: dict[str, list[bool]] = {}
    for row in table_of(folder / "curves.csv"):
        solved = first[row["agent"], row["seed"]]
        if solved and int(row["step"]) > int(solved):
            later.setdefault(row["agent"], []).append(float(row["return"]) > 90)
    names = ("agent", "seeds", "solved", "steps to solve, median", "of evaluations after that, above 90")
    lines = head((*names, "solved at the end", "mean return at the end"))
    for row in table_of(folder / "summary.csv"):
        found = later.get(row["agent"])
        share = f"{100 * sum(found) / len(found):.1f} %" if found else "-"
        parts = (row["agent"], row["seeds"], row["solved"], row["steps to solve, median"], share)
        lines.append(line((*parts, row["solved at the end"], row["mean"])))
    return lines


def mountain_car_sensitivity() -> str:
    """With the paper's networks, and what the check says."""
    from bayesbellman.experiments.mountain_car_sensitivity import ARTEFACT

    folder = RESULTS / "mountain_car_sensitivity"
    return "\n".join([*_changes(folder), "", f"{check_of(ARTEFACT, folder)} {study_of(folder)}"])


def mountain_car_sensitivity_narrow() -> str:
    """With layers of 64."""
    folder = RESULTS / "mountain_car_sensitivity_narrow"
    return "\n".join([*_changes(folder), "", study_of(folder)])


def _changes(folder: Path) -> list[str]:
    """Each change, run by run in the order of seeds."""
    from bayesbellman.experiments.mountain_car_sensitivity.outcomes import read_runs
    from bayesbellman.experiments.mountain_car_sensitivity.sweep import RANGES

    groups = read_runs(folder)
    lines = head(("changed", "value", "solved", "solved after", "of evaluations after that, above 90", "final returns"))
    for axis in RANGES.axes:
        for value, runs in RANGES.along(axis, groups).items():
            solved = [run for run in runs if run.solved_at < float("inf")]
            lasting = [run.lasting for run in solved if run.lasting == run.lasting]
            cells = [axis, f"{value:g}", f"{len(solved)} of {len(runs)}"]
            cells += [runs_in_a_cell(f"{run.solved_at:,.0f}" if run in solved else "-" for run in runs)]
            cells += [f"{100 * sum(lasting) / len(lasting):.0f} %" if lasting else "-"]
            cells += [runs_in_a_cell(f"{run.final_return:.0f}" for run in runs)]
            lines.append(line(cells))
    return lines
