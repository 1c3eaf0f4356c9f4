"""The training report from runs that went well, were cut, diverged, or never began."""

from pathlib import Path

import numpy as np

from bayesbellman.experiments.training.analysis import HEADER, median_curve, read_curve, summary_row, write_report
from bayesbellman.experiments.training.plan import METRICS, Ended
from bayesbellman.runs.metrics import MetricsFile

CONFIG = {
    "agent": "BBAC",
    "env": "somewhere",
    "settings": {"seed": 0},
    "run": {"episodes": 2},
    "path": "compiled",
    "device": "cpu",
    "provenance": {},
}


def write(folder: Path, evaluations: dict[int, float], steps: int) -> Path:
    folder.mkdir()
    with MetricsFile(folder / METRICS) as file:
        for step, mean in evaluations.items():
            evaluation = {"mean": mean, "returns": [mean]}
            file.write({"steps": step, "seconds": 1.0, "returns": [mean - 1], "metrics": {}, "evaluation": evaluation})
        file.write({"steps": steps, "seconds": 2.0, "returns": [], "metrics": {}})
    return folder


def test_seeds_that_are_missing_or_failed_are_named_and_not_averaged_away(tmp_path: Path) -> None:
    folders = {
        0: write(tmp_path / "seed-0000", {100: 1.0, 200: 5.0, 300: 4.0}, 350),
        1: write(tmp_path / "seed-0001", {100: 3.0, 200: 9.0}, 200),
        2: write(tmp_path / "seed-0002", {}, 50),
        3: tmp_path / "seed-0003",
    }
    ended = {0: Ended("finished"), 1: Ended("diverged", "critic_loss became nan"), 2: Ended("stopped", "after 50")}
    text = write_report(tmp_path, CONFIG, folders, ended)
    curves = [read_curve(seed, folder) for seed, folder in folders.items()]
    row = dict(zip(HEADER, summary_row(curves[0], ended[0]), strict=True))
    assert (row["steps"], row["episodes"], row["evaluations"]) == (350, 3, 3)
    assert (row["last_evaluation"], row["best_evaluation"], row["best_steps"]) == (4.0, 5.0, 200)
    steps, medians = median_curve(curves[:2])  # where both were evaluated
    np.testing.assert_array_equal(steps, [100, 200])
    np.testing.assert_array_equal(medians, [2.0, 7.0])
    report = (tmp_path / "report.md").read_text()
    assert "n = 2 seeds of 4" in report
    assert "- seed 1 diverged: critic_loss became nan" in report
    assert "- seed 3 was not begun" in report
    assert "not begun" in text
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_a_number_that_was_not_finite_is_no_best(tmp_path: Path) -> None:
    curve = read_curve(0, write(tmp_path / "run", {100: float("nan"), 200: -2.0}, 200))
    assert summary_row(curve, Ended("finished"))[HEADER.index("best_evaluation")] == -2.0
