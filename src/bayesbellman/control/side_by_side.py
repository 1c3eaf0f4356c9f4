"""Runs side by side: the devices they lie on, and functions of one run compiled for all of them.

The run axis is the only one that is sharded, and no run asks anything of another: nothing passes between devices.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding
from jaxtyping import Array, Int, PyTree

from bayesbellman.control.train import Training
from bayesbellman.core.devices import loop_options

AXIS = "runs"
ROOM = 0.9
"""Share of a device's free memory that runs may take by our count; the rest is for what a step needs in passing"""
Device = Any
"""One of JAX's; its own name for them is no type to type checkers"""
Item = TypeVar("Item")


@dataclass(frozen=True)
class Layout:
    """``number`` runs on these devices, as many on each; what is missing on the last is filled with copies.

    ``batched``: the runs of a device take each step together, as GPUs want it. Otherwise they take their turns, piece
    by piece, and each is computed as it would be beside any number of others, to the bit.
    """

    number: int
    devices: tuple[Device, ...]
    batched: bool

    @property
    def each(self) -> int:
        """Runs on a device"""
        return -(-self.number // len(self.devices))

    @property
    def rows(self) -> int:
        """Runs on all devices, fillers included"""
        return self.each * len(self.devices)

    def filled(self, items: Sequence[Item]) -> list[Item]:
        """One for each row."""
        return [*items, *[items[-1]] * (self.rows - len(items))]

    def place(self, tree: PyTree) -> PyTree:
        """Arrays with a run in each row, each row brought to its device."""
        return jax.device_put(tree, self._sharding(PartitionSpec(AXIS)))

    def each_run(self, function: Callable[..., Any], *, shared: int = 0) -> Callable[..., Any]:
        """A function of one run, compiled for all: arguments and results have the runs in their rows.

        The last ``shared`` arguments are for all runs the same.
        """

        def here(*arguments: Any) -> Any:
            own, common = _split(arguments, shared)
            if self.batched:
                return jax.vmap(lambda *own: function(*own, *common))(*own)
            return jax.lax.map(lambda own: function(*own, *common), own)

        return jax.jit(self._on_each_device(here, shared))

    def each_state(self, function: Callable[..., Any], *, shared: int = 0) -> Callable[..., Any]:
        """The same for ``function(state, ...) -> (state, seen)``; the states are given up for the new ones.

        Their replays stay where they are: memory is needed for one of each.
        """

        def here(states: PyTree, *arguments: Any) -> Any:
            own, common = _split(arguments, shared)
            if self.batched:
                return jax.vmap(lambda *own: function(*own, *common))(states, *own)

            def one(states: PyTree, at: Int[Array, ""]) -> tuple[PyTree, Any]:
                state, seen = function(_row(states, at), *_row(own, at), *common)
                return _with_row(states, at, state), seen

            return jax.lax.scan(one, states, jnp.arange(self.each))

        return jax.jit(self._on_each_device(here, shared), donate_argnums=0, compiler_options=loop_options())

    def take(self, tree: PyTree, row: int) -> PyTree:
        """One run's arrays, on its device; they are its own."""
        device, at = divmod(row, self.each)
        return _taken(jax.tree.map(lambda x: _on(x, self.devices[device]), tree), at)

    def put(self, tree: PyTree, row: int, part: PyTree) -> PyTree:
        """With another run in this row; the arrays that were given are given up."""
        part = jax.device_put(part, self._sharding(PartitionSpec()))
        return _putting(self)(tree, part, jnp.asarray(row, jnp.int32))

    def _sharding(self, spec: PartitionSpec) -> NamedSharding | SingleDeviceSharding:
        if len(self.devices) == 1:
            return SingleDeviceSharding(self.devices[0])
        return NamedSharding(self._mesh(), spec)

    def _mesh(self) -> Mesh:
        return Mesh(np.array(self.devices), (AXIS,))

    def _on_each_device(self, here: Callable[..., Any], shared: int) -> Callable[..., Any]:
        """``here`` of the rows of a device, for all devices. One device needs nothing of this."""
        if len(self.devices) == 1:
            return here

        def everywhere(*arguments: Any) -> Any:
            own, common = _split(arguments, shared)
            specs = (*[PartitionSpec(AXIS)] * len(own), *[PartitionSpec()] * len(common))
            # unchecked: a loop may begin with a constant, which is the same everywhere, and end with what is not
            spread = jax.shard_map(
                here, mesh=self._mesh(), in_specs=specs, out_specs=PartitionSpec(AXIS), check_vma=False
            )
            return spread(*arguments)

        return everywhere


def lay_out(number: int, devices: Sequence[Device], *, batched: bool | None = None) -> Layout:
    """No more devices than are of use: with 5 runs and 4 devices, 2 runs on each of 3.

    Rows are filled up rather than devices left out, as a number of runs may have no divisor but itself. ``batched``:
    see `Layout`; by default everywhere but on CPUs, which gain nothing from it with networks of a usual size.
    """
    if number < 1 or not devices:
        raise ValueError(f"number is {number} and there are {len(devices)} devices; both must be >= 1")
    each = -(-number // len(devices))
    used = tuple(devices[: -(-number // each)])
    return Layout(number, used, used[0].platform != "cpu" if batched is None else batched)


def devices_like(device: Device) -> list[Device]:
    """All of its kind that this process can reach, itself first."""
    others = [other for other in jax.local_devices(backend=device.platform) if other != device]
    return [device, *others]


class Size(NamedTuple):
    """Bytes of one run."""

    replay: int
    state: int
    """Networks, optimisers, environment; with the copy of the agent that is kept while it learns"""

    @property
    def whole(self) -> int:
        return self.replay + self.state


def size_of(training: Training) -> Size:
    """Counted, not measured: nothing is made."""
    state = jax.eval_shape(training.init, jax.random.key(0))
    replay = _bytes(state.replay)
    return Size(replay, _bytes(state) - replay + _bytes(state.agent))


def most_that_fit(size: Size, devices: Sequence[Device]) -> int | None:
    """How many runs the devices have memory for, as many on each; None where they do not say."""
    found = [device.memory_stats() for device in devices]
    if any(not stats or "bytes_limit" not in stats for stats in found):
        return None
    free = min(stats["bytes_limit"] - stats.get("bytes_in_use", 0) for stats in found if stats)
    return len(devices) * int(ROOM * free // size.whole)


def _bytes(tree: PyTree) -> int:
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree))


def _split(arguments: Sequence[Any], shared: int) -> tuple[tuple, tuple]:
    cut = len(arguments) - shared
    return tuple(arguments[:cut]), tuple(arguments[cut:])


def _row(tree: PyTree, at: int | Int[Array, ""]) -> PyTree:
    return jax.tree.map(lambda x: jax.lax.dynamic_index_in_dim(x, at, keepdims=False), tree)


def _with_row(tree: PyTree, at: Int[Array, ""], part: PyTree) -> PyTree:
    return jax.tree.map(lambda x, y: jax.lax.dynamic_update_index_in_dim(x, y, at, 0), tree, part)


_taken = jax.jit(_row)


def _on(array: Array, device: Device) -> Array:
    """What of it lies there."""
    return next(shard.data for shard in array.addressable_shards if shard.device == device)


@functools.lru_cache(maxsize=4)
def _putting(layout: Layout) -> Callable[..., PyTree]:
    def here(tree: PyTree, part: PyTree, row: Int[Array, ""]) -> PyTree:
        first = layout.each * (jax.lax.axis_index(AXIS) if len(layout.devices) > 1 else 0)
        at = jnp.clip(row - first, 0, layout.each - 1)
        mine = at == row - first
        old = _row(tree, at)
        return _with_row(tree, at, jax.tree.map(lambda x, y: jnp.where(mine, x, y), part, old))

    return jax.jit(layout._on_each_device(here, 2), donate_argnums=0)
