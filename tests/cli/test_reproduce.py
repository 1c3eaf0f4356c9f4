"""``bbo reproduce`` and ``bbo check`` as a user runs them."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.cli.test_cli import BBO, bbo

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


def test_a_run_that_is_killed_resumes_to_the_same_result(tmp_path: Path) -> None:
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
    if (tmp_path / "out").exists():
        pytest.skip("the run was over before it could be killed")
    assert work.exists()
    resumed = bbo("reproduce", *SMALL, "--out", tmp_path / "out")
    assert resumed.returncode == 0, resumed.stderr
    assert "resumed: " in resumed.stderr
    assert not work.exists()
    for name in ("cells.csv", "curves.csv"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()

    again = bbo("reproduce", *SMALL, "--out", tmp_path / "out")
    assert again.returncode == 2
    assert "already has files in it; name another folder or add --overwrite" in again.stderr

    checked = bbo("check", "linear", "--results", tmp_path / "out")
    assert checked.returncode == 3
    assert "4 of 126 cells agree with the paper." in checked.stdout
    row = next(line for line in checked.stdout.splitlines() if line.split()[:3] == ["final", "boyan", "TD"])
    assert row.split()[3:4] == ["0.36"]
    assert "agrees" in row
    assert checked.stdout.count("missing") == 122
