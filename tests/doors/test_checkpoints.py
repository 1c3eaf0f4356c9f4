"""An agent that is brought back goes on bit by bit as it would have; what is not its own is refused."""

from pathlib import Path

import gymnasium
import jax
import numpy as np
import pytest
from tests.sizes import MEMBERS, SIZES

import bayesbellman as bb
from bayesbellman.compat.gymnasium.faults import EnvironmentWarning
from bayesbellman.doors.agent import Agent
from bayesbellman.doors.checkpoints import CheckpointWarning, differences, identity
from bayesbellman.envs.mountain_car import MountainCar
from bayesbellman.runs.trees import Mismatch, named_arrays

CAR = "MountainCarContinuous-v0"


@pytest.fixture(autouse=True)
def _as_users_have_it():
    with jax.numpy_dtype_promotion("standard"):
        yield


def all_of(agent: Agent) -> dict[str, np.ndarray]:
    """Networks, optimisers, replay, environment, random keys, counters"""
    carried = agent.player.carried()
    return {**named_arrays(carried.tree), **carried.free, **named_arrays(agent.player.replay)}


def assert_same(one: Agent, other: Agent) -> None:
    ours, theirs = all_of(one), all_of(other)
    assert set(ours) == set(theirs)
    for name, array in ours.items():
        np.testing.assert_array_equal(array, theirs[name], err_msg=name)
    assert one.num_timesteps == other.num_timesteps


MAKERS = {
    "compiled": lambda: bb.SACStar(CAR, seed=3, **SIZES),
    "host": lambda: bb.SACStar("Pendulum-v1", seed=3, **SIZES),
    "host, two side by side": lambda: bb.SAC("Pendulum-v1", seed=3, num_envs=2, **SIZES),
    "discrete, compiled": lambda: bb.BootDQN("deep-sea-4", seed=3, ensemble_size=MEMBERS, bootstrap=0.5, **SIZES),
    "discrete, host": lambda: bb.DQN("CartPole-v1", seed=3, num_envs=2, **SIZES),
}
SLOW = ("host, two side by side", "discrete, host")


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] if n in SLOW else []) for n in MAKERS])
def test_going_on_changes_no_bit(tmp_path: Path, name: str) -> None:
    """Replay comes round on the way, and holds 500."""
    whole = MAKERS[name]().learn(700)
    begun = MAKERS[name]()
    assert bb.Checkpoints(tmp_path, every=100).restore(begun) is None
    begun.learn(560, callback=bb.Checkpoints(tmp_path, every=100))  # pieces end at the warm-up and at 560
    again = MAKERS[name]()
    checkpoints = bb.Checkpoints(tmp_path, every=100)
    assert checkpoints.restore(again) == {}
    assert again.num_timesteps == 560
    again.learn(140, callback=checkpoints)
    assert_same(whole, again)
    assert len(list(tmp_path.glob("step-*"))) == 2


def test_checkpoints_are_taken_when_they_are_due(tmp_path: Path) -> None:
    seen = []

    class Watching(bb.Callback):
        def on_checkpoint(self, agent: Agent, path: Path) -> None:
            seen.append((agent.num_timesteps, path.name))

    agent, checkpoints = MAKERS["compiled"](), bb.Checkpoints(tmp_path, every=100)
    for _ in range(10):
        agent.learn(40, callback=[checkpoints, Watching()])
    assert seen == [(steps, f"step-{steps:012d}.bbo") for steps in (120, 200, 320, 400)]
    hurried = bb.Checkpoints(tmp_path / "hurried", seconds=0.0)
    assert hurried.due(agent)
    hurried.save(agent)
    hurried._cost = 1e6  # one that takes long comes seldom
    assert not hurried.due(agent)


def test_a_disk_that_is_full_for_a_while_costs_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoints, agent = bb.Checkpoints(tmp_path, every=10), MAKERS["compiled"]()
    agent.learn(60, callback=checkpoints)
    kept = checkpoints.files.steps()

    def full(*_: object) -> Path:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints.files, "write", full)
        for left in (2, 1):
            with pytest.warns(CheckpointWarning, match=f"No space left .* goes on, {left} more such in a row"):
                agent.learn(10, callback=checkpoints)
    assert checkpoints.files.steps() == kept
    agent.learn(10, callback=checkpoints)
    assert checkpoints.files.steps()[-1] == agent.num_timesteps == 90
    monkeypatch.setattr(checkpoints.files, "write", full)
    for left in (2, 1, 0):
        with pytest.warns(CheckpointWarning, match=f"goes on, {left} more such"):
            agent.learn(10, callback=checkpoints)
    with pytest.raises(OSError, match="No space"):
        agent.learn(10, callback=checkpoints)
    assert agent.num_timesteps == 130


def test_restoring_with_fewer_kept_passes_over_damaged_ones(tmp_path: Path) -> None:
    agent, checkpoints = MAKERS["compiled"](), bb.Checkpoints(tmp_path, every=10, keep=3)
    for _ in range(2):
        agent.learn(20, callback=checkpoints)
    *_, first, last = checkpoints.files.steps()
    path = tmp_path / f"step-{last:012d}.bbo"
    path.write_bytes(path.read_bytes()[:-1])
    again = MAKERS["compiled"]()
    with pytest.warns(CheckpointWarning, match=f"going on from step {first}"):
        bb.Checkpoints(tmp_path, keep=1).restore(again)
    assert again.num_timesteps == first


class Wandering(gymnasium.Env):
    """Its own noise: the same seed and actions lead elsewhere each time."""

    observation_space = gymnasium.spaces.Box(-10.0, 10.0, (1,), np.float32)
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
    noise = np.random.default_rng()

    def reset(self, *, seed: int | None = None, options: dict | None = None):
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def step(self, action: np.ndarray):
        return self.noise.uniform(-1, 1, 1).astype(np.float32), 0.0, False, False, {}


@pytest.mark.slow
def test_an_environment_that_cannot_be_brought_back_is_named(tmp_path: Path) -> None:
    with pytest.warns(EnvironmentWarning, match="two plays under seed 0"):
        agent = bb.SAC(Wandering, **SIZES)
    agent.learn(60, callback=bb.Checkpoints(tmp_path, every=10))
    with pytest.warns(EnvironmentWarning, match="two plays under seed 0"):
        again = bb.SAC(Wandering, **SIZES)
    with pytest.warns(CheckpointWarning, match="could not be brought back .* a new episode begins"):
        bb.Checkpoints(tmp_path).restore(again)
    assert again.num_timesteps == 60


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept")
    with jax.numpy_dtype_promotion("standard"):
        agent = bb.SAC(CAR, **SIZES)
        bb.Checkpoints(folder).save(agent)
    return folder


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (lambda: bb.SACStar(CAR, **SIZES), "agent was 'SAC', is 'SACStar'"),
        (lambda: bb.SAC(CAR, **{**SIZES, "learning_rate": 1e-3}), "setting learning_rate was 0.0003, is 0.001"),
        (lambda: bb.SAC(CAR, seed=5, **SIZES), "setting seed was 0, is 5"),
        (lambda: bb.SAC("cartpole-swingup-sparse", **SIZES), "its replay is not this run's"),
        (lambda: bb.SAC(CAR, **{**SIZES, "buffer_size": 70}), "its replay is not this run's"),
    ],
)
def test_a_checkpoint_of_something_else_is_refused(kept: Path, other, words: str) -> None:
    with pytest.raises(Mismatch, match=words):
        bb.Checkpoints(kept).restore(other())


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        ("probe-best-action", "probe-time-limit", "env was 'probe-best-action', is 'probe-time-limit'"),
        (MountainCar(power=0.002), MountainCar(power=0.5), r"env was 'MountainCar\(\n?.*power=0.002"),
    ],
)
def test_a_checkpoint_of_an_environment_of_the_same_shape_is_refused(tmp_path: Path, one, other, words: str) -> None:
    bb.Checkpoints(tmp_path).save(bb.SAC(one, **SIZES))
    with pytest.raises(Mismatch, match=words):
        bb.Checkpoints(tmp_path).restore(bb.SAC(other, **SIZES))
    assert bb.Checkpoints(tmp_path).restore(bb.SAC(one, **SIZES)) == {}


def test_what_bits_depend_on_is_kept_with_a_checkpoint(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random keys of another kind and other precision make another run; of another JAX it is said."""
    agent = bb.SAC(CAR, **SIZES)
    with jax.default_prng_impl("rbg"):
        about = identity(agent)
    with pytest.raises(Mismatch, match=r"random keys was '.*', is 'rbg'"):
        differences(identity(agent), about, kept, False, print)
    with jax.enable_x64(True):
        about = identity(agent)
    with pytest.raises(Mismatch, match="x64 was False, is True"):
        differences(identity(agent), about, kept, False, print)
    monkeypatch.setattr(jax, "__version__", "0.0.1")
    with pytest.warns(CheckpointWarning, match=r"made with jax .*, this is 0\.0\.1: bits may differ"):
        bb.Checkpoints(kept).restore(agent)


def test_what_becomes_of_faults_may_change(tmp_path: Path) -> None:
    """Nan in an environment comes late in a run; who then chooses to drop it does not begin again."""
    with bb.SAC("Pendulum-v1", **SIZES) as agent:
        bb.Checkpoints(tmp_path).save(agent)
    other = {"bad_values": "drop", "on_env_error": "restart", "env_restarts": 7, "env_timeout": 60}
    with bb.SAC("Pendulum-v1", **SIZES, **other) as agent:
        assert bb.Checkpoints(tmp_path).restore(agent) == {}


def test_another_version_is_refused_unless_asked(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bayesbellman.doors.checkpoints.__version__", "99.0")
    with pytest.raises(Mismatch, match=r"version was '.*', is '99\.0' \(--force-migrate goes on"):
        bb.Checkpoints(kept).restore(bb.SAC(CAR, **SIZES))
    assert bb.Checkpoints(kept).restore(bb.SAC(CAR, **SIZES), other_version=True) == {}


def test_another_jax_is_said_and_another_precision_refused(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jax, "__version__", "0.0.1")
    with pytest.warns(CheckpointWarning, match=r"made with jax .*, this is 0\.0\.1: bits may differ"):
        bb.Checkpoints(kept).restore(bb.SAC(CAR, **SIZES))
    monkeypatch.undo()
    with jax.enable_x64(True), pytest.raises(Mismatch, match=r"replay is not this run's|x64 was False, is True"):
        bb.Checkpoints(kept).restore(bb.SAC(CAR, **SIZES))


def test_bad_settings_are_named(tmp_path: Path) -> None:
    for bad, words in (({"every": 0}, "every is 0"), ({"keep": 0}, "keep is 0"), ({"seconds": -1}, "seconds is -1")):
        with pytest.raises(ValueError, match=words):
            bb.Checkpoints(tmp_path, **bad)


def test_an_agent_that_was_interrupted_keeps_the_replay_that_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C within a piece leaves it with an empty replay; what it gathers then is what its checkpoints hold."""
    checkpoints, agent = bb.Checkpoints(tmp_path, every=50), MAKERS["discrete, compiled"]()
    agent.learn(100, callback=checkpoints)

    def interrupted(most: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(agent.player, "advance", interrupted)
    with pytest.raises(KeyboardInterrupt):
        agent.learn(50, callback=checkpoints)
    again = MAKERS["discrete, compiled"]()
    for more in (50, 150):  # less than was stored before, and more
        agent.learn(more, callback=checkpoints)
        assert bb.Checkpoints(tmp_path).restore(again) == {}
        assert_same(agent, again)
