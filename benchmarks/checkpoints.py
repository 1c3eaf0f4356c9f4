"""What a checkpoint costs: of RP-BBAC with its default networks and a replay of a million transitions.

    python benchmarks/checkpoints.py [--out results/benchmarks]

Seconds and bytes of a checkpoint with 1,000 new transitions, while replay is nearly empty and while it is full; of one
that has to write all of replay; of bringing one back. Beside it the seconds of 1,000 steps of training on the same
machine in the same run: what checkpoints cost of the time at the default interval, a minute.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

import bayesbellman as bb
from bayesbellman.runs.provenance import provenance
from bayesbellman.runs.tables import aligned, markdown

HEADER = ("what", "seconds", "MB written")
ENV, NEW, INTERVAL = "MountainCarContinuous-v0", 1_000, 60.0


def seconds(action: Callable[[], Any]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def pretend_stored(agent: bb.BBAC, number: int) -> None:
    """As if so many transitions had come; what they are makes no difference to the cost."""
    player: Any = agent.player
    player.state = eqx.tree_at(lambda s: s.replay.stored, player.state, jnp.asarray(number, jnp.int32))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    agent = bb.BBAC(ENV, warmup=100).learn(200)  # compiled by now
    training = seconds(lambda: agent.learn(NEW))
    rows = [(f"{NEW:,} steps of training", training, 0.0)]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        checkpoints = bb.Checkpoints(folder, keep=1)

        def save(what: str, stored: int) -> float:
            pretend_stored(agent, stored)
            began = time.time_ns()
            taken = seconds(lambda: checkpoints.save(agent))
            written = sum(path.stat().st_size for path in folder.iterdir() if path.stat().st_mtime_ns > began) / 1e6
            rows.append((what, taken, written))
            return taken

        save("the first checkpoint", 2 * NEW)
        usual = save(f"one with {NEW:,} new transitions", 3 * NEW)
        save("one with a million new transitions", 1_000_000)
        full = save(f"one with {NEW:,} new transitions, replay full", 1_000_000 + NEW)
        again = bb.BBAC(ENV, warmup=100)
        pretend_stored(again, 0)
        rows.append(("bringing it back", seconds(lambda: bb.Checkpoints(folder).restore(again)), 0.0))
    share = max(usual, full) / INTERVAL
    print(aligned(HEADER, rows))
    print(f"At the default interval, {INTERVAL:g} s, checkpoints take {100 * share:.2f} % of the time.")
    if arguments.out is None:
        return
    arguments.out.mkdir(parents=True, exist_ok=True)
    name = f"checkpoints_{jax.devices()[0].platform}"
    origin = {**provenance(), "share_of_time": share}
    result = {"rows": [dict(zip(HEADER, row, strict=True)) for row in rows], "origin": origin}
    (arguments.out / f"{name}.json").write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    text = f"# Checkpoints\n\n{markdown(HEADER, rows)}\n\nShare of the time at the default interval: {share:.2%}.\n"
    made = f"\n## Made by\n\n```json\n{json.dumps(origin, indent=2)}\n```\n"
    (arguments.out / f"{name}.md").write_text(text + made, encoding="utf-8")


if __name__ == "__main__":
    main()
