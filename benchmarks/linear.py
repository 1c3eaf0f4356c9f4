"""Exact linear policy evaluation against its peers, side by side in one run.

    python benchmarks/linear.py [--out results/benchmarks] [--rows 1000000] [--features 64] [--rounds 5]

Times are ratios within this run: on a shared machine only they mean something. Peers: scikit-learn's BayesianRidge
and Ridge (regression of the rewards on the features: less work, one matrix instead of two), the same sums by blocks in
plain NumPy, and the rank-one recursion (compiled, over a part of the rows). The physical limit is the larger of the
arithmetic (3 N n^2 floating-point operations: a symmetric product and a full one) at the measured matrix rate and the
bytes read once at the measured bandwidth.
"""

import argparse
import json
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.linear_model import BayesianRidge, Ridge  # pyright: ignore[reportMissingImports] # of the peers alone

import bayesbellman as bb
from bayesbellman.core.types import Transition
from bayesbellman.evaluation.linear_bbo import RecursiveLinearBBO
from bayesbellman.posterior.conjugate import ConjugatePosterior
from bayesbellman.runs.provenance import provenance
from bayesbellman.runs.tables import aligned, markdown

SEED, GAMMA = 0, 0.95
TARGETS = {"times BayesianRidge": 20.0, "times NumPy by blocks": 0.8}
LARGEST_MEMORY, LARGEST_STREAM_GROWTH = 200.0, 32.0  # MiB
LARGEST_MISFIT = 0.15  # of a straight line through the times at four sizes, relative
SPIN_SECONDS = 0.2  # BLAS threads of the call before spin for some 25 ms before they sleep, and are in the way


def make_data(num_rows: int, num_features: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(SEED)
    features, next_features = np.empty((num_rows, num_features)), np.empty((num_rows, num_features))
    rng.standard_normal(out=features)
    rng.standard_normal(out=next_features)
    return {
        "features": features,
        "rewards": rng.standard_normal(num_rows),
        "next_features": next_features,
        "discounts": np.where(rng.random(num_rows) < 0.01, 0.0, GAMMA),
        "weights": rng.uniform(0.5, 1.5, num_rows),
    }


def numpy_blocks(d: dict[str, np.ndarray], rows: int = 8192) -> np.ndarray:
    """What a careful NumPy user writes for omega and Sigma_N without a library, on-policy with one discount."""
    n = d["features"].shape[1]
    gram, cross, moment = np.zeros((n, n)), np.zeros((n, n)), np.zeros(n)
    for start in range(0, len(d["rewards"]), rows):
        v, v_next, r = (d[k][start : start + rows] for k in ("features", "next_features", "rewards"))
        gram += v.T @ v
        cross += v.T @ v_next
        moment += v.T @ r
    np.linalg.inv(np.eye(n) / 10 + gram)
    return np.linalg.solve(np.eye(n) / 10 + gram - GAMMA * cross, moment)


def numpy_blocks_weighted(d: dict[str, np.ndarray], rows: int = 8192) -> np.ndarray:
    """The same with a weight and a discount per transition."""
    n = d["features"].shape[1]
    gram, cross, moment = np.zeros((n, n)), np.zeros((n, n)), np.zeros(n)
    for start in range(0, len(d["rewards"]), rows):
        v, r, v_next, g, w = (array[start : start + rows] for array in d.values())
        weighted = w[:, None] * v
        gram += weighted.T @ v
        cross += (g[:, None] * weighted).T @ v_next
        moment += weighted.T @ r
    np.linalg.inv(np.eye(n) / 10 + gram)
    return np.linalg.solve(np.eye(n) / 10 + gram - cross, moment)


def fit_plain(d: dict[str, np.ndarray]) -> np.ndarray:
    model = bb.LinearBBO().fit(d["features"], d["rewards"], d["next_features"], GAMMA)
    assert model.posterior_covariance_.shape
    return model.omega_


def fit_weighted(d: dict[str, np.ndarray]) -> np.ndarray:
    model = bb.LinearBBO().fit(**d)
    assert model.posterior_covariance_.shape
    return model.omega_


def seconds(function: Callable[[], Any]) -> float:
    time.sleep(SPIN_SECONDS)
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def side_by_side(contenders: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Median seconds of each, taking turns, after one turn that does not count."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(rounds + 1):
        for name, function in contenders.items():
            taken = seconds(function)
            if turn:
                times[name].append(taken)
    return {name: float(np.median(taken)) for name, taken in times.items()}


def recursion_seconds_a_row(d: dict[str, np.ndarray], rows: int) -> float:
    with jax.enable_x64(True):
        key = jax.random.key(0)
        estimator = RecursiveLinearBBO(ConjugatePosterior.isotropic(d["features"].shape[1]))
        transitions = Transition(
            jnp.asarray(d["features"][:rows]),
            None,
            jnp.asarray(d["rewards"][:rows]),
            jnp.full(rows, GAMMA),
            jnp.asarray(d["next_features"][:rows]),
            jnp.ones(rows),
        )
        run = jax.jit(
            lambda t: jax.lax.scan(lambda s, x: (estimator.update(key, s, x)[0], None), estimator.init(key), t)[0].omega
        )
        run(transitions).block_until_ready()
        return min(seconds(lambda: run(transitions).block_until_ready()) for _ in range(3)) / rows


def physical_limit(num_rows: int, num_features: int, d: dict[str, np.ndarray]) -> dict[str, float]:
    a = np.random.default_rng(1).standard_normal((2500, 2500))
    rate = 2 * 2500**3 / min(seconds(lambda: a @ a) for _ in range(5))
    read = d["features"].nbytes + d["next_features"].nbytes
    bandwidth = read / min(seconds(lambda: (d["features"].sum(), d["next_features"].sum())) for _ in range(5))
    arithmetic, traffic = 3 * num_rows * num_features**2 / rate, (read + d["rewards"].nbytes) / bandwidth
    return {
        "matrix rate, GFLOP/s": rate / 1e9,
        "read bandwidth, GB/s": bandwidth / 1e9,
        "arithmetic, s": arithmetic,
        "traffic, s": traffic,
        "limit, s": max(arithmetic, traffic),
    }


def resident_megabytes() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


def memory_beyond(function: Callable[[], Any]) -> float:
    """Largest resident memory while the function runs, beyond what was resident before, in MiB."""
    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark starts from here
    before = resident_megabytes()
    function()
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(peak.split()[1]) / 1024 - before


def memory_of_fit(num_rows: int, num_features: int) -> dict[str, float]:
    """Run in a process of its own, so that nothing is resident but the data and the imports."""
    d = make_data(num_rows, num_features)
    return {
        "plain, MiB": memory_beyond(lambda: fit_plain(d)),
        "weights and discounts, MiB": memory_beyond(lambda: fit_weighted(d)),
    }


def memory_of_stream(num_features: int) -> list[tuple[int, float]]:
    """Run in a process of its own: resident memory while 100 chunks of 32 MiB a matrix are taken in."""
    d = make_data(2**22 // num_features, num_features)
    seen: list[tuple[int, float]] = []

    def chunks() -> Any:
        for number in range(100):
            if number % 20 == 0:
                seen.append((number, resident_megabytes()))
            yield tuple(array.copy() for array in d.values())

    bb.LinearBBO().fit_stream(chunks())
    return [*seen, (100, resident_megabytes())]


def in_own_process(what: str, *arguments: int) -> Any:
    done = subprocess.run(
        [sys.executable, __file__, "--measure", what, *map(str, arguments)], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--measure", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        what, *arguments = options.measure
        measured = {"fit": memory_of_fit, "stream": memory_of_stream}[what](*map(int, arguments))
        print(json.dumps(measured))
        return

    n, d = options.features, make_data(options.rows, options.features)
    np.testing.assert_allclose(fit_plain(d), numpy_blocks(d), rtol=1e-8)  # they compute the same thing
    np.testing.assert_allclose(fit_weighted(d), numpy_blocks_weighted(d), rtol=1e-8)
    slow = {
        "BayesianRidge": lambda: BayesianRidge().fit(d["features"], d["rewards"]),
        "Ridge": lambda: Ridge().fit(d["features"], d["rewards"]),
    }
    fast = {
        "LinearBBO.fit": lambda: fit_plain(d),
        "NumPy by blocks": lambda: numpy_blocks(d),
        "LinearBBO.fit, weights and discounts": lambda: fit_weighted(d),
        "NumPy by blocks, weights and discounts": lambda: numpy_blocks_weighted(d),
    }
    taken = side_by_side({**fast, **slow}, options.rounds)
    limit = physical_limit(options.rows, n, d)
    recursion_rows = max(options.rows // 50, 1)
    recursion = recursion_seconds_a_row(d, recursion_rows) * options.rows
    ours = taken["LinearBBO.fit"]
    rows = [(name, t, t / ours, limit["limit, s"] / t) for name, t in taken.items()]
    rows.append(
        (
            f"rank-one recursion (from {recursion_rows:,} rows)",
            recursion,
            recursion / ours,
            limit["limit, s"] / recursion,
        )
    )
    reached = {
        "times BayesianRidge": taken["BayesianRidge"] / ours,
        "times NumPy by blocks": taken["NumPy by blocks"] / ours,
        "times NumPy by blocks, weights and discounts": taken["NumPy by blocks, weights and discounts"]
        / taken["LinearBBO.fit, weights and discounts"],
    }

    sizes = [options.rows // k for k in (8, 4, 2, 1)]
    scaling = []
    for size in sizes:
        part = {name: array[:size] for name, array in d.items()}
        scaling.append((size, min(seconds(lambda part=part: fit_plain(part)) for _ in range(options.rounds))))
    times = np.array([t for _, t in scaling])
    slope, start = np.polyfit(sizes, times, 1)
    misfit = float(np.max(np.abs(start + slope * np.array(sizes) - times) / times))
    memory = in_own_process("fit", options.rows, n)
    stream = in_own_process("stream", n)

    header = ("contender", "seconds", "times LinearBBO.fit", "share of the physical limit")
    blocks = [
        f"N = {options.rows:,} rows, n = {n} features, float64; median of {options.rounds} turns",
        (header, rows),
        "Speed-ups of LinearBBO.fit, and what was asked",
        (("against", "reached", "asked"), [(k, v, TARGETS.get(k, "")) for k, v in reached.items()]),
        "The physical limit on this machine",
        (("quantity", "value"), list(limit.items())),
        f"Time against N: {1e3 * start:.1f} ms + {1e6 * slope:.3f} us a row, within {100 * misfit:.0f} % of each time",
        (("rows", "seconds", "microseconds a row"), [(s, t, 1e6 * t / s) for s, t in scaling]),
        "Largest resident memory during fit, beyond the data (asked: under 200 MiB)",
        (("case", "MiB"), list(memory.items())),
        "Resident memory during fit_stream",
        (("chunks of 64 MiB taken in", "MiB"), [tuple(pair) for pair in stream]),
    ]
    print("\n\n".join(b if isinstance(b, str) else aligned(*b) for b in blocks))
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        origin = provenance(["python", "benchmarks/linear.py", *sys.argv[1:]])
        origin |= {
            "seed": SEED,
            "peers": {p: metadata.version(p) for p in ("scikit-learn", "numpy")},
            "cpu": cpu_name(),
        }
        result = {
            "seconds": {**taken, "recursion": recursion},
            "reached": reached,
            "limit": limit,
            "scaling": scaling,
            "line": {"start, s": float(start), "slope, s a row": float(slope), "misfit": misfit},
            "memory": memory,
            "stream": stream,
            "origin": origin,
        }
        (options.out / "linear.json").write_text(json.dumps(result, indent=2) + "\n")
        body = "\n\n".join(f"## {b}" if isinstance(b, str) else markdown(*b) for b in blocks)
        made_by = f"## Made by\n\n```json\n{json.dumps(origin, indent=2)}\n```"
        page = f"# Linear policy evaluation: speed and memory\n\n{body}\n\n{made_by}\n"
        (options.out / "linear.md").write_text(page)
    missed = [name for name, asked in TARGETS.items() if reached[name] < asked]
    missed += ["memory of fit"] if max(memory.values()) > LARGEST_MEMORY else []
    missed += ["time linear in N"] if misfit > LARGEST_MISFIT else []
    held = [used for chunks, used in stream if chunks]  # the first number is from before any chunk
    missed += ["flat memory of fit_stream"] if max(held) - held[0] > LARGEST_STREAM_GROWTH else []
    if missed:
        sys.exit(f"short of what was asked: {', '.join(missed)}")


def cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "unknown")


if __name__ == "__main__":
    main()
