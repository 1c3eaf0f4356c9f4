"""Runs of an agent side by side, one per seed, with evaluations on the way and pictures of what it has seen."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from bayesbellman.control.base import AbstractAgent
from bayesbellman.control.side_by_side import devices_like, lay_out
from bayesbellman.control.train import CHUNK, Training, TrainState

LONGEST = 100_000


class Runs(NamedTuple):
    """What came of S seeds: at C evaluations, and at T moments that were asked for."""

    steps: Int[np.ndarray, " C"]
    evaluations: Float[np.ndarray, "C S E"]
    """Returns of E episodes with the mean action"""
    episodes: Int[np.ndarray, "C S"]
    """Episodes of training that ended since the last evaluation"""
    successes: Int[np.ndarray, "C S"]
    """Those of them with a positive return"""
    disagreement: Float[np.ndarray, "C S"]
    critic_loss: Float[np.ndarray, "C S"]
    values: Float[np.ndarray, "T S L M"]
    """Members' values at the places, with the mean action"""
    visited: Float[np.ndarray, "S N d"]
    """Observations in the order they were made, if asked for"""


def run_seeds(
    make: Callable[[Array], AbstractAgent],
    numbers: Float[np.ndarray, " S"],
    seeds: Sequence[int],
    env,
    *,
    steps: int,
    every: int = 1_000,
    episodes: int = 20,
    batch_size: int = 256,
    warmup: int = 1_000,
    moments: Sequence[int] = (),
    places: Float[np.ndarray, "M d"] | None = None,
    keep_visited: bool = False,
    report: Callable[[int], None] = lambda steps: None,
) -> Runs:
    """Train a copy for each seed, in one program. ``make(number)`` is the agent: one float may differ between seeds.

    Where there are several devices, the seeds are spread over them. A seed gives the same run alone and beside others,
    to rounding.
    """
    if len(set(seeds)) != len(seeds):
        raise ValueError(f"seeds are {list(seeds)}; each may be there once")
    if steps % every or every > CHUNK or warmup % every:
        raise ValueError(f"steps is {steps} and warmup {warmup}; every, {every}, must divide both and be <= {CHUNK}")

    def training(number: Array) -> Training:
        return Training(make(number), env, batch_size=batch_size, buffer_size=max(steps, batch_size), warmup=warmup)

    layout = lay_out(len(seeds), devices_like(jax.devices()[0]), batched=True)

    def judge(number: Array, state: TrainState) -> tuple[Array, Array]:
        made = training(number)
        key = jax.random.fold_in(state.key, 2**32 - 2)
        return made.evaluate(key, state, episodes, LONGEST), made.disagreement(key, state)

    def look(number: Array, state: TrainState) -> Array:
        agent = training(number).agent
        at = jnp.asarray(places, dtype=float)
        return agent.values(state.agent, at, agent.act_best(state.agent, at))

    floats = layout.place(jnp.asarray(layout.filled(list(numbers)), dtype=float))
    keys = layout.place(jax.vmap(jax.random.key)(jnp.asarray(layout.filled(list(seeds)))))
    state = layout.each_run(lambda number, key: training(number).init(key))(floats, keys)
    advance = {
        learn: layout.each_state(lambda state, number, learn=learn: training(number).advance(state, every, learn))
        for learn in (False, True)
    }
    judging, looking = layout.each_run(judge), layout.each_run(look)

    def found(rows: Array) -> np.ndarray:
        """Without those that fill up the last device"""
        return np.asarray(rows)[: len(seeds)]

    rows: dict[str, list] = {name: [] for name in Runs._fields[:6]}
    values = []
    for done in range(every, steps + 1, every):
        state, trace = advance[done > warmup](state, floats)
        returns, disagreement = judging(floats, state)
        rows["steps"].append(done)
        rows["evaluations"].append(found(returns))
        rows["episodes"].append(found(trace.episodes))
        rows["successes"].append(np.sum(np.nan_to_num(found(trace.returns)) > 0, axis=1))
        rows["disagreement"].append(found(disagreement))
        loss = trace.metrics.get("critic_loss")
        rows["critic_loss"].append(np.full(len(seeds), np.nan) if loss is None else found(loss))
        if done in moments:
            values.append(found(looking(floats, state)))
        report(every)
    empty = np.zeros((0, len(seeds), 0, 0), np.float32)
    visited = found(state.replay.ring.observation) if keep_visited else np.zeros((len(seeds), 0, 0), np.float32)
    return Runs(
        **{name: np.asarray(column) for name, column in rows.items()},
        values=np.stack(values) if values else empty,
        visited=visited,
    )
