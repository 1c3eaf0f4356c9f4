"""What the demonstration does: RP-BBAC until it has solved MountainCar, then SAC for as many steps."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from bayesbellman.doors.agent import Agent
from bayesbellman.doors.agents import BBAC, SAC
from bayesbellman.experiments.state_support.sweep import places
from bayesbellman.runs.progress import Report

ENVIRONMENT = "MountainCarContinuous-v0"
SOLVED = 90.0
LASTING = 2
"""Evaluations in a row that must be solved before we stop"""
PIECE = 1_000
PRESETS = {"small": (64, 64), "paper": (256, 256)}
"""Hidden layers: for two cores and a minute or two, and as in the paper, for a GPU"""


@dataclass(frozen=True)
class DemoSettings:
    """How long to try, and how to judge: solved is a mean return above 90 over this many episodes."""

    preset: str = "small"
    seed: int = 0
    most_steps: int = 30_000
    episodes: int = 20

    def __post_init__(self) -> None:
        if self.preset not in PRESETS:
            raise ValueError(f"--preset is {self.preset!r}; accepted are {', '.join(PRESETS)}")
        if self.most_steps < 2 * PIECE:
            raise ValueError(f"--most-steps is {self.most_steps}; accepted is a number >= {2 * PIECE}")

    @property
    def hidden(self) -> tuple[int, ...]:
        return PRESETS[self.preset]


class AgentRun(NamedTuple):
    """What one agent did."""

    agent: Agent
    steps: Int[np.ndarray, " C"]
    returns: Float[np.ndarray, "C E"]
    """Of evaluation episodes with the mean action"""
    disagreement: Float[np.ndarray, " C"]
    values: Float[np.ndarray, "C L M"]
    """Members' values over the state space"""
    visited: Float[np.ndarray, "N 2"]
    goals: int
    """Episodes of training that reached the goal"""

    @property
    def solved_at(self) -> int | None:
        """The first of the evaluations in a row that are solved"""
        above = self.returns.mean(axis=1) > SOLVED
        lasting = [k for k in range(len(above) - LASTING + 1) if above[k : k + LASTING].all()]
        return int(self.steps[lasting[0]]) if lasting else None


class DemoHistory(NamedTuple):
    """Both runs."""

    settings: DemoSettings
    bbac: AgentRun
    sac: AgentRun


def run_agent(agent: Agent, most_steps: int, episodes: int, report: Report, until_solved: bool) -> AgentRun:
    """Pieces of 1,000 steps with an evaluation after each.

    ``until_solved``: and until training has reached the goal itself. Before that, what leads there is the priors' luck.
    """
    steps, returns, disagreement, values, goals = [], [], [], [], 0
    while agent.num_timesteps < most_steps:
        agent.learn(min(PIECE, most_steps - agent.num_timesteps))
        told = agent.history[-1]
        found = agent.evaluate(episodes)
        steps.append(told.steps)
        returns.append(found)
        disagreement.append(told.metrics.get("disagreement", np.nan))
        members = agent.uncertainty(places(), members=True).members
        assert members is not None
        values.append(members)
        goals += int(np.sum(told.returns > 0))
        doubt = f", disagreement {disagreement[-1]:.1f}" if np.isfinite(disagreement[-1]) else ""  # none in the warm-up
        report(told.steps, f"return {found.mean():.1f}{doubt}")
        lasting = len(returns) >= LASTING and min(np.mean(returns[-LASTING:], axis=1)) > SOLVED
        if until_solved and lasting and goals:
            break
    ring = agent.player.state.replay.ring.observation  # pyright: ignore[reportAttributeAccessIssue] (compiled)
    visited = np.asarray(ring)[: agent.num_timesteps]
    return AgentRun(agent, np.array(steps), np.array(returns), np.array(disagreement), np.array(values), visited, goals)


def run_bbac(settings: DemoSettings, report: Report) -> AgentRun:
    agent = BBAC(ENVIRONMENT, seed=settings.seed, hidden=settings.hidden, buffer_size=settings.most_steps)
    return run_agent(agent, settings.most_steps, settings.episodes, report, until_solved=True)


def run_sac(settings: DemoSettings, steps: int, report: Report) -> AgentRun:
    agent = SAC(ENVIRONMENT, seed=settings.seed, hidden=settings.hidden, buffer_size=settings.most_steps)
    return run_agent(agent, steps, settings.episodes, report, until_solved=False)
