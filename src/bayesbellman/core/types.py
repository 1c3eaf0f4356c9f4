"""The central types: what an environment yields, what a posterior may see, what a posterior says.

A single item and a batch are the same type: a batch has the same leading axes (``*batch``) on every field.
Arrays are JAX's, or NumPy's where exact float64 linear algebra is done outside a compiled function.
"""

from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Bool, Float, Int, PyTree

if TYPE_CHECKING:
    # Functions on AnyArray answer in kind, NumPy for NumPy and JAX for JAX, which a static checker cannot follow.
    # At run time (in the tests) shapes and kinds are checked.
    AnyArray = Any
else:
    AnyArray = jax.Array | np.ndarray
Metrics = dict[str, jax.Array]
"""What is worth seeing of an update, by name; what must be carried is the state."""


class Transition(eqx.Module):
    """One step of experience ``(s, a, r, gamma, s', w)``.

    ``discount`` is ``gamma * (1 - terminated)`` (see `effective_discount`): a time limit leaves it at ``gamma``.
    ``next_observation`` is the true successor, never the first observation of the next episode.
    ``action`` is ``None`` where observations already describe state-action pairs (features of ``(s, a)``).
    ``weight`` is the importance weight ``pi(a|s) / pi_e(a|s)``, 1 on-policy.
    """

    observation: PyTree
    action: PyTree
    reward: Float[AnyArray, "*batch"]
    discount: Float[AnyArray, "*batch"]
    next_observation: PyTree
    weight: Float[AnyArray, "*batch"]


class BellmanSamples(eqx.Module):
    """``D_omega``: inputs, samples ``b_i`` of the Bellman operator applied to ``Q_omega`` there, and weights.

    The only thing a posterior may see. Only a push-forward, which needs omega, can make it
    (`bayesbellman.core.bellman.pushforward`): that the data depend on omega is the paper's central point.
    """

    inputs: PyTree
    targets: Float[AnyArray, "*batch"]
    weights: Float[AnyArray, "*batch"]
    index: Int[AnyArray, "*batch"] | None = None
    """Which datum of the data set each is, for posteriors that attach something to single data."""


class Predictive(eqx.Module):
    """Mean and variance of ``p(b | s, a, D_omega)``, the variance split by whether more data could remove it."""

    mean: Float[AnyArray, "*batch"]
    epistemic: Float[AnyArray, "*batch"]
    aleatoric: Float[AnyArray, "*batch"]

    @property
    def variance(self) -> Float[AnyArray, "*batch"]:
        """Variance of a new Bellman sample: epistemic plus aleatoric."""
        return self.epistemic + self.aleatoric


def effective_discount(
    gamma: float | Float[AnyArray, ""], terminated: Bool[AnyArray, "*batch"] | Int[AnyArray, "*batch"]
) -> Float[AnyArray, "*batch"]:
    """``gamma_i = gamma (1 - terminated_i)``; truncation by a time limit is not termination."""
    xp = terminated.__array_namespace__()
    return xp.where(terminated.astype(bool), 0.0 * xp.asarray(gamma), xp.asarray(gamma))
