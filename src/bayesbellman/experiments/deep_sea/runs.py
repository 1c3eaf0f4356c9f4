"""Runs on Deep Sea side by side, each with a seed, an action mapping and numbers of its own, until all have learnt."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from bayesbellman.control.boot_dqn import BootDQN
from bayesbellman.control.train import CHUNK, Trace, Training, TrainState
from bayesbellman.core.devices import loop_options
from bayesbellman.envs.deep_sea import DeepSea, action_mapping

LEARNT = 0.9
"""Average regret below which an agent has learnt: it has found the treasure in one of ten episodes so far"""


class Runs(NamedTuple):
    """Of R runs, which of the episodes found the treasure; all have as many."""

    found: Bool[np.ndarray, "R episodes"]
    finite: Bool[np.ndarray, " R"]
    """Whether the losses were numbers to the end"""


def learning_times(found: Bool[np.ndarray, "R episodes"]) -> Float[np.ndarray, " R"]:
    """The first episode at which the average regret is below `LEARNT`; infinite where there is none.

    The regret of an episode is 1 if it does not find the treasure, as bsuite counts it.
    """
    number = np.arange(1, found.shape[1] + 1)
    learnt = np.cumsum(~found, axis=1) < LEARNT * number
    return np.where(learnt.any(axis=1), np.argmax(learnt, axis=1) + 1.0, np.inf)


def run_deep_sea(
    make: Callable[[Mapping[str, Array]], BootDQN],
    numbers: Mapping[str, Float[np.ndarray, " R"]],
    seeds: Sequence[int],
    size: int,
    *,
    episodes: int,
    batch_size: int,
    buffer_size: int,
    report: Callable[[int], None] = lambda episodes: None,
) -> Runs:
    """``make(numbers)`` is the agent, whose floats may differ from run to run. Ends when all have learnt, or at last.

    A run depends on its seed and numbers, not on those beside it.
    """
    floats = {name: jnp.asarray(column, dtype=float) for name, column in numbers.items()}
    rights = jnp.stack([jnp.asarray(action_mapping(size, seed)) for seed in seeds])
    keys = jax.vmap(jax.random.key)(jnp.asarray(seeds))
    steps = max(CHUNK // size, 1) * size  # whole episodes, so that all runs have as many
    warmup = -(-batch_size // size) * size

    def training(floats: Mapping[str, Array], right: Array) -> Training:
        env = DeepSea(size, right=right)
        return Training(make(floats), env, batch_size=batch_size, buffer_size=buffer_size, warmup=warmup)

    def advance(floats: Mapping[str, Array], right: Array, state: TrainState, number: int, learn: bool) -> tuple:
        return training(floats, right).advance(state, number, learn)

    def compiled(number: int, learn: bool) -> Callable:
        return jax.jit(
            jax.vmap(partial(advance, number=number, learn=learn)), donate_argnums=2, compiler_options=loop_options()
        )

    state = jax.jit(jax.vmap(lambda floats, right, key: training(floats, right).init(key)))(floats, rights, keys)
    state, trace = compiled(warmup, False)(floats, rights, state)
    found, finite = [_found(trace, warmup // size)], np.ones(len(seeds), bool)
    learning = compiled(steps, True)
    while (done := sum(part.shape[1] for part in found)) < episodes:
        state, trace = learning(floats, rights, state)
        found.append(_found(trace, steps // size))
        finite &= np.isfinite(np.asarray(trace.metrics["critic_loss"]))
        report(done)
        if np.isfinite(learning_times(np.concatenate(found, axis=1))).all():
            break
    return Runs(np.concatenate(found, axis=1)[:, :episodes], finite)


def _found(trace: Trace, episodes: int) -> Bool[np.ndarray, "R episodes"]:
    """By the return: the treasure is 1, the way to it costs a hundredth."""
    return np.asarray(trace.returns)[:, :episodes] > 0.5
