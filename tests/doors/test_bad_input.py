"""Bad input gets a clear error at the door, naming the argument, what was given and what is accepted."""

import math
import subprocess
import sys
import warnings
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from tests.doors.test_linear import data

import bayesbellman as bb


def fit_with(**changes):
    return bb.LinearBBO().fit(**{**data(), **changes})


# ------------------------------------------------------------------------------------------------ importance weights


@pytest.mark.parametrize("bad", [math.inf, math.nan, -0.5])
def test_weights_that_are_no_ratios(bad: float) -> None:
    weights = np.ones(40)
    weights[7] = bad
    with pytest.raises(
        ValueError, match=r"weights has 1 value\(s\) .* at row 7; accepted are finite importance ratios"
    ):
        fit_with(weights=weights)


@pytest.mark.parametrize("scale", [0.0, 1e-320, 1e-170])
def test_weights_that_vanish(scale: float) -> None:
    with pytest.raises(ValueError, match=r"weights sum to .* over 40 transitions, so no transition counts"):
        fit_with(weights=np.full(40, scale))


def test_a_chunk_without_weight_is_fine_in_a_stream() -> None:
    d = data()
    model = bb.LinearBBO().fit(**d)
    arrays = list(d.values())[:4]
    model.partial_fit(*arrays, np.zeros(40))
    np.testing.assert_allclose(model.omega_, bb.LinearBBO().fit(**d).omega_)
    assert model.n_samples_seen_ == 80


def test_effective_sample_size_tells_of_one_dominating_weight() -> None:
    weights = np.full(40, 1e-3)
    weights[0] = 1e3
    assert fit_with(weights=weights).effective_sample_size_ < 1.001


# ------------------------------------------------------------------------------------------------------ rank, units


def degenerate(kind: str) -> dict:
    d = data(num_features=3)
    for name in ("features", "next_features"):
        v = d[name].copy()
        if kind == "collinear":
            v[:, 2] = v[:, 0] - 2 * v[:, 1]
        elif kind == "duplicate":
            v[:, 2] = v[:, 0]
        elif kind == "zero":
            v[:, 2] = 0.0
        elif kind == "constant twice":
            v[:, 1:] = 1.0
        d[name] = v
    return d


KINDS = ["collinear", "duplicate", "zero", "constant twice"]


@pytest.mark.parametrize("kind", KINDS)
def test_degenerate_features_with_a_prior_are_proper(kind: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = bb.LinearBBO().fit(**degenerate(kind))
    assert model.rank_ == 3
    assert np.isfinite(model.condition_number_)
    assert np.linalg.eigvalsh(model.posterior_covariance_).min() > 0
    np.testing.assert_allclose(model.posterior_mean_, model.omega_, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_degenerate_features_without_a_prior_warn_and_give_the_least_norm(kind: str) -> None:
    d = degenerate(kind)
    with pytest.warns(bb.RankDeficientWarning, match="determine 2 of 3 directions"):
        model = bb.LinearBBO(prior_variance=math.inf).fit(**d)
    assert (model.rank_, model.condition_number_) == (2, math.inf)
    v, w = d["features"], d["weights"][:, None]
    system = (w * v).T @ (v - d["discounts"][:, None] * d["next_features"])
    reference = np.linalg.pinv(system, rcond=1e-12) @ ((w * v).T @ d["rewards"])
    np.testing.assert_allclose(model.omega_, reference, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.posterior_mean_, model.omega_, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("num_rows", [20, 1_000, 100_000])
def test_rank_deficiency_is_seen_whatever_the_rounding(num_rows: int) -> None:
    """Exactly collinear features in odd units, 20 data sets a size: rank, condition and every width say the same.

    Rounding in the sums leaves a singular value that is not zero; with more rows, a larger one.
    """
    for seed in range(20):
        rng = np.random.default_rng(seed)
        mix = rng.normal(size=(3, 4)) * 10.0 ** rng.uniform(-3, 3, size=4)
        v, v_next = rng.normal(size=(num_rows, 3)) @ mix, 0.5 * rng.normal(size=(num_rows, 3)) @ mix
        with pytest.warns(bb.RankDeficientWarning, match="determine 3 of 4 directions"):
            model = bb.LinearBBO(prior_variance=math.inf).fit(v, rng.normal(size=num_rows), v_next, 0.9)
        assert (model.rank_, model.condition_number_) == (3, math.inf)
        open_direction = np.linalg.svd(mix)[2][-1:]
        for width in ("epistemic", "predictive", "value"):
            assert model.predict(open_direction, return_std=width)[1][0] == math.inf
            known = model.predict(v[:1], return_std=width)[1][0]
            assert 0 < known < math.inf


def test_a_weak_prior_still_makes_the_posterior_proper() -> None:
    """A prior a million times wider than the values, against 100,000 collinear rows."""
    rng = np.random.default_rng(0)
    base = rng.normal(size=(100_000, 1))
    v = np.hstack([base, base])
    model = bb.LinearBBO(prior_variance=1e6).fit(v, base[:, 0], 0.5 * v, 0.9)
    assert model.rank_ == 2
    std = model.predict([[1.0, -1.0]], return_std=True)[1][0]
    np.testing.assert_allclose(std, math.sqrt(2e6), rtol=1e-3)  # what the data never showed is as wide as the prior


def test_what_is_not_known_has_infinite_deviation() -> None:
    """Without a prior, a direction the data never showed is not 'certain': its deviation is infinite."""
    with pytest.warns(bb.RankDeficientWarning):
        model = bb.LinearBBO(prior_variance=math.inf).fit(**degenerate("duplicate"))
    query = np.array([[1.0, 0.5, 1.0], [1.0, 0.0, -1.0]])
    for width in (True, "predictive", "value"):
        std = model.predict(query, return_std=width)[1]
        assert np.isfinite(std[0])
        assert std[1] == math.inf
    assert np.isfinite(model.sample(0, 5)).all()


def test_units_of_the_features_do_not_matter() -> None:
    """Columns in units 1e-9 and 1e9: the same values, no false alarm about rank."""
    d, units = data(), np.array([1e-9, 1.0, 1e9])
    scaled = {**d, "features": d["features"] * units, "next_features": d["next_features"] * units}
    plain = bb.LinearBBO(prior_variance=math.inf).fit(**d)
    other = bb.LinearBBO(prior_variance=math.inf).fit(**scaled)
    np.testing.assert_allclose(other.predict(scaled["features"]), plain.predict(d["features"]), rtol=1e-9)
    np.testing.assert_allclose(
        other.predict(scaled["features"], return_std=True)[1],
        plain.predict(d["features"], return_std=True)[1],
        rtol=1e-7,
    )
    np.testing.assert_allclose(other.condition_number_, plain.condition_number_, rtol=1e-6)


def test_double_precision_is_kept_where_single_would_fail() -> None:
    """Nearly collinear features: float32 input is taken up exactly and solved in float64.

    The same sums in float32 miss the answer by more than 1 %; the door keeps seven digits.
    """
    rng = np.random.default_rng(0)
    base = rng.normal(size=(400, 1))
    v = np.hstack([base, base + 5e-4 * rng.normal(size=(400, 1))]).astype(np.float32)
    rewards, v_next = rng.normal(size=400).astype(np.float32), np.roll(v, -1, axis=0)
    model = bb.LinearBBO(prior_variance=1e6).fit(v, rewards, v_next, 0.9)
    wide = [np.asarray(a, dtype=np.longdouble) for a in (v, rewards, v_next)]
    system = wide[0].T @ (wide[0] - 0.9 * wide[2]) + 1e-6 * np.eye(2)
    exact = np.linalg.solve(system.astype(float), (wide[0].T @ wide[1]).astype(float))
    np.testing.assert_allclose(model.omega_, exact, rtol=1e-7)
    single = np.linalg.solve(v.T @ (v - np.float32(0.9) * v_next), v.T @ rewards)
    assert np.abs(single / exact - 1).max() > 0.01


# -------------------------------------------------------------------------------------------------------- discounts


@pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan])
def test_discounts_out_of_range(bad: float) -> None:
    for discounts in (bad, np.where(np.arange(40) == 3, bad, 0.9)):
        with pytest.raises(ValueError, match=r"discounts range from .* accepted are numbers in \[0, 1\)"):
            fit_with(discounts=discounts)


@pytest.mark.parametrize("flags", [np.zeros(40, bool), False])
def test_flags_are_no_discounts(flags: object) -> None:
    with pytest.raises(TypeError, match=r"discounts are true or false; accepted are numbers in \[0, 1\)"):
        fit_with(discounts=flags)


def test_undiscounted_needs_to_be_said() -> None:
    with pytest.raises(ValueError, match=r"discounts contains 1, .* LinearBBO\(proper_policy=True\)"):
        fit_with(discounts=1.0)


def test_undiscounted_episodes_that_end() -> None:
    """0 -> 1 -> end, reward -1 a step: the values are -2 and -1."""
    v = np.eye(2)
    model = bb.LinearBBO(prior_variance=math.inf, proper_policy=True)
    model.fit(v, [-1.0, -1.0], [[0.0, 1.0], [0.0, 0.0]], [1.0, 0.0])
    np.testing.assert_allclose(model.omega_, [-2.0, -1.0])
    assert model.spectral_radius_ < 1


@pytest.mark.parametrize(("v_next", "radius"), [(1.0, "1"), (2.0, "2")])
@pytest.mark.parametrize("prior_variance", [10.0, math.inf])
def test_undiscounted_episodes_that_never_end_are_refused(v_next: float, radius: str, prior_variance: float) -> None:
    """A loop, or an expansion: the prior must not paper over it, and the reason is given. Online, when it is asked."""
    data = (np.ones((9, 1)), np.ones(9), np.full((9, 1), v_next), 1.0)
    words = f"episodes end, but on these data the operator has spectral radius {radius}, not below 1"
    with pytest.raises(ValueError, match=words):
        bb.LinearBBO(prior_variance, proper_policy=True).fit(*data)
    online = bb.LinearBBO(prior_variance, proper_policy=True).partial_fit(*data)
    with pytest.raises(ValueError, match=words):
        online.predict([[1.0]])


def test_an_expansion_with_discounts_below_one_is_no_fault() -> None:
    """Off-policy the operator may expand; the fixed point exists all the same. The flag changes nothing there."""
    for proper_policy in (False, True):
        model = bb.LinearBBO(1e9, proper_policy=proper_policy).fit([[1.0]], [1.0], [[2.0]], 0.9)
        assert model.spectral_radius_ > 1
        np.testing.assert_allclose(model.omega_, [1 / (1 - 1.8)], rtol=1e-6)


# ------------------------------------------------------------------------------------------------------------ priors


@pytest.mark.parametrize("name", ["prior_variance", "noise_variance"])
@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan])
def test_variances_must_be_positive(name: str, bad: float) -> None:
    with pytest.raises(ValueError, match=f"{name} is {bad!r}; accepted is a positive"):
        bb.LinearBBO(**{name: bad})


def test_noise_must_be_finite_and_numbers_numbers() -> None:
    with pytest.raises(
        ValueError, match=r"noise_variance is inf; accepted is a positive number \(1e-100 to 1e\+100\)$"
    ):
        bb.LinearBBO(noise_variance=math.inf)
    with pytest.raises(TypeError, match=r"prior_variance is 'wide' \(str\); accepted is a number"):
        bb.LinearBBO(prior_variance="wide")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("covariance", "words"),
    [
        ([[1.0, 2.0], [2.0, 1.0]], "not positive semi-definite"),
        ([[1.0, 0.5], [0.4, 1.0]], "not symmetric"),
        ([[1.0, 0.0], [0.0, 0.0]], "variances must be positive"),
        ([[1.0, math.nan], [math.nan, 1.0]], "not finite"),
        ([[1.0, 0.0]], "square"),
    ],
)
def test_prior_covariances_that_are_none(covariance: list, words: str) -> None:
    with pytest.raises(ValueError, match=f"prior_covariance .*{words}"):
        bb.LinearBBO(prior_covariance=covariance).fit(**data(num_features=2))


def test_singular_prior_covariance_gets_a_jitter_that_is_told() -> None:
    with pytest.warns(
        bb.JitterWarning, match=r"prior_covariance is singular to rounding; \S+ times each variance was added"
    ):
        model = bb.LinearBBO(prior_covariance=np.ones((2, 2))).fit(**data(num_features=2))
    assert np.isfinite(model.omega_).all()
    np.testing.assert_allclose(model.omega_[0], model.omega_[1], rtol=1e-3)  # the prior's conviction is kept


def test_priors_of_the_wrong_size() -> None:
    with pytest.raises(ValueError, match="prior_mean is for 2 features, but features has 3 columns"):
        bb.LinearBBO(prior_mean=[0.0, 0.0]).fit(**data())
    with pytest.raises(ValueError, match="prior_covariance is for 2 features, but features has 3 columns"):
        bb.LinearBBO(prior_covariance=np.eye(2)).fit(**data())


def test_a_prior_that_contradicts_itself() -> None:
    with pytest.raises(ValueError, match="prior_variance=inf says that nothing is known beforehand"):
        bb.LinearBBO(prior_variance=math.inf, prior_mean=[1.0])


# ------------------------------------------------------------------------------------------------------ little data


def test_no_data_is_the_prior() -> None:
    model = bb.LinearBBO(prior_variance=4.0, prior_mean=[1.0, 2.0]).fit(np.empty((0, 2)), [], np.empty((0, 2)), 0.9)
    np.testing.assert_allclose(model.omega_, [1.0, 2.0])
    np.testing.assert_allclose(model.posterior_covariance_, 4.0 * np.eye(2))
    assert (model.n_samples_seen_, model.effective_sample_size_) == (0, 0.0)


def test_no_data_and_no_prior_is_nothing_known() -> None:
    with pytest.warns(bb.RankDeficientWarning, match="determine 0 of 2"):
        model = bb.LinearBBO(prior_variance=math.inf).fit(np.empty((0, 2)), [], np.empty((0, 2)), 0.9)
    values, std = model.predict(np.eye(2), return_std=True)
    np.testing.assert_array_equal(values, 0.0)
    np.testing.assert_array_equal(std, math.inf)


def test_one_sample_all_terminal_and_identical_rows() -> None:
    one = bb.LinearBBO(prior_variance=1.0).fit([[1.0]], [3.0], [[0.0]], 0.0)
    np.testing.assert_allclose(one.omega_, [1.5])  # halfway between the prior's 0 and the sample's 3
    terminal = fit_with(discounts=np.zeros(40))
    assert terminal.spectral_radius_ == 0.0
    same = bb.LinearBBO(prior_variance=1.0).fit(np.ones((99, 1)), np.full(99, 3.0), np.zeros((99, 1)), 0.0)
    np.testing.assert_allclose(same.omega_, [3.0 * 99 / 100])


# ---------------------------------------------------------------------------------------------------- shapes, types


def test_column_vectors_do_not_broadcast() -> None:
    for name in ("rewards", "discounts", "weights"):
        column = data()[name][:, None]
        with pytest.raises(ValueError, match=rf"{name} has shape \(40, 1\); accepted .* pass {name}.ravel\(\)"):
            fit_with(**{name: column})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"features": np.zeros(40)}, r"features has shape \(40,\); accepted is two dimensions"),
        ({"rewards": np.zeros(39)}, "rewards has 39 rows, but features has 40"),
        ({"next_features": np.zeros((40, 2))}, "next_features has 2 columns, but features has 3"),
        ({"next_features": np.zeros((39, 3))}, "next_features has 39 rows, but features has 40"),
        ({"weights": np.ones(41)}, "weights has 41 rows, but features has 40"),
        ({"discounts": np.zeros(3)}, "discounts has 3 rows, but features has 40"),
        ({"features": np.zeros((40, 0)), "next_features": np.zeros((40, 0))}, "features has no columns"),
    ],
)
def test_shapes_that_do_not_fit(changes: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        fit_with(**changes)


@pytest.mark.parametrize(
    "bad",
    [
        np.array(["a"] * 40),
        np.array([None] * 40),
        np.array([1j] * 40),
        np.zeros(40, dtype="datetime64[s]"),
        np.zeros(40, dtype=np.longdouble),
    ],
    ids=["str", "object", "complex", "datetime", "longdouble"],
)
def test_dtypes_that_are_no_exact_numbers(bad: np.ndarray) -> None:
    with pytest.raises(TypeError, match=r"rewards has dtype .* accepted are real numbers"):
        fit_with(rewards=bad)


def test_masked_and_sparse_and_huge_integers() -> None:
    with pytest.raises(TypeError, match="rewards is a masked array"):
        fit_with(rewards=np.ma.masked_array(np.zeros(40), mask=np.eye(40, dtype=bool)[0]))

    class Sparse:
        def toarray(self):
            return np.zeros((40, 3))

    with pytest.raises(TypeError, match=r"features is sparse \(Sparse\); pass features.toarray\(\)"):
        fit_with(features=Sparse())
    with pytest.raises(TypeError, match=r"rewards has integers beyond 2\*\*53"):
        fit_with(rewards=np.full(40, 2**60))


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.astype(">f8"),
        lambda x: np.asfortranarray(x),
        lambda x: np.repeat(x, 2, axis=0)[::2],
        lambda x: jnp.asarray(x, dtype=jnp.float32),
        lambda x: x.astype(np.float32),
        lambda x: x.tolist(),
    ],
    ids=["big-endian", "fortran", "strided", "jax", "float32", "list"],
)
def test_any_layout_of_the_same_numbers(change) -> None:
    """Numbers that single precision holds exactly, so that every layout has the same ones."""
    d = {name: np.round(array * 64) / 64 for name, array in data().items()}
    expected = bb.LinearBBO().fit(**d)
    model = bb.LinearBBO().fit(**{name: change(array) for name, array in d.items()})
    np.testing.assert_allclose(model.omega_, expected.omega_, rtol=1e-12)


def test_integers_and_booleans_are_numbers() -> None:
    v = np.eye(2, dtype=bool)
    model = bb.LinearBBO(prior_variance=1e9).fit(v, np.array([1, 2]), v[::-1], np.array([0, 0]))
    np.testing.assert_allclose(model.omega_, [1.0, 2.0], rtol=1e-6)


@pytest.mark.parametrize("name", ["features", "rewards", "next_features"])
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_numbers_that_are_not_finite_are_named_with_their_place(name: str, bad: float) -> None:
    """Also where a zero feature, weight or discount stands before them."""
    d = data(3000)
    d["features"][2100, 0] = d["weights"][2100] = d["discounts"][2100] = 0.0
    d[name] = d[name].copy()
    d[name][2100] = bad
    place = "row 2100" + ("" if name == "rewards" else ", column 0")
    with pytest.raises(
        ValueError, match=rf"{name} has \d value\(s\) that are not finite .* at {place}; drop or repair"
    ):
        bb.LinearBBO().fit(**d)


def test_overflow_is_not_blamed_on_the_data() -> None:
    with pytest.raises(ValueError, match="features, rewards and weights overflow float64; scale them down"):
        fit_with(features=np.full((40, 3), 1e200))


def test_query_features_are_checked_too() -> None:
    model = bb.LinearBBO().fit(**data())
    with pytest.raises(ValueError, match="features has 2 columns; the estimator was fitted on 3"):
        model.predict(np.zeros((1, 2)))
    with pytest.raises(ValueError, match=r"features has 1 value.* at row 0, column 2"):
        model.predict([[0.0, 0.0, math.nan]])
    with pytest.raises(ValueError, match=r"return_std is 'wide'; accepted are False, True and \('epistemic'"):
        model.predict(np.zeros((1, 3)), return_std="wide")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="n is -1"):
        model.sample(0, -1)


# ---------------------------------------------------------------------------------------------- nothing is lost


def test_a_refused_chunk_leaves_the_estimator_as_it_was() -> None:
    d = data()
    model = bb.LinearBBO().fit(**d)
    before = model.omega_.copy()
    bad = {**d, "rewards": np.full(40, math.nan)}
    with pytest.raises(ValueError, match="rewards"):
        model.partial_fit(**bad)
    with pytest.raises(ValueError, match="chunk 1: rewards has 40 value"):
        model.fit_stream([tuple(d.values()), tuple(bad.values())])
    np.testing.assert_array_equal(model.omega_, before)
    assert model.n_samples_seen_ == 40


def test_streams_that_are_none() -> None:
    with pytest.raises(ValueError, match="chunks is empty"):
        bb.LinearBBO().fit_stream([])
    with pytest.raises(ValueError, match="a chunk has 2 parts; accepted is"):
        bb.LinearBBO().fit_stream([(np.zeros((1, 1)), np.zeros(1))])
    first = tuple(data(num_features=3).values())
    with pytest.raises(ValueError, match="chunk 1: features has 2 columns, but the data before had 3"):
        bb.LinearBBO().fit_stream([first, tuple(data(num_features=2).values())])


def test_too_many_features_are_refused_before_any_work() -> None:
    v = np.zeros((1, 100_000))  # 745 GiB of matrices
    with pytest.raises(MemoryError, match=r"needs about 745 GiB for its 100000 x 100000 matrices .* Reduce the"):
        bb.LinearBBO().fit(v, [0.0], v, 0.9)


# -------------------------------------------------------------------------------------------------- odd arguments


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        ({"features": [[1.0], [1.0, 2.0]]}, ValueError, "features is no array: its rows have different lengths"),
        ({"rewards": None}, TypeError, "rewards has dtype object"),
    ],
)
def test_arguments_that_are_no_arrays(change: dict, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        fit_with(**change)


def test_chunks_that_are_no_chunks() -> None:
    with pytest.raises(TypeError, match="chunks is int; accepted is an iterable of tuples"):
        bb.LinearBBO().fit_stream(5)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="a chunk is dict; accepted is a tuple"):
        bb.LinearBBO().fit_stream([data()])  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("bad", ["10", True, None, [1.0, 2.0]])
def test_numbers_that_are_none(bad: object) -> None:
    with pytest.raises(TypeError, match=r"prior_variance is .* accepted is a number"):
        bb.LinearBBO(prior_variance=bad)  # pyright: ignore[reportArgumentType]


def test_numbers_of_numpy_are_numbers() -> None:
    model = bb.LinearBBO(prior_variance=np.float32(10), noise_variance=np.int64(1)).fit(**data())
    np.testing.assert_array_equal(model.sample(np.int64(3), np.int64(2)), model.sample(3, 2))
    np.testing.assert_array_equal(model.predict(np.eye(3), return_std=np.True_)[1], model.predict(np.eye(3), True)[1])


@pytest.mark.parametrize(("key", "n"), [(2**70, 1), (-1, 1), (0, 2.0), (0, -1)])
def test_samples_that_cannot_be_drawn(key: int, n: int) -> None:
    with pytest.raises(ValueError, match=r"(key|n) is .*; accepted"):
        bb.LinearBBO().fit(**data()).sample(key, n)


def test_extreme_variances() -> None:
    """Within the accepted range nothing overflows; beyond it they are refused."""
    for noise in (1e-99, 1e99):
        std = bb.LinearBBO(noise_variance=noise).fit(**data()).predict(np.eye(3), return_std="value")[1]
        assert np.isfinite(std).all()
    for bad in (1e-101, 1e101):
        with pytest.raises(ValueError, match="noise_variance is"):
            bb.LinearBBO(noise_variance=bad)


WARNS = """
import math, warnings, numpy as np, bayesbellman as bb
flat, v, r = np.zeros((9, 1)), np.ones((9, 2)), np.ones(9)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    bb.LinearBBO(math.inf).fit(flat, r, flat, 0.5)
    bb.LinearBBO(math.inf).fit_stream([(flat, r, flat, 0.5)])
    bb.LinearBBO(prior_covariance=np.ones((2, 2))).fit(v, r, v, 0.5)
    bb.LinearBBO(prior_covariance=np.ones((2, 2))).partial_fit(v, r, v, 0.5)
print(*(f"{w.filename}:{w.lineno}" for w in caught))
"""


def test_warnings_point_at_the_callers_line(tmp_path: Path) -> None:
    """In a process of its own, without the shape checks of these tests between the caller and us."""
    (script := tmp_path / "script.py").write_text(WARNS)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert done.stdout.split() == [f"{script}:{line}" for line in (6, 7, 8, 9)], done.stderr
