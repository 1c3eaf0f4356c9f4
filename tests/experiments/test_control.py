"""Studies of agents: runs side by side, who has solved it and when, and the demonstration."""

import csv
from pathlib import Path

import jax
import numpy as np
import pytest
from tests.sizes import EPISODES, MEMBERS, SIZES

from bayesbellman.control.sac import SAC
from bayesbellman.control.train import Training
from bayesbellman.envs.mountain_car import MountainCar
from bayesbellman.experiments.artefact import Arrays, Done, Request, slug
from bayesbellman.experiments.checking import judge
from bayesbellman.experiments.control_demo import analysis as demo_analysis
from bayesbellman.experiments.control_demo.sweep import DemoHistory, DemoSettings, run_agent
from bayesbellman.experiments.control_runs import run_seeds
from bayesbellman.experiments.mountain_car import ARTEFACT
from bayesbellman.experiments.mountain_car.analysis import solved_at
from bayesbellman.experiments.mountain_car.sweep import AGENTS, ENTROPIES, STUDY, plan
from bayesbellman.experiments.registry import artefact
from bayesbellman.experiments.state_support import ARTEFACT as SUPPORT
from bayesbellman.experiments.state_support.pictures import CELLS, counts, draw_support, scale_of

CAR = "MountainCarContinuous-v0"


@pytest.fixture(autouse=True)
def _as_users_have_it():
    with jax.numpy_dtype_promotion("standard"):
        yield


def small(seeds: list[int], **changes):
    asked = {"steps": 60, "every": 20, "episodes": 2, **changes}

    def make(**floats) -> Training:
        agent = SAC(hidden=(4,), num_critics=1, **floats)
        return Training(agent, MountainCar(time_limit=15), batch_size=8, buffer_size=60, warmup=20)

    return run_seeds(make, seeds, {"target_entropy": -np.ones(len(seeds))}, **asked)


@pytest.mark.slow
def test_runs_side_by_side_are_what_they_are_alone() -> None:
    places = np.array([[0.0, 0.0], [-0.5, 0.01]])
    both = small([3, 4], moments=(20, 60), places=places, keep_visited=True)
    alone = small([4], moments=(20, 60), places=places, keep_visited=True)
    assert both.steps.tolist() == [20, 40, 60]
    assert both.evaluations.shape == (3, 2, 2)
    assert both.values.shape == (2, 2, 1, 2)  # moments, seeds, critics, places
    np.testing.assert_allclose(both.visited[1], alone.visited[0], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(both.values[:, 1], alone.values[:, 0], rtol=1e-3, atol=1e-4)
    assert both.episodes.sum(axis=0).tolist() == [4, 4]
    assert np.isnan(both.critic_loss[0]).all()  # the warm-up learns nothing
    assert np.isfinite(both.critic_loss[1:]).all()


def test_seeds_and_sizes_are_checked() -> None:
    with pytest.raises(ValueError, match="each may be there once"):
        small([1, 1])
    with pytest.raises(ValueError, match="every must divide steps"):
        small([1], steps=50)


def faked(name: str, means: np.ndarray) -> Arrays:
    """Results as a job leaves them, from mean returns by evaluation and seed."""
    evaluations = np.repeat(means[..., None], 2, axis=2)
    nothing = np.zeros(means.shape)
    return {
        "agent": np.array(name),
        "seeds": np.arange(means.shape[1]),
        "numbers": np.repeat(ENTROPIES, means.shape[1] // len(ENTROPIES)) if name == STUDY else nothing[0],
        "steps": 1_000 * np.arange(1, len(means) + 1),
        "evaluations": evaluations,
        "episodes": nothing.astype(int),
        "successes": (means > 0).astype(int),
        "disagreement": nothing,
        "critic_loss": nothing,
    }


def test_solved_is_the_first_evaluation_above_ninety(tmp_path: Path) -> None:
    means = np.full((4, 25), -1.0)
    means[2:, :24] = 95.0  # one of twenty more never is
    means[3, 0] = 20.0  # solved, and lost again
    found = faked("RP-BBAC", means)
    assert solved_at(found).tolist() == [3_000.0] * 24 + [np.inf]
    still = np.full((4, 25), -1.0)
    results = {"RP-BBAC": found, "SAC": faked("SAC", still), STUDY: faked(STUDY, still[:, :7])}
    done = Done(
        {slug(name): result for name, result in results.items()},
        {slug("BAC"): "RuntimeError: out of memory"},
    )
    text = ARTEFACT.analyse(plan(Request()), done, tmp_path)
    assert "out of memory" in text
    assert (tmp_path / "mountain-car.png").stat().st_size > 1_000
    with (tmp_path / "seeds.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 50
    assert rows[24]["solved_at"] == ""
    verdicts = {verdict.address: verdict for verdict in judge(ARTEFACT.expected(), ARTEFACT.cells(tmp_path))}
    assert verdicts["paper's five", "RP-BBAC"].ok
    assert verdicts["twenty more", "RP-BBAC"].ok  # 19 of 20
    assert verdicts["paper's five", "SAC"].ok
    assert not verdicts["paper's five", "SAC*"].ok  # missing
    assert not verdicts["paper's five", "BAC"].ok
    done.results[slug("BAC")] = faked("BAC", still)
    ARTEFACT.analyse(plan(Request()), Done(done.results, {}), tmp_path)
    (verdict,) = (v for v in judge(ARTEFACT.expected(), ARTEFACT.cells(tmp_path)) if "BAC" in v.address)
    assert verdict.ok  # as the paper has it
    few = {slug(name): faked(name, still[:, :6]) for name in ("SAC", "BAC")}  # five and one more
    ARTEFACT.analyse(plan(Request()), Done({**few, slug("RP-BBAC"): faked("RP-BBAC", still[:, :4] + 96)}, {}), tmp_path)
    judged = {verdict.address: verdict.ok for verdict in judge(ARTEFACT.expected(), ARTEFACT.cells(tmp_path))}
    assert judged["paper's five", "SAC"]
    assert not judged["twenty more", "SAC"]  # one seed says nothing of twenty
    assert not judged["paper's five", "RP-BBAC"]
    ARTEFACT.analyse(plan(Request(steps=20_000)), Done(done.results, {}), tmp_path)
    with pytest.raises(ValueError, match="have 20,000 steps each; what is claimed of mountain-car is about 100,000"):
        ARTEFACT.cells(tmp_path)  # SAC on none would be no wonder
    (tmp_path / "seeds.csv").write_text("agent\nx\n")
    with pytest.raises(ValueError, match="is damaged"):
        ARTEFACT.cells(tmp_path)


def test_bad_requests_are_named() -> None:
    with pytest.raises(ValueError, match="--seeds is 0"):
        plan(Request(seeds=0))
    with pytest.raises(ValueError, match="--steps is 1500; accepted is a multiple of 1000"):
        plan(Request(steps=1_500))
    assert {job.units for job in plan(Request(seeds=2, steps=5_000, methods=("RP-BBAC", "SAC"))).jobs} == {10_000}
    with pytest.raises(ValueError, match="mountain-car has no tasks"):
        plan(Request(tasks=("x",)))
    with pytest.raises(ValueError, match="looks at one run"):
        SUPPORT.plan(Request(seeds=3))
    assert artefact("mountain-car") is ARTEFACT
    assert len(plan(Request()).jobs) == len(AGENTS) + 1


def test_support_is_counted_and_drawn(tmp_path: Path) -> None:
    visited = np.array([[-0.5, 0.0]] * 5 + [[0.3, 0.05], [5.0, 5.0]])
    assert counts(visited).sum() == 6  # what lies outside is not counted
    assert counts(visited).shape == (CELLS, CELLS)
    planned = SUPPORT.plan(Request(quick=True, methods=("SAC",)))
    rng = np.random.default_rng(0)
    result = {
        "agent": np.array("SAC"),
        "moments": np.array([1_000, 2_000]),
        "values": rng.normal(size=(2, 2, 41**2)),
        "visited": np.tile(visited[:6], (400, 1)),
        "successes": np.arange(2),
        "steps": np.array([1_000, 2_000]),
    }
    wide = {**result, "agent": np.array("RP-BBAC"), "visited": rng.uniform([-1.2, -0.07], [0.6, 0.07], (2_400, 2))}
    text = SUPPORT.analyse(planned, Done({"sac": result, "rp-bbac": wide}, {}), tmp_path)
    assert "SAC" in text
    assert (tmp_path / "rp-bbac.png").exists()
    (verdict,) = [v for v in judge(SUPPORT.expected(), SUPPORT.cells(tmp_path)) if v.address[0] == "RP-BBAC"]
    assert verdict.ok


def test_a_member_that_runs_away_does_not_blank_the_others(tmp_path: Path) -> None:
    values = np.linspace(-10.0, 10.0, 4 * 9).reshape(4, 9)
    norm, words = scale_of(values)
    assert words == "-10 to 10"
    assert norm(0.0) == pytest.approx(0.5)
    away = np.concatenate([values, np.linspace(0.0, 9e6, 9)[None]])
    linear = values / 9e6
    norm, words = scale_of(away)
    assert words == "-10 to 9,000,000, log beyond 10"
    shades = np.asarray(norm(values))
    assert np.ptp(shades) > 0.1 > 1e4 * np.ptp(linear)  # of all shades, where a linear scale has next to none
    assert np.all(np.diff(shades.ravel()) > 0)
    draw_support("BAC", [1], away[None], np.zeros((1, 2))).savefig(tmp_path / "bac.png")
    assert (tmp_path / "bac.png").stat().st_size > 1_000
    assert scale_of(np.zeros((2, 9)))[1] == "0 to 0"


def test_the_demonstration_leaves_a_report_with_both_agents(tmp_path: Path) -> None:
    """Tiny agents for two pieces; what they have learnt does not matter here."""
    from bayesbellman.doors.agents import BBAC, SACStar

    agents = (BBAC(CAR, ensemble_size=MEMBERS, **SIZES), SACStar(CAR, **SIZES))
    reported: list[int] = []
    runs = [
        run_agent(agent, 2_000, EPISODES, lambda done, words, already=False: reported.append(done), False)
        for agent in agents
    ]
    assert reported == [1_000, 2_000] * 2
    history = DemoHistory(DemoSettings(), *runs)
    text = demo_analysis.write_report(history, tmp_path)
    assert "RP-BBAC" in text
    names = {path.name for path in tmp_path.iterdir()}
    assert {"report.md", "returns.png", "rp-bbac-states.png", "sac-states.png", "rp-bbac.bbo", "curve.csv"} <= names
    assert BBAC.load(tmp_path / "rp-bbac.bbo").predict([0.0, 0.0], deterministic=True)[0].shape == (1,)
    with pytest.raises(ValueError, match="--preset is 'huge'"):
        DemoSettings(preset="huge")
