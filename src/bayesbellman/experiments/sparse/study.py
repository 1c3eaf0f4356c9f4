"""What every study of a sparse task leaves: tables, curves and pictures of all runs, where they have been, a report."""

import json
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from bayesbellman.control.bbac import RECIPES
from bayesbellman.experiments.artefact import Arrays, Done, Plan, origin, slug
from bayesbellman.experiments.sparse.drawing import draw_curves, draw_rewards, draw_support
from bayesbellman.experiments.sparse.outcomes import (
    HEADER,
    SEED_HEADER,
    Outcome,
    by_group,
    group_row,
    outcomes,
    seed_rows,
    write_curves,
    write_runs,
)
from bayesbellman.experiments.sparse.task import Task
from bayesbellman.runs.tables import aligned, markdown, write_csv

TaskOf = Callable[[str], Task]
"""By the name of a job: what its runs were made on"""

SOLVED = (
    "Solved: the mean return of each of the last ten evaluations is above 500; the final return is the mean over those."
)
REWARDED = "A reward is found where a step of training earns the 1; an episode is rewarded if one of its steps does."
MEDIANS = "Medians are over runs, `-` where fewer than half of them came so far."
_DEFAULT = (
    " our default recipe, with a learning rate of {learning_rate:g} and an entropy bonus of"
    " {exploration_entropy:g} for exploring actors".format(**RECIPES["ours"])
    + "; the paper has {learning_rate:g} and {exploration_entropy:g}.".format(**RECIPES["paper"])
)
RECIPE, RECIPE_OF_ONE = "RP-BBAC and BAC have" + _DEFAULT, "RP-BBAC has" + _DEFAULT
FILES = "All runs are in runs.csv, their curves in curves.csv."
CURVES = """![Returns of every run](returns.png)

![Rewards found, and disagreement](rewards.png)"""
"""Of a study with one task; ``{curves}`` are those of one with any number of them"""
TABLE = """{failures}
{table}"""
ENDING = """Where the first run of each has been, and where its members disagree:

{pictures}

## Made by

It took {minutes} minutes, all pieces together.

```json
{origin}
```
"""
"""Of every report"""


def paragraph(*sentences: str) -> str:
    """Of a report, in lines of at most 120 characters."""
    return textwrap.fill(" ".join(sentences), 120, break_long_words=False, break_on_hyphens=False)


def in_order(plan: Plan, done: Done) -> dict[str, Arrays]:
    """Results in the order of the plan, in whatever order they came."""
    return {job.name: done.results[job.name] for job in plan.jobs if job.name in done.results}


def runs_of(plan: Plan, done: Done, task_of: TaskOf) -> list[Outcome]:
    """What became of every run, in the order of the plan."""
    found = in_order(plan, done)
    return [run for name, arrays in found.items() for run in outcomes(arrays, task_of(name).success)]


def support_of(results: Mapping[str, Arrays], task_of: TaskOf) -> dict[str, Figure]:
    """Pictures of the first run of each group, by their files' names."""
    found = {}
    for job, arrays in results.items():
        if not len(arrays["moments"]):  # the runs have not come so far
            continue
        for group in dict.fromkeys(arrays["group"].tolist()):
            run = arrays["group"].tolist().index(group)
            title = f"{group}, seed {arrays['seed'][run]}"
            found[f"support-{slug(group)}.png"] = draw_support(title, task_of(job).plane, arrays, run)
    return found


def curves_of(results: Mapping[str, Arrays], task_of: TaskOf) -> dict[str, Figure]:
    """Returns and rewards found, by their files' names; of each task where there are several."""
    tasks = {task_of(job).name: task_of(job) for job in results}
    found = {}
    for name, task in tasks.items():
        here = {job: arrays for job, arrays in results.items() if task_of(job).name == name}
        suffix = f"-{name}" if len(tasks) > 1 else ""
        found[f"returns{suffix}.png"] = draw_curves(here, task.success)
        found[f"rewards{suffix}.png"] = draw_rewards(here)
    return found


def write_study(
    plan: Plan,
    done: Done,
    folder: Path,
    what: str,
    report: Sequence[str],
    task_of: TaskOf,
    more: Mapping[str, Figure] | None = None,
) -> str:
    """``what`` names the groups of runs. ``report``: its parts, before `ENDING`. ``more``: figures that come first."""
    results, runs = in_order(plan, done), runs_of(plan, done, task_of)
    header = (what, *HEADER)
    rows: Sequence[tuple] = [(group, *group_row(each)) for group, each in by_group(runs).items()]
    write_csv(folder / "summary.csv", header, rows)
    write_runs(folder / "runs.csv", runs)
    write_curves(folder / "curves.csv", results.values())
    curves, pictures = curves_of(results, task_of), support_of(results, task_of)
    for name, figure in {**(more or {}), **curves, **pictures}.items():
        figure.savefig(folder / name)
    seconds = {name: round(float(found["seconds"]), 1) for name, found in results.items()}
    made_by = {**origin(plan, done), "job_seconds": seconds}
    (folder / "provenance.json").write_text(json.dumps(made_by, indent=2) + "\n", encoding="utf-8")
    failures = "".join(f"{sentence}\n" for sentence in done.lacks)
    text = "\n\n".join((*report, ENDING)).format(
        failures=failures,
        table=markdown(header, rows),
        seeds=markdown((what, *SEED_HEADER), seed_rows(runs)),
        curves=shown(curves),
        pictures=shown(pictures),
        minutes=f"{done.seconds / 60:.1f}",
        origin=json.dumps(made_by, indent=2),
    )
    (folder / "report.md").write_text(text, encoding="utf-8")
    return "\n".join(part for part in (aligned(header, rows), failures) if part)


def shown(figures: Mapping[str, Figure]) -> str:
    return "\n\n".join(f"![{name.removesuffix('.png')}]({name})" for name in figures)
