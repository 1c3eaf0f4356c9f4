"""The stock cart-pole, the pendulum and the acrobot: what is run, that it is what users get, and which claims hold."""

from dataclasses import fields, replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.experiments.sparse_results import curves, faked, put_settings

import bayesbellman as bb
from bayesbellman.control.sac import SAC
from bayesbellman.envs.cartpole import CartPole
from bayesbellman.envs.registry import make_env
from bayesbellman.experiments import cartpole_stock, sparse_tasks
from bayesbellman.experiments.artefact import Arrays, Desk, Done, Request
from bayesbellman.experiments.cartpole.task import PAPER, STOCK
from bayesbellman.experiments.cartpole_stock.analysis import stock_task
from bayesbellman.experiments.cartpole_stock.published import PUBLISHED
from bayesbellman.experiments.checking import judge
from bayesbellman.experiments.sparse.baseline import SACS
from bayesbellman.experiments.sparse.outcomes import read_runs, write_runs
from bayesbellman.experiments.sparse.runs import QUICK, training
from bayesbellman.experiments.sparse.study import runs_of
from bayesbellman.experiments.sparse.task import EARNED, Task
from bayesbellman.experiments.sparse_tasks.sweep import FULL, PROGRAMS
from bayesbellman.experiments.sparse_tasks.tasks import ACROBOT, PENDULUM, TASKS, task_of
from bayesbellman.experiments.training.drawings import drawing_of

KEY = jax.random.key(0)


@pytest.fixture(autouse=True)
def _as_users_have_it():
    with jax.numpy_dtype_promotion("standard"):
        yield


@pytest.mark.parametrize("task", [PAPER, STOCK, PENDULUM, ACROBOT], ids=lambda task: task.name)
def test_planes_and_time_limits_are_the_environments(task: Task) -> None:
    """The middle of each cell lies in it; places are observations; no setting of an environment is changed."""
    places = task.plane.places()
    np.testing.assert_array_equal(task.plane.cell_of(jnp.asarray(places)), np.arange(np.prod(task.plane.shape)))
    env = task.make(time_limit=task.time_limit)
    bounds = env.spaces.observation
    assert places.shape[1] == bounds.size
    assert ((places >= np.asarray(bounds.low) - 1e-6) & (places <= np.asarray(bounds.high) + 1e-6)).all()
    assert env == (type(env)() if task is not STOCK else CartPole(reward="dm_control"))


def test_observed_hanging_lies_where_the_plane_has_it() -> None:
    """Hanging: for the pendulum at an edge of the angle, for the acrobot in the middle of both."""
    for task, cell in ((PENDULUM, (0, 12)), (ACROBOT, (18, 18))):
        env = task.make(time_limit=1)
        seen = task.plane.cell_of(jnp.asarray(env.observe(env.reset(KEY)))[None])
        across, up = divmod(int(seen[0]), task.plane.up.cells)
        assert abs(np.array([across % 35, up]) - cell).max() <= 1  # noise at the start, and an edge that is one place


def test_what_earns_is_told_from_what_costs() -> None:
    """A standing pole, pushed with full force: the suite pays 1, the paper 0.9; off the middle only the suite."""
    for position, wanted in ((0.0, (1.0, 0.9)), (0.2, (1.0, -0.1)), (0.3, (0.0, -0.1))):
        for task, reward in zip((STOCK, PAPER), wanted, strict=True):
            env = task.make(time_limit=10)
            assert isinstance(env, CartPole)
            state = env.at(*(jnp.asarray(x) for x in (position, 0.0, 0.0, 0.0)))
            earned = float(env.step(KEY, state, jnp.ones(1)).reward)
            assert earned == pytest.approx(reward)
            assert (earned > EARNED) == (reward > 0)
    made = training(SAC, STOCK, QUICK, init_noise=0.5)
    assert isinstance(made.env, CartPole)
    assert (made.env.reward, made.env.init_noise, made.env.time_limit) == ("dm_control", 0.5, QUICK.time_limit)


@pytest.mark.parametrize("name", ["pendulum", "acrobot"])
def test_the_recipe_is_what_users_get(name: str) -> None:
    """Every setting of ``bbo train``'s agents, and the numbers of the loop."""
    env = f"{name}-swingup-sparse"
    assert make_env(env) == TASKS[name].make(time_limit=TASKS[name].time_limit)
    for program, door in (("bbac", bb.BBAC(env)), ("sac", bb.SAC(env))):
        pure, users = PROGRAMS[program](hidden=FULL.hidden), door._pure()
        for field in fields(users):
            assert getattr(pure, field.name) == getattr(users, field.name), field.name
        ours = (FULL.batch_size, FULL.buffer_size, FULL.warmup)
        assert ours == (door.batch_size, door.buffer_size, door.warmup)


def test_what_is_planned() -> None:
    plan = sparse_tasks.ARTEFACT.plan(Request())
    assert [job.name for job in plan.jobs] == ["pendulum.bbac", "pendulum.sac", "acrobot.bbac", "acrobot.sac"]
    assert [job.units for job in plan.jobs] == [5 * 200_000, 10 * 200_000] * 2
    some = sparse_tasks.ARTEFACT.plan(Request(tasks=("acrobot",), methods=("SAC",), steps=4_000, seeds=2))
    assert [(job.name, job.units) for job in some.jobs] == [("acrobot.sac", 8_000)]
    stock = cartpole_stock.ARTEFACT.plan(Request())
    assert [(job.name, job.units) for job in stock.jobs] == [("bbac", 2_500_000), ("sac", 5_000_000)]
    four = cartpole_stock.ARTEFACT.plan(Request(methods=("SAC*", "BAC", "RP-BBAC", "SAC"), steps=10_000))
    assert [(job.name, job.units) for job in four.jobs] == [("bbac", 100_000), ("sac", 50_000), ("sac-star", 50_000)]
    for bad in (Request(variants=("wide",)), Request(steps=1_000)):
        for artefact in (sparse_tasks.ARTEFACT, cartpole_stock.ARTEFACT):
            with pytest.raises(ValueError, match=r"--(variants|steps) is"):
                artefact.plan(bad)


@pytest.mark.slow
def test_runs_are_made_and_shown(tmp_path: Path) -> None:
    """Tiny ones of SAC on each task, and what is left of them; `test_cartpole` has runs of BBAC."""
    plan = sparse_tasks.ARTEFACT.plan(Request(quick=True))
    jobs = {job.name: job for job in plan.jobs}
    results = {name: jobs[name].run(Desk()) for name in ("pendulum.sac", "acrobot.sac")}
    for found, shape in zip(results.values(), ((36, 24), (36, 36)), strict=True):
        assert found["visits"].sum(axis=(2, 3)).tolist() == [[100] * 4, [300] * 4]
        assert found["spread"].shape == (2, 4, *shape)
        assert np.isinf(found["first_reward"]).all()
        assert (found["returns"] <= 0).all()
        assert not np.array_equal(found["returns"][:, 0], found["returns"][:, 1])  # seeds differ
    text = sparse_tasks.ARTEFACT.analyse(plan, Done(results, {"acrobot.bbac": "out of memory"}, 60.0), tmp_path)
    assert "pendulum, SAC" in text
    report = (tmp_path / "report.md").read_text()
    assert "above 100 on the pendulum, 150 on the acrobot" in " ".join(report.split())
    assert "Job acrobot.bbac failed" in report
    for name in ("returns-pendulum", "rewards-acrobot", "support-pendulum--sac", "support-acrobot--sac"):
        assert (tmp_path / f"{name}.png").stat().st_size > 1_000
        assert f"({name}.png)" in report


def both(ours: list[bool], theirs: list[bool]) -> dict[str, Arrays]:
    """Results on both tasks, by whether runs were solved."""
    results = {}
    for name, task in TASKS.items():
        for program, agents, solved in (("bbac", ["RP-BBAC"], ours), ("sac", list(SACS), [False] * 5 + theirs)):
            returns = curves(*solved) * task.success / 500  # 1.2 times success, or below 0
            groups, seeds = [f"{name}, {agent}" for agent in agents], len(solved) // len(agents)
            results[f"{name}.{program}"] = faked(groups, seeds, returns, task.plane.shape)
    return results


def test_claims_about_sparse_tasks(tmp_path: Path) -> None:
    artefact = sparse_tasks.ARTEFACT
    plan = artefact.plan(Request())
    put_settings(plan, tmp_path)

    def verdicts(ours: list[bool], theirs: list[bool]) -> list[bool]:
        write_runs(tmp_path / "runs.csv", runs_of(plan, Done(both(ours, theirs), {}), task_of))
        return [verdict.ok for verdict in judge(artefact.expected(), artefact.cells(tmp_path))]

    assert verdicts([True] * 5, [False] * 5) == [True] * 4
    assert verdicts([True] * 5, [True] * 5) == [True] * 4  # as good is not worse
    assert verdicts([True] * 4 + [False], [True] * 5) == [False] * 4  # a seed without a reward, and fewer solved
    assert verdicts([True] * 4, [False] * 5) == [False] * 4  # too few seeds
    alone = Done({"pendulum.bbac": both([True] * 5, [True] * 5)["pendulum.bbac"]}, {})
    write_runs(tmp_path / "runs.csv", runs_of(plan, alone, task_of))
    assert set(artefact.cells(tmp_path)) == {("pendulum", "RP-BBAC found a reward")}


def test_claims_about_the_stock_reward(tmp_path: Path) -> None:
    artefact = cartpole_stock.ARTEFACT
    plan = artefact.plan(Request())
    put_settings(plan, tmp_path)

    def done(ours: list[bool], theirs: list[bool]) -> Done:
        sacs = faked(list(SACS), 5, curves(*[False] * 5, *theirs))  # the better one counts
        return Done({"bbac": faked(["RP-BBAC"], 5, curves(*ours)), "sac": sacs}, {})

    def verdicts(ours: list[bool], theirs: list[bool]) -> list[bool]:
        write_runs(tmp_path / "runs.csv", runs_of(plan, done(ours, theirs), stock_task))
        return [verdict.ok for verdict in judge(artefact.expected(), artefact.cells(tmp_path))]

    lucky = [True, False, False, False, False]
    assert verdicts([True] * 5, [True] * 5) == [True, False, True, False]  # no better, and not luck
    assert verdicts(lucky, lucky) == [False, False, True, True]
    assert verdicts([True] * 5, lucky) == [True, True, True, True]
    one = Done({"bbac": faked(["RP-BBAC"], 1, curves(True)), "sac": faked(list(SACS), 1, curves(False, False))}, {})
    write_runs(tmp_path / "runs.csv", runs_of(plan, one, stock_task))
    assert not any(verdict.ok for verdict in judge(artefact.expected(), artefact.cells(tmp_path)))  # one seed of each
    assert verdicts([True] * 5, lucky) == [True, True, True, True]
    outcome = runs_of(plan, done([True] * 5, lucky), stock_task)
    assert read_runs(tmp_path, "cartpole-stock") == outcome
    text = artefact.analyse(plan, done([True] * 5, lucky), tmp_path)
    assert text.lstrip().startswith("agent  seed  first reward")
    report = (tmp_path / "report.md").read_text()
    assert "| RP-BBAC | 0 | 10,007 | 11 | 20,000 | yes | 600.0 | 600.0 |" in report
    assert "| SAC | 4 | - | 0 | - | no | -3.0 | -3.0 |" in report
    for row in PUBLISHED:
        assert f"| {row.method} | {row.returns} | {row.source} |" in report
    assert artefact.source == sparse_tasks.ARTEFACT.source == "claims"


def test_sizes_hold_whole_episodes() -> None:
    """What is watched between evaluations is cut into episodes of one length."""
    for task in TASKS.values():
        assert FULL.every % task.time_limit == 0
    assert replace(FULL, seeds=1).moments[0] == FULL.every


@pytest.mark.parametrize("task", [PENDULUM, ACROBOT], ids=lambda task: task.name)
def test_the_links_are_drawn(task: Task) -> None:
    """Hanging at first, below the hinge in the middle of the picture; after a while elsewhere."""
    env = task.make(time_limit=50)
    draw = drawing_of(env)
    assert draw is not None
    state = env.reset(KEY)
    first = draw(state, "hanging")
    orange = (first[:, :, 0] > 180) & (first[:, :, 2] < 90)
    rows = np.flatnonzero(orange.any(axis=1))
    assert rows.mean() > first.shape[0] / 2  # below the hinge
    for _ in range(10):
        state = env.step(KEY, state, env.spaces.action.high).state
    assert not np.array_equal(first, draw(state, "hanging"))
