"""Put measured numbers into the pages, from results/ alone: ``python docs/refresh.py`` rewrites the marked blocks.

A block stands between ``<!-- begin NAME -->`` and ``<!-- end NAME -->``. Nobody types into it; a test compares. What
stands in it is made in ``docs/blocks``.
"""

import re
from functools import partial
from pathlib import Path

from blocks import agents, cartpole, linear, mountain_car, networks, sparse

ROOT = Path(__file__).parents[1]

BLOCKS = {
    "speed": (ROOT / "README.md", linear.speed),
    "widths": (ROOT / "docs" / "linear_evaluation.md", partial(linear.printed, "widths")),
    "intervals": (ROOT / "docs" / "runs.md", partial(linear.printed, "intervals")),
    "off_policy": (ROOT / "docs" / "off_policy.md", linear.off_policy),
    "randomised_prior": (ROOT / "docs" / "neural_evaluation.md", networks.randomised_prior),
    "nonlinear_speed": (ROOT / "docs" / "neural_evaluation.md", networks.nonlinear_speed),
    "control_demo": (ROOT / "docs" / "control_experiments.md", agents.control_demo),
    "pendulum": (ROOT / "docs" / "control_experiments.md", agents.pendulum),
    "control_speed": (ROOT / "docs" / "control.md", agents.control_speed),
    "mountain_car": (ROOT / "docs" / "control_experiments.md", mountain_car.mountain_car),
    "mountain_car_paper_rate": (ROOT / "docs" / "control_experiments.md", mountain_car.mountain_car_paper_rate),
    "mountain_car_sensitivity": (
        ROOT / "docs" / "control_experiments.md",
        mountain_car.mountain_car_sensitivity,
    ),
    "mountain_car_sensitivity_narrow": (
        ROOT / "docs" / "control_experiments.md",
        mountain_car.mountain_car_sensitivity_narrow,
    ),
    "checkpoints": (ROOT / "docs" / "guides" / "resuming.md", agents.checkpoints),
    "bsuite_scores": (ROOT / "docs" / "bsuite.md", agents.bsuite_scores),
    "discrete_speed": (ROOT / "docs" / "bsuite.md", agents.discrete_speed),
    "control_gpu": (ROOT / "docs" / "control.md", agents.control_gpu),
    "nonlinear": (ROOT / "docs" / "nonlinear_experiments.md", networks.nonlinear),
    "deep_sea": (ROOT / "docs" / "algorithms" / "boot_dqn.md", agents.deep_sea),
    "nonlinear_tuning": (ROOT / "docs" / "nonlinear_experiments.md", networks.nonlinear_tuning),
    "where_it_helps": (ROOT / "docs" / "where-it-helps.md", sparse.where_it_helps),
    "step_costs": (ROOT / "docs" / "where-it-helps.md", sparse.step_costs),
    "sparse_tasks": (ROOT / "docs" / "control_experiments.md", sparse.sparse_tasks),
    "acrobot_starts": (ROOT / "docs" / "control_experiments.md", sparse.acrobot_starts),
    "cartpole_stock": (ROOT / "docs" / "control_experiments.md", sparse.cartpole_stock),
    "cartpole": (ROOT / "docs" / "cartpole-study.md", cartpole.cartpole),
    "cartpole_steadiness": (ROOT / "docs" / "cartpole-study.md", cartpole.cartpole_steadiness),
    "cartpole_sensitivity": (ROOT / "docs" / "cartpole-study.md", cartpole.cartpole_sensitivity),
    "cartpole_levers": (ROOT / "docs" / "cartpole-study.md", cartpole.cartpole_levers),
    "cartpole_levers_ours": (ROOT / "docs" / "cartpole-study.md", cartpole.cartpole_levers_ours),
    "cartpole_levers_narrow": (ROOT / "docs" / "cartpole-study.md", cartpole.cartpole_levers_narrow),
    "tsitsiklis": (ROOT / "docs" / "tsitsiklis.md", networks.tsitsiklis),
    "linear_quirks": (ROOT / "docs" / "linear_experiments.md", linear.linear_quirks),
    "linear_speed": (ROOT / "docs" / "linear_experiments.md", linear.linear_speed),
    "linear_tables": (ROOT / "docs" / "linear_experiments.md", linear.linear_tables),
}


def refreshed(name: str) -> tuple[Path, str]:
    """The page that holds the block, and what the page should be."""
    path, content = BLOCKS[name]
    block = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", flags=re.DOTALL)
    text, count = block.subn(lambda m: f"{m[1]}{content()}\n{m[2]}", path.read_text(encoding="utf-8"))
    if count != 1:
        raise ValueError(f"{path} has {count} blocks named {name}; there must be one")
    return path, text


if __name__ == "__main__":
    for name in BLOCKS:
        page, text = refreshed(name)
        page.write_text(text, encoding="utf-8")
