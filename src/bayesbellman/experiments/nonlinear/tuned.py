"""Settings found by ``bbo tune nonlinear``: the paper's grids and stages on our data (``results/nonlinear_tuning``)."""

from bayesbellman.experiments.nonlinear.methods import BBO, DIRECT, NO_PRIOR, TD, TDC, Setting

TUNED: dict[tuple[str, str], Setting] = {
    ("twenty-link", BBO): Setting({"upper": 1e-3, "lower": 1e-3, "prior": 1e-4}, 5),
    ("twenty-link", NO_PRIOR): Setting({"upper": 1e-3, "lower": 1e-3}, 10),
    ("twenty-link", DIRECT): Setting({"rate": 1e-1, "prior": 1e-4}),
    ("twenty-link", TD): Setting({"rate": 1e-1}),
    ("twenty-link", TDC): Setting({"slow": 1e-2, "fast": 1e-6}),
    ("puddle-world", BBO): Setting({"upper": 3e-3, "lower": 3e-3, "prior": 1e-4}, 5),
    ("puddle-world", NO_PRIOR): Setting({"upper": 3e-3, "lower": 3e-3}, 10),
    ("puddle-world", DIRECT): Setting({"rate": 3e-2, "prior": 3e-4}),
    ("puddle-world", TD): Setting({"rate": 3e-2}),
    ("puddle-world", TDC): Setting({"slow": 3e-2, "fast": 3e-5}),
    ("mountain-car", BBO): Setting({"upper": 3e-2, "lower": 1e-4, "prior": 1e-4}, 10),
    ("mountain-car", NO_PRIOR): Setting({"upper": 3e-2, "lower": 1e-4}, 10),
    ("mountain-car", DIRECT): Setting({"rate": 1e-3, "prior": 3e-4}),
    ("mountain-car", TD): Setting({"rate": 1e-3}),
    ("mountain-car", TDC): Setting({"slow": 3e-3, "fast": 3e-6}),
}
