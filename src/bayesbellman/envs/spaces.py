"""What an agent must know of an environment before it acts: what it will see, and what it may do."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float


class Box(eqx.Module):
    """Vectors between two bounds, each inclusive. A bound of an observation may be infinite."""

    low: Float[Array, " d"]
    high: Float[Array, " d"]
    one_hot: bool = eqx.field(static=True, default=False)
    """Whether one entry at most is 1 and the others 0: a network need not multiply, it can look up."""

    def __check_init__(self) -> None:
        if self.low.shape != self.high.shape or self.low.ndim != 1:
            raise ValueError(f"low and high must be vectors of one size, got {self.low.shape} and {self.high.shape}")

    @property
    def size(self) -> int:
        return self.low.size


class Discrete(eqx.Module):
    """The actions ``0..number-1``."""

    number: int = eqx.field(static=True)

    def __check_init__(self) -> None:
        if self.number < 1:
            raise ValueError(f"number must be at least 1, got {self.number}")


class Spaces(eqx.Module):
    """The observations of an environment and its actions."""

    observation: Box
    action: Box | Discrete


def box(low: list[float], high: list[float]) -> Box:
    """A box with float32 bounds, whatever JAX's precision: bounds are compared, not computed with."""
    if not all(a <= b for a, b in zip(low, high, strict=True)):  # so written, NaN fails too
        raise ValueError(f"low must be at most high and neither NaN, got {low} and {high}")
    return Box(jnp.asarray(low, jnp.float32), jnp.asarray(high, jnp.float32))


def one_hot(number: int) -> Box:
    """Which of so many cells one is in, as a vector; all zeros: in none."""
    return Box(jnp.zeros(number, jnp.float32), jnp.ones(number, jnp.float32), one_hot=True)
