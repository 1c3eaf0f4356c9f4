"""``bbo train`` and ``bbo evaluate``: the files they leave, what they say, and how they end."""

import inspect
import json
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import gymnasium
import jax
import numpy as np
import pytest
from PIL import Image
from tests.cli.test_cli import BBO, read_csv
from tests.sizes import EPISODES, MEMBERS, OPTIONS

from bayesbellman.cli.main import main
from bayesbellman.cli.train import AGENTS, AgentSettings
from bayesbellman.core.errors import Diverged
from bayesbellman.doors import agents
from bayesbellman.doors.agent import Agent
from bayesbellman.doors.settings import setting_names
from bayesbellman.experiments.training import video as video_of
from bayesbellman.experiments.training.plan import changes
from bayesbellman.runs.lock import locked
from bayesbellman.runs.metrics import read_metrics

OFTEN = ("--steps", 120, "--evaluate-every", 50, "--episodes", EPISODES)
PROBE = ("probe-constant-reward", "--agent", "sac-star", *OPTIONS, *OFTEN)
FILES = [
    ".bbo-files", "agent.bbo", "best.bbo", "checkpoints", "config.json", "curve.png", "diagnostics", "ended.json",
    "metrics.jsonl", "report.md", "summary.csv",
]  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def _as_users_have_it():
    """For all threads: training is in one of its own."""
    jax.config.update("jax_numpy_dtype_promotion", "standard")
    yield
    jax.config.update("jax_numpy_dtype_promotion", "strict")


def bbo(*arguments: object) -> int:
    """In this process, where what is compiled once need not be compiled again."""
    try:
        main([str(argument) for argument in arguments])
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(scope="module")
def car(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short run on MountainCar."""
    out = tmp_path_factory.mktemp("car") / "run"
    options = ("--steps", 300, "--evaluate-every", 150, "--episodes", EPISODES, "--ensemble-size", MEMBERS, "--seed", 3)
    assert bbo("train", "MountainCarContinuous-v0", *OPTIONS, *options, "--out", out) == 0
    return out


def test_every_file_is_there_and_right(car: Path) -> None:
    assert names(car) == FILES
    config = json.loads((car / "config.json").read_text())
    assert (config["env"], config["agent"]) == ("MountainCarContinuous-v0", "BBAC")
    assert config["settings"]["hidden"] == [8]
    assert (config["settings"]["prior_scale"], config["settings"]["discount"]) == (100.0, 0.99)  # what it chose itself
    assert config["run"]["steps"] == 300
    assert config["provenance"]["bayesbellman"]
    assert "gymnasium" not in config["provenance"]["packages"]  # the environment is ours
    pieces = read_metrics(car / "metrics.jsonl")
    assert [piece["steps"] for piece in pieces] == [50, 150, 300]
    assert ["evaluation" in piece for piece in pieces] == [False, True, True]
    assert pieces[0]["seconds"] <= pieces[1]["seconds"] <= pieces[2]["seconds"]
    assert pieces[2]["metrics"]["disagreement"] > 0
    evaluations = [piece["evaluation"] for piece in pieces[1:]]
    for evaluation in evaluations:
        assert evaluation["mean"] == pytest.approx(np.mean(evaluation["returns"]))
        assert len(evaluation["returns"]) == 2
    (row,) = read_csv(car / "summary.csv")
    assert (row["seed"], row["ended"], row["steps"], row["evaluations"]) == ("3", "finished", "300", "2")
    assert float(row["best_evaluation"]) == max(evaluation["mean"] for evaluation in evaluations)
    assert (car / "curve.png").read_bytes().startswith(b"\x89PNG")
    report = (car / "report.md").read_text()
    assert "n = 1 seed." in report
    assert "| prior_scale | 100 |" in report


def test_the_agents_that_are_kept_are_those_that_were_evaluated(car: Path) -> None:
    evaluations = [piece["evaluation"] for piece in read_metrics(car / "metrics.jsonl")[1:]]
    np.testing.assert_allclose(Agent.load(car / "agent.bbo").evaluate(2), evaluations[-1]["returns"], rtol=1e-5)
    best = max(evaluations, key=lambda evaluation: evaluation["mean"])
    np.testing.assert_allclose(Agent.load(car / "best.bbo").evaluate(2), best["returns"], rtol=1e-5)


def test_evaluate_prints_what_the_agent_gives_and_draws_its_first_episode(
    car: Path, tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(video_of, "MOST_FRAMES", 20)  # each is drawn, which takes its time
    before = names(car)
    video = tmp_path / "car.gif"
    assert bbo("evaluate", car, "--episodes", 2, "--seed", 5, "--video", video) == 0
    said = capsys.readouterr().out
    returns = Agent.load(car / "agent.bbo").evaluate(2, seed=5)
    assert "returns: " + ", ".join(f"{value:.6g}" for value in returns.tolist()) in said
    mean, _, low, high = (float(number) for number in said.splitlines()[2].split())
    assert (mean, low, high) == pytest.approx((returns.mean(), returns.min(), returns.max()), rel=1e-3)
    assert float(said.rsplit("(return ")[1].rstrip(")\n")) == pytest.approx(returns[0], rel=1e-3)
    with Image.open(video) as image:
        assert 10 < getattr(image, "n_frames", 1) <= 20
    assert names(car) == before
    assert bbo("evaluate", car, "--video", video) == 2
    assert f"--video {video} exists" in capsys.readouterr().err


def test_evaluate_says_what_it_cannot_find(car: Path, tmp_path: Path, capsys) -> None:
    (tmp_path / "empty").mkdir()
    for arguments, words in [
        ((tmp_path / "nowhere",), "give a folder that bbo train left, or a .bbo file"),
        ((tmp_path / "empty",), "holds no agent.bbo"),
        ((car / "agent.bbo", "--best"), "--best is for folders of runs"),
        ((car / "config.json",), "was never written by us"),
        ((car, "--episodes", 0), "--episodes is 0"),
        ((car, "--seed", -1), "--seed is -1"),
        ((car, "--video", tmp_path / "car.mp4"), "accepted is the name of a .gif file"),
    ]:
        assert bbo("evaluate", *arguments) == 2
        assert words in capsys.readouterr().err


def test_evaluate_says_how_a_run_without_its_agent_stands(car: Path, tmp_path: Path, capsys) -> None:
    run = tmp_path / "run"
    shutil.copytree(car, run)
    (run / "agent.bbo").unlink()
    assert bbo("evaluate", run) == 2
    assert "holds no agent.bbo: it has ended, and the file has been removed since; --best" in capsys.readouterr().err
    (run / "summary.csv").unlink()  # as a second Ctrl-C leaves it
    assert bbo("evaluate", run) == 2
    words = "it was interrupted before its end; --best plays the best so far; bbo train ... --resume goes on with it"
    assert f"{run} holds no agent.bbo: {words}" in capsys.readouterr().err
    assert bbo("evaluate", run, "--best", "--episodes", 1) == 0
    with locked(run):
        assert bbo("evaluate", run) == 2
    words = "holds no agent.bbo: it is still being trained; --best plays the best so far; wait for its end"
    assert words in capsys.readouterr().err
    (run / "best.bbo").unlink()
    assert bbo("evaluate", run) == 2
    words = "holds no agent.bbo: it was interrupted before its end; bbo train ... --resume goes on with it"
    assert words in capsys.readouterr().err
    shutil.copy(car / "agent.bbo", run)
    assert bbo("evaluate", run, "--best") == 2
    words = "holds no best.bbo: it has no best evaluation yet; without --best its last agent is played; bbo train ..."
    assert words in capsys.readouterr().err


def test_evaluate_takes_the_environment_that_the_file_does_not_name(
    tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(Still, "there", 0)  # another test counts
    (tmp_path / "my_still.py").write_text(
        "import gymnasium\nfrom tests.cli.test_train import Still\n"
        "gymnasium.register('Mine-v0', Still, max_episode_steps=2)\n"
    )
    path, gif = Agent.kinds["SACStar"](Still(), hidden=(8,)).save(tmp_path / "agent.bbo"), tmp_path / "still.gif"
    assert bbo("evaluate", path, "--episodes", 1) == 2
    assert "pass it as env: bb.SACStar.load(path, env=...) or, if it has a name, bbo evaluate --env NAME" in (
        capsys.readouterr().err
    )
    try:
        assert bbo("evaluate", path, "--episodes", 2, "--env", "my_still:Mine-v0", "--video", gif) == 0
    finally:
        del gymnasium.registry["Mine-v0"]
    said = capsys.readouterr().out
    assert "SACStar on my_still:Mine-v0" in said
    assert "returns: 1, 1" in said


def test_an_environment_may_be_of_a_module_in_the_current_folder(
    tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `bbo doctor` finds it there; an installed command has not that folder on its path."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place])
    (tmp_path / "my_line.py").write_text(
        "import gymnasium\nfrom tests.compat.hostile import Line\n"
        "gymnasium.register('MyLine-v0', Line, max_episode_steps=2)\n"
    )
    try:
        assert bbo("train", "my_line:MyLine-v0", "--agent", "sac-star", *OPTIONS, *OFTEN, "--out", "line") == 0
        assert "Play: bbo evaluate line --env my_line:MyLine-v0\n" in capsys.readouterr().out
        monkeypatch.setattr(sys, "path", [place for place in sys.path if place != str(tmp_path)])
        monkeypatch.delitem(sys.modules, "my_line")
        del gymnasium.registry["MyLine-v0"]
        assert bbo("evaluate", "line", "--env", "my_line:MyLine-v0", "--episodes", 1) == 0
    finally:
        gymnasium.registry.pop("MyLine-v0", None)


def test_several_seeds_each_in_its_folder(tmp_path: Path, capsys) -> None:
    out = tmp_path / "run"
    assert bbo("train", *PROBE, "--seed", 3, "--seeds", 2, "--out", out) == 0
    assert names(out) == [
        ".bbo-files", "config.json", "curve.png", "report.md", "seed-0003", "seed-0004", "summary.csv",
    ]  # fmt: skip
    for seed in (3, 4):
        folder = out / f"seed-000{seed}"
        every = [name for name in FILES if name not in ("curve.png", "report.md", "summary.csv")]
        assert names(folder) == every
        assert json.loads((folder / "config.json").read_text())["settings"]["seed"] == seed
        pieces = read_metrics(folder / "metrics.jsonl")
        assert [piece["steps"] for piece in pieces] == [50, 100, 120]
        assert sum(len(piece["returns"]) for piece in pieces) == 120  # episodes of one step, each with the reward 1
        assert {value for piece in pieces for value in piece["returns"]} == {1.0}
    assert [row["seed"] for row in read_csv(out / "summary.csv")] == ["3", "4"]
    assert "n = 2 seeds" in (out / "report.md").read_text()
    capsys.readouterr()
    assert bbo("evaluate", out) == 2
    assert f"name one: {out / 'seed-0003'}, {out / 'seed-0004'}" in capsys.readouterr().err
    assert bbo("evaluate", out / "seed-0004", "--best", "--episodes", 2) == 0
    assert "returns: 1, 1" in capsys.readouterr().out
    assert bbo("evaluate", out / "seed-0004", "--video", tmp_path / "x.gif") == 2
    assert "nobody has drawn probe-constant-reward" in capsys.readouterr().err


def test_an_existing_run_is_kept_unless_asked(tmp_path: Path, capsys) -> None:
    out = tmp_path / "run"
    assert bbo("train", *PROBE, "--out", out) == 0
    before = (out / "metrics.jsonl").read_bytes()
    assert bbo("train", *PROBE, "--out", out) == 2
    assert "already has files in it; name another folder or add --overwrite" in capsys.readouterr().err
    assert bbo("train", *PROBE, "--out", out, "--overwrite", "--prior-scale", 3) == 2  # sac has none
    with locked(out):
        assert bbo("train", *PROBE, "--out", out, "--overwrite") == 73
    assert (out / "metrics.jsonl").read_bytes() == before
    (out / ".agent.bbo.123.tmp").write_text("half of it")  # as a killed run leaves it, with its lock
    assert bbo("train", *PROBE, "--out", out, "--overwrite", "--steps", 60) == 0
    assert names(out) == FILES
    assert [piece["steps"] for piece in read_metrics(out / "metrics.jsonl")] == [50, 60]
    (out / "notes.txt").write_text("mine")
    assert bbo("train", *PROBE, "--out", out, "--overwrite") == 2
    assert "has files that bbo did not write (notes.txt)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (("--prior-scale", 3), "--prior-scale is no setting of --agent sac-star; it has --learning-rate, --discount,"),
        (("--agent", "bac", "--target-smoothing", 0.1), "target_smoothing: BAC has no target critics"),
        (("--hidden",), "hidden is ()"),
        (("--activation", "cube"), "activation is 'cube'; accepted are relu"),
        (("--buffer-size", 2), "buffer_size is 2 and batch_size 16"),
        (("--steps", 0), "--steps is 0"),
        (("--evaluate-every", 0), "--evaluate-every is 0"),
        (("--seed", -1), "--seed is -1"),
        (("--solved", "nan"), "--solved is nan"),
        (("--seeds", 2**31), "--seed is 0 to 2147483647"),
    ],
)
def test_bad_settings_are_named_and_leave_nothing(tmp_path: Path, capsys, changes: tuple, words: str) -> None:
    assert bbo("train", *PROBE, *changes, "--out", tmp_path / "run") == 2
    assert words in capsys.readouterr().err
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (("--hidden", "64,64"), "Error parsing --hidden: widths are written without commas: --hidden 64 64"),
        (("--hidden", "(64, 32)"), "widths are written without commas: --hidden 64 32"),
        (("--hidden", "wide"), "Error parsing --hidden: 'wide' is no whole number"),
        (("--steps", "1.5"), "Error parsing --steps: '1.5' is no whole number"),
        (("--steps", "inf"), "Error parsing --steps: 'inf' is no whole number"),
    ],
)
def test_what_cannot_be_read_is_said_in_words(
    capsys, monkeypatch: pytest.MonkeyPatch, changes: tuple, words: str
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert bbo("train", *PROBE, *changes) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [(("--gamma", 0.9), "--discount"), (("--lr=1e-3",), "--learning-rate"), (("--learning-starts", 9), "--warmup")],
)
def test_options_of_other_names_are_answered_with_ours(capsys, theirs: tuple, ours: str) -> None:
    assert bbo("train", *PROBE, *theirs) == 2
    name = theirs[0].partition("=")[0]
    assert f"bbo: error: bbo train has no option {name}; it is called {ours} here" in capsys.readouterr().err


def test_whole_numbers_may_be_written_as_floats(tmp_path: Path) -> None:
    """As `learn` takes them."""
    changes = ("--steps", "6e1", "--buffer-size", "1e3")
    assert bbo("train", *PROBE, *changes, "--out", tmp_path / "run") == 0
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert (config["run"]["steps"], config["settings"]["buffer_size"]) == (60, 1000)


@pytest.mark.parametrize("command", ["train", "doctor"])
def test_an_environment_whose_package_is_missing_is_an_error_in_words(
    capsys, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    def missing(*names: object, **options: object) -> None:
        raise gymnasium.error.DependencyNotInstalled("MuJoCo is not installed")

    monkeypatch.setattr(gymnasium, "make", missing)
    assert bbo(command, "Humanoid-v5") == 2
    assert "bbo: error: env: 'Humanoid-v5' needs a package that is not installed: MuJoCo" in capsys.readouterr().err


def test_options_are_the_agents_settings_and_hold_no_defaults() -> None:
    """A setting that an agent gains or loses is missed here; defaults are the agents', and here only words."""
    options = {field.name: field.default for field in fields(AgentSettings)}
    assert set(options) == {name for kind in agents.AGENTS.values() for name in setting_names(kind)} - {"seed"}
    assert set(options.values()) == {None}
    assert set(AGENTS.values()) == set(agents.AGENTS)
    assert inspect.getdoc(AgentSettings)


FIXED = {("bac", "target_smoothing"), ("sac-star", "num_critics"), ("dqn", "ensemble_size"), ("dqn", "prior_scale")}
"""Settings that an agent has and that cannot be chosen"""
IN_WORDS = {
    "target_entropy": "minus the number of actions",
    "env_timeout": "any time, in this process",
    "prior_scale": "for bbac and bac 100 on MountainCar, 32 on the sparse cart-pole, 30 elsewhere; 3 for boot-dqn",
}
"""Defaults that are no value, or depend on the environment"""


@pytest.fixture(scope="module")
def defaults() -> dict[str, dict[str, object]]:
    """Of each agent, by setting."""
    envs = {name: "deep-sea-4" if kind.endswith("DQN") else "acrobot-swingup-sparse" for name, kind in AGENTS.items()}
    return {name: agents.AGENTS[AGENTS[name]](env).settings() for name, env in envs.items()}


def test_help_says_each_agents_defaults(capsys, monkeypatch: pytest.MonkeyPatch, defaults: dict) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    assert bbo("train", "--help") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "default: None" not in said
    for field in fields(AgentSettings):
        words = said.partition(f" --{field.name.replace('_', '-')} ")[2].partition("[default: ")[2].partition("]")[0]
        if field.name in IN_WORDS:
            assert words == IN_WORDS[field.name]
            continue
        having = {name: own[field.name] for name, own in defaults.items() if field.name in own}
        having = {name: value for name, value in having.items() if (name, field.name) not in FIXED}
        assert read_defaults(words, having) == having, field.name


def read_defaults(words: str, having: dict[str, object]) -> dict[str, object]:
    """By agent, of ``1 for bbac and bac; 2 for sac`` or of one value for all; read as what it should be."""
    read = {}
    for part in words.split("; "):
        value, _, names = part.partition(" for ")
        for name in re.split(", | and ", names) if names else having:
            model = having[name]
            if isinstance(model, list):
                read[name] = [int(width) for width in value.split()]
            else:
                read[name] = (
                    {"True": True, "False": False}.get(value, value) if isinstance(model, bool) else type(model)(value)
                )
    return read


def test_prior_scales_are_those_that_the_help_says(defaults: dict) -> None:
    assert set(agents.PRIOR_SCALES.values()) == {100.0, 32.0}
    assert agents.PRIOR_SCALES["MountainCarContinuous-v0"] == 100.0
    assert [defaults[name]["prior_scale"] for name in ("bbac", "bac", "boot-dqn")] == [30.0, 30.0, 3.0]


def test_options_that_a_run_may_go_on_with_and_without() -> None:
    config = {"env": "x", "agent": "SAC", "run": {"steps": 1, "seed": 0}}
    before = {**config, "settings": {"bad_values": "raise", "env_timeout": None, "discount": 0.9}}
    after = {**config, "settings": {"bad_values": "drop", "env_timeout": 5.0, "discount": 0.8}}
    assert changes(before, after) == ["setting discount was 0.9, is 0.8"]


def test_stops_when_solved(tmp_path: Path, capsys) -> None:
    assert bbo("train", *PROBE, "--solved", 1, "--out", tmp_path / "run") == 0
    assert "seed 0 solved: evaluation 1 >= 1 after 50 of 120 steps" in capsys.readouterr().err
    assert read_csv(tmp_path / "run" / "summary.csv")[0]["ended"] == "solved"


def test_an_evaluation_that_is_nan_is_worse_than_any(tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    means = iter([np.nan, -7.0, np.nan])
    monkeypatch.setattr(agents.SAC, "evaluate", lambda self, episodes: np.full(episodes, next(means)))
    out = tmp_path / "run"
    assert bbo("train", *PROBE, "--out", out) == 0
    monkeypatch.undo()
    assert Agent.load(out / "best.bbo").num_timesteps == 100  # of 50, 100 and 120
    capsys.readouterr()
    assert bbo("evaluate", out, "--episodes", 1) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].endswith(", 1 episode, seed 10000")
    assert said[2].split() == ["1", "-", "1", "1"]  # one episode has no deviation


def test_divergence_keeps_the_last_finite_agent_and_does_not_stop_other_seeds(
    tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    learn = agents.SAC._piece

    def diverges(self, player, most):
        told = learn(self, player, most)
        if self.seed == 0 and told.steps > 50:
            raise Diverged(f"critic_loss became nan between steps 50 and {told.steps}")
        return told

    monkeypatch.setattr(agents.SAC, "_piece", diverges)
    out = tmp_path / "run"
    assert bbo("train", *PROBE, "--seeds", 2, "--out", out) == 3
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert last.startswith("bbo: error: seed 0: critic_loss became nan between steps 50 and 100")
    assert str(out / "seed-0000" / "agent.bbo") in last
    assert [row["ended"] for row in read_csv(out / "summary.csv")] == ["diverged", "finished"]
    assert Agent.load(out / "seed-0000" / "agent.bbo").evaluate(1) == 1.0
    assert "seed 0 diverged: critic_loss" in (out / "report.md").read_text()


def test_the_batch_that_broke_a_seed_is_kept(tmp_path: Path, capsys) -> None:
    out = tmp_path / "run"
    assert bbo("train", *PROBE, "--learning-rate", 1e30, "--out", out) == 3
    with np.load(out / "diverged.npz", allow_pickle=False) as kept:
        assert np.isfinite(kept["observation"]).all()
        assert f"the batch of step {int(kept['step']):,}, which did it" in capsys.readouterr().err


def test_a_disk_that_has_no_room_for_that_batch_leaves_the_seed_diverged(
    tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    savez = np.savez

    def full(file: object, **arrays: np.ndarray) -> None:
        if isinstance(file, Path) and file.name == "diverged.npz":
            raise OSError(28, "No space left on device")
        savez(file, **arrays)  # pyright: ignore[reportArgumentType, reportCallIssue]

    monkeypatch.setattr(np, "savez", full)
    assert bbo("train", *PROBE, "--learning-rate", 1e30, "--out", tmp_path / "run") == 3
    words = capsys.readouterr().err
    assert "could not be kept ([Errno 28] No space left on device)" in words
    assert "which did it" not in words


def test_memory_that_is_full_is_said_with_what_takes_it(
    tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self, player, most):
        raise RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 110592000000 bytes.")

    monkeypatch.setattr(agents.SAC, "_piece", full)
    assert bbo("train", *PROBE, "--out", tmp_path / "run") == 2
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert "110592000000 bytes; what a training takes grows with --buffer-size" in last


class Still(gymnasium.Env):
    """Nothing happens but the reward and a picture; cut after two steps."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012
    observation_space = gymnasium.spaces.Box(-1, 1, (2,))
    action_space = gymnasium.spaces.Box(-2, 2, (1,))

    there = 0
    """Made, and not closed"""

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode, self.time = render_mode, 0
        Still.there += 1

    def close(self):
        Still.there -= 1

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time = 0
        return np.zeros(2, np.float32), {}

    def step(self, action):
        self.time += 1
        return np.zeros(2, np.float32), 0.5, False, False, {}

    def render(self):
        return np.full((8, 8, 3), 100 * self.time, np.uint8)


def test_gymnasium_environments_render_themselves(tmp_path: Path, capsys) -> None:
    gymnasium.register("Still-v0", Still, max_episode_steps=2)
    try:
        options = ("--agent", "sac-star", *OPTIONS, "--steps", 70, "--evaluate-every", 60, "--episodes", EPISODES)
        assert bbo("train", "Still-v0", *options, "--out", tmp_path / "run") == 0
        assert "environment: Gymnasium's, stepped in Python" in capsys.readouterr().err
        assert Still.there == 0
        assert bbo("evaluate", tmp_path / "run", "--episodes", 3, "--video", tmp_path / "still.gif") == 0
        assert "returns: 1, 1, 1" in capsys.readouterr().out
        with Image.open(tmp_path / "still.gif") as image:
            assert getattr(image, "n_frames", 1) == 3
    finally:
        del gymnasium.registry["Still-v0"]


def test_what_rendering_lacks_is_said_before_an_episode_is_played(
    tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacks_pygame(self: Still) -> None:
        raise gymnasium.error.DependencyNotInstalled('run `pip install "gymnasium[classic_control]"`')

    def played(self: Agent, *arguments: object, **options: object) -> None:
        raise AssertionError("an episode was played")

    gymnasium.register("Still-v0", Still, max_episode_steps=2)
    try:
        with agents.SACStar("Still-v0", hidden=(8,)) as agent:
            agent.save(tmp_path / "agent.bbo")
        monkeypatch.setattr(Agent, "evaluate", played)
        monkeypatch.setattr(Still, "render", lacks_pygame)
        video = ("--video", tmp_path / "still.gif")
        assert bbo("evaluate", tmp_path / "agent.bbo", *video) == 2
        words = 'Still-v0 cannot be rendered here: run `pip install "gymnasium[classic_control]"`'
        assert words in capsys.readouterr().err
        monkeypatch.setattr(Still, "metadata", {"render_modes": []})
        assert bbo("evaluate", tmp_path / "agent.bbo", *video) == 2
        assert "Still-v0 has no render mode 'rgb_array'" in capsys.readouterr().err
        assert Still.there == 0
    finally:
        del gymnasium.registry["Still-v0"]


def test_pendulum(tmp_path: Path, capsys) -> None:
    """Of Gymnasium itself; episodes of 200 steps."""
    options = (
        "--agent",
        "bac",
        "--ensemble-size",
        MEMBERS,
        *OPTIONS,
        "--steps",
        210,
        "--evaluate-every",
        500,
        "--episodes",
        1,
    )
    assert bbo("train", "Pendulum-v1", *options, "--out", tmp_path / "run") == 0
    assert "prior scale: 30, a guess" in capsys.readouterr().err
    packages = json.loads((tmp_path / "run" / "config.json").read_text())["provenance"]["packages"]
    assert packages["gymnasium"] == gymnasium.__version__
    pieces = read_metrics(tmp_path / "run" / "metrics.jsonl")
    assert sum(len(piece["returns"]) for piece in pieces) == 1
    assert pieces[-1]["evaluation"]["mean"] < 0
    assert bbo("train", "Pendulun-v1", "--out", tmp_path / "other") == 2
    assert "'Pendulum-v1'" in capsys.readouterr().err


@pytest.fixture(scope="module")
def sea(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A short run in Deep Sea, without and with a stop on its way; no agent is named."""
    folder = tmp_path_factory.mktemp("sea")
    options = ("--ensemble-size", 2, "--epsilon", 0.1, "--double", True, "--target-period", 2, "--seed", 1)
    options += (*OPTIONS, "--evaluate-every", 60, "--episodes", 2, "--checkpoint-every", 60)
    assert bbo("train", "deep-sea-4", *options, "--steps", 180, "--out", folder / "whole") == 0
    assert bbo("train", "deep-sea-4", *options, "--steps", 120, "--out", folder / "parts") == 0
    assert bbo("train", "deep-sea-4", *options, "--steps", 180, "--out", folder / "parts", "--resume") == 0
    return folder / "whole", folder / "parts"


def test_discrete_actions_have_an_agent_of_their_own(sea: tuple[Path, Path], tmp_path: Path, capsys) -> None:
    run = sea[0]
    config = json.loads((run / "config.json").read_text())
    assert (config["agent"], config["settings"]["epsilon"], config["settings"]["double"]) == ("BootDQN", 0.1, True)
    pieces = read_metrics(run / "metrics.jsonl")
    assert [piece["steps"] for piece in pieces] == [50, 60, 120, 180]
    assert set(pieces[-1]["metrics"]) == {"critic_loss", "target", "disagreement"}
    assert sum(len(piece["returns"]) for piece in pieces) == 180 // 4
    assert bbo("evaluate", run, "--episodes", 2, "--video", tmp_path / "sea.gif") == 0
    said = capsys.readouterr().out
    assert "returns: " + ", ".join(f"{value:.6g}" for value in Agent.load(run / "agent.bbo").evaluate(2)) in said
    with Image.open(tmp_path / "sea.gif") as image:
        assert getattr(image, "n_frames", 1) == 5  # of an episode of four steps
    assert bbo("report", run, "--out", tmp_path / "sea.html") == 0
    assert "BootDQN on deep-sea-4" in (tmp_path / "sea.html").read_text()


def test_discrete_runs_go_on_bit_by_bit(sea: tuple[Path, Path]) -> None:
    whole, parts = ((folder / "agent.bbo").read_bytes() for folder in sea)
    assert whole == parts
    one, other = ([{**piece, "seconds": 0} for piece in read_metrics(run / "metrics.jsonl")] for run in sea)
    assert one == other


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("deep-sea-4", "--agent", "bbac"), "bb.BootDQN is for discrete ones"),
        (("MountainCarContinuous-v0", "--agent", "boot-dqn"), "bb.BBAC has continuous ones"),
        (("deep-sea-4", "--target-entropy", 1), "--target-entropy is no setting of --agent boot-dqn; it has"),
        (("deep-sea-4", "--epsilon", 2), "epsilon is 2.0; accepted is a number from 0 to 1"),
        (("deep-sea-1",), "deep-sea-N is from 2 to 100"),
        (("FrozenLake-v1",), "observations are Discrete(16)"),
    ],
)
def test_agents_and_actions_that_do_not_fit(tmp_path: Path, capsys, arguments: tuple, words: str) -> None:
    assert bbo("train", *arguments, "--out", tmp_path / "run") == 2
    assert words in capsys.readouterr().err
    assert names(tmp_path) == []


def begun(out: Path, pieces: int, *arguments: object) -> subprocess.Popen[str]:
    """A training in a process of its own that has come so far."""
    command = [*BBO, "train", *map(str, arguments), "--out", str(out)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    until(lambda: len(read_metrics(out / "metrics.jsonl")) >= pieces or process.poll() is not None)
    return process


def until(there: Callable[[], bool]) -> None:
    """Wait, a minute at most."""
    for _ in range(1200):
        if there():
            break
        time.sleep(0.05)


def test_asked_to_stop_it_keeps_what_was_learnt(tmp_path: Path) -> None:
    out = tmp_path / "run"
    process = begun(out, 2, *PROBE, "--steps", 100_000_000, "--evaluate-every", 100_000_000)
    process.send_signal(signal.SIGINT)
    _, words = process.communicate(timeout=60)
    assert process.returncode == 130, words
    assert "once more stops at once" in words
    assert f"what was learnt is kept in {out}; go on with: bbo train probe-constant-reward" in words
    assert words.rstrip().endswith("--resume")
    assert names(out) == sorted({*FILES} - {"best.bbo", "diagnostics"})  # nothing was evaluated
    assert read_csv(out / "summary.csv")[0]["ended"] == "stopped"
    assert Agent.load(out / "agent.bbo").env_name == "probe-constant-reward"


@pytest.mark.parametrize(
    ("checkpoints", "words"),
    [
        ((), ", before the first checkpoint: {out} has nothing to go on from; begin again at step 0 with"),
        (("--checkpoint-every", 50), "; what was learnt is kept in {out}, up to step 50; go on with"),
    ],
)
def test_the_second_signal_stops_at_once(tmp_path: Path, checkpoints: tuple, words: str) -> None:
    """Also inside a piece that takes long; what is kept is said, and how to go on."""
    out = tmp_path / "run"
    large = ("--batch-size", 1000, "--buffer-size", 1000, "--hidden", 256, 256)
    process = begun(out, 1, "MountainCarContinuous-v0", "--agent", "sac-star", *OPTIONS, *large, *checkpoints)
    until(lambda: not checkpoints or any((out / "checkpoints").glob("step-*.bbo")))
    process.send_signal(signal.SIGTERM)
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    started = time.monotonic()
    _, said = process.communicate(timeout=60)
    assert time.monotonic() - started < 3
    assert process.returncode == 143
    assert not (out / "agent.bbo").exists()
    last = said.splitlines()[-1]
    assert last.startswith(f"bbo: stopped at once{words.format(out=out)}: bbo train MountainCarContinuous-v0")
    assert last.endswith("--resume")


def test_help_lists_both() -> None:
    done = subprocess.run([*BBO, "--help"], capture_output=True, text=True, check=False)
    assert {"train", "evaluate", "evaluate-linear"} <= set(done.stdout.split())
