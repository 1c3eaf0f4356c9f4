"""The maximum a posteriori estimate: a posterior that is one point (paper, "Neural Network Function Approximators")."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Key, PyTree

from bayesbellman.core.limits import NOT_NEGATIVE, POSITIVE, SIZE, refuse_beyond
from bayesbellman.core.trees import project_to_ball, squared_norm
from bayesbellman.core.types import AnyArray, BellmanSamples, Metrics, Predictive
from bayesbellman.posterior.base import AbstractPosterior

LIMITS = {
    "prior_weight": NOT_NEGATIVE,
    "prior_share": NOT_NEGATIVE,
    "noise_variance": POSITIVE,
    "step_size": NOT_NEGATIVE,
    "radius": SIZE,
}
"""Of the numbers that it has"""
Network = PyTree
"""A pytree of parameters that can be called with a batch of inputs and gives a value for each."""


class MAPState(eqx.Module):
    """The current estimate, what the prior is centred on, and the optimiser's memory."""

    phi: Network
    anchor: Network | None
    """phi_0: the initial parameters, unless something else was put here; None: 0"""
    optimiser: PyTree


class MAPEstimate(AbstractPosterior[MAPState]):
    """``argmin_phi sum_i w_i (b_i - B_phi(x_i))^2 / (2 sigma^2) + prior_weight ||phi - phi_0||^2``.

    An update is one optimiser step on the mean over a batch; its metrics are that ``loss``, and the ``fit`` alone. The
    paper lets each such step carry the whole prior, which weighs it N times; ``prior_share = 1/N`` weighs it as the
    objective above does. A Gaussian prior ``N(phi_0, s I)`` is ``prior_weight = 1 / (2 s)``; the paper's
    ``1/sigma_0^2`` has no 1/2, and stands for the number itself.
    """

    network: Callable[[Key[Array, ""]], Network] = eqx.field(static=True)
    """Makes initial parameters from a key."""
    optimiser: optax.GradientTransformation = eqx.field(static=True)
    prior_weight: float | Float[Array, ""] = 0.0
    prior_share: float | Float[Array, ""] = 1.0
    noise_variance: float | Float[Array, ""] = 1.0
    """sigma^2"""
    step_size: float | Float[Array, ""] = 1.0
    """Multiplies the optimiser's steps; can be swept with `vmap`."""
    radius: float | Float[Array, ""] = float("inf")
    """Of the ball that phi stays in."""

    def __check_init__(self) -> None:
        refuse_beyond(LIMITS, self)

    def init(self, key: Key[Array, ""]) -> MAPState:
        return self.start(self.network(key))

    def start(self, phi: Network) -> MAPState:
        """From given parameters, with the prior centred on them."""
        return MAPState(phi, phi, self.optimiser.init(phi))

    def loss(self, phi: Network, anchor: Network | None, samples: BellmanSamples) -> Float[Array, ""]:
        """The objective's mean over a batch (paper, eq. of the MAP estimate)."""
        return self._loss_and_fit(phi, anchor, samples)[0]

    def _loss_and_fit(
        self, phi: Network, anchor: Network | None, samples: BellmanSamples
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        errors = samples.targets - phi(samples.inputs)
        fit = jnp.mean(samples.weights * errors**2) / (2 * jnp.asarray(self.noise_variance, errors.dtype))
        if isinstance(self.prior_weight, float) and self.prior_weight == 0:
            return fit, fit  # 0 times a norm is not nothing to a compiler: its gradient would be a pass over phi
        apart = phi if anchor is None else jax.tree.map(lambda a, b: a - b, phi, anchor)
        distance = squared_norm(apart).astype(errors.dtype)
        weight = jnp.asarray(self.prior_weight, errors.dtype) * jnp.asarray(self.prior_share, errors.dtype)
        return fit + weight * distance, fit

    def update(self, key: Key[Array, ""], state: MAPState, samples: BellmanSamples) -> tuple[MAPState, Metrics]:
        with_gradient = jax.value_and_grad(self._loss_and_fit, has_aux=True)
        (loss, fit), gradient = with_gradient(state.phi, state.anchor, samples)
        steps, optimiser = self.optimiser.update(gradient, state.optimiser, state.phi)
        moved = jax.tree.map(lambda p, s: p + jnp.asarray(self.step_size, p.dtype) * s, state.phi, steps)
        return MAPState(project_to_ball(moved, self.radius), state.anchor, optimiser), {"loss": loss, "fit": fit}

    def sample(self, key: Key[Array, ""], state: MAPState) -> Network:
        return state.phi

    def predict(self, state: MAPState, inputs: PyTree[AnyArray]) -> Predictive:
        mean = state.phi(inputs)
        return Predictive(mean, jnp.zeros_like(mean), jnp.full_like(mean, self.noise_variance))
