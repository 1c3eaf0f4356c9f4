"""An agent at play, piece by piece: what a player promises, and the one in a compiled loop."""

import abc
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PyTree

from bayesbellman.control.culprit import Culprit, find_culprit
from bayesbellman.control.train import CHUNK, Played, Training
from bayesbellman.core.devices import loop_options
from bayesbellman.core.trees import no_nan
from bayesbellman.data.replay import Replay
from bayesbellman.envs.spaces import Spaces

NO_STEP = 2**32 - 1
"""A number that no step has, for what is drawn beside a run"""
LONGEST = 100_000
"""Steps after which an episode of an evaluation is cut, where the environment has no time limit"""


class Chunk(NamedTuple):
    """What some steps brought: returns of the episodes that ended, means of the updates' metrics."""

    steps: int
    returns: Float[np.ndarray, " episodes"]
    metrics: dict[str, float]


class Carried(NamedTuple):
    """What a player carries from piece to piece beside replay: a tree of known shapes, and arrays of any."""

    tree: PyTree
    free: dict[str, np.ndarray]


class AbstractPlayer(abc.ABC):
    """An agent in an environment, with all that a run carries."""

    spaces: Spaces

    @property
    @abc.abstractmethod
    def steps(self) -> int:
        """Taken so far"""

    @property
    @abc.abstractmethod
    def agent_state(self) -> Any: ...

    @agent_state.setter
    @abc.abstractmethod
    def agent_state(self, state: Any) -> None: ...

    @abc.abstractmethod
    def hold(self) -> Callable[[], Any]:
        """What gives the agent's state of now, while and after the next piece is advanced, and until another is."""

    @abc.abstractmethod
    def finite(self) -> bool:
        """Whether no number of the agent's state is nan; bounds of observations may be infinite."""

    @abc.abstractmethod
    def culprit(self, state: Any, steps: int) -> Culprit | None:
        """The update since ``steps``, when the agent's state was ``state``, that made it what it must not be."""

    @abc.abstractmethod
    def advance(self, most: int) -> Chunk:
        """At most so many steps more; fewer where a piece ends (the warm-up, a vector of environments)."""

    @abc.abstractmethod
    def evaluate(self, episodes: int, seed: int) -> Float[np.ndarray, " episodes"]:
        """Returns with the action believed best."""

    @abc.abstractmethod
    def play(self, episodes: int, seed: int, keep: int) -> Played:
        """The episodes of `evaluate`, with the first ``keep`` steps of each; as NumPy's arrays."""

    @abc.abstractmethod
    def visited(self) -> Float[np.ndarray, "N d"]:
        """Observations in replay, from which actions were taken; in no order"""

    @abc.abstractmethod
    def disagreement(self) -> float:
        """Standard deviation of the ensemble's values over replay"""

    @property
    @abc.abstractmethod
    def replay(self) -> Replay: ...

    @abc.abstractmethod
    def carried(self) -> "Carried":
        """All that it takes to go on, but for replay"""

    @abc.abstractmethod
    def resume(self, carried: "Carried", replay: Replay, steps: int) -> str | None:
        """Go on from there; words on what could not be brought back, if something could not."""


def piece_size(steps: int, most: int, warmup: int) -> int:
    """Steps of the next piece of a compiled loop: it ends where the warm-up does."""
    return min(most, CHUNK, most if steps >= warmup else warmup - steps)


compiled_no_nan = jax.jit(no_nan)


def held(state: PyTree) -> Callable[[], PyTree]:
    """A copy of it, for when it will have been given up."""
    copy = jax.tree.map(jnp.copy, state)
    return lambda: copy


def observed(replay: Replay) -> Float[np.ndarray, "N d"]:
    """Observations that it holds, in no order."""
    return np.asarray(replay.ring.observation[: min(int(replay.stored), replay.capacity)])


class Programs:
    """What a training is compiled to, each when it is first called."""

    def __init__(self, training: Training) -> None:
        self.init = jax.jit(training.init)
        self.advance = {
            learn: jax.jit(
                lambda state, n, learn=learn: training.advance(state, n, learn),
                donate_argnums=0,
                compiler_options=loop_options(),
            )
            for learn in (False, True)
        }
        self.evaluate = jax.jit(
            lambda key, state, episodes: training.evaluate(key, state, episodes, LONGEST), static_argnums=2
        )
        self.play = jax.jit(
            lambda key, state, episodes, keep: training.play(key, state, episodes, LONGEST, keep),
            static_argnums=(2, 3),
        )
        self.disagreement = jax.jit(training.disagreement)


kept_programs = functools.lru_cache(maxsize=4)(Programs)
"""Runs that differ in nothing but their seeds are compiled once"""


def programs_of(training: Training) -> Programs:
    try:
        return kept_programs(training)
    except TypeError:  # it holds arrays, an environment's tables say, and so has no hash
        return Programs(training)


class CompiledPlayer(AbstractPlayer):
    """In one of our environments: environment, replay and update in one compiled loop."""

    def __init__(self, training: Training, seed: int) -> None:
        self.training = training
        self.spaces = training.env.spaces
        self._programs = programs_of(training)
        self.state = self._programs.init(jax.random.key(seed))
        self._steps = 0

    @property
    def steps(self) -> int:
        return self._steps

    @property
    def agent_state(self) -> Any:
        return self.state.agent

    @agent_state.setter
    def agent_state(self, state: Any) -> None:
        self.state = eqx.tree_at(lambda s: s.agent, self.state, state)

    def hold(self) -> Callable[[], Any]:
        return held(self.state.agent)

    def finite(self) -> bool:
        return bool(compiled_no_nan(self.state.agent))

    def culprit(self, state: Any, steps: int) -> Culprit | None:
        training, updates = self.training, self.training.updates(self.state.key, steps, self._steps)
        return find_culprit(training.agent, state, self.state.replay, updates, training.batch_size)

    def advance(self, most: int) -> Chunk:
        learn = self._steps >= self.training.warmup
        number = piece_size(self._steps, most, self.training.warmup)
        self.state, trace = self._programs.advance[learn](self.state, jnp.asarray(number, jnp.int32))
        self._steps += number
        returns = np.asarray(trace.returns)[: int(trace.episodes)]
        return Chunk(number, returns, {name: float(value) for name, value in trace.metrics.items()})

    def evaluate(self, episodes: int, seed: int) -> Float[np.ndarray, " episodes"]:
        return np.asarray(self._programs.evaluate(jax.random.key(seed), self.state, episodes))

    def play(self, episodes: int, seed: int, keep: int) -> Played:
        return jax.tree.map(np.asarray, self._programs.play(jax.random.key(seed), self.state, episodes, keep))

    def visited(self) -> Float[np.ndarray, "N d"]:
        return observed(self.state.replay)

    def disagreement(self) -> float:
        return float(self._programs.disagreement(jax.random.fold_in(self.state.key, NO_STEP), self.state))

    @property
    def replay(self) -> Replay:
        return self.state.replay

    def carried(self) -> Carried:
        return Carried(eqx.tree_at(lambda s: s.replay, self.state, None), {})

    def resume(self, carried: Carried, replay: Replay, steps: int) -> None:
        self.state = eqx.tree_at(lambda s: s.replay, carried.tree, replay, is_leaf=lambda x: x is None)
        self._steps = steps
