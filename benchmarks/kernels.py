"""The GPU's kernels for networks, one by one, as NVIDIA's Nsight Compute sees them.

    python benchmarks/kernels.py [--runs 1 20] [--out results/benchmarks]

Needs an NVIDIA GPU and ``ncu`` on the PATH. Each kernel is launched by a program of its own, on the networks that
RP-BBAC has with 8 members (a critic and its prior function each), two hidden layers of 256 and batches of 256, for so
many runs side by side. What ncu cannot measure is said, and left out.
"""

import argparse
import csv
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

MEMBERS, WIDTH, BATCH, OBSERVED = 8, 256, 256, 5
KERNELS = ("forward", "inputs", "parameters")
METRICS = {
    "gpu__time_duration.sum": "microseconds",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active": "matrix units busy, %",
    "smsp__issue_active.avg.pct_of_peak_sustained_active": "issue slots busy, %",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": "memory, % of its rate",
    "lts__throughput.avg.pct_of_peak_sustained_elapsed": "second cache, % of its rate",
    "l1tex__throughput.avg.pct_of_peak_sustained_active": "first cache and shared memory, % of its rate",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "warps, % of the most",
    "launch__registers_per_thread": "registers a thread",
}
UNITS = {"nsecond": 1e-3, "ns": 1e-3, "usecond": 1.0, "us": 1.0, "msecond": 1e3, "ms": 1e3}
HEADER = ("kernel", "runs", *METRICS.values(), "TFLOP/s")
PATIENCE = 120
"""Seconds for one kernel"""


def useful_flop(kernel: str, runs: int) -> float:
    """Of products with the second hidden layer, which are nearly all; of the parameters' kernel one of two."""
    networks = MEMBERS * runs * (1 if kernel == "parameters" else 2)
    return networks * BATCH * 2 * WIDTH**2 * (2 if kernel == "inputs" else 1)


def launch(kernel: str, runs: int) -> None:
    """The kernel, some times: ncu looks at a later one."""
    import jax
    import jax.numpy as jnp

    from bayesbellman.nn.mlp import MLP
    from bayesbellman.nn.priors import WithPrior

    def network(key):
        return MLP.glorot(key, OBSERVED + 1, (WIDTH, WIDTH), fused="many")

    keys = jax.random.split(jax.random.key(0), (2, runs, MEMBERS))
    networks, priors = (jax.jit(jax.vmap(jax.vmap(network)))(each) for each in keys)
    observation = jax.random.normal(jax.random.key(1), (runs, BATCH, OBSERVED))
    action = jax.random.normal(jax.random.key(2), (runs, MEMBERS, BATCH, 1))

    def value(network, prior, observation, action):
        return WithPrior(network, prior, jnp.asarray(32.0))((observation, action))

    def loss(*given):
        return jnp.sum(value(*given) ** 2)

    of_one = {"forward": value, "inputs": jax.grad(loss, argnums=3), "parameters": jax.grad(loss)}[kernel]
    over_members = jax.vmap(of_one, in_axes=(0, 0, None, 0))
    run = jax.jit(jax.vmap(over_members))
    for _ in range(4):
        jax.block_until_ready(run(networks, priors, observation, action))


def measured(text: str) -> dict[str, float]:
    """What ncu wrote as CSV, below whatever else it said."""
    lines = text.splitlines()
    begin = next((at for at, line in enumerate(lines) if line.startswith('"ID"')), None)
    if begin is None:
        raise ValueError(f"ncu measured nothing: {' '.join(lines[-3:])[:300]}")
    found = {}
    for row in csv.DictReader(io.StringIO("\n".join(lines[begin:]))):
        number = float(row["Metric Value"].replace(",", ""))
        name = METRICS.get(row["Metric Name"])
        if name is not None:
            found[name] = number * UNITS.get(row["Metric Unit"], 1.0) if name == "microseconds" else number
    return found


def profile(kernel: str, runs: int) -> dict[str, float]:
    command = ["ncu", "--csv", "--clock-control", "none", "--metrics", ",".join(METRICS)]
    command += ["--kernel-name", f"regex:two_hidden_{kernel}", "--launch-skip", "2", "--launch-count", "1"]
    command += [sys.executable, __file__, "--launch", kernel, "--runs", str(runs)]
    # ncu saves all memory that a program holds, to launch a kernel again for other counters; graphs it sees as one.
    quiet = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "XLA_FLAGS": "--xla_gpu_enable_command_buffer="}
    done = subprocess.run(
        command, env={**os.environ, **quiet}, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    return measured(done.stdout + done.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, nargs="+", default=[1, 20])
    parser.add_argument("--out", type=Path, default=Path("results/benchmarks"))
    parser.add_argument("--launch", choices=KERNELS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.launch:
        launch(arguments.launch, arguments.runs[0])
        return
    if shutil.which("ncu") is None:
        raise SystemExit("ncu is not on the PATH; it comes with NVIDIA's CUDA toolkit (Nsight Compute)")
    import jax

    from bayesbellman.runs.provenance import provenance
    from bayesbellman.runs.tables import markdown

    rows, left_out = [], {}
    for runs in arguments.runs:
        for kernel in KERNELS:
            try:
                found = profile(kernel, runs)
                rate = useful_flop(kernel, runs) / found["microseconds"] / 1e6
                rows.append((kernel, runs, *(round(found[name], 1) for name in METRICS.values()), round(rate, 1)))
                print(*rows[-1], flush=True)
            except (ValueError, KeyError, subprocess.TimeoutExpired) as error:
                left_out[f"{kernel}, {runs}"] = str(error)[:300]
                print(f"{kernel}, {runs} runs: left out: {error}", flush=True)
    origin = {**provenance(), "device": jax.devices()[0].device_kind, "left_out": left_out}
    result = {"rows": [dict(zip(HEADER, row, strict=True)) for row in rows], "origin": origin}
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "kernels_gpu.json").write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    text = f"# Kernels, by Nsight Compute\n\n{markdown(HEADER, rows)}\n\n## Made by\n\n```json\n"
    (arguments.out / "kernels_gpu.md").write_text(text + json.dumps(origin, indent=2) + "\n```\n", encoding="utf-8")


if __name__ == "__main__":
    main()
