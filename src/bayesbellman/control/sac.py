"""Soft actor-critic (Haarnoja et al. 2018), the baseline; with one critic it is the paper's SAC*."""

from collections.abc import Callable
from functools import partial, reduce

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from bayesbellman.control.base import AbstractActorCritic
from bayesbellman.control.parts import (
    ADAM,
    Number,
    Optimised,
    actor_loss,
    continuous_sizes,
    observation_scaling,
    scaled,
    tuned_temperature,
)
from bayesbellman.core.bellman import SoftBellman, pushforward
from bayesbellman.core.trees import slow_update
from bayesbellman.core.types import Metrics, Transition
from bayesbellman.envs.spaces import Spaces
from bayesbellman.nn.actors import TanhGaussian
from bayesbellman.nn.mlp import MLP, relu
from bayesbellman.nn.scaling import Scaling
from bayesbellman.posterior.map_estimate import MAPEstimate
from bayesbellman.posterior.randomised_prior import RandomisedPrior, RandomisedPriorState


class SACState(eqx.Module):
    """All that learning changes, and how observations are scaled."""

    scaling: Scaling
    critics: RandomisedPriorState
    """A plain ensemble: its priors weigh nothing."""
    omega: MLP
    """Target critics, stacked"""
    actor: Optimised
    log_temperature: Optimised


class SAC(AbstractActorCritic[SACState]):
    """The settings; shapes are those of `BBAC`, rates those of the paper."""

    num_critics: int = eqx.field(static=True, default=2)
    """Their minimum is used; 1 is SAC*."""
    hidden: tuple[int, ...] = eqx.field(static=True, default=(256, 256))
    activation: Callable[[Array], Array] = eqx.field(static=True, default=relu)
    learning_rate: Number = 3e-4
    discount: Number = 0.99
    target_smoothing: Number = 5e-3
    target_entropy: Number | None = None
    """None: minus the number of actions."""
    scale_observations: bool = eqx.field(static=True, default=True)
    """To [-1, 1], where the space has bounds."""

    def init(self, key: Key[Array, ""], spaces: Spaces) -> SACState:
        num_observed, num_actions = continuous_sizes(spaces)
        critic_key, actor_key = jax.random.split(key)
        critics = self._critics(num_observed + num_actions).init(critic_key)
        actor = TanhGaussian.glorot(actor_key, num_observed, num_actions, self.hidden, self.activation, fused="few")
        return SACState(
            scaling=observation_scaling(spaces, self.scale_observations),
            critics=critics,
            omega=critics.members.phi,
            actor=Optimised.fresh(actor),
            log_temperature=Optimised.fresh(jnp.zeros(())),
        )

    def begin_episode(self, key: Key[Array, ""], state: SACState) -> Int[Array, ""]:
        """Nothing is decided."""
        return jnp.zeros((), jnp.int32)

    def act(
        self, key: Key[Array, ""], state: SACState, context: Int[Array, ""], observation: Float[Array, " d"]
    ) -> Float[Array, " A"]:
        return state.actor.parameters.sample(key, state.scaling(observation)).action

    def behaviour(self, state: SACState) -> TanhGaussian:
        return state.actor.parameters

    def scaling(self, state: SACState) -> Scaling:
        return state.scaling

    def values(
        self, state: SACState, observation: Float[Array, "*batch d"], action: Float[Array, "*batch A"]
    ) -> Float[Array, "L ..."]:
        return _each(state.critics.members.phi, (state.scaling(observation), action))

    def update(
        self, key: Key[Array, ""], state: SACState, batch: Transition, index: Int[Array, " batch"]
    ) -> tuple[SACState, Metrics]:
        next_key, critic_key, actor_key = jax.random.split(key, 3)
        batch = scaled(batch, state.scaling)
        temperature = jnp.exp(state.log_temperature.parameters)
        next_action = state.actor.parameters.sample(next_key, batch.next_observation)
        bellman = SoftBellman(lambda omega, observation, action: _each(omega, (observation, action)).T, temperature)
        samples = pushforward(bellman, state.omega, batch, next_action, index)
        critics, metrics = self._critics(0).update(critic_key, state.critics, samples)

        def loss(actor: TanhGaussian) -> tuple[Float[Array, ""], Float[Array, " batch"]]:
            drawn = actor.sample(actor_key, batch.observation)
            least = reduce(jnp.minimum, _each(critics.members.phi, (batch.observation, drawn.action)))
            return actor_loss(drawn.log_prob, least, temperature), drawn.log_prob

        gradient, log_prob = jax.grad(loss, has_aux=True)(state.actor.parameters)
        updated = SACState(
            scaling=state.scaling,
            critics=critics,
            omega=slow_update(state.omega, critics.members.phi, self.target_smoothing),
            actor=state.actor.step(gradient, self.learning_rate),
            log_temperature=tuned_temperature(
                state.log_temperature, log_prob, batch.action.shape[-1], self.target_entropy, self.learning_rate
            ),
        )
        return updated, {"critic_loss": metrics["fit"], "temperature": temperature, "entropy": -jnp.mean(log_prob)}

    def _critics(self, num_inputs: int) -> RandomisedPrior:
        network = partial(
            MLP.glorot, num_inputs=num_inputs, hidden=self.hidden, activation=self.activation, fused="few"
        )
        member = MAPEstimate(network, ADAM, step_size=self.learning_rate)
        return RandomisedPrior(member, self.num_critics, "none")


def _each(critics: MLP, inputs: tuple) -> Float[Array, "critics ..."]:
    return jax.vmap(lambda critic: critic(inputs))(critics)
