"""BBO with functions that are not linear in their parameters (paper, "Approximate BBO" and its appendix on networks).

Three ways to move omega, with the same fixed points and not the same stability:

- the two-timescale rule ``omega -= beta (omega - phi)``, which the paper calls *gradient* BBO (`TwoTimescaleBBO`);
- *direct* BBO, ``omega := phi``, which ignores that the data depend on omega (`TwoTimescaleBBO` with ``slow=None``);
- the *gradient form*, which descends the MSBBE itself, through ``dphi*/domega`` (`GradientFormBBO`).
"""

import abc
from collections.abc import Callable
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Key, PyTree

from bayesbellman.core.bellman import ExpectedBellman, pushforward
from bayesbellman.core.timescales import TwoTimescales
from bayesbellman.core.trees import project_to_ball, squared_norm
from bayesbellman.core.types import AnyArray, BellmanSamples, Metrics, Transition
from bayesbellman.evaluation.base import AbstractEstimator
from bayesbellman.posterior.map_estimate import MAPEstimate, MAPState, Network


def bellman_samples(omega: Network, transitions: Transition) -> BellmanSamples:
    """``D_omega``: targets ``r + gamma V_omega(s')`` for values of states, or of the features that observations are."""
    return pushforward(ExpectedBellman(lambda network, observation, _: network(observation)), omega, transitions)


class NonlinearState(eqx.Module):
    """The posterior given the data that omega makes, omega, and the memory of omega's optimiser."""

    posterior: MAPState
    omega: Network
    slow: PyTree


class AbstractNonlinearBBO(AbstractEstimator[NonlinearState]):
    """What the ways to move omega share: fast steps of the posterior on data made by omega, then a slow one of omega.

    An update takes a batch of transitions, and takes ``lower_steps`` steps on it.
    """

    posterior: eqx.AbstractVar[MAPEstimate]
    lower_steps: eqx.AbstractVar[int]
    radius: eqx.AbstractVar[float | Float[Array, ""]]
    moving_anchor: eqx.AbstractVar[bool]

    def init(self, key: Key[Array, ""]) -> NonlinearState:
        return self.start(self.posterior.init(key).phi)

    def start(self, omega: Network) -> NonlinearState:
        """From given parameters: ``phi = phi_0 = omega``."""
        return NonlinearState(self.posterior.start(omega), omega, self._slow_init(omega))

    def begin_episode(self, state: NonlinearState) -> NonlinearState:
        return state

    def absorb(
        self, key: Key[Array, ""], state: NonlinearState, transitions: Transition, restarts: Bool[Array, " N"]
    ) -> NonlinearState:
        return self.update(key, state, transitions)[0]

    def update(
        self, key: Key[Array, ""], state: NonlinearState, transition: Transition
    ) -> tuple[NonlinearState, Metrics]:
        samples = bellman_samples(state.omega, transition)

        def one(posterior: MAPState, step_key: Key[Array, ""]) -> tuple[MAPState, None]:
            return self.posterior.update(step_key, posterior, samples)[0], None

        before = state.posterior
        if self.moving_anchor:
            before = MAPState(before.phi, state.omega, before.optimiser)
        posterior, _ = jax.lax.scan(one, before, jax.random.split(key, self.lower_steps))
        omega, slow, metrics = self._move(state, posterior, transition)
        loss = self.posterior.loss(posterior.phi, posterior.anchor, samples)  # what the fast steps have reached
        return NonlinearState(posterior, project_to_ball(omega, self.radius), slow), {"loss": loss, **metrics}

    @abc.abstractmethod
    def _slow_init(self, omega: Network) -> PyTree:
        """The memory of omega's optimiser before its first step."""

    @abc.abstractmethod
    def _move(
        self, state: NonlinearState, posterior: MAPState, transition: Transition
    ) -> tuple[Network, PyTree, Metrics]:
        """omega and its optimiser's memory after the slow step."""

    def value(self, state: NonlinearState, inputs: PyTree[AnyArray]) -> Float[AnyArray, "*batch"]:
        return state.omega(inputs)


class TwoTimescaleBBO(AbstractNonlinearBBO):
    """``omega -= beta (omega - phi)`` (paper, eq. `rp_updates_slow`), by any optimiser on ``omega - phi``.

    Plain ``optax.sgd(beta)`` is the paper's formula; its networks use Adam with an "upper-level learning rate". With
    ``slow=None`` omega is set to phi: *direct* BBO.
    """

    posterior: MAPEstimate
    slow: optax.GradientTransformation | None = eqx.field(static=True)
    lower_steps: int = eqx.field(static=True, default=1)
    slow_size: float | Float[Array, ""] = 1.0
    """Multiplies the slow optimiser's steps; can be swept with `vmap`."""
    radius: float | Float[Array, ""] = float("inf")
    moving_anchor: bool = eqx.field(static=True, default=False)
    """The prior is centred on the current omega, not on where it started."""

    def _slow_init(self, omega: Network) -> PyTree:
        return () if self.slow is None else self.slow.init(omega)

    def _move(
        self, state: NonlinearState, posterior: MAPState, transition: Transition
    ) -> tuple[Network, PyTree, Metrics]:
        gap = jax.tree.map(lambda o, p: o - p, state.omega, posterior.phi)
        metrics = {"gap": jnp.sqrt(squared_norm(gap))}
        if self.slow is None:
            return posterior.phi, (), metrics
        steps, slow = self.slow.update(gap, state.slow, state.omega)
        moved = jax.tree.map(lambda o, s: o + jnp.asarray(self.slow_size, o.dtype) * s, state.omega, steps)
        return moved, slow, metrics


def two_timescale_bbo(
    network: Callable[[Key[Array, ""]], Network],
    timescales: TwoTimescales,
    prior_weight: float | Float[Array, ""] = 0.0,
    prior_share: float | Float[Array, ""] = 1.0,
    radius: float | Float[Array, ""] = float("inf"),
) -> TwoTimescaleBBO:
    """The paper's rule with plain steps that satisfy the conditions of Theorem 2, which `TwoTimescales` checks."""
    fast, slow = (optax.sgd(lambda k, s=schedule: s(jnp.asarray(k))) for schedule in (timescales.fast, timescales.slow))
    posterior = MAPEstimate(network, fast, prior_weight, prior_share, radius=radius)
    return TwoTimescaleBBO(posterior=posterior, slow=slow, radius=radius)


class GradientFormBBO(AbstractNonlinearBBO):
    """Descends ``MSBBE = 1/2 E[w (Q_omega - B_phi*(omega))^2]`` with ``phi*`` a function of omega.

    Its gradient is ``E[w (Q - B) (grad Q - (dphi*/domega)^T grad B)]``. ``"implicit"``: from the optimality of phi,
    ``dphi*/domega = -(d2L/dphi2)^-1 d2L/dphi domega``, by Hessian-vector products and conjugate gradients, at the phi
    that the fast steps have reached. ``"unrolled"``: by differentiating through ``unrolled_steps`` plain gradient steps
    of size ``unrolled_size`` from there.
    """

    posterior: MAPEstimate
    slow: optax.GradientTransformation = eqx.field(static=True)
    lower_steps: int = eqx.field(static=True, default=1)
    slow_size: float | Float[Array, ""] = 1.0
    radius: float | Float[Array, ""] = float("inf")
    moving_anchor: bool = eqx.field(static=True, default=False)
    """The prior is centred on the current omega, not on where it started."""
    through: Literal["implicit", "unrolled"] = eqx.field(static=True, default="implicit")
    cg_steps: int = eqx.field(static=True, default=20)
    damping: float | Float[Array, ""] = 0.0
    """Added to the Hessian's diagonal, which must be positive for conjugate gradients."""
    unrolled_steps: int = eqx.field(static=True, default=10)
    unrolled_size: float | Float[Array, ""] = 0.1

    def __check_init__(self) -> None:
        if self.through not in ("implicit", "unrolled"):
            raise ValueError(f"through is {self.through!r}; accepted are 'implicit' and 'unrolled'")

    def _slow_init(self, omega: Network) -> PyTree:
        return self.slow.init(omega)

    def _move(
        self, state: NonlinearState, posterior: MAPState, transition: Transition
    ) -> tuple[Network, PyTree, Metrics]:
        gradient = self.msbbe_gradient(state.omega, posterior, transition)
        steps, slow = self.slow.update(gradient, state.slow, state.omega)
        moved = jax.tree.map(lambda o, s: o + jnp.asarray(self.slow_size, o.dtype) * s, state.omega, steps)
        return moved, slow, {"gradient_norm": jnp.sqrt(squared_norm(gradient))}

    def msbbe_gradient(self, omega: Network, posterior: MAPState, transitions: Transition) -> Network:
        """Of the MSBBE at omega, over the batch's inputs, for the phi that the posterior holds."""
        phi = posterior.phi

        def msbbe(omega: Network, phi: Network) -> Float[Array, ""]:
            gap = omega(transitions.observation) - phi(transitions.observation)
            return 0.5 * jnp.mean(transitions.weight * gap**2)

        def lower_gradient(omega: Network, phi: Network) -> Network:
            anchor = omega if self.moving_anchor else posterior.anchor
            return jax.grad(self.posterior.loss)(phi, anchor, bellman_samples(omega, transitions))

        if self.through == "unrolled":

            def reached(omega: Network) -> Network:
                def one(phi: Network, _: None) -> tuple[Network, None]:
                    slope = lower_gradient(omega, phi)
                    size = self.unrolled_size
                    return jax.tree.map(lambda p, g: p - jnp.asarray(size, p.dtype) * g, phi, slope), None

                return jax.lax.scan(one, phi, None, length=self.unrolled_steps)[0]

            return jax.grad(lambda omega: msbbe(omega, reached(omega)))(omega)

        direct, pull = jax.grad(msbbe, argnums=(0, 1))(omega, phi)

        def hessian(z: Network) -> Network:
            curved = jax.jvp(lambda phi: lower_gradient(omega, phi), (phi,), (z,))[1]
            return jax.tree.map(lambda c, x: c + jnp.asarray(self.damping, x.dtype) * x, curved, z)

        z, _ = jax.scipy.sparse.linalg.cg(hessian, pull, maxiter=self.cg_steps)
        _, mixed = jax.vjp(lambda omega: lower_gradient(omega, phi), omega)
        return jax.tree.map(lambda d, m: d - m, direct, mixed(z)[0])
