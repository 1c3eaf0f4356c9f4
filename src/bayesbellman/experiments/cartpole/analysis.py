"""Learning curves with every seed, rewards found over time, and who solved it."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from bayesbellman.experiments.artefact import Arrays, Done, Plan, origin
from bayesbellman.experiments.cartpole.drawing import draw_curves, draw_rewards, draw_support
from bayesbellman.experiments.cartpole.outcomes import (
    HEADER,
    Outcome,
    by_group,
    group_row,
    outcomes,
    write_curves,
    write_runs,
)
from bayesbellman.runs.tables import aligned, markdown, write_csv


def analyse(plan: Plan, done: Done, folder: Path) -> str:
    """Everything that is left behind; returns what to print."""
    return write_study(plan, done, folder, "agent", REPORT)


def support_of(results: Mapping[str, Arrays]) -> dict[str, Figure]:
    """Pictures of the first run of each group, by their files' names."""
    found = {}
    for arrays in results.values():
        for group in dict.fromkeys(arrays["group"].tolist()):
            run = arrays["group"].tolist().index(group)
            name = "".join(c if c.isalnum() or c == "." else "-" for c in group.lower().replace("*", "-star"))
            found[f"support-{name}.png"] = draw_support(f"{group}, seed {arrays['seed'][run]}", arrays, run)
    return found


def in_order(plan: Plan, done: Done) -> dict[str, Arrays]:
    """Results in the order of the plan, in whatever order they came."""
    return {job.name: done.results[job.name] for job in plan.jobs if job.name in done.results}


def write_study(
    plan: Plan,
    done: Done,
    folder: Path,
    what: str,
    report: str,
    more: Mapping[str, Figure] | None = None,
    words: str = "",
) -> str:
    """What all studies of the cart-pole leave; ``what`` names their groups. ``more``: figures that come first."""
    results = in_order(plan, done)
    runs: list[Outcome] = [run for found in results.values() for run in outcomes(found)]
    header = (what, *HEADER)
    rows: Sequence[tuple] = [(group, *group_row(each)) for group, each in by_group(runs).items()]
    write_csv(folder / "summary.csv", header, rows)
    write_runs(folder / "runs.csv", runs)
    write_curves(folder / "curves.csv", results.values())
    pictures = support_of(results)
    figures = {**(more or {}), "returns.png": draw_curves(results), "rewards.png": draw_rewards(results), **pictures}
    for name, figure in figures.items():
        figure.savefig(folder / name)
    seconds = {name: round(float(found["seconds"]), 1) for name, found in results.items()}
    made_by = {**origin(plan, done), "job_seconds": seconds}
    (folder / "provenance.json").write_text(json.dumps(made_by, indent=2) + "\n", encoding="utf-8")
    failures = "".join(f"Job {name} failed: {why}.\n" for name, why in done.failures.items())
    text = report.format(
        failures=failures,
        table=markdown(header, rows),
        words=words,
        pictures="\n\n".join(f"![{name.removesuffix('.png')}]({name})" for name in pictures),
        minutes=f"{done.seconds / 60:.1f}",
        origin=json.dumps(made_by, indent=2),
    )
    (folder / "report.md").write_text(text, encoding="utf-8")
    return "\n".join(part for part in (aligned(header, rows), words, failures) if part)


REPORT = """# Sparse cart-pole

Mean-action returns of the policy that was learnt. Solved: the mean return of each of the last ten evaluations is above
500; the final return is the mean over those. A reward is found where a step of training earns the 1; an episode is
rewarded if one of its steps does. Medians are over runs, `-` where fewer than half of them came so far. All runs are in
runs.csv, their curves in curves.csv.

![Returns of every run](returns.png)

![Rewards found, and disagreement](rewards.png)

{failures}
{table}

{words}

Where the first run of each has been, and where its members disagree:

{pictures}

## Made by

It took {minutes} minutes, all pieces together.

```json
{origin}
```
"""
