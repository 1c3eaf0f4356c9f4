"""What diagnostics cost a training, and a report: ``python benchmarks/report.py --out results/benchmarks``."""

import json
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import tyro

from bayesbellman.doors.agents import BBAC
from bayesbellman.experiments.report.collect import collect
from bayesbellman.experiments.report.page import render
from bayesbellman.experiments.training.diagnostics import Diagnostics, recorded
from bayesbellman.experiments.training.plan import DIAGNOSTICS, Plan
from bayesbellman.experiments.training.sweep import train
from bayesbellman.runs.provenance import provenance

ENV = "MountainCarContinuous-v0"


@dataclass(frozen=True)
class Benchmark:
    """Train on MountainCar with default settings, with a watch on what is recorded; then make its page."""

    out: Path
    """Folder for report.json and report.md."""
    steps: int = 20_000
    """Of the training."""

    def run(self) -> None:
        spent: list[float] = []
        plain = Diagnostics.record

        def timed(self: Diagnostics, agent: BBAC, steps: int) -> Path:
            started = time.process_time()
            path = plain(self, agent, steps)
            spent.append(time.process_time() - started)
            return path

        Diagnostics.record = timed  # pyright: ignore[reportAttributeAccessIssue]
        with tempfile.TemporaryDirectory() as folder:
            run = Path(folder) / "run"
            started = time.process_time()  # of all threads: other programs on the machine count less
            train(Plan(ENV, BBAC, steps=self.steps), run, overwrite=False, say=print)
            whole = time.process_time() - started
            files = [path.stat().st_size for path in recorded(run / DIAGNOSTICS)]
            started = time.monotonic()
            page = render(collect([run]))
            made = time.monotonic() - started
        numbers = {
            "steps": self.steps,
            "training_cpu_seconds": whole,
            "moments": len(spent),
            "diagnostics_cpu_seconds": sum(spent),
            "first_moment_cpu_seconds": spent[0],
            "share_percent": 100 * sum(spent) / whole,
            "bytes_of_a_moment": max(files),
            "page_seconds": made,
            "page_bytes": len(page.encode()),
        }
        self.out.mkdir(parents=True, exist_ok=True)
        content = {**numbers, "provenance": provenance()}
        (self.out / "report.json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        (self.out / "report.md").write_text(PAGE.format(**numbers, **provenance()), encoding="utf-8")
        print(json.dumps(numbers, indent=2))


PAGE = """# Diagnostics and reports

BBAC on MountainCarContinuous-v0, default settings, {steps:,} steps, one seed ({machine}, commit {commit}):

| measured | value |
|---|---|
| training, evaluations and diagnostics included | {training_cpu_seconds:.0f} s of CPU time |
| diagnostics, {moments} moments | {diagnostics_cpu_seconds:.2f} s, {share_percent:.2f} % of it |
| of these the first, which compiles | {first_moment_cpu_seconds:.2f} s |
| file of a moment | {bytes_of_a_moment:,} bytes |
| page of the run | {page_bytes:,} bytes, made in {page_seconds:.2f} s |

`{command}`
"""

if __name__ == "__main__":
    tyro.cli(Benchmark).run()
