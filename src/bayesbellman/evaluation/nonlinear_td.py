"""Temporal-difference learning with non-linear functions: TD(0), TDC, GTD2 (Maei et al. 2009).

With ``delta = r + gamma V(s') - V(s)``, ``d = grad V(s)^T zeta`` and ``h = (delta - d) Hessian(V(s)) zeta``:

    GTD2: omega += alpha w ((grad V(s) - gamma grad V(s')) d - h)
    TDC:  omega += alpha w (delta grad V(s) - gamma grad V(s') d - h)
    both: zeta  += beta  w (delta - d) grad V(s)

Directions are means over a batch. No Hessian is formed: its product with zeta is the gradient of a directional
derivative.
"""

from collections.abc import Callable
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Key, PyTree

from bayesbellman.core.trees import project_to_ball, squared_norm
from bayesbellman.core.types import AnyArray, Metrics, Transition
from bayesbellman.evaluation.base import AbstractEstimator
from bayesbellman.posterior.map_estimate import Network


class NonlinearTDState(eqx.Module):
    """omega, the auxiliary weights zeta (unused by TD(0)), and the memories of their optimisers."""

    omega: Network
    zeta: Network
    slow: PyTree
    fast: PyTree


class NonlinearTD(AbstractEstimator[NonlinearTDState]):
    """TD(0), TDC or GTD2 for any network and any optimisers; a batch of transitions an update."""

    network: Callable[[Key[Array, ""]], Network] = eqx.field(static=True)
    correction: Literal["none", "tdc", "gtd2"] = eqx.field(static=True)
    """``"none"`` is TD(0)."""
    slow: optax.GradientTransformation = eqx.field(static=True)
    """Moves omega."""
    fast: optax.GradientTransformation = eqx.field(static=True, default=optax.sgd(1.0))
    """Moves zeta."""
    slow_size: float | Float[Array, ""] = 1.0
    fast_size: float | Float[Array, ""] = 1.0
    """These multiply the optimisers' steps; they can be swept with `vmap`."""
    radius: float | Float[Array, ""] = float("inf")
    scaled_zeta: bool = eqx.field(static=True, default=False)
    """Divides zeta's direction by the mean of ``|grad V|^2``, for functions whose gradients are far from size 1."""

    def __check_init__(self) -> None:
        if self.correction not in ("none", "tdc", "gtd2"):
            raise ValueError(f"correction is {self.correction!r}; accepted are 'none' (TD(0)), 'tdc' and 'gtd2'")

    def init(self, key: Key[Array, ""]) -> NonlinearTDState:
        return self.start(self.network(key))

    def start(self, omega: Network) -> NonlinearTDState:
        """From given parameters."""
        zeta = jax.tree.map(jnp.zeros_like, omega)
        return NonlinearTDState(omega, zeta, self.slow.init(omega), self.fast.init(zeta))

    def begin_episode(self, state: NonlinearTDState) -> NonlinearTDState:
        return state

    def absorb(
        self, key: Key[Array, ""], state: NonlinearTDState, transitions: Transition, restarts: Bool[Array, " N"]
    ) -> NonlinearTDState:
        return self.update(key, state, transitions)[0]

    def update(
        self, key: Key[Array, ""], state: NonlinearTDState, transition: Transition
    ) -> tuple[NonlinearTDState, Metrics]:
        descent, ascent, delta = self.directions(state.omega, state.zeta, transition)
        steps, slow = self.slow.update(descent, state.slow, state.omega)
        omega = jax.tree.map(lambda o, s: o + jnp.asarray(self.slow_size, o.dtype) * s, state.omega, steps)
        zeta, fast = state.zeta, state.fast
        if self.correction != "none":
            steps, fast = self.fast.update(jax.tree.map(jnp.negative, ascent), state.fast, state.zeta)
            zeta = jax.tree.map(lambda z, s: z + jnp.asarray(self.fast_size, z.dtype) * s, state.zeta, steps)
        updated = NonlinearTDState(project_to_ball(omega, self.radius), zeta, slow, fast)
        return updated, {"td_error": jnp.sqrt(jnp.mean(delta**2))}

    def directions(
        self, omega: Network, zeta: Network, batch: Transition
    ) -> tuple[Network, Network, Float[Array, " batch"]]:
        """The direction that omega descends, the one that zeta ascends, and the TD errors."""

        def values_and_slopes(omega: Network, zeta: Network) -> tuple[Float[Array, " batch"], Float[Array, " batch"]]:
            """``V(s_i)``, and ``d_i = grad V(s_i)^T zeta``."""
            return jax.jvp(lambda network: network(batch.observation), (omega,), (zeta,))

        next_values, next_pull_back = jax.vjp(lambda network: network(batch.next_observation), omega)
        if self.correction == "none":
            values, pull_back = jax.vjp(lambda network: network(batch.observation), omega)
            delta = batch.reward + batch.discount * next_values - values
            share = batch.weight / delta.shape[0]  # of each in the batch's mean
            return pull_back(-share * delta)[0], zeta, delta
        (values, projected), pull_back = jax.vjp(values_and_slopes, omega, zeta)
        delta = batch.reward + batch.discount * next_values - values
        share = batch.weight / delta.shape[0]
        along = share * (projected if self.correction == "gtd2" else delta)
        # One pass backward gives h less grad V times `along` in omega and, as d is linear in zeta, zeta's direction.
        own, ascent = pull_back((-along, share * (delta - projected)))
        (onward,) = next_pull_back(share * batch.discount * projected)
        descent = jax.tree.map(lambda o, n: o + n, own, onward)
        if self.scaled_zeta:
            gradients = jax.jacrev(lambda network: network(batch.observation))(omega)
            size = squared_norm(gradients) / delta.shape[0]
            ascent = jax.tree.map(lambda a: a / size.astype(a.dtype), ascent)
        return descent, ascent, delta

    def value(self, state: NonlinearTDState, inputs: PyTree[AnyArray]) -> Float[AnyArray, "*batch"]:
        return state.omega(inputs)
