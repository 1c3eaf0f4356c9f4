"""Speed of the actor-critics: environment, replay and update, per step.

    python benchmarks/control.py [--out results/benchmarks] [--peers] [--runs 20] [--sweep] [--steps 200]

RP-BBAC (L = 8) and SAC with two hidden layers of 256 and batches of 256 on MountainCar, one update a step. Useful
arithmetic is counted (a forward pass of each network where the algorithm needs one, twice as much for a backward pass
to the parameters, once for one to the inputs) and held against the rate of a large matrix product on the same device,
measured before and after each round of a contender: in float32 on a CPU, in bfloat16 on a GPU, as the agents do it.
Bytes that must be moved are counted too (parameters, and what Adam remembers of them, through memory once a step) and
held against the rate of a large copy. The longer of the two times is the floor. Of some rounds, the one with the median
share of the matrix rate is shown: on a shared machine all rates go up and down together.

``--peers``: beside SBX's SAC (the peer, in JAX too) in the same process, whose environment steps in Python.
``--runs``: RP-BBAC with so many runs side by side too.
``--sweep``: against the ensemble's size and the number of runs side by side, for a GPU; with a figure. Its programs are
compiled at the same time, so that each takes longer to compile than alone.
"""

import argparse
import json
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array

from bayesbellman.control.base import AbstractAgent
from bayesbellman.control.bbac import BBAC
from bayesbellman.control.sac import SAC
from bayesbellman.control.train import CHUNK, Training
from bayesbellman.core.devices import loop_options
from bayesbellman.envs.mountain_car import MountainCar
from bayesbellman.runs.provenance import provenance
from bayesbellman.runs.tables import aligned, markdown

WIDTH, BATCH, OBSERVED, ACTIONS = 256, 256, 2, 1
CRITIC = 2 * BATCH * ((OBSERVED + ACTIONS) * WIDTH + WIDTH * WIDTH + WIDTH)
ACTOR = 2 * BATCH * (OBSERVED * WIDTH + WIDTH * WIDTH + WIDTH * 2 * ACTIONS)
"""Operations of one forward pass over a batch"""
HEADER = (
    "contender",
    "runs",
    "us a step and run",
    "steps/s",
    "GFLOP a step",
    "GFLOP/s",
    "share of the matrix rate",
    "floor by arithmetic, us",
    "floor by bytes, us",
    "times the floor",
    "compile, s",
)
CRITIC_BYTES = 4 * ((OBSERVED + ACTIONS + 1) * WIDTH + (WIDTH + 1) * WIDTH + WIDTH + 1)
ACTOR_BYTES = 4 * ((OBSERVED + 1) * WIDTH + (WIDTH + 1) * WIDTH + (WIDTH + 1) * 2 * ACTIONS)
ROUNDS, REPEATS = 7, 5
LEARNT, SLOW, FIXED = 6, 2, 1
"""Times that parameters go through memory: three arrays read and written, one read and written, one read"""


def bbac_operations(members: int) -> int:
    """Targets: actor, omega, prior. Critics: forward, backward, prior. Actors: through critic and prior."""
    own = (ACTOR + 2 * CRITIC) + (3 * CRITIC + CRITIC) + (3 * ACTOR + 4 * CRITIC)
    return members * own + 3 * ACTOR + 2 * 4 * CRITIC


def sac_operations(critics: int) -> int:
    return (ACTOR + critics * CRITIC) + 3 * critics * CRITIC + (3 * ACTOR + 2 * critics * CRITIC)


def bbac_bytes(members: int) -> int:
    return members * CRITIC_BYTES * (LEARNT + SLOW + FIXED) + (members + 1) * ACTOR_BYTES * LEARNT


def sac_bytes(critics: int) -> int:
    return critics * CRITIC_BYTES * (LEARNT + SLOW) + ACTOR_BYTES * LEARNT


class Work(NamedTuple):
    """What a step of one run cannot do without: operations, and bytes through memory."""

    operations: int
    bytes: int


def of_bbac(members: int) -> Work:
    return Work(bbac_operations(members), bbac_bytes(members))


def of_sac(critics: int) -> Work:
    return Work(sac_operations(critics), sac_bytes(critics))


class Rates(NamedTuple):
    """Of the device, a second: operations of a product, bytes of a copy."""

    matrix: float
    copy: float


class Measured(NamedTuple):
    """Seconds a step (of all runs together), and of compiling; the device's rates around."""

    seconds: float
    compile: float
    rates: Rates


class Prepared(NamedTuple):
    """A compiled loop, its first state, and the seconds that compiling took."""

    compiled: Callable[[Any], Any]
    state: Any
    compiling: float


@cache
def references() -> tuple[Callable[[], Array], Callable[[], Array], Rates]:
    """A large matrix product, in the precision of the agents' products, and a copy; the operations of one and the bytes
    of the other, read and written."""
    on_gpu = jax.default_backend() != "cpu"
    side, length = (8192, 2**29) if on_gpu else (2048, 2**25)
    a = jax.random.normal(jax.random.key(0), (side, side), jnp.bfloat16 if on_gpu else jnp.float32)
    x = jnp.ones(length, jnp.float32)
    product, copy = jax.jit(lambda x: x @ x), jax.jit(lambda x: x + 1)
    jax.block_until_ready((product(a), copy(x)))
    return (lambda: product(a)), (lambda: copy(x)), Rates(2 * side**3, 2 * x.nbytes)


def rates() -> Rates:
    """Means over some repeats, as the contenders' are: a best moment of one would be held against all moments of the
    other."""
    product, copy, work = references()
    took = [sum(_seconds(function) for _ in range(REPEATS)) / REPEATS for function in (product, copy)]
    return Rates(work.matrix / took[0], work.copy / took[1])


def _seconds(function: Callable[[], Any]) -> float:
    start = time.perf_counter()
    jax.block_until_ready(function())
    return time.perf_counter() - start


def prepare(agent: AbstractAgent, steps: int, runs: int = 1) -> Prepared:
    """The compiled loop, where a run stands when it begins, and what compiling took."""
    training = Training(agent, MountainCar(), batch_size=BATCH, buffer_size=20_000)
    keys = jax.random.split(jax.random.key(0), runs)
    over_runs = (lambda f: f) if runs == 1 else jax.vmap
    state = jax.jit(over_runs(training.init))(keys[0] if runs == 1 else keys)

    def learn(state: Any, number: Array) -> Any:
        return over_runs(lambda s: training.advance(s, number, True)[0])(state)

    start = time.perf_counter()
    compiled = (
        jax.jit(learn, donate_argnums=0, compiler_options=loop_options()).lower(state, jnp.asarray(steps)).compile()
    )
    return Prepared(lambda state: compiled(state, jnp.asarray(steps)), state, time.perf_counter() - start)


def middle(run: Callable[[], Any], steps: int, compiling: float) -> Measured:
    """Of some rounds, that with the median share of the matrix rate before and after it."""
    rounds, before = [], rates()
    for _ in range(ROUNDS):
        seconds, after = _seconds(run) / steps, rates()
        around = Rates(*((a + b) / 2 for a, b in zip(before, after, strict=True)))
        rounds.append(Measured(seconds, compiling, around))
        before = after
    return sorted(rounds, key=lambda one: one.seconds * one.rates.matrix)[ROUNDS // 2]


def measure(prepared: Prepared, steps: int) -> Measured:
    """Of what is compiled and warm."""
    compiled, state, compiling = prepared
    states = [jax.block_until_ready(compiled(state))]

    def run() -> Any:
        states[0] = compiled(states[0])
        return states[0]

    return middle(run, steps, compiling)


def measure_sbx(critics: int, steps: int) -> Measured:
    """SBX's own training loop, its environment in Python; what is not learning is part of it, as for its users."""
    import gymnasium
    from sbx import SAC as Peer  # pyright: ignore[reportMissingImports]

    model = Peer(
        "MlpPolicy",
        gymnasium.make("MountainCarContinuous-v0"),
        policy_kwargs={"net_arch": [WIDTH, WIDTH], "n_critics": critics},
        batch_size=BATCH,
        learning_starts=300,
        buffer_size=20_000,
        seed=0,
    )
    start = time.perf_counter()
    model.learn(350)
    compiling = time.perf_counter() - start

    def run() -> None:
        model.learn(steps, reset_num_timesteps=False)

    return middle(run, steps, compiling)


def row(name: str, found: Measured, work: Work, runs: int = 1) -> tuple:
    per_run = found.seconds / runs
    done = work.operations / per_run
    floors = work.operations / found.rates.matrix, work.bytes / found.rates.copy
    return (
        name,
        runs,
        1e6 * per_run,
        1 / per_run,
        work.operations / 1e9,
        done / 1e9,
        done / found.rates.matrix,
        1e6 * floors[0],
        1e6 * floors[1],
        per_run / max(floors),
        found.compile,
    )


def draw(rows: list[tuple], device: str) -> Any:
    """What a step costs against the ensemble's size, and against the number of runs."""
    from matplotlib.figure import Figure  # for --sweep alone: beside the peers there is none

    from bayesbellman.experiments.plotting import BLUE, FAINT, style

    with style():
        figure = Figure(figsize=(6.4, 2.6))
        left, right = figure.subplots(1, 2)
        by_members = sorted((int(one[0].split("=")[1]), one[2]) for one in rows if "L =" in one[0] and one[1] == 1)
        by_runs = sorted((one[1], one[2]) for one in rows if one[0] == "RP-BBAC, L = 8")
        for axes, points, label in ((left, by_members, "ensemble size L, one run"), (right, by_runs, "runs, L = 8")):
            sizes, costs = zip(*points, strict=True)
            axes.loglog(sizes, costs, "o-", color=BLUE, ms=4)
            axes.set_xlabel(label)
        first = by_members[0]
        left.loglog([first[0], 64], [first[1], first[1] * 64 / first[0]], color=FAINT, ls=":", lw=0.9)
        left.annotate("proportional to L", (8, first[1] * 8), color=FAINT, ha="right", fontsize=8)
        right.loglog([1, 64], [by_runs[0][1], by_runs[0][1] / 64], color=FAINT, ls=":", lw=0.9)
        right.annotate("runs for nothing", (8, by_runs[0][1] / 8), color=FAINT, ha="right", va="top", fontsize=8)
        for axes, points in ((left, by_members), (right, by_runs)):
            axes.set_xticks([size for size, _ in points], [f"{size}" for size, _ in points])
            axes.minorticks_off()
        left.set_ylabel("us a step and run")
        figure.suptitle(f"RP-BBAC, 2 x 256, batches of 256, on {device}", fontsize=9)
        return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--runs", type=int, nargs="+", default=[])
    parser.add_argument("--sweep", action="store_true")
    arguments = parser.parse_args()
    device, seen, rows = jax.devices()[0], [], []

    def add(name: str, found: Measured, work: Work, runs: int = 1) -> None:
        seen.append(found.rates)
        rows.append(row(name, found, work, runs))
        print(aligned(HEADER, rows[-1:]), flush=True)

    def add_ours(name: str, prepared: Prepared, steps: int, work: Work, runs: int = 1) -> None:
        add(name, measure(prepared, steps), work, runs)

    steps = arguments.steps
    if not 1 <= steps <= CHUNK:
        parser.error(f"--steps is {steps}; accepted is a number from 1 to {CHUNK}")
    if min(arguments.runs, default=1) < 1:
        parser.error(f"--runs is {min(arguments.runs)}; accepted are numbers >= 1")
    add_ours("RP-BBAC, L = 8", prepare(BBAC(), steps), steps, of_bbac(8))
    if arguments.peers:
        add("SBX SAC, 8 critics", measure_sbx(8, steps), of_sac(8))
    more = min(2 * steps, CHUNK)
    add_ours("SAC", prepare(SAC(), more), more, of_sac(2))
    if arguments.peers:
        add("SBX SAC", measure_sbx(2, 2 * steps), of_sac(2))
    for runs in arguments.runs:
        add_ours("RP-BBAC, L = 8", prepare(BBAC(), steps, runs), steps, of_bbac(8), runs)
    if arguments.sweep:
        sweep = [(members, 1) for members in (1, 2, 4, 16, 32, 64)] + [(8, runs) for runs in (2, 4, 8, 20, 32, 64)]
        with ThreadPoolExecutor(min(len(sweep), os.cpu_count() or 1)) as pool:  # measured one after the other
            waiting = [pool.submit(prepare, BBAC(ensemble_size=members), steps, runs) for members, runs in sweep]
            wait(waiting)
        for (members, runs), future in zip(sweep, waiting, strict=True):
            add_ours(f"RP-BBAC, L = {members}", future.result(), steps, of_bbac(members), runs)
    if arguments.out is None:
        return
    arguments.out.mkdir(parents=True, exist_ok=True)
    peers = {name: metadata.version(name) for name in ("sbx-rl", "gymnasium")} if arguments.peers else {}
    best = Rates(*map(max, zip(*seen, strict=True)))
    origin = {
        **provenance(),
        "device": device.device_kind,
        "matrix_rate": best.matrix,
        "copy_rate": best.copy,
        "peers": peers,
    }
    result = {"rows": [dict(zip(HEADER, one, strict=True)) for one in rows], "origin": origin}
    name = f"control_{device.platform}"
    (arguments.out / f"{name}.json").write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    text = f"# Actor-critics on {device.device_kind}\n\n{markdown(HEADER, rows)}\n\n## Made by\n\n```json\n"
    if arguments.sweep:
        draw(rows, device.device_kind).savefig(arguments.out / f"{name}.png")
    (arguments.out / f"{name}.md").write_text(text + json.dumps(origin, indent=2) + "\n```\n", encoding="utf-8")


if __name__ == "__main__":
    main()
