"""`LinearBBO` through scikit-learn's own hands (``make test-peers``)."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import BayesianRidge, Ridge
from sklearn.model_selection import ParameterGrid

import bayesbellman as bb

RNG = np.random.default_rng(0)
V, R = RNG.normal(size=(200, 4)), RNG.normal(size=200)


def test_clone_copies_the_settings_and_not_the_fit() -> None:
    model = bb.LinearBBO(prior_variance=3.0, prior_mean=np.ones(4)).fit(V, R, V, 0.5)
    copy = clone(model)
    assert copy is not model
    assert copy.prior_variance == 3.0
    np.testing.assert_array_equal(copy.prior_mean, np.ones(4))
    with pytest.raises(ValueError, match="has seen no data"):
        copy.predict(V)


def test_parameter_grid() -> None:
    for params in ParameterGrid({"prior_variance": [0.1, 10.0], "noise_variance": [0.5, 2.0]}):
        model = clone(bb.LinearBBO()).set_params(**params).fit(V, R, V, 0.5)
        assert model.get_params()["prior_variance"] == params["prior_variance"]


def test_without_a_future_it_is_ridge_regression() -> None:
    """Discount 0: the Bellman target is the reward, and BBO is Bayesian linear regression on it."""
    ours = bb.LinearBBO(prior_variance=2.0, noise_variance=0.5).fit(V, R, V, 0.0)
    ridge = Ridge(alpha=0.5 / 2.0, fit_intercept=False).fit(V, R)
    np.testing.assert_allclose(ours.omega_, ridge.coef_, rtol=1e-10)


def test_without_a_future_its_widths_are_bayesian_ridge_s() -> None:
    """With the precisions that BayesianRidge settled on, mean and both deviations agree."""
    peer = BayesianRidge(fit_intercept=False).fit(V, R)
    ours = bb.LinearBBO(prior_variance=1 / peer.lambda_, noise_variance=1 / peer.alpha_).fit(V, R, V, 0.0)
    np.testing.assert_allclose(ours.omega_, peer.coef_, rtol=1e-6)
    np.testing.assert_allclose(ours.posterior_covariance_, peer.sigma_, rtol=1e-6)
    _, std = peer.predict(V[:5], return_std=True)
    np.testing.assert_allclose(ours.predict(V[:5], return_std="predictive")[1], std, rtol=1e-6)
