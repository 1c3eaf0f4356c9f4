"""Stable-Baselines3's own tools on our agents. Needs torch, so it has an environment of its own (make test-peers)."""

import gymnasium
import numpy as np
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import DummyVecEnv

import bayesbellman as bb
from bayesbellman.compat.gymnasium import AsGymnasium
from bayesbellman.envs.registry import make_env

SMALL = {"hidden": (8,), "batch_size": 16, "buffer_size": 500, "warmup": 50}


def test_evaluate_policy_takes_our_agents() -> None:
    agent = bb.BBAC("Pendulum-v1", ensemble_size=2, **SMALL).learn(60)
    env = gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make("Pendulum-v1"))
    returns, lengths = evaluate_policy(agent, env, n_eval_episodes=3, return_episode_rewards=True, warn=False)
    assert lengths == [200] * 3
    assert all(-2000 < total < 0 for total in returns)


def test_evaluate_policy_on_several_environments() -> None:
    agent = bb.SAC("Pendulum-v1", **SMALL)
    env = DummyVecEnv([lambda: gymnasium.make("Pendulum-v1")] * 2)
    mean, std = evaluate_policy(agent, env, n_eval_episodes=2, warn=False)
    assert np.isfinite([mean, std]).all()


def test_it_agrees_with_our_own_evaluation_where_nothing_is_random() -> None:
    """MountainCar from Gymnasium and ours: what an untrained policy's mean action costs."""
    agent = bb.SAC("MountainCarContinuous-v0", **SMALL)
    env = gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make("MountainCarContinuous-v0"))
    theirs, _ = evaluate_policy(agent, env, n_eval_episodes=2, warn=False)
    ours = agent.evaluate(2).mean()
    assert abs(float(theirs) - ours) < 0.2 * abs(ours) + 0.5  # the starts differ


def test_check_env_passes_on_ours() -> None:
    check_env(AsGymnasium(make_env("MountainCarContinuous-v0")), warn=False)
