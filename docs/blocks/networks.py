"""Of evaluation with networks, and of Tsitsiklis' triangle."""

from blocks.reading import RESULTS, facts, head, line, made_by, measured, shown, table_of


def randomised_prior() -> str:
    """The ensemble beside NUTS."""
    result = facts(RESULTS / "randomised_prior" / "randomised_prior.json")
    origin, columns = result["origin"], list(result["rows"][0])
    lines = measured(result["rows"], columns, ".3f")
    made = f"`{origin['command']}`, blackjax {origin['blackjax']}, commit {origin['commit']}, {origin['machine']}"
    note = f"{made}, seed {origin['seed']}. Largest R-hat of NUTS on the grid: {origin['r_hat']:.3f}."
    return "\n".join([*lines, "", note])


def nonlinear_speed() -> str:
    """Trials of the paper's size on the GPU and, BBO alone, on a CPU that was busy; shorter ones there."""
    columns = ("method", "seeds", "steps", "seconds", "us a step and seed", "share of the matrix rate")
    lines = head(["device", *columns])
    notes = []
    for machine in ("gpu", "cpu_full", "cpu"):
        result = facts(RESULTS / "benchmarks" / f"nonlinear_{machine}.json")
        origin = result["origin"]
        for row in result["rows"]:
            lines.append(line([origin["device"], *shown(row, columns)]))
        notes.append(
            f"{origin['device']}: `{origin['command']}`, jax {origin['packages']['jax']}, commit {origin['commit']},"
            f" {origin['machine']}; TDC takes {origin['tdc_over_td']:.2f} times TD(0) a step."
        )
    return "\n".join([*lines, "", *notes])


def nonlinear() -> str:
    """Final errors of the five methods on the three tasks, and the claims."""
    from bayesbellman.experiments.checking import judge
    from bayesbellman.experiments.nonlinear import ARTEFACT

    folder = RESULTS / "nonlinear"
    rows = table_of(folder / "summary.csv")
    origin = facts(folder / "provenance.json")
    lines = head(("settings", "task", "method", "MSE, median", "25 %", "75 %", "largest"))
    for row in rows:
        numbers = [f"{float(row[name]):,.4g}" for name in ("MSE median", "25 %", "75 %", "largest")]
        lines.append(line([row["settings"], row["task"], row["method"], *numbers]))
    lines += ["", *head(("settings", "task", "claim", "on so many data sets", "verdict"))]
    for verdict in judge(ARTEFACT.expected(), ARTEFACT.cells(folder)):
        rule, word = verdict.row[5], verdict.row[4]
        lines.append(line([*verdict.address, str(rule).rsplit(",", 1)[0], str(word)]))
    size = origin["settings"]["size"]
    made = (
        f"`{origin['command']}`, commit {origin['commit']}, {origin['machine']}, {origin['seconds'] / 60:.1f} minutes"
    )
    note = f"{made}; {size['seeds']} data sets and seeds, {size['steps']:,} training steps. All trials count."
    return "\n".join([*lines, "", note])


def nonlinear_tuning() -> str:
    """What the search chose, beside the paper's choice, on the tuning data."""
    folder = RESULTS / "nonlinear_tuning"
    origin = facts(folder / "provenance.json")
    report = (folder / "report.md").read_text(encoding="utf-8").splitlines()
    size = origin["settings"]["size"]
    made = made_by(origin)
    note = (
        f"{made}; median errors on {size['seeds']} tuning data sets after {size['steps']:,} steps. Made in two pieces;"
        f" the second took {origin['seconds'] / 60:.1f} minutes for {origin['jobs'] - origin['jobs_resumed']} of the"
        f" {origin['jobs']} searches."
    )
    return "\n".join([*(line for line in report if line.startswith("|")), "", note])


def tsitsiklis() -> str:
    """Where each method ends on the triangle."""
    rows = table_of(RESULTS / "tsitsiklis" / "summary.csv")
    origin = facts(RESULTS / "tsitsiklis" / "provenance.json")
    lines = head(("method", "ω at the end", "root mean squared error at the start", "at the end"))
    for row in rows:
        numbers = [f"{float(row[name]):.4g}" for name in ("omega_end", "rms_start", "rms_end")]
        lines.append(line([row["method"], *numbers]))
    made = made_by(origin)
    return "\n".join([*lines, "", f"{made}; {origin['settings']['steps']} updates, nothing random."])
