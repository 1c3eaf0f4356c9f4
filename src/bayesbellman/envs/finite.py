"""Finite Markov decision processes given by their tables, and the Boyan chain."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from bayesbellman.envs.base import AbstractEnv, EnvStep


class FiniteState(eqx.Module):
    """Where the process is, and how many steps this episode has taken."""

    index: Int[Array, ""]
    time: Int[Array, ""]


class FiniteMDP(AbstractEnv[FiniteState]):
    """States ``0..S-1`` and actions ``0..A-1``; an observation is the state's index.

    Entering a state marked ``terminal`` terminates the episode. After ``time_limit`` steps it is truncated (0: never).
    """

    transition: Float[Array, "S A S"]
    """``P(s' | s, a)``"""
    reward: Float[Array, "S A S"]
    """``r(s, a, s')``"""
    initial: Float[Array, " S"]
    """``P_0(s)``"""
    terminal: Bool[Array, " S"]
    time_limit: int = eqx.field(static=True, default=0)

    def reset(self, key: Key[Array, ""]) -> FiniteState:
        index = jax.random.choice(key, self.initial.shape[0], p=self.initial)
        return FiniteState(index.astype(jnp.int32), jnp.zeros((), jnp.int32))

    def observe(self, state: FiniteState) -> Int[Array, ""]:
        return state.index

    def step(self, key: Key[Array, ""], state: FiniteState, action: Int[Array, ""]) -> EnvStep[FiniteState]:
        probabilities = self.transition[state.index, action]
        index = jax.random.choice(key, probabilities.shape[0], p=probabilities).astype(jnp.int32)
        time = state.time + 1
        terminated = self.terminal[index]
        truncated = jnp.asarray(self.time_limit > 0) & (time >= self.time_limit)
        return EnvStep(FiniteState(index, time), self.reward[state.index, action, index], terminated, truncated)


def boyan_chain(episode_length: int = 20) -> FiniteMDP:
    """The 14-state chain of Boyan (1999) as the linear experiments use it (Dann et al. 2014).

    From states 0 to 11 one or two states on, each with probability 1/2, at reward -3; from 12 to 13 at -2; 13 is
    absorbing at reward 0. Nothing terminates: an episode is cut after ``episode_length`` steps, and its last steps are
    self-loops in 13, whose value is learnt like any other.
    """
    num_states = 14
    transition = np.zeros((num_states, 1, num_states))
    for state in range(num_states - 2):
        transition[state, 0, [state + 1, state + 2]] = 0.5
    transition[12, 0, 13] = transition[13, 0, 13] = 1.0
    reward = np.full((num_states, 1, num_states), -3.0)
    reward[12, 0, 13], reward[13] = -2.0, 0.0
    return FiniteMDP(
        transition=jnp.asarray(transition, dtype=float),
        reward=jnp.asarray(reward, dtype=float),
        initial=jnp.zeros(num_states).at[0].set(1.0),
        terminal=jnp.zeros(num_states, dtype=bool),
        time_limit=episode_length,
    )
