"""Of the studies of the sparse cart-pole."""

from pathlib import Path

from blocks.reading import RESULTS, Row, facts, head, line, runs_in_a_cell, table_of
from blocks.seed_by_seed import check_of, rows_by_group, run_table, steps_of, study_of

from bayesbellman.experiments.cartpole.task import SUCCESS
from bayesbellman.experiments.sensitivity.sweep import RANGES

POLES = RESULTS / "cartpole"
PAPER = RESULTS / "cartpole_paper"
"""RP-BBAC with the paper's own recipe is a study of its own,"""
SIXTEEN = RESULTS / "cartpole_16"
"""and so is RP-BBAC with 16 members"""
SENSITIVITY = RESULTS / "sensitivity"
LEVERS = RESULTS / "cartpole_levers_ours"
OTHER_PRIORS = (RESULTS / "cartpole_no_prior", RESULTS / "cartpole_anchored")
"""Shorter, and so studies of their own"""
LATE = 500_000
"""Steps after which members have settled, as far as they do"""


def cartpole() -> str:
    """Every run of the paper's cart-pole."""
    steps = {
        "first_reward": "first reward",
        "first_success": "first success",
        "sustained_from": "above 500 from here on",
    }
    lines = run_table("agent", _agents("runs.csv"), steps)
    for folder in (POLES, PAPER, SIXTEEN):
        lines += ["", study_of(folder)]
    return "\n".join(lines)


def _agents(table: str) -> dict[str, list[Row]]:
    """Rows of that table by agent, those of RP-BBAC first."""
    agents = rows_by_group(POLES / table, PAPER / table, SIXTEEN / table)
    return dict(sorted(agents.items(), key=lambda item: not item[0].startswith("RP-BBAC")))


def cartpole_steadiness() -> str:
    """How lasting success is, and how far members disagree, of the evaluations that curves.csv has."""
    header = ("agent", "of evaluations after the first success, above 500", "worst run")
    lines = head((*header, "disagreement at first", f"after more than {LATE:,} steps"))
    apart = set()
    for agent, rows in _agents("curves.csv").items():
        runs = _by_seed(rows).values()
        above = [_above_after_first(run) for run in runs]
        succeeded = [flags for flags in above if flags]
        shares = ("-", "-")
        if succeeded:
            together = sum(map(sum, succeeded)) / sum(map(len, succeeded))
            shares = (f"{together:.1%}", f"{min(sum(flags) / len(flags) for flags in succeeded):.1%}")
        early = [float(run[0]["disagreement"]) for run in runs]
        late = [float(row["disagreement"]) for row in rows if int(row["step"]) > LATE]
        lines.append(line([agent, *shares, _range(early), _range(late)]))
        apart |= {int(run[0]["step"]) for run in runs}
    each = " or ".join(f"{steps:,}" for steps in sorted(apart))
    return "\n".join(
        [*lines, "", f"Of the same runs, an evaluation after each {each} steps: curves.csv of the three studies."]
    )


def cartpole_sensitivity() -> str:
    """Every run by what was changed. Those with the paper's numbers are the same on each axis."""
    from bayesbellman.experiments.sensitivity import ARTEFACT

    runs, curves = (_by_change(SENSITIVITY / table) for table in ("runs.csv", "curves.csv"))
    made = f"{check_of(ARTEFACT, SENSITIVITY)} {study_of(SENSITIVITY)}"
    return "\n".join([*_successes("changed", runs, curves), "", made])


def cartpole_levers_ours() -> str:
    """Every run by lever, with our recipe; those of other priors are shorter."""
    runs, curves = (_by_lever(table) for table in ("runs.csv", "curves.csv"))
    made = [study_of(folder) for folder in (LEVERS, *OTHER_PRIORS)]
    return "\n\n".join(["\n".join(_successes("lever", runs, curves)), *made])


def _by_lever(table: str) -> dict[str, list[Row]]:
    """Rows of that table; levers of shorter studies say so."""
    groups = rows_by_group(LEVERS / table)
    for folder in OTHER_PRIORS:
        groups |= {f"{name}, {steps_of(folder)}": rows for name, rows in rows_by_group(folder / table).items()}
    return groups


def _successes(what: str, runs: dict[str, list[Row]], curves: dict[str, list[Row]]) -> list[str]:
    """Every run by group: when it met the reward and succeeded, and whether that lasted."""
    steps = {"first_reward": "first reward", "first_success": "first success"}
    more = {
        "of evaluations after that, above 500": {name: _share_after_first(rows) for name, rows in curves.items()},
        "disagreement in the end": {name: _range(_last_disagreements(rows)) for name, rows in curves.items()},
    }
    return run_table(what, runs, steps, more)


def _by_change(table: Path) -> dict[str, list[Row]]:
    """Rows of that table by axis and value, in the order of both."""
    groups = rows_by_group(table)
    return {f"{axis} {value:g}": rows for axis in RANGES.axes for value, rows in RANGES.along(axis, groups).items()}


def _share_after_first(rows: list[Row]) -> str:
    """Of all evaluations after a run's first success, over the runs that had one."""
    flags = [flag for run in _by_seed(rows).values() for flag in _above_after_first(run)]
    return f"{sum(flags) / len(flags):.0%}" if flags else "-"


def _last_disagreements(rows: list[Row]) -> list[float]:
    return [float(run[-1]["disagreement"]) for run in _by_seed(rows).values()]


def _by_seed(rows: list[Row]) -> dict[str, list[Row]]:
    runs: dict[str, list[Row]] = {}
    for row in rows:
        runs.setdefault(row["seed"], []).append(row)
    return runs


def _above_after_first(run: list[Row]) -> list[bool]:
    """Of a run's evaluations after the first success, in order: whether each is one too."""
    above = [float(row["return"]) > SUCCESS for row in run]
    return above[above.index(True) + 1 :] if True in above else []


def _range(numbers: list[float]) -> str:
    low, high = (f"{value:,.0f}" if value >= 100 else f"{value:.2g}" for value in (min(numbers), max(numbers)))
    return f"{low} to {high}" if max(numbers) > 0 else "-"  # one critic disagrees with none


def _levers(folder: Path, columns: tuple[str, ...]) -> list[str]:
    """What each lever found, its rewarded steps run by run, and how far its members disagree in the end."""
    last = {(row["group"], row["seed"]): float(row["disagreement"]) for row in table_of(folder / "curves.csv")}
    earned = [(row["group"], int(row["rewarded_steps"])) for row in table_of(folder / "runs.csv")]
    more = ("rewarded steps of each run", "final return, IQM", "disagreement in the end")
    lines = head((*columns, *more))
    for row in table_of(folder / "summary.csv"):
        doubt = sorted(value for (group, _), value in last.items() if group == row["lever"])
        steps = runs_in_a_cell(f"{steps:,}" for group, steps in earned if group == row["lever"])
        ends = (steps, row["final return, IQM"], f"{doubt[0]:.2g} to {doubt[-1]:.2g}")
        lines.append(line([*(row[name] for name in columns), *ends]))
    return lines


def cartpole_levers() -> str:
    """With the paper's networks."""
    folder = RESULTS / "cartpole_levers"
    lines = _levers(folder, ("lever", "solved", "succeeded once"))
    made = facts(folder / "provenance.json")
    words = f"`bbo reproduce cartpole-levers`, seeds 0 to 2, commit {made['commit']}, {made['machine']}"
    return "\n".join([*lines, "", f"{words}, {made['seconds'] / 60:.1f} minutes."])


def cartpole_levers_narrow() -> str:
    """With narrow networks."""
    folder = RESULTS / "cartpole_levers_narrow"
    lines = _levers(folder, ("lever", "solved", "found a reward", "first reward, median"))
    made = facts(folder / "provenance.json")
    words = (
        f"`bbo reproduce cartpole-levers`, seeds 0 to 2, commit 7d2953f07bac ([recorded](../results/README.md)"
        f" as {made['commit']}), whose default was narrow networks"
    )
    return "\n".join([*lines, "", f"{words}, {made['machine']}, {made['seconds'] / 60:.1f} minutes."])
