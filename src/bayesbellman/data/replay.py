"""Replay: the last transitions in a ring, as a pytree that a compiled scan can carry."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key

from bayesbellman.core.types import Transition


class Drawn(eqx.Module):
    """A batch, and which transition each is, counted from the first that was ever stored."""

    transitions: Transition
    index: Int[Array, " batch"]


class Replay(eqx.Module):
    """The last ``capacity`` transitions; ``stored`` counts all that ever came."""

    ring: Transition
    stored: Int[Array, ""]

    @classmethod
    def empty(cls, capacity: int, example: Transition) -> "Replay":
        """Room for ``capacity`` transitions like the example."""
        if capacity < 1:
            raise ValueError(f"capacity is {capacity}; accepted is a number >= 1")
        ring = jax.tree.map(lambda x: jnp.zeros((capacity, *x.shape), x.dtype), example)
        return cls(ring, jnp.zeros((), jnp.int32))

    @property
    def capacity(self) -> int:
        return self.ring.reward.shape[0]

    def add(self, transition: Transition, valid: bool | Bool[Array, ""] = True) -> "Replay":
        """With one more, if it is valid; the oldest gives way."""
        keep, beyond = jnp.asarray(valid), jnp.asarray(self.capacity)  # where nothing is written
        # With a second place XLA scatters. A single row it would write within the fusions that read from the ring, and
        # these then need a copy of all of it at every step.
        at = jnp.stack([jnp.where(keep, self.stored % beyond, beyond), beyond + 1])
        ring = jax.tree.map(lambda ring, x: ring.at[at].set(x, mode="drop", unique_indices=True), self.ring, transition)
        return Replay(ring, self.stored + keep.astype(jnp.int32))

    def sample(self, key: Key[Array, ""], batch_size: int) -> Drawn:
        """Uniformly, with replacement. There must be one at least."""
        held = jnp.minimum(self.stored, self.capacity)
        place = jax.random.randint(key, (batch_size,), 0, held)
        index = self.stored - 1 - (self.stored - 1 - place) % self.capacity
        return Drawn(jax.tree.map(lambda ring: ring[place], self.ring), index)
