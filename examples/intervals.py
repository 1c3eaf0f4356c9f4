"""How often the intervals of ``bbo compare`` hold the truth, by the number of seeds.

1,500 times, so many Gaussian returns of seeds, whose interquartile mean is 0 in truth; 2,000 bootstrap draws each.
"""

import numpy as np

from bayesbellman.experiments.statistics import bootstrap_interval

TRIALS, SEEDS = 1_500, (3, 5, 10, 20, 40, 100)

rng = np.random.default_rng(0)
print("seeds   holds the truth")
for number in SEEDS:
    ends = np.array([bootstrap_interval(rng.normal(size=number)) for _ in range(TRIALS)])
    share = np.mean((ends[:, 0] <= 0) & (ends[:, 1] >= 0))
    print(f"{number:5d}{100 * share:15.1f} %")
print(f"standard error of an entry at 95 %: {100 * np.sqrt(0.95 * 0.05 / TRIALS):.1f} %")
