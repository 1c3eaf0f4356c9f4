"""What is told apart: CPUs, GPUs that our kernels are for, and all others."""

from types import SimpleNamespace

import jax
import pytest

from bayesbellman.core import devices


@pytest.mark.parametrize(
    ("platform", "capability", "expected"),
    [("cpu", None, False), ("gpu", "9.0", True), ("gpu", "8.6", True), ("gpu", "7.5", False), ("gpu", "gfx90a", False),
     ("tpu", None, False), ("gpu", "12.0", True)],
)  # fmt: skip
def test_kernels_are_for_recent_gpus_by_nvidia(
    monkeypatch: pytest.MonkeyPatch, platform: str, capability: str | None, expected: bool
) -> None:
    device = SimpleNamespace(platform=platform, **({"compute_capability": capability} if capability else {}))
    monkeypatch.setattr(devices, "default_device", lambda: device)
    assert devices.on_nvidia() is expected
    assert devices.on_cpu() is (platform == "cpu")
    named = "xla_gpu_graph_min_graph_size" if expected else next(iter(devices.PRODUCTS))
    assert (named in (devices.loop_options() or {})) is (expected or platform == "cpu")
    assert (devices.update_options() is not None) is (platform == "cpu")


def test_the_default_device_is_what_was_asked_for() -> None:
    assert devices.default_device() == jax.devices()[0]
    with jax.default_device(jax.devices("cpu")[0]):
        assert devices.on_cpu()
    with jax.default_device("cpu"):
        assert devices.on_cpu()


def test_options_that_xla_does_not_know_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    devices._are_known.cache_clear()
    monkeypatch.setattr(devices, "PRODUCTS", {"xla_cpu_no_such_option": "1"})
    assert devices.loop_options() is None
    devices._are_known.cache_clear()


def test_options_are_ones_that_xla_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A CPU's compiler knows their names and values too, and does nothing with them."""
    monkeypatch.setattr(devices, "on_nvidia", lambda: True)
    assert jax.jit(lambda x: x + 1, compiler_options=devices.loop_options())(1) == 2
