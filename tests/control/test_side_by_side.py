"""Runs side by side on several devices are those of one device, and ask nothing of each other."""

import os
import subprocess
import sys
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bayesbellman.control.sac import SAC
from bayesbellman.control.side_by_side import lay_out, most_that_fit, size_of
from bayesbellman.control.train import Training
from bayesbellman.envs.probes import ConstantReward
from bayesbellman.runs.trees import named_arrays

RUNS = 5
training = Training(SAC(hidden=(8,), num_critics=1), ConstantReward(), batch_size=16, buffer_size=200, warmup=50)


def trained(devices: int, batched: bool, runs: int = RUNS) -> dict[str, np.ndarray]:
    """All that so many runs carry after some updates, one of which was taken out and put back."""
    layout = lay_out(runs, jax.devices()[:devices], batched=batched)
    keys = jax.vmap(jax.random.key)(jnp.asarray(layout.filled(range(runs))))
    states = layout.each_run(training.init)(layout.place(keys))
    learning = layout.each_state(lambda state, n: training.advance(state, n, True), shared=1)
    compiled = getattr(learning, "lower")(states, jnp.asarray(30, jnp.int32)).compile()  # noqa: B009
    text = compiled.as_text()
    assert not [word for word in ("all-reduce", "all-gather", "all-to-all", "collective") if word in text]
    states, _ = compiled(states, jnp.asarray(80, jnp.int32))
    states = layout.put(states, runs - 1, layout.take(states, 1))
    states, _ = compiled(states, jnp.asarray(3, jnp.int32))
    return {name: array[:runs] for name, array in named_arrays(states).items()}


def check_devices() -> None:
    """In a process with several devices."""
    assert len(jax.devices()) == 4
    one, two, batched = trained(1, False), trained(2, False), trained(4, True)
    fewer = trained(4, False, 3)  # 1 on each of 3, where two has 3 on each of 2
    for name, array in two.items():
        np.testing.assert_array_equal(array[:2], fewer[name][:2], err_msg=name)
        np.testing.assert_array_equal(array[RUNS - 1], array[1], err_msg=name)  # put there
        for other in (one, batched):
            np.testing.assert_allclose(array, other[name], rtol=1e-4, atol=1e-5, err_msg=name)


def test_devices_change_nothing() -> None:
    """To the bit between any numbers of devices and runs where runs take their turns; to rounding, one and several."""
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=4"
    code = "from tests.control.test_side_by_side import check_devices; check_devices()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "XLA_FLAGS": flags, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr


def devices(number: int, **memory: int) -> list:
    return [SimpleNamespace(platform="gpu", memory_stats=lambda: memory) for _ in range(number)]


@pytest.mark.parametrize(
    ("runs", "there", "used", "each"),
    [(64, 4, 4, 16), (64, 5, 5, 13), (5, 4, 3, 2), (7, 4, 4, 2), (2, 4, 2, 1), (3, 1, 1, 3)],
)
def test_no_device_is_idle_that_could_help(runs: int, there: int, used: int, each: int) -> None:
    layout = lay_out(runs, devices(there))
    assert (len(layout.devices), layout.each) == (used, each)
    assert layout.rows - runs < each
    assert layout.filled(list(range(runs)))[runs:] == [runs - 1] * (layout.rows - runs)
    assert layout.batched


def test_what_fits_is_what_the_devices_have_room_for() -> None:
    size = size_of(training)
    assert size.replay == 200 * 4 * 6 + 4  # observation and action of one number, 4 more, and how many there are
    assert most_that_fit(size, devices(2, bytes_limit=10 * size.whole, bytes_in_use=0)) == 2 * 9
    assert most_that_fit(size, devices(2, bytes_limit=10 * size.whole, bytes_in_use=5 * size.whole)) == 2 * 4
    assert most_that_fit(size, devices(2)) is None


def test_nothing_to_lay_out() -> None:
    with pytest.raises(ValueError, match="number is 0"):
        lay_out(0, devices(1))
    with pytest.raises(ValueError, match="0 devices"):
        lay_out(1, [])
