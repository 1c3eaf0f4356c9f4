"""The off-policy study: its covariances against other roads to them, and that nothing missing is averaged away."""

import csv
from pathlib import Path

import jax
import numpy as np
import pytest

import bayesbellman as bb
from bayesbellman.data.datasets import TASKS
from bayesbellman.experiments.artefact import Done, Request
from bayesbellman.experiments.off_policy import ARTEFACT, analysis, sweep
from bayesbellman.experiments.off_policy.sweep import Batch
from bayesbellman.experiments.registry import TITLES, artefact

GAMMA = 0.8


def random_batch(rng: np.random.Generator, number: int = 30, size: int = 3) -> Batch:
    return Batch(
        features=rng.normal(size=(number, size)),
        rewards=rng.normal(size=number),
        next_features=0.3 * rng.normal(size=(number, size)),
        weights=rng.gamma(2.0, 0.5, size=number),
    )


def fit(batch: Batch, prior_variance: float = 1e4, noise_variance: float = 1.0) -> np.ndarray:
    model = bb.LinearBBO(prior_variance, noise_variance)
    return model.fit(*batch[:3], GAMMA, batch.weights).omega_


def test_sandwich_is_its_formula_one_transition_at_a_time() -> None:
    batch = random_batch(np.random.default_rng(0))
    omega, ridge = fit(batch, 10.0, 0.5), 0.5 / 10.0
    system, meat = ridge * np.eye(3), np.zeros((3, 3))
    for v, r, v_next, w in zip(*batch, strict=True):
        delta = r + GAMMA * v_next @ omega - v @ omega
        system += w * np.outer(v, v - GAMMA * v_next)
        meat += w**2 * delta**2 * np.outer(v, v)
    inverse = np.linalg.inv(system)
    found = sweep.sandwich_covariances(batch, GAMMA, omega, ridge).sandwich
    np.testing.assert_allclose(found, inverse @ meat @ inverse.T, rtol=1e-10)


def test_jackknife_is_what_leaving_each_transition_out_does() -> None:
    batch = random_batch(np.random.default_rng(1))
    omega = fit(batch, 10.0, 0.5)
    total = np.zeros((3, 3))
    for i in range(len(batch.rewards)):
        rest = Batch(*(np.delete(array, i, axis=0) for array in batch))
        move = fit(rest, 10.0, 0.5) - omega
        total += np.outer(move, move)
    found = sweep.sandwich_covariances(batch, GAMMA, omega, 0.5 / 10.0).jackknife
    np.testing.assert_allclose(found, total, rtol=1e-8)


def test_sandwich_is_the_spread_of_omega_where_the_posterior_is_too_narrow() -> None:
    """600 data sets of 300 weighted transitions on a ring of three states, with noise that depends on the state.

    A variance from 600 runs has a relative standard error of sqrt(2 / 600) = 5.8 %, the mean sandwich next to none; the
    sandwich may differ by 4 of them, 24 %, which leaves room for its bias of some percent. Weights are 0.25 or 4, with
    mean 1 and mean square 4, so the posterior's variance is about a quarter of the truth; less than a half is asked.
    """
    rng = np.random.default_rng(2)
    ring = np.roll(np.eye(3), 1, axis=1)
    sigma = np.array([0.3, 1.0, 0.6])
    noise_variance = float(np.mean(sigma**2))
    states = np.tile(np.arange(3), 100)
    omegas, sandwiches, posteriors = [], [], []
    for trial in range(600):
        weights = np.where(rng.random(300) < 0.2, 4.0, 0.25)
        batch = Batch(np.eye(3)[states], sigma[states] * rng.normal(size=300), ring[states], weights)
        weighted = weights[:, None] * batch.features
        system = weighted.T @ (batch.features - GAMMA * batch.next_features)
        omegas.append(np.linalg.solve(system, weighted.T @ batch.rewards))
        sandwiches.append(np.diag(sweep.sandwich_covariances(batch, GAMMA, omegas[-1], 0.0).sandwich))
        if trial < 20:  # it hardly differs between data sets
            model = bb.LinearBBO(1e6, noise_variance).fit(*batch[:3], GAMMA, weights)
            np.testing.assert_allclose(model.omega_, omegas[-1], rtol=1e-3, atol=1e-4)
            posteriors.append(np.diag(model.value_covariance_))
    spread = np.var(omegas, axis=0, ddof=1)
    np.testing.assert_allclose(np.mean(sandwiches, axis=0), spread, rtol=0.24)
    assert (np.mean(posteriors, axis=0) < 0.5 * spread).all()


def test_inflation_is_one_for_unit_weights_and_follows_the_effective_sample_size() -> None:
    assert sweep.weight_inflation(np.ones(7)) == 1.0
    weights = np.array([0.5, 0.5, 0.5, 2.5])  # mean 1
    share = weights.sum() ** 2 / np.sum(weights**2) / 4
    np.testing.assert_allclose(sweep.weight_inflation(weights), np.sqrt(1 / share))


def test_limit_is_what_endless_data_give() -> None:
    """The projected fixed point, against a fit to one transition per state, action and successor with its probability.

    Where the weight of an action is its ratio times how often it is taken, the ratio's denominator drops out.
    """
    with jax.enable_x64(True):
        problem = sweep.problem_of("disc_random_off", "weighted", 0)
        mdp, behaviour, target = problem.env, problem.behaviour, problem.target
    transition, reward = np.asarray(mdp.transition), np.asarray(mdp.reward)
    taken, wanted = np.asarray(behaviour.probabilities), np.asarray(target.probabilities)
    visits, step = np.full(len(taken), 1 / len(taken)), np.einsum("sa,sat->st", taken, transition)
    for _ in range(200):
        visits = visits @ step
    features = problem.measure.features
    rewards = np.einsum("sat,sat->sa", transition, reward)
    model = bb.LinearBBO(prior_variance=1e12).fit(
        np.repeat(features, taken.shape[1], axis=0),
        rewards.ravel(),
        transition.reshape(-1, len(features)) @ features,
        problem.gamma,
        (visits[:, None] * taken * (wanted / taken)).ravel(),
    )
    np.testing.assert_allclose(sweep.limit_values(problem), model.predict(features), atol=1e-5)
    squares = np.sum(visits[:, None] * taken * (wanted / taken) ** 2)
    np.testing.assert_allclose(sweep.limit_ess_share(problem), 1 / squares, rtol=1e-9)


def test_effective_sample_size_in_the_limit_is_that_of_many_gaussian_actions() -> None:
    """Against 2e5 actions: E[w^2] = 2.29 has a relative standard error of about 0.3 %; 1.5 % is allowed."""
    with jax.enable_x64(True):
        problem = sweep.problem_of("lqr_full_offpolicy", "weighted", 0)
    b, t = float(problem.behaviour.variance[0]), float(problem.target.variance[0])
    actions = np.sqrt(b) * np.random.default_rng(3).normal(size=200_000)
    weights = np.sqrt(b / t) * np.exp(-0.5 * actions**2 * (1 / t - 1 / b))
    np.testing.assert_allclose(sweep.limit_ess_share(problem), 1 / np.mean(weights**2), rtol=0.015)


@pytest.fixture(scope="module")
def cart_pole() -> tuple:
    """Two runs of the cart-pole at three sizes."""
    plan = ARTEFACT.plan(Request(quick=True, tasks=("lqr_full_offpolicy",)))
    return plan, {job.name: job.run() for job in plan.jobs}


def test_a_quick_run_leaves_tables_figure_and_report(cart_pole: tuple, tmp_path: Path) -> None:
    plan, results = cart_pole
    text = ARTEFACT.analyse(plan, Done(results, {}), tmp_path)
    assert "2 runs" in text
    assert {path.name for path in tmp_path.iterdir()} == {
        "curves.csv",
        "off_policy.png",
        "provenance.json",
        "report.md",
    }
    assert "No run is missing." in (tmp_path / "report.md").read_text(encoding="utf-8")
    with (tmp_path / "curves.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    mine = np.mean([result["weighted.rmse"][-1] for result in results.values()])
    (row,) = [r for r in rows if (r["data"], r["transitions"], r["quantity"]) == ("weighted", "30000", "rmse")]
    assert float(row["mean"]) == mine
    assert row["runs"] == "2"
    assert ARTEFACT.cells(tmp_path) == ARTEFACT.expected() == {}


def test_runs_repeat_and_seeds_differ(cart_pole: tuple) -> None:
    plan, results = cart_pole
    first, second = plan.jobs
    again = first.run()
    for name, numbers in results[first.name].items():
        np.testing.assert_array_equal(again[name], numbers)
    assert not np.array_equal(again["weighted.rmse"], results[second.name]["weighted.rmse"])


def test_data_of_the_target_policy_have_unit_weights(cart_pole: tuple) -> None:
    _, results = cart_pole
    for result in results.values():
        np.testing.assert_array_equal(result["on-policy.ess_share"], 1.0)
        np.testing.assert_array_equal(result["on-policy.rms_ess"], result["on-policy.rms_value"])
        assert (result["weighted.ess_share"] < 0.6).all()


def test_missing_and_failed_runs_are_listed(cart_pole: tuple, tmp_path: Path) -> None:
    """Means are over what is there, with its number; what is not is named by its seed."""
    plan, results = cart_pole
    first, second = plan.jobs
    done = Done({first.name: results[first.name]}, {second.name: "LinAlgError: Singular matrix"})
    text = ARTEFACT.analyse(plan, done, tmp_path)
    report = (tmp_path / "report.md").read_text(encoding="utf-8")
    for words in ("1 of 2 runs are missing, seeds 1.", "LinAlgError", "1 run, 1 missing"):
        assert words in text
        assert words in report
    titles = [axes.get_title() for axes in analysis.draw(analysis.collect(plan, done)).axes[:2]]
    assert all("1 run, 1 missing" in title for title in titles)


def test_a_task_without_any_run_is_listed(cart_pole: tuple) -> None:
    _, results = cart_pole
    plan = ARTEFACT.plan(Request(quick=True))
    done = Done(results, {})
    lines = analysis.missing_lines(plan, done, analysis.collect(plan, done))
    assert lines == ["disc_random_off: 2 of 2 runs are missing, seeds 0, 1."]


def test_numbers_that_are_not_finite_are_left_out_and_told(cart_pole: tuple) -> None:
    plan, results = cart_pole
    first, second = plan.jobs
    broken = {**results[first.name], "weighted.rmse": np.array([np.nan, 1.0, 1.0])}
    done = Done({**results, first.name: broken}, {})
    found = analysis.collect(plan, done)
    (row, *_) = [row for row in analysis.curve_rows(found) if row[1] == "weighted" and row[3] == "rmse"]
    assert row[4] == results[second.name]["weighted.rmse"][0]
    assert row[6] == 1
    assert any("rmse is not finite in 1 runs" in line for line in analysis.missing_lines(plan, done, found))


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (Request(tasks=("boyan",)), "there is no 'boyan'"),
        (Request(methods=("BBO",)), "no methods"),
        (Request(variants=("correct",)), "no variants"),
        (Request(seeds=0), "--seeds is 0"),
    ],
)
def test_what_is_not_there_is_refused(request_: Request, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ARTEFACT.plan(request_)


def test_the_plan_covers_both_tasks_up_to_their_whole_runs() -> None:
    plan = ARTEFACT.plan(Request(seeds=3))
    settings: dict = plan.settings
    assert len(plan.jobs) == 6
    for name, sizes in settings["sizes"].items():
        assert sizes[-1] == TASKS[name].transitions
        assert sizes == sorted(set(sizes))
    assert "off_policy" in TITLES
    assert artefact("off_policy") is ARTEFACT
