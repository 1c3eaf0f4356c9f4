"""Folders as ``bbo train`` leaves them, made by hand."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bayesbellman.runs.metrics import MetricsFile
from bayesbellman.runs.tables import write_csv

Evaluations = Mapping[int, float]


def make_run(
    folder: Path,
    seeds: Mapping[int, Evaluations],
    ended: Mapping[int, str] | None = None,
    *,
    agent: str = "BBAC",
    env: str = "E-v0",
    steps: int = 400,
    settings: Mapping[str, Any] | None = None,
    number: int | None = None,
) -> Path:
    """``seeds``: the evaluations of those that began; ``ended``: of those that ended; ``number``: if there are more."""
    folder.mkdir(parents=True)
    first, number = min(seeds), number or len(seeds)
    config = {
        "env": env,
        "agent": agent,
        "settings": {"seed": first, "hidden": [8], "discount": 0.99, **(settings or {})},
        "run": {"steps": steps, "seed": first, "seeds": number, "evaluate_every": 100, "episodes": 2, "solved": None},
    }
    (folder / "config.json").write_text(json.dumps(config))
    for seed, evaluations in seeds.items():
        place = folder if number == 1 else folder / f"seed-{seed:04d}"
        place.mkdir(exist_ok=True)
        with MetricsFile(place / "metrics.jsonl") as file:
            for step, mean in evaluations.items():
                record = {"steps": step, "seconds": 1.0, "returns": [mean - 1], "metrics": {}}
                file.write({**record, "evaluation": {"mean": mean, "returns": [mean]}})
    if ended is not None:
        write_csv(folder / "summary.csv", ("seed", "ended"), list(ended.items()))
    return folder
