"""Names lead to environments, and back."""

import pytest

from bayesbellman.envs.acrobot import AcrobotSparse
from bayesbellman.envs.cart_pole_balance import CartPoleBalance
from bayesbellman.envs.cart_pole_swing_up import CartPoleSwingUp, bsuite_swing_up
from bayesbellman.envs.cartpole import CartPole
from bayesbellman.envs.deep_sea import DeepSea
from bayesbellman.envs.mountain_car import MountainCar, MountainCarDiscrete
from bayesbellman.envs.pendulum import PendulumSparse
from bayesbellman.envs.probes import DISCRETE_PROBES, PROBES
from bayesbellman.envs.registry import ENVIRONMENTS, is_ours, make_env, name_of


def test_names_lead_to_environments() -> None:
    assert make_env("MountainCarContinuous-v0") == MountainCar()
    assert make_env("MountainCar-v0") == MountainCarDiscrete()
    assert make_env("CartPole-v1") == CartPoleBalance()
    assert make_env("cartpole-swingup-sparse") == CartPole()
    assert make_env("cartpole-swingup-sparse-dm") == CartPole(reward="dm_control")
    assert make_env("pendulum-swingup-sparse") == PendulumSparse()
    assert make_env("acrobot-swingup-sparse") == AcrobotSparse()
    assert make_env("bsuite-cartpole-swingup") == bsuite_swing_up(0)
    for name, probe in PROBES.items():
        assert make_env(f"probe-{name}") == probe
        assert make_env(f"probe-discrete-{name}") == DISCRETE_PROBES[name]


def test_a_number_at_the_end_is_a_size_or_a_setting() -> None:
    for size in (2, 10, 100):
        assert make_env(f"deep-sea-{size}") == DeepSea(size)
        assert make_env(f"deep-sea-stochastic-{size}") == DeepSea(size, stochastic=True)
    assert make_env("bsuite-cartpole-swingup-19") == bsuite_swing_up(19)


@pytest.mark.parametrize(
    ("name", "accepted"),
    [
        ("deep-sea-1", "deep-sea-N is from 2 to 100"),
        ("deep-sea-101", "deep-sea-N is from 2 to 100"),
        ("deep-sea-stochastic-0", "deep-sea-stochastic-N is from 2 to 100"),
        ("bsuite-cartpole-swingup-20", "bsuite-cartpole-swingup-N is from 0 to 19"),
    ],
)
def test_a_number_that_does_not_exist_is_refused_with_those_that_do(name: str, accepted: str) -> None:
    with pytest.raises(ValueError, match=f"^name: {name!r} .*{accepted}$"):
        make_env(name)
    assert is_ours(name)  # or somebody else would be asked for it


@pytest.mark.parametrize("name", ["deep-sea", "deep-sea-", "deep-sea-010", "deep-sea-1.5", "deep-sea--5"])
def test_what_is_no_number_is_no_name(name: str) -> None:
    assert not is_ours(name)
    with pytest.raises(ValueError, match=r"no environment of ours .*Did you mean 'deep-sea-N'\?$"):
        make_env(name)


def test_an_unknown_name_gets_the_list_and_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"called 'cartpole-swingup-spars'; there are MountainCar.*Did you mean"):
        make_env("cartpole-swingup-spars")
    with pytest.raises(ValueError, match=r"deep-sea-stochastic-N, bsuite-cartpole-swingup-N$"):
        make_env("Humanoid")


def test_an_environment_with_its_settings_as_they_are_has_a_name() -> None:
    for name in (*ENVIRONMENTS, "deep-sea-7", "deep-sea-stochastic-30", "bsuite-cartpole-swingup-4"):
        assert name_of(make_env(name)) == name
    assert name_of(DeepSea(7, mapping_seed=3)) is None
    assert name_of(CartPoleSwingUp(move_cost=0.2)) is None
