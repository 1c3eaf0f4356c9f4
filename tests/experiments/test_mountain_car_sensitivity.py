"""What RP-BBAC's ensemble and prior are worth on MountainCar: what is run, what becomes of it, what is claimed."""

from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest

from bayesbellman.experiments.artefact import Arrays, Desk, Done, Request
from bayesbellman.experiments.checking import judge
from bayesbellman.experiments.mountain_car.sweep import QUICK
from bayesbellman.experiments.mountain_car_sensitivity import ARTEFACT
from bayesbellman.experiments.mountain_car_sensitivity.outcomes import outcomes, write_runs
from bayesbellman.experiments.mountain_car_sensitivity.sweep import FULL, JOB_STEPS, RANGES, run_job
from bayesbellman.experiments.sensitivity.ranges import MEMBERS, SCALE, WEIGHT, Change, group_name


@pytest.fixture(autouse=True)
def _as_users_have_it():
    with jax.numpy_dtype_promotion("standard"):
        yield


def changes_by_job() -> dict[str, list[Change]]:
    """What each job of the whole study changes."""
    return {name: list(changes) for name, changes in RANGES.jobs(tuple(RANGES.axes), FULL, JOB_STEPS)}


def faked(changes: list[Change], bad: dict[Change, int], seeds: int = 5) -> Arrays:
    """So many runs of each: solved after 2,000 steps, but for so many of what is bad, the first ones."""
    solved = np.array([seed >= bad.get(change, 0) for change in changes for seed in range(seeds)])
    returns = np.where(solved, np.array([-20.0, 95.0, 94.0])[:, None], -1.0)
    return {
        "group": np.array([group_name(*change) for change in changes for _ in range(seeds)]),
        "seed": np.array([*range(seeds)] * len(changes)),
        "steps": 1_000 * np.arange(1, 4),
        "returns": returns,
        "goals": (returns > 0).astype(int),
        "disagreement": np.ones(returns.shape),
        "critic_loss": np.ones(returns.shape),
        "seconds": np.array(1.0),
    }


def judged(folder: Path, bad: dict[Change, int], steps: int | None = None) -> dict[tuple[str, ...], bool]:
    plan = ARTEFACT.plan(Request(steps=steps))
    results = {job: faked(changes, bad) for job, changes in changes_by_job().items()}
    assert set(results) == {job.name for job in plan.jobs}
    ARTEFACT.analyse(plan, Done(results, {}), folder)
    return {verdict.address: verdict.ok for verdict in judge(ARTEFACT.expected(), ARTEFACT.cells(folder))}


def test_what_is_changed_and_how_much_is_run() -> None:
    plan = ARTEFACT.plan(Request())
    assert {job.name: job.units for job in plan.jobs} == {
        "prior-1": 4 * 5 * 30_000,
        "prior-2": 5 * 5 * 30_000,
        "members.1": 150_000,
        "members.2": 150_000,
        "members.4": 150_000,
        "members.16": 150_000,
    }
    for ranges in RANGES.axes.values():
        assert list(ranges) == sorted(ranges)
    assert all(RANGES.paper[axis] in values for axis, values in RANGES.axes.items())
    assert plan.settings["width"] == "wide"
    narrow = ARTEFACT.plan(Request(variants=("narrow",), methods=(SCALE,), seeds=2, steps=4_000))
    assert [(job.name, job.units) for job in narrow.jobs] == [("prior", 5 * 2 * 4_000)]
    assert narrow.settings["size"] == {
        "seeds": 2,
        "steps": 4_000,
        "episodes": 20,
        "hidden": (64, 64),
        "batch_size": 256,
    }
    with pytest.raises(ValueError, match="one width at a time, narrow or wide"):
        ARTEFACT.plan(Request(variants=("narrow", "wide")))
    with pytest.raises(ValueError, match="has no tasks to choose from"):
        ARTEFACT.plan(Request(tasks=("pendulum",)))


def test_numbers_reach_the_runs_they_are_meant_for() -> None:
    """Each run beside others is what it is alone; the prior's scale shows in disagreement, its weight in parameters."""
    size = replace(QUICK, seeds=1, hidden=(4,), batch_size=8)
    changes = [(SCALE, 10.0), (SCALE, 1000.0), (WEIGHT, 1e-6), (WEIGHT, 1e-3)]
    found = run_job(changes, size, Desk())
    assert found["group"].tolist() == ["prior scale 10", "prior scale 1000", "prior weight 1e-06", "prior weight 0.001"]
    assert found["returns"].shape == (2, 4)
    small, large, light, heavy = found["disagreement"][-1]
    assert large > 20 * small
    assert small < light < large  # these two have the paper's scale
    assert light != heavy
    alone = run_job(changes[3:], size, Desk())
    np.testing.assert_allclose(alone["disagreement"][:, 0], found["disagreement"][:, 3], rtol=1e-3)
    assert run_job([(MEMBERS, 1.0)], size, Desk())["disagreement"].tolist() == [[0.0], [0.0]]  # one member agrees


def test_what_became_of_a_run() -> None:
    found = dict(faked([(MEMBERS, 8.0)], {}))
    returns = np.array([[-1.0, 95.0, 91.0], [95.0, 95.0, 90.0], [20.0, 95.0, 0.0], [95.0, 95.0, 0.0]])
    returns = np.concatenate([returns, returns[:, :2]], axis=1)
    found |= {"steps": 1_000 * np.arange(1, 5), "returns": returns, "goals": np.eye(4, 5, dtype=int)}
    disagreement = np.arange(20.0).reshape(4, 5)
    disagreement[-1, 1] = np.nan
    found |= {"disagreement": disagreement, "critic_loss": np.full((4, 5), np.nan)}
    first, second, third = outcomes(found)[:3]
    assert (first.solved_at, first.lasting, first.final_return) == (2_000.0, 0.5, 95.0)
    assert (second.solved_at, second.lasting) == (1_000.0, 1.0)
    assert (third.solved_at, third.lasting, third.final_return) == (1_000.0, 0.0, 0.0)  # 90 is not above 90
    assert (first.goals, first.disagreement, first.finite) == (1, 15.0, True)  # before an update there is no loss
    assert not second.finite
    found["returns"] = np.where(np.arange(4) == 3, 95.0, 0.0)[:, None] * np.ones(5)
    assert np.isnan(outcomes(found)[0].lasting)  # solved in the end, and nothing after it


def test_claims_hold_where_all_are_solved_and_fail_where_they_are_not(tmp_path: Path) -> None:
    verdicts = judged(tmp_path, {(MEMBERS, 1.0): 5, (MEMBERS, 2.0): 3, (SCALE, 10.0): 1})
    assert len(verdicts) == 3 + 5 + 5
    assert all(verdicts.values())  # nothing is claimed of fewer than four members; one seed of five may fail
    assert (tmp_path / "sensitivity.png").stat().st_size > 1_000
    report = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "| members 2 | 5 | 2 | not within the run |" in report
    bad = {(MEMBERS, 4.0): 1, (SCALE, 1000.0): 2, (MEMBERS, 8.0): 1}
    failed = {address for address, ok in judged(tmp_path, bad).items() if not ok}
    assert failed == {(MEMBERS, "4"), (MEMBERS, "8"), (SCALE, "1000")}  # 8 is the paper's scale and weight as well
    few = ARTEFACT.plan(Request(seeds=4))
    results = {job: faked(changes, {}, seeds=4) for job, changes in changes_by_job().items()}
    ARTEFACT.analyse(few, Done(results, {}), tmp_path)
    assert not any(verdict.ok for verdict in judge(ARTEFACT.expected(), ARTEFACT.cells(tmp_path)))  # too few seeds
    runs = outcomes(faked([(MEMBERS, 16.0)], {}))
    for lost in ({"finite": False}, {"final_return": 90.0}):
        write_runs(tmp_path, [run._replace(**lost) for run in runs[:2]] + runs[2:])
        assert ARTEFACT.cells(tmp_path)[MEMBERS, "16"].mean == 0.6  # solved on the way, and lost again
    narrow = ARTEFACT.plan(Request(variants=("narrow",)))
    ARTEFACT.analyse(narrow, Done(results, {}), tmp_path)
    with pytest.raises(ValueError, match="have networks of 64 x 64; what is claimed of"):
        ARTEFACT.cells(tmp_path)
    with pytest.raises(ValueError, match="have 20,000 steps each"):
        judged(tmp_path, {}, steps=20_000)
    (tmp_path / "runs.csv").write_text("group\nx\n")
    with pytest.raises(ValueError, match="is damaged"):
        ARTEFACT.cells(tmp_path)
    with pytest.raises(FileNotFoundError, match="holds no runs"):
        ARTEFACT.cells(tmp_path / "nowhere")


def test_a_part_of_the_study_is_shown_and_what_is_missing_is_said(tmp_path: Path) -> None:
    plan = ARTEFACT.plan(Request())
    done = Done({"members.4": faked([(MEMBERS, 4.0)], {})}, {"prior-1": "RuntimeError: out of memory"})
    assert "out of memory" in ARTEFACT.analyse(plan, done, tmp_path)
    verdicts = judge(ARTEFACT.expected(), ARTEFACT.cells(tmp_path))
    assert [verdict.address for verdict in verdicts if verdict.ok] == [(MEMBERS, "4")]
    ARTEFACT.analyse(plan, Done({}, {"prior-1": "RuntimeError: out of memory"}), tmp_path)  # draws nothing


def test_networks_are_as_wide_as_asked_for() -> None:
    """Wider ones have more parameters to be drawn: another function from the same key."""
    size = replace(QUICK, seeds=1, batch_size=8)
    first, wider = (run_job([(SCALE, 10.0)], replace(size, hidden=hidden), Desk()) for hidden in ((4,), (8,)))
    assert first["disagreement"][0, 0] != wider["disagreement"][0, 0]
