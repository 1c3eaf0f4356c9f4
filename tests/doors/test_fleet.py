"""Agents that train side by side take their pieces in turn, and say so where they do not."""

import jax
import numpy as np
import pytest
from tests.sizes import SIZES

import bayesbellman as bb
from bayesbellman.control.side_by_side import lay_out
from bayesbellman.doors.fleet import train_side_by_side
from bayesbellman.runs.trees import named_arrays


@pytest.fixture(autouse=True)
def _as_users_have_it():
    with jax.numpy_dtype_promotion("standard"):
        yield


def make(number: int) -> list[bb.SACStar]:
    return [bb.SACStar("probe-constant-reward", seed=seed, **SIZES) for seed in range(number)]


def test_in_turn_or_not_at_all() -> None:
    agents = make(2)
    train_side_by_side(agents, lay_out(2, jax.devices()[:1]))
    first, second = agents
    first.learn(50)
    assert (first.num_timesteps, second.num_timesteps) == (50, 0)
    before = named_arrays(bb.SACStar("probe-constant-reward", seed=1, **SIZES).player.agent_state)
    for name, array in named_arrays(second.player.agent_state).items():  # as it was, though its next piece is done
        np.testing.assert_allclose(array, before[name], rtol=1e-6, err_msg=name)
    with pytest.raises(RuntimeError, match="seed 1 is at step 0, and those beside it have gone on"):
        _ = second.player.replay
    second.learn(50)
    assert second.evaluate(2).tolist() == [1.0, 1.0]
    first.learn(40).learn(20)  # where it is by now is where the other would be, were it not for a piece
    with pytest.raises(RuntimeError, match="take their pieces in turn"):
        second.learn(60)


def test_only_what_is_compiled_and_fits_the_layout() -> None:
    with pytest.raises(ValueError, match="only agents in environments of ours"):
        train_side_by_side([bb.SACStar("Pendulum-v1", **SIZES)], lay_out(1, jax.devices()[:1]))
    with pytest.raises(ValueError, match="the layout is for 3 runs, and there are 2 seeds"):
        train_side_by_side(make(2), lay_out(3, jax.devices()[:1]))


def learnt(spoil: bool) -> list[dict[str, np.ndarray]]:
    """What runs carry that take each step together, as on a GPU, beside one that with ``spoil`` becomes nan."""
    first, *others = agents = make(3)
    fleet = train_side_by_side(agents, lay_out(3, jax.devices()[:1], batched=True))
    for agent in agents:
        agent.learn(50)
    if spoil:
        state = fleet.part(0, first.num_timesteps)
        fleet.put(0, jax.tree.map(lambda x: x * np.nan if x.dtype == np.float32 else x, state), first.num_timesteps)
    for agent in others * 2:
        agent.learn(30)
    return [named_arrays(agent.player.carried().tree) for agent in others]


def test_a_run_is_the_same_whatever_those_beside_it_are() -> None:
    """Also where they take each step together: shapes are the same, and no number of one is in another's."""
    for ours, theirs in zip(learnt(False), learnt(True), strict=True):
        for name, array in ours.items():
            np.testing.assert_array_equal(array, theirs[name], err_msg=name)
