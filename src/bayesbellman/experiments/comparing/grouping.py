"""Which folders are one contender: the same agent with the same settings, whatever its environments and seeds."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bayesbellman.control.bbac import RECIPES
from bayesbellman.doors.agents import OTHER_PRIOR_SCALE, PRIOR_SCALES
from bayesbellman.experiments.training.analysis import Curve, read_curve
from bayesbellman.experiments.training.reading import Run, read_run
from bayesbellman.runs.folder import shown

NO_PART_OF_IT = ("seed", "device")
"""Settings in which runs of one contender may differ"""
BY_ENVIRONMENT = ("BBAC", "BAC")
"""Agents whose prior scale is their environment's if it is left out"""


class Seed(NamedTuple):
    """One seed of a contender on one environment."""

    env: str
    seed: int
    how: str
    """It ended; see `SeedRun`"""
    folder: Path
    curve: Curve

    @property
    def name(self) -> str:
        return f"{self.env}, seed {self.seed}"


class Contender(NamedTuple):
    """What is compared."""

    label: str
    folders: tuple[Path, ...]
    seeds: tuple[Seed, ...]

    def on(self, env: str) -> list[Seed]:
        return [seed for seed in self.seeds if seed.env == env]


class Comparison(NamedTuple):
    """Contenders, the environments that all of them have, and what is worth saying about that."""

    contenders: tuple[Contender, ...]
    envs: tuple[str, ...]
    remarks: tuple[str, ...]


def read_contenders(folders: Sequence[Path]) -> Comparison:
    """Runs from their folders. Those that differ in nothing but environments and seeds are one contender."""
    places = [folder.resolve() for folder in folders]
    for folder, place in zip(folders, places, strict=True):
        if places.count(place) > 1:
            raise ValueError(f"RUN: {folder} is there more than once; name each run once")
        if folder.name.startswith("seed-") and (place.parent / "config.json").exists():
            raise ValueError(f"RUN: {folder} is one seed of a run; give the run's folder, {folder.parent}")
    runs = [read_run(folder) for folder in folders]
    contenders = _grouped(runs)
    envs, remarks = _common(contenders)
    episodes = {int(run.config["run"].get("episodes", 0)) for run in runs}
    if len(episodes) > 1:
        remarks.append(f"evaluations are of different numbers of episodes: {', '.join(map(str, sorted(episodes)))}")
    return Comparison(tuple(contenders), envs, tuple(remarks))


def _grouped(runs: Sequence[Run]) -> list[Contender]:
    alike: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        alike[json.dumps([run.config["agent"], settings_of(run.config)], sort_keys=True)].append(run)
    labels = _labels([group[0].config for group in alike.values()])
    contenders = []
    for label, group in zip(labels, alike.values(), strict=True):
        taken = [(run.config["env"], seed.seed) for run in group for seed in run.seeds]
        if len(set(taken)) == len(taken):
            contenders.append(_contender(label, group))
        else:  # the same seeds twice: of different versions, perhaps, and not to be pooled
            contenders += [
                _contender(f"{label} ({shown(Path(run.folder.name or run.folder))})", [run]) for run in group
            ]
    names = [contender.label for contender in contenders]
    return [
        contender._replace(label=f"{contender.label} ({shown(contender.folders[0])})")
        if names.count(contender.label) > 1
        else contender
        for contender in contenders
    ]


def settings_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """What makes a contender. A prior scale that is its environment's own default is none of its choices."""
    settings = {name: value for name, value in config["settings"].items() if name not in NO_PART_OF_IT}
    usual = PRIOR_SCALES.get(config["env"], OTHER_PRIOR_SCALE)
    if config["agent"] in BY_ENVIRONMENT and settings.get("prior_scale") == usual:
        settings["prior_scale"] = "default"
    return settings


def _labels(configs: Sequence[Mapping[str, Any]]) -> list[str]:
    """The agent, and what tells it from others of its kind. Beside a recipe, what follows from it is not said."""
    labels = []
    for config in configs:
        own = settings_of(config)
        others = [settings_of(other) for other in configs if other["agent"] == config["agent"]]
        if any(other.get("recipe") != own.get("recipe") for other in others):
            own, others = _beside_the_recipe(own), [_beside_the_recipe(other) for other in others]
        telling = [name for name in own if any(other.get(name) != own[name] for other in others)]
        words = [f"{name} {_short(own[name])}" for name in telling]
        labels.append(", ".join([str(config["agent"]), *words]))
    return labels


def _beside_the_recipe(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Without those that have the value that their recipe brings."""
    brought = RECIPES.get(settings.get("recipe", ""), {})
    return {name: value for name, value in settings.items() if name not in brought or value != brought[name]}


def _short(value: object) -> str:
    return "x".join(map(str, value)) if isinstance(value, list) else str(value)


def _contender(label: str, runs: Sequence[Run]) -> Contender:
    seeds = [
        Seed(str(run.config["env"]), seed.seed, seed.how, seed.folder, read_curve(seed.seed, seed.folder))
        for run in runs
        for seed in run.seeds
    ]
    return Contender(label, tuple(run.folder for run in runs), tuple(seeds))


def _common(contenders: Sequence[Contender]) -> tuple[tuple[str, ...], list[str]]:
    of_each = [list(dict.fromkeys(seed.env for seed in contender.seeds)) for contender in contenders]
    envs = tuple(env for env in of_each[0] if all(env in others for others in of_each))
    if not envs:
        there = "; ".join(f"{c.label}: {', '.join(own)}" for c, own in zip(contenders, of_each, strict=True))
        raise ValueError(f"RUN: there is no environment that all of them were trained on ({there})")
    left_out = sorted({env for own in of_each for env in own} - set(envs))
    remarks = [f"{env} is left out: not all were trained on it" for env in left_out]
    if len(envs) > 1:
        remarks.append("numbers over several environments are of all seeds together; intervals are stratified by them")
    return envs, remarks
