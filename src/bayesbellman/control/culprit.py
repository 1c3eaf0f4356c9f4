"""Which update broke an agent: found by doing the updates of a piece again, from the agent as it was before them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Key, PyTree

from bayesbellman.control.base import AbstractAgent
from bayesbellman.core.trees import no_nan
from bayesbellman.core.types import Transition
from bayesbellman.data.replay import Drawn, Replay


class Update(NamedTuple):
    """What was done at a step: a batch drawn from all that was stored by then, and an update from it."""

    step: int
    stored: int
    draw_key: Key[Array, ""]
    update_key: Key[Array, ""]


@dataclass(frozen=True)
class Culprit:
    """The first update after which a number was not finite, and its batch, as NumPy's arrays.

    A transition that has been overwritten in replay since is there as the one that took its place.
    """

    step: int
    batch: Transition
    index: Int[np.ndarray, " batch"]

    def arrays(self) -> dict[str, np.ndarray]:
        """By name, to be stored."""
        return {"step": np.asarray(self.step), "index": self.index, **vars(self.batch)}


def find_culprit(
    agent: AbstractAgent, state: PyTree, replay: Replay, updates: Iterable[Update], batch_size: int
) -> Culprit | None:
    """None if all of them are sound, to this program's rounding."""

    @jax.jit
    def one(
        state: PyTree, ring: Transition, stored: Int[Array, ""], draw_key: Key[Array, ""], update_key: Key[Array, ""]
    ) -> tuple[PyTree, Bool[Array, ""], Drawn]:
        drawn = Replay(ring, stored).sample(draw_key, batch_size)
        state, metrics = agent.update(update_key, state, drawn.transitions, drawn.index)
        finite = [jnp.all(jnp.isfinite(value)) for value in metrics.values()]
        return state, jnp.all(jnp.stack([*finite, no_nan(state)])), drawn

    for update in updates:
        stored = jnp.asarray(update.stored, replay.stored.dtype)
        state, sound, drawn = one(state, replay.ring, stored, update.draw_key, update.update_key)
        if not sound:
            found: Any = jax.tree.map(np.asarray, drawn)
            return Culprit(update.step, found.transitions, found.index)
    return None
