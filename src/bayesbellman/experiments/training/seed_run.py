"""One seed's run, from evaluation to evaluation: what it writes on the way, and how it ends."""

import json
import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bayesbellman.core.errors import Diverged
from bayesbellman.doors.agent import Agent
from bayesbellman.doors.callbacks import Progress
from bayesbellman.doors.checkpoints import Checkpoints
from bayesbellman.experiments.training.diagnostics import Diagnostics
from bayesbellman.experiments.training.plan import AGENT, BEST, CULPRIT, DIAGNOSTICS, ENDED, Ended, Plan
from bayesbellman.runs.json_files import write_json
from bayesbellman.runs.metrics import Gone, MetricsFile
from bayesbellman.runs.tensorboard import TensorBoard

Say = Callable[[str], None]
DONE = ("finished", "solved", "diverged")
"""Ends after which there is nothing to go on with"""
MOST_FAILURES = 3
"""So many times in a row what was learnt may not be kept (a full disk) before training stops"""


class Decided(NamedTuple):
    """At a step, for all seeds that train side by side."""

    stop: bool
    checkpoint: bool


Decide = Callable[[Agent, Checkpoints], Decided]
"""Asked after each piece"""


def ended_before(folder: Path, plan: Plan) -> Ended | None:
    """How a seed ended, if there is nothing to go on with."""
    try:
        said = json.loads((folder / ENDED).read_text(encoding="utf-8"))
        end = Ended(str(said["how"]), str(said["words"]))
        return end if end.how in DONE and (said["of_steps"] >= plan.steps or end.how != "finished") else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


class SeedRun:
    """One seed, from evaluation to evaluation."""

    def __init__(
        self,
        plan: Plan,
        agent: Agent,
        folder: Path,
        file: MetricsFile,
        boards: TensorBoard | None,
        checkpoints: Checkpoints,
        decide: Decide,
        say: Say,
    ) -> None:
        self.plan, self.agent, self.folder, self.say = plan, agent, folder, say
        self.file, self.boards, self.checkpoints, self.decide = file, boards, checkpoints, decide
        self.seed = int(agent.seed)
        self.diagnostics = Diagnostics(folder / DIAGNOSTICS, plan.steps, plan.evaluate_every, plan.episodes)
        self.started = time.monotonic()
        self.before = 0.0
        self.target = 0
        self.best: float | None = None
        self.said: dict[str, float] = {}
        self.failures = 0
        self.ended = Ended("finished")
        self.agent_is_kept = False

    def go_on_from(self, kept: Mapping[str, Any] | None) -> None:
        """What an earlier process knew at the checkpoint."""
        if kept is not None:
            self.best = kept.get("best")
            self.before = float(kept.get("seconds", 0.0))

    @property
    def seconds(self) -> float:
        return round(self.before + time.monotonic() - self.started, 3)

    @property
    def steps(self) -> int:
        return self.agent.num_timesteps

    @property
    def goes_on(self) -> bool:
        return self.ended.how == "finished" and self.steps < self.plan.steps

    def piece(self, no_further: int | None) -> None:
        """The next steps, up to an evaluation at most; or to where another seed waits."""
        steps = self.steps
        self.target = min(self.plan.steps, (steps // self.plan.evaluate_every + 1) * self.plan.evaluate_every)
        until = self.target if no_further is None else min(self.target, no_further)
        try:
            self.agent.learn(until - steps, callback=self.after_piece)
        except Diverged as error:
            words = f"{error}. It is kept in {self.folder / AGENT}"
            culprit = error.culprit
            if culprit is not None and self.keeping(lambda: np.savez(self.folder / CULPRIT, **culprit.arrays())):
                words += f", the batch of step {culprit.step:,}, which did it, in {self.folder / CULPRIT}"
            self.ended = Ended("diverged", words)
        if not self.goes_on:
            self.finish()

    def finish(self) -> None:
        """While those beside it go on."""
        self.file.write_pending()  # a run that has ended has all its metrics
        self.keep_agent()
        write_json(self.folder / ENDED, {**self.ended._asdict(), "of_steps": self.plan.steps})
        if self.ended.how in ("solved", "diverged"):
            self.say(f"seed {self.seed} {self.ended.how}: {self.ended.words}")

    def keep_agent(self) -> None:
        """At the end, whatever it is; once. Not into another run's folder that has come in the place of ours."""
        there = self.file.is_there
        if self.agent_is_kept or (not there and self.folder.exists()):
            return
        self.agent.save(self.folder / AGENT)
        self.agent_is_kept = True
        if not there:
            self.say(f"what seed {self.seed} had learnt when its folder went is in {self.folder / AGENT}")

    def after_piece(self, agent: Agent, told: Progress) -> bool:
        """Write down what the piece brought, with an evaluation if one is due. False: the next is another's turn."""
        decided = self.decide(agent, self.checkpoints)
        record: dict[str, Any] = {"steps": told.steps, "seconds": 0.0, "returns": told.returns, "metrics": told.metrics}
        if decided.stop and told.steps < self.plan.steps:
            self.ended = Ended("stopped", f"after {told.steps:,} of {self.plan.steps:,} steps")
        if told.steps >= self.target:
            record["evaluation"] = self.evaluate(told.steps)
        record["seconds"] = self.seconds
        last = self.ended.how != "finished" or told.steps >= self.plan.steps
        if self.keeping(lambda: self.keep(record, last or decided.checkpoint)):
            self.failures = 0
        if len(told.returns):
            self.said["return"] = float(told.returns[-1])
        if "disagreement" in told.metrics:
            self.said["disagreement"] = told.metrics["disagreement"]
        return False

    def keep(self, record: dict[str, Any], checkpoint: bool) -> None:
        """Metrics first: a checkpoint that is there has all of its metrics."""
        self.file.refuse_if_gone()
        self.file.write(record)
        if self.boards is not None:
            self.boards.write(record["steps"], scalars(record))
        if checkpoint:
            self.checkpoints.save(self.agent, {"best": self.best, "seconds": self.seconds})

    def keeping(self, write: Callable[[], object]) -> bool:
        """Whether it was written. A disk that is full for a while costs a warning; the last checkpoint stays."""
        try:
            write()
        except Gone:  # for good
            raise
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
        self.file.refuse_if_gone()
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
