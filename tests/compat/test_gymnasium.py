"""Gymnasium environments as transitions: true successors, the right bootstraps, and every fault caught and named."""

import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from tests.compat import hostile

from bayesbellman.compat.gymnasium import (
    AsGymnasium,
    EnvironmentFailed,
    EnvironmentWarning,
    HostEnv,
    HostStep,
    NotFinite,
    check_environment,
    make_host_env,
    spaces_of,
)
from bayesbellman.core.types import effective_discount
from bayesbellman.envs.cartpole import CartPole
from bayesbellman.envs.mountain_car import MountainCar
from bayesbellman.envs.puddle_world import PuddleWorld
from bayesbellman.envs.spaces import Discrete as OurDiscrete

STILL = np.zeros((1, 1), dtype=np.float32)


def with_spaces(observation: Any = None, action: Any = None) -> gymnasium.Env:
    env = hostile.Line()
    env.observation_space = env.observation_space if observation is None else observation
    env.action_space = env.action_space if action is None else action
    return env


# Spaces (F11)


def test_boxes_are_flattened() -> None:
    spaces = spaces_of(with_spaces(Box(0, 255, (4, 3, 2), np.uint8), Box(-2.0, 3.0, (2, 2), np.float64)))
    assert spaces.observation.size == 24
    assert spaces.observation.high.tolist() == [255.0] * 24
    assert (spaces.action.low.tolist(), spaces.action.high.tolist()) == ([-2.0] * 4, [3.0] * 4)
    assert spaces.action.low.dtype == np.float32


def test_bounds_beyond_float32_are_none() -> None:
    assert spaces_of(with_spaces(Box(-1e300, 1e300, (1,), np.float64))).observation.high.tolist() == [np.inf]


def test_a_vector_environment_has_the_spaces_of_one() -> None:
    assert spaces_of(SyncVectorEnv([hostile.Line] * 3)) == spaces_of(hostile.Line())


@pytest.mark.parametrize(
    ("observation", "action", "message"),
    [
        (Dict(a=Box(0, 1)), None, "observations are Dict.*supported are Box.*FlattenObservation"),
        (Tuple([Box(0, 1)]), None, "observations are Tuple.*FlattenObservation"),
        (Discrete(3), None, r"observations are Discrete\(3\).*FlattenObservation"),
        (Box(0, 1, ()), None, r"observations have the shape \(\)"),
        (Box(0, 1, (2, 0)), None, r"observations have the shape \(2, 0\)"),
        (None, MultiDiscrete([2, 2]), "actions are MultiDiscrete.*supported are Box.*TransformAction"),
        (None, MultiBinary(2), "actions are MultiBinary"),
        (None, Dict(a=Box(0, 1)), "actions are Dict"),
        (None, Box(-np.inf, np.inf, (2,)), "actions are without bounds.*RescaleAction"),
        (None, Box(np.float32([0, 1]), np.float32([1, 1])), "actions have no room between their bounds"),
        (None, Box(0, 1, ()), r"actions have the shape \(\)"),
        (None, Box(0, 1, (0,)), r"actions have the shape \(0,\)"),
        (None, Box(0, 9, (2,), np.int64), "actions are a Box of int64"),
    ],
)
def test_other_spaces_are_refused_with_the_wrapper_to_use(observation: Any, action: Any, message: str) -> None:
    env = with_spaces(observation, action)
    with pytest.raises(TypeError, match=message):
        spaces_of(env)
    with pytest.raises(TypeError, match=message):
        make_host_env(env)


# Steps of environments one by one


def test_one_environment_by_hand() -> None:
    env = hostile.Line()
    host = HostEnv(env, seed=5)
    first = host.reset()
    assert first.dtype == np.float32
    start = first[0, 0]
    steps = [host.step(STILL) for _ in range(4)]
    assert [step.next_observation[0].tolist() for step in steps[:3]] == [[start, 1], [start, 2], [start, 3]]
    assert [step.reward.item() for step in steps[:3]] == [10 * start + 1, 10 * start + 2, 10 * start + 3]
    assert [bool(step.terminated[0]) for step in steps] == [False, False, True, False]
    assert all(step.valid.all() and not step.truncated.any() for step in steps)
    renewed = steps[2].observation[0]
    assert renewed[1] == 0
    assert renewed[0] != start
    assert steps[3].next_observation[0].tolist() == [renewed[0], 1]


def test_each_episode_has_a_seed_of_its_own_and_the_first_is_gymnasium_s() -> None:
    made: list[hostile.Line] = []

    def make() -> gymnasium.Env:
        made.append(hostile.Line(length=1))
        return made[-1]

    host = HostEnv(make, 3, seed=5)
    host.reset()
    for _ in range(4):
        host.step(np.zeros((3, 1)))
    assert [env.seeds[0] for env in made] == [5, 6, 7]
    seeds = [seed for env in made for seed in env.seeds]
    assert len(set(seeds)) == 15


def test_same_seed_same_steps_and_another_seed_others() -> None:
    def played(seed: int) -> list[np.ndarray]:
        host = HostEnv(hostile.Line, 2, seed=seed)
        return [host.reset(), *(np.concatenate(host.step(np.zeros((2, 1)))[:2], axis=None) for _ in range(9))]

    assert all(np.array_equal(a, b) for a, b in zip(played(3), played(3), strict=True))
    assert not np.array_equal(played(3)[0], played(4)[0])


def test_actions_are_scaled_to_the_environment_s_bounds() -> None:
    env = hostile.Line(length=10)
    host = HostEnv(env)
    host.reset()
    for action in (-1.0, 0.0, 0.5, 1.0):
        host.step(np.array([[action]]))
    assert [float(action[0]) for action in env.actions] == [-2.0, 1.0, 2.5, 4.0]
    assert env.actions[0].dtype == np.float32
    host.step(jax.numpy.ones((1, 1)))
    assert env.actions[-1].tolist() == [4.0]


def test_actions_have_the_shape_of_the_environment() -> None:
    env = with_spaces(action=Box(np.zeros((2, 2), np.float32), np.float32([[1, 2], [3, 4]])))
    host = HostEnv(env)
    host.reset()
    host.step(np.ones((1, 4)))
    assert env.actions[0].tolist() == [[1.0, 2.0], [3.0, 4.0]]  # pyright: ignore[reportAttributeAccessIssue]


def test_discrete_actions_start_where_the_environment_s_do() -> None:
    env = with_spaces(action=Discrete(3, start=5))
    host = HostEnv(env)
    assert host.spaces.action == OurDiscrete(3)
    host.reset()
    host.step(np.array([2]))
    assert env.actions[0].tolist() == 7  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(ValueError, match=r"actions must be from 0 to 2, got \[3\]"):
        host.step(np.array([3]))
    with pytest.raises(ValueError, match="actions must be 1 integers, got float64"):
        host.step(np.array([1.0]))


def test_bad_actions_are_refused() -> None:
    host = HostEnv(hostile.Line())
    host.reset()
    with pytest.raises(ValueError, match=r"actions must have shape \(1, 1\), got \(1,\)"):
        host.step(np.zeros(1))
    with pytest.raises(ValueError, match=r"actions must be within \[-1, 1\], got \[\[1.5\]\]"):
        host.step(np.array([[1.5]]))
    with pytest.raises(ValueError, match=r"actions must be within \[-1, 1\], got \[\[nan\]\]"):
        host.step(np.array([[np.nan]]))


def test_an_environment_that_writes_into_its_action_does_not_change_ours() -> None:
    for env in (hostile.WritesIntoItsAction(), SyncVectorEnv([hostile.WritesIntoItsAction])):
        host = HostEnv(env)
        host.reset()
        actions = np.array([[0.25]], dtype=np.float32)
        host.step(actions)
        assert actions.tolist() == [[0.25]]


def test_both_ends_at_once_count_as_terminated() -> None:
    """F12: the value beyond is 0, and not bootstrapped."""
    for env in (hostile.EndsBothWays(1), SyncVectorEnv([lambda: hostile.EndsBothWays(1)])):
        host = HostEnv(env)
        host.reset()
        step = host.step(STILL)
        assert (step.terminated.tolist(), step.truncated.tolist()) == ([True], [False])
        assert effective_discount(0.9, step.terminated).tolist() == [0.0]


def test_step_before_reset_is_refused() -> None:
    with pytest.raises(RuntimeError, match=r"reset\(\) must be called before step\(\)"):
        HostEnv(hostile.Line()).step(STILL)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"num_envs": 0}, ValueError, "num_envs must be at least 1"),
        ({"num_envs": 2}, ValueError, "env is one environment; pass its id or a function"),
        ({"seed": -1}, ValueError, "seed must be from 0"),
        ({"seed": 2**31}, ValueError, "seed must be from 0"),
        ({"restarts": -1}, ValueError, "restarts must be 0 or more"),
    ],
)
def test_bad_settings_are_refused(settings: dict, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        HostEnv(hostile.Line(), **settings)


def test_a_function_must_make_environments_and_new_ones() -> None:
    with pytest.raises(TypeError, match="env made int, not a gymnasium"):
        HostEnv(lambda: 3)  # pyright: ignore[reportArgumentType]
    one = hostile.Line()
    with pytest.raises(ValueError, match="one and the same environment"):
        HostEnv(lambda: one, 2)
    with pytest.raises(ValueError, match="the vector environment has 3; leave it out"):
        HostEnv(SyncVectorEnv([hostile.Line] * 3), 2)


# Vector environments in each mode (F12)

MODES = list(AutoresetMode)
every_mode = pytest.mark.parametrize("mode", MODES, ids=[mode.name for mode in MODES])


def lines(mode: AutoresetMode) -> SyncVectorEnv:
    """Two: one terminates after 2 steps, the other is truncated after 3."""
    makers: list[Callable[[], gymnasium.Env]] = [lambda: hostile.Line(2), lambda: hostile.Line(3, truncates=True)]
    return SyncVectorEnv(makers, autoreset_mode=mode)


def transitions(host: HostEnv, steps: int) -> list[list[tuple]]:
    """For each environment: (observation, reward, discount, next_observation) of its valid transitions."""
    observation = host.reset(11)
    found: list[list[tuple]] = [[] for _ in range(host.num_envs)]
    for _ in range(steps):
        step = host.step(np.zeros((host.num_envs, 1)))
        discount = effective_discount(0.5, step.terminated)
        for i in np.flatnonzero(step.valid):
            pair = tuple(observation[i].tolist()), tuple(step.next_observation[i].tolist())
            found[i].append((pair[0], step.reward[i].item(), discount[i].item(), pair[1]))
        observation = step.observation
    return found


@every_mode
def test_a_vector_gives_true_successors_and_bootstraps(mode: AutoresetMode) -> None:
    terminating, truncated = transitions(HostEnv(lines(mode)), 12)
    starts = [observation[0] for observation, *_ in terminating]
    assert terminating == [
        ((s, float(i % 2)), 10 * s + i % 2 + 1, (0.5, 0.0)[i % 2], (s, i % 2 + 1.0)) for i, s in enumerate(starts)
    ]
    starts = [observation[0] for observation, *_ in truncated]
    assert truncated == [((s, float(i % 3)), 10 * s + i % 3 + 1, 0.5, (s, i % 3 + 1.0)) for i, s in enumerate(starts)]
    fake = mode == AutoresetMode.NEXT_STEP  # one step in three, and one in four, only resets
    assert (len(terminating), len(truncated)) == ((8, 9) if fake else (12, 12))
    assert len(set(starts)) > 2


def test_all_modes_and_plain_environments_agree() -> None:
    """The same transitions, except that NEXT_STEP plays fewer."""
    same, disabled, following = (
        transitions(HostEnv(lines(mode)), 24)
        for mode in (AutoresetMode.SAME_STEP, AutoresetMode.DISABLED, AutoresetMode.NEXT_STEP)
    )
    assert same == disabled
    for one, other in zip(same, following, strict=True):
        assert one[: len(other)] == other


def test_the_step_after_an_end_is_no_transition_where_the_next_step_resets() -> None:
    host = HostEnv(lines(AutoresetMode.NEXT_STEP))
    host.reset(0)
    host.step(np.zeros((2, 1)))
    last, fake, fresh = (host.step(np.zeros((2, 1))) for _ in range(3))
    assert last.terminated.tolist() == [True, False]
    assert last.observation[0].tolist() == last.next_observation[0].tolist()
    assert (fake.valid.tolist(), fake.reward[0].item(), bool(fake.terminated[0])) == ([False, True], 0.0, False)
    assert fake.observation[0, 1] == 0
    assert fake.next_observation[0].tolist() == last.next_observation[0].tolist()
    assert fresh.valid.tolist() == [True, False]


def test_environments_in_processes_of_their_own() -> None:
    host = HostEnv(AsyncVectorEnv([hostile.Line] * 2, context="spawn"))
    try:
        assert len(transitions(host, 4)[0]) == 3
    finally:
        host.close()


def test_a_vector_must_say_how_it_resets() -> None:
    env = lines(AutoresetMode.SAME_STEP)
    del env.metadata["autoreset_mode"]
    with pytest.raises(ValueError, match=r"env.metadata\['autoreset_mode'\] is None; set it"):
        HostEnv(env)


def test_a_vector_that_hides_its_last_observations_is_refused() -> None:
    env = lines(AutoresetMode.NEXT_STEP)
    env.metadata["autoreset_mode"] = AutoresetMode.SAME_STEP  # which it does not do
    host = HostEnv(env)
    host.reset()
    host.step(np.zeros((2, 1)))
    with pytest.raises(EnvironmentFailed, match="no 'final_obs'"):
        host.step(np.zeros((2, 1)))


# Numbers that are none (F8)


@pytest.mark.parametrize(
    ("kind", "field"),
    [(hostile.BadReward, "reward is nan"), (hostile.BadObservation, r"observation is \[\d+.0, inf\]")],
)
def test_bad_numbers_are_raised_with_all_that_repeats_them(kind: type[hostile.Line], field: str) -> None:
    host = HostEnv(kind(), seed=4)
    host.reset()
    host.step(STILL)
    where = rf"{kind.__name__} \(environment 0, seed 4, step 1, step 1 of its episode, action \[1.0\]\): {field}"
    with pytest.raises(NotFinite, match=where) as caught:
        host.step(STILL)
    assert caught.value.place.step == 1


def test_what_overflows_float32_is_infinite() -> None:
    env = hostile.BadReward()
    env.value = 1e300
    host = HostEnv(env)
    host.reset()
    host.step(STILL)
    with pytest.raises(NotFinite, match="reward is inf"):
        host.step(STILL)


def test_a_bad_reward_can_be_dropped_and_the_episode_goes_on() -> None:
    host = HostEnv(hostile.BadReward(4), bad_values="drop")
    host.reset()
    host.step(STILL)
    with pytest.warns(EnvironmentWarning, match=r"BadReward .*: the transition was dropped|dropped; this is said once"):
        step = host.step(STILL)
    assert (step.valid.tolist(), step.truncated.tolist(), step.reward.tolist()) == ([False], [False], [0.0])
    assert host.step(STILL).valid.all()


def test_a_bad_observation_dropped_cuts_the_episode() -> None:
    host = HostEnv(hostile.BadObservation(4), bad_values="drop")
    host.reset()
    host.step(STILL)
    with pytest.warns(EnvironmentWarning, match="dropped"):
        step = host.step(STILL)
    assert (step.valid.tolist(), step.truncated.tolist()) == ([False], [True])
    assert step.observation[0, 1] == 0
    assert np.isfinite(step.next_observation).all()
    assert host.step(STILL).valid.all()


def test_a_vector_that_resets_itself_plays_on_until_numbers_are_finite() -> None:
    host = HostEnv(SyncVectorEnv([lambda: hostile.BadObservation(4)]), bad_values="drop")
    host.reset()
    host.step(STILL)
    with pytest.warns(EnvironmentWarning, match="dropped"):
        steps = [host.step(STILL) for _ in range(3)]
    assert [bool(step.valid[0]) for step in steps] == [False, False, True]  # into the bad one, and out of it
    assert all(np.isfinite(np.concatenate([s.observation, s.next_observation])).all() for s in steps)
    assert steps[2].terminated.all()


@pytest.mark.filterwarnings("ignore::bayesbellman.compat.gymnasium.EnvironmentWarning")
def test_numbers_that_never_recover_are_raised_in_the_end() -> None:
    env = hostile.BadReward(1)
    env.reset()

    def always(action: Any) -> tuple:
        return env.seen(), np.nan, False, False, {}

    env.step = always  # pyright: ignore[reportAttributeAccessIssue]
    host = HostEnv(env, bad_values="drop")
    host.reset()
    with pytest.raises(NotFinite, match="more than 100 steps in a row"):
        [host.step(STILL) for _ in range(200)]


def test_bad_numbers_can_be_clipped() -> None:
    host = HostEnv(hostile.BadObservation(4), bad_values="clip")
    host.reset()
    host.step(STILL)
    with pytest.warns(EnvironmentWarning, match="clipped"):
        step = host.step(STILL)
    assert step.valid.all()
    assert step.next_observation[0, 1] == step.observation[0, 1] == 1000.0  # the bound of the space
    env = hostile.BadReward(4)
    for value, clipped in ((np.nan, 0.0), (np.inf, 1e6), (-np.inf, -1e6)):
        env.value = value
        host = HostEnv(env, bad_values="clip")
        host.reset()
        host.step(STILL)
        with pytest.warns(EnvironmentWarning, match="clipped"):
            assert host.step(STILL).reward.tolist() == [clipped]


def test_a_bad_start_cannot_be_dropped() -> None:
    for rule in ("raise", "drop"):
        with pytest.raises(NotFinite, match=r"observation of a reset is \[\d+.0, nan\]"):
            HostEnv(hostile.BadStart(), bad_values=rule).reset()
    assert HostEnv(hostile.BadStart(), bad_values="clip").reset()[0, 1] == 0


def test_the_rule_must_be_known() -> None:
    with pytest.raises((ValueError, TypeError)):
        HostEnv(hostile.Line(), bad_values="ignore")  # pyright: ignore[reportArgumentType]


# Environments that raise (F9)


def test_an_exception_comes_with_seed_action_and_step() -> None:
    host = HostEnv(hostile.Raises(), seed=8)
    host.reset()
    host.step(STILL)
    message = r"seed 8, step 1, .*action \[4.0\]\): step\(\) raised ZeroDivisionError: the wheel came off; restarts=k"
    with pytest.raises(EnvironmentFailed, match=message) as caught:
        host.step(np.ones((1, 1)))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    with pytest.raises(EnvironmentFailed, match=r"reset\(\) raised OSError: no such robot"):
        HostEnv(hostile.RaisesInReset()).reset()


def check_cut(step: HostStep) -> None:
    """An episode that is over, and no transition."""
    assert step.truncated.all()
    assert not (step.valid | step.terminated).any()
    assert not step.reward.any()
    assert (step.observation[:, 1] == 0).all()


def test_one_that_cannot_leave_its_thread_is_told_what_helps() -> None:
    """`bbo train` steps in a thread, so that it answers signals; databases and signals of the environment's do not."""

    class OfOneThread(hostile.Line):
        def step(self, action: Any) -> Any:
            raise ValueError("signal only works in main thread of the main interpreter")

    host = HostEnv(OfOneThread())
    host.reset()
    with pytest.raises(EnvironmentFailed, match=r"main interpreter; bbo train .* --env-timeout SECONDS .* of its own"):
        host.step(STILL)


def test_an_environment_that_would_end_our_process_has_failed() -> None:
    """One whose window was closed calls ``exit()``: with exit code 0 that would look like a run that is done."""
    host = HostEnv(hostile.Exits(), seed=3)
    host.reset()
    host.step(STILL)
    with pytest.raises(EnvironmentFailed, match=r"seed 3, step 1, .*step\(\) raised SystemExit: 0"):
        host.step(STILL)
    assert check_environment(hostile.Exits)[0].startswith("step() raised SystemExit: 0")


def test_a_restart_is_a_cut() -> None:
    host = HostEnv(hostile.Raises(), restarts=1)
    start = host.reset()
    host.step(STILL)
    with pytest.warns(EnvironmentWarning, match=r"a new episode begins \(restart 1 of 1\)"):
        step = host.step(STILL)
    check_cut(step)
    assert step.observation[0, 0] != start[0, 0]
    assert [bool(host.step(STILL).terminated[0]) for _ in range(3)] == [False, False, True]


def test_a_restart_makes_a_new_environment_where_it_can_and_leaves_the_others_alone() -> None:
    made: list[hostile.Line] = []

    def make() -> gymnasium.Env:
        made.append(hostile.Line(5) if len(made) == 1 else hostile.Raises(5))
        return made[-1]

    host = HostEnv(make, 2, restarts=1)
    host.reset()
    host.step(np.zeros((2, 1)))
    with pytest.warns(EnvironmentWarning, match="restart 1 of 1"):
        step = host.step(np.zeros((2, 1)))
    assert (step.valid.tolist(), step.truncated.tolist()) == ([False, True], [True, False])
    assert (len(made), made[0].closed) == (3, True)
    assert step.observation[1, 1] == 2
    host.step(np.zeros((2, 1)))
    with pytest.raises(EnvironmentFailed, match=r"the wheel came off$"):
        host.step(np.zeros((2, 1)))


@pytest.mark.parametrize("vector", [False, True])
def test_one_that_cannot_be_made_at_once_is_tried_again(vector: bool) -> None:
    """Each attempt is one of the restarts, and says where it was."""

    def make() -> gymnasium.Env:
        return hostile.NeedsTwoAttempts()

    def make_vector() -> SyncVectorEnv:
        return SyncVectorEnv([make])

    def at_the_failure(restarts: int) -> HostEnv:
        hostile.NeedsTwoAttempts.made = 0
        host = HostEnv(make_vector if vector else make, restarts=restarts)
        host.reset()
        host.step(STILL)
        return host

    host = at_the_failure(2)
    with pytest.warns(EnvironmentWarning, match="restart [12] of 2") as said:
        step = host.step(STILL)
    assert "make() raised ConnectionError: still starting" in str(said[-1].message)
    check_cut(step)
    assert host.step(STILL).valid.all()
    host = at_the_failure(1)
    message = r"seed 0, step \d.*make\(\) raised ConnectionError: still starting"
    with pytest.warns(EnvironmentWarning, match="restart 1 of 1"), pytest.raises(EnvironmentFailed, match=message):
        host.step(STILL)


@pytest.mark.parametrize("vector", [False, True])
def test_what_goes_wrong_in_closing_is_said_and_spoils_nothing(vector: bool) -> None:
    env = hostile.RaisesInClose()
    host = HostEnv(SyncVectorEnv([lambda: env]) if vector else env)
    host.reset()
    with pytest.warns(EnvironmentWarning, match=r"seed 0, step 0.*: close\(\) raised OSError: no window"):
        host.close()
    assert env.closed


def test_a_reset_that_fails_too_uses_up_the_restarts() -> None:
    with pytest.warns(EnvironmentWarning), pytest.raises(EnvironmentFailed, match="no such robot"):
        HostEnv(hostile.RaisesInReset(), restarts=3).reset()


@every_mode
def test_a_vector_restarts_as_a_whole(mode: AutoresetMode) -> None:
    host = HostEnv(SyncVectorEnv([hostile.Raises, hostile.Line], autoreset_mode=mode), restarts=1)
    host.reset()
    host.step(np.zeros((2, 1)))
    with pytest.warns(EnvironmentWarning, match="restart 1 of 1"):
        step = host.step(np.zeros((2, 1)))
    check_cut(step)
    following = host.step(np.zeros((2, 1)))
    assert following.valid.all()
    assert following.next_observation[:, 1].tolist() == [1, 1]


def test_a_vector_whose_partial_reset_fails_is_cut_with_the_next_step() -> None:
    """The episodes that were not to be reset must be seen to end."""
    makers: list[Callable[[], gymnasium.Env]] = [lambda: hostile.RaisesInLaterReset(1), lambda: hostile.Line(5)]
    host = HostEnv(SyncVectorEnv(makers, autoreset_mode=AutoresetMode.DISABLED), restarts=1)
    host.reset()
    with pytest.warns(EnvironmentWarning, match=r"reset\(\) raised OSError: stuck"):
        step = host.step(np.zeros((2, 1)))
    assert (step.valid.tolist(), step.terminated.tolist()) == ([True, True], [True, False])
    check_cut(host.step(np.zeros((2, 1))))
    assert host.step(np.zeros((2, 1))).next_observation[:, 1].tolist() == [1, 1]


def test_a_reset_that_fails_within_a_run_is_survived_too() -> None:
    host = HostEnv(hostile.RaisesInLaterReset(1), restarts=1)
    host.reset()
    with pytest.warns(EnvironmentWarning, match="stuck"):
        step = host.step(STILL)
    assert step.valid.all()
    assert step.terminated.all()
    assert step.observation[0, 1] == 0


# Environments that break the interface (F10)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (hostile.WrongShape, r"observation has shape \(3,\), where \(2,\) is expected"),
        (hostile.NotNumbers, "observation is dict .* not an array of numbers"),
        (hostile.OldApi, r"step\(\) gave 4 values"),
    ],
)
def test_what_cannot_be_read_is_raised_whatever_the_rules(kind: type[hostile.Line], message: str) -> None:
    host = HostEnv(kind(), bad_values="clip", restarts=5)
    host.reset()
    with pytest.raises(EnvironmentFailed, match=message):
        host.step(STILL)


def test_an_observation_outside_its_space_is_said_once() -> None:
    host = HostEnv(hostile.Outside(9))
    host.reset()
    with pytest.warns(EnvironmentWarning, match="is outside its space") as said:
        [host.step(STILL) for _ in range(5)]
    assert len(said) == 1


def test_a_good_environment_has_no_findings() -> None:
    assert check_environment(hostile.Line()) == []
    assert check_environment(hostile.Line) == []
    assert check_environment("Pendulum-v1") == []
    assert check_environment(lines(AutoresetMode.NEXT_STEP)) == []
    assert check_environment(AsGymnasium(PuddleWorld())) == []


@pytest.mark.parametrize(
    ("kind", "finding"),
    [
        (hostile.WritesIntoItsAction, r"writes into its action; copy it first"),
        (hostile.BadReward, r"reward is nan at step 1; mend the reward"),
        (hostile.BadObservation, r"observation is \[\d+.0, inf\]; mend that"),
        (hostile.Raises, r"step\(\) raised ZeroDivisionError"),
        (hostile.RaisesInReset, r"reset\(\) raised OSError"),
        (hostile.WrongShape, r"observation has shape \(3,\).*; give an array of shape \(2,\) and float32"),
        (hostile.WrongDtype, r"observation is float64, its space float32; give observation.astype\(np.float32\)"),
        (hostile.NotNumbers, r"not an array of numbers; give an array"),
        (hostile.Outside, r"outside its space; widen the bounds"),
        (hostile.OldApi, r"step\(\) gave 4 values.*; give \(observation, reward, terminated, truncated, info\)"),
        (hostile.ResetWithoutInfo, r"reset\(\) gave ndarray, where .*; write `def reset"),
        (hostile.ResetWithoutSeed, r"reset\(\) raised TypeError.*; write `def reset\(self, \*, seed=None"),
        (hostile.UnseededNoise, r"two plays under seed 0 with the same actions part at the reset; draw all"),
        (hostile.ArrayReward, r"reward has shape \(1,\); give float\(reward\)"),
        (hostile.ResetsItself, r"goes on without a reset; if step\(\) resets by itself"),
    ],
)
def test_each_fault_is_found_with_its_mending(kind: type[hostile.Line], finding: str) -> None:
    for given in (kind, kind()):
        findings = check_environment(given)
        assert len(findings) == 1, findings
        assert re.search(finding, findings[0]), findings


def test_other_findings() -> None:
    assert "supported are Box" in check_environment(with_spaces(Dict(a=Box(0, 1))))[0]
    env = lines(AutoresetMode.SAME_STEP)
    del env.metadata["autoreset_mode"]
    assert "set it to the gymnasium.vector.AutoresetMode" in check_environment(env)[0]
    wrapped = gymnasium.wrappers.Autoreset(hostile.Line(100))
    assert check_environment(wrapped) == ["it is wrapped in Autoreset; leave that out: episodes are reset here"]
    noisy = SyncVectorEnv([hostile.UnseededNoise])
    assert "part at the reset" in check_environment(noisy)[0]


# By name


def test_make_from_an_id() -> None:
    host = make_host_env("Pendulum-v1", num_envs=2, seed=1)
    assert (host.name, host.num_envs, host.spaces.action.high.tolist()) == ("Pendulum-v1", 2, [2.0])
    observation = host.reset()
    theirs = gymnasium.make("Pendulum-v1")
    assert observation[0].tolist() == theirs.reset(seed=1)[0].tolist()
    for action in (-1.0, 0.5):
        step = host.step(np.full((2, 1), action))
        expected, reward, *_ = theirs.step(np.array([2 * action], dtype=np.float32))
        assert step.next_observation[0].tolist() == expected.tolist()
        assert step.reward[0] == np.float32(reward)
    for _ in range(198):
        step = host.step(np.zeros((2, 1)))
    assert step.truncated.all()
    assert not step.terminated.any()
    host.close()


def test_an_unknown_id_gets_near_ones() -> None:
    with pytest.raises(ValueError, match=r"Gymnasium cannot make 'Pendulun-v1' .*close to it are 'Pendulum-v1'"):
        make_host_env("Pendulun-v1")
    with pytest.raises(ValueError, match=r"close to it are .*'cartpole-swingup-sparse'"):
        make_host_env("cartpole-swingup-sparce")
    with pytest.raises(ValueError, match="pprint_registry"):
        make_host_env("no such thing at all")
    with pytest.raises(ValueError, match="Gymnasium cannot make 'no_such_module:X-v0'"):
        make_host_env("no_such_module:X-v0")


def test_findings_are_warned_of_at_the_start_unless_not_asked_for() -> None:
    with pytest.warns(EnvironmentWarning, match=r"(?s)UnseededNoise does not do all.*\n- two plays"):
        make_host_env(hostile.UnseededNoise())
    make_host_env(hostile.UnseededNoise(), check=False)


def test_gymnasium_missing_is_said_with_its_extra() -> None:
    code = """
import sys
sys.modules["gymnasium"] = None
from importlib.abc import MetaPathFinder
class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "gymnasium":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
del sys.modules["gymnasium"]
sys.meta_path.insert(0, Missing())
try:
    import bayesbellman.compat.gymnasium
except ModuleNotFoundError as error:
    print(error.name, error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("gymnasium Gymnasium environments need gymnasium"), done.stderr
    assert "pip install 'bayesbellman[gym]'" in done.stdout


# Back to where one was


@pytest.mark.parametrize("name", ["Pendulum-v1", "CartPole-v1"])
def test_a_snapshot_leads_back(name: str) -> None:
    def play(host: HostEnv, steps: int, rng: np.random.Generator) -> list[HostStep]:
        if isinstance(host.spaces.action, OurDiscrete):
            return [host.step(rng.integers(2, size=2)) for _ in range(steps)]
        return [host.step(rng.uniform(-1, 1, (2, 1))) for _ in range(steps)]

    host, rng = make_host_env(name, 2, seed=2), np.random.default_rng(0)
    host.reset()
    play(host, 330, rng)
    kept = host.snapshot()
    assert kept is not None
    assert all(array.dtype != object for array in kept.values())
    state = rng.bit_generator.state
    expected = play(host, 250, rng)
    rng.bit_generator.state = state
    other = make_host_env(name, 2, seed=77)
    assert np.array_equal(other.restore(kept), kept["observation"])
    assert other.steps == 330
    for one, two in zip(expected, play(other, 250, rng), strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


def test_a_snapshot_that_leads_elsewhere_is_refused() -> None:
    host = HostEnv(hostile.UnseededNoise(9))
    host.reset()
    host.step(STILL)
    kept = host.snapshot()
    assert kept is not None
    with pytest.raises(EnvironmentFailed, match="lead elsewhere than before"):
        host.restore(kept)
    with pytest.raises(ValueError, match="the snapshot is of 1 environments, these are 2"):
        HostEnv(hostile.Line, 2).restore(kept)
    vector = HostEnv(lines(AutoresetMode.NEXT_STEP))
    assert vector.snapshot() is None
    with pytest.raises(TypeError, match="a vector environment cannot be restored"):
        vector.restore(kept)


# Our environments in Gymnasium


def test_ours_as_gymnasium_s_play_the_same_steps() -> None:
    ours = HostEnv(AsGymnasium(MountainCar(time_limit=20)), seed=0)
    observation = ours.reset()
    car = MountainCar()
    for number in range(45):
        action = np.array([[np.sin(number)]], dtype=np.float32)
        step = ours.step(action)
        expected = car.step(jax.random.key(0), car.at(*jax.numpy.asarray(observation[0])), jax.numpy.asarray(action[0]))
        np.testing.assert_allclose(step.next_observation[0], car.observe(expected.state), rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(step.reward[0], expected.reward, rtol=1e-6)
        assert bool(step.truncated[0]) == (number % 20 == 19)
        observation = step.observation


def test_ours_repeat_under_a_seed_and_have_noise_of_their_own_in_each_step() -> None:
    env = AsGymnasium(PuddleWorld(noise=0.1))
    assert env.action_space == Discrete(4)

    def played(seed: int) -> np.ndarray:
        return np.array([env.reset(seed=seed)[0], *(env.step(0)[0] for _ in range(5))])

    assert np.array_equal(played(1), played(1))
    assert not np.array_equal(played(1), played(2))
    assert len(np.unique(np.diff(played(1)[:, 0]))) > 3
    assert not np.array_equal(env.reset()[0], env.reset()[0])


def test_ours_must_be_reset_first() -> None:
    with pytest.raises(gymnasium.error.ResetNeeded):
        AsGymnasium(CartPole()).step(np.zeros(1))
