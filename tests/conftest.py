"""A strict session: shapes checked at run time, no silent dtype promotion, warnings are errors (see pyproject.toml)."""

import os
from collections.abc import Iterator
from pathlib import Path

import jax
import numpy as np
import pytest
from jaxtyping import install_import_hook

# Before any test imports the package. `doors.linear` is left out: it takes what users pass and checks it itself.
ROOMS = ("core", "nn", "posterior", "envs", "data", "evaluation", "control", "doors.linear_fit", "doors.transitions")
install_import_hook([f"bayesbellman.{room}" for room in (*ROOMS, "compat", "experiments")], "beartype.beartype")
jax.config.update("jax_numpy_dtype_promotion", "strict")
# Compiling is most of a test's time, and what is compiled runs for a moment. So less is optimised, which saves about a
# third of that time; and what one worker, a process that a test has started, or the last run has compiled is not
# compiled again. The environment tells XLA and the processes. Level 0 is no choice: compiled with it, the gradient of
# `jnp.min` over critics is nan (jax 0.10.2, CPU).
FASTER = "--xla_backend_optimization_level=1 --xla_cpu_use_fusion_emitters=false"
os.environ["XLA_FLAGS"] = f"{FASTER} {os.environ.get('XLA_FLAGS', '')}"
CACHE = {
    "jax_compilation_cache_dir": str(Path(__file__).parents[1] / ".pytest_cache" / "jax"),
    "jax_persistent_cache_min_compile_time_secs": 0.0,
    "jax_persistent_cache_min_entry_size_bytes": -1,
}
for name, value in CACHE.items():
    jax.config.update(name, value)
    os.environ[name.upper()] = str(value)
# As pyproject.toml has it for the tests' own process.
os.environ["PYTHONWARNINGS"] = ",".join(
    f"ignore:Error {doing} persistent compilation cache entry:UserWarning" for doing in ("reading", "writing")
)

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture
def x64() -> Iterator[None]:
    """JAX in double precision for one test."""
    with jax.enable_x64(True):
        yield


@pytest.fixture(params=["boyan", "lqr_full_offpolicy"])
def golden(request: pytest.FixtureRequest) -> dict[str, np.ndarray]:
    """Transitions and reference weights of one linear task."""
    with np.load(GOLDEN / f"{request.param}.npz", allow_pickle=False) as file:
        return dict(file)
