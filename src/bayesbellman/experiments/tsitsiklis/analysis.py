"""The triangle's figure, table and report."""

import json
from collections.abc import Mapping
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayesbellman.experiments.artefact import Done, Plan, origin, slug
from bayesbellman.experiments.plotting import BLUE, FAINT, GREEN, INK, ORANGE, PINK, SKY, YELLOW, style
from bayesbellman.experiments.tsitsiklis.flow import TURN, flows
from bayesbellman.experiments.tsitsiklis.sweep import METHODS
from bayesbellman.nn.spiral import Spiral
from bayesbellman.runs.tables import aligned, markdown, write_csv

COLOURS = dict(zip(METHODS, (BLUE, SKY, GREEN, ORANGE, INK, YELLOW, PINK), strict=True))
LINES: dict[str, dict] = {
    "BBO": {"lw": 4.5, "alpha": 0.6},
    "BBO, fixed prior": {"ls": "-."},
    "BBO, moving prior": {"ls": "-."},
    "TDC": {"ls": "--", "lw": 2.2},
    "GTD2": {"ls": ":", "lw": 2.2},
}
"""Where lines lie on each other, all can still be told."""
HEADER = ("method", "omega_start", "omega_end", "rms_start", "rms_end", "ratio")


def rms(omega: Float[np.ndarray, " steps"]) -> Float[np.ndarray, " steps"]:
    """Root mean squared value over the three states: the error, since the true values are 0."""
    with jax.enable_x64(True):
        values = jax.vmap(lambda w: Spiral(w)(jnp.arange(3)))(jnp.asarray(omega))
    return np.sqrt(np.mean(np.asarray(values) ** 2, axis=1))


def by_method(done: Done) -> dict[str, Float[np.ndarray, " steps"]]:
    return {method: done.results[slug(method)]["omega"] for method in METHODS if slug(method) in done.results}


def summary_rows(paths: Mapping[str, np.ndarray]) -> list[tuple]:
    rows = []
    for method, omega in paths.items():
        error = rms(omega)
        rows.append(
            (method, float(omega[0]), float(omega[-1]), float(error[0]), float(error[-1]), float(error[-1] / error[0]))
        )
    return rows


def draw(paths: Mapping[str, np.ndarray]) -> Figure:
    """Left: error against updates. Middle: the path of the values in the plane they turn in. Right: limiting flows."""
    with style():
        figure = Figure(figsize=(11, 3.9))
        left, middle, right = figure.subplots(1, 3)
        for method, omega in paths.items():
            left.semilogy(rms(omega), color=COLOURS[method], label=method, **LINES.get(method, {}))
        left.set_xlabel("updates")
        left.set_ylabel("root mean squared error")
        left.set_title("Error")
        _draw_spiral(middle)
        omegas, found = flows()
        right.axhline(0.0, color=FAINT, lw=0.8)
        for method, values in found.items():
            right.plot(omegas / TURN, values, color=COLOURS[method], **LINES.get(method, {}))
        right.set_xlabel("omega, in turns of the spiral")
        right.set_title("Limiting flow of omega (over its rms)")
        right.annotate("away from V = 0", (0.02, 0.93), xycoords="axes fraction", color=FAINT)
        right.annotate("towards V = 0", (0.02, 0.04), xycoords="axes fraction", color=FAINT)
        right.margins(y=0.2)
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=len(paths))
        return figure


def _draw_spiral(axes: Axes) -> None:
    """V_1 against V_2 for a stretch of omega, and the step that a posterior's solution takes from omega."""
    from bayesbellman.experiments.tsitsiklis.flow import lower_solution

    with jax.enable_x64(True):
        stretch = np.linspace(-150, 40, 4000)
        curve = np.asarray(jax.vmap(lambda w: Spiral(w)(jnp.arange(3)))(jnp.asarray(stretch)))
        omega = jnp.asarray(0.0)
        phi = lower_solution(omega)
        here, there = (np.asarray(Spiral(w)(jnp.arange(3))) for w in (omega, phi))
        arc = np.asarray(jax.vmap(lambda w: Spiral(w)(jnp.arange(3)))(jnp.linspace(omega, phi, 50)))
    axes.plot(curve[:, 0], curve[:, 1], color=FAINT, lw=0.6)
    axes.plot(arc[:, 0], arc[:, 1], color=ORANGE, lw=2.2)
    for point, name in ((here, "omega"), (there, "phi*(omega)")):
        axes.plot(*point[:2], "o", color=ORANGE, ms=5)
        axes.annotate(name, (point[0], point[1]), xytext=(6, 4), textcoords="offset points")
    axes.plot(0, 0, "+", color=INK)
    axes.set_xlabel("V(state 1)")
    axes.set_ylabel("V(state 2)")
    axes.set_title(f"phi*(omega) lies {float(phi - omega):.2f} further out")


def analyse(plan: Plan, done: Done, folder: Path) -> str:
    """Everything that is left behind; returns what to print."""
    paths = by_method(done)
    rows = summary_rows(paths)
    write_csv(folder / "summary.csv", HEADER, rows)
    write_csv(
        folder / "curves.csv",
        ("method", "update", "omega", "rms"),
        [
            (method, step, f"{omega[step]:.7g}", f"{error[step]:.7g}")
            for method, omega in paths.items()
            for error in [rms(omega)]
            for step in range(0, len(omega), max(1, len(omega) // 300))
        ],
    )
    draw(paths).savefig(folder / "tsitsiklis.png")
    made_by = origin(plan, done)
    (folder / "provenance.json").write_text(json.dumps(made_by, indent=2) + "\n", encoding="utf-8")
    failures = "".join(f"{sentence}\n" for sentence in done.lacks)
    (folder / "report.md").write_text(
        REPORT.format(failures=failures, table=markdown(HEADER, rows), origin=json.dumps(made_by, indent=2)),
        encoding="utf-8",
    )
    return aligned(HEADER, rows) + ("\n" + failures if failures else "")


REPORT = """# Tsitsiklis' triangle

Three states, no rewards, discount 0.9, a value function of one parameter that spirals; all six transitions in each
update, steps of fixed length. The true values are 0. What this shows: docs/tsitsiklis.md.

![Errors, the spiral, and the flows that explain them](tsitsiklis.png)

{failures}
{table}

## Made by

```json
{origin}
```
"""
