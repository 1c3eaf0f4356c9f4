"""Checkpoints of a run in a folder: the last few are kept, and of replay only what is new is written each time.

``step-NNN.bbo`` holds networks, optimisers, environment, random keys and counters; ``replay-START-STOP.bbo`` holds
transitions START to STOP, counted from the first that was ever stored. A checkpoint names the pieces of replay that it
needs. Where a run has begun its replay anew, the pieces of the new one have a third number.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bayesbellman.runs.bundle import Corrupt, read_bundle, read_facts, write_bundle
from bayesbellman.runs.trees import Mismatch

STEP = re.compile(r"step-(\d{12})\.bbo")
PIECE = re.compile(r"replay-\d{15}-\d{15}(?:-\d+)?\.bbo")
SCRATCH = re.compile(r"\.(?:step|replay)-[\d-]+\.bbo\.\d+\.tmp")
MOST_PIECES = 100
"""Then replay is written as one again"""


Ring = Mapping[str, tuple[str, tuple[int, ...]]]
"""Type and shape of each array of replay"""


class Snapshot(NamedTuple):
    """All that a run needs to go on as if nothing had happened."""

    arrays: Mapping[str, np.ndarray]
    ring: Mapping[str, np.ndarray]
    """Replay; along the first axis transition i is at ``i % capacity``."""
    stored: int
    """Transitions that ever came to replay"""
    facts: Mapping[str, Any]


class CheckpointFolder:
    """The checkpoints of one run. ``keep``: how many of the last stay."""

    def __init__(self, folder: Path, keep: int = 2) -> None:
        if not isinstance(keep, int) or keep < 1:
            raise ValueError(f"keep is {keep!r}; accepted is a whole number >= 1")
        self.folder, self.keep = folder, keep
        self._pieces: list[tuple[int, int]] = []
        self._replay = 0
        """Which replay of the run they are of"""
        self._known = False
        """Whether the checkpoints that are there are those of our run"""

    def begin_anew(self) -> None:
        """The run goes on with another replay, of which nothing is kept yet."""
        self._pieces, self._replay = [], self._replay + 1

    def write(self, step: int, snapshot: Snapshot) -> Path:
        """A new checkpoint; then what no kept one needs is removed."""
        if not self._known and (others := self.steps()):
            raise FileExistsError(
                f"{self.folder} holds checkpoints of another run, the last of step {others[-1]:,};"
                " go on from them (restore), or name another folder"
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        pieces = self._write_replay(snapshot)
        facts = {"step": step, "stored": snapshot.stored, "replay": [list(piece) for piece in pieces]}
        facts["replay_number"] = self._replay
        shapes = {name: [kind, list(shape)] for name, (kind, shape) in ring_of(snapshot.ring).items()}
        path = self.folder / _step_name(step)
        try:
            write_bundle(path, snapshot.arrays, {**facts, "ring": shapes, "run": dict(snapshot.facts)})
        except OSError:
            for piece in set(pieces) - set(self._pieces):  # on a full disk it would be in the way
                (self.folder / _piece_name(*piece, self._replay)).unlink(missing_ok=True)
            raise
        self._pieces, self._known = pieces, True
        self.collect()
        return path

    def _write_replay(self, snapshot: Snapshot) -> list[tuple[int, int]]:
        """Transitions that the last checkpoint did not have, in a piece of their own."""
        capacity, stored = _capacity(snapshot.ring), snapshot.stored
        oldest = max(0, stored - capacity)
        pieces = [piece for piece in self._pieces if piece[1] > oldest]
        start = max(oldest, pieces[-1][1] if pieces else 0)
        if len(pieces) >= MOST_PIECES or not all(self._is_there(piece) for piece in pieces):
            pieces, start = [], oldest
        if start < stored:
            rows = np.arange(start, stored) % capacity
            part = {name: np.asarray(array)[rows] for name, array in snapshot.ring.items()}
            path = self.folder / _piece_name(start, stored, self._replay)
            write_bundle(path, part, {"start": start, "stop": stored})
            pieces.append((start, stored))
        return pieces

    def _is_there(self, piece: tuple[int, int]) -> bool:
        """Others may have removed it; a checkpoint without it would be worth nothing, and replay is at hand."""
        return (self.folder / _piece_name(*piece, self._replay)).is_file()

    def steps(self) -> list[int]:
        """Of the checkpoints that are there, oldest first"""
        if not self.folder.is_dir():
            return []
        return sorted(int(found[1]) for path in self.folder.iterdir() if (found := STEP.fullmatch(path.name)))

    def latest(self, ring: Ring, say: Callable[[str], None] = lambda words: None) -> Snapshot | None:
        """The last one that is whole; None if there are none at all. ``ring``: types and shapes that replay must have.

        Of those that are not whole it is said, and they are put aside, with ``.damaged`` added to their names.
        """
        faults = []
        for step in reversed(self.steps()):
            try:
                found = self.read(step, ring)
            except Corrupt as error:
                faults.append((self.folder / _step_name(step), str(error)))
                continue
            for path, fault in faults:
                say(f"{fault}; going on from step {step:,}")
                path.replace(path.with_name(path.name + ".damaged"))
            return found
        if faults:
            raise Corrupt(f"no checkpoint in {self.folder} is whole; the last one: {faults[0][1]}")
        return None

    def read(self, step: int, ring: Ring) -> Snapshot:
        """One checkpoint, with its replay put together, or `Corrupt`."""
        path = self.folder / _step_name(step)
        arrays, facts = read_bundle(path)
        try:
            stored, shapes, run = int(facts["stored"]), dict(facts["ring"]), dict(facts["run"])
            pieces, number = [(int(start), int(stop)) for start, stop in facts["replay"]], _replay_number(facts)
            found = {str(name): (str(kind), tuple(map(int, shape))) for name, (kind, shape) in shapes.items()}
        except (KeyError, TypeError, ValueError) as error:
            raise Corrupt(f"{path} has a manifest that is not a checkpoint's ({error!r})") from error
        if found != dict(ring):  # before memory is asked for
            names = sorted(name for name in {*found, *ring} if found.get(name) != ring.get(name))
            changes = "; ".join(f"{name} is {found.get(name)}, not {ring.get(name)}" for name in names[:5])
            raise Mismatch(f"{path}: its replay is not this run's: {changes}")
        filled = self._read_replay(path, pieces, number, stored, ring)
        self._pieces, self._replay, self._known = pieces, number, True
        return Snapshot(arrays, filled, stored, run)

    def _read_replay(
        self,
        path: Path,
        pieces: list[tuple[int, int]],
        number: int,
        stored: int,
        types: Ring,
    ) -> dict[str, np.ndarray]:
        parts = []
        for start, stop in pieces:
            place = self.folder / _piece_name(start, stop, number)
            part, _ = read_bundle(place)
            if set(part) != set(types) or any(
                len(array) != stop - start or (array.dtype.str, array.shape[1:]) != (types[name][0], types[name][1][1:])
                for name, array in part.items()
            ):
                raise Corrupt(f"{place} does not belong to {path.name}")
            parts.append((start, stop, part))
        capacity = min((shape[0] for _, shape in types.values()), default=0)
        oldest = max(0, stored - capacity)
        if [start for start, *_ in parts][1:] != [stop for _, stop, _ in parts][:-1] or (
            stored > 0 and (not parts or parts[0][0] > oldest or parts[-1][1] != stored)
        ):
            raise Corrupt(f"{path}: its pieces of replay do not follow on one another")
        ring = {name: np.zeros(shape, dtype) for name, (dtype, shape) in types.items()}  # zeros cost no memory yet
        for start, stop, part in parts:
            held = np.arange(max(start, oldest), stop)
            for name, array in part.items():
                ring[name][held % capacity] = array[held - start]
        return ring

    def drop_scratch(self) -> None:
        """Remove what a killed process was about to write."""
        for path in self.folder.iterdir() if self.folder.is_dir() else ():
            if SCRATCH.fullmatch(path.name):
                path.unlink(missing_ok=True)

    def collect(self) -> None:
        """Remove what no kept checkpoint needs. The last must be known to be whole: older ones may be all there is."""
        self.drop_scratch()
        if not self.folder.is_dir():
            return
        steps = self.steps()
        kept = steps[-self.keep :]
        needed = set()
        for step in kept:
            try:
                facts = read_facts(self.folder / _step_name(step))
                needed |= {_piece_name(start, stop, _replay_number(facts)) for start, stop in facts["replay"]}
            except (Corrupt, KeyError, TypeError, ValueError):
                continue  # what it needed cannot be known, nor used
        for path in self.folder.iterdir():
            found = STEP.fullmatch(path.name)
            old_step = found is not None and int(found[1]) not in kept
            old_piece = PIECE.fullmatch(path.name) is not None and path.name not in needed
            if old_step or old_piece:
                path.unlink(missing_ok=True)


def ring_of(arrays: Mapping[str, np.ndarray]) -> dict[str, tuple[str, tuple[int, ...]]]:
    return {name: (array.dtype.str, tuple(array.shape)) for name, array in arrays.items()}


def _step_name(step: int) -> str:
    return f"step-{step:012d}.bbo"


def _piece_name(start: int, stop: int, replay: int = 0) -> str:
    return f"replay-{start:015d}-{stop:015d}{f'-{replay}' if replay else ''}.bbo"


def _replay_number(facts: Mapping[str, Any]) -> int:
    return int(facts.get("replay_number", 0))  # one that was never begun anew need not say so


def _capacity(ring: Mapping[str, np.ndarray]) -> int:
    return len(next(iter(ring.values())))
