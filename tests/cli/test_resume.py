"""``bbo train --resume``: killed at any moment, a run goes on bit by bit, and nothing of it is lost or doubled."""

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax
import numpy as np
import pytest
from tests.cli.test_cli import BBO, compiling, read_csv
from tests.cli.test_train import bbo
from tests.sizes import EPISODES, OPTIONS, SIZES

import bayesbellman as bb
from bayesbellman.runs.bundle import read_bundle
from bayesbellman.runs.metrics import read_metrics

SMALL = (*OPTIONS, "--episodes", EPISODES)
OFTEN = ("--evaluate-every", 200, "--checkpoint-every", 100)
STEPS = 800
"""Four evaluations; replay comes round"""
CAR = ("MountainCarContinuous-v0", "--agent", "sac-star", *SMALL, *OFTEN)


@pytest.fixture(autouse=True, scope="module")
def _as_users_have_it():
    jax.config.update("jax_numpy_dtype_promotion", "standard")
    yield
    jax.config.update("jax_numpy_dtype_promotion", "strict")


def digest(run: Path) -> str:
    """Of parameters, optimisers, replay, environment, random keys, counters and metrics; not of the clock."""
    found = hashlib.sha256()
    arrays, facts = read_bundle(max((run / "checkpoints").glob("step-*.bbo")))
    facts["run"]["more"].pop("seconds")
    found.update(json.dumps(facts["run"]).encode() + str(facts["stored"]).encode())
    for name, array in arrays.items():
        found.update(name.encode() + array.tobytes())
    for record in read_metrics(run / "metrics.jsonl"):
        found.update(json.dumps({**record, "seconds": 0}).encode())
    found.update((run / "agent.bbo").read_bytes() + (run / "best.bbo").read_bytes())
    return found.hexdigest() + ring_digest(run)


def ring_digest(run: Path) -> str:
    """Of replay, however it was cut into pieces."""
    parts = [read_bundle(path) for path in sorted((run / "checkpoints").glob("replay-*"))]
    rows = {
        name: np.concatenate([arrays[name] for arrays, _ in parts])[-SIZES["buffer_size"] :] for name in parts[0][0]
    }
    return hashlib.sha256(b"".join(name.encode() + array.tobytes() for name, array in rows.items())).hexdigest()


def begin(out: Path, *arguments: object, patch: str = "") -> subprocess.Popen[str]:
    """In a process of its own; ``patch`` is run in it first."""
    words = ["train", *map(str, arguments), "--out", str(out), "--resume"]
    code = f"{patch}\nfrom bayesbellman.cli.main import main\nmain({words!r})"
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nothing happened to."""
    out = tmp_path_factory.mktemp("whole") / "run"
    assert bbo("train", *CAR, "--steps", STEPS, "--out", out) == 0
    return out


KILL = "import os, signal\ndef kill(*given):\n    os.kill(os.getpid(), signal.SIGKILL)\n"
MOMENTS = {
    "before it is on disk": """
from bayesbellman.runs import bundle
flush = bundle.flush_to_disk
def full(file):
    kill() if 'step-000000000200' in file.name else flush(file)
bundle.flush_to_disk = full
""",
    "before it has its name": """
from bayesbellman.runs import bundle
publish = bundle.publish
def named(scratch, path):
    kill() if path.name == 'step-000000000400.bbo' else publish(scratch, path)
bundle.publish = named
""",
    "before the old ones are removed": """
from bayesbellman.runs.checkpoint import CheckpointFolder
collect = CheckpointFolder.collect
def removing(self):
    kill() if 600 in self.steps() else collect(self)
CheckpointFolder.collect = removing
""",
}


def test_killed_inside_the_writing_of_checkpoints_it_goes_on_bit_by_bit(whole: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    for moment, patch in MOMENTS.items():
        process = begin(out, *CAR, "--steps", STEPS, patch=KILL + patch)
        _, words = process.communicate(timeout=200)
        assert process.returncode == -signal.SIGKILL, (moment, words)
    process = begin(out, *CAR, "--steps", STEPS)
    _, words = process.communicate(timeout=200)
    assert process.returncode == 0, words
    assert "seed 0 goes on from step 600" in words
    assert digest(out) == digest(whole)
    assert not list((out / "checkpoints").glob(".*"))
    steps = [record["steps"] for record in read_metrics(out / "metrics.jsonl")]
    assert steps == sorted(set(steps))


def kill_often(out: Path, times: int, longest: float, *arguments: object) -> None:
    """At random moments, from before it has begun to after it has ended; then to the end."""
    moments = random.Random(0)
    for _ in range(times):
        process = begin(out, *arguments)
        time.sleep(moments.uniform(0, longest))
        process.kill()
        process.communicate(timeout=60)
    process = begin(out, *arguments)
    _, words = process.communicate(timeout=300)
    assert process.returncode == 0, words


@pytest.mark.slow
def test_twenty_kills_change_no_bit(tmp_path: Path) -> None:
    long = (*CAR, "--steps", 30_000)
    process = begin(tmp_path / "whole", *long)
    started = time.monotonic()
    process.communicate(timeout=600)
    assert process.returncode == 0
    kill_often(tmp_path / "run", 20, 0.7 * (time.monotonic() - started), *long)
    assert digest(tmp_path / "run") == digest(tmp_path / "whole")


@pytest.mark.slow
def test_kills_change_no_bit_in_a_gymnasium_environment(tmp_path: Path) -> None:
    pendulum = ("Pendulum-v1", "--agent", "sac", *SMALL, *OFTEN, "--steps", 2_000)
    process = begin(tmp_path / "whole", *pendulum)
    started = time.monotonic()
    process.communicate(timeout=600)
    assert process.returncode == 0
    kill_often(tmp_path / "run", 5, time.monotonic() - started, *pendulum)
    assert digest(tmp_path / "run") == digest(tmp_path / "whole")


PROBE = ("probe-constant-reward", "--agent", "sac-star", *SMALL, *OFTEN, "--steps", 400)


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("probe") / "run"
    assert bbo("train", *PROBE, "--out", out) == 0
    return out


def files(run: Path) -> dict[Path, tuple[bytes, int]]:
    """What they hold, and when they were written."""
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in run.rglob("*") if path.is_file()}


def test_what_is_finished_is_left_alone(probe: Path, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who made it, too: another command that trains nothing is not named in its config and report."""
    before = files(probe)
    monkeypatch.setattr(sys, "argv", ["bbo", "another", "command"])
    capsys.readouterr()
    assert bbo("train", *PROBE, "--out", probe, "--resume") == 0
    said = capsys.readouterr()
    assert "seed 0 finished before" in said.err
    assert said.out.splitlines()[1].split()[:3] == ["0", "finished", "400"]
    assert files(probe) == before
    assert read_csv(probe / "summary.csv")[0]["ended"] == "finished"


def test_a_report_that_a_kill_prevented_is_written_and_names_who_made_the_run(
    probe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "run"
    shutil.copytree(probe, out)
    for name in ("summary.csv", "report.md"):
        (out / name).unlink()
    monkeypatch.setattr(sys, "argv", ["bbo", "another", "command"])
    assert bbo("train", *PROBE, "--out", out, "--resume") == 0
    for name in ("config.json", "summary.csv", "report.md"):
        assert (out / name).read_bytes() == (probe / name).read_bytes()


def test_steps_that_are_done_are_not_made_fewer(probe: Path, capsys) -> None:
    before = files(probe)
    assert bbo("train", *PROBE, "--steps", 200, "--out", probe, "--resume") == 2
    words = capsys.readouterr().err
    assert f"--steps is 200, and seed 0 in {probe} has done 400 of 400; --steps 400 or more goes on with it" in words
    assert files(probe) == before


def test_nor_are_those_of_a_run_that_was_stopped(probe: Path, tmp_path: Path, capsys) -> None:
    """It would go on from its last checkpoint; up to there it may be made shorter, and not below."""
    out = tmp_path / "run"
    shutil.copytree(probe, out)
    config = json.loads((out / "config.json").read_text())
    config["run"]["steps"] = 800
    (out / "config.json").write_text(json.dumps(config))
    (out / "ended.json").write_text(json.dumps({"how": "stopped", "words": "", "of_steps": 800}))
    assert bbo("train", *PROBE, "--steps", 300, "--out", out, "--resume") == 2
    assert "has done 400 of 800; --steps 800 or more goes on with it" in capsys.readouterr().err
    assert bbo("train", *PROBE, "--steps", 500, "--out", out, "--resume") == 0
    assert json.loads((out / "config.json").read_text())["run"]["steps"] == 500


def test_a_changed_setting_is_shown(probe: Path, capsys) -> None:
    changed = ("--episodes", 1, "--learning-rate", 0.01, "--resume")
    assert bbo("train", *PROBE, "--out", probe, *changed) == 2
    words = capsys.readouterr().err
    assert "--resume: " in words
    assert "--episodes was 2, is 1; setting learning_rate was 0.0003, is 0.01" in words


@pytest.mark.parametrize("run", [None, {"steps": "x"}, {}])
def test_a_configuration_that_is_none_is_named(probe: Path, tmp_path: Path, capsys, run: object) -> None:
    out = tmp_path / "run"
    shutil.copytree(probe, out)
    config = json.loads((out / "config.json").read_text(encoding="utf-8"))
    (out / "config.json").write_text(json.dumps({**config, "run": run}), encoding="utf-8")
    assert bbo("train", *PROBE, "--out", out, "--resume") == 2
    assert f"--resume: {out / 'config.json'} cannot be read (" in capsys.readouterr().err


def test_a_run_can_be_made_longer(probe: Path, tmp_path: Path, capsys) -> None:
    longer, out = (*PROBE, "--steps", 600), tmp_path / "run"
    shutil.copytree(probe, out)
    assert bbo("train", *longer, "--out", out, "--resume") == 0
    assert "seed 0 goes on from step 400" in capsys.readouterr().err
    assert bbo("train", *longer, "--out", tmp_path / "at once") == 0
    assert digest(out) == digest(tmp_path / "at once")


def test_a_run_without_its_checkpoints_is_not_begun_again_unasked(tmp_path: Path, capsys) -> None:
    out = tmp_path / "run"
    assert bbo("train", *PROBE, "--out", out) == 0
    shutil.rmtree(out / "checkpoints")
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert bbo("train", *PROBE, "--steps", 600, "--out", out, "--resume") == 2
    assert "seed 0 has no checkpoint in" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    assert bbo("train", *PROBE, "--out", out, "--resume") == 0  # nothing to do


def test_metrics_of_before_the_first_checkpoint_are_not_dropped_in_silence(probe: Path, tmp_path: Path, capsys) -> None:
    out = tmp_path / "run"
    shutil.copytree(probe, out)
    shutil.rmtree(out / "checkpoints")
    for name in ("agent.bbo", "ended.json", "summary.csv", "report.md"):
        (out / name).unlink()
    assert bbo("train", *PROBE, "--out", out, "--resume") == 0
    words = "seed 0 has no checkpoint yet: it begins at step 0, and its earlier metrics are dropped"
    assert words in capsys.readouterr().err
    assert [record["steps"] for record in read_metrics(out / "metrics.jsonl")] == [50, 200, 400]


def test_metrics_that_are_lost_are_said_to_be(probe: Path, tmp_path: Path, capsys) -> None:
    out = tmp_path / "run"
    shutil.copytree(probe, out)
    lines = (out / "metrics.jsonl").read_text().splitlines(keepends=True)
    (out / "metrics.jsonl").write_text(lines[0])
    assert bbo("train", *PROBE, "--steps", 600, "--out", out, "--resume") == 0
    assert f"{out / 'metrics.jsonl'} has lost what it said of steps 51 to 400" in capsys.readouterr().err


def test_options_that_exclude_each_other(tmp_path: Path, capsys) -> None:
    assert bbo("train", *PROBE, "--out", tmp_path / "x", "--resume", "--overwrite") == 2
    assert "exclude each other" in capsys.readouterr().err
    assert bbo("train", *PROBE, "--out", tmp_path / "x", "--force-migrate") == 2
    assert "--force-migrate goes with --resume" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_a_full_disk_is_survived_for_a_while(tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    """The old checkpoint stays, nothing half-written does, and metrics are complete when there is room again."""
    from bayesbellman.runs import bundle

    flush, calls = bundle.flush_to_disk, []

    def full_at_first(file) -> None:
        calls.append(file.name)
        if len(calls) == 1:
            raise OSError(28, "No space left on device")
        flush(file)

    monkeypatch.setattr(bundle, "flush_to_disk", full_at_first)
    out = tmp_path / "run"
    assert bbo("train", *PROBE, "--out", out) == 0
    words = capsys.readouterr().err
    assert words.count("could not be kept ([Errno 28] No space left on device); training goes on, 2 more such") == 1
    assert [record["steps"] for record in read_metrics(out / "metrics.jsonl")] == [50, 200, 400]
    assert [path.name for path in (out / "checkpoints").glob("step-*")] == ["step-000000000400.bbo"]


def test_a_disk_that_stays_full_ends_it(tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    from bayesbellman.runs import bundle

    out = tmp_path / "run"
    assert bbo("train", *PROBE, "--out", out) == 0
    kept = sorted(path.name for path in (out / "checkpoints").iterdir())

    def full(file) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(bundle, "flush_to_disk", full)
    often = ("--steps", 2_000, "--resume")
    assert bbo("train", *PROBE, *often, "--out", out) == 2
    words = capsys.readouterr().err
    assert "0 more such and it stops" in words
    assert "go on with: " in words
    assert sorted(path.name for path in (out / "checkpoints").iterdir()) == kept


def test_a_disk_that_is_full_from_the_beginning(tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is promised that is not there."""
    from bayesbellman.runs import bundle

    def full(file) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(bundle, "flush_to_disk", full)
    out = tmp_path / "run"
    assert bbo("train", *PROBE, "--steps", 2_000, "--out", out) == 2
    words = capsys.readouterr().err
    assert f"failed, before the first checkpoint: {out} has nothing to go on from" in words


@pytest.mark.parametrize("how", ["removed", "renamed", "replaced"])
def test_a_folder_that_goes_away_ends_it_and_nothing_of_another_is_touched(
    tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """It goes while the second evaluation is played. What was learnt is kept, but for where somebody else works now."""
    from bayesbellman.doors.agent import Agent

    out, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    evaluate, calls = Agent.evaluate, []

    def and_then(agent, *arguments, **more):
        calls.append(how)
        if len(calls) == 2:
            shutil.rmtree(out) if how == "removed" else out.rename(elsewhere)
            if how == "replaced":
                out.mkdir()
                (out / "agent.bbo").write_text("theirs")
        return evaluate(agent, *arguments, **more)

    monkeypatch.setattr(Agent, "evaluate", and_then)
    assert bbo("train", *PROBE, "--checkpoint-every", 50, "--out", out) == 2
    words = capsys.readouterr().err
    assert f"{out} is gone, so training stops" in words
    assert "metrics.jsonl has been removed, renamed or replaced" in words
    assert [path.name for path in out.iterdir()] == ["agent.bbo"]
    if how == "replaced":
        assert (out / "agent.bbo").read_text() == "theirs"
        assert "had learnt" not in words
    else:
        assert f"what seed 0 had learnt when its folder went is in {out / 'agent.bbo'}" in words
        assert bb.SACStar.load(out / "agent.bbo").num_timesteps == 400
    if how != "removed":
        assert bbo("train", *PROBE, "--checkpoint-every", 50, "--out", elsewhere, "--resume") == 0
        assert [record["steps"] for record in read_metrics(elsewhere / "metrics.jsonl")][-1] == 400


def test_metrics_are_complete_where_only_the_last_could_not_be_written_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bayesbellman.runs.metrics import MetricsFile

    write, calls = MetricsFile.write_pending, []

    def full_at_the_third(self) -> None:
        calls.append(self)
        if len(calls) == 3:
            raise OSError(28, "No space left on device")
        write(self)

    monkeypatch.setattr(MetricsFile, "write_pending", full_at_the_third)
    assert bbo("train", *PROBE, "--out", tmp_path / "run") == 0
    assert [record["steps"] for record in read_metrics(tmp_path / "run" / "metrics.jsonl")] == [50, 200, 400]


def test_a_report_that_could_not_be_written_is_written_when_there_is_room(
    tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bayesbellman.experiments.training import analysis

    def full(path: Path, text: str) -> None:
        raise OSError(28, "No space left on device")

    out = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(analysis, "write_text", full)
        assert bbo("train", *PROBE, "--out", out) == 2
    words = capsys.readouterr().err
    assert f"the report is not written, what was learnt is kept in {out}; write it with: " in words
    assert not (out / "report.md").exists()
    assert bbo("train", *PROBE, "--out", out, "--resume") == 0
    assert (out / "report.md").exists()


def test_what_failed_first_is_the_error(tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not that the report of it could not be written either."""
    from bayesbellman.experiments.training import analysis
    from bayesbellman.experiments.training.seed_run import SeedRun

    def fail(*given) -> None:
        raise RuntimeError("the first")

    def full(path: Path, text: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(SeedRun, "piece", fail)
    monkeypatch.setattr(analysis, "write_text", full)
    assert bbo("train", *PROBE, "--out", tmp_path / "run") == 2
    assert capsys.readouterr().err.splitlines()[-1] == "bbo: error: the first"


def test_curves_for_tensorboard(tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "run"
    assert bbo("train", *PROBE, "--out", out, "--tensorboard") == 0
    (events,) = (out / "tensorboard").iterdir()
    assert b"return/evaluation" in events.read_bytes()
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    assert bbo("train", *PROBE, "--out", tmp_path / "without", "--tensorboard") == 0
    assert capsys.readouterr().err.count("needs tensorboardX") == 1


def test_one_that_cannot_be_written_is_said_once(tmp_path: Path) -> None:
    from bayesbellman.runs.tensorboard import TensorBoard

    said: list[str] = []
    (tmp_path / "file").write_text("in the way")
    with TensorBoard(tmp_path / "file" / "inside", said.append) as board:
        board.write(1, {"x": 1.0})
        board.write(2, {"x": 1.0})
    assert len(said) == 1
    assert "training goes on" in said[0]


@pytest.mark.parametrize("fault", ["clock", "disk"])
def test_a_board_keeps_nobody_waiting(tmp_path: Path, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """tensorboardX's own thread dies of a clock that is set back by years or of a full disk, and its queue is short."""
    from tensorboardX.event_file_writer import EventsWriter

    from bayesbellman.runs import tensorboard

    said: list[str] = []
    with tensorboard.TensorBoard(tmp_path, said.append, after=7) as board:
        board.write(8, {"x": 1.0})
        if fault == "clock":
            monkeypatch.setattr(time, "time", lambda: 1.0)
        else:
            monkeypatch.setattr(EventsWriter, "write_event", lambda self, event: os.fsync(-1))
        for step in range(9, 50):
            board.write(step, {"x": 1.0})
    assert len(said) == (fault == "disk")
    (events,) = tmp_path.iterdir()
    assert events.read_bytes().count(b"\n\x01x") >= (1 if fault == "disk" else 42)


def test_odd_places_and_no_reader(tmp_path: Path) -> None:
    """No HOME, an ASCII locale, a folder with blanks and umlauts, a closed output: nothing of it stops a run."""
    out = tmp_path / "ein Läufer" / ("x" * 200)
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    environment |= compiling()
    command = " ".join(f"'{word}'" for word in (*BBO, "train", *map(str, PROBE), "--out", str(out)))
    done = subprocess.run(f"{command} >&- 2>&-", shell=True, env=environment, check=False, timeout=120)
    assert done.returncode == 0
    assert len(read_metrics(out / "metrics.jsonl")) == 3
    assert (out / "report.md").exists()


def test_a_reader_of_messages_that_goes_away(tmp_path: Path) -> None:
    """``bbo train ... 2>&1 | head -1``: what is said later, here of a seed that is solved, stops no seed."""
    arguments = (*PROBE, "--seeds", 2, "--solved", -1e9, "--out", tmp_path / "run")
    with subprocess.Popen(
        [*BBO, "train", *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        assert process.stderr is not None
        process.stderr.readline()
        process.stderr.close()
    assert process.returncode == 0
    assert [row["ended"] for row in read_csv(tmp_path / "run" / "summary.csv")] == ["solved", "solved"]


def test_an_error_that_nobody_reads_keeps_its_exit_code(tmp_path: Path) -> None:
    with subprocess.Popen([*BBO, "evaluate", str(tmp_path / "x")], stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        process.stderr.close()
    assert process.returncode == 2


def test_help_says_how() -> None:
    done = subprocess.run([*BBO, "train", "--help"], capture_output=True, text=True, check=False)
    for option in ("--resume", "--force-migrate", "--checkpoint-every", "--keep-checkpoints", "--tensorboard"):
        assert option in done.stdout
