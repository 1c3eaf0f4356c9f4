"""Evaluate a target policy from a log of another policy's transitions, in Parquet, without loading the log.

The log is written here first: a random walk on a ring of 8 states by a policy that steps left or right at random. The
policy to evaluate steps right with probability 0.8; importance weights correct for the difference.
"""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import bayesbellman as bb
from bayesbellman.compat.arrow import Columns, ParquetTransitions

NUM_STATES, NUM_ROWS, GAMMA = 8, 20_000, 0.9
rng = np.random.default_rng(0)

# What a logger would have written: features of the state, the reward, features of the successor, the weight.
steps = rng.choice([-1, 1], size=NUM_ROWS)
states = np.concatenate([[0], np.cumsum(steps)])[:-1] % NUM_STATES
successors = (states + steps) % NUM_STATES
rewards = (successors == 0).astype(float)
weights = np.where(steps == 1, 0.8, 0.2) / 0.5
one_hot = np.eye(NUM_STATES)
folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "log.parquet"
columns = {f"phi_{i}": one_hot[states, i] for i in range(NUM_STATES)}
columns |= {f"next_phi_{i}": one_hot[successors, i] for i in range(NUM_STATES)}
pq.write_table(pa.table({**columns, "reward": rewards, "weight": weights}), path, row_group_size=4096)

# The same as: bbo evaluate-linear log.parquet --weight weight --gamma 0.9 --prior-variance 100 --noise-variance 0.2
log = ParquetTransitions(
    [path], Columns(("phi_*",), ("next_phi_*",), "reward", GAMMA, weight="weight"), batch_rows=4096
)
model = bb.LinearBBO(prior_variance=100.0, noise_variance=0.2).fit_stream(log.chunks())

# The truth, from the policy's transition matrix.
walk = 0.8 * np.roll(one_hot, 1, axis=1) + 0.2 * np.roll(one_hot, -1, axis=1)
truth = np.linalg.solve(np.eye(NUM_STATES) - GAMMA * walk, walk[:, 0])
values, std = model.predict(one_hot, return_std="value")
print(f"{model.n_samples_seen_:,} transitions, effective sample size {model.effective_sample_size_:,.0f}")
print("state   true  estimate   +-")
for state in range(NUM_STATES):
    print(f"{state:5d} {truth[state]:6.3f} {values[state]:9.3f} {1.96 * std[state]:6.3f}")
folder.cleanup()
