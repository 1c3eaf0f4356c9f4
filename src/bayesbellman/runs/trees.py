"""Trees of arrays as plain arrays by name, and back: what is saved is data, and nothing loaded is executed."""

from collections.abc import Mapping
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np

Tree = TypeVar("Tree")
KEY = "key:"
"""Before the name of an array that holds random keys"""


class Mismatch(ValueError):
    """The arrays are not those of this tree."""


def named_arrays(tree: object) -> dict[str, np.ndarray]:
    """Every leaf under its path; random keys as the numbers behind them."""
    arrays = {}
    for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]:
        name = jax.tree_util.keystr(path).lstrip(".")
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            arrays[KEY + name] = np.asarray(jax.random.key_data(leaf))
        else:
            arrays[name] = np.asarray(leaf)
    return arrays


def tree_like(example: Tree, arrays: Mapping[str, np.ndarray]) -> Tree:
    """A tree of the example's structure with these arrays; all names, shapes and types must be its own."""
    wanted = named_arrays(example)
    faults = [f"{name} is missing" for name in wanted if name not in arrays]
    faults += [f"{name} is not known" for name in arrays if name not in wanted]
    for name, array in wanted.items():
        found = arrays.get(name)
        if found is not None and (found.shape, found.dtype) != (array.shape, array.dtype):
            faults.append(f"{name} is {found.dtype}{list(found.shape)}, not {array.dtype}{list(array.shape)}")
    if faults:
        rest = f" and {len(faults) - 5} more" if len(faults) > 5 else ""
        raise Mismatch("; ".join(faults[:5]) + rest)
    leaves = []
    for path, leaf in jax.tree_util.tree_flatten_with_path(example)[0]:
        name = jax.tree_util.keystr(path).lstrip(".")
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            leaves.append(jax.random.wrap_key_data(jnp.asarray(arrays[KEY + name])))
        else:
            leaves.append(jnp.asarray(arrays[name]))
    return jax.tree.unflatten(jax.tree.structure(example), leaves)
