"""One step of the classic Runge-Kutta method (RK4), by which the acrobot and MuJoCo's cart-pole move."""

from collections.abc import Callable

from jaxtyping import Array, Float

Rate = Callable[[Float[Array, " n"], Float[Array, ""]], Float[Array, " n"]]
"""Time derivative of a motion under a force (or a torque)"""


def runge_kutta(rate: Rate, motion: Float[Array, " n"], force: Float[Array, ""], seconds: float) -> Float[Array, " n"]:
    """The motion so many seconds later, the force being the same all the while; the error of a step is of order 5."""
    first = rate(motion, force)
    second = rate(motion + seconds / 2 * first, force)
    third = rate(motion + seconds / 2 * second, force)
    fourth = rate(motion + seconds * third, force)
    return motion + seconds / 6 * (first + 2 * second + 2 * third + fourth)
