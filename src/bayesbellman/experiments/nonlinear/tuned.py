"""Settings found by ``bbo tune nonlinear`` where the paper's give no sensible result on our data."""

from bayesbellman.experiments.nonlinear.methods import Setting

TUNED: dict[tuple[str, str], Setting] = {}
