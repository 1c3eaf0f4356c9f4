"""Where deep exploration helps, and what it costs: of all studies of sparse rewards."""

from blocks.cartpole import cartpole_folder
from blocks.reading import RESULTS, facts, head, line, table_of
from blocks.seed_by_seed import rows_by_group, run_table, steps_of, study_of

from bayesbellman.experiments.sparse.baseline import SAC, SAC_AT_OURS
from bayesbellman.experiments.sparse_tasks.tasks import TASKS

SHORT = RESULTS / "sparse_tasks_short"


def sparse_tasks() -> str:
    """Every run of the two tasks for which nothing was tuned."""
    steps = {"first_reward": "first reward", "rewarded_episodes": "rewarded episodes", "first_success": "first success"}
    lines = run_table("task and agent", rows_by_group(SHORT / "runs.csv"), steps)
    seeds, most = (facts(SHORT / "provenance.json")["settings"]["size"][name] for name in ("seeds", "steps"))
    return "\n".join([*lines, "", study_of(SHORT, f"bbo reproduce sparse-tasks --seeds {seeds} --steps {most}")])


def where_it_helps() -> str:
    """Solved runs of each pair of agents, over the tasks for which there are results."""
    lines = head(("task", "steps or episodes", "with", "solved", "without", "solved"))
    sea = {(row["agent"], int(row["size"])): row for row in table_of(RESULTS / "deep_sea" / "summary.csv")}
    for size in (10, 20, 50):
        ours, theirs = sea["BootDQN+Prior", size], sea.get(("DQN", size))
        most, learnt = int(ours["episodes at most"]), f"{ours['learnt']} of {ours['runs']}"
        other = f"{theirs['learnt']} of {theirs['runs']}" if theirs else "not run"
        lines.append(f"| Deep Sea, size {size} | {most:,} episodes | BootDQN+Prior | {learnt} | DQN | {other} |")
    cars, poles = RESULTS / "mountain_car", cartpole_folder()
    solved = {row["agent"]: f"{row['solved']} of {row['seeds']}" for row in table_of(cars / "summary.csv")}
    lines.append(line(["sparse MountainCar", steps_of(cars), "RP-BBAC", solved["RP-BBAC"], "SAC", solved["SAC"]]))
    solved = {row["agent"]: f"{row['solved']} of {row['runs']}" for row in table_of(poles / "summary.csv")}
    lines.append(line(["sparse cart-pole", steps_of(poles), "RP-BBAC", solved["RP-BBAC"], "SAC", solved["SAC"]]))
    solved = {row["task and agent"]: row for row in table_of(SHORT / "summary.csv")}
    for task in TASKS:
        ours, *theirs = (solved[f"{task}, {agent}"] for agent in ("RP-BBAC", SAC, SAC_AT_OURS))
        better = max(theirs, key=lambda row: int(row["solved"]))
        cells = [f"{row['solved']} of {row['runs']}" for row in (ours, better)]
        lines.append(line([f"sparse {task}", steps_of(SHORT), "RP-BBAC", cells[0], "SAC", cells[1]]))
    folders = (RESULTS / "deep_sea", cars, poles, SHORT)
    names = [folder.relative_to(RESULTS) for folder in folders]
    links = ", ".join(f"[{name.parts[0]}](../results/{name}/report.md)" for name in names)
    return "\n".join([*lines, "", f"Commands, commits, machines and seeds: {links}."])


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
