"""Runs of agents side by side, with evaluations on the way and pictures of what they have seen.

They are made in pieces: told to stop, they are put down (`putting_down`), and go on bit by bit when they are run again.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from bayesbellman.control.side_by_side import Layout, devices_like, lay_out
from bayesbellman.control.train import CHUNK, Training, TrainState
from bayesbellman.core.types import Transition
from bayesbellman.experiments.artefact import Arrays, Desk, Paused
from bayesbellman.experiments.putting_down import PutDown, Records

LONGEST = 100_000
MARGIN = 1.5
"""The next piece may take so many times what the last one took."""

Make = Callable[..., Training]
"""``make(**settings)``: what is trained, given the floats of one run"""
Watch = Callable[[Transition], dict[str, Array]]
"""Of the transitions since the last evaluation, in order: what is recorded of them"""


class Runs(NamedTuple):
    """What came of S runs: at C evaluations, and at T moments that were asked for."""

    steps: Int[np.ndarray, " C"]
    evaluations: Float[np.ndarray, "C S E"]
    """Returns of E episodes with the mean action"""
    episodes: Int[np.ndarray, "C S"]
    """Episodes of training that ended since the last evaluation"""
    successes: Int[np.ndarray, "C S"]
    """Those of them with a positive return"""
    disagreement: Float[np.ndarray, "C S"]
    critic_loss: Float[np.ndarray, "C S"]
    watched: Mapping[str, np.ndarray]
    """What was asked for of the transitions, each C S and its own"""
    values: Float[np.ndarray, "T S L M"]
    """Members' values at the places, with the mean action"""
    visited: Float[np.ndarray, "S N d"]
    """Observations in the order they were made, if asked for"""
    seconds: float
    """That it took, all pieces together"""


class PausedRuns(Paused):
    """Runs that have been put down, up to their last evaluation."""

    def __init__(self, runs: Runs) -> None:
        super().__init__()
        self.runs = runs


def result_of(run: Callable[[], Runs], record: Callable[[Runs], Arrays]) -> Arrays:
    """What is recorded of runs, as a job's result; also of those that are paused, as its result so far."""
    try:
        found = run()
    except PausedRuns as paused:
        raise Paused(record(paused.runs)) from None
    return record(found)


def run_seeds(
    make: Make,
    seeds: Sequence[int],
    settings: Mapping[str, Float[np.ndarray, " S"]] | None = None,
    *,
    steps: int,
    every: int = 1_000,
    episodes: int = 20,
    moments: Sequence[int] = (),
    places: Float[np.ndarray, "M d"] | None = None,
    watch: Watch = lambda transitions: {},
    keep_visited: bool = False,
    desk: Desk | None = None,
) -> Runs:
    """Train S runs in one program. A run has a seed and may have floats of its own, ``make(**settings)``.

    Where there are several devices, the runs are spread over them. A run is the same alone and beside others, to
    rounding. With a desk they may end with `PausedRuns`, and the same call goes on with them.
    """
    columns = {name: np.asarray(column, float) for name, column in (settings or {}).items()}
    desk = desk or Desk()
    _check(seeds, columns)
    first = make(**{name: float(column[0]) for name, column in columns.items()})
    piece, warmup = min(every, CHUNK), first.warmup
    if steps % every or every % piece or warmup % piece:
        raise ValueError(
            f"steps is {steps}, every {every} and warmup {warmup}; every must divide steps, and {piece} all of them"
        )
    if first.buffer_size < every:
        raise ValueError(
            f"buffer_size is {first.buffer_size}; it must hold the {every} transitions between evaluations"
        )
    programs = Programs(make, len(seeds), piece, every, episodes, places, watch)
    floats = programs.rows({name: jnp.asarray(column, dtype=float) for name, column in columns.items()})
    state = programs.init(floats, programs.keys(seeds))
    records: Records = {}
    begun, earlier, kept = 0, 0.0, None
    if desk.folder is not None:
        identity = {"seeds": list(seeds), "settings": {name: column.tolist() for name, column in columns.items()}}
        asked = {"every": every, "episodes": episodes, "moments": list(moments), "x64": jax.config.jax_enable_x64}  # pyright: ignore[reportAttributeAccessIssue]
        kept = PutDown(desk.folder, {**identity, **asked, "jax": jax.__version__})
        kept.reckon(state)
        if (found := kept.take_up(programs.without_fillers(state))) is not None:
            state, records, begun, earlier = programs.rows(found.state), found.records, found.steps, found.seconds
            desk.resumed(begun * len(seeds))
    started = time.monotonic()

    def record(name: str, row: Array | np.ndarray) -> None:
        records.setdefault(name, []).append(np.asarray(row)[: len(seeds)])

    for done in range(begun + every, steps + 1, every):
        since = time.monotonic()
        traces = []
        for at in range(done - every, done, piece):
            state, trace = programs.advance[at >= warmup](state, floats)
            traces.append(trace)
        returns, disagreement, watched = programs.judge(floats, state)
        record("evaluations", returns)
        record("disagreement", disagreement)
        record("episodes", np.sum([trace.episodes for trace in traces], axis=0))
        record("successes", np.sum([np.nan_to_num(trace.returns) > 0 for trace in traces], axis=(0, 2)))
        losses = [np.asarray(trace.metrics["critic_loss"]) for trace in traces if "critic_loss" in trace.metrics]
        record("critic_loss", np.mean(losses, axis=0) if losses else np.full(len(seeds), np.nan, np.float32))
        for name, row in watched.items():
            record(f"watched {name}", row)
        if done in moments:
            record("values", programs.look(floats, state))
        desk.report(done * len(seeds))
        now = time.monotonic()
        stop = done < steps and desk.must_stop(MARGIN * (now - since) + (kept.cost if kept else 0.0))
        if kept is not None and done < steps and (stop or kept.due):
            kept.write(programs.without_fillers(state), records, done, earlier + now - started)
        if stop:
            raise PausedRuns(_gathered(records, every, done, len(seeds), None, earlier + now - started))
    visited = np.asarray(programs.without_fillers(state.replay.ring.observation)) if keep_visited else None
    return _gathered(records, every, steps, len(seeds), visited, earlier + time.monotonic() - started)


class Programs:
    """What S runs are compiled to, each when it is first called."""

    def __init__(
        self,
        make: Make,
        number: int,
        piece: int,
        every: int,
        episodes: int,
        places: Float[np.ndarray, "M d"] | None,
        watch: Watch,
    ) -> None:
        self.layout: Layout = lay_out(number, devices_like(jax.devices()[0]), batched=True)

        def advance(state: TrainState, floats: dict[str, Array], learn: bool) -> tuple:
            return make(**floats).advance(state, piece, learn)

        def judge(floats: dict[str, Array], state: TrainState) -> tuple[Array, Array, dict[str, Array]]:
            made = make(**floats)
            key = jax.random.fold_in(state.key, 2**32 - 2)
            latest = (state.replay.stored - every + jnp.arange(every)) % state.replay.capacity
            seen = watch(jax.tree.map(lambda ring: ring[latest], state.replay.ring))
            return made.evaluate(key, state, episodes, LONGEST), made.disagreement(key, state), seen

        def look(floats: dict[str, Array], state: TrainState) -> Array:
            agent, at = make(**floats).agent, jnp.asarray(places, dtype=float)
            return agent.values(state.agent, at, agent.act_best(state.agent, at))

        self.init = self.layout.each_run(lambda floats, key: make(**floats).init(key))
        self.advance = {
            learn: self.layout.each_state(lambda state, floats, learn=learn: advance(state, floats, learn))
            for learn in (False, True)
        }
        self.judge, self.look = self.layout.each_run(judge), self.layout.each_run(look)

    def keys(self, seeds: Sequence[int]) -> Array:
        return self.rows(jax.vmap(jax.random.key)(jnp.asarray(list(seeds))))

    def rows(self, tree: PyTree) -> PyTree:
        """One row for each run, brought to its device; the last device is filled up with copies."""
        if self.layout.rows > self.layout.number:
            fill = jnp.asarray(self.layout.filled(range(self.layout.number)))
            tree = jax.tree.map(lambda x: x[fill], tree)
        return self.layout.place(tree)

    def without_fillers(self, tree: PyTree) -> PyTree:
        if self.layout.rows == self.layout.number:
            return tree
        return jax.tree.map(lambda x: x[: self.layout.number], tree)


def _check(seeds: Sequence[int], columns: Mapping[str, np.ndarray]) -> None:
    for name, column in columns.items():
        if column.shape != (len(seeds),):
            raise ValueError(
                f"settings[{name!r}] has shape {column.shape}; there are {len(seeds)} seeds, one for each run"
            )
    rows = list(zip(seeds, *columns.values(), strict=True))
    if len(set(rows)) != len(rows):
        raise ValueError(f"seeds are {list(seeds)}; each may be there once with the same settings")


def _gathered(
    records: Records, every: int, steps: int, number: int, visited: np.ndarray | None, seconds: float
) -> Runs:
    empty = np.zeros((0, number, 1, 0), np.float32)  # one member: there is nothing, and its spread is defined
    plain = ("evaluations", "episodes", "successes", "disagreement", "critic_loss")
    return Runs(
        steps=np.arange(every, steps + 1, every),
        **{name: np.stack(records[name]) for name in plain},
        watched={
            name.removeprefix("watched "): np.stack(kept)
            for name, kept in records.items()
            if name.startswith("watched ")
        },
        values=np.stack(records["values"]) if "values" in records else empty,
        visited=np.zeros((number, 0, 0), np.float32) if visited is None else visited,
        seconds=seconds,
    )
