"""Which update broke an agent, on the compiled path: the very batch, and what it does to an agent that was sound."""

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bayesbellman.control.culprit import find_culprit
from bayesbellman.control.sac import SAC
from bayesbellman.control.train import Training, TrainState
from bayesbellman.core.trees import no_nan
from bayesbellman.envs.mountain_car import MountainCar

WARMUP = 20
TRAINING = Training(SAC(hidden=(8,)), MountainCar(), batch_size=16, buffer_size=500, warmup=WARMUP)
learn = jax.jit(lambda state, number: TRAINING.advance(state, number, True))


@pytest.fixture(autouse=True)
def as_optax_needs_it() -> Iterator[None]:
    with jax.numpy_dtype_promotion("standard"):  # inside optax's Adam
        yield


@pytest.fixture(scope="module")
def before() -> TrainState:
    """At the end of the warm-up"""
    state = jax.jit(TRAINING.init)(jax.random.key(0))
    return jax.jit(lambda state: TRAINING.advance(state, WARMUP, False)[0])(state)


def broken(state: TrainState, place: int) -> TrainState:
    """As `state`, with a reward in replay that no update survives."""
    ring = state.replay.ring
    rewards = ring.reward.at[place].set(jnp.inf)
    fields = {**vars(ring), "reward": rewards}
    replay = type(state.replay)(type(ring)(**fields), state.replay.stored)
    return TrainState(**{**vars(state), "replay": replay})


def test_the_first_batch_that_holds_it_is_found(before: TrainState) -> None:
    state = broken(before, 3)
    after, trace = learn(state, jnp.asarray(60))
    assert not np.isfinite(trace.metrics["critic_loss"])
    updates = TRAINING.updates(after.key, WARMUP, int(after.step))
    assert [update.step for update in updates] == list(range(WARMUP, WARMUP + 60))
    early = TRAINING.updates(after.key, 0, WARMUP + 2)  # of the warm-up there are none
    assert [(update.step, update.stored) for update in early] == [(WARMUP, WARMUP), (WARMUP + 1, WARMUP + 1)]
    found = find_culprit(TRAINING.agent, state.agent, after.replay, updates, 16)
    assert found is not None
    index_of = jax.jit(lambda stored, key: type(after.replay)(after.replay.ring, stored).sample(key, 16).index)
    drawn = [np.asarray(index_of(jnp.asarray(update.stored), update.draw_key)) for update in updates]
    first = next(update.step for update, index in zip(updates, drawn, strict=True) if 3 in index)
    assert found.step == first
    assert np.isinf(found.batch.reward[found.index == 3]).all()
    assert np.isfinite(found.batch.reward[found.index != 3]).all()
    assert set(found.arrays()) >= {"step", "index", "observation", "action", "reward", "discount", "next_observation"}
    # It is this update, and none before it, that breaks the loop's own agent.
    until, _ = learn(state, jnp.asarray(first - WARMUP))
    assert bool(no_nan(until.agent))
    beyond, _ = learn(state, jnp.asarray(first - WARMUP + 1))
    assert not bool(no_nan(beyond.agent))


def test_where_nothing_is_wrong_nothing_is_found(before: TrainState) -> None:
    after, _ = learn(before, jnp.asarray(30))
    updates = TRAINING.updates(after.key, WARMUP, int(after.step))
    assert find_culprit(TRAINING.agent, before.agent, after.replay, updates, 16) is None
