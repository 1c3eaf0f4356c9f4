"""The MSBBE of linear BBO and its gradient, in closed form and from posterior samples; and the MSPBE, its limit.

Its gradient from samples of any posterior, linear or not: `sampled_msbbe_gradient`.

``MSBBE_N(omega) = 1/2 E_rho,pi[(Q_omega - B*_omega,N)^2]`` (paper, eq. `linear_msbbe`, with its 1/2).
``second_moment`` is ``E_rho,pi[v v^T]``.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, PyTree

from bayesbellman.core.types import AnyArray, Transition
from bayesbellman.evaluation.linear_system import LinearStatistics, operator_jacobian, posterior_given_omega
from bayesbellman.posterior.conjugate import ConjugatePosterior
from bayesbellman.posterior.map_estimate import Network


def linear_msbbe(
    model: ConjugatePosterior,
    statistics: LinearStatistics,
    omega: Float[AnyArray, " n"],
    second_moment: Float[AnyArray, "n n"],
) -> Float[AnyArray, ""]:
    """``1/2 (omega - phi_omega)^T E[v v^T] (omega - phi_omega)`` (paper, eq. `linear_msbbe`)."""
    gap = omega - posterior_given_omega(model, statistics, omega).mean
    return second_moment.__array_namespace__().asarray(0.5 * (gap @ second_moment @ gap))


def linear_msbbe_gradient(
    model: ConjugatePosterior,
    statistics: LinearStatistics,
    omega: Float[AnyArray, " n"],
    second_moment: Float[AnyArray, "n n"],
) -> Float[AnyArray, " n"]:
    """``(I - (gamma/sigma^2) sum_i w_i v'_i v_i^T Sigma_N) E[v v^T] (omega - phi_omega)``.

    The paper's eq. `msbbe_grad_linear_exact` with ``Sigma_N`` moved inside the bracket, where its derivation has it.
    """
    posterior = posterior_given_omega(model, statistics, omega)
    pulled = second_moment @ (omega - posterior.mean)
    return pulled - operator_jacobian(model, statistics, posterior.covariance).T @ pulled


def linear_mspbe(statistics: LinearStatistics, omega: Float[AnyArray, " n"]) -> Float[AnyArray, ""]:
    """``1/2 ||Q_omega - P B[Q_omega]||^2``, the mean squared projected Bellman error (paper, eq. `mspbe`).

    ``1/2 E[v delta]^T E[v v^T]^-1 E[v delta]``, expectations being weighted means over the data; the 1/2 is the
    MSBBE's, whose limit for many data it is.
    """
    xp = statistics.gram.__array_namespace__()
    error = (statistics.moment - (statistics.gram - statistics.cross) @ omega) / statistics.weight_sum
    return xp.asarray(0.5 * (error @ xp.linalg.solve(statistics.gram / statistics.weight_sum, error)))


def two_sample_gradient(
    value: Float[Array, ""],
    value_gradient: Float[Array, " p"],
    operator_1: Float[Array, ""],
    operator_2: Float[Array, ""],
    score_2: Float[Array, " p"],
    baseline: Float[Array, ""],
) -> Float[Array, " p"]:
    """``(Q_omega - B_phi1) (grad Q_omega - (B_phi2 - baseline) grad_omega log p(phi2 | D_omega))`` at one input.

    Unbiased for the MSBBE's gradient (paper, eq. `msbbe_grad`) when phi1 and phi2 are drawn independently from the
    posterior: two samples of the operator, where the Bellman error would need two samples of the environment.
    The score has mean zero, so any baseline that does not depend on phi2 leaves the expectation as it is. The paper
    has none; without one the variance grows with N, because the score does while ``B_phi2`` does not shrink.
    """
    return (value - operator_1) * (value_gradient - (operator_2 - baseline) * score_2)


def sampled_linear_msbbe_gradient(
    key: Key[Array, ""],
    model: ConjugatePosterior,
    statistics: LinearStatistics,
    omega: Float[Array, " n"],
    inputs: Float[Array, "batch n"],
    use_baseline: bool = True,
    weights: Float[Array, " batch"] | None = None,
) -> Float[Array, " n"]:
    """Stochastic gradient of the MSBBE from two posterior samples, averaged over inputs drawn from ``rho, pi``; with
    importance weights, from ``rho, pi_e``.

    The score is ``g(phi) - E[g]`` with ``g(phi) = -(1/sigma^2) sum_i w_i (b_i - v_i^T phi) gamma_i v'_i``, which is
    affine in phi: ``(1/sigma^2) (sum_i w_i gamma_i v'_i v_i^T) (phi - phi_omega)``. The baseline is ``B*``, or 0 as
    in the paper.
    """
    posterior = posterior_given_omega(model, statistics, omega)
    key_1, key_2 = jax.random.split(key)
    phi_1, phi_2 = model.sample(key_1, posterior), model.sample(key_2, posterior)
    score_2 = statistics.cross.T @ (phi_2 - posterior.mean) / model.noise_variance
    centre = posterior.mean if use_baseline else jnp.zeros_like(posterior.mean)

    def at_one_input(v: Float[Array, " n"]) -> Float[Array, " n"]:
        return two_sample_gradient(v @ omega, v, v @ phi_1, v @ phi_2, score_2, baseline=v @ centre)

    each = jax.vmap(at_one_input)(inputs)
    return jnp.mean(each if weights is None else weights[:, None] * each, axis=0)


def sampled_msbbe_gradient(
    omega: Network,
    first: Network,
    second: Network,
    transitions: Transition,
    inputs: PyTree[Array],
    noise_variance: float | Float[Array, ""] = 1.0,
) -> Network:
    """Stochastic gradient of the MSBBE for any posterior that can be sampled (paper, eq. `msbbe_grad`).

    ``first`` and ``second`` are two independent sets of samples of ``p(phi | D_omega)``, stacked along a leading axis,
    of one or more and of two or more; ``transitions`` are the data that the posterior was inferred from, with Gaussian
    noise; ``inputs`` are drawn from ``rho, pi``. Unbiased: the first set stands for ``E[B_phi]``, and
    ``E[B_phi grad_omega log p(phi | D_omega)]`` is the covariance of ``B_phi`` and
    ``g(phi) = -(1/sigma^2) sum_i w_i (b_i - B_phi(x_i)) gamma_i grad Q_omega(x'_i)``, which the second set estimates.
    """

    def operators(samples: Network, at: PyTree[Array]) -> Float[Array, "samples N"]:
        return jax.vmap(lambda phi: phi(at))(samples)

    values, pull_back = jax.vjp(lambda omega: omega(inputs), omega)
    _, pull_back_next = jax.vjp(lambda omega: omega(transitions.next_observation), omega)
    gap = (values - jnp.mean(operators(first, inputs), axis=0)) / values.shape[0]
    drawn = operators(second, inputs)
    shares = (drawn - jnp.mean(drawn, axis=0)) @ gap / (drawn.shape[0] - 1)
    # g is linear in its residuals and the shares sum to zero, so the targets, common to all samples, drop out
    residuals = -shares @ operators(second, transitions.observation)
    scale = transitions.weight * transitions.discount / jnp.asarray(noise_variance, gap.dtype)
    (own,), (through_data,) = pull_back(gap), pull_back_next(-scale * residuals)
    return jax.tree.map(lambda a, b: a - b, own, through_data)
