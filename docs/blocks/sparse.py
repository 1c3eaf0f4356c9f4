"""Where deep exploration helps, and what it costs: of all studies of sparse rewards."""

from pathlib import Path

from blocks.cartpole import POLES
from blocks.mountain_car import OURS
from blocks.reading import RESULTS, facts, head, line, made_by, table_of
from blocks.seed_by_seed import check_of, rows_by_group, run_table, steps_of, study_of

from bayesbellman.experiments.artefact import Artefact
from bayesbellman.experiments.sparse.baseline import SAC, SAC_AT_OURS
from bayesbellman.experiments.sparse_tasks.tasks import TASKS

UNTUNED = RESULTS / "sparse_tasks"
STOCK = RESULTS / "cartpole_stock"
STARTS = RESULTS / "acrobot_starts"
STEPS = {"first_reward": "first reward", "rewarded_episodes": "rewarded episodes", "first_success": "first success"}


def sparse_tasks() -> str:
    """Every run of the two tasks for which nothing was tuned."""
    from bayesbellman.experiments.sparse_tasks import ARTEFACT

    return _study("task and agent", UNTUNED, ARTEFACT)


def cartpole_stock() -> str:
    """Every run with the Control Suite's own reward."""
    from bayesbellman.experiments.cartpole_stock import ARTEFACT

    return _study("agent", STOCK, ARTEFACT)


def acrobot_starts() -> str:
    """What the example printed, fewer of its columns and the best of all."""
    header, *runs, about = (STARTS / "acrobot_starts.txt").read_text(encoding="utf-8").splitlines()
    name, *steps, final = header.split()
    kept = steps[1::2]
    lines = head((name, *(f"after {step}" for step in kept), "best", final))
    for seed, *numbers in map(str.split, runs):
        returns = dict(zip(steps, map(float, numbers), strict=False))
        cells = [*(returns[step] for step in kept), max(returns.values()), float(numbers[-1])]
        lines.append(line([seed, *(f"{cell:.0f}" for cell in cells)]))
    best = f"Best: of those [printed](../results/acrobot_starts/acrobot_starts.txt), one after every {steps[0]} steps."
    return "\n".join([*lines, "", f"{about.capitalize()}. {best} {made_by(facts(STARTS / 'provenance.json'))}."])


def _study(what: str, folder: Path, artefact: Artefact) -> str:
    """Every run, what made it, and what the check says."""
    lines = run_table(what, rows_by_group(folder / "runs.csv"), STEPS)
    said = check_of(artefact, folder, "what was claimed beforehand")
    return "\n".join([*lines, "", f"{said} {study_of(folder)}"])


def where_it_helps() -> str:
    """Solved runs of each pair of agents, over the tasks for which there are results."""
    lines = head(("task", "steps or episodes", "with", "solved", "without", "solved"))
    sea = {(row["agent"], int(row["size"])): row for row in table_of(RESULTS / "deep_sea" / "summary.csv")}
    for size in (10, 20, 50):
        ours, theirs = sea["BootDQN+Prior", size], sea.get(("DQN", size))
        most, learnt = int(ours["episodes at most"]), f"{ours['learnt']} of {ours['runs']}"
        other = f"{theirs['learnt']} of {theirs['runs']}" if theirs else "not run"
        lines.append(f"| Deep Sea, size {size} | {most:,} episodes | BootDQN+Prior | {learnt} | DQN | {other} |")
    lines.append(line(["sparse MountainCar", steps_of(OURS), *_solved(OURS, "", "agent", "seeds")]))
    lines.append(line(["sparse cart-pole", steps_of(POLES), *_solved(POLES, "", "agent", "runs")]))
    lines += [
        line([f"sparse {task}", steps_of(UNTUNED), *_solved(UNTUNED, f"{task}, ", "task and agent", "runs")])
        for task in TASKS
    ]
    stock = _solved(STOCK, "", "agent", "runs")
    lines.append(line(["cart-pole, the Control Suite's sparse reward", steps_of(STOCK), *stock]))
    names = [folder.relative_to(RESULTS) for folder in (RESULTS / "deep_sea", OURS, POLES, UNTUNED, STOCK)]
    links = ", ".join(f"[{name}](../results/{name}/report.md)" for name in names)
    note = "Of SAC at its own learning rate and at RP-BBAC's, the one with more solved runs."
    return "\n".join([*lines, "", f"{note} Commands, commits, machines and seeds: {links}."])


def _solved(folder: Path, before: str, name: str, number: str) -> tuple[str, str, str, str]:
    """RP-BBAC and the better SAC of a study, and how many of their runs were solved."""
    rows = {row[name].removeprefix(before): row for row in table_of(folder / "summary.csv")}
    better = max((rows[sac] for sac in (SAC, SAC_AT_OURS)), key=lambda row: int(row["solved"]))
    ours, theirs = (f"{row['solved']} of {row[number]}" for row in (rows["RP-BBAC"], better))
    return "RP-BBAC", ours, "SAC", theirs


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
