"""A strict session: shapes checked at run time, no silent dtype promotion, warnings are errors (see pyproject.toml)."""

from collections.abc import Iterator
from pathlib import Path

import jax
import numpy as np
import pytest
from jaxtyping import install_import_hook

install_import_hook("bayesbellman", "beartype.beartype")  # before any test imports the package
jax.config.update("jax_numpy_dtype_promotion", "strict")

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
