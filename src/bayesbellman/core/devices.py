"""What JAX computes on, and how it is told to compile what an agent does again and again."""

import re
from functools import cache
from typing import Any

import jax

NODES = "FUSION,CUBLAS,CUBLASLT,CUSTOM_CALL,CONDITIONAL,WHILE,DYNAMIC_SLICE_FUSION"
"""Kinds of operations that may be nodes of a CUDA graph"""
AMPERE = 8
"""The first generation of NVIDIA's GPUs (2020) whose matrix units take bfloat16"""
PRODUCTS = {"xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT"}
"""On a CPU: products of a batch of matrices, as an ensemble has them, not by XLA's newest library for them, which is
slower at these (benchmarks/NOTES.md)"""


def default_device() -> Any:
    """Where JAX computes if it is not told otherwise."""
    device = jax.config.jax_default_device  # pyright: ignore[reportAttributeAccessIssue]
    return jax.devices(device)[0] if device is None or isinstance(device, str) else device


def on_cpu() -> bool:
    return default_device().platform == "cpu"


def on_nvidia() -> bool:
    """Whether that is a GPU by NVIDIA that kernels of ours are for."""
    generation = re.match(r"(\d+)\.\d+$", str(getattr(default_device(), "compute_capability", "")))
    return default_device().platform != "cpu" and generation is not None and int(generation[1]) >= AMPERE


def update_options() -> dict[str, str] | None:
    """Options of `jax.jit` for updates of an agent; None: there are none here."""
    return dict(PRODUCTS) if on_cpu() and _are_known() else None


@cache
def _are_known() -> bool:
    """Whether this version's compiler for CPUs takes `PRODUCTS`: they are no part of any promise of XLA's."""
    try:
        jax.jit(lambda x: x, compiler_options=PRODUCTS).lower(0.0).compile()
    except Exception:  # whatever it is, agents do without
        return False
    return True


def loop_options() -> dict[str, str] | None:
    """Options of `jax.jit` for a loop of updates and all that goes with them: on a GPU by NVIDIA a step is one graph.

    Operations that do not wait for each other then run at the same time, and the host has no part in the loop.
    """
    if not on_nvidia():
        return update_options()
    return {
        "xla_gpu_command_buffer_scheduling_mode": "CONCURRENT",
        "xla_gpu_graph_min_graph_size": "2",
        "xla_gpu_enable_command_buffer": NODES,
    }
