"""Environments so small that their values are known, each the least that can fail one part of an agent.

In the order of `PROBES`: the critic, its use of the observation, discounting and bootstrapping, the actor, its use of
the observation, time limits. The first one that an agent does not learn names the part that is wrong.
`DISCRETE_PROBES` are the same for agents that choose among a few actions.
"""

import abc
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from bayesbellman.envs.base import AbstractControlEnv, EnvStep, out_of_time
from bayesbellman.envs.spaces import Discrete, Spaces, box


class ProbeState(eqx.Module):
    """A sign drawn at the start, which some probes show, and how many steps this episode has taken."""

    sign: Float[Array, ""]
    time: Int[Array, ""]


class AbstractProbe(AbstractControlEnv[ProbeState]):
    """Observations and actions have shape (1,); an action is any number, and the best one is within [-1, 1]."""

    length: ClassVar[int]
    """Steps until it terminates; 0: never"""
    time_limit: eqx.AbstractVar[int]

    @abc.abstractmethod
    def earn(self, state: ProbeState, action: Float[Array, " 1"]) -> Float[Array, ""]:
        """The reward of a step from this state."""

    @abc.abstractmethod
    def value(self, observation: Float[Array, " 1"], discount: float | Float[Array, ""]) -> Float[Array, ""]:
        """Of a state that looks like this, with the best actions."""

    @property
    def spaces(self) -> Spaces:
        return Spaces(box([-1.0], [1.0]), box([-1.0], [1.0]))

    def reset(self, key: Key[Array, ""]) -> ProbeState:
        return self.at(jax.random.rademacher(key, dtype=float))

    def at(self, sign: Float[Array, ""]) -> ProbeState:
        """An episode that begins there."""
        return ProbeState(sign, jnp.zeros((), jnp.int32))

    def step(self, key: Key[Array, ""], state: ProbeState, action: Float[Array, " 1"]) -> EnvStep[ProbeState]:
        time = state.time + 1
        terminated = jnp.asarray(self.length > 0) & (time >= self.length)
        truncated = out_of_time(time, self.time_limit)
        return EnvStep(ProbeState(state.sign, time), self.earn(state, action), terminated, truncated)


class ConstantReward(AbstractProbe):
    """One step, ``reward``, always the observation 0. The value is ``reward``."""

    length = 1
    reward: float | Float[Array, ""] = 1.0
    time_limit: int = eqx.field(static=True, default=0)

    def observe(self, state: ProbeState) -> Float[Array, " 1"]:
        return jnp.zeros_like(state.sign)[None]

    def earn(self, state: ProbeState, action: Float[Array, " 1"]) -> Float[Array, ""]:
        return jnp.asarray(self.reward, state.sign.dtype)

    def value(self, observation: Float[Array, " 1"], discount: float | Float[Array, ""]) -> Float[Array, ""]:
        return jnp.asarray(self.reward, observation.dtype)


class ObservedReward(AbstractProbe):
    """One step, the observation +1 or -1, and ``reward`` times it. The value is ``reward`` times the observation."""

    length = 1
    reward: float | Float[Array, ""] = 1.0
    time_limit: int = eqx.field(static=True, default=0)

    def observe(self, state: ProbeState) -> Float[Array, " 1"]:
        return state.sign[None]

    def earn(self, state: ProbeState, action: Float[Array, " 1"]) -> Float[Array, ""]:
        return jnp.asarray(self.reward, state.sign.dtype) * state.sign

    def value(self, observation: Float[Array, " 1"], discount: float | Float[Array, ""]) -> Float[Array, ""]:
        return jnp.asarray(self.reward, observation.dtype) * observation[0]


class DelayedReward(AbstractProbe):
    """Two steps, the observations 0 and 1, ``reward`` for the second step alone.

    The value is ``reward`` at 1 and ``discount`` times that at 0.
    """

    length = 2
    reward: float | Float[Array, ""] = 1.0
    time_limit: int = eqx.field(static=True, default=0)

    def observe(self, state: ProbeState) -> Float[Array, " 1"]:
        return jnp.minimum(state.time, 1).astype(state.sign.dtype)[None]

    def earn(self, state: ProbeState, action: Float[Array, " 1"]) -> Float[Array, ""]:
        return jnp.where(state.time >= 1, jnp.asarray(self.reward, state.sign.dtype), 0.0)

    def value(self, observation: Float[Array, " 1"], discount: float | Float[Array, ""]) -> Float[Array, ""]:
        last = jnp.asarray(self.reward, observation.dtype)
        return jnp.where(observation[0] >= 0.5, last, jnp.asarray(discount, observation.dtype) * last)


class BestAction(AbstractProbe):
    """One step, always the observation 0, the reward ``1 - (a - best)^2``.

    The value is 1, of the action ``best``; a policy with that mean and a variance has the variance less.
    """

    length = 1
    best: float | Float[Array, ""] = 0.5
    time_limit: int = eqx.field(static=True, default=0)

    def observe(self, state: ProbeState) -> Float[Array, " 1"]:
        return jnp.zeros_like(state.sign)[None]

    def earn(self, state: ProbeState, action: Float[Array, " 1"]) -> Float[Array, ""]:
        return 1 - (action[0] - jnp.asarray(self.best, action.dtype)) ** 2

    def value(self, observation: Float[Array, " 1"], discount: float | Float[Array, ""]) -> Float[Array, ""]:
        return jnp.ones_like(observation[0])


class ObservedBestAction(AbstractProbe):
    """One step, the observation s is +1 or -1, the reward ``1 - (a - slope s)^2``.

    The value is 1, of the action ``slope s``; that of the best action which does not look is ``1 - slope^2``.
    """

    length = 1
    slope: float | Float[Array, ""] = 0.5
    time_limit: int = eqx.field(static=True, default=0)

    def observe(self, state: ProbeState) -> Float[Array, " 1"]:
        return state.sign[None]

    def earn(self, state: ProbeState, action: Float[Array, " 1"]) -> Float[Array, ""]:
        return 1 - (action[0] - jnp.asarray(self.slope, action.dtype) * state.sign) ** 2

    def value(self, observation: Float[Array, " 1"], discount: float | Float[Array, ""]) -> Float[Array, ""]:
        return jnp.ones_like(observation[0])


class TimeLimit(AbstractProbe):
    """``reward`` in every step, always the observation 0, never an end, but cut after ``time_limit`` steps.

    The value is ``reward / (1 - discount)``. Who takes the cut for an end finds ``reward / (1 - discount (1 - 1/k))``,
    k steps to an episode: with the settings as they are and a discount of 0.9, 3.57 in place of 10.
    """

    length = 0
    reward: float | Float[Array, ""] = 1.0
    time_limit: int = eqx.field(static=True, default=5)

    def observe(self, state: ProbeState) -> Float[Array, " 1"]:
        return jnp.zeros_like(state.sign)[None]

    def earn(self, state: ProbeState, action: Float[Array, " 1"]) -> Float[Array, ""]:
        return jnp.asarray(self.reward, state.sign.dtype)

    def value(self, observation: Float[Array, " 1"], discount: float | Float[Array, ""]) -> Float[Array, ""]:
        return jnp.asarray(self.reward, observation.dtype) / (1 - jnp.asarray(discount, observation.dtype))


PROBES: dict[str, AbstractProbe] = {
    "constant-reward": ConstantReward(),
    "observed-reward": ObservedReward(),
    "delayed-reward": DelayedReward(),
    "best-action": BestAction(),
    "observed-best-action": ObservedBestAction(),
    "time-limit": TimeLimit(),
}


class DiscreteProbe(AbstractControlEnv[ProbeState]):
    """A probe with actions ``0..n-1`` that stand for ``numbers``. Its values stay if its best ones are among them."""

    probe: AbstractProbe
    numbers: tuple[float, ...] = eqx.field(static=True, default=(-0.5, 0.0, 0.5))

    @property
    def length(self) -> int:
        return self.probe.length

    @property
    def time_limit(self) -> int:
        return self.probe.time_limit

    @property
    def spaces(self) -> Spaces:
        return Spaces(self.probe.spaces.observation, Discrete(len(self.numbers)))

    def reset(self, key: Key[Array, ""]) -> ProbeState:
        return self.probe.reset(key)

    def at(self, sign: Float[Array, ""]) -> ProbeState:
        """An episode that begins there."""
        return self.probe.at(sign)

    def observe(self, state: ProbeState) -> Float[Array, " 1"]:
        return self.probe.observe(state)

    def step(self, key: Key[Array, ""], state: ProbeState, action: Int[Array, ""]) -> EnvStep[ProbeState]:
        return self.probe.step(key, state, jnp.asarray(self.numbers, state.sign.dtype)[action][None])

    def value(self, observation: Float[Array, " 1"], discount: float | Float[Array, ""]) -> Float[Array, ""]:
        """Of a state that looks like this, with the best actions."""
        return self.probe.value(observation, discount)


DISCRETE_PROBES: dict[str, DiscreteProbe] = {name: DiscreteProbe(probe) for name, probe in PROBES.items()}
