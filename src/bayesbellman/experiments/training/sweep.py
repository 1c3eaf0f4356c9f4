"""Trains an agent, seed after seed, keeps what comes of it as it comes, and goes on from there when asked to."""

import contextlib
import json
import math
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bayesbellman.core.errors import Diverged
from bayesbellman.doors.agent import Agent
from bayesbellman.doors.callbacks import Progress
from bayesbellman.doors.checkpoints import Checkpoints
from bayesbellman.experiments.training.analysis import write_report
from bayesbellman.experiments.training.diagnostics import Diagnostics
from bayesbellman.experiments.training.plan import (
    AGENT,
    BEST,
    CHECKPOINTS,
    CONFIG,
    DIAGNOSTICS,
    ENDED,
    METRICS,
    OF_A_SEED,
    OF_ALL_SEEDS,
    REPORT,
    SUMMARY,
    TENSORBOARD,
    Ended,
    Plan,
    changes,
    introduction,
)
from bayesbellman.runs.live_folder import list_as_ours, live_folder, refuse_if_unusable_or_in_use
from bayesbellman.runs.metrics import MetricsFile
from bayesbellman.runs.progress import Report, progress
from bayesbellman.runs.stopping import Stopped, StopRequest, beside, stop_requests
from bayesbellman.runs.tensorboard import TensorBoard

Say = Callable[[str], None]
SAID = ("return", "evaluation", "disagreement")
"""In the order in which progress shows them"""
DONE = ("finished", "solved", "diverged")
"""Ends after which there is nothing to go on with"""
MOST_FAILURES = 3
"""So many times in a row what was learnt may not be kept (a full disk) before training stops"""
STOPPING = "stopping: these steps (at most 1,000) are finished and kept first; once more stops at once"


class Outcome(NamedTuple):
    """How each seed ended, and what to print."""

    ended: dict[int, Ended]
    text: str


def train(
    plan: Plan,
    out: Path,
    *,
    overwrite: bool = False,
    resume: bool = False,
    other_version: bool = False,
    resume_command: str = "the same command with --resume",
    say: Say,
) -> Outcome:
    """Train all seeds and write ``out``. What was learnt is kept also where it is stopped (`Stopped`) or fails.

    ``resume``: go on with what ``out`` holds; seeds that are done are left alone, others go on from their last
    checkpoint, and where there is nothing it begins.
    """
    refuse_if_unusable_or_in_use(out, overwrite=overwrite or resume)
    agent: Agent | None = plan.agent(plan.seed)
    lines = introduction(plan, agent)  # makes its player: what is wrong with its settings is found by now
    config = plan.config(agent)
    if resume:
        _refuse_if_another(out, config)
    folders = {seed: plan.folder_of(out, seed) for seed in plan.all_seeds()}
    inner = OF_A_SEED if plan.seeds == 1 else [folder.name for folder in folders.values()]
    ended: dict[int, Ended] = {}
    with (
        live_folder(out, {*OF_ALL_SEEDS, *inner}, overwrite=overwrite, resume=resume),
        stop_requests(lambda: say(STOPPING)) as request,
    ):
        for line in lines:
            say(line)
        for name in (SUMMARY, REPORT):  # of an earlier end, which is none now
            (out / name).unlink(missing_ok=True)
        _write_json(out / CONFIG, config)
        try:
            for seed, folder in folders.items():
                if request.signum is not None:
                    break
                done = _ended(folder, plan) if resume else None
                if done is not None:
                    say(f"seed {seed} {done.how} before")
                    ended[seed] = done
                    continue
                agent = plan.agent(seed) if agent is None or agent.seed != seed else agent
                if plan.seeds > 1:
                    folder.mkdir(exist_ok=True)
                    list_as_ours(folder, OF_A_SEED)
                    _write_json(folder / CONFIG, plan.config(agent))
                ended[seed] = Ended("failed")
                checkpoints = Checkpoints(folder / CHECKPOINTS, every=plan.checkpoint_every, keep=plan.keep_checkpoints)
                kept = checkpoints.restore(agent, other_version=other_version, say=say) if resume else None
                if kept is not None:
                    say(f"seed {seed} goes on from step {agent.num_timesteps:,}")
                ended[seed] = _train_seed(plan, seed, agent, folder, checkpoints, kept, request, say)
                _write_json(folder / ENDED, {**ended[seed]._asdict(), "of_steps": plan.steps})
                agent = None
        except Exception:
            say(f"what was learnt until then is kept in {out}; go on with: {resume_command}")
            raise
        finally:
            if agent is not None:
                agent.close()
            text = write_report(out, config, folders, ended)
    stopped = len(ended) < plan.seeds or any(end.how == "stopped" for end in ended.values())
    if request.signum is not None and stopped:
        how = ", ".join(f"seed {seed} {end.words or end.how}" for seed, end in ended.items())
        raise Stopped(
            f"stopped ({how}); what was learnt is kept in {out}; go on with: {resume_command}", request.signum
        )
    return Outcome(ended, text)


def _refuse_if_another(out: Path, config: Mapping[str, Any]) -> None:
    """A run that was begun with other settings is not gone on with."""
    path = out / CONFIG
    if not path.exists():
        return
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"--resume: {path} cannot be read ({error})") from error
    if differing := changes(kept, config):
        raise ValueError(f"--resume: {out} was begun otherwise: {'; '.join(differing)}; repeat its settings, or --out")


def _ended(folder: Path, plan: Plan) -> Ended | None:
    """How a seed ended, if there is nothing to go on with."""
    try:
        said = json.loads((folder / ENDED).read_text(encoding="utf-8"))
        end = Ended(str(said["how"]), str(said["words"]))
        return end if end.how in DONE and (said["of_steps"] >= plan.steps or end.how != "finished") else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _train_seed(
    plan: Plan,
    seed: int,
    agent: Agent,
    folder: Path,
    checkpoints: Checkpoints,
    kept: Mapping[str, Any] | None,
    request: StopRequest,
    say: Say,
) -> Ended:
    title = type(agent).__name__ if plan.seeds == 1 else f"{type(agent).__name__}, seed {seed}"
    begun = 0 if kept is None else agent.num_timesteps
    with (
        agent,
        MetricsFile(folder / METRICS, None if kept is None else begun) as file,
        _boards(plan, folder, begun, say) as boards,
        progress(title, plan.steps, "steps") as report,
    ):
        run = _Run(plan, agent, folder, file, boards, checkpoints, report, request, say)
        run.go_on_from(kept)
        try:
            beside(run)
        except Diverged as error:
            run.ended = Ended("diverged", f"{error}. It is kept in {folder / AGENT}")
        finally:
            agent.save(folder / AGENT)
    if run.ended.how in ("solved", "diverged"):
        say(f"seed {seed} {run.ended.how}: {run.ended.words}")
    return run.ended


def _boards(plan: Plan, folder: Path, begun: int, say: Say) -> "TensorBoard | contextlib.nullcontext[None]":
    return TensorBoard(folder / TENSORBOARD, say, begun) if plan.tensorboard else contextlib.nullcontext()


class _Run:
    """One seed, from evaluation to evaluation."""

    def __init__(
        self,
        plan: Plan,
        agent: Agent,
        folder: Path,
        file: MetricsFile,
        boards: TensorBoard | None,
        checkpoints: Checkpoints,
        report: Report,
        request: StopRequest,
        say: Say,
    ) -> None:
        self.plan, self.agent, self.folder, self.say = plan, agent, folder, say
        self.file, self.boards, self.checkpoints, self.report, self.request = file, boards, checkpoints, report, request
        self.diagnostics = Diagnostics(folder / DIAGNOSTICS, plan.steps, plan.evaluate_every, plan.episodes)
        self.started = time.monotonic()
        self.before = 0.0
        self.target = 0
        self.best: float | None = None
        self.said: dict[str, float] = {}
        self.failures = 0
        self.ended = Ended("finished")

    def go_on_from(self, kept: Mapping[str, Any] | None) -> None:
        """What an earlier process knew at the checkpoint."""
        if kept is not None:
            self.best = kept.get("best")
            self.before = float(kept.get("seconds", 0.0))

    @property
    def seconds(self) -> float:
        return round(self.before + time.monotonic() - self.started, 3)

    def __call__(self) -> None:
        every, steps = self.plan.evaluate_every, self.agent.num_timesteps
        while steps < self.plan.steps and self.ended.how == "finished":
            self.target = min(self.plan.steps, (steps // every + 1) * every)
            self.agent.learn(self.target - steps, callback=self.after_piece)
            steps = self.agent.num_timesteps

    def after_piece(self, agent: Agent, told: Progress) -> bool:
        """Write down what the piece brought, with an evaluation if one is due. False: that was the last."""
        record: dict[str, Any] = {"steps": told.steps, "seconds": 0.0, "returns": told.returns, "metrics": told.metrics}
        if self.request.signum is not None and told.steps < self.plan.steps:
            self.ended = Ended("stopped", f"after {told.steps:,} of {self.plan.steps:,} steps")
        if told.steps >= self.target:
            record["evaluation"] = self.evaluate(told.steps)
        record["seconds"] = self.seconds
        last = self.ended.how != "finished" or told.steps >= self.plan.steps
        if self.keeping(lambda: self.keep(record, last)):
            self.failures = 0
        if len(told.returns):
            self.said["return"] = float(told.returns[-1])
        if "disagreement" in told.metrics:
            self.said["disagreement"] = told.metrics["disagreement"]
        words = ", ".join(f"{name} {self.said[name]:.4g}" for name in SAID if name in self.said)
        self.report(min(told.steps, self.plan.steps), words)
        return self.ended.how == "finished"

    def keep(self, record: dict[str, Any], last: bool) -> None:
        """Metrics first: a checkpoint that is there has all of its metrics."""
        self.file.write(record)
        if self.boards is not None:
            self.boards.write(record["steps"], scalars(record))
        if last or self.checkpoints.due(self.agent):
            self.checkpoints.save(self.agent, {"best": self.best, "seconds": self.seconds})

    def keeping(self, write: Callable[[], object]) -> bool:
        """Whether it was written. A disk that is full for a while costs a warning; the last checkpoint stays."""
        try:
            write()
        except OSError as error:
            self.failures += 1
            if self.failures > MOST_FAILURES:
                raise
            left = MOST_FAILURES - self.failures
            self.say(f"what was learnt could not be kept ({error}); training goes on, {left} more such and it stops")
            return False
        return True

    def evaluate(self, steps: int) -> dict[str, Any]:
        returns = self.agent.evaluate(self.plan.episodes)
        mean = self.said["evaluation"] = float(returns.mean())
        if self.best is None or mean > self.best:
            self.best = mean if math.isfinite(mean) else None
            self.keeping(lambda: self.agent.save(self.folder / BEST))
        if self.plan.solved is not None and mean >= self.plan.solved:
            words = f"evaluation {mean:.4g} >= {self.plan.solved:g} after {steps:,} of {self.plan.steps:,} steps"
            self.ended = Ended("solved", words)
        last = self.ended.how != "finished"
        self.keeping(lambda: self.diagnostics.after_evaluation(self.agent, steps, last=last))
        return {"mean": mean, "returns": returns}


def scalars(record: Mapping[str, Any]) -> dict[str, float]:
    """A piece's numbers, for curves."""
    found = {f"metrics/{name}": float(value) for name, value in record["metrics"].items()}
    if len(record["returns"]):
        found["return/training"] = float(np.mean(record["returns"]))
    if "evaluation" in record:
        found["return/evaluation"] = float(record["evaluation"]["mean"])
    return found


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    scratch = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    scratch.write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    scratch.replace(path)
