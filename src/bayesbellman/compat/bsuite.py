"""Our agents as bsuite's: they play through its own runner, and its own analysis scores them.

    agent = BsuiteAgent(BootDQN(), env.observation_spec(), env.action_spec(), one_hot=True)
    bsuite.baselines.experiment.run(agent, env, num_episodes=env.bsuite_num_episodes)

Acting and learning are compiled; the environment steps in Python. Nothing of bsuite is imported: its agents are objects
with `select_action` and `update`.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

from bayesbellman.core.devices import update_options
from bayesbellman.core.types import Transition, effective_discount
from bayesbellman.data.replay import Replay
from bayesbellman.envs.spaces import Box, Discrete, Spaces
from bayesbellman.envs.spaces import one_hot as one_hot_space


def spaces_of(observation_spec: Any, action_spec: Any, one_hot: bool = False) -> Spaces:
    """An environment's specs as our spaces, with observations flattened; ``one_hot``: one entry of them at most is 1.

    A spec without bounds is taken to have none.
    """
    number = getattr(action_spec, "num_values", None)
    if number is None:
        raise TypeError(f"action_spec is {action_spec!r}; supported are discrete actions (dm_env.specs.DiscreteArray)")
    size = int(np.prod(observation_spec.shape))
    if one_hot:
        return Spaces(one_hot_space(size), Discrete(int(number)))
    low, high = (
        np.broadcast_to(getattr(observation_spec, name, other), observation_spec.shape)
        for name, other in (("minimum", -np.inf), ("maximum", np.inf))
    )
    flat_low, flat_high = (jnp.asarray(np.asarray(bound, np.float32).reshape(size)) for bound in (low, high))
    return Spaces(Box(flat_low, flat_high), Discrete(int(number)))


class BsuiteAgent:
    """A pure agent for discrete actions (`bayesbellman.control.boot_dqn.BootDQN`) with its replay.

    After ``warmup`` steps with uniform actions, one update for each step. ``one_hot`` is for observations with one
    entry of 1 at most, as Deep Sea's: their first layer is then looked up, not multiplied.
    """

    def __init__(
        self,
        agent: Any,
        observation_spec: Any,
        action_spec: Any,
        *,
        seed: int = 0,
        batch_size: int = 128,
        buffer_size: int = 10_000,
        warmup: int = 128,
        one_hot: bool = False,
    ) -> None:
        for name, value, least in (
            ("batch_size", batch_size, 1),
            ("buffer_size", buffer_size, batch_size),
            ("warmup", warmup, 1),
        ):
            if value < least:
                raise ValueError(f"{name} is {value}; it must be >= {least}")
        self.agent, self.batch_size, self.warmup = agent, batch_size, warmup
        self.spaces = spaces_of(observation_spec, action_spec, one_hot)
        agent_key, begin_key, self._key = jax.random.split(jax.random.key(seed), 3)
        self.state = jax.jit(lambda key: agent.init(key, self.spaces))(agent_key)
        observed = jnp.zeros(self.spaces.observation.size)
        zero = jnp.zeros(())
        self.replay = Replay.empty(
            buffer_size, Transition(observed, jnp.zeros((), jnp.int32), zero, zero, observed, zero)
        )
        self._context = agent.begin_episode(begin_key, self.state)
        self._rng = np.random.default_rng(seed)
        self._act = jax.jit(self._acting)
        self._learn = {
            learn: jax.jit(
                partial(self._learning, learn=learn), donate_argnums=(2, 3), compiler_options=update_options()
            )
            for learn in (False, True)
        }
        self.steps = 0

    def select_action(self, timestep: Any) -> int:
        """What the episode's member believes best; any action in the warm-up."""
        if self.steps < self.warmup:
            return int(self._rng.integers(self._actions))
        return int(self._act(self._key, self.steps, self.state, self._context, _flat(timestep)))

    def update(self, timestep: Any, action: int, new_timestep: Any) -> None:
        """Remember the step, and learn from a batch of what is remembered.

        An environment that says that the value goes on (a discount above 0 at the last step) is believed: that is how
        dm_env tells a time limit from an end.
        """
        gamma = np.float32(self.agent.discount)
        transition = Transition(
            _flat(timestep),
            np.asarray(action, np.int32),
            np.asarray(new_timestep.reward, np.float32),
            np.asarray(effective_discount(gamma, np.asarray(new_timestep.discount == 0)), np.float32),
            _flat(new_timestep),
            np.ones((), np.float32),
        )
        learn = self.steps >= self.warmup
        self.state, self.replay, self._context = self._learn[learn](
            self._key, self.steps, self.state, self.replay, self._context, transition, np.asarray(new_timestep.last())
        )
        self.steps += 1

    @property
    def _actions(self) -> int:
        space = self.spaces.action
        assert isinstance(space, Discrete)
        return space.number

    def _acting(
        self,
        key: Key[Array, ""],
        step: Int[Array, ""],
        state: PyTree,
        context: PyTree,
        observation: Float[Array, " d"],
    ) -> Int[Array, ""]:
        return self.agent.act(jax.random.fold_in(jax.random.fold_in(key, step), 0), state, context, observation)

    def _learning(
        self,
        key: Key[Array, ""],
        step: Int[Array, ""],
        state: PyTree,
        replay: Replay,
        context: PyTree,
        transition: Transition,
        last: Bool[Array, ""],
        learn: bool,
    ) -> tuple[PyTree, Replay, PyTree]:
        draw_key, update_key, begin_key = jax.random.split(jax.random.fold_in(jax.random.fold_in(key, step), 1), 3)
        replay = replay.add(transition)
        if learn:
            drawn = replay.sample(draw_key, self.batch_size)
            state, _ = self.agent.update(update_key, state, drawn.transitions, drawn.index)
        fresh = self.agent.begin_episode(begin_key, state)
        return state, replay, jax.tree.map(lambda a, b: jnp.where(last, a, b), fresh, context)


def _flat(timestep: Any) -> Float[np.ndarray, " d"]:
    return np.asarray(timestep.observation, np.float32).reshape(-1)
