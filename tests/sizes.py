"""Sizes of agents in tests. Where nothing else is needed all tests have these: one program then serves many."""

SIZES = {"hidden": (8,), "batch_size": 16, "buffer_size": 500, "warmup": 50}
OPTIONS = ("--hidden", 8, "--batch-size", 16, "--buffer-size", 500, "--warmup", 50)
"""The same for ``bbo train``"""
MEMBERS = 2
"""Of an ensemble"""
EPISODES = 2
"""Of an evaluation"""
