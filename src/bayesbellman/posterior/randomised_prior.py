"""Randomised priors: an ensemble of MAP estimates, each with a prior draw of its own (paper, "Approximate BBO")."""

from typing import Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, PyTree

from bayesbellman.core.limits import COUNT, FINITE, NOT_NEGATIVE, refuse_number
from bayesbellman.core.types import AnyArray, BellmanSamples, Metrics, Predictive
from bayesbellman.nn.priors import WithPrior
from bayesbellman.posterior.base import AbstractPosterior
from bayesbellman.posterior.map_estimate import MAPEstimate, MAPState, Network

PriorKind = Literal["anchored", "function", "none"]


class RandomisedPriorState(eqx.Module):
    """The members, stacked: their estimates, their prior functions if they have any, the keys of their target noise."""

    members: MAPState
    priors: Network | None
    noise_keys: Key[Array, " L"]


class RandomisedPrior(AbstractPosterior[RandomisedPriorState]):
    """L members; each minimises `MAPEstimate.loss` for its own draw of the prior.

    ``"anchored"``: the prior is centred on the member's own initial parameters ``epsilon_l``. ``"function"``: a fixed
    random network, times ``prior_scale``, is added to the member's, and the penalty pulls its parameters to 0.
    ``"none"``: nothing is added, and the penalty pulls to 0 likewise. With ``target_noise`` each member sees targets
    with its own fixed noise ``N(0, sigma^2 / w)`` for each datum, which `BellmanSamples.index` tells apart; only then
    is the ensemble exact for linear Gaussian models. Without it, it is too narrow (``Sigma_N Sigma_0^-1 Sigma_N`` for
    ``Sigma_N``).
    """

    member: MAPEstimate
    num_members: int = eqx.field(static=True)
    prior: PriorKind = eqx.field(static=True, default="function")
    prior_scale: float | Float[Array, ""] = 1.0
    target_noise: bool = eqx.field(static=True, default=False)
    noise_scale: float | Float[Array, ""] = 1.0
    """Of the targets' noise, in units of its deviation under the model, ``sigma / sqrt(w)``, at which it is exact"""

    def __check_init__(self) -> None:
        refuse_number("num_members", self.num_members, COUNT)
        refuse_number("prior_scale", self.prior_scale, FINITE)
        refuse_number("noise_scale", self.noise_scale, NOT_NEGATIVE)
        if self.prior not in get_args(PriorKind):
            raise ValueError(f"prior is {self.prior!r}; accepted are {', '.join(map(repr, get_args(PriorKind)))}")

    def init(self, key: Key[Array, ""]) -> RandomisedPriorState:
        member_key, prior_key, noise_key = jax.random.split(key, 3)
        members = jax.vmap(self.member.init)(jax.random.split(member_key, self.num_members))
        priors = None
        if self.prior == "function":
            priors = jax.vmap(self.member.network)(jax.random.split(prior_key, self.num_members))
        if self.prior != "anchored":
            members = MAPState(members.phi, None, members.optimiser)
        return RandomisedPriorState(members, priors, jax.random.split(noise_key, self.num_members))

    def update(
        self, key: Key[Array, ""], state: RandomisedPriorState, samples: BellmanSamples
    ) -> tuple[RandomisedPriorState, Metrics]:
        def for_each(x: Float[Array, " N"]) -> Float[Array, "L N"]:
            return jnp.broadcast_to(x, (self.num_members, *x.shape))

        targets, weights = for_each(samples.targets), for_each(samples.weights)
        return self.update_each(key, state, samples.inputs, targets, weights, samples.index)

    def update_each(
        self,
        key: Key[Array, ""],
        state: RandomisedPriorState,
        inputs: PyTree[Array],
        targets: Float[Array, "L N"],
        weights: Float[Array, "L N"],
        index: Int[Array, " N"] | None = None,
    ) -> tuple[RandomisedPriorState, Metrics]:
        """An update in which each member has targets of its own, made from its own omega, at the same inputs."""

        def one(
            member: MAPState,
            prior: Network | None,
            noise_key: Key[Array, ""],
            targets: Float[Array, " N"],
            weights: Float[Array, " N"],
        ) -> tuple[MAPState, Metrics]:
            samples = BellmanSamples(inputs, targets, weights, index)
            return self.member.update(key, member, self._seen_by(prior, noise_key, samples))

        members, metrics = jax.vmap(one)(state.members, state.priors, state.noise_keys, targets, weights)
        return RandomisedPriorState(members, state.priors, state.noise_keys), jax.tree.map(jnp.mean, metrics)

    def _seen_by(self, prior: Network | None, noise_key: Key[Array, ""], samples: BellmanSamples) -> BellmanSamples:
        """The samples with one member's noise added, and its prior function taken off the targets."""
        targets = samples.targets
        if self.target_noise:
            if samples.index is None:
                raise ValueError("target_noise needs BellmanSamples.index, which tells data apart; it is None")
            draw = jax.vmap(lambda i: jax.random.normal(jax.random.fold_in(noise_key, i), dtype=targets.dtype))
            counted = jnp.where(samples.weights > 0, samples.weights, 1.0)  # what weighs nothing has no noise to see
            variance = jnp.asarray(self.member.noise_variance, targets.dtype) / counted.astype(targets.dtype)
            scale = jnp.asarray(self.noise_scale, targets.dtype)
            targets = targets + scale * jnp.sqrt(variance) * draw(samples.index)
        if prior is not None:
            targets = targets - jnp.asarray(self.prior_scale, targets.dtype) * prior(samples.inputs)
        return BellmanSamples(samples.inputs, targets, samples.weights, samples.index)

    def members(self, state: RandomisedPriorState) -> WithPrior:
        """All of them, stacked."""
        return self.with_priors(state.members.phi, state)

    def with_priors(self, networks: Network, state: RandomisedPriorState) -> WithPrior:
        """Each with the member's prior function: what omega means, as `members` is what psi does."""
        return WithPrior(networks, state.priors, jnp.full(self.num_members, self.prior_scale, dtype=float))

    def sample(self, key: Key[Array, ""], state: RandomisedPriorState) -> WithPrior:
        chosen = jax.random.randint(key, (), 0, self.num_members)
        return jax.tree.map(lambda x: x[chosen], self.members(state))

    def predict(self, state: RandomisedPriorState, inputs: PyTree[AnyArray]) -> Predictive:
        values = jax.vmap(lambda member: member(inputs))(self.members(state))
        mean = jnp.mean(values, axis=0)
        return Predictive(mean, jnp.var(values, axis=0), jnp.full_like(mean, self.member.noise_variance))
