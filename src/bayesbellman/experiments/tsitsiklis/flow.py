"""Where omega goes in the limit of small steps: the flow that each method follows on the triangle.

The fast variable is at its equilibrium (phi at ``phi*(omega)``, zeta at its least-squares solution), and omega moves by
the method's direction. Sizes of directions grow with the values, so they are shown over their root mean square along
one turn.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from bayesbellman.evaluation.nonlinear_bbo import GradientFormBBO, bellman_samples
from bayesbellman.evaluation.nonlinear_td import NonlinearTD
from bayesbellman.experiments.tsitsiklis.sweep import METHODS, all_transitions
from bayesbellman.nn.spiral import FREQUENCY, Spiral
from bayesbellman.posterior.map_estimate import MAPState

TURN = 2 * np.pi / FREQUENCY
"""omega over which the spiral turns once."""


def lower_solution(omega: jax.Array) -> jax.Array:
    """``phi*(omega)`` without a prior: the nearest minimum, by Newton's method from the best point of a grid."""
    samples = bellman_samples(Spiral(omega), all_transitions())

    def loss(phi: jax.Array) -> jax.Array:
        return 0.5 * jnp.mean((samples.targets - Spiral(phi)(samples.inputs)) ** 2)

    grid = omega + jnp.linspace(-TURN / 2, TURN / 2, 721)
    phi = grid[jnp.argmin(jax.vmap(loss)(grid))]
    for _ in range(5):
        phi = phi - jax.grad(loss)(phi) / jax.grad(jax.grad(loss))(phi)
    return phi


def flow(method: str, omega: jax.Array) -> jax.Array:
    """``domega/dt``: the direction in which the method moves omega, up to a positive factor."""
    estimator, batch = METHODS[method](), all_transitions()
    if method == "BBO, two timescales":
        return lower_solution(omega) - omega
    if isinstance(estimator, GradientFormBBO):
        phi = Spiral(lower_solution(omega))
        state = MAPState(phi, phi, ())
        return -estimator.msbbe_gradient(Spiral(omega), state, batch).omega
    assert isinstance(estimator, NonlinearTD)
    slopes = jax.jacobian(lambda w: Spiral(w)(batch.observation))(omega)
    delta = batch.discount * Spiral(omega)(batch.next_observation) - Spiral(omega)(batch.observation)
    zeta = Spiral(jnp.sum(slopes * delta) / jnp.sum(slopes**2))
    return -estimator.directions(Spiral(omega), zeta, batch)[0].omega


SHOWN = ("BBO", "BBO, two timescales", "TD(0)", "TDC", "GTD2")
"""Methods without a prior: with one, the flow depends on where it is centred."""


def flows(points: int = 121) -> tuple[Float[np.ndarray, " points"], dict[str, Float[np.ndarray, " points"]]]:
    """omega along one turn, and each method's flow there over its root mean square."""
    with jax.enable_x64(True):
        omegas = np.linspace(0.0, TURN, points)
        found = {m: np.asarray(jax.jit(jax.vmap(lambda w, m=m: flow(m, w)))(jnp.asarray(omegas))) for m in SHOWN}
    return omegas, {method: values / np.sqrt(np.mean(values**2)) for method, values in found.items()}
