"""The nine tasks against the benchmark's constants and, with its random numbers, its trajectories."""

import subprocess
import sys

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from tests.conftest import GOLDEN

from bayesbellman.data.datasets import TASKS, LinearTask, linear_task
from bayesbellman.data.problems import LinearProblem
from bayesbellman.data.truth import finite_values
from bayesbellman.envs.finite import FiniteMDP, FoldedMDP, random_mdp

ON = [0.001164565564, 0.004439950371, 0.028037005137, 0.023782745438, 0.007836326728, 0.065072152475]
ON += [0.062093090485, 0.236766211354, 0.298941146277, 0.181632967291, 1.0]
OFF = [0.001166823468, 0.004480087854, 0.028107979959, 0.02382396562, 0.008144464393, 0.065729221977]
OFF += [0.063373176515, 0.237422668753, 0.299670467002, 0.182142437331, 1.0]
SCALES = {
    "lqr_imp_onpolicy": [0.001196401352, 0.008066113586, 0.23445920662, 0.18764693765],
    "lqr_imp_offpolicy": [0.001166823468, 0.008144464393, 0.237422668753, 0.182142437331],
    "lqr_full_onpolicy": ON,
    "lqr_full_offpolicy": OFF,
}
ERROR_OF_ZERO = {
    "lqr_imp_onpolicy": 5.81967,
    "lqr_imp_offpolicy": 5.50196,
    "lqr_full_onpolicy": 5.47208,
    "lqr_full_offpolicy": 5.50196,
    "link20_imp_onpolicy": 8.073005,
    "link20_imp_offpolicy": 8.045073,
}


def error_of_zero(problem: LinearProblem) -> float:
    return float(np.sqrt(np.sum(problem.measure.weights * problem.measure.values**2)))


@pytest.mark.parametrize("name", SCALES)
def test_cart_pole_features_and_measure_are_the_benchmark_s(name: str, x64: None) -> None:
    problem = linear_task(name).problem()
    np.testing.assert_allclose(problem.features.scale, SCALES[name], rtol=1e-9)  # pyright: ignore
    np.testing.assert_allclose(error_of_zero(problem), ERROR_OF_ZERO[name], atol=6e-6)


@pytest.mark.slow
def test_twenty_links_measure_is_the_benchmark_s(x64: None) -> None:
    for name in ("link20_imp_onpolicy", "link20_imp_offpolicy"):
        problem = linear_task(name).problem()
        np.testing.assert_allclose(error_of_zero(problem), ERROR_OF_ZERO[name], atol=6e-7)
        assert problem.features.num_features == 40


def test_boyan_measure_is_the_benchmark_s(x64: None) -> None:
    with np.load(GOLDEN / "boyan.npz", allow_pickle=False) as golden:
        measure = linear_task("boyan").problem().measure
        np.testing.assert_allclose(measure.weights, golden["eval_mu"], atol=1e-12)
        np.testing.assert_allclose(measure.features, golden["eval_Phi"], atol=1e-12)
        np.testing.assert_allclose(measure.values, golden["eval_V_true"], atol=1e-9)


@pytest.mark.parametrize("name", ["boyan", "lqr_full_offpolicy"])
def test_the_reference_streams_give_the_benchmark_s_trajectories(name: str, x64: None) -> None:
    task = linear_task(name)
    problem = task.problem(as_published=True)
    transitions, restarts = task.experience(problem, [0], "reference")
    with np.load(GOLDEN / f"{name}.npz", allow_pickle=False) as golden:
        rows = len(golden["rewards"])
        for ours, theirs in (
            (problem.features(transitions.observation[0]), "phi"),
            (problem.features(transitions.next_observation[0]), "phi_next"),
            (transitions.reward[0], "rewards"),
            (transitions.weight[0], "weights"),
        ):
            np.testing.assert_allclose(ours[:rows], golden[theirs], rtol=1e-8, atol=1e-8, err_msg=theirs)
        np.testing.assert_array_equal(restarts[0][:rows], golden["restarts"])


def test_own_streams_repeat_and_differ_from_the_reference_s(x64: None) -> None:
    task = linear_task("boyan")
    problem = task.problem()
    first, again = (task.experience(problem, [3, 4]).transitions.observation for _ in range(2))
    reference = task.experience(problem, [3, 4], "reference").transitions.observation
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first[0], first[1])
    assert not np.array_equal(first, reference)


@pytest.mark.parametrize(("seed", "offset"), [(0, 0.048), (1, -0.121), (2, 0.155), (3, -0.073)])
def test_folding_shifts_the_values_of_the_random_process(seed: int, offset: float, x64: None) -> None:
    """What 256 states are worth when the other 144 are folded onto them, less what they are worth: as the reference."""
    mdp = random_mdp(seed)
    tables = np.random.RandomState(3).random_sample((400, 10))
    policy = tables / tables.sum(axis=1, keepdims=True)
    transition = np.asarray(mdp.transition)
    folded = transition[:256, :, :256].copy()
    folded[:, :, :144] += transition[:256, :, 256:]
    small = FiniteMDP(jnp.asarray(folded), mdp.reward[:256, :, :256], mdp.initial[:256], mdp.terminal[:256])
    true = finite_values(mdp, policy, 0.95, as_published=True)
    shift = np.mean(finite_values(small, policy[:256], 0.95) - true[:256])
    assert abs(shift - offset) < 6e-4
    exact = finite_values(mdp, policy, 0.95)
    assert 0.001 < np.std(exact - true) < 0.005  # the benchmark's average of rewards is off by about 0.003


def test_the_published_sampler_visits_256_states_and_ours_all(x64: None) -> None:
    task = linear_task("disc_random_off")
    folded, correct = (task.problem(as_published) for as_published in (True, False))
    assert isinstance(folded.env, FoldedMDP)
    visits = [task.experience(p, [0]).transitions.observation for p in (folded, correct)]
    assert int(jnp.max(visits[0])) == 255
    assert int(jnp.max(visits[1])) == 399
    assert folded.measure.weights[256:].sum() == 0
    np.testing.assert_allclose(correct.measure.weights[256:].sum(), 144 / 400, atol=0.03)


def test_off_policy_weights_average_to_one(x64: None) -> None:
    """One run of 8,000: mean weight within 5 standard errors (measured; they are nearly independent)."""
    task = linear_task("disc_random_off")
    weights = np.asarray(task.experience(task.problem(), [0]).transitions.weight[0])
    assert abs(weights.mean() - 1) < 5 * weights.std() / np.sqrt(len(weights))


POINTS = {"lqr_imp_onpolicy": 30, "lqr_full_onpolicy": 30, "lqr_full_offpolicy": 60}


@pytest.mark.parametrize("task", TASKS.values(), ids=list(TASKS))
def test_checkpoints(task: LinearTask) -> None:
    """As published the last is before the end of the data; correct, at the end."""
    published, correct = task.checkpoints(as_published=True), task.checkpoints()
    assert len(published) == len(correct) == POINTS.get(task.name, 100)
    assert correct[-1] == task.transitions
    assert published[0] == (0 if task.episodes > 1 else 1)
    assert published[-1] == task.transitions - task.error_every + published[0]


def test_an_unknown_task_is_told_what_exists() -> None:
    with pytest.raises(ValueError, match="there is no linear task 'boyam'; there are boyan, disc_random_on"):
        linear_task("boyam")


def test_an_empty_list_of_seeds_is_named(x64: None) -> None:
    task = linear_task("boyan")
    with pytest.raises(ValueError, match="seeds is empty"):
        task.experience(task.problem(), [])


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("data.streams import generator; generator('numpy', 0)", "streams is 'numpy'; accepted are own, reference"),
        ("evaluation.lstd import LSTD; LSTD(3, 'sucessor')", "weighting is 'sucessor'; accepted are everything,"),
        (
            "evaluation.nonlinear_td import NonlinearTD; import optax; NonlinearTD(None, 'gtd', optax.sgd(1.0))",
            "correction is 'gtd'; accepted are 'none' (TD(0)), 'tdc' and 'gtd2'",
        ),
        (
            "envs.cartpole import CartPole; CartPole(reward='stock')",
            "reward must be 'paper' or 'dm_control', got 'stock'",
        ),
        (
            "posterior.randomised_prior import RandomisedPrior; RandomisedPrior(None, 2, 'centred')",
            "prior is 'centred'; accepted are 'anchored', 'function', 'none'",
        ),
        ("evaluation.lstd import LSTDPlus; LSTDPlus(3, 1.0, 0.0, 'x')", "weighting is 'x'; accepted are everything,"),
    ],
)
def test_misspelt_choices_are_named(code: str, words: str) -> None:
    """In a process without this session's type checks, which would refuse them in their own words."""
    done = subprocess.run(
        [sys.executable, "-c", f"from bayesbellman.{code}"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert words in done.stderr


def test_weights_without_a_density_are_refused(x64: None) -> None:
    """A behaviour policy without noise, another target policy."""
    problem = linear_task("lqr_full_offpolicy").problem()
    silent = eqx.tree_at(lambda p: p.behaviour.variance, problem, jnp.zeros(1))
    with pytest.raises(
        ValueError, match="some importance weights are not finite: the behaviour policy must have a density"
    ):
        silent.experience([0], 1, 10)
