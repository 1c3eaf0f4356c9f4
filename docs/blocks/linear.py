"""Of evaluation with linear features, and of examples that print their tables."""

from blocks.reading import RESULTS, facts, head, line, made_by, measured, table_of


def speed() -> str:
    """The benchmark's contenders against `LinearBBO.fit`."""
    result = facts(RESULTS / "benchmarks" / "linear.json")
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
    origin = facts(RESULTS / name / "provenance.json")
    return f"```text\n{table}\n```\n\n`{origin['command']}`, commit {origin['commit']}, {origin['machine']}."


def off_policy() -> str:
    """Errors, widths and coverages of the off-policy study at the smallest, a middle and the largest size."""
    folder = RESULTS / "off_policy"
    rows = table_of(folder / "curves.csv")
    origin = facts(folder / "provenance.json")
    sizes, numbers = origin["settings"]["sizes"], origin["settings"]["runs"]
    mean, error = (
        {(r["task"], r["data"], int(r["transitions"]), r["quantity"]): float(r[part]) for r in rows}
        for part in ("mean", "stderr")
    )
    titles = {"disc_random_off": "random MDP", "lqr_full_offpolicy": "cart-pole"}
    widths = {"value": "value width", "ess": "corrected", "sandwich": "sandwich", "jackknife": "jackknife"}
    header = ("task", "data", "N", "ESS / N", "in the limit", "RMSE", *widths.values())
    lines = head(header)
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
        lines.append(line(cells))
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
    return {(r["variant"], r["table"], r["task"], r["method"]): r for r in table_of(RESULTS / "linear" / "cells.csv")}


def linear_origin() -> str:
    origin = facts(RESULTS / "linear" / "provenance.json")
    made = made_by(origin)
    return f"{made}; seeds from 0, the paper's numbers of runs."


def _number(cell: dict[str, str]) -> str:
    mean, error = float(cell["mean"]), float(cell["stderr"])
    return f"{mean:,.0f} ± {error:,.0f}" if mean > 1e3 else f"{mean:.2f} ± {error:.2g}"


def _change(row: dict[str, str]) -> tuple[bool, float]:
    size = abs(float(row["difference"]))
    return size > 3 * float(row["stderr"]), size / float(row["without"])


def linear_quirks() -> str:
    """For each quirk and each table, the cell that it changes most for its size, of those it changes beyond doubt."""
    rows = table_of(RESULTS / "quirks" / "effects.csv")
    origin = facts(RESULTS / "quirks" / "provenance.json")
    lines = head(("quirk", "table", "task", "method", "without", "with", "difference"))
    for quirk in dict.fromkeys(row["quirk"] for row in rows):
        for table in ("final", "sum"):
            found = [row for row in rows if (row["quirk"], row["table"]) == (quirk, table)]
            most = max(found, key=_change)
            numbers = [f"{float(most[name]):.4g}" for name in ("without", "with")]
            change = f"{float(most['difference']):.2g} ± {float(most['stderr']):.1g}"
            lines.append(line([f"`{quirk}`", table, most["task"], most["method"], *numbers, change]))
    made = made_by(origin)
    return "\n".join([*lines, "", f"{made}; {origin['settings']['runs']} runs of each, seeds from 0."])


def linear_speed() -> str:
    """One run of BBO, ours against a NumPy loop, by task."""
    result = facts(RESULTS / "benchmarks" / "linear_suite.json")
    origin, columns = result["origin"], list(result["rows"][0])
    lines = measured(result["rows"], columns)
    numpy = f"numpy {origin['packages']['numpy']}, jax {origin['packages']['jax']}"
    return "\n".join([*lines, "", f"`{origin['command']}`, {numpy}, commit {origin['commit']}, {origin['machine']}."])


def linear_tables() -> str:
    """The correct table of final errors."""
    cells = linear_cells()
    settings = facts(RESULTS / "linear" / "provenance.json")["settings"]
    methods = settings["methods"]
    lines = head(["task", *methods])
    for task in settings["tasks"]:
        row = [_number(cells["correct", "final", task, method]) for method in methods]
        lines.append(line([task, *row]))
    return "\n".join([*lines, "", linear_origin()])
