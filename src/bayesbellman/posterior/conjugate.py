"""The exact posterior of the linear Gaussian model (paper, appendix "Linear BBO").

``b = v^T phi + noise``, ``noise ~ N(0, sigma^2 / w)``, ``phi ~ N(phi_0, Sigma_0)``. The posterior is kept as
precision and information, in which data simply add up and the uninformative prior is the zero matrix:

    Sigma_N^-1           = Sigma_0^-1       + sum_i w_i v_i v_i^T / sigma^2   (paper, eq. `linear_covariance_matrix`)
    Sigma_N^-1 phi_omega = Sigma_0^-1 phi_0 + sum_i w_i v_i b_i   / sigma^2   (paper, eq. `linear_mean_vector`)
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from bayesbellman.core.limits import POSITIVE, SIZE, refuse_number
from bayesbellman.core.linalg import inverse_root
from bayesbellman.core.types import AnyArray, BellmanSamples, Metrics, Predictive
from bayesbellman.posterior.base import AbstractPosterior


class GaussianState(eqx.Module):
    """``N(phi_omega, Sigma_N)`` by its precision ``Sigma_N^-1`` and information ``Sigma_N^-1 phi_omega``."""

    precision: Float[AnyArray, "n n"]
    information: Float[AnyArray, " n"]

    @property
    def mean(self) -> Float[AnyArray, " n"]:
        """``phi_omega``."""
        return self.precision.__array_namespace__().linalg.solve(self.precision, self.information)

    @property
    def covariance(self) -> Float[AnyArray, "n n"]:
        """``Sigma_N``."""
        root = inverse_root(self.precision)
        return root @ root.T


class ConjugatePosterior(AbstractPosterior[GaussianState]):
    """Linear Gaussian posterior. Inputs are feature vectors, ``phi`` the coefficients of one operator ``v^T phi``.

    A weight ``w_i`` multiplies the log-likelihood of sample ``i``. A zero ``prior_precision`` is the uninformative
    prior: the posterior is then proper only once the features span the space.
    """

    prior_mean: Float[AnyArray, " n"]
    prior_precision: Float[AnyArray, "n n"]
    noise_variance: Float[AnyArray, ""]

    def __check_init__(self) -> None:
        refuse_number("noise_variance", self.noise_variance, POSITIVE)

    @classmethod
    def isotropic(
        cls,
        num_features: int,
        prior_variance: float | Float[Array, ""] = 10.0,
        noise_variance: float | Float[Array, ""] = 1.0,
    ) -> "ConjugatePosterior":
        """``phi ~ N(0, prior_variance I)``; 10 is the paper's value on most linear tasks. ``inf`` is uninformative."""
        refuse_number("prior_variance", prior_variance, SIZE)
        refuse_number("noise_variance", noise_variance, POSITIVE)
        precision = 1.0 / jnp.asarray(prior_variance, dtype=float)
        return cls(
            prior_mean=jnp.zeros(num_features),
            prior_precision=precision * jnp.eye(num_features),
            noise_variance=jnp.asarray(noise_variance, dtype=float),
        )

    @property
    def prior(self) -> GaussianState:
        """The prior, as a posterior without data."""
        return GaussianState(self.prior_precision, self.prior_precision @ self.prior_mean)

    def init(self, key: Key[Array, ""]) -> GaussianState:
        return self.prior

    def update(
        self, key: Key[Array, ""], state: GaussianState, samples: BellmanSamples
    ) -> tuple[GaussianState, Metrics]:
        weighted = samples.weights[:, None] * samples.inputs
        updated = self.condition(state, weighted.T @ samples.inputs, weighted.T @ samples.targets)
        return updated, {}

    def condition(
        self, state: GaussianState, gram: Float[AnyArray, "n n"], moment: Float[AnyArray, " n"]
    ) -> GaussianState:
        """Take in samples by their statistics: ``gram = sum w v v^T`` and ``moment = sum w v b``."""
        return GaussianState(
            precision=state.precision + gram / self.noise_variance,
            information=state.information + moment / self.noise_variance,
        )

    def sample(self, key: Key[Array, ""], state: GaussianState) -> Float[AnyArray, " n"]:
        """By JAX, in its precision, whatever the state's arrays are."""
        noise = jax.random.normal(key, state.information.shape, state.information.dtype)
        return state.mean + inverse_root(state.precision) @ noise

    def predict(self, state: GaussianState, inputs: Float[AnyArray, "*batch n"]) -> Predictive:
        mean = inputs @ state.mean
        spread = inputs @ inverse_root(state.precision)
        epistemic = (spread**2).sum(axis=-1)
        aleatoric = self.noise_variance + 0 * epistemic
        return Predictive(mean=mean, epistemic=epistemic, aleatoric=aleatoric)
