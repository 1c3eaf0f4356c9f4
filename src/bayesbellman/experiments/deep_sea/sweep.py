"""What is run: BootDQN+Prior and DQN at many sizes, and at one size BootDQN+Prior with one thing changed at a time."""

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial

import numpy as np
from jaxtyping import Array

from bayesbellman.control.boot_dqn import BootDQN
from bayesbellman.experiments.artefact import Arrays, Job, Plan, Request, choose, refuse
from bayesbellman.experiments.deep_sea.runs import run_deep_sea

FULL_AGENT, BASELINE = "BootDQN+Prior", "DQN"
SIZES = tuple(range(10, 51, 5))
BASELINE_SIZES = (10, 12, 14, 20, 30)
"""Where DQN is run: about where it ends, and beyond"""
PRIOR_SCALE, TARGET_SMOOTHING, EPSILON = 3.0, 0.05, 0.05
"""The agents' own"""
NUMBERS: dict[str, dict[str, float]] = {
    "no prior": {"prior_scale": 0.0},
    "no target parameters": {"target_smoothing": 1.0},
    **{f"prior scale {scale:g}": {"prior_scale": scale} for scale in (0.1, 1.0, 10.0, 100.0)},
}
"""What differs in a number from `FULL_AGENT`, all in one program"""
HARDER = ("no prior", "no target parameters")
"""Run at a larger size too: at size 20 random starts of the networks still do a prior's work"""
ENSEMBLES = (1, 2, 5, 10)
ABLATIONS = (*NUMBERS, *(f"{members} member{'s' if members > 1 else ''}" for members in ENSEMBLES))


@dataclass(frozen=True)
class Size:
    """How much is run."""

    seeds: int = 10
    episodes: int = 10_000
    """At most, as in bsuite; a job ends when all of its runs have learnt"""
    ablation_size: int = 20
    harder_size: int = 30
    ablation_episodes: int = 2_000
    ensemble_size: int = 20
    hidden: tuple[int, ...] = (64, 64)
    batch_size: int = 128
    buffer_size: int = 100_000


FULL = Size()
QUICK = Size(
    seeds=2,
    episodes=60,
    ablation_size=4,
    harder_size=5,
    ablation_episodes=40,
    ensemble_size=3,
    hidden=(8,),
    batch_size=16,
)


def plan(request: Request) -> Plan:
    """``--sizes`` are those of the grid, for all that is asked for; ``--methods`` the agents and what is changed."""
    size = QUICK if request.quick else FULL
    if request.seeds is not None:
        if request.seeds < 1:
            raise ValueError(f"--seeds is {request.seeds}; accepted is a number >= 1")
        size = replace(size, seeds=request.seeds)
    refuse("deep-sea", request, "tasks", "variants")
    names = choose("methods", request.methods, (FULL_AGENT, BASELINE, *ABLATIONS))
    given = sizes_of(request.sizes)
    own = given or ((4, 5) if request.quick else SIZES)
    baseline = given or ((4,) if request.quick else BASELINE_SIZES)
    jobs = []

    def add(name: str, runs: int, grid: int, episodes: int, run: Callable[[], Arrays]) -> None:
        jobs.append(Job(name, runs * grid * episodes, run))

    if FULL_AGENT in names:
        for grid in own:
            run = partial(run_agents, [FULL_AGENT], grid, size.episodes, size)
            add(f"boot-dqn.{grid}", size.seeds, grid, size.episodes, run)
    if BASELINE in names:
        for grid in baseline:
            run = partial(run_agents, [BASELINE], grid, size.episodes, size)
            add(f"dqn.{grid}", size.seeds, grid, size.episodes, run)
    episodes = size.ablation_episodes
    for grid in given or (size.ablation_size, size.harder_size):
        usual = given or grid == size.ablation_size
        together = [name for name in (NUMBERS if usual else HARDER) if name in names]
        if together:
            run = partial(run_agents, together, grid, episodes, size)
            add(f"numbers.{grid}", size.seeds * len(together), grid, episodes, run)
        for members, name in zip(ENSEMBLES, ABLATIONS[len(NUMBERS) :], strict=True):
            if usual and name in names:
                run = partial(run_agents, [name], grid, episodes, size)
                add(f"members.{members}.{grid}", size.seeds, grid, episodes, run)
    settings = {"size": asdict(size), "sizes": list(given), "agents": list(names)}
    return Plan(settings, "steps", tuple(jobs))


def sizes_of(words: tuple[str, ...]) -> tuple[int, ...]:
    """``10 14 20``, or ``10..50`` for every fifth from 10 to 50."""
    found: list[int] = []
    for word in words:
        span = re.fullmatch(r"(\d+)(?:\.\.(\d+))?", word, flags=re.ASCII)
        if span is None:
            raise ValueError(f"--sizes: {word!r} is no size; accepted are numbers, or 10..50 for every fifth of them")
        first, last = int(span[1]), int(span[2] or span[1])
        if not 2 <= first <= last <= 100:
            raise ValueError(f"--sizes: {word!r}; accepted are sizes from 2 to 100, the lesser first")
        found += range(first, last + 1, 5)
    return tuple(sorted(set(found)))


def agent(name: str, size: Size, numbers: Mapping[str, float | Array]) -> BootDQN:
    """DQN is one member without a prior; an ablation with another number of members says so in its name."""
    shared = {"hidden": size.hidden, **numbers}
    if name == BASELINE:
        return BootDQN(ensemble_size=1, prior="none", **shared)
    members = re.match(r"(\d+) member", name)
    return BootDQN(ensemble_size=int(members[1]) if members else size.ensemble_size, **shared)


def numbers_of(name: str) -> dict[str, float]:
    """The floats in which agents may differ."""
    usual = {"prior_scale": PRIOR_SCALE, "target_smoothing": TARGET_SMOOTHING, "epsilon": 0.0}
    return {**usual, **({"epsilon": EPSILON} if name == BASELINE else NUMBERS.get(name, {}))}


def run_agents(names: list[str], grid: int, episodes: int, size: Size) -> Arrays:
    """Those agents that share a program, each with every seed."""
    rows = [(name, seed) for name in names for seed in range(size.seeds)]
    columns = {key: np.array([numbers_of(name)[key] for name, _ in rows]) for key in numbers_of(names[0])}
    runs = run_deep_sea(
        partial(agent, names[0], size),
        columns,
        [seed for _, seed in rows],
        grid,
        episodes=episodes,
        batch_size=size.batch_size,
        buffer_size=min(size.buffer_size, max(grid * episodes, size.batch_size)),
    )
    return {
        "agent": np.array([name for name, _ in rows]),
        "seed": np.array([seed for _, seed in rows]),
        "grid": np.array(grid),
        "found": runs.found,
        "finite": runs.finite,
    }
