"""What every artefact gets from the frame: resuming, refusing, failing job by job, verdicts."""

import os
import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest
from tests.experiments import toy

from bayesbellman.experiments import checking, running, work_folder
from bayesbellman.experiments.artefact import Request, choose
from bayesbellman.experiments.registry import TITLES, artefact
from bayesbellman.experiments.running import reproduce
from bayesbellman.runs.lock import InUse, locked
from bayesbellman.runs.stopping import Stopped


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    toy.ran.clear()
    toy.broken.clear()
    yield
    toy.broken.clear()


def make(out: Path, seeds: int = 6, overwrite: bool = False) -> tuple[str, list[str]]:
    said: list[str] = []
    return reproduce(toy.TOY, Request(seeds=seeds), out, overwrite=overwrite, say=said.append).text, said


def test_results_appear_whole_and_nothing_else_is_left(tmp_path: Path) -> None:
    text, said = make(tmp_path / "out")
    assert text == "6 squares, 0 jobs failed"
    assert said == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


def test_a_failed_job_is_reported_and_can_be_tried_again(tmp_path: Path) -> None:
    """What succeeded is shown and kept; an existing result is not replaced unasked."""
    toy.broken.add("squares.2")
    text, said = make(tmp_path / "out")
    assert text == "4 squares, 1 jobs failed"
    assert said == ["job squares.2 failed: ArithmeticError: the square is round"]
    with pytest.raises(FileExistsError, match="already has files in it"):
        make(tmp_path / "out")
    toy.broken.clear()
    toy.ran.clear()
    assert make(tmp_path / "out", overwrite=True) == (
        "6 squares, 0 jobs failed",
        ["resumed: 2 of 3 jobs were already done"],
    )
    assert toy.ran == ["squares.2"]


def full_disk(monkeypatch: pytest.MonkeyPatch, times: float) -> None:
    """The next so many jobs cannot be written down."""
    write, calls = work_folder.write_arrays, []

    def full(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
        calls.append(path)
        if len(calls) <= times:
            raise OSError(28, "No space left on device")
        write(path, arrays)

    monkeypatch.setattr(work_folder, "write_arrays", full)


def test_a_job_that_finds_no_room_waits_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hours may be in it."""
    full_disk(monkeypatch, times=2)
    text, said = make(tmp_path / "out")
    assert text == "6 squares, 0 jobs failed"
    assert len(said) == 2
    assert all("is done and cannot be kept in" in words and words.endswith("make room there") for words in said)
    assert len(toy.ran) == 3


def test_a_disk_that_stays_full_ends_a_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before it has done everything in vain."""

    class Slowly(list):
        def append(self, name: str) -> None:
            time.sleep(0.05)
            super().append(name)

    monkeypatch.setattr(toy, "ran", Slowly())
    monkeypatch.setattr(running, "cores", lambda: 1)
    full_disk(monkeypatch, times=np.inf)
    with pytest.raises(OSError, match=r"must be done again, .* make room, and the same command goes on"):
        make(tmp_path / "out", seeds=40)
    assert len(toy.ran) < 10


def test_results_that_cannot_be_written_leave_the_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, *given: object, **named: object) -> int:
        raise OSError(28, "No space left on device")

    said: list[str] = []
    request = Request(seeds=6)
    monkeypatch.setattr(toy, "write_csv", full)
    with pytest.raises(OSError, match="No space left"):
        reproduce(toy.TOY, request, tmp_path / "out", overwrite=False, say=said.append)
    work = tmp_path / "out.part"
    assert said == [f"the results are not written; jobs that have ended are kept in {work}, the same command goes on"]
    monkeypatch.undo()
    assert make(tmp_path / "out") == ("6 squares, 0 jobs failed", ["resumed: 3 of 3 jobs were already done"])


def test_when_every_job_fails_there_is_no_result(tmp_path: Path) -> None:
    toy.broken.update({"squares.0", "squares.2", "squares.4"})
    with pytest.raises(RuntimeError, match="no job succeeded; the first failed with ArithmeticError"):
        make(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def interrupted(tmp_path: Path) -> Path:
    """What a run that was killed after its first job leaves behind."""
    toy.broken.update({"squares.2", "squares.4"})
    make(tmp_path / "out")
    (tmp_path / "out").rename(tmp_path / "elsewhere")
    toy.broken.clear()
    toy.ran.clear()
    return tmp_path / "out.part"


def test_only_what_is_missing_is_done_after_an_interruption(tmp_path: Path) -> None:
    interrupted(tmp_path)
    text, said = make(tmp_path / "out")
    assert text == "6 squares, 0 jobs failed"
    assert sorted(toy.ran) == ["squares.2", "squares.4"]
    assert said == ["resumed: 1 of 3 jobs were already done"]


@pytest.mark.parametrize("damage", ["truncate", "flip", "empty"])
def test_a_damaged_job_is_done_again(tmp_path: Path, damage: str) -> None:
    path = interrupted(tmp_path) / "squares.0.npz"
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes({"truncate": path.read_bytes()[:50], "flip": bytes(content), "empty": b""}[damage])
    text, said = make(tmp_path / "out")
    assert text == "6 squares, 0 jobs failed"
    assert sorted(toy.ran) == ["squares.0", "squares.2", "squares.4"]
    assert "squares.0.npz is damaged" in said[0]


def test_other_settings_do_not_resume(tmp_path: Path) -> None:
    interrupted(tmp_path)
    with pytest.raises(FileExistsError, match=r"out.part holds an interrupted run .*seeds was 6, is 4"):
        make(tmp_path / "out", seeds=4)
    assert make(tmp_path / "out", seeds=4, overwrite=True)[0] == "4 squares, 0 jobs failed"


def test_unreadable_settings_are_named(tmp_path: Path) -> None:
    (interrupted(tmp_path) / "settings.json").write_text("{", encoding="utf-8")
    with pytest.raises(FileExistsError, match=r"settings was unreadable"):
        make(tmp_path / "out")
    assert make(tmp_path / "out", overwrite=True)[0] == "6 squares, 0 jobs failed"


def test_two_at_once_in_one_folder(tmp_path: Path) -> None:
    work = interrupted(tmp_path)
    with locked(work), pytest.raises(InUse, match=r"out\.part is in use by process \d+ on "):
        make(tmp_path / "out")
    assert make(tmp_path / "out")[0] == "6 squares, 0 jobs failed"


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    """Even if it has the name under which finished jobs would be kept."""
    (tmp_path / "out.part").mkdir()
    (tmp_path / "out.part" / "thesis.npz").write_text("precious", encoding="utf-8")
    for overwrite in (False, True):
        with pytest.raises(
            FileExistsError, match=r"out\.part, where finished jobs are kept, has files that bbo did not"
        ):
            make(tmp_path / "out", overwrite=overwrite)
    assert (tmp_path / "out.part" / "thesis.npz").read_text(encoding="utf-8") == "precious"
    (tmp_path / "file.part").write_text("precious", encoding="utf-8")
    with pytest.raises(NotADirectoryError, match=r"file\.part, where finished jobs are kept, is a file"):
        make(tmp_path / "file")


def test_files_added_to_the_kept_jobs_survive(tmp_path: Path) -> None:
    work = interrupted(tmp_path)
    (work / "notes.txt").write_text("precious", encoding="utf-8")
    make(tmp_path / "out")
    assert [path.name for path in work.iterdir()] == ["notes.txt"]


def test_other_code_does_not_resume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted(tmp_path)
    monkeypatch.setattr(work_folder, "code_digest", lambda: "another")
    with pytest.raises(FileExistsError, match=r"code was [0-9a-f]{16}, is another"):
        make(tmp_path / "out")


def test_asked_to_stop_it_keeps_what_is_running_and_says_how_to_go_on(tmp_path: Path) -> None:
    """One worker: the signal comes while the first job runs; that one is kept, the others are not begun."""
    plan = toy.plan(Request(seeds=6))
    first = plan.jobs[0]

    def run_and_be_interrupted() -> Mapping[str, np.ndarray]:
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.3)
        return first.run()

    slow = plan._replace(jobs=(first._replace(run=run_and_be_interrupted), *plan.jobs[1:]))
    said: list[str] = []
    with pytest.raises(Stopped, match=r"stopped: 1 of 3 jobs are kept in .*; the same command resumes") as stopped:
        running.run_plan(slow, tmp_path, lambda done, words, already=False: None, said.append, workers=1)
    assert stopped.value.exit_code == 143
    assert said == ["stopping: 1 running jobs are brought to their end first; once more stops at once"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["seconds.json", "squares.0.npz"]


def some(out: Path, *jobs: str) -> tuple[running.Outcome, list[str]]:
    said: list[str] = []
    return reproduce(toy.TOY, Request(seeds=6), out, overwrite=False, say=said.append, jobs=jobs), said


def test_jobs_done_apart_are_put_together(tmp_path: Path) -> None:
    """As two machines would: each does some, files are copied, and the command for all has nothing left to do."""
    here, _ = some(tmp_path / "here", "squares.4", "squares.0")
    assert toy.ran == ["squares.4", "squares.0"]
    assert (here.complete, here.written) == (True, False)
    assert here.text.startswith(f"2 of 3 jobs are kept in {tmp_path / 'here.part'}, still to be done: squares.2; ")
    assert not (tmp_path / "here").exists()
    some(tmp_path / "there", "squares.2")
    (tmp_path / "there.part" / "squares.2.npz").rename(tmp_path / "here.part" / "squares.2.npz")
    assert make(tmp_path / "here") == ("6 squares, 0 jobs failed", ["resumed: 3 of 3 jobs were already done"])
    assert sorted(toy.ran) == ["squares.0", "squares.2", "squares.4"]


def test_the_last_jobs_asked_for_end_the_study(tmp_path: Path) -> None:
    some(tmp_path / "out", "squares.2")
    last, said = some(tmp_path / "out", "squares.0", "squares.4", "squares.0")
    assert (last.text, last.complete, last.written) == ("6 squares, 0 jobs failed", True, True)
    assert said == ["resumed: 1 of 3 jobs were already done"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


def test_jobs_asked_for_that_fail_or_do_not_exist(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"--jobs: there is no 'round'; there are 'squares\.0', 'squares\.2'"):
        some(tmp_path / "out", "squares.0", "round")
    assert toy.ran == []
    toy.broken.add("squares.2")
    half, said = some(tmp_path / "out", "squares.0", "squares.2")
    assert (half.complete, half.written) == (False, False)
    assert "still to be done: squares.4; " in half.text
    assert said == ["job squares.2 failed: ArithmeticError: the square is round"]
    toy.broken.clear()
    toy.ran.clear()
    assert make(tmp_path / "out")[0] == "6 squares, 0 jobs failed"
    assert sorted(toy.ran) == ["squares.2", "squares.4"]


def test_verdicts(tmp_path: Path) -> None:
    make(tmp_path / "out")
    good, missing = checking.judge(toy.expected(), toy.cells(tmp_path / "out"))
    assert good.ok
    assert good.row[:5] == ("9.17", "9.1667", "0.1000", 6, "agrees")
    assert not missing.ok
    assert missing.row[4] == "missing"


def test_a_number_that_differs_or_has_failed_runs_falls_short() -> None:
    wanted = {("mean",): toy.expected()[("mean",)]}
    differs = checking.judge(wanted, {("mean",): toy.Cell(9.3, 0.1, 0.0, 6, 0)})[0]
    failed = checking.judge(wanted, {("mean",): toy.Cell(9.1667, 0.1, 0.0, 5, 1)})[0]
    assert (differs.ok, differs.row[4]) == (False, "differs")
    assert (failed.ok, failed.row[4]) == (False, "1 runs failed")


def test_unknown_names_are_told_what_exists() -> None:
    with pytest.raises(ValueError, match="there is no artefact 'linaer'; there are: linear"):
        artefact("linaer")
    with pytest.raises(ValueError, match=r"--tasks: there is no 'x', 'y'; there are 'a', 'b, c'$"):
        choose("tasks", ("a", "x", "y"), ("a", "b, c"))
    assert choose("tasks", ("b", "a"), ("a", "b", "c")) == ("a", "b")


@pytest.mark.parametrize("name", ["off_policy", "nonlinear_tuning", "mountain-car"])
def test_hyphens_and_underscores_are_alike(name: str) -> None:
    assert artefact(name.replace("_", "-")).name == name
    assert artefact(name.replace("-", "_")).name == name


@pytest.mark.parametrize("name", TITLES)
def test_every_artefact_is_declared_whole(name: str) -> None:
    declared = artefact(name)
    assert declared.name == name
    plan = declared.plan(Request(quick=True))
    assert plan.jobs
    assert len({job.name for job in plan.jobs}) == len(plan.jobs)
