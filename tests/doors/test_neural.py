"""`NeuralBBO`: against `LinearBBO` where it can be, its widths, its habits, and what it refuses."""

from collections.abc import Iterator

import jax
import numpy as np
import pytest

import bayesbellman as bb
from bayesbellman.core.errors import NotFittedError
from bayesbellman.doors.neural_fit import checked_data

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (600, 1))
X_NEXT = np.clip(X + 0.1 * RNG.normal(size=X.shape), -1, 1)
REWARDS = np.sin(3 * X[:, 0]) + 0.1 * RNG.normal(size=600)
GAMMA = 0.8
FAST = {"hidden": (32,), "steps": 400, "batch_size": 128}


@pytest.fixture(autouse=True)
def promotion() -> Iterator[None]:
    """optax's Adam mixes integers and floats, which strict promotion refuses."""
    with jax.numpy_dtype_promotion("standard"):
        yield


def powers(x: np.ndarray) -> np.ndarray:
    return np.hstack([x**k for k in range(10)])


def truth(x: np.ndarray) -> np.ndarray:
    """By `LinearBBO` with ten powers, which represent these values closely."""
    return bb.LinearBBO(prior_variance=1e6).fit(powers(X), REWARDS, powers(X_NEXT), GAMMA).predict(powers(x))


def test_without_hidden_layers_it_is_the_linear_answer() -> None:
    """A linear function with a bias, no prior, all data in each step: LSTD's, to what Adam's last steps leave."""
    model = bb.NeuralBBO(hidden=(), prior_weight=0.0, batch_size=600, upper_rate=0.01, steps=5000, scale_inputs=False)
    model.fit(X, REWARDS, X_NEXT, GAMMA)
    features, next_features = (np.hstack([x, np.ones_like(x)]) for x in (X, X_NEXT))
    exact = bb.LinearBBO(prior_variance=float("inf")).fit(features, REWARDS, next_features, GAMMA)
    np.testing.assert_allclose(model.predict(X), exact.predict(features), atol=0.03)


@pytest.mark.parametrize("rule", ["two_timescales", "direct"])
def test_values_come_close_to_the_truth(rule: str) -> None:
    """Values have a deviation of 1.7 over the data; the error must be below a fifth of that."""
    model = bb.NeuralBBO(**{**FAST, "steps": 2000}, rule=rule, seed=1).fit(X, REWARDS, X_NEXT, GAMMA)
    error = np.sqrt(np.mean((model.predict(X) - truth(X)) ** 2))
    assert truth(X).std() > 1.5
    assert error < 0.34
    assert model.losses_.shape == (2000,)


def test_ends_are_not_bootstrapped() -> None:
    """Discount 0 everywhere: values are the mean rewards."""
    model = bb.NeuralBBO(**FAST).fit(X, REWARDS, X_NEXT, 0.0)
    assert np.sqrt(np.mean((model.predict(X) - np.sin(3 * X[:, 0])) ** 2)) < 0.1


def test_weights_count() -> None:
    """What weighs nothing is not learnt from."""
    rewards = np.where(np.arange(600) < 300, REWARDS, 50.0)
    weights = (np.arange(600) < 300).astype(float)
    model = bb.NeuralBBO(**FAST).fit(X, rewards, X_NEXT, 0.0, weights)
    assert np.abs(model.predict(X)).max() < 3


def test_an_ensemble_is_less_sure_where_there_are_no_data() -> None:
    model = bb.NeuralBBO(**FAST, posterior="randomised_prior", num_members=6, noise_variance=0.05)
    values, std = model.fit(X, REWARDS, X_NEXT, GAMMA).predict(np.array([[0.0], [4.0]]), return_std=True)
    assert values.shape == std.shape == (2,)
    assert std[1] > 3 * std[0] > 0
    draws = model.sample(0, 50)(np.array([[0.0], [4.0]]))
    assert draws.shape == (50, 2)
    assert len(np.unique(draws[:, 1])) > 1


LINE = {"hidden": (), "posterior": "randomised_prior", "num_members": 200, "scale_inputs": False, "batch_size": 10_000}
"""A line, by members enough to tell their covariance: a deviation of 200 draws has an error of 5 %"""
QUICKLY = {"steps": 1_000, "lower_steps": 1, "lower_rate": 0.01, "upper_rate": 0.01}


def with_bias(x: np.ndarray) -> np.ndarray:
    return np.hstack([x, np.ones_like(x)])


def test_a_line_s_widths_are_the_posterior_s_given_the_noise_and_nothing_without_it() -> None:
    """Without a prior ``Sigma_N = sigma^2 (X^T W X)^-1``, of which ensembles with noise are draws: within 4 errors of
    5 % each. Data of a smaller weight have more noise and count for less, so that only both together come out right.
    """
    rng = np.random.default_rng(1)
    x, weights = rng.normal(size=(40, 1)), np.where(np.arange(40) < 20, 1.0, 0.25)
    places = np.array([[-1.0], [0.0], [2.0]])
    gram = with_bias(x).T @ (weights[:, None] * with_bias(x))
    exact = np.sqrt(np.sum(with_bias(places) @ np.linalg.inv(gram) * with_bias(places), axis=1))
    model = bb.NeuralBBO(**LINE, **QUICKLY, prior_weight=0.0)
    mean, std = model.fit(x, 0.5 * x[:, 0], x, 0.0, weights).predict(places, return_std=True)
    np.testing.assert_allclose(std, exact, rtol=0.2)
    np.testing.assert_allclose(mean, 0.5 * places[:, 0], atol=4 * exact.max() / np.sqrt(200))
    sure = bb.NeuralBBO(**LINE, **QUICKLY, prior_weight=0.0, target_noise=False).fit(x, 0.5 * x[:, 0], x, 0.0)
    assert sure.predict(places, return_std=True)[1].max() < 0.05 * exact.min()  # what Adam's last steps leave


def test_data_that_come_later_change_no_noise_of_earlier_ones() -> None:
    """Else the noise is averaged away, call by call of `partial_fit`, and the ensemble grows too sure."""
    model = bb.NeuralBBO(**LINE, noise_variance=4.0)
    first, more = (
        checked_data((X[at], REWARDS[at], X[at], 0.0), 1, proper_policy=False) for at in (slice(50), slice(9))
    )
    rows = model._member_rewards(first, jax.random.key(0))
    later = model._member_rewards(first.followed_by(more), jax.random.key(0))
    np.testing.assert_array_equal(later[:, :50], rows)
    noise = np.asarray(later) - np.concatenate([REWARDS[:50], REWARDS[:9]])
    assert len(np.unique(noise)) > 0.99 * noise.size  # each member and datum has its own
    assert abs(noise.std() / 2.0 - 1) < 4 / np.sqrt(2 * noise.size)  # four errors of a deviation


def test_prior_functions_are_each_member_s_own_and_as_large_as_asked_for() -> None:
    """After a step that moves next to nothing: members are their start and their prior function, times its scale."""
    still = {**LINE, "hidden": (16,), "num_members": 5, "steps": 1, "lower_rate": 1e-9, "upper_rate": 1e-9}
    at = {
        scale: np.stack(
            [
                bb.NeuralBBO(**still, prior_scale=scale).fit(X, REWARDS, X_NEXT, 0.0).sample(k, 1)(X)[0]
                for k in range(30)
            ]
        )
        for scale in (0.0, 1.0, 3.0)
    }
    priors = at[1.0] - at[0.0]  # the same members are drawn, by the same keys
    np.testing.assert_allclose(at[3.0] - at[0.0], 3 * priors, atol=1e-5)
    assert len(np.unique(np.round(priors[:, 0], 6))) == 5
    assert np.abs(priors).max() > 0.1


def test_the_penalty_draws_a_member_to_its_prior_function() -> None:
    """With a large one nothing is learnt, and what is left of a member is its prior function and not its start."""
    drawn = {**LINE, "hidden": (16,), "num_members": 5, "steps": 400, "lower_rate": 0.01, "upper_rate": 0.05}
    strong = bb.NeuralBBO(**drawn, prior_weight=1e4, prior_scale=0.0).fit(X, REWARDS, X_NEXT, 0.0)
    values, std = strong.predict(X, return_std=True)
    assert max(np.abs(values).max(), std.max()) < 0.02
    assert strong.set_params(prior_scale=1.0).fit(X, REWARDS, X_NEXT, 0.0).predict(X, return_std=True)[1].max() > 0.1


def test_one_seed_repeats_and_two_differ() -> None:
    settings = {**FAST, "steps": 30}
    first, again, other = (
        bb.NeuralBBO(**settings, seed=s).fit(X, REWARDS, X_NEXT, GAMMA).predict(X) for s in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_more_data_train_on() -> None:
    model = bb.NeuralBBO(**{**FAST, "steps": 40}).partial_fit(X[:300], REWARDS[:300], X_NEXT[:300], GAMMA)
    before = model.predict(X)
    model.partial_fit(X[300:], REWARDS[300:], X_NEXT[300:], GAMMA)
    assert (model.steps_, model.n_samples_seen_, model.n_features_in_) == (80, 600, 1)
    assert model.losses_.shape == (80,)
    assert not np.array_equal(before, model.predict(X))


@pytest.mark.parametrize("constant", [9.81, 0.1, 1e8, 0.0])
def test_a_constant_column_says_nothing(constant: float) -> None:
    """Whatever its deviation is after rounding: values of the same rows in float32 must be the same values."""
    column = np.full((600, 1), constant)
    here, there = np.hstack([X, column]), np.hstack([X_NEXT, column.astype(np.float32)])
    model = bb.NeuralBBO(hidden=(8,), steps=50).fit(here, REWARDS, there, GAMMA)
    np.testing.assert_allclose(model.predict(here.astype(np.float32)), model.predict(here), atol=1e-3)
    assert np.abs(model.predict(here)).max() < 20


def test_numbers_beyond_squaring_are_refused() -> None:
    with pytest.raises(ValueError, match="observations: column 0 has numbers so large"):
        bb.NeuralBBO(**FAST).fit(X * 1e200, REWARDS, X_NEXT, GAMMA)


def test_numbers_of_other_types_are_numbers_too() -> None:
    bb.NeuralBBO(prior_weight=np.float32(0.1), prior_scale=np.int64(3))  # pyright: ignore[reportArgumentType]
    for name in ("target_noise", "scale_inputs", "proper_policy"):
        with pytest.raises(TypeError, match=rf"{name} is 'no' \(str\); accepted are True and False"):
            bb.NeuralBBO(**{name: "no"})  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="hidden is 8; accepted is a tuple"):
        bb.NeuralBBO(hidden=8)  # pyright: ignore[reportArgumentType]


def test_observations_and_actions() -> None:
    actions = RNG.uniform(-1, 1, 600)
    model = bb.NeuralBBO(**FAST).fit((X, actions), REWARDS + actions, (X_NEXT, np.zeros(600)), 0.0)
    low, high = (model.predict((np.zeros((1, 1)), np.array([a]))) for a in (-0.8, 0.8))
    assert high[0] - low[0] > 1.0
    with pytest.raises(ValueError, match="observations: 2 observations but 3 actions"):
        model.predict((np.zeros((2, 1)), np.zeros(3)))


def test_scikit_learn_s_conventions() -> None:
    model = bb.NeuralBBO(hidden=(8,), seed=3)
    assert repr(model) == "NeuralBBO(hidden=(8,), seed=3)"
    assert bb.NeuralBBO(**model.get_params()).get_params() == model.get_params()
    with pytest.raises(ValueError, match="NeuralBBO has no parameter 'layers'"):
        model.set_params(layers=2)


def test_set_params_takes_effect_at_the_next_fit() -> None:
    """A fit keeps its members and its noise; only how it is trained on may change on the way."""
    settings = {**FAST, "steps": 20, "posterior": "randomised_prior", "num_members": 2}
    model = bb.NeuralBBO(**settings).fit(X, REWARDS, X_NEXT, GAMMA)
    _, deviation = model.predict(X, return_std=True)
    drawn = model.sample(0, 200)(X[:1])
    model.set_params(posterior="map", num_members=20, hidden=(4,), noise_variance=9.0, seed=5, steps=30)
    np.testing.assert_array_equal(model.predict(X, return_std=True)[1], deviation)
    np.testing.assert_array_equal(model.sample(0, 200)(X[:1]), drawn)
    assert model.partial_fit(X[:50], REWARDS[:50], X_NEXT[:50], GAMMA).steps_ == 50
    twin = bb.NeuralBBO(**settings).fit(X, REWARDS, X_NEXT, GAMMA).set_params(steps=30)
    again = twin.partial_fit(X[:50], REWARDS[:50], X_NEXT[:50], GAMMA)
    np.testing.assert_array_equal(model.predict(X), again.predict(X))
    assert model.fit(X, REWARDS, X_NEXT, GAMMA).losses_.shape == (30,)
    with pytest.raises(ValueError, match="return_std=True needs members"):
        model.predict(X, return_std=True)


def test_divergence_is_named_and_costs_nothing() -> None:
    model = bb.NeuralBBO(**{**FAST, "steps": 20}).fit(X, REWARDS, X_NEXT, GAMMA)
    before = model.predict(X)
    model.set_params(upper_rate=1e18, lower_rate=1e18)
    with pytest.raises(bb.Diverged, match=r"training diverged at step \d+: .* Lower upper_rate or lower_rate"):
        model.fit(X, REWARDS, X_NEXT, GAMMA)
    np.testing.assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"posterior": "bayes"}, "posterior is 'bayes'; accepted are map, randomised_prior"),
        ({"rule": "td"}, "rule is 'td'; accepted are two_timescales, direct"),
        ({"activation": "gelu"}, "activation is 'gelu'; accepted are relu, tanh"),
        ({"num_members": 0}, "num_members is 0; accepted is a whole number >= 1"),
        ({"batch_size": 0}, "batch_size is 0"),
        ({"lower_steps": 1.5}, "lower_steps is 1.5"),
        ({"noise_variance": -1.0}, "noise_variance is -1.0"),
        ({"upper_rate": 0.0}, "upper_rate is 0.0"),
        ({"prior_weight": float("nan")}, "prior_weight is nan"),
        ({"hidden": (0,)}, r"hidden is \(0,\)"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_bad_settings_are_named(settings: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        bb.NeuralBBO(**settings)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rewards": REWARDS[:, None]}, "rewards has shape"),
        ({"rewards": np.where(np.arange(600) == 3, np.nan, REWARDS)}, "rewards.*nan"),
        ({"discounts": 1.0}, "discounts"),
        ({"discounts": -0.1}, "discounts"),
        ({"weights": -np.ones(600)}, "weights"),
        ({"weights": np.zeros(600)}, "weights"),
        ({"next_observations": X_NEXT[:5]}, "next_features has 5 rows"),
        ({"observations": (X, X, X)}, "observations is a tuple of 3"),
    ],
)
def test_bad_data_are_named(change: dict, words: str) -> None:
    data = {"observations": X, "rewards": REWARDS, "next_observations": X_NEXT, "discounts": GAMMA, **change}
    with pytest.raises((ValueError, TypeError), match=words):
        bb.NeuralBBO(**FAST).fit(**data)


def test_answers_that_are_not_there() -> None:
    with pytest.raises(NotFittedError, match="call fit or partial_fit first"):
        bb.NeuralBBO().predict(X)
    model = bb.NeuralBBO(**{**FAST, "steps": 1}).fit(X, REWARDS, X_NEXT, GAMMA)
    with pytest.raises(ValueError, match="use posterior='randomised_prior'"):
        model.predict(X, return_std=True)
    with pytest.raises(ValueError, match="observations has 2 columns; the estimator was fitted on 1"):
        model.predict(np.zeros((1, 2)))
    with pytest.raises(ValueError, match="there are no transitions"):
        bb.NeuralBBO().fit(np.zeros((0, 1)), np.zeros(0), np.zeros((0, 1)), GAMMA)
