"""Runs a plan: jobs side by side on the cores, each kept when it is done, so that what is killed resumes.

Long jobs are made in pieces, and put down on the way (`Desk`). What is kept can be copied and gone on with elsewhere.
"""

import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp

from bayesbellman.core.threads import cores, one_blas_thread_each
from bayesbellman.experiments.artefact import Arrays, Artefact, Desk, Done, Job, Paused, Plan, Request
from bayesbellman.experiments.work_folder import (
    PIECES,
    SETTINGS,
    SPENT,
    Keeping,
    Say,
    drop_jobs,
    keep_time,
    kept_jobs,
    open_work,
    spent,
    work_folder,
)
from bayesbellman.runs.folder import refuse_if_unusable, remove_folder, whole_folder
from bayesbellman.runs.lock import LOCK, locked
from bayesbellman.runs.progress import Report, progress
from bayesbellman.runs.provenance import provenance
from bayesbellman.runs.stopping import Stopped, StopRequest, stop_requests

SO_FAR = "so-far"
"""The folder with a report of what there is when a study is stopped"""
REPORT_SHARE = 0.03
"""Of a time limit, that is left for it"""
TOO_LATE = 0.1
"""Share of a time limit; in what is left of it then no job is begun"""


class Outcome(NamedTuple):
    """What to print, and whether every job succeeded."""

    text: str
    complete: bool
    written: bool = True
    """Whether the results are there; they are not where only some of the jobs were asked for"""


class TimeLimit:
    """So many seconds from now on; None is as many as it takes."""

    def __init__(self, seconds: float | None) -> None:
        if seconds is not None and not seconds > 0:
            raise ValueError(f"--minutes is {seconds / 60:g}; accepted is a number > 0")
        self.seconds, self._begun = seconds, time.monotonic()

    def allows(self, seconds: float) -> bool:
        """Whether so many more are left, before a report of it is written."""
        return self.seconds is None or time.monotonic() - self._begun + seconds < (1 - REPORT_SHARE) * self.seconds

    @property
    def allows_a_job(self) -> bool:
        return self.seconds is None or self.allows(TOO_LATE * self.seconds)


def reproduce(
    artefact: Artefact,
    request: Request,
    out: Path,
    *,
    overwrite: bool,
    say: Say,
    minutes: float | None = None,
    jobs: tuple[str, ...] = (),
) -> Outcome:
    """Run the artefact's plan and write its results to ``out``, which appears when all jobs have been tried.

    Finished jobs are kept beside it, in ``out`` with ``.part`` added, until all have succeeded, and so is what those
    have done that are made in pieces: the same request by the same code resumes from there. ``minutes``: stop by then.
    ``jobs``: only these, in this order; where others are then still to be done, they are kept and nothing is written.
    """
    limit = TimeLimit(None if minutes is None else 60 * minutes)
    plan = artefact.plan(request)
    asked = jobs_named(plan, jobs)
    refuse_if_unusable(out, overwrite=overwrite)
    work = work_folder(out)
    with locked(work):
        open_work(work, plan, overwrite=overwrite)
        with progress(artefact.name, sum(job.units for job in plan.jobs), plan.unit) as report:
            show = partial(_show, artefact, plan, work)
            done = run_plan(plan, work, report, say, limit=limit, show=show, asked=asked)
        if not done.results:
            raise RuntimeError(f"no job succeeded; the first failed with {next(iter(done.failures.values()))}")
        if done.unfinished:
            return Outcome(_kept_for_others(plan, done, work), not done.failures, written=False)
        try:
            with whole_folder(out, overwrite=overwrite) as folder:
                text = artefact.analyse(plan, done, folder)
        except Exception:
            say(f"the results are not written; jobs that have ended are kept in {work}, the same command goes on")
            raise
        if not done.failures:
            drop_jobs(work)
            remove_folder(work / SO_FAR)
            for ours in (SETTINGS, SPENT, LOCK):
                (work / ours).unlink(missing_ok=True)
    if not any(work.iterdir()):
        work.rmdir()
    return Outcome(text, not done.failures)


def jobs_named(plan: Plan, names: tuple[str, ...]) -> tuple[Job, ...]:
    """The plan's jobs of these names, in that order; all if none is named."""
    jobs = {job.name: job for job in plan.jobs}
    if unknown := [repr(name) for name in names if name not in jobs]:
        there = ", ".join(map(repr, jobs))
        raise ValueError(f"--jobs: there is no {', '.join(unknown)}; there are {there}")
    return tuple(jobs[name] for name in dict.fromkeys(names or jobs))


def _kept_for_others(plan: Plan, done: Done, work: Path) -> str:
    left = ", ".join(done.unfinished)
    return (
        f"{len(done.results)} of {len(plan.jobs)} jobs are kept in {work}, still to be done: {left}; the same command"
        " without --jobs does them, once the files NAME.npz of what was done elsewhere are there too"
    )


def _show(artefact: Artefact, plan: Plan, work: Path, done: Done) -> str:
    """A report of what there is so far; where it is, in words."""
    with whole_folder(work / SO_FAR, overwrite=True) as folder:
        artefact.analyse(plan, done, folder)
    return f"; so far: {work / SO_FAR / 'report.md'}"


def run_plan(
    plan: Plan,
    work: Path,
    report: Report,
    say: Say,
    workers: int | None = None,
    limit: TimeLimit | None = None,
    show: Callable[[Done], str] = lambda done: "",
    asked: tuple[Job, ...] | None = None,
) -> Done:
    """Do the jobs that ``work`` does not hold yet, or of those the ones that are ``asked`` for. A job that fails is
    reported and does not stop the others.

    Compiled programs run outside Python's lock, so threads keep all cores busy and share what is compiled. Asked to
    stop, or at the limit of its time, it begins no job, has those that are made in pieces put down what they have, and
    ends and keeps the others that are running (`Stopped`). ``show``: writes down what jobs made in pieces have so far,
    and says where.
    """
    started, limit, earlier = time.monotonic(), limit or TimeLimit(None), spent(work)
    results, failures = kept_jobs(plan, work, say), {}
    resumed = len(results)
    if resumed:
        say(f"resumed: {resumed} of {len(plan.jobs)} jobs were already done")
    tally = _Tally(report, {job.name: job.units for job in plan.jobs if job.name in results})
    asked = plan.jobs if asked is None else asked
    pending = [job for job in asked if job.name not in results]
    jax.block_until_ready(jnp.linalg.inv(jnp.eye(2)))  # loads the LAPACK that JAX calls, so that the limit finds it
    running: dict[Future[Arrays], Job] = {}
    begun: dict[str, Arrays] = {}
    keep = Keeping(work, say)

    def stop() -> None:
        left = [job for future, job in list(running.items()) if not future.cancel()]
        how = "brought to their end or put down" if any(job.in_pieces for job in left) else "brought to their end"
        say(f"stopping: {len(left)} running jobs are {how} first; once more stops at once")

    def stop_at_once() -> None:
        say(f"stopped at once: jobs that have ended are kept in {work}; the same command resumes")

    def run(job: Job, request: StopRequest) -> Arrays:
        if not limit.allows_a_job:
            raise Paused
        if not job.in_pieces:
            return job.run()
        return job.run(
            Desk(
                work / f"{job.name}{PIECES}",
                lambda seconds: request.signum is not None or not limit.allows(seconds),
                lambda units: tally.set(job.name, units),
                lambda units: tally.set(job.name, units, already=True),
            )
        )

    with (
        one_blas_thread_each(),
        ThreadPoolExecutor(workers or _side_by_side(plan)) as pool,
        stop_requests(stop, stop_at_once) as request,
    ):
        for job in pending:
            running[pool.submit(run, job, request)] = job
        while running:
            if request.signum is not None:  # also for a signal that came while jobs were handed out
                for future in running:
                    future.cancel()
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                job = running.pop(future)
                if future.cancelled():
                    continue
                try:
                    results[job.name] = future.result()
                    keep(job.name, results[job.name], earlier + time.monotonic() - started)
                except Paused as paused:
                    if paused.so_far is not None:
                        begun[job.name] = paused.so_far
                    continue
                except Exception as error:
                    failures[job.name] = f"{type(error).__name__}: {error}"
                    say(f"job {job.name} failed: {failures[job.name]}")
                tally.set(job.name, job.units)
            if keep.too_many:
                for future in running:
                    future.cancel()
    keep.at_last()
    unfinished = tuple(job.name for job in plan.jobs if job.name not in results and job.name not in failures)
    seconds = earlier + time.monotonic() - started
    if unfinished:
        keep_time(work, seconds)
    if any(job.name in unfinished for job in asked):
        total = sum(job.units for job in plan.jobs)
        so_far = Done({**results, **begun}, failures, seconds, resumed, unfinished)
        shown = show(so_far) if so_far.results and any(job.in_pieces for job in plan.jobs) else ""
        raise Stopped(
            f"stopped: {len(results)} of {len(plan.jobs)} jobs are kept in {work}; the same command resumes"
            f" ({tally.total:,} of {total:,} {plan.unit} are done{shown}):"
            f" {provenance()['command']}",
            signal.SIGTERM if request.signum is None else request.signum,
        )
    return Done(results, failures, seconds, resumed, unfinished)


class _Tally:
    """Units done, by job; jobs in several threads may report theirs."""

    def __init__(self, report: Report, done: dict[str, int]) -> None:
        self._report, self._done, self._lock = report, done, threading.Lock()
        report(self.total, "", already=True)

    @property
    def total(self) -> int:
        return sum(self._done.values())

    def set(self, name: str, units: int, already: bool = False) -> None:
        with self._lock:
            self._done[name] = units
            self._report(self.total, name, already=already)


def _side_by_side(plan: Plan) -> int | None:
    """Jobs at a time: one per core, or two on an accelerator, where one computes while the other is compiled.

    Long ones, made in pieces, are done one after the other there: each fills it, and what is finished is kept."""
    if jax.default_backend() == "cpu":
        return cores()
    return 1 if any(job.in_pieces for job in plan.jobs) else 2
