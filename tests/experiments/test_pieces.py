"""Studies made in pieces: put down, copied, taken up again, and the same to the bit; and their time limits."""

import shutil
import time
from collections.abc import Mapping
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.experiments import toy

from bayesbellman.control.sac import SAC
from bayesbellman.control.train import Training
from bayesbellman.core.types import Transition
from bayesbellman.envs.cartpole import CartPole
from bayesbellman.experiments import running, work_folder
from bayesbellman.experiments.artefact import Artefact, Desk, Done, Job, Paused, Plan, Request
from bayesbellman.experiments.control_runs import PausedRuns, Runs, result_of, run_seeds
from bayesbellman.experiments.running import TimeLimit, reproduce, run_plan
from bayesbellman.runs.bundle import Corrupt
from bayesbellman.runs.stopping import Stopped
from bayesbellman.runs.trees import Mismatch

SETTINGS = {"target_entropy": np.array([-1.0, -1.0, -2.0]), "init_noise": np.array([0.01, 0.01, 0.1])}
PLACES = np.zeros((2, 5))


@pytest.fixture(autouse=True)
def _as_users_have_it():
    with jax.numpy_dtype_promotion("standard"):
        yield


def make(target_entropy, init_noise) -> Training:
    agent = SAC(num_critics=1, hidden=(4,), target_entropy=target_entropy)
    env = CartPole(init_noise=init_noise, time_limit=10)
    return Training(agent, env, batch_size=8, buffer_size=50, warmup=20)  # replay is full before the end


def watch(latest: Transition) -> dict[str, jax.Array]:
    return {"first": latest.observation[0], "effort": abs(latest.action).sum()}


def runs(desk: Desk, seeds: tuple[int, ...] = (0, 1, 0), settings: Mapping = SETTINGS) -> Runs:
    asked = {"steps": 80, "every": 20, "episodes": 2, "moments": (40, 80), "places": PLACES}
    return run_seeds(make, seeds, settings, watch=watch, keep_visited=True, desk=desk, **asked)


@pytest.fixture(scope="module")
def whole() -> Runs:
    with jax.numpy_dtype_promotion("standard"):
        return runs(Desk())


def same(one: Runs, other: Runs) -> bool:
    plain = all(np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True) for name in Runs._fields[:6])
    watched = all(np.array_equal(one.watched[name], other.watched[name]) for name in ("first", "effort"))
    return plain and watched and np.array_equal(one.values, other.values) and np.array_equal(one.visited, other.visited)


def test_runs_have_their_own_seed_and_floats(whole: Runs) -> None:
    first = whole.watched["first"][0]
    assert np.abs(first[:, 0]).max() < 0.5  # what is watched begins with the first transition
    assert not np.array_equal(first[0], first[1])
    np.testing.assert_allclose(first[2, 0], 10 * first[0, 0], rtol=1e-5)  # the same seed, ten times the noise
    assert whole.watched["effort"].shape == (4, 3)
    with pytest.raises(ValueError, match="once with the same settings"):
        runs(Desk(), (0, 0, 0))
    with pytest.raises(ValueError, match=r"settings\['target_entropy'\] has shape"):
        runs(Desk(), (0, 1))


def test_what_is_put_down_anywhere_goes_on_to_the_same_bits(whole: Runs, tmp_path: Path) -> None:
    """Stopped at each evaluation, once copied to another folder, and resumed four times."""
    folder, reported, resumed = tmp_path / "here", [], []
    for piece in range(3):
        with pytest.raises(PausedRuns) as paused:
            runs(Desk(folder, lambda seconds: True, reported.append, resumed.append))
        begun = paused.value.runs
        assert begun.steps.tolist() == whole.steps[: piece + 1].tolist()
        np.testing.assert_array_equal(begun.evaluations, whole.evaluations[: piece + 1])
        assert len(begun.values.std(axis=2)) == (0, 1, 1)[piece]  # the first moment is after 40 steps
        moved = tmp_path / f"there-{piece}"
        shutil.copytree(folder, moved)
        folder = moved
    found = runs(Desk(folder, lambda seconds: True, reported.append, resumed.append))  # the end is no place to stop at
    assert same(found, whole)
    assert reported == [60, 120, 180, 240]
    assert resumed == [60, 120, 180]
    assert len(list(folder.glob("step-*.bbo"))) == 1
    with pytest.raises(Mismatch, match="holds other runs; these differ: seeds"):
        runs(Desk(folder), (0, 1, 2))
    with pytest.raises(Mismatch, match="these differ: settings"):
        runs(Desk(folder), settings={**SETTINGS, "target_entropy": np.array([-1.0, -3.0, -2.0])})
    (kept,) = folder.glob("step-*.bbo")
    kept.write_bytes(kept.read_bytes()[:-5])
    with pytest.raises(Corrupt, match=r"no checkpoint in .* is whole.*; remove .* to begin these runs anew"):
        runs(Desk(folder))


def counting(name: str, pieces: int, begun: list[str]) -> Job:
    """A job of pieces of 0.2 s that remembers how many it has done."""

    def run(desk: Desk) -> dict[str, np.ndarray]:
        assert desk.folder is not None
        begun.append(name)
        desk.folder.mkdir(exist_ok=True)
        kept = desk.folder / "step-000000000000.bbo"
        done = int(kept.read_text()) if kept.exists() else 0
        while done < pieces:
            if desk.must_stop(0.05):
                kept.write_text(str(done))
                raise Paused
            time.sleep(0.2)
            done += 1
            desk.report(done)
        return {"done": np.array(done)}

    return Job(name, pieces, run, in_pieces=True)


def test_at_the_time_limit_all_is_kept_and_the_same_command_goes_on(tmp_path: Path) -> None:
    begun: list[str] = []
    plan = Plan({}, "pieces", (counting("long", 7, begun), counting("later", 2, begun)))
    progress: list[int] = []
    jax.block_until_ready(jnp.linalg.inv(jnp.eye(2)))  # the plan loads it first: not a part of its second here
    started = time.monotonic()
    with pytest.raises(
        Stopped, match=r"stopped: 0 of 2 jobs are kept in .* \((\d) of 9 pieces are done\): "
    ) as stopped:
        run_plan(
            plan,
            tmp_path,
            lambda done, words, already=False: progress.append(done),
            print,
            workers=1,
            limit=TimeLimit(1.0),
        )
    assert time.monotonic() - started < 1.5
    assert stopped.value.exit_code == 143
    assert begun == ["long"]  # the other would have been begun too late
    assert progress == sorted(progress)
    assert 1 <= progress[-1] <= 5
    done = run_plan(plan, tmp_path, lambda done, words, already=False: progress.append(done), print, workers=1)
    assert done.seconds > 1.6  # nine pieces of 0.2 s: those of the first time are counted
    assert {name: int(found["done"]) for name, found in done.results.items()} == {"long": 7, "later": 2}
    assert progress[-1] == 9
    assert sorted(path.name for path in tmp_path.iterdir()) == ["later.npz", "long.npz", "seconds.json"]


def test_pieces_are_dropped_with_other_settings_and_foreign_files_are_not(tmp_path: Path) -> None:
    work = tmp_path / "out.part"
    pieces = work / "squares.0.pieces"
    pieces.mkdir(parents=True)
    work_folder.open_work(work, toy.plan(Request(seeds=6)), overwrite=False)
    (pieces / "step-000000000000.bbo").write_text("old")
    (pieces / "notes.txt").write_text("precious")
    with pytest.raises(ValueError, match="--minutes is 0; accepted is a number > 0"):
        reproduce(toy.TOY, Request(seeds=4), tmp_path / "out", overwrite=True, say=print, minutes=0.0)
    reproduce(toy.TOY, Request(seeds=4), tmp_path / "out", overwrite=True, say=print, minutes=5.0)
    assert [path.name for path in pieces.iterdir()] == ["notes.txt"]


def test_what_is_killed_before_it_has_written_anything_begins_again(tmp_path: Path) -> None:
    work = tmp_path / "out.part"
    work.mkdir()
    (work / ".lock").touch()
    (work / ".settings.json.123.tmp").write_text("{")  # killed while it wrote its first file
    assert reproduce(toy.TOY, Request(seeds=4), tmp_path / "out", overwrite=False, say=print).complete
    assert not work.exists()


def test_jobs_at_a_time_are_no_more_than_the_cores_that_we_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "cores", lambda: 1)
    assert running._side_by_side(toy.plan(Request(seeds=4))) == 1


def test_what_is_recorded_of_paused_runs_is_a_result_so_far(whole: Runs) -> None:
    def paused() -> Runs:
        raise PausedRuns(whole)

    with pytest.raises(Paused) as found:
        result_of(paused, lambda runs: {"steps": runs.steps})
    assert found.value.so_far is not None
    assert result_of(lambda: whole, lambda runs: {"steps": runs.steps})["steps"] is found.value.so_far["steps"]


def test_a_study_that_is_stopped_shows_what_it_has(tmp_path: Path) -> None:
    """It has one job that is done, one that has begun, and one that has not; in the end nothing of that is left."""
    stopping = [True]

    def job(name: str, so_far: bool) -> Job:
        def run(desk: Desk) -> dict[str, np.ndarray]:
            if stopping and name != "done":
                raise Paused({"square": np.array([4.0])} if so_far else None)
            return {"square": np.array([4.0, 9.0])}

        return Job(name, 2, run, in_pieces=True)

    def analyse(plan: Plan, done: Done, folder: Path) -> str:
        (folder / "report.md").write_text(" ".join(done.lacks), encoding="utf-8")
        return f"{len(done.results)} results"

    plan = Plan({}, "squares", (job("done", False), job("begun", True), job("later", False)))
    study = Artefact("toy", lambda request: plan, analyse, toy.cells, toy.expected, ("what",))
    out = tmp_path / "out"
    with pytest.raises(Stopped, match=r"1 of 3 jobs are kept in .*; so far: .*out\.part/so-far/report\.md\): "):
        reproduce(study, Request(), out, overwrite=False, say=print)
    shown = tmp_path / "out.part" / "so-far" / "report.md"
    assert shown.read_text() == "Job begun is not finished. Job later is not finished."
    stopping.clear()
    assert reproduce(study, Request(), out, overwrite=False, say=print).text == "3 results"
    assert (out / "report.md").read_text() == ""
    assert not shown.parent.parent.exists()
