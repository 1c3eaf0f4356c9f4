"""Of the studies of sparse rewards."""

from pathlib import Path

from blocks.reading import RESULTS, Row, facts, head, line, table_of

from bayesbellman.experiments.cartpole.task import SUCCESS

LATE = 500_000
"""Steps after which members have settled, as far as they do"""


def cartpole() -> str:
    """Every run of the paper's cart-pole; RP-BBAC with the paper's own recipe is a study of its own."""
    names = ("first_reward", "first_success", "sustained_from")
    header = ("agent", "solved", "first reward", "first success", "above 500 from here on", "final returns")
    commands = {
        _cartpole_folder(): "bbo reproduce cartpole",
        RESULTS / "cartpole_paper": 'bbo reproduce cartpole --methods "RP-BBAC, paper\'s recipe"',
    }
    lines = head(header)
    for agent, here in _cartpole_agents("runs.csv").items():
        cells = [agent, f"{sum(run['solved'] == '1' for run in here)} of {len(here)}"]
        cells += [" / ".join(f"{int(run[name]):,}" if run[name] else "-" for run in here) for name in names]
        cells += [" / ".join(_return(float(run["final_return"])) for run in here)]
        lines.append(line(cells))
    for folder, command in commands.items():
        made = facts(folder / "provenance.json")
        size = made["settings"]["size"]
        words = f"`{command}`, seeds 0 to {size['seeds'] - 1}, {size['steps']:,} steps"
        lines += ["", f"{words}, commit {made['commit']}, {made['machine']}, {made['seconds'] / 60:.1f} minutes."]
        if made.get("unfinished"):
            lines[-1] += f" Not finished: {', '.join(made['unfinished'])}."
    return "\n".join(lines)


def cartpole_steadiness() -> str:
    """How lasting success is, and how far members disagree, of the evaluations that curves.csv has."""
    header = ("agent", "of evaluations after the first success, above 500", "worst run")
    lines = head((*header, "disagreement at first", f"after more than {LATE:,} steps"))
    apart = set()
    for agent, rows in _cartpole_agents("curves.csv").items():
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
        [*lines, "", f"Of the same runs, an evaluation after each {each} steps: curves.csv of both studies."]
    )


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


def _cartpole_agents(table: str) -> dict[str, list[Row]]:
    """Rows of that table by agent, the two recipes of RP-BBAC first."""
    agents: dict[str, list[Row]] = {}
    for folder in (_cartpole_folder(), RESULTS / "cartpole_paper"):
        for row in table_of(folder / table):
            agents.setdefault(row["group"], []).append(row)
    return dict(sorted(agents.items(), key=lambda item: not item[0].startswith("RP-BBAC")))


def _return(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 1 else f"{value:.1f}"


def where_it_helps() -> str:
    """Solved runs of each pair of agents, over the tasks for which there are results."""
    lines = head(("task", "steps or episodes", "with", "solved", "without", "solved"))
    sea = {(row["agent"], int(row["size"])): row for row in table_of(RESULTS / "deep_sea" / "summary.csv")}
    for size in (10, 20, 50):
        ours, theirs = sea["BootDQN+Prior", size], sea.get(("DQN", size))
        most, learnt = int(ours["episodes at most"]), f"{ours['learnt']} of {ours['runs']}"
        other = f"{theirs['learnt']} of {theirs['runs']}" if theirs else "not run"
        lines.append(f"| Deep Sea, size {size} | {most:,} episodes | BootDQN+Prior | {learnt} | DQN | {other} |")
    cars_at = RESULTS / "mountain_car"
    made = facts(cars_at / "provenance.json")
    cars = {
        row["agent"]: f"{row['solved']} of {row['seeds']}" for row in table_of(RESULTS / "mountain_car/summary.csv")
    }
    steps = f"{made['settings']['size']['steps']:,} steps"
    lines.append(f"| sparse MountainCar | {steps} | RP-BBAC | {cars['RP-BBAC']} | SAC | {cars['SAC']} |")
    folder = _cartpole_folder()
    made = facts(folder / "provenance.json")
    poles = {row["agent"]: f"{row['solved']} of {row['runs']}" for row in table_of(folder / "summary.csv")}
    steps = f"{made['settings']['size']['steps']:,} steps"
    other = poles.get("SAC", "not run yet")
    lines.append(f"| sparse cart-pole | {steps} | RP-BBAC | {poles['RP-BBAC']} | SAC | {other} |")
    names = (f"[{name}](../results/{name}/report.md)" for name in ("deep_sea", "mountain_car"))
    cart = f"[{folder.relative_to(RESULTS).parts[0]}](../results/{folder.relative_to(RESULTS)}/report.md)"
    return "\n".join([*lines, "", f"Commands, commits, machines and seeds: {', '.join(names)}, {cart}."])


def step_costs() -> str:
    """What a step of RP-BBAC costs against one of SAC."""
    lines = head(("machine", "RP-BBAC, us a step", "SAC, us a step", "ratio"))
    notes = []
    for device in ("gpu", "cpu"):
        result = facts(RESULTS / "benchmarks" / f"control_{device}.json")
        alone = {row["contender"]: row["us a step and run"] for row in result["rows"] if row["runs"] == 1}
        ours, theirs, origin = alone["RP-BBAC, L = 8"], alone["SAC"], result["origin"]
        lines.append(f"| {origin['machine']} | {ours:,.0f} | {theirs:,.0f} | {ours / theirs:.1f} |")
        notes.append(f"`{origin['command']}`, commit {origin['commit']}")
    return "\n".join([*lines, "", f"{' and '.join(notes)}; one run alone, two hidden layers of 256."])


def _cartpole_folder() -> Path:
    """While the study is not finished, what there is of it."""
    whole = RESULTS / "cartpole"
    return whole if whole.exists() else RESULTS / "cartpole.part" / "so-far"


def _levers(folder: Path, columns: tuple[str, ...]) -> list[str]:
    """What each lever found, its rewarded steps run by run, and how far its members disagree in the end."""
    last = {(row["group"], row["seed"]): float(row["disagreement"]) for row in table_of(folder / "curves.csv")}
    earned = [(row["group"], int(row["rewarded_steps"])) for row in table_of(folder / "runs.csv")]
    more = ("rewarded steps of each run", "final return, IQM", "disagreement in the end")
    lines = head((*columns, *more))
    for row in table_of(folder / "summary.csv"):
        doubt = sorted(value for (group, _), value in last.items() if group == row["lever"])
        steps = " / ".join(f"{steps:,}" for group, steps in earned if group == row["lever"])
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
