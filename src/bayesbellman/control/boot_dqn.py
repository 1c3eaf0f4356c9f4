"""BootDQN+Prior: the randomised-prior posterior over Bellman operators, with the greedy empirical Bellman function.

L members ``B_psi_l`` with prior functions, each with targets of its own omega_l; a member is drawn for each episode and
acts greedily (Osband et al. 2018; paper, "Bayesian Bellman Actor-Critic"). One member without a prior function that
sometimes acts at random is DQN.
"""

from collections.abc import Callable
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from bayesbellman.control.base import AbstractAgent
from bayesbellman.control.parts import ADAM, Number, discrete_sizes, observation_scaling, scaled, shown
from bayesbellman.core.bellman import EmpiricalBellman, ExpectedBellman, GreedyBellman, pushforward
from bayesbellman.core.trees import slow_update
from bayesbellman.core.types import Metrics, Transition
from bayesbellman.envs.spaces import Spaces
from bayesbellman.nn.action_values import ActionValues, Seen, cell_of, chosen
from bayesbellman.nn.mlp import relu
from bayesbellman.nn.priors import WithPrior
from bayesbellman.nn.scaling import Scaling
from bayesbellman.posterior.map_estimate import MAPEstimate
from bayesbellman.posterior.randomised_prior import PriorKind, RandomisedPrior, RandomisedPriorState


class BootDQNState(eqx.Module):
    """All that learning changes, and how observations are scaled."""

    scaling: Scaling
    posterior: RandomisedPriorState
    """psi_l, their prior functions, their optimisers"""
    omega: ActionValues
    """Target parameters, stacked; they have the same prior functions."""
    updates: Int[Array, ""]
    mask_key: Key[Array, ""]


class BootDQN(AbstractAgent[BootDQNState]):
    """The settings."""

    ensemble_size: int = eqx.field(static=True, default=20)
    """L"""
    prior_scale: Number = 3.0
    prior_weight: Number = 0.0
    """lambda"""
    hidden: tuple[int, ...] = eqx.field(static=True, default=(64, 64))
    activation: Callable[[Array], Array] = eqx.field(static=True, default=relu)
    learning_rate: Number = 1e-3
    discount: Number = 0.99
    target_smoothing: Number = 0.05
    """beta of ``omega <- omega - beta (omega - psi)``; 1 sets omega to psi: no target parameters."""
    target_period: int = eqx.field(static=True, default=1)
    """Updates from one such step to the next: with ``target_smoothing = 1``, a copy every so often."""
    double: bool = eqx.field(static=True, default=False)
    """Double Q-learning: psi chooses the next action, omega values it."""
    epsilon: Number = 0.0
    """Probability of a random action"""
    prior: PriorKind = eqx.field(static=True, default="function")
    target_noise: Number = 0.0
    """Deviation of the noise that each member sees on each transition's target."""
    bootstrap: float = eqx.field(static=True, default=1.0)
    """Probability with which a member is shown a transition, and the prior's share: see `BBAC`"""
    scale_observations: bool = eqx.field(static=True, default=True)
    """To [-1, 1], where the space has bounds."""

    def init(self, key: Key[Array, ""], spaces: Spaces) -> BootDQNState:
        posterior_key, mask_key = jax.random.split(key)
        posterior = self._posterior(spaces).init(posterior_key)
        if spaces.observation.one_hot and posterior.priors is not None:
            tables = jax.vmap(ActionValues.tabulated)(posterior.priors)
            posterior = RandomisedPriorState(posterior.members, tables, posterior.noise_keys)
        return BootDQNState(
            scaling=observation_scaling(spaces, self.scale_observations),
            posterior=posterior,
            omega=posterior.members.phi,
            updates=jnp.zeros((), jnp.int32),
            mask_key=mask_key,
        )

    def begin_episode(self, key: Key[Array, ""], state: BootDQNState) -> Int[Array, ""]:
        """Which member acts: drawn uniformly."""
        return jax.random.randint(key, (), 0, self.ensemble_size)

    def act(
        self, key: Key[Array, ""], state: BootDQNState, context: Int[Array, ""], observation: Float[Array, " d"]
    ) -> Int[Array, ""]:
        """What the episode's member believes best; with probability epsilon, any."""
        member = jax.tree.map(lambda x: x[context], self._members(state))
        values = member.outputs(self._seen(state, observation))
        return self._or_random(key, jnp.argmax(values, axis=-1), values.shape[-1])

    def act_best(self, state: BootDQNState, observation: Float[Array, "*batch d"]) -> Int[Array, "*batch"]:
        """By the mean over members: the action of the posterior's mean."""
        return jnp.argmax(jnp.mean(self._all_values(state, observation), axis=0), axis=-1)

    def draw(
        self, key: Key[Array, ""], state: BootDQNState, observation: Float[Array, "*batch d"]
    ) -> Int[Array, "*batch"]:
        """What a member drawn for each observation believes best; with probability epsilon, any."""
        member_key, random_key = jax.random.split(key)
        best = jnp.argmax(self._all_values(state, observation), axis=-1)
        member = jax.random.randint(member_key, (1, *best.shape[1:]), 0, self.ensemble_size)
        number = state.posterior.members.phi.network.biases[-1].shape[-1]
        return self._or_random(random_key, jnp.take_along_axis(best, member, axis=0)[0], number)

    def values(
        self, state: BootDQNState, observation: Float[Array, "*batch d"], action: Int[Array, "*batch"]
    ) -> Float[Array, "L ..."]:
        inputs = (self._seen(state, observation), action)
        return jax.vmap(lambda member: member(inputs))(self._members(state))

    def update(
        self, key: Key[Array, ""], state: BootDQNState, batch: Transition, index: Int[Array, " batch"]
    ) -> tuple[BootDQNState, Metrics]:
        batch = scaled(batch, lambda observation: self._seen(state, observation))
        targets = self._targets(state, batch)
        weights = batch.weight * shown(state.mask_key, self.ensemble_size, self.bootstrap, index)
        posterior, metrics = self._posterior(None).update_each(
            key, state.posterior, (batch.observation, batch.action), targets, weights, index
        )
        updates = state.updates + 1
        smoothing = jnp.asarray(self.target_smoothing, dtype=float)
        if self.target_period > 1:
            smoothing = jnp.where(updates % self.target_period == 0, smoothing, 0.0)
        omega = slow_update(state.omega, posterior.members.phi, smoothing)
        following = BootDQNState(state.scaling, posterior, omega, updates, state.mask_key)
        return following, {"critic_loss": metrics["fit"], "target": jnp.mean(targets)}

    def _targets(self, state: BootDQNState, batch: Transition) -> Float[Array, "L batch"]:
        """Each member's ``r + gamma max_a' Q_omega_l(s', a')``; with ``double``, a' is psi_l's choice."""
        bellman: EmpiricalBellman = GreedyBellman(lambda omega, observation: omega.outputs(observation))
        next_action = None
        if self.double:
            bellman = ExpectedBellman(lambda omega, observation, action: chosen(omega.outputs(observation), action))
            next_action = jnp.argmax(self._each_outputs(self._members(state), batch.next_observation), axis=-1)

        def of_member(omega: WithPrior, next_action: Int[Array, " batch"] | None) -> Float[Array, " batch"]:
            return pushforward(bellman, omega, batch, next_action).targets

        return jax.vmap(of_member)(self._posterior(None).with_priors(state.omega, state.posterior), next_action)

    def _or_random(self, key: Key[Array, ""], action: Int[Array, "*batch"], number: int) -> Int[Array, "*batch"]:
        if isinstance(self.epsilon, float) and self.epsilon == 0:
            return action.astype(jnp.int32)
        whether_key, which_key = jax.random.split(key)
        any_action = jax.random.randint(which_key, action.shape, 0, number, jnp.int32)
        whether = jax.random.uniform(whether_key, action.shape) < jnp.asarray(self.epsilon)
        return jnp.where(whether, any_action, action.astype(jnp.int32))

    def _all_values(self, state: BootDQNState, observation: Float[Array, "*batch d"]) -> Float[Array, "L ..."]:
        return self._each_outputs(self._members(state), self._seen(state, observation))

    @staticmethod
    def _each_outputs(members: WithPrior, seen: Seen) -> Float[Array, "L ..."]:
        return jax.vmap(lambda member: member.outputs(seen))(members)

    def _seen(self, state: BootDQNState, observation: Float[Array, "*batch d"]) -> Seen:
        """What the networks take in; a cell is found once for all of them."""
        if state.omega.table is not None:
            return cell_of(observation)
        return state.scaling(observation)

    def _members(self, state: BootDQNState) -> WithPrior:
        return self._posterior(None).members(state.posterior)

    def _posterior(self, spaces: Spaces | None) -> RandomisedPrior:
        """The posterior over Bellman operators; only its start needs the spaces."""
        num_observed, num_actions = (0, 0) if spaces is None else discrete_sizes(spaces)
        network = partial(
            ActionValues.glorot,
            num_inputs=num_observed,
            num_actions=num_actions,
            hidden=self.hidden,
            activation=self.activation,
            one_hot=spaces is not None and spaces.observation.one_hot,
        )
        noisy = not (isinstance(self.target_noise, float) and self.target_noise == 0)
        member = MAPEstimate(
            network,
            ADAM,
            prior_weight=self.prior_weight,
            prior_share=self.bootstrap,
            step_size=self.learning_rate,
        )
        return RandomisedPrior(member, self.ensemble_size, self.prior, self.prior_scale, noisy, self.target_noise)
