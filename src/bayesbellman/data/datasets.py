"""The nine linear tasks of the paper's tables (Dann et al. 2014), each a row: problem, size of the data, checkpoints.

>>> task = linear_task("lqr_full_offpolicy")
>>> problem = task.problem()
>>> experience = task.experience(problem, seeds=[0, 1])

By default everything is as it should be. ``as_published=True`` is the benchmark with its quirks, from which the printed
numbers come; names of quirks turn on some (`data.quirks`). docs/linear_experiments.md says what each does to them.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Int

from bayesbellman.data.finite_problems import boyan, random_process
from bayesbellman.data.interact import Experience
from bayesbellman.data.problems import LinearProblem
from bayesbellman.data.quadratic_problems import cart_pole, twenty_links
from bayesbellman.data.quirks import quirks
from bayesbellman.data.streams import Streams


@dataclass(frozen=True)
class LinearTask:
    """A problem, and how the benchmark learns it: ``episodes`` of ``length`` transitions, errors on the way."""

    name: str
    title: str
    make: Callable[[frozenset[str], int], LinearProblem]
    """``(quirks, draw) -> problem``"""
    length: int
    error_every: int
    """Transitions between two recorded errors."""
    runs: int
    """Independent runs behind a number of the paper's tables."""
    episodes: int = 1
    runs_per_draw: int | None = None
    """Where the problem itself is a random draw: how many runs share one. The paper's runs all share one, unknown draw;
    ours are spread over several, so that the spread between draws can be told."""

    @property
    def transitions(self) -> int:
        return self.episodes * self.length

    def problem(self, as_published: bool | Collection[str] = False, draw: int = 0) -> LinearProblem:
        """The problem; ``draw`` matters only where the problem is itself a random draw."""
        return self.make(quirks(as_published), draw)

    def draw_of(self, seed: int) -> int:
        """Which draw of the problem the run with this seed uses."""
        return 0 if self.runs_per_draw is None else seed // self.runs_per_draw

    def experience(self, problem: LinearProblem, seeds: Sequence[int], streams: Streams = "own") -> Experience:
        """Training data, one row per seed."""
        return problem.experience(seeds, self.episodes, self.length, streams)

    def checkpoints(self, as_published: bool | Collection[str] = False) -> Int[np.ndarray, " K"]:
        """After how many transitions an error is recorded.

        With the quirk the last is short of the end of the data: the benchmark records after the first transition of
        each stretch, and for episodes before the first transition of each.
        """
        marks = np.arange(self.error_every, self.transitions + 1, self.error_every)
        if "early-checkpoints" not in quirks(as_published):
            return marks
        return marks - self.error_every + (1 if self.episodes == 1 else 0)


TASKS = {
    task.name: task
    for task in (
        LinearTask(
            "boyan",
            "Boyan chain",
            boyan,
            episodes=100,
            length=20,
            error_every=20,
            runs=200,
        ),
        LinearTask(
            "disc_random_on",
            "random MDP",
            partial(random_process, False),
            length=8_000,
            error_every=80,
            runs=200,
            runs_per_draw=10,
        ),
        LinearTask(
            "disc_random_off",
            "random MDP, off-policy",
            partial(random_process, True),
            length=8_000,
            error_every=80,
            runs=200,
            runs_per_draw=10,
        ),
        LinearTask(
            "lqr_imp_onpolicy",
            "cart-pole, squares",
            partial(cart_pole, False, 0.0, 0.0, 2000),
            length=15_000,
            error_every=500,
            runs=200,
        ),
        LinearTask(
            "lqr_imp_offpolicy",
            "cart-pole, squares, off-policy",
            partial(cart_pole, False, 0.01, 0.001, 1000),
            length=30_000,
            error_every=300,
            runs=50,
        ),
        LinearTask(
            "lqr_full_onpolicy",
            "cart-pole, all quadratics",
            partial(cart_pole, True, 0.0, 0.0, 1000),
            length=15_000,
            error_every=500,
            runs=200,
        ),
        LinearTask(
            "lqr_full_offpolicy",
            "cart-pole, all quadratics, off-policy",
            partial(cart_pole, True, 0.01, 0.001, 1000),
            length=30_000,
            error_every=500,
            runs=50,
        ),
        LinearTask(
            "link20_imp_onpolicy",
            "20 links, squares",
            partial(twenty_links, 0.4, 0.4, 1000),
            length=30_000,
            error_every=300,
            runs=50,
        ),
        LinearTask(
            "link20_imp_offpolicy",
            "20 links, squares, off-policy",
            partial(twenty_links, 0.01, 0.005, 1000),
            length=50_000,
            error_every=500,
            runs=50,
        ),
    )
}


def linear_task(name: str) -> LinearTask:
    """The task of that name."""
    if name not in TASKS:
        raise ValueError(f"there is no linear task {name!r}; there are {', '.join(TASKS)}")
    return TASKS[name]
