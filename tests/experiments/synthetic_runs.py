"""Run folders as bbo train leaves them, without training."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bayesbellman.experiments.training.diagnostics import file_name, moments
from bayesbellman.runs.arrays import write_arrays

SETTINGS = {"ensemble_size": 8, "prior_scale": 100.0, "target_noise": 0.0, "discount": 0.99, "hidden": [64, 64]}


def write_run(
    folder: Path,
    *,
    seeds: Mapping[int, str] | None = None,
    steps: int = 5_000,
    every: int = 1_000,
    members: int = 8,
    maps: bool = True,
    diagnostics: bool = True,
    solved: float | None = None,
    cut: Mapping[int, int] | None = None,
    **config: Any,
) -> Path:
    """``seeds``: how each ended ("" for one that is not in the summary). ``cut``: those that came not so far."""
    seeds, cut = seeds or {0: "finished"}, cut or {}
    run = {"steps": steps, "seed": min(seeds), "seeds": len(seeds), "evaluate_every": every, "episodes": 10}
    folder.mkdir(parents=True)
    whole = {
        "env": "MountainCarContinuous-v0" if maps else "Pendulum-v1",
        "agent": "BBAC",
        "settings": SETTINGS,
        "run": {**run, "solved": solved},
        "path": "compiled with the agent into one JAX program",
        "device": "cpu",
        "provenance": {
            "command": f"bbo train somewhere --out {folder.name}",
            "commit": "abc",
            "packages": {"jax": "1"},
        },
        **config,
    }
    (folder / "config.json").write_text(json.dumps(whole))
    rows = [f"{seed},{how}" for seed, how in seeds.items() if how]
    (folder / "summary.csv").write_text("\n".join(["seed,ended", *rows, ""]))
    for seed in seeds:
        place = folder if len(seeds) == 1 else folder / f"seed-{seed:04d}"
        write_seed(place, seed, cut.get(seed, steps), steps, every, members, maps=maps, diagnostics=diagnostics)
    return folder


def write_seed(
    place: Path, seed: int, until: int, steps: int, every: int, members: int, *, maps: bool, diagnostics: bool
) -> None:
    """Nothing at all if it came to no step."""
    if until == 0:
        return
    draw = np.random.default_rng(seed)
    place.mkdir(exist_ok=True)
    lines = []
    for at in range(every, until + 1, every):
        mean = 90 * (1 - np.exp(-3 * at / steps)) + draw.normal()
        record = {"steps": at, "seconds": at / 100, "returns": [mean], "metrics": {"disagreement": 10 * steps / at}}
        lines.append(json.dumps({**record, "evaluation": {"mean": mean, "returns": [mean] * 10}}))
    (place / "metrics.jsonl").write_text("\n".join([*lines, ""]))
    if not diagnostics:
        return
    (place / "diagnostics").mkdir()
    for at in sorted(moments(steps, every)):
        if at <= until:
            write_arrays(place / "diagnostics" / file_name(at), moment(draw, members, maps=maps))


def moment(draw: np.random.Generator, members: int, *, maps: bool) -> dict[str, np.ndarray]:
    """As `look` gives it, of numbers drawn at random: the worst for the size of a page."""
    episodes = {name: draw.normal(size=(3, 64)).astype(np.float16) for name in ("mean", "std", "realised")}
    arrays = {
        "members": np.asarray(members, np.int32),
        "start_mean": draw.normal(size=10).astype(np.float32),
        "start_std": np.ones(10, np.float32),
        "start_realised": draw.normal(size=10).astype(np.float32),
        "start_return": draw.normal(size=10).astype(np.float32),
        "episode_length": np.full(3, 999, np.int32),
        "episode_steps": np.tile(np.linspace(0, 998, 64).round().astype(np.int32), (3, 1)),
        **{f"episode_{name}": np.abs(array) if name == "std" else array for name, array in episodes.items()},
    }
    if maps:
        arrays |= {
            "grid_low": np.array([-1.2, -0.07], np.float32),
            "grid_high": np.array([0.6, 0.07], np.float32),
            "grid_members": draw.normal(size=(members, 32, 32)).astype(np.float16),
            "grid_std": np.abs(draw.normal(size=(32, 32))).astype(np.float16),
            "grid_visits": draw.integers(0, 100, (32, 32)).astype(np.uint32),
            "grid_action": draw.uniform(-1, 1, (1, 32, 32)).astype(np.float16),
        }
    return arrays


def square_moment(draw: np.random.Generator, members: int, side: int) -> dict[str, np.ndarray]:
    """As `look` gives it of Deep Sea."""
    there, shape = np.tri(side, dtype=bool), (side, side)
    return moment(draw, members, maps=False) | {
        "num_actions": np.asarray(2, np.int32),
        "grid_there": there,
        "grid_goes_right": np.asarray(True),
        "grid_members": draw.normal(size=(members, *shape)).astype(np.float16),
        "grid_mean": draw.normal(size=shape).astype(np.float16),
        "grid_std": np.abs(draw.normal(size=shape)).astype(np.float16),
        "grid_visits": (there * draw.integers(1, 100, shape)).astype(np.uint32),
        "grid_action": draw.uniform(0, 1, (2, *shape)).astype(np.float16),
    }
