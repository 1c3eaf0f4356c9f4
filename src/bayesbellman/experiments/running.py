"""Runs a plan: jobs side by side on the cores, each kept when it is done, so that what is killed resumes."""

import json
import os
import shutil
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

import jax
import jax.numpy as jnp

from bayesbellman.core.threads import one_blas_thread_each
from bayesbellman.experiments.artefact import Arrays, Artefact, Done, Job, Plan, Request
from bayesbellman.runs.arrays import Damaged, read_arrays, write_arrays
from bayesbellman.runs.folder import refuse_if_unusable, whole_folder
from bayesbellman.runs.lock import locked
from bayesbellman.runs.progress import Report, progress

Say = Callable[[str], None]
SETTINGS = "settings.json"


def reproduce(artefact: Artefact, request: Request, out: Path, *, overwrite: bool, say: Say) -> str:
    """Run the artefact's plan and write its results to ``out``, which appears when they are complete.

    Until then finished jobs are kept beside it, in ``out`` with ``.part`` added, from which the same request resumes.
    """
    plan = artefact.plan(request)
    refuse_if_unusable(out, overwrite=overwrite)
    work = out.with_name(out.name + ".part")
    if overwrite and (work / SETTINGS).exists():
        with locked(work):
            shutil.rmtree(work)
    open_work(work, plan)
    with locked(work):
        with progress(artefact.name, sum(job.units for job in plan.jobs), plan.unit) as report:
            done = run_plan(plan, work, report, say)
        if not done.results:
            raise RuntimeError(f"no job succeeded; the first failed with {next(iter(done.failures.values()))}")
        with whole_folder(out, overwrite=overwrite) as folder:
            text = artefact.analyse(plan, done, folder)
        if not done.failures:  # else what succeeded is kept, and the same command tries the rest again
            shutil.rmtree(work)
    return text


def run_plan(plan: Plan, work: Path, report: Report, say: Say, workers: int | None = None) -> Done:
    """Do the jobs that ``work`` does not hold yet. A job that fails is reported and does not stop the others.

    Compiled programs run outside Python's lock, so threads keep all cores busy and share what is compiled.
    """
    results, failures = _kept(plan, work, say), {}
    done = sum(job.units for job in plan.jobs if job.name in results)
    if results:
        say(f"resumed: {len(results)} of {len(plan.jobs)} jobs were already done")
    report(done, "")
    pending = [job for job in plan.jobs if job.name not in results]
    jax.block_until_ready(jnp.linalg.inv(jnp.eye(2)))  # loads the LAPACK that JAX calls, so that the limit finds it
    with one_blas_thread_each(), ThreadPoolExecutor(workers or os.cpu_count()) as pool:
        running: dict[Future[Arrays], Job] = {pool.submit(job.run): job for job in pending}
        try:
            while running:
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    job = running.pop(future)
                    try:
                        arrays = future.result()
                        write_arrays(work / f"{job.name}.npz", arrays)
                        results[job.name] = arrays
                    except Exception as error:
                        failures[job.name] = f"{type(error).__name__}: {error}"
                        say(f"job {job.name} failed: {failures[job.name]}")
                    done += job.units
                    report(done, job.name)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return Done(results, failures)


def open_work(work: Path, plan: Plan) -> None:
    """Make the folder that keeps finished jobs, or take up the one of an interrupted run of the same settings."""
    settings = json.loads(json.dumps(plan.settings))
    path = work / SETTINGS
    if path.exists():
        try:
            begun = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{path} cannot be read ({error}); remove {work}, or add --overwrite") from None
        if begun != settings:
            names = sorted(name for name in {*begun, *settings} if begun.get(name) != settings.get(name))
            changes = "; ".join(f"{name} was {begun.get(name)}, is {settings.get(name)}" for name in names)
            raise FileExistsError(
                f"{work} holds an interrupted run with other settings ({changes});"
                " repeat its settings to resume it, name another --out, or add --overwrite to drop it"
            )
        return
    work.mkdir(parents=True, exist_ok=True)
    scratch = path.with_suffix(".tmp")
    scratch.write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    scratch.replace(path)


def _kept(plan: Plan, work: Path, say: Say) -> dict[str, Arrays]:
    kept: dict[str, Arrays] = {}
    for job in plan.jobs:
        path = work / f"{job.name}.npz"
        if path.exists():
            try:
                kept[job.name] = read_arrays(path)
            except Damaged as error:
                say(f"{error}; the job is done again")
    return kept
