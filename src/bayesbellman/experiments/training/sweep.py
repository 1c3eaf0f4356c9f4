"""Trains an agent, seed after seed, and keeps what comes of it as it comes."""

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from bayesbellman.core.errors import Diverged
from bayesbellman.doors.agents import Agent, Progress
from bayesbellman.experiments.training.analysis import write_report
from bayesbellman.experiments.training.diagnostics import Diagnostics
from bayesbellman.experiments.training.plan import (
    AGENT,
    BEST,
    CONFIG,
    DIAGNOSTICS,
    METRICS,
    OF_A_SEED,
    OF_ALL_SEEDS,
    Ended,
    Plan,
    introduction,
)
from bayesbellman.runs.live_folder import list_as_ours, live_folder, refuse_if_unusable_or_in_use
from bayesbellman.runs.metrics import MetricsFile
from bayesbellman.runs.progress import Report, progress
from bayesbellman.runs.stopping import Stopped, StopRequest, beside, stop_requests

Say = Callable[[str], None]
SAID = ("return", "evaluation", "disagreement")
"""In the order in which progress shows them"""
STOPPING = "stopping: these steps (at most 1,000) are finished and kept first; once more stops at once"


class Outcome(NamedTuple):
    """How each seed ended, and what to print."""

    ended: dict[int, Ended]
    text: str


def train(plan: Plan, out: Path, *, overwrite: bool, say: Say) -> Outcome:
    """Train all seeds and write ``out``. What was learnt is kept also where it is stopped (`Stopped`) or fails."""
    refuse_if_unusable_or_in_use(out, overwrite=overwrite)
    agent: Agent | None = plan.agent(plan.seed)
    lines = introduction(plan, agent)  # makes its player: what is wrong with its settings is found by now
    folders = {seed: plan.folder_of(out, seed) for seed in plan.all_seeds()}
    inner = OF_A_SEED if plan.seeds == 1 else [folder.name for folder in folders.values()]
    ended: dict[int, Ended] = {}
    with (
        live_folder(out, {*OF_ALL_SEEDS, *inner}, overwrite=overwrite),
        stop_requests(lambda: say(STOPPING)) as request,
    ):
        for line in lines:
            say(line)
        config = plan.config(agent)
        _write_json(out / CONFIG, config)
        try:
            for seed, folder in folders.items():
                if request.signum is not None:
                    break
                agent = plan.agent(seed) if agent is None else agent
                if plan.seeds > 1:
                    folder.mkdir()
                    list_as_ours(folder, OF_A_SEED)
                    _write_json(folder / CONFIG, plan.config(agent))
                ended[seed] = Ended("failed")
                ended[seed] = _train_seed(plan, seed, agent, folder, request, say)
                agent = None
        except Exception:
            say(f"what was learnt until then is kept in {out}")
            raise
        finally:
            text = write_report(out, config, folders, ended)
    stopped = len(ended) < plan.seeds or any(end.how == "stopped" for end in ended.values())
    if request.signum is not None and stopped:
        how = ", ".join(f"seed {seed} {end.words or end.how}" for seed, end in ended.items())
        raise Stopped(f"stopped ({how}); what was learnt is kept in {out}", request.signum)
    return Outcome(ended, text)


def _train_seed(plan: Plan, seed: int, agent: Agent, folder: Path, request: StopRequest, say: Say) -> Ended:
    title = type(agent).__name__ if plan.seeds == 1 else f"{type(agent).__name__}, seed {seed}"
    with MetricsFile(folder / METRICS) as file, progress(title, plan.steps, "steps") as report:
        run = _Run(plan, agent, folder, file, report, request)
        try:
            beside(run)
        except Diverged as error:
            run.ended = Ended("diverged", f"{error}. It is kept in {folder / AGENT}")
        finally:
            agent.save(folder / AGENT)
    if run.ended.how in ("solved", "diverged"):
        say(f"seed {seed} {run.ended.how}: {run.ended.words}")
    return run.ended


class _Run:
    """One seed, from evaluation to evaluation."""

    def __init__(
        self, plan: Plan, agent: Agent, folder: Path, file: MetricsFile, report: Report, request: StopRequest
    ) -> None:
        self.plan, self.agent, self.folder = plan, agent, folder
        self.file, self.report, self.request = file, report, request
        self.diagnostics = Diagnostics(folder / DIAGNOSTICS, plan.steps, plan.evaluate_every, plan.episodes)
        self.started = time.monotonic()
        self.target = 0
        self.best: float | None = None
        self.said: dict[str, float] = {}
        self.ended = Ended("finished")

    def __call__(self) -> None:
        every, steps = self.plan.evaluate_every, 0
        while steps < self.plan.steps and self.ended.how == "finished":
            self.target = min(self.plan.steps, (steps // every + 1) * every)
            self.agent.learn(self.target - steps, callback=self.after_piece)
            steps = self.agent.num_timesteps

    def after_piece(self, agent: Agent, told: Progress) -> bool:
        """Write down what the piece brought, with an evaluation if one is due. False: that was the last."""
        record: dict[str, Any] = {"steps": told.steps, "seconds": 0.0, "returns": told.returns, "metrics": told.metrics}
        if self.request.signum is not None and told.steps < self.plan.steps:
            self.ended = Ended("stopped", f"after {told.steps:,} of {self.plan.steps:,} steps")
        elif told.steps >= self.target:
            record["evaluation"] = self.evaluate(told.steps)
        record["seconds"] = round(time.monotonic() - self.started, 3)
        self.file.write(record)
        if len(told.returns):
            self.said["return"] = float(told.returns[-1])
        if "disagreement" in told.metrics:
            self.said["disagreement"] = told.metrics["disagreement"]
        words = ", ".join(f"{name} {self.said[name]:.4g}" for name in SAID if name in self.said)
        self.report(min(told.steps, self.plan.steps), words)
        return self.ended.how == "finished"

    def evaluate(self, steps: int) -> dict[str, Any]:
        returns = self.agent.evaluate(self.plan.episodes)
        mean = self.said["evaluation"] = float(returns.mean())
        if self.best is None or mean > self.best:
            self.best = mean
            self.agent.save(self.folder / BEST)
        if self.plan.solved is not None and mean >= self.plan.solved:
            words = f"evaluation {mean:.4g} >= {self.plan.solved:g} after {steps:,} of {self.plan.steps:,} steps"
            self.ended = Ended("solved", words)
        self.diagnostics.after_evaluation(self.agent, steps, last=self.ended.how != "finished")
        return {"mean": mean, "returns": returns}


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")
