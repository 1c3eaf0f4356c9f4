"""Our BootDQN in bsuite: its environments, its runner, its logs, its scores.

    python benchmarks/bsuite_scores.py [--out results/bsuite] [--deep-sea 0-10] [--swing-up 0-5] ...

An agent for each setting, with the defaults of `BootDQN`, the same for all. Deep Sea's run ends when bsuite's
criterion holds at an episode that it logs (fewer than 0.9 of the episodes so far were bad): it scores the first such
episode, so that more of them cannot change the score. bsuite's protocol is 10,000 episodes of Deep Sea and 1,000 of
the swing-up; ``--dives`` and ``--swings`` are the most that are played here.
"""

import argparse
import contextlib
import json
import tempfile
import time
import warnings
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from bayesbellman.control.boot_dqn import BootDQN
from bayesbellman.runs.provenance import provenance
from bayesbellman.runs.tables import aligned, markdown

HEADER = ("setting", "size or height", "episodes", "steps", "score", "solved at episode", "best episode", "seconds")
SOLVED = 0.9
"""bsuite's: the share of bad episodes below which Deep Sea counts as solved"""
LOGGED = (1, 1.2, 1.4, 1.7, 2, 2.5, 3, 4, 5, 6, 7, 8, 9)
"""Times a power of ten: episodes at which bsuite logs"""


@contextlib.contextmanager
def older_pandas() -> Iterator[None]:
    """bsuite's analysis of Deep Sea calls ``Series.append``, which pandas had until its version 2."""
    import pandas as pd  # pyright: ignore[reportMissingImports]

    if hasattr(pd.Series, "append"):
        yield
        return
    pd.Series.append = lambda first, second: pd.concat([first, second])
    try:
        yield
    finally:
        del pd.Series.append


def score(name: str, logs: Path) -> float:
    """bsuite's own, of what was logged there of one setting or of several."""
    from bsuite.experiments.cartpole_swingup import analysis as swing_up  # pyright: ignore[reportMissingImports]
    from bsuite.experiments.deep_sea import analysis as deep_sea  # pyright: ignore[reportMissingImports]
    from bsuite.logging import csv_load  # pyright: ignore[reportMissingImports]

    frame, _ = csv_load.load_bsuite(str(logs))
    frame = frame[frame.bsuite_env == name]
    with older_pandas(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas' opinions of bsuite
        return float({"deep_sea": deep_sea, "cartpole_swingup": swing_up}[name].score(frame))


def marks(most: int) -> list[int]:
    """Episodes at which bsuite logs, up to ``most``."""
    logged = {round(factor * 10**power) for factor in LOGGED for power in range(5)}
    return sorted({n for n in logged if n < most} | {most})


def play(setting: str, most: int, logs: Path, seed: int) -> tuple:
    """One setting through bsuite's runner; the row of the table."""
    import bsuite  # pyright: ignore[reportMissingImports]
    from bsuite import sweep  # pyright: ignore[reportMissingImports]
    from bsuite.baselines import experiment  # pyright: ignore[reportMissingImports]

    from bayesbellman.compat.bsuite import BsuiteAgent

    name = setting.split("/")[0]
    deep = name == "deep_sea"
    own = logs / setting.replace("/", "-")
    with contextlib.redirect_stdout(None):
        env: Any = bsuite.load_and_record_to_csv(setting, str(own), overwrite=True)
    agent = BsuiteAgent(BootDQN(), env.observation_spec(), env.action_spec(), seed=seed, one_hot=deep)
    start, episodes, solved = time.perf_counter(), 0, None
    for mark in marks(most):
        experiment.run(agent, env, mark - episodes)
        episodes = mark
        if deep and env.bsuite_info()["total_bad_episodes"] / episodes < SOLVED:
            solved = episodes
            break
    info = env.bsuite_info()
    axis = sweep.SETTINGS[setting]["size" if deep else "height_threshold"]
    best = "-" if deep else float(info["best_episode"])
    seconds = time.perf_counter() - start
    return (setting, axis, episodes, agent.steps, score(name, own), solved or "-", best, seconds)


def numbers(text: str) -> range:
    """``3-5`` or ``3``"""
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--deep-sea", type=numbers, default=range(11))
    parser.add_argument("--swing-up", type=numbers, default=range(6))
    parser.add_argument("--dives", type=int, default=10_000)
    parser.add_argument("--swings", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    plan = [(f"deep_sea/{n}", arguments.dives) for n in arguments.deep_sea]
    plan += [(f"cartpole_swingup/{n}", arguments.swings) for n in arguments.swing_up]
    origin = {**provenance(), "seed": arguments.seed, "dives": arguments.dives, "swings": arguments.swings}
    origin["peers"] = {name: metadata.version(name) for name in ("bsuite", "dm-env", "pandas")}
    rows: list[tuple] = []
    with tempfile.TemporaryDirectory() as folder:
        for setting, most in plan:
            rows.append(play(setting, most, Path(folder), arguments.seed))
            print(aligned(HEADER, rows[-1:]), flush=True)
            if arguments.out is not None:
                write(arguments.out, rows, origin)


def write(out: Path, rows: list[tuple], origin: dict[str, Any]) -> None:
    """After each setting, so that a run that is stopped leaves what it found."""
    out.mkdir(parents=True, exist_ok=True)
    result = {"rows": [dict(zip(HEADER, one, strict=True)) for one in rows], "origin": origin}
    (out / "scores.json").write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    made = f"## Made by\n\n```json\n{json.dumps(origin, indent=2)}\n```\n"
    (out / "scores.md").write_text(f"# BootDQN in bsuite\n\n{markdown(HEADER, rows)}\n\n{made}", encoding="utf-8")


if __name__ == "__main__":
    main()
