"""Figures that are no results: ``python docs/figures.py`` draws them into docs/images.

Those of docs/idea.md from seeds and nothing else, those of the studies of sparse rewards from committed curves.
"""

import csv
import sys
from collections import defaultdict
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayesbellman.core.types import BellmanSamples
from bayesbellman.evaluation.linear_system import LinearStatistics, linear_statistics, posterior_given_omega
from bayesbellman.evaluation.linear_system import solve_fixed_point as fixed_point
from bayesbellman.experiments.plotting import BLUE, FAINT, GREEN, INK, ORANGE, PINK, SKY, YELLOW, style
from bayesbellman.experiments.sparse.baseline import SAC, SAC_AT_OURS
from bayesbellman.experiments.sparse.drawing import draw_rewards_in_the_end
from bayesbellman.experiments.sparse_tasks.tasks import TASKS
from bayesbellman.nn.mlp import MLP
from bayesbellman.posterior.conjugate import ConjugatePosterior, GaussianState
from bayesbellman.posterior.map_estimate import MAPEstimate
from bayesbellman.posterior.randomised_prior import RandomisedPrior

IMAGES = Path(__file__).with_name("images")
RESULTS = Path(__file__).parents[1] / "results"
GAMMA, NOISE = 0.9, 0.15
GRID = np.linspace(0.0, 1.0, 201)
SCALE = 3.0
"""Of the prior functions"""
COLOURS = (BLUE, ORANGE, GREEN, PINK, SKY, YELLOW)


# -- a walk on a line, evaluated with linear features ------------------------------------------------------------------


def features(x: np.ndarray) -> np.ndarray:
    """Nine bumps between 0 and 1."""
    return np.exp(-0.5 * ((x[:, None] - np.linspace(0, 1, 9)) / 0.09) ** 2)


def walk(number: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """States, rewards and successors: one goes right by about 0.1, from 1 back to 0; the reward is a noisy hill."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 1, number)
    reward = np.exp(-0.5 * ((x - 0.7) / 0.12) ** 2) + rng.normal(scale=NOISE, size=number)
    return x, reward, (x + 0.1 + rng.normal(scale=0.02, size=number)) % 1.0


def model() -> ConjugatePosterior:
    """N(0, 9) on each coefficient of an operator; the noise is that of the reward."""
    return ConjugatePosterior(np.zeros(9), np.eye(9) / 9.0, np.asarray(NOISE**2))


def statistics(x: np.ndarray, reward: np.ndarray, x_next: np.ndarray) -> LinearStatistics:
    return linear_statistics(features(x), reward, features(x_next), np.asarray(GAMMA))


def band(axes: Axes, posterior: GaussianState, colour: str) -> None:
    """Mean and two deviations of what an operator drawn from the posterior gives."""
    predicted = model().predict(posterior, features(GRID))
    mean, width = predicted.mean, 2 * np.sqrt(predicted.epistemic)
    axes.fill_between(GRID, mean - width, mean + width, color=colour, alpha=0.25, lw=0)
    axes.plot(GRID, mean, color=colour, label="posterior of the operator: mean, two deviations")


def moving_targets() -> Figure:
    """One set of transitions, three ω: three sets of targets, three posteriors."""
    x, reward, x_next = walk(60, seed=0)
    known = statistics(x, reward, x_next)
    star = fixed_point(model(), known)
    figure = Figure(figsize=(9.5, 3.1))
    panels = figure.subplots(1, 3, sharey=True)
    titles = ("ω = 0: targets are rewards", "ω half way: targets have moved", "ω = ω*: the mean is the value function")
    for axes, share, title in zip(panels, (0.0, 0.5, 1.0), titles, strict=True):
        omega = share * star
        targets = reward + GAMMA * features(x_next) @ omega
        band(axes, posterior_given_omega(model(), known, omega), BLUE)
        axes.plot(x, targets, ".", color=INK, ms=4, label=r"targets  $b = r + \gamma\, V_\omega(s')$")
        axes.plot(GRID, features(GRID) @ omega, "--", color=ORANGE, label=r"value function  $V_\omega$")
        axes.set(xlabel="state", title=title)
    panels[0].set_ylabel("value")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def posterior_of_operators() -> Figure:
    """Operators drawn from the posterior, all applied to one value function, as data come in."""
    star = fixed_point(model(), statistics(*walk(4000, seed=1)))
    figure = Figure(figsize=(9.5, 3.0))
    panels = figure.subplots(1, 3, sharey=True)
    for axes, number in zip(panels, (0, 5, 40), strict=True):
        x, reward, x_next = walk(number, seed=2)
        posterior = posterior_given_omega(model(), statistics(x, reward, x_next), star)
        spread = np.linalg.cholesky(posterior.covariance)
        noise = np.random.default_rng(3).normal(size=(9, 8))
        axes.plot(GRID, features(GRID) @ (posterior.mean[:, None] + spread @ noise), color=SKY, lw=0.8)
        axes.plot(GRID, features(GRID) @ posterior.mean, color=BLUE, lw=2)
        axes.plot(x, reward + GAMMA * features(x_next) @ star, ".", color=INK, ms=4)
        axes.set(xlabel="state", title=f"{number} transitions" if number else "no data: the prior", ylim=(-8, 10))
    panels[0].set_ylabel("Bellman operator's output")
    return figure


# -- an ensemble with prior functions ----------------------------------------------------------------------------------


def prior_functions() -> Figure:
    """Members before and after training: they agree where data are."""
    rng = np.random.default_rng(4)
    x = np.concatenate([rng.uniform(0.15, 0.3, 10), rng.uniform(0.55, 0.7, 10)]).astype(np.float32)
    y = (np.sin(8 * x) + rng.normal(scale=0.03, size=20)).astype(np.float32)
    member = MAPEstimate(partial(MLP.glorot, num_inputs=2, hidden=(32, 32), activation=jnp.tanh), optax.adam(3e-3))
    ensemble = RandomisedPrior(member, len(COLOURS), "function", prior_scale=SCALE)
    samples = BellmanSamples(_inputs(x), jnp.asarray(y), jnp.ones(20))

    @jax.jit
    def trained(key: jax.Array) -> tuple:
        start = ensemble.init(key)

        def one(state, key):
            return ensemble.update(key, state, samples)[0], None

        return start, jax.lax.scan(one, start, jax.random.split(key, 2000))[0]

    before, after = trained(jax.random.key(6))
    grid = _inputs(GRID.astype(np.float32))
    figure = Figure(figsize=(9.5, 3.2))
    left, right, below = figure.subplots(1, 3)
    priors = SCALE * jax.vmap(lambda prior: prior(grid))(before.priors)
    members = jax.vmap(lambda each: each(grid))(ensemble.members(after))
    for colour, prior, values in zip(COLOURS, np.asarray(priors), np.asarray(members), strict=True):
        left.plot(GRID, prior, color=colour, lw=1)
        right.plot(GRID, values, color=colour, lw=1)
    right.plot(x, y, ".", color=INK, ms=5)
    below.plot(GRID, np.asarray(members).std(axis=0), color=BLUE)
    below.plot(x, np.zeros(20), "|", color=INK, ms=8)
    left.set(xlabel="input", title="prior functions: fixed, random, one a member")
    right.set(xlabel="input", title="members: prior function + trained network")
    below.set(xlabel="input", title="their disagreement, and where data are", ylim=(0, None))
    return figure


def _inputs(x: np.ndarray) -> jax.Array:
    """Spread out, with a constant beside each: networks without biases at the start all pass through 0."""
    return jnp.stack([8 * jnp.asarray(x) - 4, 4 * jnp.ones(len(x))], axis=-1)


# -- exploration in a corridor -----------------------------------------------------------------------------------------

LENGTH, MEMBERS, EPISODES, RUNS = 30, 8, 60, 20


def planned(priors: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Each member's values (left, right) in a corridor: what was seen is known, elsewhere is its prior function.

    Nothing is rewarded, and an episode lasts as long as the corridor is; so values of what was seen are those of its
    successors, less a little for the time it takes.
    """
    values = np.where(seen, 0.0, priors)
    places = np.stack([np.maximum(np.arange(LENGTH) - 1, 0), np.minimum(np.arange(LENGTH) + 1, LENGTH - 1)], axis=1)
    for _ in range(LENGTH):
        best = values.max(axis=-1)
        values = np.where(seen, 0.98 * best[:, places], priors)
    return values


def explored(how: str, seed: int) -> np.ndarray:
    """The furthest place reached, episode by episode."""
    rng = np.random.default_rng(seed)
    priors = rng.normal(size=(MEMBERS, LENGTH, 2))
    seen, furthest = np.zeros((LENGTH, 2), bool), []
    reached = 0
    for _ in range(EPISODES):
        values = planned(priors, seen) if how != "random actions" else priors
        place, member = 0, rng.integers(MEMBERS)
        for _ in range(LENGTH):
            if how == "a new member at each step":
                member = rng.integers(MEMBERS)
            right = rng.integers(2) if how == "random actions" else int(np.argmax(values[member, place]))
            seen[place, right] = True
            place = min(place + 1, LENGTH - 1) if right else max(place - 1, 0)
            reached = max(reached, place)
        furthest.append(reached)
    return np.array(furthest)


def corridor() -> Figure:
    """How far one gets, by what one follows."""
    figure = Figure(figsize=(6.0, 3.2))
    axes = figure.subplots()
    for how, colour in (
        ("one member an episode", BLUE),
        ("a new member at each step", ORANGE),
        ("random actions", FAINT),
    ):
        runs = np.stack([explored(how, seed) for seed in range(RUNS)])
        low, middle, high = np.quantile(runs, (0.25, 0.5, 0.75), axis=0)
        axes.fill_between(np.arange(1, EPISODES + 1), low, high, color=colour, alpha=0.2, lw=0)
        axes.plot(np.arange(1, EPISODES + 1), middle, color=colour, label=how)
    axes.set(xlabel="episodes", ylabel="furthest place reached", xlim=(1, EPISODES), ylim=(0, LENGTH))
    axes.legend(loc="lower right")
    return figure


# -- results, drawn for a page -----------------------------------------------------------------------------------------


def curves_of(study: str, *names: str) -> dict[str, dict[str, np.ndarray]]:
    """Of a study of sparse rewards, by group and name; a column for each run."""
    curves: dict[str, dict[str, dict[str, list[float]]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    with (RESULTS / study / "curves.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            for name in names:
                curves[row["group"]][name][row["seed"]].append(float(row[name]))
    return {group: {name: np.array(list(runs[name].values())).T for name in names} for group, runs in curves.items()}


def cartpole_levers() -> Figure:
    """Rewards found and disagreement in the end, lever by lever."""
    return draw_rewards_in_the_end(curves_of("cartpole_levers", "rewarded_steps", "disagreement"))


def sparse_tasks() -> Figure:
    """Every run's return on the two tasks for which nothing was tuned; what counts as success is dotted."""
    groups = curves_of("sparse_tasks", "step", "return")
    figure = Figure(figsize=(8.0, 3.0))
    panels = figure.subplots(1, len(TASKS))
    for axes, task in zip(panels, TASKS.values(), strict=True):
        for agent, colour in {"RP-BBAC": BLUE, SAC: ORANGE, SAC_AT_OURS: GREEN}.items():
            found = groups[f"{task.name}, {agent}"]
            axes.plot(found["step"] / 1e3, found["return"], color=colour, lw=1)[0].set_label(agent)
        axes.axhline(task.success, color=FAINT, lw=0.8, ls=":")
        axes.set_title(f"sparse {task.name}")
        axes.set_xlabel("thousands of steps")
    panels[0].set_ylabel("return of the mean action")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


FIGURES = {
    "moving_targets.png": moving_targets,
    "posterior_of_operators.png": posterior_of_operators,
    "prior_functions.png": prior_functions,
    "corridor.png": corridor,
    "cartpole_levers.png": cartpole_levers,
    "sparse_tasks.png": sparse_tasks,
}


def main(out: Path = IMAGES) -> None:
    """Draw all of them."""
    out.mkdir(parents=True, exist_ok=True)
    for name, draw in FIGURES.items():
        with style():
            draw().savefig(out / name, metadata={"Software": None})


if __name__ == "__main__":
    main(*(Path(argument) for argument in sys.argv[1:]))
