"""Runs side by side, put down in a folder and taken up again: states with their replays, and what was recorded."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from bayesbellman.control.train import TrainState
from bayesbellman.core.errors import warn
from bayesbellman.data.replay import Replay
from bayesbellman.runs.bundle import Corrupt
from bayesbellman.runs.checkpoint import CheckpointFolder, Snapshot, ring_of
from bayesbellman.runs.trees import Mismatch, named_arrays, tree_like

EVERY_SECONDS = 120.0
SHARE = 0.05
"""Of the time, at most, that putting down may take"""
BYTES_A_SECOND = 1e8
"""By which the first time is reckoned; a slow disk's"""
STATE, RECORD = "state:", "record:"
"""Before the names of arrays"""

Records = dict[str, list[np.ndarray]]
"""By name, an array for each time that something was recorded"""


class TakenUp(NamedTuple):
    """What was put down."""

    state: TrainState
    records: Records
    steps: int
    seconds: float
    """That the runs have taken so far"""


class PutDown:
    """Where runs are put down, and how long that takes. ``identity``: what must be the same when they are taken up."""

    def __init__(self, folder: Path, identity: Mapping[str, Any]) -> None:
        self.files, self.identity = CheckpointFolder(folder, keep=1), dict(identity)
        self._at, self.cost = time.monotonic(), 0.0
        """Seconds that it takes, by the last time"""

    def reckon(self, state: TrainState) -> None:
        """How long it would take, before it has been done."""
        size = sum(leaf.nbytes for leaf in jax.tree.leaves(state) if isinstance(leaf, np.ndarray | jax.Array))
        self.cost = self.cost or size / BYTES_A_SECOND

    @property
    def due(self) -> bool:
        return time.monotonic() - self._at >= max(EVERY_SECONDS, self.cost / SHARE)

    def write(self, state: TrainState, records: Records, steps: int, seconds: float) -> None:
        """Of the replays only what is new, and never what is empty. Rows are runs."""
        began = time.monotonic()
        arrays = {STATE + name: array for name, array in named_arrays(_without_replay(state)).items()}
        arrays |= {RECORD + name: np.stack(kept) for name, kept in records.items() if kept}
        facts = {"identity": self.identity, "steps": steps, "seconds": seconds, "device": device_kind()}
        stored = int(np.asarray(state.replay.stored)[0])  # all runs take their steps together
        self.files.write(steps, Snapshot(arrays, _by_transition(state.replay), stored, facts))
        self._at = time.monotonic()
        self.cost = self._at - began

    def take_up(self, fresh: TrainState) -> TakenUp | None:
        """The last that was put down, in place of runs that have just begun; None if nothing was."""
        self.files.drop_scratch()
        try:
            found = self.files.latest(ring_of(_by_transition(fresh.replay)))
        except Corrupt as error:
            raise Corrupt(f"{error}; remove {self.files.folder} to begin these runs anew") from error
        if found is None:
            return None
        begun = dict(found.facts["identity"])
        if changed := [name for name in {**begun, **self.identity} if begun.get(name) != self.identity.get(name)]:
            raise Mismatch(
                f"{self.files.folder} holds other runs; these differ: {', '.join(sorted(changed))};"
                " remove it to begin these anew"
            )
        if (there := found.facts["device"]) != (here := device_kind()):
            warn(f"{self.files.folder} was written on {there}, this is {here}: bits will differ", UserWarning)
        kept = {name[len(STATE) :]: array for name, array in found.arrays.items() if name.startswith(STATE)}
        ring = tree_like(fresh.replay.ring, {name: np.swapaxes(array, 0, 1) for name, array in found.ring.items()})
        stored = jnp.full_like(fresh.replay.stored, found.stored)
        replay = eqx.tree_at(lambda replay: (replay.ring, replay.stored), fresh.replay, (ring, stored))
        without = tree_like(_without_replay(fresh), kept)
        state = eqx.tree_at(lambda s: s.replay, without, replay, is_leaf=lambda x: x is None)
        records = {name[len(RECORD) :]: [*rows] for name, rows in found.arrays.items() if name.startswith(RECORD)}
        return TakenUp(state, records, int(found.facts["steps"]), float(found.facts["seconds"]))


def device_kind() -> str:
    return jax.devices()[0].device_kind


def _without_replay(state: TrainState) -> TrainState:
    return eqx.tree_at(lambda s: s.replay, state, None)


def _by_transition(replay: Replay) -> dict[str, np.ndarray]:
    """With transitions along the first axis, as `CheckpointFolder` wants them."""
    return {name: np.swapaxes(array, 0, 1) for name, array in named_arrays(replay.ring).items()}
