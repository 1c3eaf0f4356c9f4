"""``bbo train --seeds``: side by side, each seed as if nothing had happened to the others."""

import json
import os
import signal
import subprocess
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.cli.test_cli import BBO, read_csv
from tests.cli.test_resume import digest
from tests.cli.test_train import bbo
from tests.sizes import EPISODES, OPTIONS

from bayesbellman.doors import agents
from bayesbellman.doors.agent import Agent
from bayesbellman.doors.fleet import Fleet
from bayesbellman.experiments.training import formation
from bayesbellman.experiments.training.plan import Plan
from bayesbellman.runs import bundle
from bayesbellman.runs.bundle import read_bundle
from bayesbellman.runs.metrics import MetricsFile, read_metrics
from bayesbellman.runs.trees import named_arrays

SEEDS = 3
STEPS = 600
OFTEN = ("--evaluate-every", 200, "--checkpoint-every", 100, "--episodes", EPISODES)
CAR = ("MountainCarContinuous-v0", "--agent", "sac-star", *OPTIONS, *OFTEN, "--seeds", SEEDS, "--steps", STEPS)


@pytest.fixture(autouse=True, scope="module")
def _as_users_have_it():
    jax.config.update("jax_numpy_dtype_promotion", "standard")
    yield
    jax.config.update("jax_numpy_dtype_promotion", "strict")


def folder(run: Path, seed: int) -> Path:
    return run / f"seed-{seed:04d}"


def digests(run: Path, *seeds: int) -> list[str]:
    return [digest(folder(run, seed)) for seed in seeds or range(SEEDS)]


def steps_of(run: Path) -> list[list[int]]:
    return [[piece["steps"] for piece in read_metrics(folder(run, seed) / "metrics.jsonl")] for seed in range(SEEDS)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nothing happened to, on one device."""
    out = tmp_path_factory.mktemp("whole") / "run"
    assert bbo("train", *CAR, "--out", out) == 0
    return out


def test_each_seed_is_trained_as_it_would_be_alone(whole: Path, tmp_path: Path) -> None:
    """To rounding, as it is another program; and one at a time as if it were alone, to the bit."""
    alone = tmp_path / "alone"
    assert bbo("train", *CAR, "--seeds", 1, "--seed", 1, "--out", alone) == 0
    assert bbo("train", *CAR, "--side-by-side", 1, "--out", tmp_path / "in turn") == 0
    assert digest(alone) == digests(tmp_path / "in turn", 1)[0]
    ours, theirs = (read_metrics(path / "metrics.jsonl") for path in (folder(whole, 1), alone))
    assert [piece["steps"] for piece in ours] == [piece["steps"] for piece in theirs] == [50, 200, 400, 600]
    compare(ours, theirs)
    assert (
        len({json.dumps(read_metrics(folder(whole, seed) / "metrics.jsonl")[1]["metrics"]) for seed in range(3)}) == 3
    )


def compare(ours: list[dict], theirs: list[dict]) -> None:
    """Losses and evaluations of two trainings that differ by rounding."""
    for one, other in zip(ours, theirs, strict=True):
        assert one["metrics"].keys() == other["metrics"].keys()
        for name, value in one["metrics"].items():
            assert value == pytest.approx(other["metrics"][name], rel=1e-2, abs=1e-3)
        if "evaluation" in one:
            np.testing.assert_allclose(
                one["evaluation"]["returns"], other["evaluation"]["returns"], rtol=0.05, atol=0.05
            )


@pytest.mark.slow  # tests/control/test_side_by_side.py compares devices every day, without the command
def test_several_devices_give_the_same_metrics_and_are_told_of(whole: Path, tmp_path: Path) -> None:
    """To rounding: XLA compiles for several devices otherwise than for one."""
    out = tmp_path / "run"
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=4"
    done = subprocess.run(
        [*BBO, "train", *map(str, CAR), "--out", str(out)],
        env={**os.environ, "XLA_FLAGS": flags},
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    assert "3 seeds side by side on 3 devices (cpu), 1 each; replay 16 kB and states" in done.stderr
    for seed in range(SEEDS):
        compare(*(read_metrics(folder(run, seed) / "metrics.jsonl") for run in (whole, out)))


class Killed(Exception):
    pass


def test_broken_off_between_two_checkpoints_it_goes_on_bit_by_bit(
    whole: Path, tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seed 0 has its checkpoint of step 400, the others theirs of step 200: they catch up first."""
    out, publish = tmp_path / "run", bundle.publish

    def breaks(scratch: Path, path: Path) -> None:
        if path.name == "step-000000000400.bbo" and path.parents[1].name == "seed-0001":
            raise Killed("here")
        publish(scratch, path)

    monkeypatch.setattr(bundle, "publish", breaks)
    with pytest.raises(Killed):
        bbo("train", *CAR, "--out", out)
    monkeypatch.undo()
    assert [row["ended"] for row in read_csv(out / "summary.csv")] == ["stopped", "failed", "stopped"]
    assert [Agent.load(folder(out, seed) / "agent.bbo").num_timesteps for seed in range(3)] == [400, 400, 200]
    capsys.readouterr()
    assert bbo("train", *CAR, "--out", out, "--resume") == 0
    words = capsys.readouterr().err
    assert all(f"seed {seed} goes on from step {steps}" in words for seed, steps in enumerate((400, 200, 200)))
    assert digests(out) == digests(whole)
    assert steps_of(out) == steps_of(whole)


def test_stopped_all_are_at_the_same_step_and_go_on_bit_by_bit(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, write = tmp_path / "run", MetricsFile.write

    def stops(self: MetricsFile, record: dict) -> None:
        write(self, record)
        if record["steps"] == 200:  # when the first seed has them; asked once, as the second time ends the process
            monkeypatch.setattr(MetricsFile, "write", write)
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(MetricsFile, "write", stops)
    assert bbo("train", *CAR, "--out", out) == 130
    assert steps_of(out) == [[50, 200, 400]] * 3
    assert [row["ended"] for row in read_csv(out / "summary.csv")] == ["stopped"] * 3
    assert bbo("train", *CAR, "--out", out, "--resume") == 0
    assert digests(out) == digests(whole)


def test_a_seed_that_diverges_leaves_the_others_alone(
    whole: Path, tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, advance = tmp_path / "run", Fleet._advance_all

    def spoiled(self: Fleet, steps: int, number: int) -> None:
        if steps == 200:
            state = self.part(1, steps)
            reward = jnp.full_like(state.replay.ring.reward, jnp.nan)
            self._states = self.layout.put(self._states, 1, eqx.tree_at(lambda s: s.replay.ring.reward, state, reward))
        advance(self, steps, number)

    monkeypatch.setattr(Fleet, "_advance_all", spoiled)
    assert bbo("train", *CAR, "--out", out) == 3
    words = capsys.readouterr().err
    assert "between steps 200 and 400; the agent is as it was at step 200" in words
    assert [row["ended"] for row in read_csv(out / "summary.csv")] == ["finished", "diverged", "finished"]
    assert digests(out, 0, 2) == digests(whole, 0, 2)
    kept = Agent.load(folder(out, 1) / "agent.bbo")
    assert kept.num_timesteps == 200
    (checkpoint,) = (folder(out, 1) / "checkpoints").glob("step-*200.bbo")
    sound, _ = read_bundle(checkpoint)
    for name, array in named_arrays({"agent": kept._agent_state()}).items():
        np.testing.assert_array_equal(array, sound[name.replace("['agent']", "agent")], err_msg=name)


def test_a_seed_that_is_solved_leaves_the_others_alone(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when they go on without it."""
    out = tmp_path / "run"
    monkeypatch.setattr(agents.SAC, "evaluate", lambda self, episodes: np.full(episodes, 5.0 * (self.seed == 0)))
    assert bbo("train", *CAR, "--solved", 5, "--steps", 400, "--out", out) == 0
    assert bbo("train", *CAR, "--solved", 5, "--out", out, "--resume") == 0
    assert [row["ended"] for row in read_csv(out / "summary.csv")] == ["solved", "finished", "finished"]
    assert steps_of(out) == [[50, 200], [50, 200, 400, 600], [50, 200, 400, 600]]
    for seed in (1, 2):
        ours, theirs = (
            read_bundle(max((folder(run, seed) / "checkpoints").glob("step-*.bbo")))[0] for run in (out, whole)
        )
        assert ours.keys() == theirs.keys()
        for name, array in ours.items():
            np.testing.assert_array_equal(array, theirs[name], err_msg=name)


def planned(seeds: int, side_by_side: int | None = None) -> tuple[Plan, Agent]:
    plan = Plan("MountainCarContinuous-v0", agents.SAC, {"hidden": (8,)}, seeds=seeds, side_by_side=side_by_side)
    return plan, plan.agent(0)


def sizes(found: formation.Formation) -> list[int]:
    return [len(group) for group in found.groups]


def test_what_does_not_fit_is_cut_into_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sizes(formation.form(*planned(10), None)) == [10]
    assert sizes(formation.form(*planned(10, 4), None)) == [4, 4, 2]
    assert sizes(formation.form(*planned(10, 8), None)) == [5, 5]
    assert sizes(formation.form(*planned(10), {"run": {}})) == [1] * 10  # as it was before there was a choice
    assert sizes(formation.form(*planned(10), {"run": {"side_by_side": 5}})) == [5, 5]
    monkeypatch.setattr(formation, "most_that_fit", lambda size, devices: 6)
    found = formation.form(*planned(10), None)
    assert sizes(found) == [5, 5]
    assert found.words[0].startswith("10 seeds, 5 at a time side by side on 1 device (cpu); replay 160 MB and states")
    assert found.words[1].startswith("no more than 5 at a time: a run takes 32")
    found = formation.form(*planned(10), {"run": {"side_by_side": 10}})
    assert found.words[-1] == "it was begun with 10 side by side: bits may differ from here on"


def test_gymnasium_environments_take_their_turn(tmp_path: Path, capsys) -> None:
    options = (*OPTIONS, "--agent", "sac-star", "--steps", 60, "--evaluate-every", 100, "--episodes", 1, "--seeds", 2)
    assert bbo("train", "Pendulum-v1", *options, "--out", tmp_path / "run") == 0
    assert "seeds one after the other: this environment is stepped in Python" in capsys.readouterr().err
    assert json.loads((tmp_path / "run" / "config.json").read_text())["run"]["side_by_side"] == 1
