"""What pages say beside what is there: every logged quantity has its formula, every figure is what its script draws."""

import importlib.util
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from matplotlib.image import imread

from bayesbellman.control.bbac import BBAC
from bayesbellman.control.boot_dqn import BootDQN
from bayesbellman.control.sac import SAC
from bayesbellman.core.timescales import ConstantStep, PolynomialDecay
from bayesbellman.core.types import Transition
from bayesbellman.doors.other_names import CALLED_HERE, INSTEAD
from bayesbellman.envs.mountain_car import MountainCar, MountainCarDiscrete
from bayesbellman.evaluation.gradient_td import GTD2, TD, TDC
from bayesbellman.evaluation.linear_bbo import BlockLinearBBO, UninformativeRecursiveLinearBBO
from bayesbellman.evaluation.linear_descent import StochasticLinearBBO
from bayesbellman.evaluation.nonlinear_bbo import GradientFormBBO, TwoTimescaleBBO
from bayesbellman.evaluation.nonlinear_td import NonlinearTD
from bayesbellman.nn.mlp import MLP
from bayesbellman.posterior.conjugate import ConjugatePosterior
from bayesbellman.posterior.map_estimate import MAPEstimate

DOCS = Path(__file__).parents[2] / "docs"
MODEL = ConjugatePosterior.isotropic(2)
NETWORK = partial(MLP.glorot, num_inputs=2, hidden=(4,))
MAP = MAPEstimate(NETWORK, optax.sgd(0.1))
ESTIMATORS = [
    ("linear_bbo", BlockLinearBBO(MODEL), True),
    ("linear_bbo", UninformativeRecursiveLinearBBO(2), False),
    ("linear_bbo", StochasticLinearBBO(MODEL, PolynomialDecay(0.1, 0.7)), True),
    ("nonlinear_bbo", TwoTimescaleBBO(MAP, optax.sgd(0.1)), True),
    ("nonlinear_bbo", GradientFormBBO(MAP, optax.sgd(0.1)), True),
    ("td_methods", TD(2, ConstantStep(0.1)), False),
    ("td_methods", GTD2(2, 0.1, 1.0), False),
    ("td_methods", TDC(2, 0.1, 1.0), False),
    ("td_methods", NonlinearTD(NETWORK, "tdc", optax.sgd(0.1)), True),
]


def transitions(*shape: int) -> Transition:
    numbers, observed = jnp.ones(shape), jnp.ones((*shape, 2))
    return Transition(observed, None, numbers, 0.9 * numbers, observed, numbers)


def assert_in_table(page: str, names: set[str]) -> None:
    """Each is in a row of its own on the page, with something said of it."""
    text = (DOCS / "algorithms" / f"{page}.md").read_text(encoding="utf-8")
    rows = [line.split("|") for line in text.splitlines() if line.startswith("| `")]
    said = {row[1].strip() for row in rows if len(row[-2].strip()) > 5}
    assert {f"`{name}`" for name in names} <= said


@pytest.mark.parametrize(
    ("page", "estimator", "takes_batch"), ESTIMATORS, ids=[f"{page}-{type(e).__name__}" for page, e, _ in ESTIMATORS]
)
def test_what_an_estimator_logs_is_on_its_page(page: str, estimator: Any, takes_batch: bool) -> None:
    key = jax.random.key(0)
    state = estimator.init(key)
    metrics = jax.eval_shape(estimator.update, key, state, transitions(*([3] if takes_batch else [])))[1]
    assert metrics
    assert_in_table(page, set(metrics))


@pytest.mark.parametrize(
    ("page", "agent"), [("rp_bbac", BBAC(hidden=(4,))), ("sac", SAC(hidden=(4,))), ("boot_dqn", BootDQN(hidden=(4,)))]
)
def test_what_an_agent_logs_is_on_its_page(page: str, agent: Any) -> None:
    key = jax.random.key(0)

    def update() -> dict:
        one = jnp.ones(3)
        discrete = isinstance(agent, BootDQN)
        env = MountainCarDiscrete() if discrete else MountainCar()
        observed, acted = jnp.zeros((3, 2)), jnp.zeros(3, jnp.int32) if discrete else jnp.zeros((3, 1))
        batch = Transition(observed, acted, one, one, observed, one)
        return agent.update(key, agent.init(key, env.spaces), batch, jnp.arange(3))[1]

    with jax.numpy_dtype_promotion("standard"):  # Adam mixes its types
        assert_in_table(page, {*jax.eval_shape(update), "disagreement"})


def figures() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_figures", DOCS / "figures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "name",
    [
        "moving_targets.png",
        "posterior_of_operators.png",
        "corridor.png",
        "cartpole_levers.png",
        "sparse_tasks.png",
        pytest.param("prior_functions.png", marks=pytest.mark.slow),  # it trains networks
    ],
)
def test_figures_are_what_their_script_draws(name: str, tmp_path: Path) -> None:
    """To a hundredth of the grey scale on average: fonts may be drawn a little differently elsewhere."""
    script = figures()
    assert {path.name for path in (DOCS / "images").iterdir()} == set(script.FIGURES)
    with script.style(), jax.numpy_dtype_promotion("standard"):
        script.FIGURES[name]().savefig(tmp_path / name)
    drawn, kept = imread(tmp_path / name), imread(DOCS / "images" / name)
    assert drawn.shape == kept.shape
    assert np.mean(np.abs(drawn - kept)) < 0.01


def test_other_names_of_settings_are_on_the_first_page() -> None:
    """Each that an error answers with ours is in its table, beside ours."""
    text = (DOCS / "quickstart.md").read_text(encoding="utf-8")
    rows = [line.split("|") for line in text.splitlines() if line.startswith("| `")]
    for theirs, ours in CALLED_HERE.items():
        assert any(f"`{theirs}`" in row[1] and f"`{ours}`" in row[2] for row in rows), theirs
    for theirs in INSTEAD.keys() - {"policy"}:
        assert any(f"`{theirs}`" in row[1] for row in rows), theirs
