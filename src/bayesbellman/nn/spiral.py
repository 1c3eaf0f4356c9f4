"""The value function on which TD diverges: a spiral of one parameter (Tsitsiklis and Van Roy 1997)."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

A = np.array([-14.9996, -35.0002, 50.0004])
B = np.array([-49.0753, 37.5278, 11.5469])
FREQUENCY, GROWTH = np.sqrt(3) / 2, 0.01


class Spiral(eqx.Module):
    """``V(omega) = exp(0.01 omega) (a cos(lambda omega) - b sin(lambda omega))``, lambda = sqrt(3)/2 (paper's vectors).

    It solves ``dV/domega = (Q + 0.01 I) V`` (paper, eq. `linear_system`). ``V -> 0``, the true value of the triangle,
    as ``omega -> -inf``.
    """

    omega: Float[Array, ""]

    def __call__(self, inputs: Int[Array, "*batch"]) -> Float[Array, "*batch"]:
        angle = FREQUENCY * self.omega
        a, b = jnp.asarray(A, self.omega.dtype), jnp.asarray(B, self.omega.dtype)
        return (jnp.exp(GROWTH * self.omega) * (a * jnp.cos(angle) - b * jnp.sin(angle)))[inputs]
