"""Speed of non-linear policy evaluation: a full trial of the paper's size, alone and 24 side by side.

    python benchmarks/nonlinear.py [--steps 100000] [--others 100000] [--seeds 24] [--repeats 1] [--out DIR]

20,000 transitions of two inputs, one hidden layer of 256, batches of 512; two-timescale BBO with 10 lower-level steps a
training step, TD(0) and TDC, with Adam; rectifiers but for TDC, which needs second derivatives, and for one TD(0)
beside it. Times are of compiled code, compilation apart: the least of some repeats, in which the methods take turns.
The arithmetic of a step is counted (three times a forward pass for a gradient), and held against the rate of a large
float32 matrix product on the same device: with networks this small the time goes into starting operations and into
memory, not into arithmetic.
"""

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import optax

from bayesbellman.core.types import Transition
from bayesbellman.evaluation.base import AbstractEstimator
from bayesbellman.evaluation.nonlinear_bbo import TwoTimescaleBBO
from bayesbellman.evaluation.nonlinear_td import NonlinearTD
from bayesbellman.evaluation.training import train
from bayesbellman.nn.mlp import MLP, relu
from bayesbellman.posterior.map_estimate import MAPEstimate
from bayesbellman.runs.provenance import provenance
from bayesbellman.runs.tables import aligned, markdown

ROWS, INPUTS, HIDDEN, BATCH, LOWER_STEPS = 20_000, 2, 256, 512, 10
HEADER = ("method", "seeds", "steps", "seconds", "us a step and seed", "GFLOP/s", "share of the matrix rate")
FORWARD = 2 * BATCH * (INPUTS * HIDDEN + HIDDEN)
"""Operations of one forward pass."""


def network(activation: Callable, key: jax.Array) -> MLP:
    return MLP.glorot(key, INPUTS, (HIDDEN,), activation)


def methods() -> dict[str, tuple[AbstractEstimator, int]]:
    """Each with its forward passes a training step; a gradient counts as three, TDC's directions as twelve."""
    with_relu, with_tanh = partial(network, relu), partial(network, jnp.tanh)
    bbo = TwoTimescaleBBO(
        posterior=MAPEstimate(with_relu, optax.adam(3e-3), prior_weight=0.1),
        slow=optax.adam(1e-2),
        lower_steps=LOWER_STEPS,
    )
    return {
        "BBO, two timescales": (bbo, 3 * LOWER_STEPS + 1),
        "TD(0)": (NonlinearTD(with_relu, "none", optax.adam(3e-4)), 4),
        "TD(0), tanh": (NonlinearTD(with_tanh, "none", optax.adam(3e-4)), 4),
        "TDC": (NonlinearTD(with_tanh, "tdc", optax.adam(1e-5), optax.adam(1e-2)), 12),
    }


def data(key: jax.Array) -> Transition:
    k1, k2, k3 = jax.random.split(key, 3)
    x = jax.random.uniform(k1, (ROWS, INPUTS), minval=-1.0)
    following = jnp.clip(x + 0.1 * jax.random.normal(k2, x.shape), -1.0, 1.0)
    return Transition(
        x,
        None,
        jnp.sin(3 * x[:, 0]) + 0.1 * jax.random.normal(k3, (ROWS,)),
        jnp.full(ROWS, 0.98),
        following,
        jnp.ones(ROWS),
    )


def seconds(function: Callable[[], Any]) -> float:
    jax.block_until_ready(function())  # compiles
    start = time.perf_counter()
    jax.block_until_ready(function())
    return time.perf_counter() - start


def matrix_rate() -> float:
    """Operations a second of a float32 product of 4096 x 4096 matrices, at JAX's default precision."""
    a = jax.random.normal(jax.random.key(0), (4096, 4096))
    product = jax.jit(lambda x: x @ x)
    return 2 * 4096**3 / min(seconds(lambda: product(a)) for _ in range(3))


def compiled(estimator: AbstractEstimator, seeds: int, steps: int) -> Callable[[], Any]:
    """A program that trains all seeds, each on data of its own."""

    def one(key: jax.Array) -> Any:
        data_key, init_key, train_key = jax.random.split(key, 3)
        state, _ = train(train_key, estimator, estimator.init(init_key), data(data_key), steps, BATCH)
        return state.omega

    keys = jax.random.split(jax.random.key(0), seeds)
    return partial(jax.jit(jax.vmap(one)).lower(keys).compile(), keys)


def measure(seeds: int, steps: int, others: int, repeats: int, rate: float) -> list[tuple]:
    """A row for each method; only BBO goes through all of ``steps``."""
    numbers = {name: others if at else steps for at, name in enumerate(methods())}
    programs = {name: compiled(estimator, seeds, numbers[name]) for name, (estimator, _) in methods().items()}
    least = dict.fromkeys(programs, float("inf"))
    for _ in range(repeats):
        for name, program in programs.items():
            start = time.perf_counter()
            jax.block_until_ready(program())
            least[name] = min(least[name], time.perf_counter() - start)
    rows = []
    for name, (_, passes) in methods().items():
        done = seeds * numbers[name]
        operations = passes * FORWARD * done / least[name]
        each = 1e6 * least[name] / done
        rows.append((name, seeds, numbers[name], least[name], each, operations / 1e9, operations / rate))
    print(aligned(HEADER, rows), flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--others", type=int, help="steps of TD(0) and TDC; as many as of BBO unless given")
    parser.add_argument("--seeds", type=int, default=24)
    parser.add_argument("--repeats", type=int, default=1)
    arguments = parser.parse_args()
    device, rate = jax.devices()[0], matrix_rate()
    numbers, others = (1, arguments.seeds), arguments.others or arguments.steps
    rows = [row for seeds in numbers for row in measure(seeds, arguments.steps, others, arguments.repeats, rate)]
    alone = {row[0]: row[4] for row in rows if row[1] == 1}
    ratio = alone["TDC"] / alone["TD(0), tanh"]
    words = f"TDC takes {ratio:.2f} times TD(0) a step, both with tanh"
    print(f"{device.device_kind}: matrix rate {rate / 1e12:.2f} TFLOP/s; {words}")
    if arguments.out is not None:
        arguments.out.mkdir(parents=True, exist_ok=True)
        name = f"nonlinear_{device.platform}"
        origin = {
            **provenance(),
            "device": device.device_kind,
            "matrix_rate": rate,
            "tdc_over_td": ratio,
        }
        result = {"rows": [dict(zip(HEADER, row, strict=True)) for row in rows], "origin": origin}
        (arguments.out / f"{name}.json").write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
        text = f"# Non-linear evaluation on {device.device_kind}\n\n{markdown(HEADER, rows)}\n\n"
        text += f"{words}.\n"
        made = f"\n## Made by\n\n```json\n{json.dumps(origin, indent=2)}\n```\n"
        (arguments.out / f"{name}.md").write_text(text + made, encoding="utf-8")


if __name__ == "__main__":
    main()
