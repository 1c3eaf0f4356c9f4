"""Of agents: what they learnt, and how fast they are."""

import json

from blocks.reading import RESULTS, facts, head, line, made_by, measured, table_of


def control_demo() -> str:
    """Where both agents of the demonstration ended."""
    folder = RESULTS / "demo"
    rows = table_of(folder / "curve.csv")
    made = json.loads((folder / "report.md").read_text(encoding="utf-8").split("```json")[1].split("```")[0])
    lines = head(("agent", "steps", "solved after", "mean return at the end", "disagreement"))
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
    lines = head(("agent", "seed", "steps", "mean return of the last evaluation", "best"))
    notes = []
    for agent in ("bbac", "sac"):
        folder = RESULTS / "pendulum" / agent
        for row in table_of(folder / "summary.csv"):
            numbers = f"{float(row['last_evaluation']):.1f} | {float(row['best_evaluation']):.1f}"
            lines.append(f"| {agent.upper()} | {row['seed']} | {int(row['steps']):,} | {numbers} |")
        made = facts(folder / "config.json")["provenance"]
        notes.append(f"`{made['command']}`, commit {made['commit']}, {made['machine']}.")
    return "\n".join([*lines, "", *notes])


def checkpoints() -> str:
    """What a checkpoint costs."""
    result = facts(RESULTS / "benchmarks" / "checkpoints_cpu.json")
    lines = head(("what", "seconds", "MB written"))
    for row in result["rows"]:
        written = f"{row['MB written']:.3g}" if row["MB written"] else "-"
        lines.append(f"| {row['what']} | {row['seconds']:.3g} | {written} |")
    origin = result["origin"]
    made = made_by(origin)
    share = f"At one a minute that is {100 * origin['share_of_time']:.2g} % of the time."
    return "\n".join([*lines, "", f"{share} {made}."])


def control_gpu() -> str:
    """What a step costs against the ensemble's size and the number of runs."""
    result = facts(RESULTS / "benchmarks" / "control_gpu.json")
    origin = result["origin"]
    columns = ("contender", "runs", "us a step and run", "steps/s", "share of the matrix rate", "times the floor")
    lines = head(columns)
    for row in result["rows"]:
        shown = [f"{row[c]:,.3g}" if isinstance(row[c], float) and row[c] < 1e3 else _whole(row[c]) for c in columns]
        lines.append(line(shown))
    made = f"`{origin['command']}`, jax {origin['packages']['jax']}, commit {origin['commit']}, {origin['machine']}"
    rates = f"{origin['matrix_rate'] / 1e12:.0f} TFLOP/s (bfloat16), of a copy {origin['copy_rate'] / 1e12:.1f} TB/s"
    return "\n".join([*lines, "", f"{made}; the rate of a matrix product is {rates}."])


def _whole(value: float | str) -> str:
    return f"{value:,.0f}" if isinstance(value, float) else f"{value}"


def control_speed() -> str:
    """RP-BBAC and SAC beside SBX's SAC."""
    result = facts(RESULTS / "benchmarks" / "control_cpu.json")
    origin, columns = result["origin"], ("contender", "steps/s", "GFLOP a step", "GFLOP/s", "share of the matrix rate")
    lines = measured(result["rows"], columns)
    peers = ", ".join(f"{name} {version}" for name, version in origin["peers"].items())
    made = f"`{origin['command']}`, {peers}, jax {origin['packages']['jax']}, commit {origin['commit']}"
    return "\n".join([*lines, "", f"{made}, {origin['machine']}."])


def bsuite_scores() -> str:
    """BootDQN's scores in bsuite, by setting."""
    result = facts(RESULTS / "bsuite" / "scores.json")
    origin, columns = result["origin"], list(result["rows"][0])
    lines = measured(result["rows"], columns)
    made = f"`{origin['command']}`, bsuite {origin['peers']['bsuite']}, jax {origin['packages']['jax']}"
    note = f"{made}, seed {origin['seed']}, commit {origin['commit']}, {origin['machine']}."
    return "\n".join([*lines, "", note])


def discrete_speed() -> str:
    """BootDQN beside bsuite's."""
    result = facts(RESULTS / "benchmarks" / "discrete_cpu.json")
    origin, columns = result["origin"], list(result["rows"][0])
    lines = measured(result["rows"], columns)
    peers = ", ".join(f"{name} {version}" for name, version in origin["peers"].items())
    made = f"`{origin['command']}`, {peers}, jax {origin['packages']['jax']}, commit {origin['commit']}"
    rate = f"the matrix rate is {origin['matrix_rate'] / 1e9:.0f} GFLOP a CPU second"
    return "\n".join([*lines, "", f"{made}, {origin['machine']}, of which one was used; {rate}."])


def deep_sea() -> str:
    """Episodes to learn, of both agents by size and of the ablations, and how they grow."""
    columns = ("agent", "size", "runs", "learnt", "episodes to learn, median", "least", "most", "episodes at most")
    lines, notes = head(columns), []
    for folder in (RESULTS / "deep_sea", RESULTS / "deep_sea_harder"):
        lines += [line(row[name] for name in columns) for row in table_of(folder / "summary.csv")]
        made = facts(folder / "provenance.json")
        notes.append(
            f"`{made['command']}`, commit {made['commit']}, {made['machine']}, {made['seconds'] / 60:.1f} minutes."
        )
    growth = facts(RESULTS / "deep_sea" / "growth.json")
    fitted = f"{growth['exponent']:.2f} ± {growth['exponent_stderr']:.2f}"
    words = f"Learning times of BootDQN+Prior grow as N to the power of {fitted} (all runs, sizes 10 to 50)."
    twice = "Seeds 0 to 9. Rows that come twice are of both studies, made by different code."
    return "\n".join([*lines, "", words, twice, "", *notes])
