"""The triangle: the spiral's equation, who converges, and the flows that say why."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bayesbellman.envs.finite import tsitsiklis_triangle
from bayesbellman.experiments import checking
from bayesbellman.experiments.artefact import Done, Request, slug
from bayesbellman.experiments.tsitsiklis import ARTEFACT
from bayesbellman.experiments.tsitsiklis.analysis import analyse, rms
from bayesbellman.experiments.tsitsiklis.flow import flow, flows, lower_solution
from bayesbellman.experiments.tsitsiklis.sweep import METHODS, NEXT_STATES, STATES, plan, run_job
from bayesbellman.nn.spiral import Spiral

RESULTS = Path(__file__).parents[2] / "results" / "tsitsiklis"


def test_the_spiral_solves_its_equation(x64: None) -> None:
    """dV/domega = (Q + 0.01 I) V to the five digits of the paper's vectors."""
    q = np.array([[1, 0.5, 1.5], [1.5, 1, 0.5], [0.5, 1.5, 1]])
    for omega in (-3.0, 0.0, 2.0):
        value = np.asarray(Spiral(jnp.asarray(omega))(jnp.arange(3)))
        slope = np.asarray(jax.jacobian(lambda w: Spiral(w)(jnp.arange(3)))(jnp.asarray(omega)))
        np.testing.assert_allclose(slope, (q + 0.01 * np.eye(3)) @ value, atol=2e-3)


def test_the_six_transitions_are_the_process_s() -> None:
    table = np.zeros((3, 3))
    np.add.at(table, (STATES, NEXT_STATES), 0.5)
    np.testing.assert_allclose(tsitsiklis_triangle().transition[:, 0], table)


def test_the_lower_solution_is_always_ahead_of_omega(x64: None) -> None:
    """phi*(omega) - omega = 1.19 wherever omega is: the slow step of the two-timescale rule always leads away."""
    gaps = [float(lower_solution(jnp.asarray(omega)) - omega) for omega in (-50.0, -3.3, 0.0, 1.7, 20.0)]
    np.testing.assert_allclose(gaps, 1.193, atol=5e-4)


def test_flows_have_the_signs_of_the_results() -> None:
    """Towards V = 0 is down. None of the five changes sign along a turn of the spiral."""
    _, found = flows(25)
    assert {method: set(np.sign(values)) for method, values in found.items()} == {
        "BBO": {-1.0},
        "BBO, two timescales": {1.0},
        "TD(0)": {1.0},
        "TDC": {-1.0},
        "GTD2": {-1.0},
    }


def test_the_gradient_form_s_flow_is_the_slope_of_the_msbbe(x64: None) -> None:
    """By central differences of 1/2 mean (V(omega) - V(phi*(omega)))^2 over the three states."""

    def msbbe(omega: float) -> float:
        gap = Spiral(jnp.asarray(omega))(jnp.arange(3)) - Spiral(lower_solution(jnp.asarray(omega)))(jnp.arange(3))
        return float(0.5 * jnp.mean(gap**2))

    slope = (msbbe(0.4 + 1e-4) - msbbe(0.4 - 1e-4)) / 2e-4
    np.testing.assert_allclose(-flow("BBO", jnp.asarray(0.4)), slope, rtol=1e-4)


@pytest.mark.parametrize(
    ("method", "slope"), [("BBO", -0.1), ("BBO, two timescales", 0.1), ("TD(0)", 0.002), ("TDC", -0.1), ("GTD2", -0.1)]
)
def test_omega_moves_by_its_step_in_one_direction(method: str, slope: float) -> None:
    """After a few updates in which the fast variable finds its place."""
    path = run_job(method, 60)["omega"]
    np.testing.assert_allclose(np.diff(path)[10:], slope, rtol=1e-6)


def test_a_fixed_prior_stops_short_and_one_that_moves_does_not() -> None:
    fixed, moving = (rms(run_job(f"BBO, {kind} prior", 400)["omega"]) for kind in ("fixed", "moving"))
    assert fixed[-1] / fixed[200] > 0.99
    assert moving[-1] / moving[200] < 0.85


def test_claims_hold_in_the_committed_results() -> None:
    verdicts = checking.judge(ARTEFACT.expected(), ARTEFACT.cells(RESULTS))
    assert len(verdicts) == 5
    assert all(verdict.ok for verdict in verdicts)


def test_claims_can_fail(tmp_path: Path) -> None:
    asked = plan(Request(quick=True))
    paths = {slug(name): {"omega": np.linspace(0.0, 5.0, 11)} for name in METHODS}  # all away from V = 0
    text = analyse(asked, Done(paths, {"tdc": "lost"}), tmp_path)
    assert "Job tdc failed: lost" in text
    verdicts = {v.address[0]: v.ok for v in checking.judge(ARTEFACT.expected(), ARTEFACT.cells(tmp_path))}
    assert verdicts == {"BBO": False, "TDC": False, "GTD2": False, "TD(0)": True, "BBO, two timescales": True}
    (tmp_path / "summary.csv").write_text("method\nBBO\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"summary\.csv is damaged .*--overwrite"):
        ARTEFACT.cells(tmp_path)


def test_bad_requests_are_named() -> None:
    with pytest.raises(ValueError, match="--seeds is 3; nothing is random on the triangle"):
        plan(Request(seeds=3))
    with pytest.raises(ValueError, match="tsitsiklis has no tasks to choose from"):
        plan(Request(tasks=("boyan",)))
