"""Trains an agent on several seeds, keeps what comes of it as it comes, and goes on from there when asked to.

Seeds of a group train side by side, a piece each in turn: what they carry is in one program (`doors.fleet`), and all
else of a seed is its own. A seed that is alone in its group has a program of its own.
"""

import contextlib
import json
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bayesbellman.core.errors import Diverged
from bayesbellman.doors.agent import Agent
from bayesbellman.doors.callbacks import Progress
from bayesbellman.doors.checkpoints import SHARE, Checkpoints
from bayesbellman.doors.fleet import train_side_by_side
from bayesbellman.experiments.training.analysis import write_report
from bayesbellman.experiments.training.diagnostics import Diagnostics
from bayesbellman.experiments.training.formation import Formation, form
from bayesbellman.experiments.training.plan import (
    AGENT,
    BEST,
    CHECKPOINTS,
    CONFIG,
    CULPRIT,
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
from bayesbellman.runs.progress import progress
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
    made = {plan.seed: plan.agent(plan.seed)}
    try:
        return _train(plan, out, made, overwrite, resume, other_version, resume_command, say)
    finally:
        for agent in made.values():
            agent.close()


def _train(
    plan: Plan,
    out: Path,
    made: dict[int, Agent],
    overwrite: bool,
    resume: bool,
    other_version: bool,
    resume_command: str,
    say: Say,
) -> Outcome:
    """``made``: agents that are there already; those that are used are taken from it."""
    agent = made[plan.seed]
    lines = introduction(plan, agent)
    begun = _begun(out) if resume else None
    formation = form(plan, agent, begun)
    config = plan.config(agent, formation.side_by_side)
    if begun is not None and (differing := changes(begun, config)):
        raise ValueError(f"--resume: {out} was begun otherwise: {'; '.join(differing)}; repeat its settings, or --out")
    if formation.side_by_side == 1:
        _ = agent.player  # what is wrong with its settings or its environment is found before anything is written
    folders = {seed: plan.folder_of(out, seed) for seed in plan.all_seeds()}
    inner = OF_A_SEED if plan.seeds == 1 else [folder.name for folder in folders.values()]
    ended: dict[int, Ended] = {}
    with (
        live_folder(out, {*OF_ALL_SEEDS, *inner}, overwrite=overwrite, resume=resume),
        stop_requests(lambda: say(STOPPING)) as request,
    ):
        for line in (*lines, *formation.words):
            say(line)
        for name in (SUMMARY, REPORT):  # of an earlier end, which is none now
            (out / name).unlink(missing_ok=True)
        _write_json(out / CONFIG, config)
        work = _Work(plan, folders, formation, made, ended, resume, other_version, request, say)
        try:
            for group in formation.groups:
                if request.signum is None:
                    work.train(group)
        except Exception:
            say(f"what was learnt until then is kept in {out}; go on with: {resume_command}")
            raise
        finally:
            text = write_report(out, config, folders, ended)
    stopped = len(ended) < plan.seeds or any(end.how == "stopped" for end in ended.values())
    if request.signum is not None and stopped:
        how = ", ".join(f"seed {seed} {end.words or end.how}" for seed, end in ended.items())
        raise Stopped(
            f"stopped ({how}); what was learnt is kept in {out}; go on with: {resume_command}", request.signum
        )
    return Outcome(ended, text)


def _begun(out: Path) -> dict[str, Any] | None:
    """The configuration of a run that is there already."""
    path = out / CONFIG
    if not path.exists():
        return None
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(f"--resume: {path} cannot be read ({error})") from error


def _ended(folder: Path, plan: Plan) -> Ended | None:
    """How a seed ended, if there is nothing to go on with."""
    try:
        said = json.loads((folder / ENDED).read_text(encoding="utf-8"))
        end = Ended(str(said["how"]), str(said["words"]))
        return end if end.how in DONE and (said["of_steps"] >= plan.steps or end.how != "finished") else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


class _Work(NamedTuple):
    """What all seeds share."""

    plan: Plan
    folders: Mapping[int, Path]
    formation: Formation
    made: dict[int, Agent]
    ended: dict[int, Ended]
    resume: bool
    other_version: bool
    request: StopRequest
    say: Say

    def train(self, seeds: range) -> None:
        """Those of one group that are not done."""
        going = []
        for seed in seeds:
            done = _ended(self.folders[seed], self.plan) if self.resume else None
            if done is None:
                going.append(seed)
            else:
                self.say(f"seed {seed} {done.how} before")
                self.ended[seed] = done
        if not going:
            return
        with contextlib.ExitStack() as stack:
            agents = [stack.enter_context(self.made.pop(seed, None) or self.plan.agent(seed)) for seed in going]
            if len(seeds) > 1:  # also those that are done, as ballast: the program stays the same
                train_side_by_side(agents, self.formation.layout(seeds, agents[0]), seeds)
            together = _Together(self.request)
            runs: list[_Run] = []
            try:
                runs.extend(self.begin(agent, SHARE / len(seeds), together, stack) for agent in agents)
                title = type(agents[0]).__name__ + ("" if self.plan.seeds == 1 else f", {_seeds(going)}")
                with progress(title, self.plan.steps, "steps") as report:
                    beside(lambda: _in_turn(runs, lambda: report(*_standing(runs))))
            finally:
                for run in runs:
                    run.keep_agent()
                    self.ended[run.seed] = run.ended

    def begin(self, agent: Agent, share: float, together: "_Together", stack: contextlib.ExitStack) -> "_Run":
        """A seed with its folder and files, brought back if it was there before."""
        plan, seed, folder = self.plan, int(agent.seed), self.folders[int(agent.seed)]
        if plan.seeds > 1:
            folder.mkdir(exist_ok=True)
            list_as_ours(folder, OF_A_SEED)
            _write_json(folder / CONFIG, plan.config(agent, self.formation.side_by_side))
        self.ended[seed] = Ended("failed")
        every, keep = plan.checkpoint_every, plan.keep_checkpoints
        checkpoints = Checkpoints(folder / CHECKPOINTS, every=every, keep=keep, share=share)
        kept = None
        if self.resume:
            kept = checkpoints.restore(agent, other_version=self.other_version, say=self.say)
        if kept is not None:
            self.say(f"seed {seed} goes on from step {agent.num_timesteps:,}")
        begun = 0 if kept is None else agent.num_timesteps
        file = stack.enter_context(MetricsFile(folder / METRICS, None if kept is None else begun))
        boards = stack.enter_context(_boards(plan, folder, begun, self.say))
        run = _Run(plan, agent, folder, file, boards, checkpoints, together, self.say)
        run.go_on_from(kept)
        return run


def _seeds(seeds: Sequence[int]) -> str:
    return f"seed {seeds[0]}" if len(seeds) == 1 else f"{len(seeds)} seeds"


def _in_turn(runs: "Sequence[_Run]", report: Callable[[], None]) -> None:
    """A piece for each, again and again. After a kill some may be ahead: the others catch up first."""
    for run in runs:
        if not run.goes_on:
            run.finish()
    going = [run for run in runs if run.goes_on]
    while going:
        steps = min(run.steps for run in going)
        ahead = min((run.steps for run in going if run.steps > steps), default=None)
        for run in [run for run in going if run.steps == steps]:
            try:
                run.piece(ahead)
            except Exception:
                run.ended = Ended("failed")
                for other in going:
                    if other is not run and other.goes_on:
                        other.ended = Ended("stopped", f"after {other.steps:,} steps: seed {run.seed} failed")
                raise
        report()
        going = [run for run in going if run.goes_on]


def _standing(runs: "Sequence[_Run]") -> tuple[int, str]:
    """Steps of the one that is least far, and how all stand: medians, where there are several."""
    steps = min((run.steps for run in runs if run.goes_on), default=max(run.steps for run in runs))
    median = "" if len(runs) == 1 else " (median)"
    said = {name: [run.said[name] for run in runs if name in run.said] for name in SAID}
    words = ", ".join(f"{name} {np.median(found):.4g}{median}" for name, found in said.items() if found)
    return min(steps, runs[0].plan.steps), words


class _Together:
    """What is decided once for all seeds of a group at a step: to stop, and to take a checkpoint."""

    def __init__(self, request: StopRequest) -> None:
        self.request = request
        self.steps, self.stop, self.due = -1, False, False

    def at(self, agent: Agent, checkpoints: Checkpoints) -> "_Together":
        if self.steps != agent.num_timesteps:
            self.steps = agent.num_timesteps
            self.stop, self.due = self.request.signum is not None, checkpoints.due(agent)
        return self


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
        together: _Together,
        say: Say,
    ) -> None:
        self.plan, self.agent, self.folder, self.say = plan, agent, folder, say
        self.file, self.boards, self.checkpoints, self.together = file, boards, checkpoints, together
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
            if error.culprit is not None:
                np.savez(self.folder / CULPRIT, **error.culprit.arrays())
                words += f", the batch of step {error.culprit.step:,}, which did it, in {self.folder / CULPRIT}"
            self.ended = Ended("diverged", words)
        if not self.goes_on:
            self.finish()

    def finish(self) -> None:
        """While those beside it go on."""
        self.keep_agent()
        _write_json(self.folder / ENDED, {**self.ended._asdict(), "of_steps": self.plan.steps})
        if self.ended.how in ("solved", "diverged"):
            self.say(f"seed {self.seed} {self.ended.how}: {self.ended.words}")

    def keep_agent(self) -> None:
        """At the end, whatever it is; once."""
        if not self.agent_is_kept:
            self.agent.save(self.folder / AGENT)
            self.agent_is_kept = True

    def after_piece(self, agent: Agent, told: Progress) -> bool:
        """Write down what the piece brought, with an evaluation if one is due. False: the next is another's turn."""
        decided = self.together.at(agent, self.checkpoints)
        record: dict[str, Any] = {"steps": told.steps, "seconds": 0.0, "returns": told.returns, "metrics": told.metrics}
        if decided.stop and told.steps < self.plan.steps:
            self.ended = Ended("stopped", f"after {told.steps:,} of {self.plan.steps:,} steps")
        if told.steps >= self.target:
            record["evaluation"] = self.evaluate(told.steps)
        record["seconds"] = self.seconds
        last = self.ended.how != "finished" or told.steps >= self.plan.steps
        if self.keeping(lambda: self.keep(record, last or decided.due)):
            self.failures = 0
        if len(told.returns):
            self.said["return"] = float(told.returns[-1])
        if "disagreement" in told.metrics:
            self.said["disagreement"] = told.metrics["disagreement"]
        return False

    def keep(self, record: dict[str, Any], checkpoint: bool) -> None:
        """Metrics first: a checkpoint that is there has all of its metrics."""
        self.file.write(record)
        if self.boards is not None:
            self.boards.write(record["steps"], scalars(record))
        if checkpoint:
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
