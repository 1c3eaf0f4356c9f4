"""The table of effects: mean with and without a quirk, and the mean difference over runs on the same data."""

import json
from pathlib import Path

import numpy as np

from bayesbellman.data.quirks import QUIRKS
from bayesbellman.experiments.artefact import Done, Plan, origin
from bayesbellman.experiments.quirks.sweep import NONE
from bayesbellman.runs.tables import aligned, markdown, write_csv

HEADER = ("quirk", "task", "method", "table", "without", "with", "difference", "stderr", "runs", "failed")
TABLES = ("final", "sum")


def effects(done: Done) -> list[tuple]:
    """One row per quirk, task, method and table. Pairs in which a run is not finite are left out and counted."""
    pairs: dict[tuple[str, str, str, str], list[tuple[float, float]]] = {}
    for name, found in done.results.items():
        quirk, task, first = name.split(".")
        base = done.results.get(f"{NONE}.{task}.{first}")
        if quirk == NONE or base is None:
            continue
        for method, curves in found.items():
            for table in TABLES:
                without, with_it = (_score(rmse, table) for rmse in (base[method], curves))
                pairs.setdefault((quirk, task, method, table), []).extend(zip(without, with_it, strict=True))
    rows = []
    for quirk in QUIRKS:
        for address, numbers in pairs.items():
            if address[0] == quirk:
                rows.append((*address, *_effect(np.array(numbers))))
    return rows


def _score(rmse: np.ndarray, table: str) -> list[float]:
    return (rmse[:, -1] if table == "final" else rmse.sum(axis=1)).tolist()


def _effect(numbers: np.ndarray) -> tuple[float, float, float, float, int, int]:
    kept = numbers[np.isfinite(numbers).all(axis=1)]
    if len(kept) == 0:
        return (np.nan, np.nan, np.nan, np.nan, 0, len(numbers))
    difference = kept[:, 1] - kept[:, 0]
    error = float(difference.std(ddof=1) / np.sqrt(len(kept))) if len(kept) > 1 else np.nan
    means = (float(kept[:, 0].mean()), float(kept[:, 1].mean()), float(difference.mean()))
    return (*means, error, len(kept), len(numbers) - len(kept))


def analyse(plan: Plan, done: Done, folder: Path) -> str:
    """Table, report and where they come from; returns what to print."""
    rows = effects(done)
    write_csv(folder / "effects.csv", HEADER, rows)
    made_by = origin(plan, done)
    (folder / "provenance.json").write_text(json.dumps(made_by, indent=2) + "\n", encoding="utf-8")
    failures = "\n".join(done.lacks)
    meanings = "\n".join(f"- `{name}`: {words}" for name, words in QUIRKS.items())
    report = REPORT.format(
        meanings=meanings, failures=failures, table=markdown(HEADER, rows), origin=json.dumps(made_by, indent=2)
    )
    (folder / "report.md").write_text(report, encoding="utf-8")
    return "\n".join(filter(None, [aligned(HEADER, rows), failures]))


REPORT = """# What each quirk of the linear benchmark does

Each alone, beside the same runs (the same data, our own random numbers) without any: RMSE at the last checkpoint
(`final`) and its sum over checkpoints (`sum`), means over runs; the difference with its standard error over pairs.
Where runs share draws of a random process (ten each) the error takes them as independent.

{meanings}

{failures}

{table}

## Made by

```json
{origin}
```
"""
