"""What the search tried, what it chose, and how that compares with the paper's choice on the same data."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from bayesbellman.data.nonlinear_problems import PROBLEMS
from bayesbellman.experiments.artefact import Arrays, Done, Plan, origin
from bayesbellman.experiments.nonlinear.methods import DIRECT, METHODS, Setting
from bayesbellman.experiments.nonlinear_tuning.search import FAMILIES, Tried, best
from bayesbellman.experiments.nonlinear_tuning.sweep import NUMBERS
from bayesbellman.runs.tables import aligned, markdown, write_csv

HEADER = ("task", "method", "chosen", "MSE", "the paper's", "MSE of it", "tried", "diverged")


def tried_by_task(done: Done) -> Iterator[tuple[str, list[Tried]]]:
    for task in PROBLEMS:
        parts = [done.results[f"{task}.{family}"] for family in FAMILIES if f"{task}.{family}" in done.results]
        if parts:
            yield task, [one for part in parts for one in _read(part)]


def _read(arrays: Arrays) -> Iterator[Tried]:
    for i, method in enumerate(arrays["method"]):
        numbers = {name: float(arrays[name][i]) for name in NUMBERS if not np.isnan(arrays[name][i])}
        setting = Setting(numbers, int(arrays["lower_steps"][i]))
        name = list(METHODS)[int(method)]
        yield Tried(name, str(arrays["stage"][i]), setting, arrays["errors"][i], arrays["diverged"][i])


def words(setting: Setting) -> str:
    numbers = ", ".join(f"{name} {number:g}" for name, number in setting.numbers.items())
    return numbers + (f", {setting.lower_steps} lower steps" if "lower" in setting.numbers else "")


def chosen(tried: Sequence[Tried]) -> dict[str, Tried]:
    """The best of each method; the paper's own setting is compared, not chosen."""
    found = {}
    for method in METHODS:
        ours = [one for one in tried if one.method == method and one.stage != "paper"]
        if method == DIRECT:  # learning rates are searched without the prior that the method has
            ours = [one for one in ours if one.stage == "prior"]
        if ours:
            found[method] = best(ours)
    return found


def analyse(plan: Plan, done: Done, folder: Path) -> str:
    """Tables of all that was tried and of what was chosen."""
    rows, best_settings = [], {}
    for task, tried in tried_by_task(done):
        for method, winner in chosen(tried).items():
            here = [one for one in tried if one.method == method]
            numbers = {**winner.setting.numbers, "lower_steps": winner.setting.lower_steps}
            best_settings[f"{task} | {method}"] = {**numbers, "mse": winner.score}
            paper = next(one for one in here if one.stage == "paper")
            gone = sum(bool(np.any(one.diverged >= 0)) for one in here)
            row = (task, method, words(winner.setting), winner.score, words(paper.setting), paper.score)
            rows.append((*row, len(here), gone))
    write_csv(
        folder / "tried.csv",
        ("task", "method", "stage", *NUMBERS, "lower_steps", "median", "errors", "diverged_at"),
        [
            (
                task,
                one.method,
                one.stage,
                *(f"{one.setting.numbers[name]:g}" if name in one.setting.numbers else "" for name in NUMBERS),
                one.setting.lower_steps,
                f"{one.score:.6g}",
                " ".join(f"{error:.6g}" for error in one.errors),
                " ".join(str(int(step)) for step in one.diverged if step >= 0),
            )
            for task, tried in tried_by_task(done)
            for one in tried
        ],
    )
    (folder / "best.json").write_text(json.dumps(best_settings, indent=2) + "\n", encoding="utf-8")
    made_by = origin(plan, done)
    (folder / "provenance.json").write_text(json.dumps(made_by, indent=2) + "\n", encoding="utf-8")
    failures = "".join(f"{sentence}\n" for sentence in done.lacks)
    text = REPORT.format(failures=failures, table=markdown(HEADER, rows), origin=json.dumps(made_by, indent=2))
    (folder / "report.md").write_text(text, encoding="utf-8")
    return aligned(HEADER, rows) + ("\n" + failures if failures else "")


REPORT = """# Settings of the non-linear methods

By the paper's stages on its grids, but after a fifth of its training steps: the median of the final mean squared errors
over the tuning data sets, on which nothing is reported. "Diverged" counts settings of which a trial diverged.
All that was tried: tried.csv.

{failures}
{table}

## Made by

```json
{origin}
```
"""
