"""The linear suite against the same work in plain NumPy, task by task, side by side in one run.

    python benchmarks/linear_suite.py [--out results/benchmarks] [--rounds 3]

The peer does one run of BBO the way the benchmark's code does: a Python loop over transitions, the features of each
computed, one Sherman-Morrison step in float64, the error over the evaluation states at each checkpoint. Ours is
`learning_curves`, compiled, on as many runs as a job of ``bbo reproduce linear`` takes together; its time is per run,
and drawing the data is in neither. Both must reach the same errors. The limit is arithmetic: 6 n^2 operations a
transition (two products with a matrix and its update) at the matrix rate measured on one core.
"""

import argparse
import json
import os
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import jax
import numpy as np

from bayesbellman.data.datasets import TASKS, LinearTask
from bayesbellman.data.interact import Experience
from bayesbellman.data.problems import LinearProblem
from bayesbellman.evaluation.linear_bbo import RecursiveLinearBBO
from bayesbellman.evaluation.run import Checkpoints, LinearValueError, learning_curves
from bayesbellman.experiments.linear.sweep import DEFAULT_RUNS_PER_JOB, RUNS_PER_JOB
from bayesbellman.nn.features import SquareFeatures, TableFeatures
from bayesbellman.posterior.conjugate import ConjugatePosterior
from bayesbellman.runs.provenance import provenance
from bayesbellman.runs.tables import aligned, markdown

PRIOR_VARIANCE, SEED = 10.0, 0
HEADER = ("task", "features", "transitions", "NumPy loop, s a run", "ours, s a run", "ratio", "share of the limit")


def numpy_run(task: LinearTask, problem: LinearProblem, data: dict[str, np.ndarray], features: Any) -> np.ndarray:
    """One run of BBO, transition by transition."""
    measure, marks = problem.measure, set(task.checkpoints().tolist())
    n = problem.features.num_features
    inverse, chi, errors = PRIOR_VARIANCE * np.eye(n), np.zeros(n), []
    for i in range(task.transitions):
        v, v_next, w = features(data["state"][i]), features(data["next_state"][i]), data["weight"][i]
        delta = w * (v - problem.gamma * v_next)
        inverse_v = inverse @ v
        inverse -= np.outer(inverse_v, delta @ inverse) / (1 + delta @ inverse_v)
        chi += w * data["reward"][i] * v
        if i + 1 in marks:
            error = measure.features @ (inverse @ chi) - measure.values
            errors.append(np.sqrt(np.sum(measure.weights * error**2)))
    return np.array(errors)


def numpy_features(problem: LinearProblem) -> Callable[[np.ndarray], np.ndarray]:
    """The problem's features in NumPy, for one state."""
    if isinstance(problem.features, TableFeatures):
        table = np.asarray(problem.features.table)
        return lambda s: table[s]
    scale = np.asarray(problem.features.scale)  # pyright: ignore[reportAttributeAccessIssue]
    if isinstance(problem.features, SquareFeatures):
        return lambda s: s**2 / scale
    first, second = np.triu_indices(4)
    times = np.where(first == second, 1.0, 2.0)
    return lambda s: np.append(times * s[first] * s[second], 1.0) / scale


def seconds(function: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def matrix_rate() -> float:
    """Operations a second of a product of 600 x 600 matrices, the best of ten."""
    a = np.random.default_rng(0).normal(size=(600, 600))
    return 2 * 600**3 / min(seconds(lambda: a @ a)[0] for _ in range(10))


def measure_task(task: LinearTask, rounds: int, rate: float) -> tuple:
    problem = task.problem()
    runs = task.runs_per_draw or RUNS_PER_JOB.get(task.name, DEFAULT_RUNS_PER_JOB)
    experience = task.experience(problem, range(SEED, SEED + runs))
    n = problem.features.num_features
    estimator = RecursiveLinearBBO(ConjugatePosterior.isotropic(n, PRIOR_VARIANCE))
    error, checkpoints = LinearValueError.over(problem.measure), Checkpoints.at(task.checkpoints())

    def ours() -> np.ndarray:
        return np.asarray(
            learning_curves(jax.random.key(0), estimator, experience, problem.features, error, checkpoints)
        )

    data, features = first_run(experience), numpy_features(problem)
    ours()  # compiles
    our_times, their_times = [], []
    for _ in range(rounds):
        taken, curves = seconds(ours)
        our_times.append(taken / runs)
        taken, curve = seconds(lambda: numpy_run(task, problem, data, features))
        their_times.append(taken)
        np.testing.assert_allclose(curves[0], curve, rtol=1e-6)
    mine, theirs = float(np.median(our_times)), float(np.median(their_times))
    limit = 6 * n**2 * task.transitions / rate
    return (task.name, n, task.transitions, theirs, mine, theirs / mine, limit / mine)


def first_run(experience: Experience) -> dict[str, np.ndarray]:
    t = experience.transitions
    parts = {"state": t.observation, "next_state": t.next_observation, "reward": t.reward, "weight": t.weight}
    return {name: np.asarray(part[0]) for name, part in parts.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # both sides on one core
    with jax.enable_x64(True):
        rate = matrix_rate()
        rows = []
        for task in TASKS.values():
            rows.append(measure_task(task, arguments.rounds, rate))
            print(aligned(HEADER, rows[-1:]), flush=True)
    print("\n" + aligned(HEADER, rows))
    print(f"matrix rate of one core: {rate / 1e9:.1f} GFLOP/s; peer: numpy {metadata.version('numpy')}")
    if arguments.out is not None:
        arguments.out.mkdir(parents=True, exist_ok=True)
        origin = {**provenance(), "rounds": arguments.rounds, "seed": SEED, "matrix_rate": rate}
        result = {"rows": [dict(zip(HEADER, row, strict=True)) for row in rows], "origin": origin}
        (arguments.out / "linear_suite.json").write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
        (arguments.out / "linear_suite.md").write_text(page(rows, origin), encoding="utf-8")


def page(rows: list[tuple], origin: dict[str, Any]) -> str:
    return f"""# The linear suite: one run of BBO, ours against a NumPy loop

{markdown(HEADER, rows)}

Medians of {origin["rounds"]} turns. The limit is 6 n² operations a transition at the matrix rate of one core,
{origin["matrix_rate"] / 1e9:.1f} GFLOP/s; with few features the time goes into the steps of the loop, not arithmetic.

## Made by

```json
{json.dumps(origin, indent=2)}
```
"""


if __name__ == "__main__":
    main()
