"""A long look at environments: each break of the interface is found, with its fix; good ones are described (F10)."""

import re
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, MultiDiscrete
from tests.compat import hostile

from bayesbellman.cli.train import AGENTS as CALLED
from bayesbellman.compat.gymnasium.doctor import AGENTS, Diagnosis, examine
from bayesbellman.compat.gymnasium.naming import named
from bayesbellman.doors import agents
from bayesbellman.envs.spaces import Box as OurBox
from bayesbellman.envs.spaces import Discrete as OurDiscrete


def diagnosed(make: Any, **settings: Any) -> Diagnosis:
    return examine(make, **{"trial": 9, "steps": 30, "timeout": 5.0, **settings})


@pytest.mark.parametrize(
    ("kind", "severity", "finding", "fix"),
    [
        (hostile.WrongShape, "error", r"observation has shape \(3,\)", r"give an array of shape \(2,\)"),
        (hostile.WrongDtype, "warning", "observation is float64, its space float32", "astype"),
        (hostile.NotNumbers, "error", "not an array of numbers", "give an array"),
        (hostile.Outside, "warning", "outside its space", "widen the bounds"),
        (hostile.WritesIntoItsAction, "warning", "writes into its action", "copy it first"),
        (hostile.ResetsItself, "error", "after the end of an episode .* goes on without a reset", "take that out"),
        (hostile.BeginsByItself, "warning", r"a step before the first reset\(\) is answered", "OrderEnforcing"),
        (hostile.UnseededNoise, "warning", "two plays under seed 0 .*part at the reset", "self.np_random"),
        (hostile.UnseededLater, "warning", "two plays under seed 0 .*part at step 0", "self.np_random"),
        (hostile.BadReward, "error", "reward is nan at step 1", "bad_values='drop' or 'clip'"),
        (hostile.BadObservation, "error", "observation is .*inf", "bad_values"),
        (hostile.OldApi, "error", r"step\(\) gave 4 values", "give .observation, reward, terminated"),
        (hostile.ResetWithoutSeed, "error", r"reset\(\) raised TypeError", "def reset"),
        (hostile.Raises, "error", r"step\(\) raised ZeroDivisionError", "new arrays"),
        (hostile.NeverEnds, "warning", "no episode ended within 30 random steps", "TimeLimit"),
        (hostile.CannotBeMade, "error", "making it raised TypeError", "--arguments"),
    ],
)
def test_each_break_is_found_first_with_its_fix(kind: Any, severity: str, finding: str, fix: str) -> None:
    found = diagnosed(kind)
    assert not found.healthy
    first = found.findings[0]
    assert first.severity == severity, found.findings
    assert re.search(finding, first.what), first
    assert re.search(fix, first.fix), first


def test_one_that_hangs_is_a_finding() -> None:
    found = diagnosed(hostile.Hangs, timeout=0.3)
    assert "no answer within 0.3 s; env_timeout of an agent would end such a step" in str(found.findings[0])


def test_one_that_dies_or_hangs_for_good_is_a_finding_and_does_not_take_us_with_it() -> None:
    found = diagnosed(hostile.Dies, apart=True)
    assert "its process died (by SIGKILL)" in str(found.findings[0])
    assert "on_env_error='restart'" in found.findings[0].fix
    assert "gave no answer within 0.5 s" in str(diagnosed(hostile.Hangs, apart=True, timeout=0.5).findings[0])
    assert "ZeroDivisionError" in str(diagnosed(hostile.Raises, apart=True).findings[0])


def test_the_worst_comes_first() -> None:
    class Both(hostile.BadReward, hostile.WritesIntoItsAction):
        pass

    severities = [finding.severity for finding in diagnosed(Both).findings]
    assert severities[0] == "error"
    assert severities == sorted(severities, key=("error", "warning", "note").index)
    assert "warning" in severities


@pytest.mark.parametrize(
    ("spaces", "words"),
    [
        ({"observation_space": Dict(a=Box(0, 1))}, "FlattenObservation"),
        ({"action_space": MultiDiscrete([2, 2])}, "TransformAction"),
        ({"action_space": Box(-np.inf, np.inf, (2,))}, "TransformAction"),
    ],
)
def test_unsupported_spaces_come_with_the_wrapper_to_use(spaces: dict, words: str) -> None:
    def make() -> gymnasium.Env:
        env = hostile.Line()
        for name, space in spaces.items():
            setattr(env, name, space)
        return env

    found = diagnosed(make)
    (first, *_) = found.findings
    assert "agents" not in found.facts  # as none can use it
    assert first.severity == "error"
    assert re.search(words, str(first))


def test_a_good_one_is_described() -> None:
    found = diagnosed(named("Pendulum-v1", {}), steps=410)
    assert found.healthy
    assert found.findings == []
    assert found.facts["time limit"] == "200 steps"
    assert found.facts["state"].startswith("can be copied")
    assert found.facts["resuming"].startswith("bit-exact")
    assert re.match(r"[\d,]+ steps/s", found.facts["step rate"])
    assert found.facts["random episodes"].startswith("2, of 200 steps; returns -")


def test_the_prior_scale_is_of_the_size_of_discounted_returns() -> None:
    """Three steps with the reward -1, discounted by a half, make -1.75; 2 is the nearest round number, by its ratio."""
    find = partial(diagnosed, discount=0.5)

    class Ones(hostile.Line):
        def step(self, action: Any) -> Any:
            observation, _, *rest = super().step(action)
            return (observation, -1.0, *rest)

    words = find(Ones).facts["prior_scale"]
    assert words.startswith("about 2, the largest discounted return, without its sign, of 10 random episodes")

    class Nothing(hostile.Line):
        def step(self, action: Any) -> Any:
            observation, _, *rest = super().step(action)
            return (observation, 0.0, *rest)

    assert find(Nothing).facts["prior_scale"].startswith("no suggestion: random actions met no reward")
    assert find(hostile.NeverEnds).facts["prior_scale"].startswith("no suggestion: no random episode ended")


def test_whether_a_state_can_be_copied_and_found_again() -> None:
    assert diagnosed(hostile.CannotBeCopied).facts["state"].startswith("cannot be copied (TypeError")
    assert diagnosed(hostile.CannotBeCopied).facts["resuming"].startswith("bit-exact")
    found = diagnosed(hostile.SharesItsState)
    assert found.facts["state"] == "a copy of it goes elsewhere, after 1 steps"
    assert found.facts["resuming"] == "not bit-exact"
    later = diagnosed(hostile.UnseededLater)
    assert later.facts["resuming"] == "not bit-exact"
    assert any("a resumed run is not bit-exact" in finding.what for finding in later.findings)


def test_ours_are_examined_too() -> None:
    found = diagnosed(named("cartpole-swingup-sparse", {}), steps=30)
    assert found.findings == []
    assert found.facts["time limit"] == "1,000 steps"
    assert re.match(r"[\d,]+ steps/s", found.facts["compiled"])
    assert found.facts["state"].startswith("can be copied")
    assert found.facts["agents"].startswith("bbac, ")
    with pytest.raises(ValueError, match="is ours, and made without any"):
        named("cartpole-swingup-sparse", {"a": 1})


def test_discrete_actions_have_agents_too() -> None:
    found = diagnosed(named("deep-sea-4", {}), steps=12)
    assert found.findings == []
    assert found.facts["agents"].startswith("boot-dqn, ")
    assert found.facts["time limit"] == "none: its episodes end by themselves"
    assert "compiled" in found.facts
    kinds = {gymnasium.spaces.Box: OurBox, gymnasium.spaces.Discrete: OurDiscrete}
    for space, words in AGENTS.items():
        assert words.split(", ") == [n for n, k in CALLED.items() if agents.AGENTS[k].actions is kinds[space]]


def test_names_of_the_user_s_own() -> None:
    assert diagnosed(named("tests.compat.hostile:Line", {"truncates": True})).facts["time limit"].startswith("its own")
    for name, message in [
        ("no_such_module:X", "cannot be imported"),
        ("tests.compat.hostile:Nowhere", "has no class or function 'Nowhere'"),
        ("Pendulun-v1", "close to it are 'Pendulum-v1'"),
    ]:
        with pytest.raises(ValueError, match=message):
            named(name, {})
