"""Networks with two hidden layers of rectifiers on a GPU by NVIDIA, in three kernels.

Written as products and sums, such a network spends its time on moving activations through memory. Here a program of
the GPU takes some rows of a batch through all layers: the first hidden layer is worked out from the few inputs where it
is needed, the second stays in registers. Parameters, their gradients and all else are float32, and products sum in
float32; their operands are rounded. In the first layer they keep 16 bits. In values and their gradients for inputs,
hidden layers have operands of 11 bits (float16), as many as a GPU's own float32 products by default (TF32): a critic is
a small difference of two large numbers, what is learnt and the prior, and with 8 bits it can be seen
(benchmarks/NOTES.md). Gradients for parameters have 8 (bfloat16) and so the range of float32: nothing cancels there,
but some are tiny.

Where networks are few, some programs share the hidden units of each, and their results are summed: a GPU has more
programs at a time than a few networks have rows.

Gradients are of first order, in reverse mode.
"""

from collections.abc import Sequence
from functools import partial, reduce
from itertools import chain
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_derivatives import CustomVJPPrimal, SymbolicZero
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton
from jaxtyping import Array, Float

from bayesbellman.nn.factors import first_factors, first_weights, input_factors, product, to_float16

SLICE = 64
"""Units of a hidden layer that it takes at a time"""
HALVES = 2
"""Parts of the first hidden layer, at least, that share the work on parameters' gradients"""
MOST_INPUTS = 32
"""With more, a first layer is a product of its own."""
WIDTHS = (128, 256)
WARPS, STAGES = 4, 3
"""Of each program: warps, and slices that are loaded ahead (benchmarks/NOTES.md)"""

Networks = Literal["many", "few"]


class Layers(NamedTuple):
    """The parameters: an affine map to each hidden layer and one to the outputs; a row of a kernel for each unit."""

    first: Float[Array, "h1 d"]
    first_bias: Float[Array, " h1"]
    second: Float[Array, "h2 h1"]
    second_bias: Float[Array, " h2"]
    last: Float[Array, "out h2"]
    last_bias: Float[Array, " out"]


class Ready(NamedTuple):
    """The same, with factors as the kernels' products take them; the first bias is one of them (`first_factors`)."""

    first: Float[Array, "factors h1"]
    second: Float[Array, "h2 h1"]
    second_bias: Float[Array, " h2"]
    last: Float[Array, "out h2"]
    last_bias: Float[Array, " out"]


Inputs = tuple[Float[Array, "rows _"], ...]
"""In parts, side by side"""


class How(NamedTuple):
    """How the work is cut (benchmarks/NOTES.md)."""

    rows: int
    """Of a batch, that one program takes"""
    shares: int
    """Programs that share the hidden units of a network"""
    interpret: bool = False
    """Step by step on any device, for tests"""


HOW: dict[Networks, How] = {"many": How(rows=64, shares=1), "few": How(rows=64, shares=4)}
"""By how many networks there are: a GPU is to have something to do for all its parts."""


def fits(layers: Layers, rows: int, how: How) -> bool:
    """Whether the kernels can take a network of these sizes, and so many rows."""
    return (
        set(layers.second.shape) <= set(WIDTHS)
        and max(layers.first.shape[1], layers.last.shape[0]) <= MOST_INPUTS
        and rows > 0
        and rows % how.rows == 0
        and layers.second.dtype == jnp.float32
    )


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def two_hidden(nets: tuple[Layers, ...], inputs: Inputs, how: How) -> Float[Array, "nets rows out"]:
    """The outputs of each network, all of the same sizes, for each row."""
    return _forward(nets, inputs, False, how)[0]


def _two_hidden_forward(nets: tuple, inputs: tuple, how: How) -> tuple:
    """With one output whose parameters do not move, what the inputs' gradient needs of a row is one number, which
    comes later: so the gradient is worked out with the output, in one kernel."""
    wanted = jax.tree.map(lambda x: x.perturbed, (nets, inputs), is_leaf=_is_primal)
    nets, inputs = jax.tree.map(lambda x: x.value, (nets, inputs), is_leaf=_is_primal)
    learning = any(jax.tree.leaves(wanted[0]))
    if not learning and nets[0].last.shape[0] == 1:
        outputs, gradients = _with_input_gradient(nets, inputs, wanted[1], None, how)
        return outputs, Kept(gradients=gradients)
    outputs, *units = _forward(nets, inputs, learning, how)
    return outputs, Kept(nets, inputs, tuple(units), jax.tree.map(lambda asked: () if asked else None, wanted[1]))


class Kept(NamedTuple):
    """For the way back: either all that gradients are made of, or the inputs' gradients of one output."""

    nets: tuple[Layers, ...] = ()
    inputs: Inputs = ()
    units: tuple = ()
    """Of both hidden layers, where parameters move"""
    asked: tuple | None = None
    """``()`` for each part of the inputs that moves"""
    gradients: tuple | None = None


def _is_primal(x: Any) -> bool:
    return isinstance(x, CustomVJPPrimal)


def _two_hidden_backward(how: How, kept: Kept, slopes: Float[Array, "nets rows out"]) -> tuple:
    """What is not asked for is not computed: XLA leaves out a kernel whose results nobody uses."""
    if isinstance(slopes, SymbolicZero):
        slopes = jnp.zeros(slopes.shape, slopes.dtype)
    if kept.gradients is not None:
        return None, _summed([None if one is None else one * slopes for one in kept.gradients])
    nets, inputs = kept.nets, kept.inputs
    of_nets = None
    if kept.units:
        of_nets = tuple(
            _parameter_gradient(net, inputs, kept.units[0][n], kept.units[1][n], slopes[n], how)
            for n, net in enumerate(nets)
        )
    wanted = [mark is not None for mark in kept.asked or ()]
    return of_nets, _summed(_with_input_gradient(nets, inputs, wanted, slopes, how)[1])


def _summed(gradients: Any) -> tuple:
    """Over networks, which have the same inputs."""
    return tuple(None if one is None else jnp.sum(one, axis=0) for one in gradients)


two_hidden.defvjp(_two_hidden_forward, _two_hidden_backward, symbolic_zeros=True)


def _forward(nets: tuple[Layers, ...], inputs: Inputs, keep: bool, how: How) -> tuple[Array, ...]:
    """The outputs and, if they are to be kept, the units of both hidden layers."""
    rows, (h2, h1), out = inputs[0].shape[0], nets[0].second.shape, nets[0].last.shape[0]
    ready = [_for_values(net) for net in nets]

    def kernel(*refs: Any) -> None:
        parts, refs = refs[: len(inputs)], refs[len(inputs) :]
        results, mine = refs[len(Ready._fields) * len(nets) :], pl.program_id(2)

        def of(net: Ready) -> None:
            keeper = (results[1], lambda k: lax.rem(k, how.shares) == mine) if keep else None
            hidden = _second_hidden(input_factors(_columns(parts), net.first.shape[0]), net, keeper)
            _write_outputs(results[0], hidden, net, mine)
            if keep:
                results[2][...] = hidden.astype(jnp.bfloat16)

        _in_turn(refs, len(nets), of)

    units = [
        (pl.BlockSpec((None, how.rows, h1), lambda i, n, j: (n, i, 0)), (len(nets), rows, h1)),
        (pl.BlockSpec((None, how.rows, h2 // how.shares), lambda i, n, j: (n, i, j)), (len(nets), rows, h2)),
    ][: 2 if keep else 0]
    outputs, *units = _call(
        kernel,
        (rows // how.rows, len(nets), how.shares),
        [*(_rows(part, how) for part in inputs), *(spec for net in ready for spec in _shared(net, how.shares))],
        [_result(out, how), *(spec for spec, _ in units)],
        [
            jax.ShapeDtypeStruct((how.shares, len(nets), rows, out), jnp.float32),
            *(jax.ShapeDtypeStruct(shape, jnp.bfloat16) for _, shape in units),
        ],
        "forward",
        how,
    )(*inputs, *chain(*ready))
    return jnp.sum(outputs, axis=0), *units


def _with_input_gradient(
    nets: tuple[Layers, ...],
    inputs: Inputs,
    wanted: Sequence[bool],
    slopes: Float[Array, "nets rows out"] | None,
    how: How,
) -> tuple[Float[Array, "nets rows out"], tuple[Float[Array, "nets rows _"] | None, ...]]:
    """The outputs, and the gradients of the inputs that they are wanted for, given those of the outputs (None: 1).

    Hidden layers are worked out here: nothing of a forward pass is needed.
    """
    rows, width, out = inputs[0].shape[0], nets[0].second.shape[1], nets[0].last.shape[0]
    moving = [part for part, asked in zip(inputs, wanted, strict=True) if asked]
    if not moving:
        return _forward(nets, inputs, False, how)[0], (None,) * len(inputs)
    asked_for = [asked for part, asked in zip(inputs, wanted, strict=True) for _ in range(part.shape[1])]
    places = [place for place, asked in enumerate(asked_for) if asked]
    given = () if slopes is None else (slopes,)
    ready = [_for_values(net) for net in nets]

    def kernel(*refs: Any) -> None:
        parts, slopes, refs = refs[: len(inputs)], refs[len(inputs) :][: len(given)], refs[len(inputs) + len(given) :]
        (outputs, *results), mine = refs[len(Ready._fields) * len(nets) :], pl.program_id(2)

        def of(net: Ready) -> None:
            factors = input_factors(_columns(parts), net.first.shape[0])
            hidden = _second_hidden(factors, net)
            _write_outputs(outputs, hidden, net, mine)
            size, directions = _directions(_columns(slopes), how)
            back = to_float16(_back_to_second(directions, net.last, slice(None), hidden))

            def add(k: Any, totals: tuple) -> tuple:
                at = pl.ds(k * SLICE, SLICE)
                slope = product(back, net.second[:, at], 1, 0)
                slope = jnp.where(_first_hidden(factors, net, at) > 0, slope, 0.0)
                weights = [first_weights(net.first, at, place, len(asked_for)) for place in places]
                along = [jnp.sum(slope * weight[None, :], axis=1) for weight in weights]
                return tuple(total + one for total, one in zip(totals, along, strict=True))

            totals = lax.fori_loop(0, width // SLICE, add, tuple(jnp.zeros(how.rows, jnp.float32) for _ in places))
            columns = [(result, k) for result in results for k in range(result.shape[-1])]
            for (result, k), total in zip(columns, totals, strict=True):
                result[:, k] = total * size

        _in_turn(refs, len(nets), of)

    sizes = [out, *(part.shape[1] for part in moving)]
    outputs, *found = _call(
        kernel,
        (rows // how.rows, len(nets), how.shares),
        [
            *(_rows(part, how) for part in inputs),
            *(pl.BlockSpec((None, how.rows, out), lambda i, n, j: (n, i, 0)) for _ in given),
            *(spec for net in ready for spec in _shared(net, how.shares)),
        ],
        [_result(size, how) for size in sizes],
        [jax.ShapeDtypeStruct((how.shares, len(nets), rows, size), jnp.float32) for size in sizes],
        "inputs",
        how,
    )(*inputs, *given, *chain(*ready))
    gradients = iter(jnp.sum(one, axis=0) for one in found)
    return jnp.sum(outputs, axis=0), tuple(next(gradients) if asked else None for asked in wanted)


def _parameter_gradient(
    net: Layers,
    inputs: Inputs,
    first_units: Float[Array, "rows h1"],
    second_units: Float[Array, "rows h2"],
    slopes: Float[Array, "rows out"],
    how: How,
) -> Layers:
    """The kernel sums over its rows; of the second layer's gradient it makes a factor, and a product does the rest."""
    rows, (h2, h1), out = inputs[0].shape[0], net.second.shape, net.last.shape[0]
    num_inputs, blocks, shares = net.first.shape[1], rows // how.rows, max(how.shares, HALVES)
    half = h1 // shares

    def kernel(*refs: Any) -> None:
        parts, (g, units, hidden, second, last, *results) = refs[: len(inputs)], refs[len(inputs) :]
        backs, to_first, to_second, to_last, to_bias = results
        mine = pl.program_id(1)
        columns, slopes = _columns(parts), _columns((g,))

        def add(k: Any, total: Array) -> Array:
            at = pl.ds(k * SLICE, SLICE)
            seen = hidden[:, at]
            back = _back_to_second(slopes, last, at, seen).astype(jnp.bfloat16)

            @pl.when(lax.rem(k, shares) == mine)
            def _() -> None:
                backs[:, at] = back
                to_second[at] = jnp.sum(back.astype(jnp.float32), axis=0)
                for c, slope in enumerate(slopes):
                    to_last[c, at] = jnp.sum(seen.astype(jnp.float32) * slope[:, None], axis=0)

            return total + product(back, second[at, :], 1, 0)

        slope = lax.fori_loop(0, h2 // SLICE, add, jnp.zeros((how.rows, half), jnp.float32))
        slope = jnp.where(units[...] > 0, slope, 0.0)
        for c, column in enumerate(columns):
            to_first[c, :] = jnp.sum(slope * column[:, None], axis=0)
        to_first[num_inputs, :] = jnp.sum(slope, axis=0)
        for c, slope in enumerate(slopes):
            to_bias[c] = jnp.sum(slope)

    backs, to_first, to_second, to_last, to_bias = _call(
        kernel,
        (blocks, shares),
        [
            *(_rows(part, how) for part in inputs),
            _rows(slopes, how),
            pl.BlockSpec((how.rows, half), lambda i, j: (i, j)),
            _rows(second_units, how),
            pl.BlockSpec((h2, half), lambda i, j: (0, j)),
            _whole(net.last),
        ],
        [
            _rows(second_units, how),
            pl.BlockSpec((None, num_inputs + 1, half), lambda i, j: (i, 0, j)),
            pl.BlockSpec((None, h2), lambda i, j: (i, 0)),
            pl.BlockSpec((None, out, h2), lambda i, j: (i, 0, 0)),
            pl.BlockSpec((None, out), lambda i, j: (i, 0)),
        ],
        [
            jax.ShapeDtypeStruct((rows, h2), jnp.bfloat16),
            jax.ShapeDtypeStruct((blocks, num_inputs + 1, h1), jnp.float32),
            jax.ShapeDtypeStruct((blocks, h2), jnp.float32),
            jax.ShapeDtypeStruct((blocks, out, h2), jnp.float32),
            jax.ShapeDtypeStruct((blocks, out), jnp.float32),
        ],
        "parameters",
        how,
    )(*inputs, slopes, first_units, second_units, net.second.astype(jnp.bfloat16), net.last)
    to_first = jnp.sum(to_first, axis=0)
    return Layers(
        to_first[:num_inputs].T,
        to_first[num_inputs],
        product(backs, first_units, 0, 0),
        jnp.sum(to_second, axis=0),
        jnp.sum(to_last, axis=0),
        reduce(jnp.add, to_bias),  # a sum is a kernel of its own, and waits
    )


def _second_hidden(factors: Array, net: Ready, keeper: tuple | None = None) -> Float[Array, "rows share"]:
    """This program's share of it. All need the first layer; ``keeper``: where to keep which slices of it."""

    def add(k: Any, total: Array) -> Array:
        at = pl.ds(k * SLICE, SLICE)
        units = _first_hidden(factors, net, at)
        if keeper is not None:
            kept, is_mine = keeper

            @pl.when(is_mine(k))
            def _() -> None:
                kept[:, at] = units.astype(jnp.bfloat16)

        return total + product(to_float16(units), net.second[:, at], 1, 1)

    share, h1 = net.second.shape
    total = lax.fori_loop(0, h1 // SLICE, add, jnp.zeros((factors.shape[0], share), jnp.float32))
    return jnp.maximum(total + net.second_bias[...][None, :], 0.0)


def _write_outputs(outputs: Any, hidden: Float[Array, "rows share"], net: Ready, mine: Any) -> None:
    """What these units add to them."""
    for k in range(net.last.shape[0]):
        bias = jnp.where(mine == 0, net.last_bias[k], 0.0)
        outputs[:, k] = jnp.sum(hidden * net.last[k, :][None, :], axis=1) + bias


def _first_hidden(factors: Float[Array, "rows factors"], net: Ready, at: Any) -> Float[Array, "rows slice"]:
    """Units ``at`` of the first hidden layer."""
    return jnp.maximum(product(factors, net.first[:, at], 1, 0), 0.0)


def _back_to_second(slopes: list, last: Any, at: Any, units: Array) -> Float[Array, "rows slice"]:
    """Gradients at units of the second hidden layer, before their rectifiers, given those at the outputs."""
    back = slopes[0][:, None] * last[0, at][None, :]
    for k, slope in enumerate(slopes[1:], 1):
        back = back + slope[:, None] * last[k, at][None, :]
    return jnp.where(units > 0, back, 0.0)


def _directions(slopes: list, how: How) -> tuple[Float[Array, " rows"] | float, list]:
    """The size of each row's slopes and, in the range of float16, where they point; without any, a slope is 1."""
    if not slopes:
        return 1.0, [jnp.ones(how.rows, jnp.float32)]
    size = reduce(jnp.maximum, map(jnp.abs, slopes))
    size = jnp.where(size > 0, size, 1.0)
    return size, [slope / size for slope in slopes]


def _columns(refs: tuple) -> list:
    return [ref[:, k] for ref in refs for k in range(ref.shape[-1])]


def _in_turn(refs: tuple, number: int, of: Any) -> None:
    """What the second axis of the grid tells: which network this program is for."""
    for n in range(number):
        pl.when(pl.program_id(1) == n)(partial(of, Ready(*refs[len(Ready._fields) * n :][: len(Ready._fields)])))


def _for_values(net: Layers) -> Ready:
    return Ready(first_factors(net.first, net.first_bias), to_float16(net.second), *net[3:])


def _whole(x: Array) -> pl.BlockSpec:
    return pl.BlockSpec(x.shape, lambda *_, rank=x.ndim: (0,) * rank)


def _rows(x: Any, how: How) -> pl.BlockSpec:
    return pl.BlockSpec((how.rows, x.shape[1]), lambda i, *_: (i, 0))


def _result(size: int, how: How) -> pl.BlockSpec:
    """For each share and network, rows of so many numbers."""
    return pl.BlockSpec((None, None, how.rows, size), lambda i, n, j: (j, n, i, 0))


def _shared(net: Ready, shares: int) -> list[pl.BlockSpec]:
    """Of the second hidden layer and of what follows it, each program has its share."""
    (h2, h1), out = net.second.shape, net.last.shape[0]
    return [
        _whole(net.first),
        pl.BlockSpec((h2 // shares, h1), lambda i, n, j: (j, 0)),
        pl.BlockSpec((h2 // shares,), lambda i, n, j: (j,)),
        pl.BlockSpec((out, h2 // shares), lambda i, n, j: (0, j)),
        _whole(net.last_bias),
    ]


def _call(
    kernel: Any, grid: tuple[int, ...], in_specs: list, out_specs: list, shapes: list, name: str, how: How
) -> Any:
    return pl.pallas_call(
        kernel,
        grid=grid,
        in_specs=in_specs,
        out_specs=out_specs,
        out_shape=shapes,
        compiler_params=triton.CompilerParams(num_warps=WARPS, num_stages=STAGES),
        interpret=how.interpret,
        name=f"two_hidden_{name}",
    )
