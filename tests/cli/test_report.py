"""``bbo report``: the page it leaves, what it says, and what it refuses."""

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from tests.cli.test_train import bbo
from tests.experiments.synthetic_runs import write_run

RESULTS = Path(__file__).parents[2] / "results"


def test_the_page_and_what_is_printed(tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = write_run(tmp_path / "run", seeds={0: "finished", 1: "diverged"}, cut={1: 1000})
    assert bbo("report", run) == 0
    said = capsys.readouterr().out
    assert "BBAC on MountainCarContinuous-v0 (run): finished on 1 of 2 seeds; last evaluation: median" in said
    assert "  seed 1 diverged after 1,000 of 5,000 steps" in said
    assert said.endswith("Page: report.html\n")
    page = (tmp_path / "report.html").read_text()
    assert "bbo train somewhere --out run" in page
    assert bbo("report", run) == 2
    assert "--out report.html exists; name another file or add --overwrite" in capsys.readouterr().err
    assert bbo("report", run, "--out", tmp_path / "report.html", "--overwrite") == 0


def test_runs_that_are_older_than_diagnostics(tmp_path: Path, capsys) -> None:
    out = tmp_path / "page.html"
    assert bbo("report", RESULTS / "pendulum" / "bbac", RESULTS / "pendulum" / "sac", "--out", out) == 0
    assert (
        "SAC on Pendulum-v1 (sac): finished on 1 of 1 seed; last evaluation -161.8 (n = 1 seed)"
        in capsys.readouterr().out
    )
    assert out.stat().st_size < 200_000


def test_what_is_wrong_is_said(tmp_path: Path, capsys) -> None:
    run = write_run(tmp_path / "run", diagnostics=False)
    (tmp_path / "empty").mkdir()
    for arguments, words in [
        ((tmp_path / "nowhere",), "RUN: there is no folder"),
        ((tmp_path / "empty",), "holds no config.json; is it a folder that bbo train left?"),
        ((run, tmp_path / "empty" / ".." / "run"), "is named twice"),
        ((), "RUN"),
        ((run, "--out", tmp_path), "is a folder; name a file in it"),
        ((run, "--live", "--out", tmp_path / "x.html"), "--out is not written with --live"),
        ((run, "--live", "--port", 70000), "--port is 70000"),
    ]:
        assert bbo("report", *arguments) == 2
        assert words in capsys.readouterr().err
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert bbo("report", run, "--live", "--port", port) == 2
        assert f"--port {port} is in use; name another, or 0 for any that is free" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "run"]


def test_live_until_interrupted(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", diagnostics=False)
    # In the background a shell has SIGINT ignored, and what it starts inherits that; a terminal does not.
    as_in_a_terminal = (
        "import runpy, signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "runpy.run_module('bayesbellman.cli', run_name='__main__', alter_sys=True)"
    )
    command = [sys.executable, "-c", as_in_a_terminal, "report", str(run), "--live", "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "NO_COLOR": "1"})
    try:
        assert process.stderr is not None
        address = re.search(r"http://127\.0\.0\.1:\d+/", process.stderr.readline())
        assert address is not None
        with urllib.request.urlopen(address[0], timeout=60) as answer:
            assert b"made by bbo report" in answer.read()
        process.send_signal(signal.SIGINT)
        _, words = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0
    assert "no longer live" in words
