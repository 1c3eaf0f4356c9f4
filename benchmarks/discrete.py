"""Speed of BootDQN on Deep Sea beside bsuite's in JAX: environment, replay and update, per step.

    python benchmarks/discrete.py [--out results/benchmarks] [--rounds 8] [--sizes 10 20]

20 members, batches of 128, each member updated at each step, in both. bsuite's ``boot_dqn`` is its `default_agent`,
with hidden layers (50, 50), in its own environment and loop. Ours with the same layers twice, in the compiled loop and
through bsuite's environment and loop (`bayesbellman.compat.bsuite`), and once with our default, (64, 64). All in one
process on one core; contenders take turns, a piece of a run each, and the best piece of each counts, since noise only
adds. CPU seconds are those of all the process's threads.

Useful arithmetic is that of the layers after the first (a one-hot vector need not be multiplied): a forward pass for
the targets, one for the values, and two for the gradients. It is held against the rate of a large float32 matrix
product.
"""

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from bayesbellman.control.boot_dqn import BootDQN
from bayesbellman.control.train import Training
from bayesbellman.core.devices import loop_options
from bayesbellman.envs.deep_sea import DeepSea
from bayesbellman.runs.provenance import provenance
from bayesbellman.runs.tables import aligned, markdown

MEMBERS, BATCH, ACTIONS, WARMUP = 20, 128, 2, 128
PEER = "bsuite's boot_dqn, (50, 50)"
HEADER = (
    "contender",
    "size",
    "steps/CPU-s",
    "times bsuite's",
    "steps/s",
    "times bsuite's, by the clock",
    "GFLOP a step",
    "share of the matrix rate",
)


class Contender(NamedTuple):
    """What is measured: a function that makes so many steps, and how many a piece has."""

    name: str
    size: int
    width: int
    advance: Callable[[int], None]
    piece: int


def operations(width: int) -> int:
    return 4 * MEMBERS * 2 * BATCH * (width * width + width * ACTIONS)


def compiled(size: int, width: int) -> Contender:
    """`Training.advance`, as ``bbo train`` uses it."""
    agent = BootDQN(ensemble_size=MEMBERS, hidden=(width, width))
    training = Training(agent, DeepSea(size), batch_size=BATCH, buffer_size=10_000, warmup=WARMUP)
    state = jax.jit(training.init)(jax.random.key(0))
    held = [jax.jit(lambda state: training.advance(state, WARMUP, False)[0])(state)]
    learn = jax.jit(
        lambda state, number: training.advance(state, number, True)[0],
        donate_argnums=0,
        compiler_options=loop_options(),  # as `bb.BootDQN` has them
    )

    def advance(steps: int) -> None:
        held[0] = jax.block_until_ready(learn(held[0], jnp.asarray(steps, jnp.int32)))

    return Contender(f"ours, compiled loop, ({width}, {width})", size, width, advance, 200)


def through_bsuite(size: int, width: int, ours: bool) -> Contender:
    """bsuite's environment and loop, with our agent or its own."""
    from bsuite.baselines.jax import boot_dqn  # pyright: ignore[reportMissingImports]
    from bsuite.environments.deep_sea import DeepSea as Theirs  # pyright: ignore[reportMissingImports]

    from bayesbellman.compat.bsuite import BsuiteAgent

    env = Theirs(size, mapping_seed=42)
    specs = env.observation_spec(), env.action_spec()
    agent: Any
    if ours:
        settings = BootDQN(ensemble_size=MEMBERS, hidden=(width, width))
        agent = BsuiteAgent(settings, *specs, batch_size=BATCH, warmup=WARMUP, one_hot=True)
    else:
        agent = boot_dqn.default_agent(*specs, seed=0, num_ensemble=MEMBERS)
    held = [env.reset()]

    def advance(steps: int) -> None:
        """As ``bsuite.baselines.experiment.run`` does, which counts episodes."""
        timestep = held[0]
        for _ in range(steps):
            timestep = env.reset() if timestep.last() else timestep
            action = agent.select_action(timestep)
            following = env.step(action)
            agent.update(timestep, action, following)
            timestep = following
        held[0] = timestep

    advance(WARMUP)
    name = f"ours, bsuite's loop, ({width}, {width})" if ours else PEER
    return Contender(name, size, width, advance, 100 if ours else 30)


def matrix_rate() -> float:
    """Operations a CPU second of a large float32 matrix product."""
    side = 1024
    a = jax.random.normal(jax.random.key(0), (side, side))
    product = jax.jit(lambda x: x @ x)
    jax.block_until_ready(product(a))
    best = float("inf")
    for _ in range(5):
        start = time.process_time()
        jax.block_until_ready(product(a))
        best = min(best, time.process_time() - start)
    return 2 * side**3 / best


def measure(contenders: list[Contender], rounds: int) -> tuple[dict[tuple, list[float]], float]:
    """Least CPU seconds and seconds a step of each contender, and the best matrix rate met on the way."""
    best: dict[tuple, list[float]] = {(one.name, one.size): [float("inf")] * 2 for one in contenders}
    rate = 0.0
    for one in contenders:
        one.advance(20)  # compiles
    for number in range(rounds):
        rate = max(rate, matrix_rate())
        for one in contenders:
            started = time.process_time(), time.perf_counter()
            one.advance(one.piece)
            taken = time.process_time() - started[0], time.perf_counter() - started[1]
            kept = best[one.name, one.size]
            best[one.name, one.size] = [min(a, b / one.piece) for a, b in zip(kept, taken, strict=True)]
        print(f"round {number + 1} of {rounds}", flush=True)
    return best, rate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 20])
    arguments = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # before JAX first computes, and counts the cores
    contenders = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # bsuite's, about its packages
        for size in arguments.sizes:
            contenders += [
                through_bsuite(size, 50, ours=False),
                compiled(size, 50),
                through_bsuite(size, 50, ours=True),
                compiled(size, 64),
            ]
        best, rate = measure(contenders, arguments.rounds)
    rows = []
    for one in contenders:
        (cpu, clock), (peer_cpu, peer_clock) = best[one.name, one.size], best[PEER, one.size]
        done = operations(one.width)
        ratios = (1 / cpu, peer_cpu / cpu, 1 / clock, peer_clock / clock)
        rows.append((one.name, one.size, *ratios, done / 1e9, done / cpu / rate))
    print(aligned(HEADER, rows))
    peers = {name: metadata.version(name) for name in ("bsuite", "dm-haiku", "rlax")}
    origin = {**provenance(), "rounds": arguments.rounds, "matrix_rate": rate, "peers": peers}
    print(f"matrix rate {rate / 1e9:.0f} GFLOP a CPU second; {peers}; load {os.getloadavg()}")
    if arguments.out is None:
        return
    arguments.out.mkdir(parents=True, exist_ok=True)
    result = {"rows": [dict(zip(HEADER, row, strict=True)) for row in rows], "origin": origin}
    (arguments.out / "discrete_cpu.json").write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    made = f"## Made by\n\n```json\n{json.dumps(origin, indent=2)}\n```\n"
    text = f"# BootDQN on Deep Sea, one core\n\n{markdown(HEADER, rows)}\n\n{made}"
    (arguments.out / "discrete_cpu.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
