"""Put measured numbers into the pages, from results/ alone: ``python docs/refresh.py`` rewrites the marked blocks.

A block stands between ``<!-- begin NAME -->`` and ``<!-- end NAME -->``. Nobody types into it; a test compares.
"""

import csv
import json
import re
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"


def speed() -> str:
    """The benchmark's contenders against `LinearBBO.fit`."""
    result = json.loads((RESULTS / "benchmarks" / "linear.json").read_text(encoding="utf-8"))
    ours, origin = result["seconds"]["LinearBBO.fit"], result["origin"]
    names = {"recursion": "rank-one recursion, compiled"}
    rows = [
        f"| {names.get(name, name)} | {seconds:.2f} | {seconds / ours:.2f} |"
        for name, seconds in result["seconds"].items()
    ]
    versions = ", ".join(f"{name} {version}" for name, version in origin["peers"].items())
    return "\n".join(
        [
            "| contender | seconds | times `LinearBBO.fit` |",
            "|---|---|---|",
            *rows,
            "",
            f"{versions}; {origin['cpu']}, {origin['machine']}; commit {origin['commit']}. Time is linear in N"
            f" to {100 * result['line']['misfit']:.0f} %; memory beyond the data"
            f" {max(result['memory'].values()):.0f} MiB.",
        ]
    )


def printed(name: str) -> str:
    """What an example printed."""
    table = (RESULTS / name / f"{name}.txt").read_text(encoding="utf-8").rstrip()
    origin = json.loads((RESULTS / name / "provenance.json").read_text(encoding="utf-8"))
    return f"```text\n{table}\n```\n\n`{origin['command']}`, commit {origin['commit']}, {origin['machine']}."


def off_policy() -> str:
    """Errors, widths and coverages of the off-policy study at the smallest, a middle and the largest size."""
    folder = RESULTS / "off_policy"
    with (folder / "curves.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    origin = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
    sizes, numbers = origin["settings"]["sizes"], origin["settings"]["runs"]
    mean, error = (
        {(r["task"], r["data"], int(r["transitions"]), r["quantity"]): float(r[part]) for r in rows}
        for part in ("mean", "stderr")
    )
    titles = {"disc_random_off": "random MDP", "lqr_full_offpolicy": "cart-pole"}
    widths = {"value": "value width", "ess": "corrected", "sandwich": "sandwich", "jackknife": "jackknife"}
    header = ("task", "data", "N", "ESS / N", "in the limit", "RMSE", *widths.values())
    lines = [f"| {' | '.join(header)} |", "|" + "---|" * len(header)]
    for at in [
        (task, data, sizes[task][k])
        for task in titles
        for data in ("weighted", "on-policy")
        for k in (0, len(sizes[task]) // 2, -1)
    ]:
        cells = [titles[at[0]], at[1], str(at[2])]
        cells += [f"{mean[*at, quantity]:.2f}" for quantity in ("ess_share", "ess_share_limit")]
        cells += [f"{mean[*at, 'rmse']:.3f}"]
        for name in widths:
            share, stderr = 100 * mean[*at, f"cover_{name}"], 100 * error[*at, f"cover_{name}"]
            cells.append(f"{mean[*at, f'rms_{name}']:.3f}, {share:.0f} ± {stderr:.0f} %")
        lines.append(f"| {' | '.join(cells)} |")
    heaviest = mean["disc_random_off", "weighted", sizes["disc_random_off"][-1], "largest_weight"]
    runs = " and ".join(f"{number} runs of the {titles[task]}" for task, number in numbers.items())
    note = (
        "RMSE and widths are root mean squares over the evaluation measure. After each width: the share of the measure"
        " whose 90 % band of that width holds the true value, with its standard error. Means over"
        f" {runs}, seeds from 0. The largest weight in a whole run of the random MDP is {heaviest:.0f} on average."
        f" `{origin['command']}`, commit {origin['commit']}, {origin['machine']}."
    )
    return "\n".join([*lines, "", note])


def linear_cells() -> dict[tuple[str, ...], dict[str, str]]:
    """Cells of the linear tables, by variant, table, task and method."""
    with (RESULTS / "linear" / "cells.csv").open(newline="", encoding="utf-8") as file:
        return {(r["variant"], r["table"], r["task"], r["method"]): r for r in csv.DictReader(file)}


def linear_origin() -> str:
    origin = json.loads((RESULTS / "linear" / "provenance.json").read_text(encoding="utf-8"))
    made = f"`{origin['command']}`, commit {origin['commit']}, {origin['machine']}"
    return f"{made}; seeds from 0, the paper's numbers of runs."


def _number(cell: dict[str, str]) -> str:
    mean, error = float(cell["mean"]), float(cell["stderr"])
    return f"{mean:,.0f} ± {error:,.0f}" if mean > 1e3 else f"{mean:.2f} ± {error:.2g}"


def _change(row: dict[str, str]) -> tuple[bool, float]:
    size = abs(float(row["difference"]))
    return size > 3 * float(row["stderr"]), size / float(row["without"])


def linear_quirks() -> str:
    """For each quirk and each table, the cell that it changes most for its size, of those it changes beyond doubt."""
    with (RESULTS / "quirks" / "effects.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    origin = json.loads((RESULTS / "quirks" / "provenance.json").read_text(encoding="utf-8"))
    lines = ["| quirk | table | task | method | without | with | difference |", "|---|---|---|---|---|---|---|"]
    for quirk in dict.fromkeys(row["quirk"] for row in rows):
        for table in ("final", "sum"):
            found = [row for row in rows if (row["quirk"], row["table"]) == (quirk, table)]
            most = max(found, key=_change)
            numbers = [f"{float(most[name]):.4g}" for name in ("without", "with")]
            change = f"{float(most['difference']):.2g} ± {float(most['stderr']):.1g}"
            lines.append(
                f"| `{quirk}` | {table} | {most['task']} | {most['method']} | {' | '.join([*numbers, change])} |"
            )
    made = f"`{origin['command']}`, commit {origin['commit']}, {origin['machine']}"
    return "\n".join([*lines, "", f"{made}; {origin['settings']['runs']} runs of each, seeds from 0."])


def linear_speed() -> str:
    """One run of BBO, ours against a NumPy loop, by task."""
    result = json.loads((RESULTS / "benchmarks" / "linear_suite.json").read_text(encoding="utf-8"))
    origin, columns = result["origin"], list(result["rows"][0])
    lines = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    for row in result["rows"]:
        shown = [f"{cell:.3g}" if isinstance(cell, float) else f"{cell}" for cell in row.values()]
        lines.append(f"| {' | '.join(shown)} |")
    numpy = f"numpy {origin['packages']['numpy']}, jax {origin['packages']['jax']}"
    return "\n".join([*lines, "", f"`{origin['command']}`, {numpy}, commit {origin['commit']}, {origin['machine']}."])


def randomised_prior() -> str:
    """The ensemble beside NUTS."""
    result = json.loads((RESULTS / "randomised_prior" / "randomised_prior.json").read_text(encoding="utf-8"))
    origin, columns = result["origin"], list(result["rows"][0])
    lines = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    for row in result["rows"]:
        shown = [f"{cell:.3f}" if isinstance(cell, float) else cell for cell in row.values()]
        lines.append(f"| {' | '.join(shown)} |")
    made = f"`{origin['command']}`, blackjax {origin['blackjax']}, commit {origin['commit']}, {origin['machine']}"
    note = f"{made}, seed {origin['seed']}. Largest R-hat of NUTS on the grid: {origin['r_hat']:.3f}."
    return "\n".join([*lines, "", note])


def nonlinear_speed() -> str:
    """Trials of the paper's size on the GPU and, BBO alone, on a CPU that was busy; shorter ones there."""
    columns = ("method", "seeds", "steps", "seconds", "us a step and seed", "share of the matrix rate")
    lines = [f"| device | {' | '.join(columns)} |", "|" + "---|" * (len(columns) + 1)]
    notes = []
    for measured in ("gpu", "cpu_full", "cpu"):
        result = json.loads((RESULTS / "benchmarks" / f"nonlinear_{measured}.json").read_text(encoding="utf-8"))
        origin = result["origin"]
        for row in result["rows"]:
            shown = [f"{row[c]:.3g}" if isinstance(row[c], float) else f"{row[c]}" for c in columns]
            lines.append(f"| {origin['device']} | {' | '.join(shown)} |")
        notes.append(
            f"{origin['device']}: `{origin['command']}`, jax {origin['packages']['jax']}, commit {origin['commit']},"
            f" {origin['machine']}; TDC takes {origin['tdc_over_td']:.2f} times TD(0) a step."
        )
    return "\n".join([*lines, "", *notes])


def control_demo() -> str:
    """Where both agents of the demonstration ended."""
    folder = RESULTS / "demo"
    with (folder / "curve.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    made = json.loads((folder / "report.md").read_text(encoding="utf-8").split("```json")[1].split("```")[0])
    lines = ["| agent | steps | solved after | mean return at the end | disagreement |", "|---|---|---|---|---|"]
    for agent in dict.fromkeys(row["agent"] for row in rows):
        here = [row for row in rows if row["agent"] == agent]
        solved = next((f"{int(row['step']):,}" for row in here if float(row["mean_return"]) > 90), "-")
        last = here[-1]
        numbers = f"{float(last['mean_return']):.1f} | {float(last['disagreement']):.3g}"
        lines.append(f"| {agent.upper()} | {int(last['step']):,} | {solved} | {numbers} |")
    note = f"`{made['command']}`, seed {made['settings']['seed']}, commit {made['commit']}, {made['machine']}."
    return "\n".join([*lines, "", note])


def pendulum() -> str:
    """The last evaluation of each agent on Pendulum-v1."""
    lines = ["| agent | seed | steps | mean return of the last evaluation | best |", "|---|---|---|---|---|"]
    notes = []
    for agent in ("bbac", "sac"):
        folder = RESULTS / "pendulum" / agent
        with (folder / "summary.csv").open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                numbers = f"{float(row['last_evaluation']):.1f} | {float(row['best_evaluation']):.1f}"
                lines.append(f"| {agent.upper()} | {row['seed']} | {int(row['steps']):,} | {numbers} |")
        made = json.loads((folder / "config.json").read_text(encoding="utf-8"))["provenance"]
        notes.append(f"`{made['command']}`, commit {made['commit']}, {made['machine']}.")
    return "\n".join([*lines, "", *notes])


def mountain_car() -> str:
    """Who solved it, when, and whether it stayed solved; the study of target entropies; what the check says."""
    from bayesbellman.experiments.checking import judge
    from bayesbellman.experiments.mountain_car import ARTEFACT

    folder = RESULTS / "mountain_car"

    def table(name: str) -> list[dict[str, str]]:
        with (folder / name).open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    first = {(row["agent"], row["seed"]): row["solved_at"] for row in table("seeds.csv")}
    later: dict[str, list[bool]] = {}
    for row in table("curves.csv"):
        solved = first[row["agent"], row["seed"]]
        if solved and int(row["step"]) > int(solved):
            later.setdefault(row["agent"], []).append(float(row["return"]) > 90)
    names = ("agent", "seeds", "solved", "steps to solve, median", "of evaluations after that, above 90")
    header = (*names, "solved at the end", "mean return at the end")
    lines = [f"| {' | '.join(header)} |", "|" + "---|" * len(header)]
    for row in table("summary.csv"):
        found = later.get(row["agent"])
        share = f"{100 * sum(found) / len(found):.1f} %" if found else "-"
        parts = (row["agent"], row["seeds"], row["solved"], row["steps to solve, median"], share)
        lines.append(f"| {' | '.join((*parts, row['solved at the end'], row['mean']))} |")
    entropies = table("entropies.csv")
    lines += ["", f"| {' | '.join(entropies[0])} |", "|" + "---|" * len(entropies[0])]
    lines += [f"| {' | '.join(row.values())} |" for row in entropies]
    verdicts = judge(ARTEFACT.expected(), ARTEFACT.cells(folder))
    agree = sum(verdict.ok for verdict in verdicts)
    origin = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
    size = origin["settings"]["size"]
    made = f"`{origin['command']}`, commit {origin['commit']}, {origin['machine']}"
    note = f"{made}; seeds 0 to {size['seeds'] - 1}, {size['steps']:,} steps; {size['episodes']} episodes each time."
    return "\n".join([*lines, "", f"`bbo check mountain-car`: {agree} of {len(verdicts)} agree with the paper. {note}"])


def checkpoints() -> str:
    """What a checkpoint costs."""
    result = json.loads((RESULTS / "benchmarks" / "checkpoints_cpu.json").read_text(encoding="utf-8"))
    lines = ["| what | seconds | MB written |", "|---|---|---|"]
    for row in result["rows"]:
        written = f"{row['MB written']:.3g}" if row["MB written"] else "-"
        lines.append(f"| {row['what']} | {row['seconds']:.3g} | {written} |")
    origin = result["origin"]
    made = f"`{origin['command']}`, commit {origin['commit']}, {origin['machine']}"
    share = f"At one a minute that is {100 * origin['share_of_time']:.2g} % of the time."
    return "\n".join([*lines, "", f"{share} {made}."])


def control_gpu() -> str:
    """What a step costs against the ensemble's size and the number of runs."""
    result = json.loads((RESULTS / "benchmarks" / "control_gpu.json").read_text(encoding="utf-8"))
    origin = result["origin"]
    columns = ("contender", "runs", "us a step and run", "steps/s", "share of the matrix rate", "times the floor")
    lines = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    for row in result["rows"]:
        shown = [f"{row[c]:,.3g}" if isinstance(row[c], float) and row[c] < 1e3 else _whole(row[c]) for c in columns]
        lines.append(f"| {' | '.join(shown)} |")
    made = f"`{origin['command']}`, jax {origin['packages']['jax']}, commit {origin['commit']}, {origin['machine']}"
    rates = f"{origin['matrix_rate'] / 1e12:.0f} TFLOP/s (bfloat16), of a copy {origin['copy_rate'] / 1e12:.1f} TB/s"
    return "\n".join([*lines, "", f"{made}; the rate of a matrix product is {rates}."])


def _whole(value: float | str) -> str:
    return f"{value:,.0f}" if isinstance(value, float) else f"{value}"


def control_speed() -> str:
    """RP-BBAC and SAC beside SBX's SAC."""
    result = json.loads((RESULTS / "benchmarks" / "control_cpu.json").read_text(encoding="utf-8"))
    origin, columns = result["origin"], ("contender", "steps/s", "GFLOP a step", "GFLOP/s", "share of the matrix rate")
    lines = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    for row in result["rows"]:
        shown = [f"{row[c]:.3g}" if isinstance(row[c], float) else f"{row[c]}" for c in columns]
        lines.append(f"| {' | '.join(shown)} |")
    peers = ", ".join(f"{name} {version}" for name, version in origin["peers"].items())
    made = f"`{origin['command']}`, {peers}, jax {origin['packages']['jax']}, commit {origin['commit']}"
    return "\n".join([*lines, "", f"{made}, {origin['machine']}."])


def bsuite_scores() -> str:
    """BootDQN's scores in bsuite, by setting."""
    result = json.loads((RESULTS / "bsuite" / "scores.json").read_text(encoding="utf-8"))
    origin, columns = result["origin"], list(result["rows"][0])
    lines = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    for row in result["rows"]:
        shown = [f"{cell:.3g}" if isinstance(cell, float) else f"{cell}" for cell in row.values()]
        lines.append(f"| {' | '.join(shown)} |")
    made = f"`{origin['command']}`, bsuite {origin['peers']['bsuite']}, jax {origin['packages']['jax']}"
    note = f"{made}, seed {origin['seed']}, commit {origin['commit']}, {origin['machine']}."
    return "\n".join([*lines, "", note])


def discrete_speed() -> str:
    """BootDQN beside bsuite's."""
    result = json.loads((RESULTS / "benchmarks" / "discrete_cpu.json").read_text(encoding="utf-8"))
    origin, columns = result["origin"], list(result["rows"][0])
    lines = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    for row in result["rows"]:
        shown = [f"{cell:.3g}" if isinstance(cell, float) else f"{cell}" for cell in row.values()]
        lines.append(f"| {' | '.join(shown)} |")
    peers = ", ".join(f"{name} {version}" for name, version in origin["peers"].items())
    made = f"`{origin['command']}`, {peers}, jax {origin['packages']['jax']}, commit {origin['commit']}"
    rate = f"the matrix rate is {origin['matrix_rate'] / 1e9:.0f} GFLOP a CPU second"
    return "\n".join([*lines, "", f"{made}, {origin['machine']}, of which one was used; {rate}."])


def nonlinear() -> str:
    """Final errors of the five methods on the three tasks, and the claims."""
    from bayesbellman.experiments.checking import judge
    from bayesbellman.experiments.nonlinear import ARTEFACT

    folder = RESULTS / "nonlinear"
    with (folder / "summary.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    origin = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
    lines = ["| settings | task | method | MSE, median | 25 % | 75 % | largest |", "|---|---|---|---|---|---|---|"]
    for row in rows:
        numbers = [f"{float(row[name]):,.4g}" for name in ("MSE median", "25 %", "75 %", "largest")]
        lines.append(f"| {row['settings']} | {row['task']} | {row['method']} | {' | '.join(numbers)} |")
    lines += ["", "| settings | task | claim | on so many data sets | verdict |", "|---|---|---|---|---|"]
    for verdict in judge(ARTEFACT.expected(), ARTEFACT.cells(folder)):
        rule, word = verdict.row[5], verdict.row[4]
        lines.append(f"| {' | '.join(verdict.address)} | {str(rule).rsplit(',', 1)[0]} | {word} |")
    size = origin["settings"]["size"]
    made = (
        f"`{origin['command']}`, commit {origin['commit']}, {origin['machine']}, {origin['seconds'] / 60:.1f} minutes"
    )
    note = f"{made}; {size['seeds']} data sets and seeds, {size['steps']:,} training steps. All trials count."
    return "\n".join([*lines, "", note])


def nonlinear_tuning() -> str:
    """What the search chose, beside the paper's choice, on the tuning data."""
    folder = RESULTS / "nonlinear_tuning"
    origin = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
    report = (folder / "report.md").read_text(encoding="utf-8").splitlines()
    size = origin["settings"]["size"]
    made = f"`{origin['command']}`, commit {origin['commit']}, {origin['machine']}"
    note = (
        f"{made}; median errors on {size['seeds']} tuning data sets after {size['steps']:,} steps. Made in two pieces;"
        f" the second took {origin['seconds'] / 60:.1f} minutes for {origin['jobs'] - origin['jobs_resumed']} of the"
        f" {origin['jobs']} searches."
    )
    return "\n".join([*(line for line in report if line.startswith("|")), "", note])


def deep_sea() -> str:
    """Episodes to learn, of both agents by size and of the ablations, and how they grow."""
    columns = ("agent", "size", "runs", "learnt", "episodes to learn, median", "least", "most", "episodes at most")
    lines, notes = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)], []
    for folder in (RESULTS / "deep_sea", RESULTS / "deep_sea_harder"):
        with (folder / "summary.csv").open(newline="", encoding="utf-8") as file:
            lines += [f"| {' | '.join(row[name] for name in columns)} |" for row in csv.DictReader(file)]
        made = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
        notes.append(
            f"`{made['command']}`, commit {made['commit']}, {made['machine']}, {made['seconds'] / 60:.1f} minutes."
        )
    growth = json.loads((RESULTS / "deep_sea" / "growth.json").read_text(encoding="utf-8"))
    fitted = f"{growth['exponent']:.2f} ± {growth['exponent_stderr']:.2f}"
    words = f"Learning times of BootDQN+Prior grow as N to the power of {fitted} (all runs, sizes 10 to 50)."
    twice = "Seeds 0 to 9. Rows that come twice are of both studies, made by different code."
    return "\n".join([*lines, "", words, twice, "", *notes])


def cartpole() -> str:
    """Every run of the paper's cart-pole."""
    folder = _cartpole_folder()
    runs = _rows(folder / "runs.csv")
    names = ("first_reward", "first_success", "sustained_from")
    header = ("agent", "solved", "first reward", "first success", "above 500 from here on", "final returns")
    lines = [f"| {' | '.join(header)} |", "|" + "---|" * len(header)]
    for agent in dict.fromkeys(run["group"] for run in runs):
        here = [run for run in runs if run["group"] == agent]
        cells = [agent, f"{sum(run['solved'] == '1' for run in here)} of {len(here)}"]
        cells += [" / ".join(f"{int(run[name]):,}" if run[name] else "-" for run in here) for name in names]
        cells += [" / ".join(f"{float(run['final_return']):.0f}" for run in here)]
        lines.append(f"| {' | '.join(cells)} |")
    made = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
    size = made["settings"]["size"]
    words = f"`bbo reproduce cartpole`, seeds 0 to {size['seeds'] - 1}, {size['steps']:,} steps"
    note = f"{words}, commit {made['commit']}, {made['machine']}, {made['seconds'] / 60:.1f} minutes."
    if made.get("unfinished"):
        note += f" Not finished: {', '.join(made['unfinished'])}."
    return "\n".join([*lines, "", note])


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def where_it_helps() -> str:
    """Solved runs of each pair of agents, over the tasks for which there are results."""
    lines = ["| task | steps or episodes | with | solved | without | solved |", "|---|---|---|---|---|---|"]
    sea = {(row["agent"], int(row["size"])): row for row in _rows(RESULTS / "deep_sea" / "summary.csv")}
    for size in (10, 20, 50):
        ours, theirs = sea["BootDQN+Prior", size], sea.get(("DQN", size))
        most, learnt = int(ours["episodes at most"]), f"{ours['learnt']} of {ours['runs']}"
        other = f"{theirs['learnt']} of {theirs['runs']}" if theirs else "not run"
        lines.append(f"| Deep Sea, size {size} | {most:,} episodes | BootDQN+Prior | {learnt} | DQN | {other} |")
    made = json.loads((RESULTS / "mountain_car" / "provenance.json").read_text(encoding="utf-8"))
    cars = {row["agent"]: f"{row['solved']} of {row['seeds']}" for row in _rows(RESULTS / "mountain_car/summary.csv")}
    steps = f"{made['settings']['size']['steps']:,} steps"
    lines.append(f"| sparse MountainCar | {steps} | RP-BBAC | {cars['RP-BBAC']} | SAC | {cars['SAC']} |")
    folder = _cartpole_folder()
    made = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
    poles = {row["agent"]: f"{row['solved']} of {row['runs']}" for row in _rows(folder / "summary.csv")}
    steps = f"{made['settings']['size']['steps']:,} steps"
    other = poles.get("SAC", "not run yet")
    lines.append(f"| sparse cart-pole | {steps} | RP-BBAC | {poles['RP-BBAC']} | SAC | {other} |")
    names = (f"[{name}](../results/{name}/report.md)" for name in ("deep_sea", "mountain_car"))
    cart = f"[{folder.relative_to(RESULTS).parts[0]}](../results/{folder.relative_to(RESULTS)}/report.md)"
    return "\n".join([*lines, "", f"Commands, commits, machines and seeds: {', '.join(names)}, {cart}."])


def step_costs() -> str:
    """What a step of RP-BBAC costs against one of SAC."""
    lines = ["| machine | RP-BBAC, us a step | SAC, us a step | ratio |", "|---|---|---|---|"]
    notes = []
    for device in ("gpu", "cpu"):
        result = json.loads((RESULTS / "benchmarks" / f"control_{device}.json").read_text(encoding="utf-8"))
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
    with (folder / "curves.csv").open(newline="", encoding="utf-8") as file:
        last = {(row["group"], row["seed"]): float(row["disagreement"]) for row in csv.DictReader(file)}
    with (folder / "runs.csv").open(newline="", encoding="utf-8") as file:
        earned = [(row["group"], int(row["rewarded_steps"])) for row in csv.DictReader(file)]
    more = ("rewarded steps of each run", "final return, IQM", "disagreement in the end")
    lines = [f"| {' | '.join((*columns, *more))} |", "|" + "---|" * len((*columns, *more))]
    with (folder / "summary.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            doubt = sorted(value for (group, _), value in last.items() if group == row["lever"])
            steps = " / ".join(f"{steps:,}" for group, steps in earned if group == row["lever"])
            ends = f"{steps} | {row['final return, IQM']} | {doubt[0]:.2g} to {doubt[-1]:.2g}"
            lines.append(f"| {' | '.join(row[name] for name in columns)} | {ends} |")
    return lines


def cartpole_levers() -> str:
    """With the paper's networks."""
    folder = RESULTS / "cartpole_levers"
    lines = _levers(folder, ("lever", "solved", "succeeded once"))
    made = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
    words = f"`bbo reproduce cartpole-levers`, seeds 0 to 2, commit {made['commit']}, {made['machine']}"
    return "\n".join([*lines, "", f"{words}, {made['seconds'] / 60:.1f} minutes."])


def cartpole_levers_narrow() -> str:
    """With narrow networks."""
    folder = RESULTS / "cartpole_levers_narrow"
    lines = _levers(folder, ("lever", "solved", "found a reward", "first reward, median"))
    made = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
    words = (
        f"`bbo reproduce cartpole-levers`, seeds 0 to 2, commit 7d2953f07bac ([recorded](../results/README.md)"
        f" as {made['commit']}), whose default was narrow networks"
    )
    return "\n".join([*lines, "", f"{words}, {made['machine']}, {made['seconds'] / 60:.1f} minutes."])


def tsitsiklis() -> str:
    """Where each method ends on the triangle."""
    with (RESULTS / "tsitsiklis" / "summary.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    origin = json.loads((RESULTS / "tsitsiklis" / "provenance.json").read_text(encoding="utf-8"))
    lines = ["| method | ω at the end | root mean squared error at the start | at the end |", "|---|---|---|---|"]
    for row in rows:
        numbers = [f"{float(row[name]):.4g}" for name in ("omega_end", "rms_start", "rms_end")]
        lines.append(f"| {row['method']} | {' | '.join(numbers)} |")
    made = f"`{origin['command']}`, commit {origin['commit']}, {origin['machine']}"
    return "\n".join([*lines, "", f"{made}; {origin['settings']['steps']} updates, nothing random."])


def linear_tables() -> str:
    """The correct table of final errors."""
    cells = linear_cells()
    settings = json.loads((RESULTS / "linear" / "provenance.json").read_text(encoding="utf-8"))["settings"]
    methods = settings["methods"]
    lines = [f"| task | {' | '.join(methods)} |", "|" + "---|" * (len(methods) + 1)]
    for task in settings["tasks"]:
        row = [_number(cells["correct", "final", task, method]) for method in methods]
        lines.append(f"| {task} | {' | '.join(row)} |")
    return "\n".join([*lines, "", linear_origin()])


BLOCKS = {
    "speed": (ROOT / "README.md", speed),
    "widths": (ROOT / "docs" / "linear_evaluation.md", partial(printed, "widths")),
    "intervals": (ROOT / "docs" / "runs.md", partial(printed, "intervals")),
    "off_policy": (ROOT / "docs" / "off_policy.md", off_policy),
    "randomised_prior": (ROOT / "docs" / "neural_evaluation.md", randomised_prior),
    "nonlinear_speed": (ROOT / "docs" / "neural_evaluation.md", nonlinear_speed),
    "control_demo": (ROOT / "docs" / "control.md", control_demo),
    "pendulum": (ROOT / "docs" / "control.md", pendulum),
    "control_speed": (ROOT / "docs" / "control.md", control_speed),
    "mountain_car": (ROOT / "docs" / "control.md", mountain_car),
    "checkpoints": (ROOT / "docs" / "guides" / "resuming.md", checkpoints),
    "bsuite_scores": (ROOT / "docs" / "bsuite.md", bsuite_scores),
    "discrete_speed": (ROOT / "docs" / "bsuite.md", discrete_speed),
    "control_gpu": (ROOT / "docs" / "control.md", control_gpu),
    "nonlinear": (ROOT / "docs" / "nonlinear_experiments.md", nonlinear),
    "deep_sea": (ROOT / "docs" / "algorithms" / "boot_dqn.md", deep_sea),
    "nonlinear_tuning": (ROOT / "docs" / "nonlinear_experiments.md", nonlinear_tuning),
    "where_it_helps": (ROOT / "docs" / "where-it-helps.md", where_it_helps),
    "step_costs": (ROOT / "docs" / "where-it-helps.md", step_costs),
    "cartpole": (ROOT / "docs" / "cartpole-study.md", cartpole),
    "cartpole_levers": (ROOT / "docs" / "cartpole-study.md", cartpole_levers),
    "cartpole_levers_narrow": (ROOT / "docs" / "cartpole-study.md", cartpole_levers_narrow),
    "tsitsiklis": (ROOT / "docs" / "tsitsiklis.md", tsitsiklis),
    "linear_quirks": (ROOT / "docs" / "linear_experiments.md", linear_quirks),
    "linear_speed": (ROOT / "docs" / "linear_experiments.md", linear_speed),
    "linear_tables": (ROOT / "docs" / "linear_experiments.md", linear_tables),
}


def refreshed(name: str) -> tuple[Path, str]:
    """The page that holds the block, and what the page should be."""
    path, content = BLOCKS[name]
    block = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", flags=re.DOTALL)
    text, count = block.subn(lambda m: f"{m[1]}{content()}\n{m[2]}", path.read_text(encoding="utf-8"))
    if count != 1:
        raise ValueError(f"{path} has {count} blocks named {name}; there must be one")
    return path, text


if __name__ == "__main__":
    for name in BLOCKS:
        page, text = refreshed(name)
        page.write_text(text, encoding="utf-8")
