"""What is run: the exact posterior on the first N transitions of a run, weighted, and on data of the target policy.

Both tasks are the correct ones, on our own random numbers, in float64. A job is one run, so that a run that fails is
missing alone.
"""

from functools import lru_cache, partial
from typing import NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float

from bayesbellman.data.datasets import TASKS
from bayesbellman.data.problems import EvaluationMeasure, LinearProblem
from bayesbellman.doors.linear import LinearBBO
from bayesbellman.envs.finite import FiniteMDP
from bayesbellman.experiments.artefact import Arrays, Job, Plan, Request, choose, refuse
from bayesbellman.nn.policies import LinearGaussianPolicy, TabularPolicy

PRIOR_VARIANCE = 1e4
"""Beforehand values then have deviations of 300 to 800; they are about 10 in size. The prior is out of the picture."""
Z90 = 1.644854
MOST_STATES = 500
"""Of more states than this, every so many-th is evaluated at."""


class Study(NamedTuple):
    """How a task is run here."""

    smallest: int
    """The least N; more than twice the number of features, below which the fit is mostly noise."""
    runs: int


STUDIES = {"disc_random_off": Study(500, 40), "lqr_full_offpolicy": Study(300, 80)}
QUICK_RUNS, SIZES, QUICK_SIZES = 2, 8, 3
DATA = ("weighted", "on-policy")
"""Transitions of the behaviour policy, weighted; as many of the target policy itself."""


class Batch(NamedTuple):
    """Transitions of one run, in features."""

    features: Float[np.ndarray, "N n"]
    rewards: Float[np.ndarray, " N"]
    next_features: Float[np.ndarray, "N n"]
    weights: Float[np.ndarray, " N"]

    def first(self, number: int) -> "Batch":
        return Batch(*(array[:number] for array in self))


class Place(NamedTuple):
    """Where estimates are judged, and what endless data give: values, and effective sample size as a share of N."""

    mu: Float[np.ndarray, " M"]
    features: Float[np.ndarray, "M n"]
    truth: Float[np.ndarray, " M"]
    limit: Float[np.ndarray, " M"]
    ess_share: float


def plan(request: Request) -> Plan:
    """Every task asked for; ``quick`` is a few runs at a few sizes."""
    refuse("off_policy", request, "methods", "variants")
    tasks = choose("tasks", request.tasks, tuple(STUDIES))
    if request.seeds is not None and request.seeds < 1:
        raise ValueError(f"--seeds is {request.seeds}; accepted is a number >= 1")
    most = request.seeds if request.seeds is not None else QUICK_RUNS if request.quick else None
    runs = {name: STUDIES[name].runs if most is None else most for name in tasks}
    sizes = {name: data_sizes(name, QUICK_SIZES if request.quick else SIZES) for name in tasks}
    jobs = [
        Job(f"{name}.{seed:05d}", 1, partial(run_job, name, seed, tuple(sizes[name])))
        for name in tasks
        for seed in range(runs[name])
    ]
    settings = {"tasks": list(tasks), "runs": runs, "sizes": sizes, "prior_variance": PRIOR_VARIANCE}
    return Plan(settings, "runs", tuple(jobs))


def data_sizes(name: str, number: int) -> list[int]:
    """Numbers of transitions in equal ratios, up to the whole run."""
    return np.geomspace(STUDIES[name].smallest, TASKS[name].transitions, number).round().astype(int).tolist()


def run_job(name: str, seed: int, sizes: tuple[int, ...]) -> Arrays:
    """For each kind of data and each quantity, ``data.quantity``: its values at the sizes, for one run."""
    found = {}
    for data in DATA:
        with jax.enable_x64(True):
            problem = problem_of(name, data, draw_of(name, seed))
            batch = one_run(problem, seed, sizes[-1])
        place = _place(name, data, draw_of(name, seed))
        rows = [measure(batch.first(size), problem.gamma, place) for size in sizes]
        found |= {f"{data}.{quantity}": np.array([row[quantity] for row in rows]) for quantity in rows[0]}
    return found


def draw_of(name: str, seed: int) -> int:
    """Each run has a draw of the random process to itself, so that runs are independent."""
    return seed if TASKS[name].runs_per_draw is not None else 0


@lru_cache(maxsize=8)
def problem_of(name: str, data: str, draw: int) -> LinearProblem:
    """The task's problem, or the same with the target policy as behaviour policy. Call it in double precision."""
    problem = TASKS[name].problem(draw=draw)
    if data == "weighted":
        return problem
    return LinearProblem(
        problem.env, problem.target or problem.behaviour, None, problem.features, problem.gamma, problem.measure
    )


@lru_cache(maxsize=8)
def _place(name: str, data: str, draw: int) -> Place:
    with jax.enable_x64(True):
        problem = problem_of(name, data, draw)
        limit, share = limit_values(problem), limit_ess_share(problem)
    every = -(-len(limit) // MOST_STATES)
    mu, features, truth, limit = (array[::every] for array in (*problem.measure, limit))
    return Place(mu / mu.sum(), features, truth, limit, share)


def one_run(problem: LinearProblem, seed: int, transitions: int) -> Batch:
    """One trajectory. Without a target policy, weights are 1."""
    told = problem.experience([seed], 1, transitions).transitions
    described = eqx.filter_jit(problem.features)
    return Batch(
        *(
            np.asarray(array[0], dtype=np.float64)
            for array in (described(told.observation), told.reward, described(told.next_observation), told.weight)
        )
    )


def limit_values(problem: LinearProblem) -> Float[np.ndarray, " M"]:
    """What weighted estimates tend to at the evaluated states: the projected fixed point under the behaviour's states.

    Exact from a finite process's tables. The quadratic features hold the truth, which is then the limit.
    """
    measure: EvaluationMeasure = problem.measure
    if not isinstance(problem.env, FiniteMDP):
        return measure.values
    behaviour, target = problem.behaviour, problem.target or problem.behaviour
    assert isinstance(behaviour, TabularPolicy)
    assert isinstance(target, TabularPolicy)
    transition, reward = (np.asarray(x, dtype=np.float64) for x in (problem.env.transition, problem.env.reward))
    pi = np.asarray(target.probabilities, dtype=np.float64)
    step, rewards = np.einsum("sa,sat->st", pi, transition), np.einsum("sa,sat,sat->s", pi, transition, reward)
    weighted = _stationary(problem.env, behaviour)[:, None] * measure.features
    matrix = weighted.T @ (measure.features - problem.gamma * step @ measure.features)
    return measure.features @ np.linalg.solve(matrix, weighted.T @ rewards)


def limit_ess_share(problem: LinearProblem) -> float:
    """``1 / E[w^2]``: what the effective sample size tends to as a share of N."""
    behaviour, target = problem.behaviour, problem.target
    if target is None:
        return 1.0
    if isinstance(behaviour, LinearGaussianPolicy) and isinstance(target, LinearGaussianPolicy):
        b, t = (np.asarray(policy.variance, dtype=np.float64) for policy in (behaviour, target))
        return float(np.prod(np.sqrt(t * (2 * b - t)) / b))  # both have the same mean
    assert isinstance(behaviour, TabularPolicy)
    assert isinstance(target, TabularPolicy)
    assert isinstance(problem.env, FiniteMDP)
    b, t = (np.asarray(policy.probabilities, dtype=np.float64) for policy in (behaviour, target))
    return float(1 / (_stationary(problem.env, behaviour) @ np.sum(t**2 / b, axis=1)))


def _stationary(mdp: FiniteMDP, policy: TabularPolicy) -> Float[np.ndarray, " S"]:
    """How often the policy is in each state."""
    transition, pi = (np.asarray(x, dtype=np.float64) for x in (mdp.transition, policy.probabilities))
    n = len(pi)
    system = np.vstack([np.einsum("sa,sat->st", pi, transition).T - np.eye(n), np.ones(n)])
    return np.linalg.lstsq(system, np.eye(n + 1)[-1], rcond=None)[0]


def td_errors(batch: Batch, gamma: float, omega: Float[np.ndarray, " n"]) -> Float[np.ndarray, " N"]:
    """``delta = r + gamma v'^T omega - v^T omega``."""
    return batch.rewards + (gamma * batch.next_features - batch.features) @ omega


def weight_inflation(weights: Float[np.ndarray, " N"]) -> float:
    """``sqrt(sum w^2 / sum w)``: ``sqrt(N / effective sample size)`` for weights of mean 1."""
    return float(np.sqrt(np.sum(weights**2) / np.sum(weights)))


class Sandwiches(NamedTuple):
    """Two estimates of the covariance of omega from the data's own TD errors."""

    sandwich: Float[np.ndarray, "n n"]
    jackknife: Float[np.ndarray, "n n"]


def sandwich_covariances(batch: Batch, gamma: float, omega: Float[np.ndarray, " n"], ridge: float) -> Sandwiches:
    """``D^-1 (sum w^2 delta^2 v v^T) D^-T`` with ``D = ridge I + sum w v (v - gamma v')^T``.

    The large-sample covariance of omega where TD errors at the limit are uncorrelated in time, whatever their variance
    depends on. ``ridge`` is ``sigma^2 / prior_variance``. The sandwich takes delta from the fit itself. The jackknife
    takes each from the fit without its transition, which is ``delta / (1 - h)``, ``h = w (v - gamma v')^T D^-1 v``:
    it is ``sum_i (omega_-i - omega) (omega_-i - omega)^T``.
    """
    gaps = batch.features - gamma * batch.next_features
    weighted = batch.weights[:, None] * batch.features
    inverse = np.linalg.inv(ridge * np.eye(len(omega)) + weighted.T @ gaps)
    influence = weighted @ inverse.T  # rows w D^-1 v
    errors = batch.rewards - gaps @ omega
    left_out = errors / (1 - np.sum(gaps * influence, axis=1))

    def covariance(of: Float[np.ndarray, " N"]) -> Float[np.ndarray, "n n"]:
        moves = of[:, None] * influence
        return moves.T @ moves

    return Sandwiches(covariance(errors), covariance(left_out))


def measure(batch: Batch, gamma: float, place: Place) -> dict[str, float]:
    """Fit, with the noise variance from a first fit's weighted TD errors, and hold bands against truth and limit.

    Widths of the value are the posterior's, the same times `weight_inflation` (``ess``), and those of
    `sandwich_covariances`. ``rms_`` and ``mean_`` are of a width over mu; ``cover_`` is the share of mu whose 90 % band
    holds the true value, ``cover_limit_`` the value in the limit.
    """
    first = LinearBBO(PRIOR_VARIANCE, 1.0).fit(*batch[:3], gamma, batch.weights)
    squares = td_errors(batch, gamma, first.omega_) ** 2
    noise = float(np.sum(batch.weights * squares) / np.sum(batch.weights))
    model = LinearBBO(PRIOR_VARIANCE, noise).fit(*batch[:3], gamma, batch.weights)
    values, operator = model.predict(place.features, return_std=True)
    _, value = model.predict(place.features, return_std="value")
    widths = {"value": value, "ess": weight_inflation(batch.weights) * value}
    covariances = sandwich_covariances(batch, gamma, model.omega_, noise / PRIOR_VARIANCE)
    for name, covariance in covariances._asdict().items():
        widths[name] = np.sqrt(np.sum((place.features @ covariance) * place.features, axis=1))

    def rms(x: Float[np.ndarray, " M"]) -> float:
        return float(np.sqrt(place.mu @ x**2))

    found = {
        "rmse": rms(values - place.truth),
        "rmse_limit": rms(values - place.limit),
        "noise_variance": noise,
        "ess_share": model.effective_sample_size_ / len(batch.rewards),
        "ess_share_limit": place.ess_share,
        "largest_weight": float(batch.weights.max()),
    }
    for name, width in {"operator": operator, **widths}.items():
        found |= {f"rms_{name}": rms(width), f"mean_{name}": float(place.mu @ width)}
    for name, width in widths.items():
        found[f"cover_{name}"] = float(place.mu @ (np.abs(values - place.truth) <= Z90 * width))
        found[f"cover_limit_{name}"] = float(place.mu @ (np.abs(values - place.limit) <= Z90 * width))
    return found
