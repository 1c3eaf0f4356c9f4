"""What JAX computes on, and how a GPU is told to run a loop."""

import jax

NODES = "FUSION,CUBLAS,CUBLASLT,CUSTOM_CALL,CONDITIONAL,WHILE,DYNAMIC_SLICE_FUSION"
"""Kinds of operations that may be nodes of a CUDA graph"""


def on_cpu() -> bool:
    """Whether JAX computes on a CPU if it is not told otherwise."""
    device = jax.config.jax_default_device  # pyright: ignore[reportAttributeAccessIssue]
    return (getattr(device, "platform", device) or jax.default_backend()) == "cpu"


def loop_options() -> dict[str, str] | None:
    """Options of `jax.jit` for a loop of small operations: on a GPU a step is one graph.

    Operations that do not wait for each other then run at the same time, and the host has no part in the loop.
    """
    if on_cpu():
        return None
    return {
        "xla_gpu_command_buffer_scheduling_mode": "CONCURRENT",
        "xla_gpu_graph_min_graph_size": "2",
        "xla_gpu_enable_command_buffer": NODES,
    }
