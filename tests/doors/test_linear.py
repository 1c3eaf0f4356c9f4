"""`LinearBBO` as its users meet it: scikit-learn's verbs, any chunking, three widths."""

import copy
import inspect
import math
import pickle
from itertools import pairwise

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayesbellman as bb


def data(num_rows: int = 40, num_features: int = 3, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    v = rng.normal(size=(num_rows, num_features))
    return {
        "features": v,
        "rewards": rng.normal(size=num_rows),
        "next_features": 0.5 * v + 0.5 * rng.normal(size=(num_rows, num_features)),
        "discounts": np.where(rng.random(num_rows) < 0.1, 0.0, 0.9),
        "weights": rng.uniform(0.1, 3.0, size=num_rows),
    }


def rows(given: dict[str, np.ndarray], start: int, stop: int) -> tuple[np.ndarray, ...]:
    return tuple(array[start:stop] for array in given.values())


def test_the_two_line_start() -> None:
    """Three states in a ring, a reward of 1 on the way from the last to the first; the values are known."""
    v = np.eye(3)
    model = bb.LinearBBO(prior_variance=math.inf).fit(v, [0.0, 0.0, 1.0], np.roll(v, 1, axis=1), 0.9)
    expected = np.array([0.81, 0.9, 1.0]) / (1 - 0.9**3)
    np.testing.assert_allclose(model.predict(v), expected, rtol=1e-12)


def test_against_formulas_written_out() -> None:
    """Every fitted attribute from the textbook expressions, with a general prior and weights."""
    d = data()
    rng = np.random.default_rng(1)
    root = rng.normal(size=(3, 3))
    sigma0, mean0, noise = root @ root.T + np.eye(3), rng.normal(size=3), 0.4
    model = bb.LinearBBO(noise_variance=noise, prior_mean=mean0, prior_covariance=sigma0).fit(**d)
    v, w = d["features"], np.diag(d["weights"])
    shifted = v - d["discounts"][:, None] * d["next_features"]
    system = noise * np.linalg.inv(sigma0) + v.T @ w @ shifted
    omega = np.linalg.solve(system, noise * np.linalg.solve(sigma0, mean0) + v.T @ w @ d["rewards"])
    sigma_n = np.linalg.inv(np.linalg.inv(sigma0) + v.T @ w @ v / noise)
    b = d["rewards"] + d["discounts"] * (d["next_features"] @ omega)
    phi = sigma_n @ (np.linalg.solve(sigma0, mean0) + v.T @ w @ b / noise)
    np.testing.assert_allclose(model.omega_, omega, rtol=1e-10)
    np.testing.assert_allclose(model.posterior_mean_, phi, rtol=1e-10)
    np.testing.assert_allclose(model.posterior_covariance_, sigma_n, rtol=1e-9)
    np.testing.assert_allclose(
        model.value_covariance_, noise**2 * np.linalg.inv(system) @ np.linalg.inv(sigma_n) @ np.linalg.inv(system).T
    )
    np.testing.assert_allclose(model.effective_sample_size_, d["weights"].sum() ** 2 / (d["weights"] ** 2).sum())
    scale = 1 / np.sqrt(np.diag(noise * np.linalg.inv(sigma0) + v.T @ w @ v))
    np.testing.assert_allclose(model.condition_number_, np.linalg.cond(scale[:, None] * system * scale))
    jacobian = sigma_n @ (v.T @ w @ (d["discounts"][:, None] * d["next_features"])) / noise
    np.testing.assert_allclose(model.spectral_radius_, np.abs(np.linalg.eigvals(jacobian)).max())
    assert (model.rank_, model.n_features_in_, model.n_samples_seen_) == (3, 3, 40)


def test_predict_and_its_widths() -> None:
    d = data()
    model = bb.LinearBBO(noise_variance=0.4).fit(**d)
    query = np.random.default_rng(2).normal(size=(5, 3))
    values, std = model.predict(query, return_std=True)
    np.testing.assert_allclose(values, query @ model.omega_)
    np.testing.assert_allclose(std, np.sqrt(np.diag(query @ model.posterior_covariance_ @ query.T)))
    np.testing.assert_allclose(model.predict(query, return_std="epistemic")[1], std)
    np.testing.assert_allclose(model.predict(query, return_std="predictive")[1], np.sqrt(std**2 + 0.4))
    value_std = model.predict(query, return_std="value")[1]
    np.testing.assert_allclose(value_std, np.sqrt(np.diag(query @ model.value_covariance_ @ query.T)))
    np.testing.assert_array_equal(model.predict(query), values)


def test_samples_are_operators_from_the_posterior() -> None:
    """20,000 draws: means within 5 standard errors, variances within 5 x 1 % (Gaussian: relative error sqrt(2/n))."""
    model = bb.LinearBBO().fit(**data())
    draws = model.sample(jax.random.key(3), 20_000)
    assert draws.shape == (20_000, 3)
    assert draws.dtype == np.float64
    variance = np.diag(model.posterior_covariance_)
    assert (np.abs(draws.mean(0) - model.posterior_mean_) < 5 * np.sqrt(variance / 20_000)).all()
    assert (np.abs(draws.var(0) / variance - 1) < 5 * np.sqrt(2 / 20_000)).all()
    np.testing.assert_array_equal(model.sample(jax.random.key(3), 4), model.sample(3, 4))
    assert not np.array_equal(model.sample(3, 4), model.sample(4, 4))
    assert model.sample(0, 0).shape == (0, 3)


@settings(max_examples=30, deadline=None)
@given(
    cuts=st.lists(st.integers(0, 40), max_size=8).map(sorted),
    seed=st.integers(0, 2**32 - 1),
    order=st.randoms(use_true_random=False),
)
def test_any_chunking_in_any_order_gives_the_same_answer(cuts: list[int], seed: int, order) -> None:
    d = data(seed=seed)
    whole = bb.LinearBBO().fit(**d)
    edges = [0, *cuts, 40]
    pieces = [rows(d, a, b) for a, b in pairwise(edges)]
    order.shuffle(pieces)
    streamed = bb.LinearBBO().fit_stream(iter(pieces))
    online = bb.LinearBBO()
    for piece in pieces:
        online.partial_fit(*piece)
    for model in (streamed, online):
        np.testing.assert_allclose(model.omega_, whole.omega_, rtol=1e-9)
        np.testing.assert_allclose(model.posterior_covariance_, whole.posterior_covariance_, rtol=1e-9)
        assert model.n_samples_seen_ == 40


def test_fit_crosses_its_own_blocks_unnoticed(monkeypatch: pytest.MonkeyPatch) -> None:
    from bayesbellman.core import threads
    from bayesbellman.doors import transitions

    d = data(5000)
    whole = bb.LinearBBO().fit(**d)
    monkeypatch.setattr(transitions, "BLOCK_NUMBERS", 1)  # blocks of 1,024 rows
    np.testing.assert_allclose(bb.LinearBBO().fit(**d).omega_, whole.omega_, rtol=1e-12)
    monkeypatch.setattr(threads, "cores", lambda: 3)  # and workers of 2,048 rows or more
    np.testing.assert_allclose(bb.LinearBBO().fit(**d).omega_, whole.omega_, rtol=1e-12)


def test_fit_forgets_and_partial_fit_does_not() -> None:
    first, second = data(seed=1), data(seed=2)
    model = bb.LinearBBO().fit(**first).fit(**second)
    np.testing.assert_allclose(model.omega_, bb.LinearBBO().fit(**second).omega_)
    assert model.partial_fit(**first).n_samples_seen_ == 80


def test_a_scalar_discount_and_no_weights_are_the_obvious_arrays() -> None:
    d = data()
    short = bb.LinearBBO().fit(d["features"], d["rewards"], d["next_features"], 0.9)
    long = bb.LinearBBO().fit(d["features"], d["rewards"], d["next_features"], np.full(40, 0.9), np.ones(40))
    np.testing.assert_allclose(short.omega_, long.omega_, rtol=1e-12)
    assert short.effective_sample_size_ == long.effective_sample_size_ == 40


def test_scaling_all_weights_is_changing_the_noise() -> None:
    """Weights enter as w / sigma^2 only, so a common factor is a statement about the noise."""
    d = data()
    doubled = bb.LinearBBO(noise_variance=2.0).fit(**{**d, "weights": 2 * d["weights"]})
    plain = bb.LinearBBO(noise_variance=1.0).fit(**d)
    np.testing.assert_allclose(doubled.omega_, plain.omega_, rtol=1e-12)
    np.testing.assert_allclose(doubled.posterior_covariance_, plain.posterior_covariance_, rtol=1e-12)


def test_works_the_same_whatever_the_precision_of_jax(x64: None) -> None:
    d = data()
    inside = bb.LinearBBO().fit(**d)
    with jax.enable_x64(False):
        outside = bb.LinearBBO().fit(**d)
        draws = outside.sample(0, 3)
    np.testing.assert_array_equal(inside.omega_, outside.omega_)
    np.testing.assert_array_equal(inside.sample(0, 3), draws)


@pytest.mark.slow
def test_each_width_covers_what_it_is_about() -> None:
    """A ring of 3 states walked deterministically with Gaussian rewards: the targets' noise is the rewards', exactly.

    Over 1,000 data sets a 90 % band must hold, 90 % of the time: the true Bellman backup of the estimate (epistemic), a
    new target (predictive), the true value (value). Standard error sqrt(.9 .1 / 1000) = 0.95 %, 4 allowed. The
    operator's band, being about one backup only, holds the true value far less often.
    """
    trials, repeats, gamma, noise = 1_000, 6, 0.9, 0.5
    ring = np.roll(np.eye(3), 1, axis=1)
    v, v_next, mean_reward = np.tile(np.eye(3), (repeats, 1)), np.tile(ring, (repeats, 1)), np.array([1.0, -1.0, 0.5])
    truth = np.linalg.solve(np.eye(3) - gamma * ring, mean_reward)[0]
    rng = np.random.default_rng(0)
    held = {"epistemic": 0, "predictive": 0, "value": 0, "epistemic for the value": 0}
    for _ in range(trials):
        rewards = np.tile(mean_reward, repeats) + rng.normal(scale=np.sqrt(noise), size=3 * repeats)
        model = bb.LinearBBO(prior_variance=1e6, noise_variance=noise).fit(v, rewards, v_next, gamma)
        backup = mean_reward[0] + gamma * (ring @ model.omega_)[0]
        target = backup + rng.normal(scale=np.sqrt(noise))
        for name, about in (("epistemic", backup), ("predictive", target), ("value", truth)):
            value, std = model.predict(np.eye(3)[:1], return_std=name)
            held[name] += abs(value[0] - about) < 1.644854 * std[0]
            if name == "epistemic":
                held["epistemic for the value"] += abs(value[0] - truth) < 1.644854 * std[0]
    for name in ("epistemic", "predictive", "value"):
        assert abs(held[name] / trials - 0.9) < 4 * np.sqrt(0.9 * 0.1 / trials), held
    assert held["epistemic for the value"] / trials < 0.6


# ---------------------------------------------------------------------------------------- scikit-learn's conventions


def test_parameters_come_back_as_they_were_given() -> None:
    covariance = np.eye(3)
    model = bb.LinearBBO(prior_variance=2.0, prior_covariance=covariance)
    params = model.get_params()
    assert list(params) == list(inspect.signature(bb.LinearBBO).parameters)
    assert params["prior_covariance"] is covariance  # what sklearn.base.clone checks
    twin = type(model)(**params)
    assert all(twin.get_params()[name] is value for name, value in params.items())


def test_set_params_takes_effect_at_the_next_fit() -> None:
    d = data()
    model = bb.LinearBBO().fit(**d)
    before = model.omega_
    assert model.set_params(prior_variance=0.01) is model
    np.testing.assert_array_equal(model.omega_, before)
    np.testing.assert_allclose(model.fit(**d).omega_, bb.LinearBBO(prior_variance=0.01).fit(**d).omega_)
    with pytest.raises(ValueError, match="discounts contains 1"):
        model.set_params(proper_policy=True).partial_fit(np.eye(3), np.zeros(3), np.eye(3), 1.0)


def test_a_fitted_estimator_can_be_copied() -> None:
    d = data()
    model = bb.LinearBBO().fit(**d)
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(twin.partial_fit(**d).omega_, bb.LinearBBO().fit(**d).partial_fit(**d).omega_)
    assert model.n_samples_seen_ == 40


def test_set_params_changes_all_or_nothing() -> None:
    model = bb.LinearBBO()
    with pytest.raises(ValueError, match="noise_variance is -1"):
        model.set_params(prior_variance=3.0, noise_variance=-1)
    assert model.prior_variance == 10.0
    with pytest.raises(ValueError, match="no parameter 'alpha'; it has prior_variance"):
        model.set_params(alpha=1)


def test_repr_shows_what_was_changed() -> None:
    assert repr(bb.LinearBBO()) == "LinearBBO()"
    assert repr(bb.LinearBBO(prior_variance=10.0, noise_variance=0.5)) == "LinearBBO(noise_variance=0.5)"


def test_asking_before_data_is_an_error_of_both_kinds() -> None:
    """As scikit-learn's NotFittedError, so that code which catches either goes on working."""
    for ask in (lambda m: m.omega_, lambda m: m.predict([[1.0]]), lambda m: m.sample(0)):
        with pytest.raises(ValueError, match="has seen no data; call fit"):
            ask(bb.LinearBBO())
    assert not hasattr(bb.LinearBBO(), "omega_")
