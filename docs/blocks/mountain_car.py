"""Of sparse MountainCar: who solved it and when, and what the ensemble and the prior are worth."""

from blocks.reading import RESULTS, Row, facts, head, line, made_by, table_of


def mountain_car() -> str:
    """Who solved it, when, and whether it stayed solved; the study of target entropies; what the check says."""
    from bayesbellman.experiments.checking import judge
    from bayesbellman.experiments.mountain_car import ARTEFACT

    folder = RESULTS / "mountain_car"

    first = {(row["agent"], row["seed"]): row["solved_at"] for row in table_of(folder / "seeds.csv")}
    later: dict[str, list[bool]] = {}
    for row in table_of(folder / "curves.csv"):
        solved = first[row["agent"], row["seed"]]
        if solved and int(row["step"]) > int(solved):
            later.setdefault(row["agent"], []).append(float(row["return"]) > 90)
    names = ("agent", "seeds", "solved", "steps to solve, median", "of evaluations after that, above 90")
    header = (*names, "solved at the end", "mean return at the end")
    lines = head(header)
    for row in table_of(folder / "summary.csv"):
        found = later.get(row["agent"])
        share = f"{100 * sum(found) / len(found):.1f} %" if found else "-"
        parts = (row["agent"], row["seeds"], row["solved"], row["steps to solve, median"], share)
        lines.append(line((*parts, row["solved at the end"], row["mean"])))
    entropies = table_of(folder / "entropies.csv")
    lines += ["", *head(list(entropies[0]))]
    lines += [line(row.values()) for row in entropies]
    verdicts = judge(ARTEFACT.expected(), ARTEFACT.cells(folder))
    agree = sum(verdict.ok for verdict in verdicts)
    origin = facts(folder / "provenance.json")
    size = origin["settings"]["size"]
    made = made_by(origin)
    note = f"{made}; seeds 0 to {size['seeds'] - 1}, {size['steps']:,} steps; {size['episodes']} episodes each time."
    return "\n".join([*lines, "", f"`bbo check mountain-car`: {agree} of {len(verdicts)} agree with the paper. {note}"])


def mountain_car_short() -> str:
    """The paper's five seeds with the default recipe, run by run; what a CPU can do."""
    folder = RESULTS / "mountain_car_short"
    runs: dict[str, list[Row]] = {}
    for row in table_of(folder / "seeds.csv"):
        runs.setdefault(row["agent"], []).append(row)
    lines = head(("agent", "solved", "solved after", "goals in training", "return at the end"))
    for agent, here in runs.items():
        cells = [agent, f"{sum(bool(run['solved_at']) for run in here)} of {len(here)}"]
        cells += [" / ".join(f"{int(run['solved_at']):,}" if run["solved_at"] else "-" for run in here)]
        cells += [" / ".join(run["goals_in_training"] for run in here)]
        cells += [" / ".join(f"{float(run['final_return']):.1f}" for run in here)]
        lines.append(line(cells))
    origin = facts(folder / "provenance.json")
    return "\n".join([*lines, "", f"{made_by(origin)}, {origin['seconds'] / 60:.0f} minutes."])


def mountain_car_sensitivity() -> str:
    """Each change, run by run in the order of seeds."""
    from bayesbellman.experiments.mountain_car_sensitivity.outcomes import read_runs
    from bayesbellman.experiments.mountain_car_sensitivity.sweep import RANGES

    folder = RESULTS / "mountain_car_sensitivity_narrow"
    groups = read_runs(folder)
    lines = head(("changed", "value", "solved", "solved after", "of evaluations after that, above 90", "final returns"))
    for axis in RANGES.axes:
        for value, runs in RANGES.along(axis, groups).items():
            solved = [run for run in runs if run.solved_at < float("inf")]
            lasting = [run.lasting for run in solved if run.lasting == run.lasting]
            cells = [axis, f"{value:g}", f"{len(solved)} of {len(runs)}"]
            cells += [" / ".join(f"{run.solved_at:,.0f}" if run in solved else "-" for run in runs)]
            cells += [f"{100 * sum(lasting) / len(lasting):.0f} %" if lasting else "-"]
            cells += [" / ".join(f"{run.final_return:.0f}" for run in runs)]
            lines.append(line(cells))
    origin = facts(folder / "provenance.json")
    size = origin["settings"]["size"]
    made = f"{made_by(origin)}, {origin['seconds'] / 60:.0f} minutes; seeds 0 to {size['seeds'] - 1}"
    note = f"{made}, {size['steps']:,} steps, layers of {size['hidden'][0]}."
    return "\n".join([*lines, "", note])
