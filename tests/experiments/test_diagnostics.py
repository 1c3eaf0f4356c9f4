"""What is recorded of an agent's beliefs while it trains: right, small, and without a trace in the training itself."""

import json
from pathlib import Path

import jax
import numpy as np
import pytest
from tests.sizes import EPISODES, MEMBERS, SIZES

from bayesbellman.control.train import Played
from bayesbellman.doors.agent import Agent
from bayesbellman.doors.agents import BBAC, BootDQN
from bayesbellman.envs.registry import make_env
from bayesbellman.envs.spaces import Discrete, Spaces, box, one_hot
from bayesbellman.experiments.training import sweep
from bayesbellman.experiments.training.diagnostics import (
    MOST_MOMENTS,
    Diagnostics,
    moments,
    read_moment,
    recorded,
    returns_to_go,
)
from bayesbellman.experiments.training.maps import CELLS, Plane, Square, bounds, cells, kind_of
from bayesbellman.experiments.training.plan import Plan
from bayesbellman.runs.arrays import read_arrays
from bayesbellman.runs.live_folder import refuse_if_unusable_or_in_use

TINY = {**SIZES, "ensemble_size": MEMBERS, "device": "cpu"}
TWO = {"seeds": 2, "side_by_side": 1}
"""In turn: the program of one run is that of other tests"""
PLAN = Plan("MountainCarContinuous-v0", BBAC, TINY, steps=300, evaluate_every=100, episodes=EPISODES, **TWO)


@pytest.fixture(autouse=True, scope="module")
def _as_users_have_it():
    jax.config.update("jax_numpy_dtype_promotion", "standard")
    yield
    jax.config.update("jax_numpy_dtype_promotion", "strict")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("diagnostics") / "run"
    sweep.train(PLAN, out, overwrite=False, say=lambda words: None)
    return out


def test_training_is_the_same_to_the_bit_without_them(run: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(Diagnostics, "after_evaluation", lambda self, agent, steps, *, last: None)
    sweep.train(PLAN, tmp_path / "without", overwrite=False, say=lambda words: None)
    assert not (tmp_path / "without" / "seed-0000" / "diagnostics").exists()
    for seed in ("seed-0000", "seed-0001"):
        one, other = (read_arrays(folder / seed / "agent.bbo") for folder in (run, tmp_path / "without"))
        assert one.keys() == other.keys()
        for name, array in one.items():
            assert array.tobytes() == other[name].tobytes(), name
        lines = [(folder / seed / "metrics.jsonl").read_text().splitlines() for folder in (run, tmp_path / "without")]
        for a, b in zip(*lines, strict=True):
            assert {**json.loads(a), "seconds": 0} == {**json.loads(b), "seconds": 0}


def test_what_is_recorded_is_what_the_agent_says(run: Path, tmp_path: Path) -> None:
    folder = run / "seed-0001"
    assert [path.name for path in recorded(folder / "diagnostics")] == [
        "steps-00000100.npz", "steps-00000200.npz", "steps-00000300.npz",
    ]  # fmt: skip
    moment = read_moment(recorded(folder / "diagnostics")[-1])
    agent = Agent.load(folder / "agent.bbo")
    played = agent.play(EPISODES)
    np.testing.assert_allclose(played.returns, agent.evaluate(EPISODES), rtol=1e-5)
    evaluation = json.loads((folder / "metrics.jsonl").read_text().splitlines()[-1])["evaluation"]["returns"]
    np.testing.assert_allclose(moment["start_return"], evaluation, rtol=1e-5)
    said = agent.uncertainty(played.observations[:, 0])
    np.testing.assert_allclose(moment["start_mean"], said.mean, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(moment["start_std"], said.std, rtol=1e-3, atol=1e-3)
    weights = agent.discount ** np.arange(1000)
    np.testing.assert_allclose(moment["start_realised"], played.rewards @ weights, rtol=1e-4)
    place = (5, 20)
    observation = cells(moment["grid_low"], moment["grid_high"]).reshape(CELLS, CELLS, 2)[place]
    members = agent.uncertainty(observation, members=True).members
    np.testing.assert_allclose(moment["grid_members"][:, *place], members, rtol=2e-3, atol=1e-2)
    action, _ = agent.predict(observation, deterministic=True)
    np.testing.assert_allclose(moment["grid_action"][:, *place], action, atol=2e-3)
    assert moment["grid_visits"].sum() == 300
    assert moment["episode_mean"].dtype == np.float16
    assert sum(path.stat().st_size for path in recorded(folder / "diagnostics")[-1:]) < 40_000


def test_maps_of_deep_sea_are_what_the_members_say(tmp_path: Path) -> None:
    agent = BootDQN("deep-sea-4", **{**TINY, "buffer_size": 500}).learn(150)
    moment = read_moment(Diagnostics(tmp_path, 300, 100, 2).record(agent, 150))
    values = np.stack([agent.uncertainty(np.eye(16), np.full(16, a), members=True).members for a in (0, 1)])
    best = values.max(axis=0)
    close = {"rtol": 2e-3, "atol": 2e-3}
    np.testing.assert_allclose(moment["grid_members"].reshape(2, 16), best, **close)
    np.testing.assert_allclose(moment["grid_mean"].ravel(), best.mean(axis=0), **close)
    np.testing.assert_allclose(moment["grid_std"].ravel(), best.std(axis=0), **close)
    right = np.asarray(agent.player.training.env.mapping).ravel()
    goes, share = moment["grid_action"].reshape(2, 16)
    np.testing.assert_array_equal(goes, agent.predict(np.eye(16), deterministic=True)[0] == right)
    np.testing.assert_array_equal(share, np.mean(values.argmax(axis=0) == right, axis=0))
    visits = moment["grid_visits"]
    assert visits.sum() == 150
    assert visits.sum(axis=1).tolist() == [38, 38, 37, 37]  # a row for each step of an episode
    assert visits[0].tolist() == [38, 0, 0, 0]
    np.testing.assert_array_equal(moment["grid_there"], np.tri(4, dtype=bool))
    assert not visits[~moment["grid_there"]].any()
    assert int(moment["num_actions"]) == 2


def test_only_squares_that_are_not_too_large_are_drawn() -> None:
    drawn = {"deep-sea-50": Square, "deep-sea-51": None, "CartPole-v1": None, "MountainCar-v0": Plane}
    assert {name: kind_of(make_env(name).spaces) for name in drawn} == drawn
    assert kind_of(Spaces(one_hot(12), Discrete(2))) is None
    assert kind_of(Spaces(one_hot(16), box([0.0], [1.0]))) is None


def test_the_same_step_is_written_the_same(tmp_path: Path) -> None:
    agent = BBAC("MountainCarContinuous-v0", **TINY).learn(150)
    diagnostics = Diagnostics(tmp_path / "diagnostics", 300, 100, 2)
    first = diagnostics.record(agent, 150).read_bytes()
    assert diagnostics.record(agent, 150).read_bytes() == first
    diagnostics.record(agent, 160)
    kept = sorted(path.name for path in (tmp_path / "diagnostics").iterdir())
    assert kept == ["steps-00000150.npz", "steps-00000160.npz"]


@pytest.mark.slow
def test_through_the_host_loop(tmp_path: Path) -> None:
    agent = BBAC("Pendulum-v1", **TINY).learn(120)
    played = agent.play(2, keep=150)
    np.testing.assert_allclose(played.returns, agent.evaluate(2), rtol=1e-6)
    assert played.lengths.tolist() == [200, 200]
    whole = agent.play(2, keep=300)
    assert not whole.rest.any()
    assert not whole.observations[:, 200:].any()
    cut, uncut = (returns_to_go(each, agent.discount)[:, 0] for each in (played, whole))
    np.testing.assert_allclose(cut, uncut, rtol=1e-6)
    moment = read_moment(Diagnostics(tmp_path / "diagnostics", 300, 100, 2).record(agent, 120))
    assert not any(name.startswith("grid") for name in moment)
    assert moment["episode_mean"].shape == (2, 64)


def test_returns_to_go_by_hand() -> None:
    played = Played(*[np.zeros(1)] * 2, np.zeros((1, 3, 2)), np.array([[1.0, 2.0, 4.0]]), np.array([8.0]))
    np.testing.assert_allclose(returns_to_go(played, 0.5), [[4.0, 6.0, 8.0]])


def test_moments_are_few_with_first_and_last() -> None:
    assert moments(300, 100) == {100, 200, 300}
    assert moments(250, 100) == {100, 200, 250}
    assert moments(50, 100) == {50}
    assert all(len(moments(steps, 1)) == min(steps, MOST_MOMENTS) for steps in range(1, 200))
    many = sorted(moments(1_000_000, 1000))
    assert (many[0], many[-1], len(many)) == (1000, 1_000_000, MOST_MOMENTS)


def test_bounds_of_a_space_without_bounds_are_those_of_what_was_visited() -> None:
    low, high = bounds(box([-np.inf, -1.0], [np.inf, 1.0]), np.array([[3.0, 0.0], [5.0, 0.5]]))
    np.testing.assert_array_equal([low, high], [[3, -1], [5, 1]])


def test_overwriting_takes_ours_and_spares_others(run: Path) -> None:
    refuse_if_unusable_or_in_use(run, overwrite=True)
    foreign = run / "seed-0001" / "diagnostics" / "notes.txt"
    foreign.write_text("mine")
    try:
        with pytest.raises(FileExistsError, match=r"notes\.txt"):
            refuse_if_unusable_or_in_use(run, overwrite=True)
    finally:
        foreign.unlink()
