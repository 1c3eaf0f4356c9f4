"""RP-BBAC, the Bayesian Bellman actor-critic with randomised priors; with ``target_smoothing = 1`` it is BAC.

L critics ``B_psi_l``, each with targets of its own omega_l and the actions of its own exploration actor; a behaviour
policy that is trained on all of them and collects nothing (paper, "Bayesian Bellman Actor-Critic").
"""

from collections.abc import Callable
from functools import partial
from typing import Any

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
    shown,
    tuned_temperature,
)
from bayesbellman.core.bellman import ExpectedBellman, SampledAction, pushforward
from bayesbellman.core.trees import slow_update
from bayesbellman.core.types import Metrics, Transition
from bayesbellman.envs.spaces import Spaces
from bayesbellman.nn.actors import TanhGaussian
from bayesbellman.nn.mlp import MLP, relu
from bayesbellman.nn.priors import WithPrior
from bayesbellman.nn.scaling import Scaling
from bayesbellman.posterior.map_estimate import MAPEstimate
from bayesbellman.posterior.randomised_prior import PriorKind, RandomisedPrior, RandomisedPriorState

RECIPES: dict[str, dict[str, Any]] = {
    "ours": {"exploration_entropy": 1.0, "learning_rate": 1e-3},
    "paper": {"exploration_entropy": 0.0, "learning_rate": 3e-4},
}
"""Of settings that are left out: `BBAC`'s own defaults, and the paper's. Why they differ: docs/cartpole-study.md."""


class BBACState(eqx.Module):
    """All that learning changes, and how observations are scaled."""

    scaling: Scaling
    posterior: RandomisedPriorState
    """psi_l, their prior functions, their optimisers"""
    omega: MLP
    """Target critics, stacked; they have the same prior functions."""
    policies: Optimised
    """The L exploration actors and, last, the behaviour policy, stacked"""
    log_temperature: Optimised
    mask_key: Key[Array, ""]


class BBAC(AbstractActorCritic[BBACState]):
    """The settings; defaults are the paper's for MountainCar, but for those of `RECIPES`."""

    ensemble_size: int = eqx.field(static=True, default=8)
    """L"""
    prior_scale: Number = 100.0
    """Of the prior functions; the paper has 100 for MountainCar, 32 for its cart-pole."""
    prior_weight: Number = 3e-5
    """lambda"""
    hidden: tuple[int, ...] = eqx.field(static=True, default=(256, 256))
    activation: Callable[[Array], Array] = eqx.field(static=True, default=relu)
    learning_rate: Number = RECIPES["ours"]["learning_rate"]
    """Of Adam, for critics, policies and temperature; the paper has 3e-4."""
    discount: Number = 0.99
    target_smoothing: Number = 5e-3
    """beta of ``omega <- omega - beta (omega - psi)``; 1 sets omega to psi: BAC."""
    exploration_entropy: Number = RECIPES["ours"]["exploration_entropy"]
    """Entropy bonus of the exploration actors, in units of the behaviour policy's temperature. The paper's equations
    have none, 0."""
    exploration_noise: Number = 1.0
    """Of the exploration actors' actions, in units of the deviation that they have learnt; 0: their mean action."""
    target_entropy: Number | None = None
    """Of the behaviour policy; None: minus the number of actions."""
    prior: PriorKind = eqx.field(static=True, default="function")
    target_noise: Number = 0.0
    """Deviation of the noise that each member sees on each transition's target."""
    bootstrap: float = eqx.field(static=True, default=1.0)
    """Probability with which a member is shown a transition; 1 shows all to all, as the paper does. It is the prior's
    share too, so that what a member is shown weighs as much beside its prior as all would."""
    scale_observations: bool = eqx.field(static=True, default=True)
    """To [-1, 1], where the space has bounds."""

    def init(self, key: Key[Array, ""], spaces: Spaces) -> BBACState:
        num_observed, num_actions = continuous_sizes(spaces)
        posterior_key, policy_key, mask_key = jax.random.split(key, 3)
        make_actor = partial(
            TanhGaussian.glorot,
            num_inputs=num_observed,
            num_actions=num_actions,
            hidden=self.hidden,
            activation=self.activation,
            fused="many",
        )
        posterior = self._posterior(num_observed + num_actions).init(posterior_key)
        policies = jax.vmap(make_actor)(jax.random.split(policy_key, self.ensemble_size + 1))
        return BBACState(
            scaling=observation_scaling(spaces, self.scale_observations),
            posterior=posterior,
            omega=posterior.members.phi,
            policies=Optimised.fresh_each(policies),
            log_temperature=Optimised.fresh(jnp.zeros(())),
            mask_key=mask_key,
        )

    def begin_episode(self, key: Key[Array, ""], state: BBACState) -> Int[Array, ""]:
        """Which member explores: drawn uniformly."""
        return jax.random.randint(key, (), 0, self.ensemble_size)

    def act(
        self, key: Key[Array, ""], state: BBACState, context: Int[Array, ""], observation: Float[Array, " d"]
    ) -> Float[Array, " A"]:
        actor = jax.tree.map(lambda x: x[context], state.policies.parameters)
        if isinstance(self.exploration_noise, float) and self.exploration_noise == 1:
            return actor.sample(key, state.scaling(observation)).action
        return actor.perturbed(key, state.scaling(observation), self.exploration_noise)

    def behaviour(self, state: BBACState) -> TanhGaussian:
        return jax.tree.map(lambda x: x[-1], state.policies.parameters)

    def scaling(self, state: BBACState) -> Scaling:
        return state.scaling

    def values(
        self, state: BBACState, observation: Float[Array, "*batch d"], action: Float[Array, "*batch A"]
    ) -> Float[Array, "L ..."]:
        inputs = (state.scaling(observation), action)
        return jax.vmap(lambda critic: critic(inputs))(self._posterior(0).members(state.posterior))

    def update(
        self, key: Key[Array, ""], state: BBACState, batch: Transition, index: Int[Array, " batch"]
    ) -> tuple[BBACState, Metrics]:
        next_key, critic_key, policy_key, pair_key = jax.random.split(key, 4)
        batch = scaled(batch, state.scaling)
        targets = self._targets(next_key, state, batch)
        weights = batch.weight * shown(state.mask_key, self.ensemble_size, self.bootstrap, index)
        inputs = (batch.observation, batch.action)
        posterior, metrics = self._posterior(0).update_each(
            critic_key, state.posterior, inputs, targets, weights, index
        )
        critics = self._posterior(0).members(posterior)
        pair = jax.tree.map(lambda x: x[two_of(pair_key, self.ensemble_size)], critics)
        temperature = jnp.exp(state.log_temperature.parameters)
        loss = partial(self._policy_loss, policy_key, critics, pair, batch.observation, temperature)
        gradient, log_prob = jax.grad(loss, has_aux=True)(state.policies.parameters)
        updated = BBACState(
            scaling=state.scaling,
            posterior=posterior,
            omega=slow_update(state.omega, posterior.members.phi, self.target_smoothing),
            policies=state.policies.step_each(gradient, self.learning_rate),
            log_temperature=tuned_temperature(
                state.log_temperature, log_prob, batch.action.shape[-1], self.target_entropy, self.learning_rate
            ),
            mask_key=state.mask_key,
        )
        return updated, {"critic_loss": metrics["fit"], "temperature": temperature, "entropy": -jnp.mean(log_prob)}

    def _targets(self, key: Key[Array, ""], state: BBACState, batch: Transition) -> Float[Array, "L batch"]:
        """Each member's ``r + gamma Q_omega_l(s', a')``, a' of its own actor: no minimum, no entropy."""
        next_action = self._drawn(key, state.policies.parameters, batch.next_observation).action
        bellman = ExpectedBellman(lambda omega, observation, action: omega((observation, action)))

        def of_member(omega: WithPrior, next_action: Float[Array, "batch A"]) -> Float[Array, " batch"]:
            return pushforward(bellman, omega, batch, next_action).targets

        return jax.vmap(of_member)(self._posterior(0).with_priors(state.omega, state.posterior), next_action[:-1])

    def _policy_loss(
        self,
        key: Key[Array, ""],
        critics: WithPrior,
        pair: WithPrior,
        observation: Float[Array, "batch d"],
        temperature: Float[Array, ""],
        policies: TanhGaussian,
    ) -> tuple[Float[Array, ""], Float[Array, " batch"]]:
        """All policies' losses; the log-densities of the behaviour policy's actions.

        Each exploration actor is judged by its own critic, the behaviour policy by the lesser of two. They share no
        parameters, so that the gradient of the sum is each one's own.
        """
        drawn = self._drawn(key, policies, observation)
        own = jax.vmap(lambda critic, action: critic((observation, action)))(critics, drawn.action[:-1])
        least = jnp.min(jax.vmap(lambda critic: critic((observation, drawn.action[-1])))(pair), axis=0)
        bonus = jnp.asarray(self.exploration_entropy, temperature.dtype) * temperature
        exploring = actor_loss(drawn.log_prob[:-1], own, bonus)
        behaving = actor_loss(drawn.log_prob[-1], least, temperature)
        return jnp.sum(exploring) + behaving, drawn.log_prob[-1]

    def _drawn(
        self, key: Key[Array, ""], policies: TanhGaussian, observation: Float[Array, "batch d"]
    ) -> SampledAction:
        """An action of each policy for each observation: all in one pass, whether or not the last one's is needed."""
        keys = jax.random.split(key, self.ensemble_size + 1)
        return jax.vmap(lambda key, policy: policy.sample(key, observation))(keys, policies)

    def _posterior(self, num_inputs: int) -> RandomisedPrior:
        """The posterior over Bellman operators; only its start needs the number of inputs."""
        network = partial(
            MLP.glorot, num_inputs=num_inputs, hidden=self.hidden, activation=self.activation, fused="many"
        )
        noisy = not (isinstance(self.target_noise, float) and self.target_noise == 0)
        member = MAPEstimate(
            network,
            ADAM,
            prior_weight=self.prior_weight,
            prior_share=self.bootstrap,
            noise_variance=1.0,
            step_size=self.learning_rate,
        )
        return RandomisedPrior(member, self.ensemble_size, self.prior, self.prior_scale, noisy, self.target_noise)


def two_of(key: Key[Array, ""], number: int) -> Int[Array, " two"]:
    """Two different numbers below ``number``, all pairs alike; if there is but one, that one."""
    if number == 1:
        return jnp.zeros(1, jnp.int32)
    first, apart = jax.random.randint(key, (2,), jnp.array([0, 1]), jnp.array([number, number]))
    return jnp.stack([first, (first + apart) % number])
