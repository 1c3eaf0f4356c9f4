"""Trains an agent on several seeds in one folder, group by group, and goes on from there when asked to.

Seeds of a group train side by side, a piece each in turn: what they carry is in one program (`doors.fleet`), and all
else of a seed is its own (`seed_run`). A seed that is alone in its group has a program of its own.
"""

import contextlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bayesbellman.doors.agent import Agent
from bayesbellman.doors.checkpoints import SHARE, Checkpoints
from bayesbellman.doors.fleet import train_side_by_side
from bayesbellman.experiments.training.analysis import summary, write_report
from bayesbellman.experiments.training.formation import Formation, form
from bayesbellman.experiments.training.plan import (
    CHECKPOINTS,
    CONFIG,
    CURVE,
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
from bayesbellman.experiments.training.seed_run import Decided, Say, SeedRun, ended_before
from bayesbellman.runs.bundle import Corrupt
from bayesbellman.runs.checkpoint import CheckpointFolder
from bayesbellman.runs.json_files import write_json
from bayesbellman.runs.live_folder import list_as_ours, live_folder, refuse_if_unusable_or_in_use
from bayesbellman.runs.metrics import Gone, MetricsFile, read_metrics
from bayesbellman.runs.progress import progress
from bayesbellman.runs.stopping import Stopped, StopRequest, beside, stop_requests
from bayesbellman.runs.tensorboard import TensorBoard

SAID = ("return", "evaluation", "disagreement")
"""In the order in which progress shows them"""
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
    checkpoint, and where there is nothing it begins. Where all seeds are done, ``out`` stays as it is.
    """
    refuse_if_unusable_or_in_use(out, overwrite=overwrite, resume=resume)
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
    folders = {seed: plan.folder_of(out, seed) for seed in plan.all_seeds()}
    inner = OF_A_SEED if plan.seeds == 1 else [folder.name for folder in folders.values()]
    names = {*OF_ALL_SEEDS, *inner}
    if begun is not None:
        _refuse_fewer_steps(plan, out, begun, folders)
        _refuse_to_begin_again(plan, folders)
        done = {seed: end for seed, folder in folders.items() if (end := ended_before(folder, plan)) is not None}
        if len(done) == plan.seeds:
            return _as_it_is(out, names, {**config, **begun}, folders, done, say)
    if formation.side_by_side == 1:
        _ = agent.player  # what is wrong with its settings or its environment is found before anything is written
    ended: dict[int, Ended] = {}
    with (
        live_folder(out, names, overwrite=overwrite, resume=resume),
        stop_requests(
            lambda: say(STOPPING), lambda: say(f"stopped at once{_kept(out, folders, resume_command)}")
        ) as request,
    ):
        for line in (*lines, *formation.words):
            say(line)
        for name in (SUMMARY, REPORT):  # of an earlier end, which is none now
            (out / name).unlink(missing_ok=True)
        write_json(out / CONFIG, config)
        work = _Work(plan, folders, formation, made, ended, resume, other_version, request, say)
        try:
            for group in formation.groups:
                if request.signum is None:
                    work.train(group)
        except Gone:
            say(f"{out} is gone, so training stops; if it was renamed, --out with the new name and --resume goes on")
            raise
        except BaseException as error:
            if isinstance(error, Corrupt):  # the same command would end the same way
                say(f"what was learnt until then is kept in {out}; --overwrite begins anew, --out names another folder")
            else:
                say(f"failed{_kept(out, folders, resume_command)}")
            with contextlib.suppress(OSError, ValueError):  # what went wrong first is what counts
                write_report(out, config, folders, ended)
            raise
        try:
            text = write_report(out, config, folders, ended)
        except OSError:
            say(f"the report is not written, what was learnt is kept in {out}; write it with: {resume_command}")
            raise
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
        begun = dict(json.loads(path.read_text(encoding="utf-8")))
        if not isinstance(begun["run"]["steps"], int):
            raise TypeError(f"steps of the run are {begun['run']['steps']!r}")
        return begun
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ValueError(f"--resume: {path} cannot be read ({error})") from error


def _as_it_is(
    out: Path,
    names: Collection[str],
    config: Mapping[str, Any],
    folders: Mapping[int, Path],
    ended: dict[int, Ended],
    say: Say,
) -> Outcome:
    """Of a run whose seeds are all done: its files go on saying who made it, as this command trains nothing.

    Only a report that is missing, since the process was killed before it wrote one, is written.
    """
    for seed, end in ended.items():
        say(f"seed {seed} {end.how} before")
    if all((out / name).exists() for name in (CURVE, SUMMARY, REPORT)):
        say(f"nothing is left to train; {out} stays as it is")
        return Outcome(ended, summary(folders, ended))
    with live_folder(out, names, overwrite=False, resume=True):
        return Outcome(ended, write_report(out, config, folders, ended))


def _refuse_fewer_steps(plan: Plan, out: Path, begun: Mapping[str, Any], folders: Mapping[int, Path]) -> None:
    """Steps that are done stay done: a run that was told to have fewer would be described wrongly."""
    before = int(begun["run"].get("steps", 0))
    if plan.steps >= before:
        return
    for seed, folder in folders.items():
        if (done := _steps_done(plan, folder)) > plan.steps:
            raise ValueError(
                f"--resume: --steps is {plan.steps:,}, and seed {seed} in {out} has done {done:,} of {before:,};"
                f" --steps {before} or more goes on with it, --out names another folder for a shorter run"
            )


def _steps_done(plan: Plan, folder: Path) -> int:
    """From which a seed would go on, or with which it ended."""
    written = read_metrics(folder / METRICS) if ended_before(folder, plan) is not None else []
    return max([0, *CheckpointFolder(folder / CHECKPOINTS).steps(), *(record["steps"] for record in written)])


def _refuse_to_begin_again(plan: Plan, folders: Mapping[int, Path]) -> None:
    """A seed that ended and whose checkpoints are gone cannot be made longer, only replaced; nobody asked for that."""
    for seed, folder in folders.items():
        ended = (folder / ENDED).exists() and ended_before(folder, plan) is None
        if ended and not CheckpointFolder(folder / CHECKPOINTS).steps():
            raise ValueError(
                f"--resume: seed {seed} has no checkpoint in {folder / CHECKPOINTS}, so it could only begin again and"
                f" replace what {folder} has; --overwrite does so, --out names another folder"
            )


def _kept(out: Path, folders: Mapping[int, Path], resume_command: str) -> str:
    """What is there of a run that is broken off now, and how to go on."""
    last = [max(CheckpointFolder(folder / CHECKPOINTS).steps(), default=0) for folder in folders.values()]
    low, high = min(last), max(last)
    if not high:
        return (
            f", before the first checkpoint: {out} has nothing to go on from;"
            f" begin again at step 0 with: {resume_command}"
        )
    steps = f"up to step {low:,}" if low == high else f"seeds up to steps {low:,} to {high:,}"
    return f"; what was learnt is kept in {out}, {steps}; go on with: {resume_command}"


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
            done = ended_before(self.folders[seed], self.plan) if self.resume else None
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
            runs: list[SeedRun] = []
            try:
                runs.extend(self.begin(agent, SHARE / len(seeds), together, stack) for agent in agents)
                title = type(agents[0]).__name__ + ("" if self.plan.seeds == 1 else f", {_seeds(going)}")
                with progress(title, self.plan.steps, "steps") as report:
                    report(*_standing(runs), already=True)
                    beside(lambda: _in_turn(runs, lambda: report(*_standing(runs))))
            finally:
                for run in runs:
                    run.keep_agent()
                    self.ended[run.seed] = run.ended

    def begin(self, agent: Agent, share: float, together: "_Together", stack: contextlib.ExitStack) -> SeedRun:
        """A seed with its folder and files, brought back if it was there before."""
        plan, seed, folder = self.plan, int(agent.seed), self.folders[int(agent.seed)]
        if plan.seeds > 1:
            folder.mkdir(exist_ok=True)
            list_as_ours(folder, OF_A_SEED)
            write_json(folder / CONFIG, plan.config(agent, self.formation.side_by_side))
        self.ended[seed] = Ended("failed")
        every, keep = plan.checkpoint_every, plan.keep_checkpoints
        checkpoints = Checkpoints(folder / CHECKPOINTS, every=every, keep=keep, share=share)
        kept = None
        if self.resume:
            kept = checkpoints.restore(agent, other_version=self.other_version, say=self.say)
        if kept is not None:
            self.say(f"seed {seed} goes on from step {agent.num_timesteps:,}")
        elif self.resume and (folder / METRICS).exists():
            self.say(f"seed {seed} has no checkpoint yet: it begins at step 0, and its earlier metrics are dropped")
        begun = 0 if kept is None else agent.num_timesteps
        file = stack.enter_context(MetricsFile(folder / METRICS, None if kept is None else begun))
        if kept is not None and (last := file.kept[-1]["steps"] if file.kept else 0) < begun:
            self.say(f"{folder / METRICS} has lost what it said of steps {last + 1:,} to {begun:,}; curves have a gap")
        boards = stack.enter_context(_boards(plan, folder, begun, self.say))
        run = SeedRun(plan, agent, folder, file, boards, checkpoints, together.decide, self.say)
        run.go_on_from(kept)
        return run


def _seeds(seeds: Sequence[int]) -> str:
    return f"seed {seeds[0]}" if len(seeds) == 1 else f"{len(seeds)} seeds"


def _in_turn(runs: Sequence[SeedRun], report: Callable[[], None]) -> None:
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
            except BaseException:
                run.ended = Ended("failed")
                for other in going:
                    if other is not run and other.goes_on:
                        other.ended = Ended("stopped", f"after {other.steps:,} steps: seed {run.seed} failed")
                raise
        report()
        going = [run for run in going if run.goes_on]


def _standing(runs: Sequence[SeedRun]) -> tuple[int, str]:
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
        self.steps, self.decided = -1, Decided(stop=False, checkpoint=False)

    def decide(self, agent: Agent, checkpoints: Checkpoints) -> Decided:
        if self.steps != agent.num_timesteps:
            self.steps = agent.num_timesteps
            self.decided = Decided(self.request.signum is not None, checkpoints.due(agent))
        return self.decided


def _boards(plan: Plan, folder: Path, begun: int, say: Say) -> "TensorBoard | contextlib.nullcontext[None]":
    return TensorBoard(folder / TENSORBOARD, say, begun) if plan.tensorboard else contextlib.nullcontext()
