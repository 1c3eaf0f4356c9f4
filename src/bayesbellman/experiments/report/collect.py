"""All that the page shows of some runs, as plain data that JSON can hold. Runs may be going on, broken off or old."""

import base64
import json
import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from bayesbellman._version import __version__
from bayesbellman.experiments.report.words import remarks, verdict
from bayesbellman.experiments.training.diagnostics import read_moment, recorded
from bayesbellman.experiments.training.plan import DIAGNOSTICS
from bayesbellman.experiments.training.reading import Run, SeedRun, read_run

MOST_POINTS = 400
"""Of a line; of more, some are left out, never the last"""
MOMENTS_BUDGET = 4_200_000
"""Characters of all moments together; beyond it each seed shows fewer of them"""
AXES = {"MountainCarContinuous-v0": ("position", "velocity"), "MountainCar-v0": ("position", "velocity")}
"""What the two dimensions of an observation are"""
GOING_RIGHT = ("goes right, by the members' mean", "share of members that go right")
CHOICES = ("action that is best by the members' mean", "share of members that choose it too")

Json = dict[str, Any]


def collect(folders: Sequence[Path]) -> Json:
    """Read the folders, as they are now."""
    runs = [read_run(folder) for folder in folders]
    labels = _labels(folders)
    told = [_run(f"r{place}", label, run) for place, (label, run) in enumerate(zip(labels, runs, strict=True))]
    left_out = _fit(told)
    return {
        "version": __version__,
        "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "command": shlex.join(["bbo", "report", *map(str, folders)]),
        "thinned": left_out,
        "runs": told,
    }


def _labels(folders: Sequence[Path]) -> list[str]:
    """The folders' names; where two are the same, their whole paths."""
    names = [folder.resolve().name for folder in folders]
    return [name if names.count(name) == 1 else str(folder) for name, folder in zip(names, folders, strict=True)]


def _run(ident: str, label: str, run: Run) -> Json:
    config, about = run.config, run.config["run"]
    seeds = [_seed(f"{ident}s{seed.seed}", seed) for seed in run.seeds]
    last = {seed["seed"]: seed["last"] for seed in seeds if seed["last"] is not None}
    median = float(np.median(list(last.values()))) if last else None
    provenance = config.get("provenance") or {}
    return {
        "id": ident,
        "label": label,
        "folder": str(run.folder),
        "title": run.title,
        "agent": config["agent"],
        "env": config["env"],
        "axes": _axes(config["env"]),
        "planned": about["steps"],
        "episodes": about.get("episodes"),
        "solved": about.get("solved"),
        "running": any(seed.how == "running" for seed in run.seeds),
        "verdict": verdict(run, last, median),
        "remarks": remarks(run) + [words for seed in seeds for words in seed["faults"]],
        "settings": {str(name): _text(value) for name, value in config["settings"].items()},
        "target_noise": _number(config["settings"].get("target_noise")),
        "facts": _facts(config, provenance),
        "commands": _commands(run, provenance),
        "seeds": seeds,
        "median": middle([seed["evaluations"] for seed in seeds]),
        "disagreement": middle([seed["disagreement"] for seed in seeds]),
    }


def _axes(env: Any) -> tuple[str, str]:
    """Of maps: across, and up; of cells, down."""
    if str(env).startswith("deep-sea"):
        return "column", "row"
    return AXES.get(str(env), ("observation 1", "observation 2"))


def _facts(config: Mapping[str, Any], provenance: Mapping[str, Any]) -> list[tuple[str, str]]:
    facts = {"environment is": config.get("path"), "device": config.get("device")}
    facts |= {name: value for name, value in provenance.items() if name != "command"}
    return [(name, _text(value)) for name, value in facts.items() if value is not None]


def _commands(run: Run, provenance: Mapping[str, Any]) -> list[str]:
    trained = provenance.get("command")
    commands = [str(trained)] if trained else []
    played = [seed.folder for seed in run.seeds if (seed.folder / "agent.bbo").exists()]
    return commands + [shlex.join(["bbo", "evaluate", str(folder)]) for folder in played[:1]]


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_text(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        return " ".join(map(_text, value))
    return {None: "none", True: "yes", False: "no"}[value] if value is None or isinstance(value, bool) else str(value)


def _number(value: Any) -> float | None:
    """None for what is no finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(f"{value:.6g}")


def _seed(ident: str, seed: SeedRun) -> Json:
    pieces = seed.records
    tested = [(piece["steps"], piece["evaluation"]) for piece in pieces if isinstance(piece.get("evaluation"), dict)]
    means = [(steps, _number(evaluation.get("mean"))) for steps, evaluation in tested]
    finite = [(steps, mean) for steps, mean in means if mean is not None]
    best = max(finite, key=lambda pair: pair[1], default=(None, None))
    noted = [(piece["steps"], _number((piece.get("metrics") or {}).get("disagreement"))) for piece in pieces]
    moments, faults = _moments(seed)
    return {
        "id": ident,
        "seed": seed.seed,
        "how": seed.how,
        "steps": seed.steps,
        "seconds": _number(pieces[-1].get("seconds")) if pieces else None,
        "evaluated": len(tested),
        "not_finite": len(means) - len(finite),
        "last": means[-1][1] if means else None,
        "best": best[1],
        "best_at": best[0],
        "evaluations": _line(means),
        "disagreement": _line([(steps, value) for steps, value in noted if value is not None]),
        "moments": moments,
        "faults": faults,
    }


def _line(points: list[tuple[int, float | None]]) -> Json:
    if len(points) > MOST_POINTS:
        chosen = np.linspace(0, len(points) - 1, MOST_POINTS).round().astype(int)
        points = [points[place] for place in chosen]
    return {"x": [x for x, _ in points], "y": [y for _, y in points]}


def middle(lines: Iterable[Json]) -> Json:
    """The median at each step, over the seeds that have a number there; ``n``: how many these are, ``of``: at most."""
    at: dict[int, list[float]] = {}
    number = 0
    for line in lines:
        known = [(x, y) for x, y in zip(line["x"], line["y"], strict=True) if y is not None]
        number += bool(known)
        for x, y in known:
            at.setdefault(x, []).append(y)
    steps = sorted(at)
    medians = [_number(float(np.median(at[step]))) for step in steps]
    return {"x": steps, "y": medians, "n": [len(at[step]) for step in steps], "of": number}


def _moments(seed: SeedRun) -> tuple[list[Json], list[str]]:
    told, faults = [], []
    for path in recorded(seed.folder / DIAGNOSTICS):
        try:
            stat = path.stat()
            told.append({"steps": int(path.stem.removeprefix("steps-")), **_moment(path, stat.st_mtime_ns)})
        except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
            faults.append(f"seed {seed.seed}: {DIAGNOSTICS}/{path.name} is left out: {_first_line(error)}")
    return told, faults


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


@lru_cache(maxsize=4096)
def _moment(path: Path, written: int) -> Json:
    """Read once, and again only if it was ``written`` anew: a live page asks often."""
    arrays = read_moment(path)
    names = ("mean", "std", "realised")
    told: Json = {
        "members": int(arrays["members"]),
        "start": {name: _numbers(arrays[f"start_{name}"]) for name in names},
        "episodes": [],
    }
    for place, length in enumerate(arrays["episode_length"].tolist()):
        steps, once = np.unique(arrays["episode_steps"][place], return_index=True)
        series = {name: _numbers(arrays[f"episode_{name}"][place][once], digits=4) for name in names}
        told["episodes"].append({"length": length, "x": steps.tolist(), **series})
    if "grid_members" in arrays:
        told["grid"] = _grid(arrays)
    return told


def _grid(arrays: Mapping[str, np.ndarray]) -> Json:
    """Of a plane with bounds, or of a square of cells, some of which may not be ``there``."""
    visits = arrays["grid_visits"]
    most = max(int(visits.max()), 1)
    shades = np.where(visits > 0, 1 + 254 * np.log(np.maximum(visits, 1)) / max(math.log(most), 1e-9), 0)
    there = arrays.get("grid_there")
    told: Json = {
        "cells": visits.shape[0],
        "members": [_map(member, arrays["grid_members"], there) for member in arrays["grid_members"]],
        "std": _map(arrays["grid_std"], there=there),
        "action": _actions(arrays),
        "visits": {"total": int(visits.sum()), "most": most, "data": _bytes(np.minimum(shades, 255))},
    }
    if there is None:
        return told | {"low": _numbers(arrays["grid_low"]), "high": _numbers(arrays["grid_high"])}
    return told | {
        "there": _bytes(there.astype(float)),
        "mean": _map(arrays["grid_mean"], arrays["grid_members"], there),
    }


def _actions(arrays: Mapping[str, np.ndarray]) -> list[Json]:
    """Maps of what is done, each with its name; ``signed``: its colours are the same on both sides of 0."""
    maps, number = arrays["grid_action"], int(arrays.get("num_actions", np.asarray(0)))
    if "grid_there" in arrays:
        right = bool(arrays["grid_goes_right"])
        names, ends = (GOING_RIGHT, (1.0, 1.0)) if right else (CHOICES, (number - 1.0, 1.0))
        return [
            {"name": name, "signed": False, **_map(each, np.array([0.0, end]))}
            for name, end, each in zip(names, ends, maps, strict=True)
        ]
    if number:
        return [{"name": "the action believed best", "signed": False, **_map(maps[0], np.array([0.0, number - 1.0]))}]
    place = [f" {k + 1}" if len(maps) > 1 else "" for k in range(len(maps))]
    named = zip(place, maps, strict=True)
    return [{"name": f"the policy's mean action{which}", "signed": True, **_map(each)} for which, each in named]


def _numbers(array: np.ndarray, digits: int = 6) -> list[float | None]:
    return [float(f"{value:.{digits}g}") if math.isfinite(value) else None for value in array.astype(float).tolist()]


def _map(values: np.ndarray, among: np.ndarray | None = None, there: np.ndarray | None = None) -> Json:
    """In 256 steps from the least to the largest (of all that it is shown beside, where it is ``there``)."""
    whole = np.nan_to_num((values if among is None else among).astype(float))
    whole = whole if there is None else whole[..., there]
    low, high = float(whole.min()), float(whole.max())
    shades = np.clip((np.nan_to_num(values.astype(float)) - low) / ((high - low) or 1.0) * 255, 0, 255)
    return {"low": float(f"{low:.6g}"), "high": float(f"{high:.6g}"), "data": _bytes(shades)}


def _bytes(shades: np.ndarray) -> str:
    return base64.b64encode(shades.round().astype(np.uint8).tobytes()).decode()


def _fit(runs: list[Json]) -> bool:
    """Leave out moments until the page is small enough: of every seed the same number, never its last."""
    seeds = [seed for run in runs for seed in run["seeds"]]
    sizes = {seed["id"]: [len(json.dumps(moment)) for moment in seed["moments"]] for seed in seeds}
    most = whole = max((len(seed["moments"]) for seed in seeds), default=0)
    while most > 1 and _size(sizes.values(), most) > MOMENTS_BUDGET:
        most -= 1
    for seed in seeds:
        seed["moments"] = [seed["moments"][place] for place in _chosen(len(seed["moments"]), most)]
    return most < whole


def _size(sizes: Iterable[list[int]], most: int) -> int:
    return sum(each[place] for each in sizes for place in _chosen(len(each), most))


def _chosen(number: int, most: int) -> list[int]:
    """Places of at most so many, first and last among them; of one alone, the last."""
    if most == 1:
        return [number - 1] if number else []
    return np.unique(np.linspace(0, number - 1, min(number, most)).round().astype(int)).tolist() if number else []
