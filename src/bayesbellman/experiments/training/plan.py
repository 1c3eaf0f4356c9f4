"""What is trained, how it ended, and the names of the files that say so."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from bayesbellman.doors.agent import Agent
from bayesbellman.doors.agents import PRIOR_SCALES
from bayesbellman.doors.checkpoints import MAY_CHANGE as SETTINGS_THAT_MAY_CHANGE
from bayesbellman.doors.settings import chosen_device
from bayesbellman.envs.spaces import Discrete
from bayesbellman.runs.metrics import finite
from bayesbellman.runs.provenance import provenance

CONFIG, METRICS, AGENT, BEST = "config.json", "metrics.jsonl", "agent.bbo", "best.bbo"
ENDED, CHECKPOINTS, DIAGNOSTICS, TENSORBOARD = "ended.json", "checkpoints", "diagnostics", "tensorboard"
CULPRIT = "diverged.npz"
"""The batch from which a seed diverged"""
OF_A_SEED = (CONFIG, METRICS, AGENT, BEST, ENDED, CHECKPOINTS, DIAGNOSTICS, TENSORBOARD, CULPRIT)
CURVE, SUMMARY, REPORT = "curve.png", "summary.csv", "report.md"
MAY_CHANGE = ("steps", "side_by_side")
"""Of what a run was begun with"""
OF_ALL_SEEDS = (CONFIG, CURVE, SUMMARY, REPORT)


@dataclass(frozen=True)
class Plan:
    """What to train, where and how long. ``settings`` are the agent's; what is not in them, it chooses itself."""

    env: Any
    kind: type[Agent]
    settings: Mapping[str, Any] = field(default_factory=dict)
    steps: int = 20_000
    seed: int = 0
    seeds: int = 1
    evaluate_every: int = 1_000
    episodes: int = 10
    solved: float | None = None
    checkpoint_every: int | None = None
    """Steps; None: a minute, or longer where that takes more than 2 % of the time"""
    keep_checkpoints: int = 2
    tensorboard: bool = False
    side_by_side: int | None = None
    """At most so many seeds in one program; None: all, or as many as a run that is resumed had"""

    def __post_init__(self) -> None:
        counts = ("steps", "seeds", "evaluate_every", "episodes", "checkpoint_every", "keep_checkpoints")
        for name in (*counts, "side_by_side"):
            if name in ("checkpoint_every", "side_by_side") and getattr(self, name) is None:
                continue
            if getattr(self, name) < 1:
                option = "--" + name.replace("_", "-")
                raise ValueError(f"{option} is {getattr(self, name)}; accepted is a whole number >= 1")
        if self.solved is not None and math.isnan(self.solved):
            raise ValueError("--solved is nan, which no evaluation reaches; accepted is a return")
        if not 0 <= self.seed <= self.seed + self.seeds - 1 < 2**31 - 20_000:  # evaluations add to it
            last = f" to {self.seed + self.seeds - 1}" if self.seeds > 1 else ""
            raise ValueError(f"--seed is {self.seed}{last}; accepted are whole numbers from 0 to 2^31 - 20,001")

    def agent(self, seed: int) -> Agent:
        return self.kind(self.env, seed=seed, **self.settings)

    def all_seeds(self) -> range:
        return range(self.seed, self.seed + self.seeds)

    def folder_of(self, out: Path, seed: int) -> Path:
        """Where a seed's files are: with one seed, beside the report."""
        return out if self.seeds == 1 else out / f"seed-{seed:04d}"

    def config(self, agent: Agent, side_by_side: int) -> dict[str, Any]:
        """As JSON: all that it takes to train again. ``side_by_side``: how many seeds are."""
        run = {name: getattr(self, name) for name in ("steps", "seed", "seeds", "evaluate_every", "episodes", "solved")}
        run["side_by_side"] = side_by_side
        return finite(
            {
                "env": agent.env_name,
                "agent": type(agent).__name__,
                "settings": agent.settings(),
                "run": run,
                "path": path_words(agent),
                "device": device_words(agent),
                "provenance": provenance(more_packages=() if agent.training is not None else ("gymnasium",)),
            }
        )


def changes(kept: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """How the run that was begun differs from the one asked for.

    More or fewer steps are no difference, nor is how many seeds are side by side, nor what becomes of an environment's
    faults.
    """

    def flat(config: Mapping[str, Any]) -> dict[str, Any]:
        settings = {
            f"setting {name}": value
            for name, value in config["settings"].items()
            if name not in SETTINGS_THAT_MAY_CHANGE
        }
        run = {f"--{name.replace('_', '-')}": value for name, value in config["run"].items() if name not in MAY_CHANGE}
        return {"environment": config["env"], "agent": config["agent"], **run, **settings}

    try:
        then, here = flat(kept), flat(now)
    except (KeyError, TypeError, AttributeError) as error:
        return [f"its {CONFIG} is not ours ({error!r})"]
    names = [name for name in dict.fromkeys([*here, *then]) if then.get(name) != here.get(name)]
    return [f"{name} was {then.get(name)}, is {here.get(name)}" for name in names]


class Ended(NamedTuple):
    """How the training of a seed ended: finished, solved, stopped, diverged or failed; and words on it."""

    how: str
    words: str = ""


def introduction(plan: Plan, agent: Agent) -> list[str]:
    """What to know before it begins."""
    seeds = f"seed {plan.seed}" if plan.seeds == 1 else f"seeds {plan.seed} to {plan.seed + plan.seeds - 1}"
    lines = [
        f"{type(agent).__name__} on {agent.env_name or plan.env}, {seeds}, {plan.steps:,} steps",
        f"environment: {path_words(agent)}; device: {device_words(agent)}",
    ]
    prior = prior_words(agent, plan.settings)
    return lines if prior is None else [*lines, f"prior scale: {prior}"]


def path_words(agent: Agent) -> str:
    """How the environment is stepped."""
    if agent.training is not None:
        return "compiled with the agent into one JAX program"
    return "Gymnasium's, stepped in Python" + (f", {agent.num_envs} side by side" if agent.num_envs > 1 else "")


def device_words(agent: Agent) -> str:
    device = chosen_device(agent.device)
    return device.platform if device.platform == device.device_kind else f"{device.platform} ({device.device_kind})"


def prior_words(agent: Agent, settings: Mapping[str, Any]) -> str | None:
    """The scale of the prior functions and where it is from; None where the agent has none."""
    scale = getattr(agent, "prior_scale", None)
    if not scale:  # none, or prior functions that count for nothing
        return None
    if settings.get("prior_scale") is not None:
        return f"{scale:g}, as given"
    if agent.env_id in PRIOR_SCALES:
        return f"{scale:g}, the paper's for this environment"
    if agent.actions is Discrete:
        return f"{scale:g}, a guess: set it to the size of possible returns"
    return f"{scale:g}, a guess: the paper does not have this environment; set it to the size of possible returns"
