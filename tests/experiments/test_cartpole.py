"""The studies of the cart-pole: what is counted, what is run together, what is made of it, and which claims hold."""

import csv
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.cli.test_cli import bbo
from tests.cli.test_train import bbo as bbo_here
from tests.experiments.sparse_results import curves, faked

import bayesbellman as bb
from bayesbellman.control.base import AbstractAgent
from bayesbellman.control.bbac import BBAC
from bayesbellman.core.types import Transition
from bayesbellman.envs.cartpole import CartPole
from bayesbellman.experiments import cartpole, cartpole_levers, sensitivity
from bayesbellman.experiments.artefact import Arrays, Desk, Done, Plan, Request
from bayesbellman.experiments.cartpole.sweep import AGENTS, PROGRAMS
from bayesbellman.experiments.cartpole.task import PAPER as PAPER_TASK
from bayesbellman.experiments.cartpole.task import PLANE, SUCCESS, Altered, paper_task
from bayesbellman.experiments.cartpole_levers.levers import BASE, LEVERS, USUAL, floats_of, program_of
from bayesbellman.experiments.cartpole_levers.sweep import VARIANTS, run_job
from bayesbellman.experiments.checking import judge
from bayesbellman.experiments.control_runs import Runs
from bayesbellman.experiments.mountain_car.sweep import AGENTS as MOUNTAIN_CAR_AGENTS
from bayesbellman.experiments.sensitivity.ranges import MEMBERS, SCALE, WEIGHT, group_name
from bayesbellman.experiments.sensitivity.sweep import RANGES
from bayesbellman.experiments.sparse.baseline import SACS
from bayesbellman.experiments.sparse.drawing import draw_curves, draw_rewards, draw_support
from bayesbellman.experiments.sparse.outcomes import outcomes, write_runs
from bayesbellman.experiments.sparse.runs import QUICK, Row, recorded, seen
from bayesbellman.experiments.sparse.study import runs_of

ANGLES, SPEEDS = PLANE.shape


@pytest.fixture(autouse=True)
def _as_users_have_it():
    with jax.numpy_dtype_promotion("standard"):
        yield


def observed(angle: float, speed: float) -> list[float]:
    return [0.0, np.cos(angle), np.sin(angle), 0.0, speed]


def test_what_is_kept_of_runs_that_have_only_begun() -> None:
    """Two evaluations of the three, before the last moment but after the first."""
    rows = [Row("a", seed, {}) for seed in range(2)]
    watched = {name: np.ones((2, 2), np.int32) for name in ("rewarded_steps", "rewarded_episodes", "first_rewarded")}
    visits = np.ones((2, 2, ANGLES * SPEEDS), np.int16)
    plain, values = np.ones((2, 2)), np.ones((1, 2, 3, ANGLES * SPEEDS))
    watched = {**watched, "visits": visits}
    begun = Runs(np.array([100, 200]), np.ones((2, 2, 5)), plain, plain, plain, plain, watched, values, plain, 1.0)
    found = recorded(PAPER_TASK, rows, QUICK, begun)
    assert QUICK.moments == (100, 300)
    assert found["moments"].tolist() == [100]
    assert found["visits"].shape == found["spread"].shape == (1, 2, ANGLES, SPEEDS)
    assert [run.solved for run in outcomes(found, SUCCESS)] == [False, False]


def test_places_are_the_middles_of_the_cells() -> None:
    np.testing.assert_array_equal(PLANE.cell_of(jnp.asarray(PLANE.places())), np.arange(ANGLES * SPEEDS))
    corners = jnp.asarray([observed(-3.14159, -99.0), observed(3.14159, 99.0)])
    assert PLANE.cell_of(corners).tolist() == [0, ANGLES * SPEEDS - 1]


def test_rewards_and_visits_are_counted() -> None:
    """Two episodes of four steps: the first earns nothing, the second the 1 at its third step and after."""
    reward = jnp.asarray([-0.1, 0.0, -0.05, 0.0, 0.0, -0.1, 0.9, 1.0])
    still = jnp.tile(jnp.asarray(observed(0.1, 0.1)), (8, 1))
    found = seen(PLANE, 4, Transition(still, jnp.zeros((8, 1)), reward, jnp.ones(8), still, jnp.ones(8)))
    assert (int(found["rewarded_steps"]), int(found["rewarded_episodes"]), int(found["first_rewarded"])) == (2, 1, 6)
    assert np.flatnonzero(found["visits"]).tolist() == [ANGLES // 2 * SPEEDS + SPEEDS // 2]
    assert int(found["visits"].sum()) == 8
    nothing = seen(PLANE, 4, Transition(still, jnp.zeros((8, 1)), -jnp.ones(8), jnp.ones(8), still, jnp.ones(8)))
    assert int(nothing["first_rewarded"]) == -1


def test_the_limit_is_an_end_only_where_it_is_said_to_be() -> None:
    env, key = CartPole(time_limit=1), jax.random.key(0)
    for ends in (0.0, 1.0):
        outcome = Altered(env, jnp.asarray(ends)).step(key, env.reset(key), jnp.zeros(1))
        assert (bool(outcome.terminated), bool(outcome.truncated)) == (ends == 1.0, True)


def test_velocities_are_scaled_only_where_they_are_said_to_have_a_bound() -> None:
    agent, observation = BBAC(hidden=(4,)), jnp.asarray(observed(0.5, 5.0))

    def as_networks_see_it(**floats: float) -> list[float]:
        env = PAPER_TASK.make(time_limit=10, **floats)
        return agent.init(jax.random.key(0), env.spaces).scaling(observation).tolist()

    usual = as_networks_see_it()
    np.testing.assert_allclose(usual, observation)
    np.testing.assert_allclose(as_networks_see_it(limit_ends=0.0, fast=USUAL["fast"]), usual)
    np.testing.assert_allclose(as_networks_see_it(fast=10.0), [*usual[:4], 0.5], rtol=1e-6)


def test_exploring_with_more_or_less_noise() -> None:
    state = jax.jit(lambda key: BBAC(hidden=(4,)).init(key, CartPole().spaces))(jax.random.key(0))
    key, observation, member = jax.random.key(1), jnp.asarray(observed(3.0, 0.5)), jnp.asarray(2)

    def action(noise) -> float:
        return float(BBAC(hidden=(4,), exploration_noise=noise).act(key, state, member, observation)[0])

    np.testing.assert_allclose(action(jnp.asarray(1.0)), action(1.0), rtol=1e-6)
    actor = jax.tree.map(lambda x: x[2], state.policies.parameters)
    np.testing.assert_allclose(action(0.0), actor.mean_action(state.scaling(observation))[0], rtol=1e-6)
    assert action(0.0) != action(1.0)


def test_levers_share_programs_and_change_one_thing() -> None:
    plan = cartpole_levers.ARTEFACT.plan(Request())
    assert [(job.name, job.units // 1_500_000) for job in plan.jobs] == [
        ("wide.usual-1", 10),
        ("wide.usual-2", 10),
        ("wide.noisy-True", 2),
        ("wide.warmup_times-10", 2),
        ("wide.bootstrap-0.5", 1),
        ("wide.prior-anchored", 1),
    ]
    assert sum(job.units for job in plan.jobs) == len(LEVERS) * 3 * 500_000
    assert floats_of(LEVERS[BASE], {}) == USUAL
    ours = floats_of(LEVERS["mean action"], VARIANTS["ours"].base)
    assert ours == {**USUAL, "learning_rate": BBAC().learning_rate, "exploration_noise": 0.0}
    for variant, (_, base) in VARIANTS.items():
        planned = cartpole_levers.ARTEFACT.plan(Request(variants=(variant,)))
        kept = planned.settings["levers"][variant]
        alike = [(program_of(LEVERS[name]), floats_of(LEVERS[name], base)) for name in kept]
        assert all(one not in alike[:at] for at, one in enumerate(alike))  # two that are alike are refused as runs
        assert sum(job.units for job in planned.jobs) == len(kept) * 3 * 500_000
        assert set(LEVERS) - set(kept) == ({"learning rate 0.001", "quick"} if variant == "ours" else set())
    with pytest.raises(ValueError, match=r"in the variant ours 'learning rate 0\.001' changes nothing"):
        cartpole_levers.ARTEFACT.plan(Request(methods=(BASE, "learning rate 0.001"), variants=("ours",)))
    together = ("quick", "quick, velocities to 10", "velocities to 10, prior scale 100")
    combined = ("paper's letter", "first trial", *together, BASE)
    for name, lever in LEVERS.items():
        if name not in (*combined, "anchored prior"):
            assert len(lever.floats) + len(lever.program) == 1, name
    both = cartpole_levers.ARTEFACT.plan(Request(methods=(BASE,), variants=("wide", "narrow"), steps=20_000, seeds=8))
    assert [(job.name, job.units) for job in both.jobs] == [("narrow.usual", 160_000), ("wide.usual", 160_000)]
    for bad in (Request(steps=15_000), Request(steps=0), Request(seeds=0), Request(tasks=("a",))):
        with pytest.raises(ValueError, match=r"--(steps|seeds|tasks) is"):
            cartpole_levers.ARTEFACT.plan(bad)


def test_agents_of_the_studies_are_what_users_get() -> None:
    """Every setting but the networks' sizes."""

    def same(pure: AbstractAgent, door) -> None:
        users = door.pure
        for field in fields(users):
            assert float_or(getattr(pure, field.name)) == float_or(getattr(users, field.name)), field.name

    def float_or(value):
        return value if isinstance(value, tuple | bool | str) or callable(value) or value is None else float(value)

    env = "cartpole-swingup-sparse"
    for name, door in (
        ("RP-BBAC", bb.BBAC(env)),
        ("BAC", bb.BAC(env)),
        ("SAC", bb.SAC(env)),
        ("SAC*", bb.SACStar(env)),
    ):
        program, floats = AGENTS[name]
        same(PROGRAMS[program](**floats), door)
    program, floats = AGENTS["RP-BBAC, paper's recipe"]
    same(PROGRAMS[program](**floats), bb.BBAC(env, recipe="paper"))
    same(BBAC(**RANGES.floats((MEMBERS, 8.0))), bb.BBAC(env))  # as sensitivity makes them
    car = "MountainCarContinuous-v0"
    for name, door in (("RP-BBAC", bb.BBAC(car)), ("RP-BBAC, paper's recipe", bb.BBAC(car, recipe="paper"))):
        same(MOUNTAIN_CAR_AGENTS[name]((256, 256)), door)


def test_runs_of_a_lever_are_recorded() -> None:
    """Tiny runs of two levers in one program: with less noise at the start, less of the grid has been visited."""
    found = run_job({"ensemble_size": 2}, [BASE, "start noise 0"], {}, QUICK, "", Desk())
    assert found["group"].tolist() == [BASE] * 2 + ["start noise 0"] * 2
    assert found["returns"].shape == (3, 4)
    assert found["moments"].tolist() == [100, 300]
    assert found["visits"].sum(axis=(2, 3)).tolist() == [[100] * 4, [300] * 4]
    assert found["spread"].shape == (2, 4, ANGLES, SPEEDS)
    assert (found["spread"] > 0).all()
    assert np.isinf(found["first_reward"]).all()
    assert not np.array_equal(found["returns"][:, 0], found["returns"][:, 1])  # seeds differ
    assert not np.array_equal(found["returns"][:, 0], found["returns"][:, 2])  # and so do levers


def test_solved_is_above_500_ten_times_at_the_end() -> None:
    returns = curves(True, True, True, False)
    returns[7, 1] = 499.0
    returns[0, 2] = 900.0
    first, fell, early, never = outcomes(faked(["a"], 4, returns), SUCCESS)
    assert (first.solved, first.first_success, first.sustained_from) == (True, 20_000, 20_000)
    assert (fell.solved, fell.first_success, fell.sustained_from) == (False, 20_000, 90_000)
    assert (early.solved, early.sustained_from, early.best_return) == (True, 10_000, 900.0)
    assert (never.solved, never.first_success, never.first_reward) == (False, np.inf, np.inf)
    assert (first.first_reward, first.rewarded_episodes, first.rewarded_steps) == (10_007, 11, 55)
    assert not outcomes(faked(["a"], 1, np.full((9, 1), 900.0)), SUCCESS)[0].solved  # too few evaluations to say
    lost = faked(["a"], 1, np.full((12, 1), np.nan))
    assert not outcomes(lost, SUCCESS)[0].solved
    assert not outcomes(lost, SUCCESS)[0].finite


def test_disagreement_that_collapses_is_drawn_on_a_logarithmic_scale() -> None:
    """On a linear scale all moments but the first would be blank. What is large is written out."""
    arrays = faked(["BAC"], 1, curves(False))
    labels = []
    for first, later in ((1.0, 1.0), (240.0, 240.0), (1_000.0, 1.0)):
        spread = np.full((len(arrays["moments"]), 1, *PLANE.shape), later, np.float32)
        spread[0] = first
        figure = draw_support("BAC", PLANE, {**arrays, "spread": spread}, 0)
        labels.append(figure.axes[len(spread)].get_ylabel().splitlines()[:2])
    assert labels == [["disagreement,", words] for words in ("0 to 1", "0 to 240", "1 to 1,000 (log)")]


def test_a_single_member_is_drawn_without_disagreement() -> None:
    """A row of blank maps would say nothing."""
    arrays = faked(["members 1"], 1, curves(False))
    figure = draw_support("members 1", PLANE, {**arrays, "spread": np.zeros_like(arrays["spread"])}, 0)
    assert len(figure.axes) == len(arrays["moments"])
    assert "visits" in figure.axes[0].get_ylabel()


def test_disagreement_within_a_decade_can_be_read_off() -> None:
    """The logarithmic axis begins at 0: around such curves alone it would have one tick, or none."""
    arrays = faked(["RP-BBAC"], 2, curves(True, False))
    _, right = draw_rewards({"bbac": {**arrays, "disagreement": np.linspace(1.5, 4.0, 24).reshape(12, 2)}}).axes
    low, high = right.get_ylim()
    assert sum(low <= tick <= high for tick in right.get_yticks()) >= 3


def test_runs_without_rewards_have_an_axis_all_the_same() -> None:
    arrays = faked(["no prior"], 2, curves(True, False))
    nothing = {**arrays, "rewarded_steps": np.zeros((12, 2)), "disagreement": np.full((12, 2), 0.01)}
    assert [axes.get_ylim() for axes in draw_rewards({"bbac": nothing}).axes] == [(0, 10), (0, 0.1)]


def test_steps_are_counted_in_thousands_where_they_are_few() -> None:
    arrays = faked(["RP-BBAC"], 1, curves(True))
    words = []
    for factor in (1, 100):
        longer = {"bbac": {**arrays, "steps": factor * arrays["steps"]}}
        figure = draw_curves(longer, SUCCESS)
        assert figure.axes[0].lines[0].get_xdata()[-1] == (120 if factor == 1 else 12)  # pyright: ignore[reportIndexIssue]
        words += [figure.get_supxlabel(), draw_rewards(longer).axes[0].get_xlabel()]
    assert words == ["thousands of steps", "thousands of steps", "millions of steps", "millions of steps"]


@pytest.mark.parametrize(("groups", "rows", "across"), [(1, 1, 1), (4, 1, 4), (5, 2, 3), (7, 2, 4), (9, 3, 3)])
def test_panels_are_shared_out_among_rows(groups: int, rows: int, across: int) -> None:
    results = {"bbac": faked([f"agent {k}" for k in range(groups)], 1, curves(*[True] * groups))}
    axes = draw_curves(results, SUCCESS).axes
    assert len(axes) == rows * across
    assert sum(panel.axison for panel in axes) == groups


def test_claims_about_agents(tmp_path: Path) -> None:
    artefact = cartpole.ARTEFACT
    plan = artefact.plan(Request())
    assert [job.name for job in plan.jobs] == ["bbac-1", "bbac-2", "sac", "sac-star"]
    results = {
        "sac": faked(list(SACS), 5, curves(*[False] * 10)),
        "bbac-1": faked(["RP-BBAC"], 5, curves(*[True] * 5)),
        "bbac-2": faked(["BAC"], 5, curves(*[False] * 5)),
    }
    text = artefact.analyse(plan, Done(results, {"sac-star": "out of memory"}, 90.0), tmp_path)
    assert "Job sac-star failed: out of memory" in text
    assert text.index("RP-BBAC") < text.index(" SAC")  # in the plan's order
    assert "It took 1.5 minutes" in (tmp_path / "report.md").read_text()
    for name in ("returns", "rewards", "support-rp-bbac", "support-bac", "support-sac"):
        assert (tmp_path / f"{name}.png").stat().st_size > 1_000
    with (tmp_path / "runs.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert (rows[0]["solved"], rows[0]["first_success"], rows[-1]["first_reward"]) == ("1", "20000", "")
    verdicts = judge(artefact.expected(), artefact.cells(tmp_path))
    assert [verdict.ok for verdict in verdicts] == [True, True, True, True]

    results["bbac-2"] = faked(["BAC"], 5, curves(*[True] * 5))
    results["bbac-1"] = faked(["RP-BBAC"], 4, curves(*[True] * 4))  # fewer than five
    results["sac"] = faked(list(SACS), 5, curves(*[False] * 4, True, *[False] * 4, True))
    artefact.analyse(plan, Done(results, {}), tmp_path)
    assert not any(verdict.ok for verdict in judge(artefact.expected(), artefact.cells(tmp_path)))
    artefact.analyse(plan, Done(results, {}, unfinished=("sac",)), tmp_path)
    with pytest.raises(ValueError, match="have not ended; what is claimed of cartpole is about 3,000,000 steps"):
        artefact.cells(tmp_path)
    artefact.analyse(artefact.plan(Request(steps=500_000)), Done({}, {}), tmp_path)
    with pytest.raises(ValueError, match="have 500,000 steps each; what is claimed of cartpole is about 3,000,000"):
        artefact.cells(tmp_path)
    (tmp_path / "runs.csv").write_text("group\nx\n")
    with pytest.raises(ValueError, match="is damaged"):
        artefact.cells(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"holds no runs\.csv; make it with: bbo reproduce cartpole"):
        artefact.cells(tmp_path / "nowhere")


def test_the_papers_own_recipe_is_judged_where_it_was_run(tmp_path: Path) -> None:
    artefact, own = cartpole.ARTEFACT, "RP-BBAC, paper's recipe"
    plan = artefact.plan(Request(methods=(own,)))
    for solved in (True, False):
        artefact.analyse(plan, Done({"bbac": faked([own], 5, curves(*[solved] * 5))}, {}), tmp_path)
        verdicts = {verdict.address: verdict.ok for verdict in judge(artefact.expected(), artefact.cells(tmp_path))}
        assert verdicts[own,] is solved
        assert len(verdicts) == 5  # the four that are always expected are missing
    assert (own,) not in {verdict.address for verdict in judge(artefact.expected(), {})}


def test_sixteen_members_are_judged_where_they_were_run(tmp_path: Path) -> None:
    artefact, sixteen = cartpole.ARTEFACT, "RP-BBAC, 16 members"
    plan = artefact.plan(Request(methods=(sixteen,), seeds=3))
    assert [(job.name, job.units) for job in plan.jobs] == [("bbac-16", 9_000_000)]
    (agent,) = (partial.args[0] for partial in (job.run for job in plan.jobs))
    assert agent(hidden=(4,)).ensemble_size == 16
    for solved, seeds, holds in ((True, 3, True), (True, 2, False), (False, 3, False)):
        artefact.analyse(plan, Done({"bbac-16": faked([sixteen], seeds, curves(*[solved] * seeds))}, {}), tmp_path)
        verdicts = {verdict.address: verdict.ok for verdict in judge(artefact.expected(), artefact.cells(tmp_path))}
        assert verdicts[sixteen,] is holds
    assert (sixteen,) not in {verdict.address for verdict in judge(artefact.expected(), {})}


def sensitive(plan: Plan, bad: set[tuple[str, float]]) -> dict[str, Arrays]:
    """Results of all jobs; what is bad is not solved."""

    def job(changes: list[tuple[str, float]]) -> Arrays:
        solved = [change not in bad for change in changes for _ in range(3)]
        return faked([group_name(*change) for change in changes], 3, curves(*solved))

    results = {f"members.{value:g}": job([(MEMBERS, value)]) for value in (1.0, 2.0, 4.0, 16.0)}
    floats = [(MEMBERS, 8.0)]
    floats += [(axis, value) for axis in (SCALE, WEIGHT) for value in RANGES.axes[axis] if value != RANGES.paper[axis]]
    results |= {"prior-1": job(floats[:4]), "prior-2": job(floats[4:])}
    assert set(results) == {job.name for job in plan.jobs}
    return results


def test_claims_about_sensitivity(tmp_path: Path) -> None:
    artefact = sensitivity.ARTEFACT
    plan = artefact.plan(Request())
    assert sum(job.units for job in plan.jobs) == 13 * 3 * 1_000_000
    with pytest.raises(ValueError, match="one width at a time"):
        artefact.plan(Request(variants=("narrow", "wide")))
    artefact.analyse(artefact.plan(Request(variants=("narrow",))), Done(sensitive(plan, set()), {}), tmp_path)
    with pytest.raises(ValueError, match="have networks of 128 x 128; what is claimed of sensitivity"):
        artefact.cells(tmp_path)
    ends = {(axis, RANGES.axes[axis][at]) for axis in (SCALE, WEIGHT) for at in (0, -1)}
    artefact.analyse(plan, Done(sensitive(plan, {*ends, (MEMBERS, 1)}), {}), tmp_path)
    assert (tmp_path / "sensitivity.png").stat().st_size > 1_000
    cells = artefact.cells(tmp_path)
    assert cells[MEMBERS, "1"].mean == 0
    assert cells[SCALE, "32"] == cells[WEIGHT, "3e-05"] == cells[MEMBERS, "8"]
    assert [verdict.ok for verdict in judge(artefact.expected(), cells)] == [True] * 4
    write_runs(tmp_path / "runs.csv", runs_of(plan, Done(sensitive(plan, {(MEMBERS, 16)}), {}), paper_task))
    verdicts = judge(artefact.expected(), artefact.cells(tmp_path))
    assert [verdict.ok for verdict in verdicts] == [True, False, False, False]  # the ends are no worse: no sweet spot
    # one end that is worse is not enough
    write_runs(tmp_path / "runs.csv", runs_of(plan, Done(sensitive(plan, {(SCALE, 3.2)}), {}), paper_task))
    assert [verdict.ok for verdict in judge(artefact.expected(), artefact.cells(tmp_path))] == [
        True,
        True,
        False,
        False,
    ]


@pytest.fixture
def _in_every_thread() -> Iterator[None]:
    jax.config.update("jax_numpy_dtype_promotion", "standard")
    yield
    jax.config.update("jax_numpy_dtype_promotion", "strict")


@pytest.mark.slow
@pytest.mark.usefixtures("_in_every_thread")
def test_stopped_by_its_time_limit_a_study_goes_on_to_the_same_result(tmp_path: Path, capsys) -> None:
    """Too little time for anything: the job stops at its first evaluation; the same command without a limit ends it."""
    asked = ("reproduce", "cartpole", "--quick", "--methods", "SAC", "--seeds", 1)
    assert bbo_here(*asked, "--out", tmp_path / "whole") == 0
    stopped = bbo(*asked, "--out", tmp_path / "out", "--minutes", 0.03)
    assert stopped.returncode == 143, stopped.stderr
    assert "0 of 1 jobs are kept" in stopped.stderr
    so_far = tmp_path / "out.part" / "so-far"
    assert f"(100 of 300 steps are done; so far: {so_far / 'report.md'}): bbo reproduce cartpole" in stopped.stderr
    assert "Job sac is not finished." in (so_far / "report.md").read_text(encoding="utf-8")
    assert (so_far / "support-sac.png").exists()
    assert not (tmp_path / "out").exists()
    (tmp_path / "out.part").rename(tmp_path / "moved.part")
    assert bbo_here(*asked, "--out", tmp_path / "moved") == 0
    for name in ("runs.csv", "curves.csv", "summary.csv"):
        assert (tmp_path / "moved" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert not (tmp_path / "moved.part").exists()
    capsys.readouterr()
    assert bbo_here("check", "cartpole", "--results", tmp_path / "moved") == 2
    assert "have 300 steps each" in capsys.readouterr().err


def test_options_that_a_study_does_not_have() -> None:
    refused = bbo("reproduce", "state-support", "--steps", 10)
    assert refused.returncode == 2
    assert "--steps is 10; state-support has none to choose from, leave it out" in refused.stderr
