"""Is the sparse acrobot hard to explore, or hard to control? SAC with nothing to explore, beside RP-BBAC.

In `bbo reproduce sparse-tasks` episodes start hanging: SAC never meets the reward, RP-BBAC earns about 90 where 150
is asked for. Here SAC starts its episodes anywhere, with angles and velocities uniform between -pi and pi, and so meets
the reward at once. It is evaluated as there: ten episodes that start hanging.

As it is, this shows how it is done, in a few seconds. The steps and networks of that study, 44 minutes on two cores:

    python examples/acrobot_starts.py --steps 200000 --seeds 5 --hidden 256 256
"""

import argparse
import math
import multiprocessing
import tempfile
from functools import partial
from pathlib import Path

import numpy as np

import bayesbellman as bb
from bayesbellman.envs.acrobot import AcrobotSparse

EPISODES, LEARNING_RATE = 10, 1e-3


def train(seed: int, steps: np.ndarray, hidden: tuple[int, ...]) -> np.ndarray:
    """The mean return from hanging, after each of these numbers of steps."""
    anywhere, hanging = AcrobotSparse(start=math.pi), AcrobotSparse()
    returns = []
    with (
        tempfile.TemporaryDirectory() as folder,
        bb.SAC(anywhere, seed=seed, learning_rate=LEARNING_RATE, hidden=hidden) as agent,
    ):
        for more in np.diff(steps, prepend=0):
            agent.learn(int(more))
            with bb.SAC.load(agent.save(Path(folder) / "agent"), hanging) as judged:
                returns.append(judged.evaluate(EPISODES).mean())
    return np.array(returns)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=3_000, help="of each run")
    parser.add_argument("--seeds", type=int, default=1, help="runs")
    parser.add_argument("--hidden", type=int, nargs="+", default=[64, 64], help="widths of hidden layers")
    asked = parser.parse_args()

    tenths, last = asked.steps * np.arange(1, 10) // 10, asked.steps * np.arange(91, 101) // 100
    steps = np.concatenate([tenths, last])
    shown = [*range(len(tenths)), len(steps) - 1]
    print("seed" + "".join(f"{steps[at]:9,}" for at in shown) + "    final", flush=True)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        runs = pool.imap(partial(train, steps=steps, hidden=tuple(asked.hidden)), range(asked.seeds))
        for seed, returns in enumerate(runs):
            numbers = [*returns[shown], returns[-len(last) :].mean()]
            print(f"{seed:4d}" + "".join(f"{number:9.1f}" for number in numbers), flush=True)
    print("mean return of ten episodes that start hanging, after so many steps; final: of the last ten evaluations")
