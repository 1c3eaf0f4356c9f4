"""The pictures, and how much of the state space has been visited, as numbers."""

import csv
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from bayesbellman.experiments.artefact import Address, Cell, Done, Plan, origin, slug
from bayesbellman.experiments.state_support.expected import COVERS
from bayesbellman.experiments.state_support.pictures import CELLS, counts, draw_support
from bayesbellman.experiments.state_support.sweep import SHOWN
from bayesbellman.runs.tables import aligned, markdown, write_csv

HEADER = ("agent", "step", "cells visited", "share of the space", "goals in training", "disagreement of members")


def analyse(plan: Plan, done: Done, folder: Path) -> str:
    """Everything that is left behind; returns what to print."""
    rows, pictures = [], []
    for name in SHOWN:
        found = done.results.get(slug(name))
        if found is None:
            continue
        moments = [int(moment) for moment in found["moments"]]
        for k, moment in enumerate(moments):
            cells_seen = int(np.sum(counts(found["visited"][:moment]) > 0))
            goals = int(found["successes"][np.searchsorted(found["steps"], moment)])
            spread = float(np.mean(np.std(found["values"][k], axis=0)))
            rows.append((name, moment, cells_seen, f"{cells_seen / CELLS**2:.2f}", goals, f"{spread:.2f}"))
        file = f"{slug(name)}.png"
        draw_support(name, moments, found["values"], found["visited"]).savefig(folder / file)
        pictures.append(f"![{name}]({file})")
    write_csv(folder / "coverage.csv", HEADER, rows)
    made_by = origin(plan, done)
    (folder / "provenance.json").write_text(json.dumps(made_by, indent=2) + "\n", encoding="utf-8")
    failures = "".join(f"{sentence}\n" for sentence in done.lacks)
    (folder / "report.md").write_text(
        REPORT.format(
            failures=failures,
            pictures="\n\n".join(pictures),
            table=markdown(HEADER, rows),
            origin=json.dumps(made_by, indent=2),
        ),
        encoding="utf-8",
    )
    return aligned(HEADER, rows) + ("\n" + failures if failures else "")


def cells(folder: Path) -> Mapping[Address, Cell]:
    """Cells visited at the end over those that SAC has visited."""
    path = folder / "coverage.csv"
    if not path.exists():
        raise FileNotFoundError(
            f"{folder} holds no coverage.csv; make it with: bbo reproduce state-support --out {folder}"
        )
    with path.open(newline="", encoding="utf-8") as file:
        last = {row["agent"]: float(row["cells visited"]) for row in csv.DictReader(file)}
    if "SAC" not in last:
        return {}
    return {
        (name, COVERS): Cell(seen / max(last["SAC"], 1.0), 0.0, 0.0, 1, 0)
        for name, seen in last.items()
        if name != "SAC"
    }


REPORT = """# What has been seen of MountainCar

Position across, velocity upward; the goal lies right of the dotted line. One run of each agent.

{pictures}

{failures}
{table}

## Made by

```json
{origin}
```
"""
