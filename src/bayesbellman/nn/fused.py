"""Networks with two hidden layers of rectifiers on a GPU by NVIDIA, in three kernels.

Written as products and sums, such a network spends its time on moving activations through memory. Here a program of
the GPU takes some rows of a batch through all layers: the first hidden layer is worked out from the few inputs where it
is needed, the second stays in registers. Products of hidden layers take operands in bfloat16 and sum in float32;
parameters, their gradients and all else are float32.

Gradients are of first order, in reverse mode.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_derivatives import CustomVJPPrimal, SymbolicZero
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton
from jaxtyping import Array, Float

ROWS = 64
"""Rows of a batch that one program takes"""
SLICE = 64
"""Units of a hidden layer that it takes at a time"""
HALVES = 2
"""Parts of the first hidden layer that share the work on parameters' gradients"""
MOST_INPUTS = 32
"""With more, a first layer is a product of its own."""
WIDTHS = (128, 256)
WARPS, STAGES = 4, 3
"""Of each program: warps, and slices that are loaded ahead (benchmarks/NOTES.md)"""


class Layers(NamedTuple):
    """The parameters: an affine map to each hidden layer and one to the outputs; a row of a kernel for each unit."""

    first: Float[Array, "h1 d"]
    first_bias: Float[Array, " h1"]
    second: Float[Array, "h2 h1"]
    second_bias: Float[Array, " h2"]
    last: Float[Array, "out h2"]
    last_bias: Float[Array, " out"]


Inputs = tuple[Float[Array, "rows _"], ...]
"""In parts, side by side"""


def fits(layers: Layers, rows: int) -> bool:
    """Whether the kernels can take a network of these sizes, and so many rows."""
    return (
        set(layers.second.shape) <= set(WIDTHS)
        and max(layers.first.shape[1], layers.last.shape[0]) <= MOST_INPUTS
        and rows > 0
        and rows % ROWS == 0
        and layers.second.dtype == jnp.float32
    )


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def two_hidden(nets: tuple[Layers, ...], inputs: Inputs, interpret: bool = False) -> Float[Array, "nets rows out"]:
    """The outputs of each network, all of the same sizes, for each row.

    ``interpret``: step by step on any device, for tests.
    """
    return _forward(nets, inputs, False, interpret)[0]


def _two_hidden_forward(nets: tuple, inputs: tuple, interpret: bool) -> tuple:
    wanted = jax.tree.map(lambda x: x.perturbed, (nets, inputs), is_leaf=_is_primal)
    nets, inputs = jax.tree.map(lambda x: x.value, (nets, inputs), is_leaf=_is_primal)
    learning = any(jax.tree.leaves(wanted[0]))
    outputs, *units = _forward(nets, inputs, learning, interpret)
    marks = jax.tree.map(lambda asked: () if asked else None, wanted[1])
    return outputs, (nets, inputs, units, marks)


def _is_primal(x: Any) -> bool:
    return isinstance(x, CustomVJPPrimal)


def _two_hidden_backward(interpret: bool, kept: tuple, slopes: Float[Array, "nets rows out"]) -> tuple:
    """What is not asked for is not computed: XLA leaves out a kernel whose results nobody uses."""
    nets, inputs, units, marks = kept
    if isinstance(slopes, SymbolicZero):
        slopes = jnp.zeros(slopes.shape, slopes.dtype)
    of_nets = jax.tree.map(lambda _: None, nets)
    if units:
        of_nets = tuple(
            _parameter_gradient(net, inputs, units[0][n], units[1][n], slopes[n], interpret)
            for n, net in enumerate(nets)
        )
    return of_nets, _input_gradient(nets, inputs, [mark is not None for mark in marks], slopes, interpret)


two_hidden.defvjp(_two_hidden_forward, _two_hidden_backward, symbolic_zeros=True)


def _forward(nets: tuple[Layers, ...], inputs: Inputs, keep: bool, interpret: bool) -> tuple[Array, ...]:
    """The outputs and, if they are to be kept, the units of both hidden layers."""
    rows, (h2, h1), out = inputs[0].shape[0], nets[0].second.shape, nets[0].last.shape[0]

    def kernel(*refs: Any) -> None:
        parts, refs = refs[: len(inputs)], refs[len(inputs) :]
        results = refs[6 * len(nets) :]

        def of(net: Layers) -> None:
            hidden = _second_hidden(_columns(parts), net, results[1] if keep else None)
            for k in range(out):
                results[0][:, k] = jnp.sum(hidden * net.last[k, :][None, :], axis=1) + net.last_bias[k]
            if keep:
                results[2][...] = hidden.astype(jnp.bfloat16)

        _in_turn(refs, len(nets), of)

    sizes = [(out, jnp.float32), (h1, jnp.bfloat16), (h2, jnp.bfloat16)][: 3 if keep else 1]
    found = _call(
        kernel,
        (rows // ROWS, len(nets)),
        [*map(_rows, inputs), *(_whole(layer) for net in nets for layer in net)],
        [pl.BlockSpec((None, ROWS, size), lambda i, n: (n, i, 0)) for size, _ in sizes],
        [jax.ShapeDtypeStruct((len(nets), rows, size), dtype) for size, dtype in sizes],
        "forward",
        interpret,
    )(*inputs, *_for_products(nets))
    return tuple(found)


def _input_gradient(
    nets: tuple[Layers, ...], inputs: Inputs, wanted: list[bool], slopes: Float[Array, "nets rows out"], interpret: bool
) -> tuple[Float[Array, "rows _"] | None, ...]:
    """Of the parts that it is wanted for. Hidden layers are worked out again: nothing of the forward pass is needed."""
    rows, width = inputs[0].shape[0], nets[0].second.shape[1]
    moving = [part for part, asked in zip(inputs, wanted, strict=True) if asked]
    if not moving:
        return (None,) * len(inputs)
    asked_for = [asked for part, asked in zip(inputs, wanted, strict=True) for _ in range(part.shape[1])]
    places = [place for place, asked in enumerate(asked_for) if asked]

    def kernel(*refs: Any) -> None:
        parts, slopes, refs = refs[: len(inputs)], refs[len(inputs)], refs[len(inputs) + 1 :]
        results = refs[6 * len(nets) :]

        def of(net: Layers) -> None:
            columns = _columns(parts)
            back = _back_to_second(_columns((slopes,)), net, slice(None), _second_hidden(columns, net))

            def add(k: Any, totals: tuple) -> tuple:
                at = pl.ds(k * SLICE, SLICE)
                slope = _product(back, net.second[:, at], 1, 0)
                slope = jnp.where(_first_hidden(columns, net, at) > 0, slope, 0.0)
                along = [jnp.sum(slope * net.first[at, place][None, :], axis=1) for place in places]
                return tuple(total + one for total, one in zip(totals, along, strict=True))

            totals = lax.fori_loop(0, width // SLICE, add, tuple(jnp.zeros(ROWS, jnp.float32) for _ in places))
            columns = [(result, k) for result in results for k in range(result.shape[-1])]
            for (result, k), total in zip(columns, totals, strict=True):
                result[:, k] = total

        _in_turn(refs, len(nets), of)

    found = _call(
        kernel,
        (rows // ROWS, len(nets)),
        [
            *map(_rows, inputs),
            pl.BlockSpec((None, ROWS, slopes.shape[2]), lambda i, n: (n, i, 0)),
            *(_whole(layer) for net in nets for layer in net),
        ],
        [pl.BlockSpec((None, ROWS, part.shape[1]), lambda i, n: (n, i, 0)) for part in moving],
        [jax.ShapeDtypeStruct((len(nets), *part.shape), jnp.float32) for part in moving],
        "inputs",
        interpret,
    )(*inputs, slopes, *_for_products(nets))
    summed = iter(jnp.sum(part, axis=0) for part in found)
    return tuple(next(summed) if asked else None for asked in wanted)


def _parameter_gradient(
    net: Layers,
    inputs: Inputs,
    first_units: Float[Array, "rows h1"],
    second_units: Float[Array, "rows h2"],
    slopes: Float[Array, "rows out"],
    interpret: bool,
) -> Layers:
    """The kernel sums over its rows; of the second layer's gradient it makes a factor, and a product does the rest."""
    rows, (h2, h1), out = inputs[0].shape[0], net.second.shape, net.last.shape[0]
    num_inputs, blocks, half = net.first.shape[1], rows // ROWS, h1 // HALVES

    def kernel(*refs: Any) -> None:
        parts, (g, units, hidden), refs = refs[: len(inputs)], refs[len(inputs) :][:3], refs[len(inputs) + 3 :]
        net, (backs, to_first, to_second, to_last) = Layers(*refs[:6]), refs[6:]
        mine = pl.program_id(1)
        columns, slopes = _columns(parts), _columns((g,))

        def add(k: Any, total: Array) -> Array:
            at = pl.ds(k * SLICE, SLICE)
            seen = hidden[:, at]
            back = _back_to_second(slopes, net, at, seen)

            @pl.when(lax.rem(k, HALVES) == mine)
            def _() -> None:
                backs[:, at] = back
                to_second[at] = jnp.sum(back.astype(jnp.float32), axis=0)
                for c, slope in enumerate(slopes):
                    to_last[c, at] = jnp.sum(seen.astype(jnp.float32) * slope[:, None], axis=0)

            return total + _product(back, net.second[at, :], 1, 0)

        slope = lax.fori_loop(0, h2 // SLICE, add, jnp.zeros((ROWS, half), jnp.float32))
        slope = jnp.where(units[...] > 0, slope, 0.0)
        for c, column in enumerate(columns):
            to_first[c, :] = jnp.sum(slope * column[:, None], axis=0)
        to_first[num_inputs, :] = jnp.sum(slope, axis=0)

    of_half = [
        pl.BlockSpec((half, num_inputs), lambda i, j: (j, 0)),
        pl.BlockSpec((half,), lambda i, j: (j,)),
        pl.BlockSpec((h2, half), lambda i, j: (0, j)),
    ]
    backs, to_first, to_second, to_last = _call(
        kernel,
        (blocks, HALVES),
        [
            *map(_rows, inputs),
            _rows(slopes),
            pl.BlockSpec((ROWS, half), lambda i, j: (i, j)),
            _rows(second_units),
            *of_half,
            *map(_whole, net[3:]),
        ],
        [
            _rows(second_units),
            pl.BlockSpec((None, num_inputs + 1, half), lambda i, j: (i, 0, j)),
            pl.BlockSpec((None, h2), lambda i, j: (i, 0)),
            pl.BlockSpec((None, out, h2), lambda i, j: (i, 0, 0)),
        ],
        [
            jax.ShapeDtypeStruct((rows, h2), jnp.bfloat16),
            jax.ShapeDtypeStruct((blocks, num_inputs + 1, h1), jnp.float32),
            jax.ShapeDtypeStruct((blocks, h2), jnp.float32),
            jax.ShapeDtypeStruct((blocks, out, h2), jnp.float32),
        ],
        "parameters",
        interpret,
    )(*inputs, slopes, first_units, second_units, *_for_products((net,)))
    to_first = jnp.sum(to_first, axis=0)
    return Layers(
        to_first[:num_inputs].T,
        to_first[num_inputs],
        _product(backs, first_units, 0, 0),
        jnp.sum(to_second, axis=0),
        jnp.sum(to_last, axis=0),
        jnp.sum(slopes, axis=0),
    )


def _second_hidden(columns: list, net: Layers, kept: Any = None) -> Float[Array, "rows h2"]:
    def add(k: Any, total: Array) -> Array:
        at = pl.ds(k * SLICE, SLICE)
        units = _first_hidden(columns, net, at).astype(jnp.bfloat16)
        if kept is not None:
            kept[:, at] = units
        return total + _product(units, net.second[:, at], 1, 1)

    h2, h1 = net.second.shape
    total = lax.fori_loop(0, h1 // SLICE, add, jnp.zeros((ROWS, h2), jnp.float32))
    return jnp.maximum(total + net.second_bias[...][None, :], 0.0)


def _first_hidden(columns: list, net: Layers, at: Any) -> Float[Array, "rows slice"]:
    """Units ``at`` of the first hidden layer."""
    total = net.first_bias[at][None, :]
    for k, column in enumerate(columns):
        total = total + column[:, None] * net.first[at, k][None, :]
    return jnp.maximum(total, 0.0)


def _back_to_second(slopes: list, net: Layers, at: Any, units: Array) -> Float[Array, "rows slice"]:
    """Gradients at units of the second hidden layer, before their rectifiers, given those at the outputs."""
    back = slopes[0][:, None] * net.last[0, at][None, :]
    for k, slope in enumerate(slopes[1:], 1):
        back = back + slope[:, None] * net.last[k, at][None, :]
    return jnp.where(units > 0, back, 0.0).astype(jnp.bfloat16)


def _columns(refs: tuple) -> list:
    return [ref[:, k] for ref in refs for k in range(ref.shape[-1])]


def _product(a: Array, b: Array, of_a: int, of_b: int) -> Array:
    """Summed over an axis of each, in float32."""
    return lax.dot_general(a, b, (((of_a,), (of_b,)), ((), ())), preferred_element_type=jnp.float32)


def _in_turn(refs: tuple, number: int, of: Any) -> None:
    """What the second axis of the grid tells: which network this program is for."""
    for n in range(number):
        pl.when(pl.program_id(1) == n)(partial(of, Layers(*refs[6 * n :][:6])))


def _for_products(nets: tuple[Layers, ...]) -> list[Array]:
    return [layer for net in nets for layer in net._replace(second=net.second.astype(jnp.bfloat16))]


def _whole(x: Array) -> pl.BlockSpec:
    return pl.BlockSpec(x.shape, lambda i, n, rank=x.ndim: (0,) * rank)


def _rows(x: Any) -> pl.BlockSpec:
    return pl.BlockSpec((ROWS, x.shape[1]), lambda i, n: (i, 0))


def _call(
    kernel: Any, grid: tuple[int, int], in_specs: list, out_specs: list, shapes: list, name: str, interpret: bool
) -> Any:
    return pl.pallas_call(
        kernel,
        grid=grid,
        in_specs=in_specs,
        out_specs=out_specs,
        out_shape=shapes,
        compiler_params=triton.CompilerParams(num_warps=WARPS, num_stages=STAGES),
        interpret=interpret,
        name=f"two_hidden_{name}",
    )
