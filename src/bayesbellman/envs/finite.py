"""Finite Markov decision processes given by their tables; the Boyan chain and the random process of the benchmark."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from bayesbellman.core.sampling import categorical
from bayesbellman.envs.base import AbstractNoiseDrivenEnv, EnvStep, out_of_time


class FiniteState(eqx.Module):
    """Where the process is, and how many steps this episode has taken."""

    index: Int[Array, ""]
    time: Int[Array, ""]


class FiniteMDP(AbstractNoiseDrivenEnv[FiniteState]):
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

    def draw(self, key: Key[Array, ""]) -> Float[Array, ""]:
        return jax.random.uniform(key, dtype=self.transition.dtype)

    def begin(self, noise: Float[Array, ""]) -> FiniteState:
        return FiniteState(categorical(noise, self.initial), jnp.zeros((), jnp.int32))

    def observe(self, state: FiniteState) -> Int[Array, ""]:
        return state.index

    def advance(self, noise: Float[Array, ""], state: FiniteState, action: Int[Array, ""]) -> EnvStep[FiniteState]:
        return self.arrive(state, action, categorical(noise, self.transition[state.index, action]))

    def arrive(self, state: FiniteState, action: Int[Array, ""], index: Int[Array, ""]) -> EnvStep[FiniteState]:
        """The step whose successor is ``index``."""
        time = state.time + 1
        truncated = out_of_time(time, self.time_limit)
        reward = self.reward[state.index, action, index]
        return EnvStep(FiniteState(index, time), reward, self.terminal[index], truncated)


class FoldedMDP(AbstractNoiseDrivenEnv[FiniteState]):
    """A finite process whose sampled indices are taken modulo ``modulus``: a quirk of the benchmark, by its name.

    Its sampler keeps indices in eight bits. Of 400 states it visits 256, the first 144 twice as often, while true
    values are those of the process inside, unfolded.
    """

    mdp: FiniteMDP
    modulus: int = eqx.field(static=True, default=256)

    def draw(self, key: Key[Array, ""]) -> Float[Array, ""]:
        return self.mdp.draw(key)

    def begin(self, noise: Float[Array, ""]) -> FiniteState:
        state = self.mdp.begin(noise)
        return FiniteState(state.index % self.modulus, state.time)

    def observe(self, state: FiniteState) -> Int[Array, ""]:
        return state.index

    def advance(self, noise: Float[Array, ""], state: FiniteState, action: Int[Array, ""]) -> EnvStep[FiniteState]:
        index = categorical(noise, self.mdp.transition[state.index, action])
        return self.mdp.arrive(state, action, index % self.modulus)


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


def tsitsiklis_triangle() -> FiniteMDP:
    """Three states in a ring: stay or go one on, each with probability 1/2, without rewards (Tsitsiklis 1997)."""
    transition = np.array([[0.5, 0.0, 0.5], [0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])[:, None, :]
    return FiniteMDP(
        transition=jnp.asarray(transition, dtype=float),
        reward=jnp.zeros((3, 1, 3)),
        initial=jnp.full(3, 1 / 3),
        terminal=jnp.zeros(3, dtype=bool),
    )


def random_mdp(seed: int, num_states: int = 400, num_actions: int = 10) -> FiniteMDP:
    """The random process of the linear experiments (Dann et al. 2014): uniform random tables, rewards ``r(a, s')``.

    The benchmark sets no seed before it draws the tables; ``seed`` seeds the same generator and order of draws.
    """
    rng = np.random.RandomState(seed)
    initial = rng.random_sample(num_states) + 1e-5
    reward = rng.random_sample((num_actions, num_states))
    transition = rng.random_sample((num_states, num_actions, num_states)) + 1e-5
    return FiniteMDP(
        transition=jnp.asarray(transition / transition.sum(axis=2, keepdims=True), dtype=float),
        reward=jnp.asarray(np.broadcast_to(reward, transition.shape), dtype=float),
        initial=jnp.asarray(initial / initial.sum(), dtype=float),
        terminal=jnp.zeros(num_states, dtype=bool),
    )
