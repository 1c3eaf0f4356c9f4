"""``bbo reproduce`` and ``bbo check`` as a user runs them."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

from tests.cli.test_cli import BBO, bbo
from tests.cli.test_train import bbo as bbo_here

SMALL = ("linear", "--tasks", "boyan", "--methods", "TD", "GTD2", "--variants", "published", "--seeds", "100")


def test_list_names_what_there_is() -> None:
    done = bbo("reproduce", "--list")
    assert done.returncode == 0
    assert done.stdout.startswith("linear: ")


def test_no_or_an_unknown_artefact() -> None:
    nothing, unknown = bbo("reproduce"), bbo("reproduce", "linea")
    assert (nothing.returncode, unknown.returncode) == (2, 2)
    assert "name what to reproduce" in nothing.stderr
    assert "there is no artefact 'linea'; there are: linear" in unknown.stderr
    assert bbo("check", "linea").returncode == 2


def test_a_study_is_made_job_by_job(tmp_path: Path, capsys) -> None:
    assert bbo_here("reproduce", *SMALL, "--list") == 0
    listed = capsys.readouterr().out.splitlines()
    names = [line.split(":")[0] for line in listed]
    assert len(names) == len(set(names)) > 1
    assert all(line.endswith(" runs") for line in listed)
    assert bbo_here("reproduce", *SMALL, "--jobs", names[0], "--out", tmp_path / "out") == 0
    assert "Report: " not in (said := capsys.readouterr().out)
    assert f"1 of {len(names)} jobs are kept in " in said
    assert [path.name for path in tmp_path.glob("*.part/*.npz")] == [f"{names[0]}.npz"]
    assert bbo_here("reproduce", *SMALL, "--jobs", "nothing", "--out", tmp_path / "out") == 2
    assert "--jobs: there is no 'nothing'; there are " in capsys.readouterr().err


def test_options_without_names_and_checks_of_nothing(tmp_path: Path) -> None:
    empty = bbo("reproduce", "linear", "--tasks", "--out", tmp_path / "x")
    assert empty.returncode == 2
    assert "--tasks is there without names" in empty.stderr
    nothing = bbo("check", "off_policy", "--results", tmp_path)
    assert nothing.returncode == 2
    assert "the paper prints no numbers of off_policy" in nothing.stderr


def test_what_was_made_quickly_is_not_taken_for_a_result(tmp_path: Path, capsys) -> None:
    assert bbo_here("reproduce", "tsitsiklis", "--quick", "--out", tmp_path / "quick") == 0
    made = json.loads((tmp_path / "quick" / "provenance.json").read_text(encoding="utf-8"))
    quick = "bbo reproduce tsitsiklis --quick"
    for command, said in ((quick, True), ("bbo reproduce tsitsiklis", False)):
        path = tmp_path / "quick" / "provenance.json"
        path.write_text(json.dumps({**made, "command": command}), encoding="utf-8")
        capsys.readouterr()
        assert bbo_here("check", "tsitsiklis", "--results", tmp_path / "quick") in (0, 3)
        assert ("was made with --quick" in capsys.readouterr().out) == said


def test_ctrl_c_keeps_running_jobs_and_a_second_one_stops_at_once(tmp_path: Path) -> None:
    """Jobs of minutes: the first signal is answered, the second ends the process within a second or so."""
    arguments = [*BBO, "reproduce", "linear", "--tasks", "link20_imp_offpolicy", "--out", str(tmp_path / "out")]
    process = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)
    work = tmp_path / "out.part"
    for _ in range(3000):
        if (work / "settings.json").exists():
            break
        time.sleep(0.01)
    time.sleep(2.0)  # the jobs have begun
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    started = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, words = process.communicate(timeout=30)
    assert time.monotonic() - started < 5
    assert process.returncode == 130
    assert "running jobs are brought to their end first; once more stops at once" in words
    assert (
        words.splitlines()[-1]
        == f"bbo: stopped at once: jobs that have ended are kept in {work}; the same command resumes"
    )


def test_a_run_that_is_killed_resumes_to_the_same_result(tmp_path: Path, capsys) -> None:
    """SIGKILL once the first of four jobs is kept; the same command then ends like an uninterrupted one."""
    whole = bbo("reproduce", *SMALL, "--out", tmp_path / "whole")
    assert whole.returncode == 0, whole.stderr
    process = subprocess.Popen([*BBO, "reproduce", *SMALL, "--out", str(tmp_path / "out")], stderr=subprocess.DEVNULL)
    work = tmp_path / "out.part"
    for _ in range(3000):
        if list(work.glob("published*.npz")) or process.poll() is not None:
            break
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert work.exists()
    assert not (tmp_path / "out").exists()
    resumed = bbo("reproduce", *SMALL, "--out", tmp_path / "out")
    assert resumed.returncode == 0, resumed.stderr
    assert "resumed: " in resumed.stderr
    assert not work.exists()
    for name in ("cells.csv", "curves.csv"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()

    capsys.readouterr()
    assert bbo_here("reproduce", *SMALL, "--out", tmp_path / "out") == 2
    assert "already has files in it; name another folder or add --overwrite" in capsys.readouterr().err

    assert bbo_here("check", "linear", "--results", tmp_path / "out") == 3
    checked = capsys.readouterr().out
    assert "4 of 126 cells agree with the paper." in checked
    row = next(line for line in checked.splitlines() if line.split()[:3] == ["final", "boyan", "TD"])
    assert row.split()[3:4] == ["0.36"]
    assert "agrees" in row
    assert checked.count("missing") == 122
    assert "not the paper's 200 runs" in row
