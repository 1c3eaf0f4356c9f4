"""Agents that train side by side in one program: each has a player of its own, and all players move together.

Whichever is asked first moves all of them; the others find their part waiting. A run that has ended, or has diverged,
stays in the program as ballast: so shapes never change, and what becomes of a run does not depend on how others end.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from bayesbellman.control.culprit import Culprit, find_culprit
from bayesbellman.control.side_by_side import Layout
from bayesbellman.control.train import Played, Training, TrainState
from bayesbellman.core.trees import no_nan
from bayesbellman.data.replay import Replay
from bayesbellman.doors.agent import Agent
from bayesbellman.doors.players import (
    LONGEST,
    NO_STEP,
    AbstractPlayer,
    Carried,
    Chunk,
    observed,
    piece_size,
)

LOST = -1
"""Steps of a run that was left behind"""


class FleetPrograms:
    """What a training is compiled to for all runs of a layout, each when it is first called."""

    def __init__(self, training: Training, layout: Layout) -> None:
        self.init = layout.each_run(training.init)
        self.advance = {
            learn: layout.each_state(lambda state, n, learn=learn: training.advance(state, n, learn), shared=1)
            for learn in (False, True)
        }
        self.disagreement = layout.each_run(
            lambda state: training.disagreement(jax.random.fold_in(state.key, NO_STEP), state)
        )
        self.no_nan = layout.each_run(no_nan)

        @functools.cache
        def play(episodes: int, keep: int) -> Callable[..., Played]:
            return layout.each_run(lambda key, state: training.play(key, state, episodes, LONGEST, keep))

        self.play = play


kept_programs = functools.lru_cache(maxsize=4)(FleetPrograms)


def fleet_programs(training: Training, layout: Layout) -> FleetPrograms:
    try:
        return kept_programs(training, layout)
    except TypeError:  # it holds arrays, an environment's tables say, and so has no hash
        return FleetPrograms(training, layout)


class Fleet:
    """The runs of these seeds. All but `player` is for the players."""

    def __init__(self, training: Training, seeds: Sequence[int], layout: Layout) -> None:
        self.training, self.layout = training, layout
        self.seeds = np.array(layout.filled(seeds))
        self._programs = fleet_programs(training, layout)
        self._states: TrainState = self._programs.init(self._keys(self.seeds))
        self._steps = [0] * layout.rows
        self._before: tuple[int, Any] = (LOST, None)  # the agents before the last piece, and when that was
        self._chunks: dict[int, Chunk] = {}  # of the last piece, for those who have not asked yet
        self._waiting: dict[int, TrainState] = {}  # runs that are ahead of the others, in the host's memory
        self._answers: dict[tuple, Any] = {}  # for all, to questions that somebody has asked since the last piece

    def player(self, seed: int) -> "Member":
        return Member(self, int(np.flatnonzero(self.seeds == seed)[0]))

    def advance(self, row: int, steps: int, number: int) -> Chunk:
        """The run's part of ``number`` steps from ``steps`` on."""
        if self._steps[row] == steps:
            self._advance_all(steps, number)
        chunk = self._chunks.pop(row, None)
        if chunk is None or (self._before[0], chunk.steps) != (steps, number):
            raise self._left_behind(row, steps)
        return chunk

    def _advance_all(self, steps: int, number: int) -> None:
        for row, at in enumerate(self._steps):
            if at == steps and row in self._waiting:
                self._states = self.layout.put(self._states, row, self._waiting.pop(row))
            elif at > steps and row not in self._waiting:
                self._waiting[row] = _to_host(self.layout.take(self._states, row))
            elif at < steps:
                self._steps[row] = LOST
        self._before = (steps, jax.tree.map(jnp.copy, self._states.agent))
        learn = steps >= self.training.warmup
        count = jnp.asarray(number, jnp.int32)
        self._states, trace = self._programs.advance[learn](self._states, count)
        self._answers = {}
        returns, episodes, metrics = jax.tree.map(np.asarray, tuple(trace))
        self._chunks = {}
        for row in range(self.layout.rows):
            if self._steps[row] == steps:
                self._steps[row] += number
                found = {name: float(values[row]) for name, values in metrics.items()}
                self._chunks[row] = Chunk(number, returns[row, : int(episodes[row])], found)

    def put(self, row: int, state: TrainState, steps: int) -> None:
        """Have the run go on from there. It may be ahead of others: it then waits for them."""
        self._waiting.pop(row, None)
        self._states = self.layout.put(self._states, row, state)
        self._steps[row] = steps
        self._answers, self._chunks, self._before = {}, {}, (LOST, None)

    def part(self, row: int, steps: int, of: Callable[[TrainState], Any] = lambda state: state) -> Any:
        """What the run carries, in arrays of its own."""
        if self._steps[row] != steps:
            raise self._left_behind(row, steps)
        if row in self._waiting:
            return jax.tree.map(jnp.asarray, of(self._waiting[row]))
        return self.layout.take(of(self._states), row)

    def agent(self, row: int, steps: int) -> Any:
        """The agent's state; also as it was before the last piece."""
        if self._before[0] == steps and self._steps[row] != LOST:
            return self.layout.take(self._before[1], row)
        return self.part(row, steps, lambda state: state.agent)

    def played(self, row: int, steps: int, episodes: int, seed: int, keep: int) -> Played:
        """Episodes of the run; the others play theirs, with seeds as far from their own."""
        apart = seed - int(self.seeds[row])

        def all_play() -> Played:
            keys = self._keys(self.seeds + apart)
            return self._programs.play(episodes, keep)(keys, self._states)

        answer = self._ask(row, steps, ("play", episodes, apart, keep), all_play)
        return jax.tree.map(lambda values: values[row], answer)

    def disagreement(self, row: int, steps: int) -> float:
        return float(self._ask(row, steps, ("disagreement",), lambda: self._programs.disagreement(self._states))[row])

    def no_nan(self, row: int, steps: int) -> bool:
        return bool(self._ask(row, steps, ("nan",), lambda: self._programs.no_nan(self._states.agent))[row])

    def _ask(self, row: int, steps: int, question: tuple, answer: Callable[[], Any]) -> Any:
        """For all runs at once, when the first of them asks."""
        if self._steps[row] != steps or row in self._waiting:
            raise self._left_behind(row, steps)
        if question not in self._answers:
            self._answers[question] = jax.tree.map(np.asarray, answer())
        return self._answers[question]

    def _keys(self, seeds: np.ndarray) -> Array:
        return self.layout.place(jax.vmap(jax.random.key)(jnp.asarray(seeds, jnp.uint32)))

    def _left_behind(self, row: int, steps: int) -> RuntimeError:
        return RuntimeError(
            f"the run of seed {self.seeds[row]} is at step {steps:,}, and those beside it have gone on without it;"
            " runs side by side take their pieces in turn"
        )


class Member(AbstractPlayer):
    """One run of a fleet."""

    def __init__(self, fleet: Fleet, row: int) -> None:
        self.fleet, self.row, self.spaces = fleet, row, fleet.training.env.spaces
        self._steps = 0

    @property
    def steps(self) -> int:
        return self._steps

    @property
    def agent_state(self) -> Any:
        return self.fleet.agent(self.row, self._steps)

    @agent_state.setter
    def agent_state(self, state: Any) -> None:
        whole = eqx.tree_at(lambda s: s.agent, self.fleet.part(self.row, self._steps), state)
        self.fleet.put(self.row, whole, self._steps)

    def hold(self) -> Callable[[], Any]:
        steps = self._steps
        return lambda: self.fleet.agent(self.row, steps)

    def advance(self, most: int) -> Chunk:
        number = piece_size(self._steps, most, self.fleet.training.warmup)
        chunk = self.fleet.advance(self.row, self._steps, number)
        self._steps += number
        return chunk

    def evaluate(self, episodes: int, seed: int) -> Float[np.ndarray, " episodes"]:
        return self.play(episodes, seed, 0).returns

    def play(self, episodes: int, seed: int, keep: int) -> Played:
        return self.fleet.played(self.row, self._steps, episodes, seed, keep)

    def visited(self) -> Float[np.ndarray, "N d"]:
        return observed(self.replay)

    def disagreement(self) -> float:
        return self.fleet.disagreement(self.row, self._steps)

    def finite(self) -> bool:
        return self.fleet.no_nan(self.row, self._steps)

    def culprit(self, state: Any, steps: int) -> Culprit | None:
        training = self.fleet.training
        run_key = self.fleet.part(self.row, self._steps, lambda whole: whole.key)
        updates = training.updates(run_key, steps, self._steps)
        return find_culprit(training.agent, state, self.replay, updates, training.batch_size)

    @property
    def replay(self) -> Replay:
        return self.fleet.part(self.row, self._steps, lambda state: state.replay)

    def carried(self) -> Carried:
        without = self.fleet.part(self.row, self._steps, lambda state: eqx.tree_at(lambda s: s.replay, state, None))
        return Carried(without, {})

    def resume(self, carried: Carried, replay: Replay, steps: int) -> None:
        state = eqx.tree_at(lambda s: s.replay, carried.tree, replay, is_leaf=lambda x: x is None)
        self.fleet.put(self.row, state, steps)
        self._steps = steps


def train_side_by_side(agents: Sequence[Agent], layout: Layout, seeds: Sequence[int] | None = None) -> Fleet:
    """Have these agents, which differ in nothing but their seeds, train in one program.

    ``seeds``: of all runs of the program, where some have no agent any more. From then on the agents learn in turn, a
    piece each: ``agent.learn(n, callback=...)`` with a callback that returns False ends after one.
    """
    training = agents[0].training
    if training is None:
        raise ValueError("only agents in environments of ours, which are compiled, train side by side")
    seeds = [agent.seed for agent in agents] if seeds is None else list(seeds)
    if layout.number != len(seeds):
        raise ValueError(f"the layout is for {layout.number} runs, and there are {len(seeds)} seeds")
    fleet = Fleet(training, seeds, layout)
    for agent in agents:
        agent.use_player(fleet.player(agent.seed))
    return fleet


def _to_host(state: TrainState) -> TrainState:
    """Random keys stay where they are: they are small, and NumPy has none."""
    return jax.tree.map(lambda x: x if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else np.asarray(x), state)
