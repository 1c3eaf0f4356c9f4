"""What a training run has left so far: running, ended or broken off."""

import csv
import json
from pathlib import Path
from typing import Any, NamedTuple

from bayesbellman.experiments.training.plan import CONFIG, METRICS, SUMMARY
from bayesbellman.runs.lock import is_held
from bayesbellman.runs.metrics import read_metrics


class SeedRun(NamedTuple):
    """One seed. ``how``: finished, solved, stopped, diverged, failed; or running, interrupted, not begun."""

    seed: int
    folder: Path
    how: str
    records: list[dict[str, Any]]
    """Lines of metrics.jsonl"""

    @property
    def steps(self) -> int:
        return self.records[-1]["steps"] if self.records else 0


class Run(NamedTuple):
    """A folder of ``bbo train``."""

    folder: Path
    config: dict[str, Any]
    seeds: tuple[SeedRun, ...]

    @property
    def title(self) -> str:
        return f"{self.config['agent']} on {self.config['env']}"


def is_run(folder: Path) -> bool:
    """Whether ``bbo train`` has begun something here."""
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(config, dict) and "agent" in config  # others have files of that name too


def read_run(folder: Path) -> Run:
    """Everything there is; a folder that is not a run is an error that says so."""
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        first, number = int(config["run"]["seed"]), int(config["run"]["seeds"])
        _ = config["agent"], config["env"], config["settings"], config["run"]["steps"]
    except FileNotFoundError:
        raise FileNotFoundError(f"RUN: {folder} holds no {CONFIG}; is it a folder that bbo train left?") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"RUN: {folder / CONFIG} cannot be read ({_words(error)})") from error
    ended = _ended(folder / SUMMARY)
    running = is_held(folder)
    seeds = []
    for seed in range(first, first + number):
        inside = folder / f"seed-{seed:04d}"
        place = inside if inside.is_dir() or number > 1 else folder
        records = read_pieces(place / METRICS)
        rest = "running" if running else "interrupted"
        seeds.append(SeedRun(seed, place, ended.get(seed) or (rest if records else "not begun"), records))
    return Run(folder, config, tuple(seeds))


def read_pieces(path: Path) -> list[dict[str, Any]]:
    """The records of a seed, each with what is read from it; one that lacks it is an error that says so."""
    records = read_metrics(path)
    for record in records:
        evaluation = record.get("evaluation", {"mean": None})
        sound = isinstance(record.get("returns"), list) and "seconds" in record
        if not (sound and isinstance(evaluation, dict) and "mean" in evaluation):
            raise ValueError(f"{path} is damaged: what it says of step {record['steps']:,} is no record of ours")
    return records


def _words(error: Exception) -> str:
    """What is wrong; of text that is none not all of it, which its representation holds."""
    return str(error) if isinstance(error, UnicodeDecodeError) else repr(error)


def _ended(path: Path) -> dict[int, str]:
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        try:
            return {int(row["seed"]): row["ended"] for row in csv.DictReader(file)}
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"RUN: {path} is damaged ({_words(error)})") from error
