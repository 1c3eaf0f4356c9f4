"""Checkpoints of an agent at work: everything that going on bit by bit needs, in a folder."""

import time
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from bayesbellman._version import __version__
from bayesbellman.core.errors import warn
from bayesbellman.data.replay import Replay
from bayesbellman.doors.callbacks import Callback, Progress
from bayesbellman.doors.checks import whole_number
from bayesbellman.doors.players import AbstractPlayer, Carried
from bayesbellman.runs.checkpoint import CheckpointFolder, Snapshot, ring_of
from bayesbellman.runs.trees import Mismatch, named_arrays, tree_like

if TYPE_CHECKING:
    from bayesbellman.doors.agent import Agent

FORMAT = 1
FREE = "free:"
"""Before the names of arrays that may have any shape"""
SHARE = 0.02
"""Of the time, at most, that checkpoints may take where no number of steps is given"""
MOST_FAILURES = 3
"""So many checkpoints in a row may find no room before learning stops"""

MAY_CHANGE = ("device", "bad_values", "on_env_error", "env_restarts", "env_timeout")
"""Settings that a run may go on without: where it computes, and what becomes of an environment's faults. Who learns of
these faults on the way, and is told which setting passes over them, need not begin again."""


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written, or going on from it is not exact."""


class Checkpoints(Callback):
    """Saves an agent while it learns, and brings it back.

        checkpoints = bb.Checkpoints("car")
        agent = bb.BBAC("MountainCarContinuous-v0", seed=0)
        checkpoints.restore(agent)                        # None: there is nothing yet
        agent.learn(100_000 - agent.num_timesteps, callback=checkpoints)

    ``every``: steps from one to the next; left out, it is a minute, or longer where one takes more than ``share`` of
    the time. ``keep``: how many stay. In our environments a run that was brought back goes on bit by bit as it would
    have; in Gymnasium's too, if the same seed and actions lead them to the same place, and otherwise with a new
    episode, of which there is a warning. Nothing in the files is executed.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        every: int | None = None,
        keep: int = 2,
        seconds: float = 60.0,
        share: float = SHARE,
    ) -> None:
        if every is not None and (every := whole_number("every", every)) < 1:
            raise ValueError(f"every is {every}; it must be >= 1, or None for a time")
        if not seconds >= 0:
            raise ValueError(f"seconds is {seconds}; it must be >= 0")
        self.files = CheckpointFolder(Path(folder), whole_number("keep", keep))
        if not share > 0:
            raise ValueError(f"share is {share}; it must be > 0")
        self.every, self.seconds, self.share = every, seconds, share
        self.just_written: Path | None = None
        self._saved_steps, self._saved_at, self._cost = 0, time.monotonic(), 0.0
        self._failures = 0
        """In a row"""
        self._player: weakref.ref[AbstractPlayer] | None = None
        """Whose replay the last one has"""

    def due(self, agent: "Agent") -> bool:
        if self.every is not None:
            return agent.num_timesteps // self.every > self._saved_steps // self.every
        return time.monotonic() - self._saved_at >= max(self.seconds, self._cost / self.share)

    def on_chunk(self, agent: "Agent", progress: Progress) -> None:
        """A disk that is full for a while costs a warning; the last checkpoint stays."""
        self.just_written = None
        if not self.due(agent):
            return
        try:
            self.just_written, self._failures = self.save(agent), 0
        except (FileExistsError, NotADirectoryError):  # for good
            raise
        except OSError as error:
            self._failures += 1
            self._saved_steps, self._saved_at = agent.num_timesteps, time.monotonic()  # the next try is when one is due
            if self._failures > MOST_FAILURES:
                raise
            left = MOST_FAILURES - self._failures
            words = f"no checkpoint could be written at step {agent.num_timesteps:,} ({error}); training goes on"
            warn(f"{words}, {left} more such in a row and it stops", CheckpointWarning)

    def save(self, agent: "Agent", facts: Mapping[str, Any] | None = None) -> Path:
        """A checkpoint now, whether one is due or not. ``facts``: more to keep with it, as JSON can hold it."""
        began = time.monotonic()
        player = agent.player
        if self._player is not None and self._player() is not player:
            self.files.begin_anew()  # after an error or Ctrl-C an agent goes on with an empty replay
        self._player = weakref.ref(player)
        carried = player.carried()
        free = {FREE + name: np.asarray(array) for name, array in carried.free.items()}
        about = {"identity": identity(agent), "steps": player.steps, "before": agent.num_timesteps - player.steps}
        snapshot = Snapshot(
            arrays={**named_arrays(carried.tree), **free},
            ring=named_arrays(player.replay.ring),
            stored=int(player.replay.stored),
            facts={**about, "more": dict(facts or {})},
        )
        path = self.files.write(agent.num_timesteps, snapshot)
        self._saved_steps, self._saved_at = agent.num_timesteps, time.monotonic()
        self._cost = self._saved_at - began
        return path

    def restore(
        self, agent: "Agent", *, other_version: bool = False, say: Callable[[str], None] | None = None
    ) -> dict[str, Any] | None:
        """Bring back the last whole checkpoint; returns the facts that were kept with it, or None if there is none.

        The agent must have been made with the same settings for the same environment. ``other_version``: go on also
        where another version of this package wrote it.
        """
        tell = say if say is not None else (lambda words: warn(words, CheckpointWarning))
        self.files.drop_scratch()
        player = agent.player
        empty = player.replay
        found = self.files.latest(ring_of(named_arrays(empty.ring)), tell)
        if found is None:
            return None
        differences(found.facts["identity"], identity(agent), self.files.folder, other_version, tell)
        fixed = {name: array for name, array in found.arrays.items() if not name.startswith(FREE)}
        free = {name[len(FREE) :]: array for name, array in found.arrays.items() if name.startswith(FREE)}
        try:
            tree = tree_like(player.carried().tree, fixed)
            ring = tree_like(empty.ring, found.ring)
        except Mismatch as error:
            raise Mismatch(f"the checkpoint in {self.files.folder} does not fit this agent: {error}") from error
        replay = Replay(ring, jnp.asarray(found.stored, empty.stored.dtype))
        remark = player.resume(Carried(tree, free), replay, int(found.facts["steps"]))
        self.files.collect()
        self._player = weakref.ref(player)
        if remark is not None:
            tell(remark)
        agent.count_from(int(found.facts["before"]))
        self._saved_steps, self._saved_at = agent.num_timesteps, time.monotonic()
        return dict(found.facts["more"])


def identity(agent: "Agent") -> dict[str, Any]:
    """What must be the same for a run to go on."""
    return {
        "format": FORMAT,
        "agent": type(agent).__name__,
        "env": agent.env_described,
        "settings": {name: value for name, value in agent.settings().items() if name not in MAY_CHANGE},
        "x64": bool(jax.config.jax_enable_x64),  # pyright: ignore[reportAttributeAccessIssue]
        "random keys": str(jax.config.jax_default_prng_impl),  # pyright: ignore[reportAttributeAccessIssue]
        "version": __version__,
        "jax": jax.__version__,
    }


def differences(
    kept: Mapping[str, Any], now: Mapping[str, Any], folder: Path, other_version: bool, tell: Callable[[str], None]
) -> None:
    """Refuse a checkpoint of something else, naming each field that differs."""

    def flat(of: Mapping[str, Any]) -> dict[str, Any]:
        settings = {
            f"setting {name}": value for name, value in dict(of.get("settings", {})).items() if name not in MAY_CHANGE
        }
        return {**{name: value for name, value in of.items() if name != "settings"}, **settings}

    then, here = flat(kept), flat(now)
    names = [name for name in dict.fromkeys([*here, *then]) if then.get(name) != here.get(name)]
    if "jax" in names:
        tell(f"the checkpoint was made with jax {then.get('jax')}, this is {here['jax']}: bits may differ")
    allowed = {"jax", "version"} if other_version else {"jax"}
    if wrong := [name for name in names if name not in allowed]:
        changes = "; ".join(f"{name} was {then.get(name)!r}, is {here.get(name)!r}" for name in wrong)
        hint = " (--force-migrate goes on all the same)" if wrong == ["version"] else ""
        raise Mismatch(f"the checkpoint in {folder} is of another run: {changes}{hint}")
