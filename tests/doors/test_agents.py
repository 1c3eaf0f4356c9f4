"""Agents as users meet them: the verbs, files, and what is refused."""

import inspect
import json
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.compat import hostile
from tests.sizes import MEMBERS, SIZES

import bayesbellman as bb
from bayesbellman.compat.gymnasium import EnvironmentFailed, EnvironmentWarning
from bayesbellman.control.sac import SAC
from bayesbellman.control.train import Training
from bayesbellman.core.errors import Diverged
from bayesbellman.doors.environments import SHARED, full_name
from bayesbellman.doors.other_names import CALLED_HERE
from bayesbellman.doors.players import programs_of
from bayesbellman.doors.settings import chosen_device, setting_names
from bayesbellman.envs.mountain_car import MountainCar
from bayesbellman.experiments.training.plan import prior_words
from bayesbellman.runs.arrays import Damaged, read_arrays, write_arrays
from bayesbellman.runs.trees import named_arrays

CAR = "MountainCarContinuous-v0"
PAPERS = {"recipe": "paper"}


@pytest.fixture(autouse=True)
def _as_users_have_it():
    with jax.numpy_dtype_promotion("standard"):
        yield


@pytest.fixture(scope="module")
def trained() -> bb.BBAC:
    with jax.numpy_dtype_promotion("standard"):
        return bb.BBAC(CAR, ensemble_size=MEMBERS, **SIZES).learn(120)


def test_learning_counts_steps_and_keeps_history(trained: bb.BBAC) -> None:
    assert trained.num_timesteps == 120
    assert [told.steps for told in trained.history] == [50, 120]
    assert trained.history[0].metrics == {}  # the warm-up
    assert set(trained.history[1].metrics) == {"critic_loss", "temperature", "entropy", "disagreement"}
    assert trained.prior_scale == 100.0  # the paper's for this environment
    assert bb.BBAC("cartpole-swingup-sparse", **SIZES).prior_scale == 32.0


def test_predictions_are_in_the_environments_units(trained: bb.BBAC) -> None:
    action, state = trained.predict(np.array([-0.5, 0.0]), deterministic=True)
    assert action.shape == (1,)
    assert action.dtype == np.float32
    assert state is None
    again, _ = trained.predict(np.array([-0.5, 0.0]), deterministic=True)
    np.testing.assert_array_equal(action, again)
    several, kept = trained.predict(np.zeros((5, 2)), state="kept")
    assert several.shape == (5, 1)
    assert kept == "kept"
    drawn = [float(trained.predict([0.0, 0.0])[0][0]) for _ in range(4)]
    assert len(set(drawn)) > 1
    assert max(map(abs, drawn)) <= 1
    pendulum = bb.SAC("Pendulum-v1", **SIZES)
    assert np.abs(pendulum.predict(np.zeros((200, 3)))[0]).max() > 1.0  # its bounds are -2 and 2
    with pytest.raises(ValueError, match=r"observation has shape \(3,\); expected \(2,\)"):
        trained.predict(np.zeros(3))
    with pytest.raises(ValueError, match="observation holds nan"):
        trained.predict([np.nan, 0.0])


def test_uncertainty_is_the_members_spread(trained: bb.BBAC) -> None:
    mean, std, members = trained.uncertainty(np.zeros((4, 2)), members=True)
    assert members is not None
    assert members.shape == (MEMBERS, 4)
    np.testing.assert_allclose(mean, members.mean(axis=0))
    np.testing.assert_allclose(std, members.std(axis=0))
    assert (std > 0).all()
    one = trained.uncertainty([0.0, 0.0], [1.0])
    other = trained.uncertainty([0.0, 0.0], [-1.0])
    assert one.mean.shape == ()
    assert float(one.mean) != float(other.mean)
    with pytest.raises(ValueError, match="action has shape"):
        trained.uncertainty([0.0, 0.0], [1.0, 2.0])
    for beyond in (100.0, float("nan")):
        with pytest.raises(ValueError, match=r"action is \[.*\]; expected numbers from \[-1\.0\] to \[1\.0\]"):
            trained.uncertainty([0.0, 0.0], [beyond])


def test_saved_and_loaded_agents_act_alike(trained: bb.BBAC, tmp_path: Path) -> None:
    path = trained.save(tmp_path / "new" / "agent")
    assert path.suffix == ".bbo"
    loaded = bb.BBAC.load(tmp_path / "new" / "agent")  # by the name that was given
    where = np.random.default_rng(0).uniform(-0.07, 0.07, (20, 2))
    np.testing.assert_array_equal(
        loaded.predict(where, deterministic=True)[0], trained.predict(where, deterministic=True)[0]
    )
    np.testing.assert_array_equal(loaded.uncertainty(where).std, trained.uncertainty(where).std)
    assert loaded.settings() == trained.settings()
    assert loaded.num_timesteps == 120
    assert loaded.learn(60).num_timesteps == 180


def test_a_folder_of_a_run_stands_for_its_agent(trained: bb.BBAC, tmp_path: Path) -> None:
    run, seeds = tmp_path / "car", tmp_path / "cars"
    trained.save(run / "agent.bbo")
    assert bb.BBAC.load(run).num_timesteps == 120
    bb.BBAC(CAR, **SIZES).save(run)
    assert bb.BBAC.load(run).num_timesteps == 0  # what was saved under this very name
    for seed in ("seed-0000", "seed-0001"):
        trained.save(seeds / seed / "agent.bbo")
    with pytest.raises(ValueError, match=r"cars holds several seeds; name one: .*seed-0000, .*seed-0001"):
        bb.BBAC.load(seeds)
    assert bb.BBAC.load(seeds / "seed-0001").num_timesteps == 120
    with pytest.raises(FileNotFoundError, match=r"is a folder without agent\.bbo; name a file of save, or a folder"):
        bb.BBAC.load(tmp_path)


def test_files_that_are_not_an_agents_are_refused(trained: bb.BBAC, tmp_path: Path) -> None:
    path = trained.save(tmp_path / "agent.bbo")
    with pytest.raises(ValueError, match=r"holds a BBAC, not a SAC; load it with bb\.BBAC\.load"):
        bb.SAC.load(path)
    with pytest.raises(ValueError, match=r"Pendulum-v1, which has 3 numbers in an observation; it was .* has 2$"):
        bb.BBAC.load(path, env="Pendulum-v1")
    for name, other in {
        "hidden": (16,),
        "activation": "tanh",
        "ensemble_size": 5,
        "prior_scale": 2.0,
        "scale_observations": False,
    }.items():
        with pytest.raises(ValueError, match=rf"^{name} is .*; what .* holds was learnt with .*: leave it out"):
            bb.BBAC.load(path, **{name: other})
    whole = path.read_bytes()
    path.write_bytes(whole[:200] + bytes([whole[200] ^ 1]) + whole[201:])
    with pytest.raises(Damaged, match="is damaged"):
        bb.BBAC.load(path)
    path.write_text("notes")
    with pytest.raises(Damaged, match="was never written by us"):
        bb.BBAC.load(path)
    write_arrays(path, {"x": np.zeros(3)})
    with pytest.raises(ValueError, match="was not written by an agent's save"):
        bb.BBAC.load(path)
    path.write_bytes(whole)
    arrays = read_arrays(path)
    foreign = {**json.loads(arrays["about"].tobytes()), "env": "module:Name-v0"}
    write_arrays(path, {**arrays, "about": np.frombuffer(json.dumps(foreign).encode(), np.uint8)})
    with pytest.raises(ValueError, match="which would import code; pass it as env"):
        bb.BBAC.load(path)
    told = json.loads(arrays["about"].tobytes())
    for wrong in ([1], None, {**told, "settings": [1]}, {**told, "env": 5}, {"agent": "BBAC", "settings": {}}):
        write_arrays(path, {**arrays, "about": np.frombuffer(json.dumps(wrong).encode(), np.uint8)})
        with pytest.raises(ValueError, match="was not written by an agent's save"):
            bb.BBAC.load(path)
    about = {**told, "format": 99}
    write_arrays(path, {**arrays, "about": np.frombuffer(json.dumps(about).encode(), np.uint8)})
    with pytest.raises(ValueError, match="has format 99"):
        bb.BBAC.load(path)


def test_a_callback_sees_each_piece_and_may_stop() -> None:
    seen = []

    def stop_at_once(agent, told) -> bool:
        seen.append((agent.num_timesteps, told.steps))
        return False

    agent = bb.SACStar(CAR, **SIZES).learn(200, callback=stop_at_once)
    assert seen == [(50, 50)]
    assert agent.num_timesteps == 50


def test_divergence_keeps_what_was_sound() -> None:
    """In both loops; what it had learnt until then acts on, and a new attempt begins with an empty replay."""
    for env, where in (("probe-constant-reward", [0.0]), ("Pendulum-v1", [1.0, 0.0, 0.0])):
        agent = bb.SACStar(env, **{**SIZES, "learning_rate": 1e30})
        with pytest.raises(Diverged) as caught:
            agent.learn(200)
        culprit = caught.value.culprit
        assert 50 <= culprit.step < 200
        assert culprit.batch.observation.shape == (SIZES["batch_size"], len(where))
        assert np.isfinite(culprit.batch.observation).all()
        assert np.isfinite(agent.predict(where, deterministic=True)[0]).all()
        assert agent.num_timesteps in (0, 50)
        assert agent.learn(20).num_timesteps in (20, 70)  # of a warm-up


def test_masks_and_noise_are_the_pure_agents() -> None:
    """`tests/control/test_training.py` updates one that has both."""
    pure = bb.BBAC(CAR, ensemble_size=2, bootstrap=0.5, target_noise=0.1, **SIZES).pure
    assert (pure.bootstrap, pure.target_noise) == (0.5, 0.1)


def test_recipes_are_what_is_left_out() -> None:
    ours, papers, own = (
        bb.BBAC(CAR, **given, **SIZES) for given in ({}, PAPERS, {**PAPERS, "exploration_entropy": 2.0})
    )
    assert [agent.pure.exploration_entropy for agent in (ours, papers, own)] == [1.0, 0.0, 2.0]
    assert bb.BAC(CAR, **PAPERS, **SIZES).pure.exploration_entropy == 0
    rates = [bb.BBAC(CAR, **given, **SIZES).pure.learning_rate for given in ({}, PAPERS, {"learning_rate": 0.01})]
    assert rates == [1e-3, 3e-4, 0.01]
    assert bb.BBAC(CAR, exploration_noise=0.5, **SIZES).pure.exploration_noise == 0.5


def test_another_recipe_at_loading_brings_what_it_stands_for(tmp_path: Path) -> None:
    path = bb.BBAC(CAR, **SIZES).save(tmp_path / "agent.bbo")
    assert bb.BBAC.load(path, **PAPERS).pure.exploration_entropy == 0
    assert bb.BBAC.load(path, **PAPERS).pure.learning_rate == 3e-4
    assert bb.BBAC.load(path, **PAPERS, exploration_entropy=2.0).pure.exploration_entropy == 2
    assert bb.BBAC.load(path, prior_weight=0.0).pure.exploration_entropy == 1


def test_same_seed_same_numbers_and_two_differ() -> None:
    def final(seed: int) -> np.ndarray:
        return bb.SACStar(CAR, seed=seed, **SIZES).learn(80).uncertainty([0.1, 0.0]).mean

    first = final(3)
    assert first == final(3)
    assert first != final(4)


def test_only_seeds_differ_and_nothing_is_compiled_again() -> None:
    def training(power=0.0015, **settings):
        return Training(SAC(**settings), MountainCar(power=power))

    assert programs_of(training()) is programs_of(training())
    assert programs_of(training()) is not programs_of(training(learning_rate=0.01))
    assert programs_of(training()) is not programs_of(training(power=0.001))
    held = training(power=jnp.asarray(0.0015))  # arrays cannot be looked up
    assert programs_of(held) is not programs_of(held)


def test_gymnasium_environments_learn_through_the_host_loop() -> None:
    agent = bb.BAC("Pendulum-v1", ensemble_size=2, **SIZES).learn(230)
    assert agent.num_timesteps == 230
    returns = np.concatenate([told.returns for told in agent.history])
    assert returns.shape == (1,)  # episodes of 200 steps
    assert agent.evaluate(1).shape == (1,)
    assert agent.spaces.action.size == 1


class NothingToLearnFrom(gymnasium.Env):
    """Every reward is nan."""

    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (1,))
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,))

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple:
        return np.zeros(1, np.float32), {}

    def step(self, action: np.ndarray) -> tuple:
        return np.zeros(1, np.float32), float("nan"), False, False, {}


def test_where_every_transition_is_dropped_nothing_is_learnt() -> None:
    with pytest.warns(UserWarning, match="reward is nan"):
        agent = bb.SACStar(NothingToLearnFrom, bad_values="drop", **SIZES)
    before = {name: np.array(array) for name, array in named_arrays(agent.player.agent_state).items()}
    with pytest.warns(UserWarning, match="the transition was dropped; this is said once"):
        agent.learn(SIZES["warmup"] + 5)
    for name, now in named_arrays(agent.player.agent_state).items():
        np.testing.assert_array_equal(before[name], now)


def test_the_largest_seed_has_evaluations_of_its_own() -> None:
    agent = bb.SACStar(MountainCar(time_limit=3), seed=2**32 - 1, **SIZES)
    assert agent.evaluation_seed == 9_999
    assert agent.evaluate(1).shape == (1,)


def test_several_environments_side_by_side() -> None:
    agent = bb.SACStar(lambda: gymnasium.make("Pendulum-v1", max_episode_steps=20), num_envs=3, **SIZES).learn(90)
    assert agent.num_timesteps == 90
    assert sum(len(told.returns) for told in agent.history) == 3
    stored = np.asarray(agent.player.replay.ring.discount)[:90]
    np.testing.assert_allclose(stored, 0.99, rtol=1e-6)  # time limits are not ends
    assert agent.env_name is None


def as_vector() -> gymnasium.vector.SyncVectorEnv:
    return gymnasium.vector.SyncVectorEnv([partial(gymnasium.make, CAR)] * 2)


@pytest.mark.parametrize(
    "env",
    [
        "MountainCarContinuous",
        lambda: gymnasium.make(CAR),
        lambda: gymnasium.make(CAR, max_episode_steps=20),
        lambda: gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make(CAR)),
        lambda: gymnasium.make_vec(CAR, num_envs=2, vectorization_mode="sync"),
        as_vector,
    ],
)
def test_the_papers_prior_scale_is_found_whoever_makes_its_environment(env: Any) -> None:
    passed = [env] if isinstance(env, str) else [env, env()]
    for each in passed:
        agent = bb.BBAC(each, ensemble_size=2, **SIZES)
        assert (agent.prior_scale, agent.env_id) == (100.0, CAR)
        assert prior_words(agent, {}) == "100, the paper's for this environment"
    pole = gymnasium.make("Pendulum-v1")
    assert bb.BBAC(pole, **SIZES).prior_scale == 30.0
    assert bb.BBAC(hostile.Line(), **SIZES).env_id is None


def test_the_papers_prior_scale_is_found_in_another_process() -> None:
    with bb.BBAC(partial(gymnasium.make, CAR), env_timeout=20.0, **SIZES) as agent:
        assert agent.prior_scale == 100.0
    with bb.BBAC(hostile.Line, env_timeout=20.0, **SIZES) as agent:
        assert agent.env_id is None


def test_a_name_without_its_version_is_ours_where_gymnasium_would_complete_it_to_ours() -> None:
    for name in SHARED:
        bare = name.rpartition("-v")[0]
        with pytest.warns(UserWarning, match=f"latest versioned environment `{name}`"):
            gymnasium.make(bare)
        assert full_name(bare) == name
    assert [full_name(name) for name in ("Pendulum", "CartPole-v0", CAR)] == ["Pendulum", "CartPole-v0", CAR]
    agent = bb.BootDQN("CartPole", **SIZES)
    assert agent.env_name == "CartPole-v1"
    assert agent.training is not None  # compiled
    assert bb.BootDQN("CartPole", num_envs=2, **SIZES).training is None


class Doubled(gymnasium.RewardWrapper):
    """Says nothing of how it was made."""

    def reward(self, reward: Any) -> Any:
        return 2 * reward


def halved(reward: Any) -> Any:
    return reward / 2


def test_an_environment_object_is_evaluated_in_another_as_its_specification_says() -> None:
    def returns(env: gymnasium.Env) -> list[float]:
        agent = bb.BootDQN(env, **SIZES).learn(100)
        env.reset = env.step = None  # pyright: ignore[reportAttributeAccessIssue] (evaluation must leave it alone)
        return agent.evaluate(2).tolist()

    sparse = {"sutton_barto_reward": True, "max_episode_steps": 5}
    assert returns(gymnasium.make("CartPole-v1", max_episode_steps=5)) == [5.0, 5.0]
    assert returns(gymnasium.make("CartPole-v1", **sparse)) == [0.0, 0.0]  # -1 where it falls, and it does not yet
    limited = gymnasium.make("CartPole-v1", max_episode_steps=5)
    assert returns(gymnasium.wrappers.TransformReward(limited, halved)) == [2.5, 2.5]


@pytest.mark.filterwarnings("ignore::bayesbellman.compat.gymnasium.EnvironmentWarning")  # statistics are no seed's
@pytest.mark.parametrize(
    ("wrapped", "why"),
    [
        (Doubled, "Doubled wrapper does not inherit"),
        (gymnasium.wrappers.NormalizeObservation, "NormalizeObservation would begin anew"),
        (lambda env: gymnasium.wrappers.TimeLimit(env, 10), "does not tell all of its wrappers"),
    ],
)
def test_an_environment_that_would_become_another_is_not_made_again(wrapped: Any, why: str) -> None:
    agent = bb.BootDQN(wrapped(gymnasium.make("CartPole-v1")), **SIZES)
    assert agent.env_name is None
    with pytest.raises(RuntimeError, match=f"cannot be made again for evaluation .*{why}.*; pass its name or a func"):
        agent.evaluate(1)
    with pytest.raises(RuntimeError, match="cannot be made again for evaluation; pass its name"):
        bb.SACStar(hostile.Line(), **SIZES).evaluate(1)  # it was not made by Gymnasium


def test_an_environment_object_that_its_id_makes_is_named_in_the_file(tmp_path: Path) -> None:
    env = gymnasium.make("CartPole-v1", render_mode="rgb_array")
    agent = bb.BootDQN(env, **SIZES).learn(60)
    loaded = bb.BootDQN.load(agent.save(tmp_path / "pole"))
    assert loaded.env_name == agent.env_name == "CartPole-v1"
    seen = np.random.default_rng(0).normal(size=(20, 4))
    np.testing.assert_array_equal(loaded.uncertainty(seen).mean, agent.uncertainty(seen).mean)
    assert bb.SACStar(lambda: gymnasium.make("Pendulum-v1"), **SIZES).env_name == "Pendulum-v1"


@pytest.mark.parametrize(
    ("env", "settings"),
    [
        (lambda: gymnasium.make("CartPole-v1", max_episode_steps=50), {}),
        (lambda: gymnasium.make("CartPole-v1", sutton_barto_reward=True), {}),
        (lambda: gymnasium.make("CartPole-v1").unwrapped, {}),  # without its time limit
        (lambda: gymnasium.wrappers.TimeLimit(gymnasium.make("CartPole-v1", max_episode_steps=50), 500), {}),
        (lambda: gymnasium.wrappers.TransformReward(gymnasium.make("CartPole-v1"), halved), {}),
        (lambda: gymnasium.make_vec("CartPole-v1", num_envs=2, vectorization_mode="sync"), {}),
        (lambda: gymnasium.make("CartPole-v1"), {"bad_values": "drop"}),  # which ours, of this name, refuses
    ],
)
def test_what_an_id_alone_does_not_make_is_not_named(env: Any, settings: dict[str, Any], tmp_path: Path) -> None:
    for each in (env, env()):
        agent = bb.BootDQN(each, **settings, **SIZES)
        assert (agent.env_name, agent.env_id) == (None, "CartPole-v1")
        with pytest.raises(ValueError, match="does not name its environment"):
            bb.BootDQN.load(agent.save(tmp_path / "pole"))


def test_an_environment_object_is_its_owners_to_close() -> None:
    class Closes(gymnasium.wrappers.TransformReward):
        closed = False

        def close(self) -> None:
            self.closed = True

    env = Closes(gymnasium.make("Pendulum-v1"), halved)
    with bb.SACStar(env, **SIZES) as agent:
        agent.learn(10)
    assert not env.closed


def test_our_environments_as_objects() -> None:
    agent = bb.SACStar(MountainCar(time_limit=30), **SIZES).learn(70)
    assert sum(len(told.returns) for told in agent.history) == 2
    assert agent.env_name is None  # not the registered one
    assert bb.SAC(MountainCar(), **SIZES).env_name == CAR


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"seed": -1}, "seed is -1; accepted is a whole number from 0"),
        ({"seed": 2**32}, "seed is 4294967296"),
        ({"discount": 1.0}, r"discount is 1\.0; accepted is a number >= 0 and < 1"),
        ({"learning_rate": 0.0}, r"learning_rate is 0\.0; accepted is a finite number > 0"),
        ({"hidden": ()}, "hidden is"),
        ({"buffer_size": 1e6 + 0.5}, r"buffer_size is 1000000\.5; accepted is a whole number"),
        ({"ensemble_size": 2.5}, r"ensemble_size is 2\.5; accepted is a whole number"),
        ({"num_envs": 1.5}, r"num_envs is 1\.5; accepted is a whole number"),
        ({"learning_rate": float("inf")}, "learning_rate is inf; accepted is a finite number"),
        ({"target_entropy": float("nan")}, "target_entropy is nan; accepted is a finite number"),
        ({"activation": "sin"}, "activation is 'sin'; accepted are relu"),
        ({"ensemble_size": 0}, "ensemble_size is 0"),
        ({"prior_weight": -1.0}, r"prior_weight is -1\.0"),
        ({"prior_scale": -1.0}, r"prior_scale is -1\.0"),
        ({"bootstrap": 0.0}, r"bootstrap is 0\.0"),
        ({"recipe": "best"}, "recipe is 'best'; accepted are 'ours', 'paper'"),
        ({"exploration_noise": -1.0}, r"exploration_noise is -1\.0"),
        ({"target_smoothing": 2.0}, r"target_smoothing is 2\.0; accepted is a number > 0 and <= 1"),
        ({"exploration_entropy": -1.0}, r"exploration_entropy is -1\.0; accepted is a finite number >= 0"),
        ({"num_envs": 0}, "num_envs is 0"),
        ({"device": "tpu"}, "device is 'tpu'"),
    ],
)
def test_bad_settings_are_named(settings: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        bb.BBAC(CAR, **settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"learning_rate": "3e-4"},
        {"target_entropy": "auto"},
        {"prior_scale": "30"},
        {"prior_weight": "a"},
        {"bootstrap": "1"},
        {"env_restarts": "3"},
        {"env_timeout": "5"},
    ],
)
def test_settings_that_are_no_numbers_are_named(settings: dict) -> None:
    (name,) = settings
    with pytest.raises(TypeError, match=rf"{name} is '.*' \(str\); accepted is a number"):
        bb.BBAC(CAR, **settings)


def test_a_number_with_a_default_of_its_own_is_not_left_open() -> None:
    assert bb.BBAC(CAR, prior_scale=None, **SIZES).prior_scale == 100
    with pytest.raises(TypeError, match=r"prior_scale is None \(NoneType\); accepted is a number"):
        bb.BootDQN("deep-sea-4", prior_scale=None)  # pyright: ignore[reportArgumentType]


def test_words_are_not_taken_for_true() -> None:
    with pytest.raises(TypeError, match=r"scale_observations is 'False' \(str\); accepted are True and False"):
        bb.BBAC(CAR, scale_observations="False")
    with pytest.raises(TypeError, match=r"double is 'no' \(str\); accepted are True and False"):
        bb.BootDQN("deep-sea-4", double="no")  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match=r"proper_policy is 'False' \(str\); accepted are True and False"):
        bb.LinearBBO(proper_policy="False").fit(np.eye(2), [0.0, 1.0], np.eye(2), 0.5)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="seed is True"):
        bb.BBAC(CAR, seed=True)


def test_replay_that_fits_no_machine_is_refused_with_one_that_does() -> None:
    """Images as they are, and a million of them: the first thing that many try."""

    class Images(hostile.Line):
        def __init__(self) -> None:
            super().__init__()
            self.observation_space = gymnasium.spaces.Box(0, 255, (960, 960, 3), np.uint8)

        def seen(self) -> np.ndarray:
            return np.zeros((960, 960, 3), np.uint8)

    agent = bb.SAC(Images(), hidden=(4,))
    with pytest.raises(
        MemoryError, match=r"buffer_size is 1,000,000: .* 2,764,800 numbers observed takes 20,.* GiB"
    ) as e:
        agent.learn(1)
    assert 0 < int(str(e.value).split("buffer_size=")[1].split(" ")[0].replace(",", "")) < 100_000
    with pytest.raises(ValueError, match=r"buffer_size is 10000000000; accepted is a number < 2\^31"):
        bb.SAC(CAR, buffer_size=10**10)


def test_observations_are_not_reshaped_into_others() -> None:
    class Grid(hostile.Line):
        def __init__(self) -> None:
            super().__init__()
            self.observation_space = gymnasium.spaces.Box(-1, 1, (2, 3), np.float32)

        def seen(self) -> np.ndarray:
            return np.zeros((2, 3), np.float32)

    agent, grid = bb.SAC(Grid(), **SIZES), np.arange(6, dtype=np.float32).reshape(2, 3) / 6
    one, _ = agent.predict(grid, deterministic=True)
    np.testing.assert_array_equal(agent.predict(grid.reshape(-1), deterministic=True)[0], one)
    np.testing.assert_array_equal(agent.predict(grid[None], deterministic=True)[0], one[None])
    np.testing.assert_array_equal(agent.predict(grid.reshape(1, 6), deterministic=True)[0], one[None])
    for wrong in (grid.T, np.zeros((2, 3, 2)), np.zeros((4, 2, 3, 1))):
        with pytest.raises(ValueError, match=r"observation has shape .*; expected \(2, 3\) or rows of it"):
            agent.predict(wrong)
    with pytest.raises(TypeError, match=r"a pair with a dictionary, as Gymnasium's reset\(\) gives; pass its first"):
        agent.predict((grid, {}))
    with pytest.raises(TypeError, match="observation is no array of numbers"):
        agent.predict([[1.0], [2.0, 3.0]])


def test_an_environment_that_is_made_once_only_is_said_to_be_so() -> None:
    taken: list[str] = []

    def make() -> gymnasium.Env:
        if taken:
            raise ConnectionError("licence in use")
        return hostile.Line()

    agent = bb.SAC(make, **SIZES)
    taken.append("by the agent")
    with pytest.raises(RuntimeError, match="could not be made for an evaluation: raised ConnectionError: licence"):
        agent.evaluate(1)


def test_seeds_of_evaluations_are_checked() -> None:
    agent = bb.SAC(CAR, **SIZES)
    for verb in (agent.evaluate, agent.play):
        with pytest.raises(ValueError, match=r"seed is 1\.5; accepted is a whole number"):
            verb(1, seed=1.5)
        with pytest.raises(ValueError, match="seed is -1; accepted is a whole number from 0"):
            verb(1, seed=-1)
    with pytest.raises(ValueError, match=r"episodes is 1\.5"):
        agent.play(1.5)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match=r"keep is 2\.5; accepted is a whole number"):
        bb.Checkpoints("nowhere", keep=2.5)  # pyright: ignore[reportArgumentType]


def test_sizes_are_checked_before_training() -> None:
    with pytest.raises(ValueError, match="replay must hold at least one batch"):
        bb.BBAC(CAR, batch_size=64, buffer_size=32)
    with pytest.raises(ValueError, match="total_timesteps is 0"):
        bb.BBAC(CAR, **SIZES).learn(0)
    with pytest.raises(ValueError, match="episodes is 0"):
        bb.BBAC(CAR, **SIZES).evaluate(0)


def test_counts_are_whole_numbers_and_1e2_is_one(tmp_path: Path) -> None:
    agent = bb.SACStar(CAR, **{**SIZES, "hidden": [8.0], "buffer_size": 1e3})
    assert agent.learn(1e2, callback=bb.Checkpoints(tmp_path, every=10)).num_timesteps == 100  # pyright: ignore[reportArgumentType]
    assert isinstance(agent.num_timesteps, int)
    assert (agent.hidden, agent.buffer_size) == ((8,), 1000)
    for bad in (10.5, np.nan, np.inf):
        with pytest.raises(ValueError, match=r"total_timesteps is .*; accepted is a whole number"):
            agent.learn(bad)  # pyright: ignore[reportArgumentType]
    for bad in ("100", None, True):
        with pytest.raises(TypeError, match=r"total_timesteps is .*; accepted is a number"):
            agent.learn(bad)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match=r"hidden is 8; give the widths of layers, such as \(64, 64\)"):
        bb.SAC(CAR, hidden=8)
    with pytest.raises(ValueError, match=r"warmup is 10\.5"):
        bb.SAC(CAR, warmup=10.5)


def test_what_an_agent_does_not_have_is_named() -> None:
    with pytest.raises(TypeError, match="SAC has no setting 'prior_scale'; it has"):
        bb.SAC(CAR, prior_scale=3.0)
    with pytest.raises(ValueError, match="BAC has no target critics"):
        bb.BAC(CAR, target_smoothing=0.1)
    with pytest.raises(ValueError, match=r"SAC\* has one critic"):
        bb.SACStar(CAR, num_critics=2)
    with pytest.raises(TypeError, match=r"bb\.BootDQN is for discrete ones"):
        bb.BBAC("CartPole-v1")


# Discrete actions


@pytest.fixture(scope="module")
def diver() -> bb.BootDQN:
    with jax.numpy_dtype_promotion("standard"):
        return bb.BootDQN("deep-sea-4", ensemble_size=MEMBERS, bootstrap=0.5, **SIZES).learn(120)


@pytest.mark.parametrize(("theirs", "ours"), CALLED_HERE.items())
def test_names_of_stable_baselines_are_answered_with_ours(theirs: str, ours: str) -> None:
    kind = next(kind for kind in (bb.SAC, bb.BootDQN) if ours in setting_names(kind))
    env = CAR if kind is bb.SAC else "deep-sea-4"
    with pytest.raises(TypeError, match=f"^{kind.__name__} has no setting '{theirs}'; it is called {ours} here$"):
        kind(env, **{theirs: 1})


def test_of_their_names_only_what_the_agent_has_is_named() -> None:
    with pytest.raises(TypeError, match="SAC has no setting 'target_update_interval'; it has activation"):
        bb.SAC(CAR, target_update_interval=1)
    with pytest.raises(TypeError, match=r"SAC has no setting 'verbose'; learn\(\.\.\., progress_bar=True\)"):
        bb.SAC(CAR, verbose=1)


@pytest.mark.parametrize(("given", "named"), [(("MlpPolicy", CAR), {}), (("MlpPolicy",), {"env": CAR})])
def test_a_policys_name_is_refused_in_words(given: tuple, named: dict) -> None:
    with pytest.raises(TypeError, match="SAC takes the environment alone by its place, and no policy's name before it"):
        bb.SAC(*given, **named)


def test_signatures_are_those_of_the_constructors() -> None:
    """What is refused before them does not hide them."""
    assert list(inspect.signature(bb.SAC).parameters) == ["env", "num_critics", "shared"]


def test_discrete_actions_are_whole_numbers(diver: bb.BootDQN) -> None:
    assert set(diver.history[-1].metrics) == {"critic_loss", "target", "disagreement"}
    cells = np.eye(16)
    actions, _ = diver.predict(cells, deterministic=True)
    assert actions.shape == (16,)
    assert actions.dtype == np.int64
    assert set(actions.tolist()) <= {0, 1}
    one, _ = diver.predict(cells[3])
    assert one in (0, 1)
    values = np.stack([diver.uncertainty(cells, np.full(16, a), members=True).members for a in (0, 1)])
    np.testing.assert_array_equal(actions, values.mean(axis=1).argmax(axis=0))
    np.testing.assert_allclose(diver.uncertainty(cells).mean, values.mean(axis=1).max(axis=0), rtol=1e-6)
    for bad in (2, -1, 0.5):
        with pytest.raises(ValueError, match="expected whole numbers from 0 to 1"):
            diver.uncertainty(cells[3], bad)


def test_discrete_agents_are_saved_and_loaded_also_where_no_agent_is_known_yet(diver: bb.BootDQN, tmp_path) -> None:
    path = diver.save(tmp_path / "diver")
    loaded = bb.BootDQN.load(path)
    np.testing.assert_array_equal(loaded.uncertainty(np.eye(16)).mean, diver.uncertainty(np.eye(16)).mean)
    assert loaded.settings() == diver.settings()
    code = f"from bayesbellman.doors.agent import Agent; print(Agent.load({str(path)!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "BootDQN('deep-sea-4', 120 steps)\n", done.stderr


def test_dqn_is_boot_dqn_with_one_member() -> None:
    """One pure agent, field by field, in one loop: their bits are the same too."""
    one = bb.DQN("deep-sea-4", **SIZES)
    other = bb.BootDQN("deep-sea-4", epsilon=0.05, ensemble_size=1, prior_scale=0.0, **SIZES)
    assert one.settings() == other.settings()
    assert isinstance(one.pure, type(other.pure))
    assert vars(one.pure) == vars(other.pure)
    assert vars(one.pure) != vars(bb.BootDQN("deep-sea-4", **SIZES).pure)


class Shifted(gymnasium.Env):
    """Actions -1, 0 and 1, one of which earns 1; cut after two steps."""

    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(3, start=-1)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        assert action in self.action_space
        self.time += 1
        return np.zeros(1, np.float32), float(action == 1), False, self.time >= 2, {}


def test_discrete_actions_that_do_not_begin_with_0() -> None:
    settings = {**SIZES, "learning_rate": 0.03, "discount": 0.5, "epsilon": 0.3}
    agent = bb.DQN(Shifted, **settings).learn(250)
    assert agent.predict([0.0], deterministic=True)[0] == 1
    assert agent.evaluate(2).tolist() == [2.0, 2.0]
    worth = [float(agent.uncertainty([0.0], action).mean) for action in (-1, 0, 1)]
    assert worth[2] > max(worth[:2]) + 0.5
    with pytest.raises(ValueError, match="expected whole numbers from -1 to 1"):
        agent.uncertainty([0.0], 2)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"epsilon": -0.1}, r"epsilon is -0\.1; accepted is a number from 0 to 1"),
        ({"epsilon": 1.5}, r"epsilon is 1\.5"),
        ({"epsilon": float("nan")}, "epsilon is nan"),
        ({"target_period": 0}, "target_period is 0; accepted is a number >= 1"),
        ({"ensemble_size": 0}, "ensemble_size is 0"),
        ({"prior_scale": -1.0}, r"prior_scale is -1\.0"),
        ({"bootstrap": 1.5}, r"bootstrap is 1\.5"),
        ({"target_smoothing": 0.0}, r"target_smoothing is 0\.0"),
        ({"batch_size": 0}, "batch_size is 0"),
        ({"batch_size": 64, "buffer_size": 32}, "replay must hold at least one batch"),
        ({"warmup": 0}, "warmup is 0"),
    ],
)
def test_bad_settings_for_discrete_actions_are_named(settings: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        bb.BootDQN("deep-sea-4", **settings)


@pytest.mark.slow
def test_one_member_a_batch_of_one_and_a_warm_up_of_one_are_defined() -> None:
    agent = bb.BootDQN("deep-sea-4", ensemble_size=1, hidden=(8,), batch_size=1, buffer_size=1, warmup=1).learn(5)
    assert agent.history[-1].metrics["disagreement"] == 0


class Levers(hostile.Line):
    """Two actions at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.action_space = gymnasium.spaces.MultiDiscrete([2, 3])


def test_action_spaces_of_others_are_refused_with_what_to_use() -> None:
    with pytest.raises(TypeError, match=r"bb\.BBAC has continuous ones"):
        bb.BootDQN(CAR)
    with pytest.raises(TypeError, match=r"bb\.BBAC has continuous ones"):
        bb.DQN("Pendulum-v1")
    for kind in (bb.BootDQN, bb.BBAC):
        with pytest.raises(TypeError, match=r"actions are MultiDiscrete.*supported are .*Discrete actions; gymnasium"):
            kind(Levers)
    with pytest.raises(TypeError, match="BootDQN has no setting 'target_entropy'; it has"):
        bb.BootDQN("deep-sea-4", target_entropy=1.0)
    with pytest.raises(ValueError, match="ensemble_size: DQN is one network without a prior"):
        bb.DQN("deep-sea-4", ensemble_size=3)


def test_a_gpu_that_is_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_gpu(platform: str | None = None):
        if platform == "gpu":
            raise RuntimeError("Unknown backend")
        return [SimpleNamespace(platform="cpu")]

    monkeypatch.setattr(jax, "devices", no_gpu)
    with pytest.raises(RuntimeError, match="device is 'gpu', but JAX finds none") as refused:
        chosen_device("gpu")
    guide = Path(__file__).parents[2] / "docs" / "guides" / "gpu.md"
    assert str(refused.value).rpartition(": ")[2] in guide.read_text(encoding="utf-8").splitlines()


class Paced(gymnasium.Env):
    """Earns 1 a step, and has episodes of one length."""

    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, length: int) -> None:
        self.length = length

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.time += 1
        return np.zeros(1, np.float32), 1.0, self.time >= self.length, False, {}


def test_evaluations_side_by_side_have_long_episodes_too() -> None:
    """The first five to end would all be of the environment with short ones."""
    both = partial(gymnasium.vector.SyncVectorEnv, [partial(Paced, 1), partial(Paced, 10)])
    agent = bb.DQN(both, **SIZES)
    assert sorted(agent.evaluate(4).tolist()) == [1.0, 1.0, 10.0, 10.0]
    assert sorted(agent.evaluate(5).tolist()) == [1.0, 1.0, 10.0, 10.0, 10.0]
    assert agent.evaluate(1).tolist() == [10.0]


# Gymnasium environments that fail (F8, F9), and are closed


def test_a_failing_environment_is_named_or_restarted_and_only_whole_episodes_count() -> None:
    small = {**SIZES, "num_critics": 1}
    hostile.RaisesInLongEpisodes.resets = 1  # while it is checked at the start, it fails in episodes of even number
    with pytest.warns(EnvironmentWarning, match="does not do all"):
        agent = bb.SAC(hostile.RaisesInLongEpisodes, **small)
    with pytest.raises(EnvironmentFailed, match=r"step\(\) raised ZeroDivisionError.*on_env_error='restart'"):
        agent.learn(60)
    with pytest.warns(EnvironmentWarning):
        agent = bb.SAC(hostile.RaisesInLongEpisodes, **small, on_env_error="restart", env_restarts=100)
    with pytest.warns(EnvironmentWarning, match="of 100"):
        agent.learn(60)
    returns = np.concatenate([told.returns for told in agent.history])
    assert len(returns) >= 8
    assert set(returns.tolist()) == {3.0}  # and none of 2, of an episode that was cut
    with pytest.warns(EnvironmentWarning, match="of 100"):
        assert agent.evaluate(4).tolist() == [3.0] * 4
    with pytest.warns(EnvironmentWarning, match="of 100"):
        played = agent.play(4, keep=2)
    assert (played.returns.tolist(), played.lengths.tolist()) == ([3.0] * 4, [3] * 4)
    assert played.rewards.tolist() == [[1.0, 1.0]] * 4
    assert agent.settings()["env_restarts"] == 100


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bad_values": "keep"}, "bad_values is 'keep'; accepted are 'raise', 'drop' and 'clip'"),
        ({"on_env_error": "ignore"}, "on_env_error is 'ignore'; accepted are 'raise' and 'restart'"),
        ({"env_restarts": 0}, "env_restarts is 0; it must be >= 1"),
        ({"env_timeout": 0}, "env_timeout is 0; it must be > 0"),
        ({"env_timeout": float("inf")}, "env_timeout is inf; it must be > 0 and at most 1e+06 (seconds)"),
        ({"env_restarts": 2.5}, "env_restarts is 2.5; accepted is a whole number"),
        ({"env_timeout": 5}, f"env_timeout is 5; {CAR} is ours and compiled with the agent, leave it out"),
    ],
)
def test_bad_settings_for_failures_are_named(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        bb.SAC(CAR, **settings)


def test_an_environment_may_have_a_process_of_its_own_and_is_closed_with_the_agent() -> None:
    with bb.SAC("Pendulum-v1", **SIZES, env_timeout=60) as agent:
        process = agent._env.host.first._process
        assert process.is_alive()
        agent.learn(20)
    with pytest.raises(ValueError, match="process object is closed"):
        process.is_alive()
    agent.predict(np.zeros(3))
    for verb in (agent.learn, agent.evaluate):
        with pytest.raises(RuntimeError, match="the agent was closed"):
            verb(1)
    own = hostile.Line()
    bb.SAC(own, **SIZES).close()
    assert not own.closed  # it is its owner's to close
    made: list[hostile.Line] = []

    def make() -> gymnasium.Env:
        made.append(hostile.Line())
        return made[-1]

    bb.SAC(make, **SIZES).close()
    assert all(env.closed for env in made)
