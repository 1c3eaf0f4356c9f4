"""A strict session: shapes checked at run time, no silent dtype promotion, warnings are errors (see pyproject.toml)."""

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
# Compiling is most of a test's time; programs compiled by one worker, or by the last run, need not be compiled again.
jax.config.update("jax_compilation_cache_dir", str(Path(__file__).parents[1] / ".pytest_cache" / "jax"))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)

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
