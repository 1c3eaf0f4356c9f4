"""``bbo runs``, ``bbo compare`` and ``bbo doctor`` as commands: what they print, leave and refuse."""

import json
from pathlib import Path

import pytest
from tests.cli.test_train import bbo, names
from tests.experiments.run_folders import make_run


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    make_run(tmp_path / "trained" / "a", {0: {100: 1.0, 400: 3.0}, 1: {400: 5.0}}, {0: "finished", 1: "finished"})
    make_run(tmp_path / "trained" / "b", {0: {100: 1.0, 400: 2.0}}, {0: "finished"}, agent="SAC")
    return tmp_path


def test_runs_lists_each_run_once(here: Path, capsys) -> None:
    (here / "trained" / "b" / "summary.csv").write_text("seed\nx\n")
    assert bbo("runs") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["what", "status", "progress", "last", "written", "folder"]
    (line,) = [line for line in lines if line.endswith("trained/a")]
    assert "BBAC on E-v0  2 finished  800 of 800 steps, 100 %  evaluation 4" in line
    assert "unreadable" in next(line for line in lines if line.endswith("trained/b"))
    assert lines[-1].startswith("trained/b is unreadable: ")
    assert bbo("runs", "trained", "--json") == 0
    listed = {Path(state["folder"]).name: state for state in json.loads(capsys.readouterr().out)}
    assert (listed["a"]["status"], listed["a"]["counts"], listed["a"]["share"]) == ("finished", {"finished": 2}, 1.0)
    assert listed["b"]["status"] == "unreadable"


def test_runs_where_there_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    assert bbo("runs") == 0
    assert "No runs within 4 levels below ." in capsys.readouterr().out
    assert bbo("runs", "--json") == 0
    assert json.loads(capsys.readouterr().out) == []
    assert bbo("runs", "nowhere") == 2
    assert "there is no folder nowhere" in capsys.readouterr().err


def test_compare_prints_and_leaves_a_folder(here: Path, capsys) -> None:
    assert bbo("compare", "trained/a", "trained/b") == 0
    said = capsys.readouterr().out
    assert "2 of 2" in said
    assert "E-v0: compared from 400 to 400 steps, the last that all have" in said
    assert "Report: compared/report.md" in said
    assert names(here / "compared") == [
        ".bbo-files", "comparison.csv", "comparison.png", "improvement.csv", "report.md", "seeds.csv",
    ]  # fmt: skip
    assert bbo("compare", "trained/a", "trained/b") == 2
    assert "already has files in it; name another folder or add --overwrite" in capsys.readouterr().err
    assert bbo("compare", "trained/b", "--overwrite", "--normalise", "E-v0=0:4") == 0
    assert "seed 0 0.5" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("trained/a", "--normalise", "E-v0=4:0"), "--normalise is E-v0=4:0; accepted is ENV=MIN:MAX"),
        (("trained/a", "--normalise", "E-v0"), "accepted is ENV=MIN:MAX"),
        (("trained/a", "--at", 0), "--at is 0"),
        (("trained/a", "--at", 9_000), "has no seed to compare on E-v0"),
        (("nowhere",), "nowhere holds no config.json"),
        (("trained/a", "trained/a"), "more than once"),
    ],
)
def test_compare_refuses_and_leaves_nothing(here: Path, capsys, arguments: tuple, words: str) -> None:
    assert bbo("compare", *arguments) == 2
    assert words in capsys.readouterr().err
    assert names(here) == ["trained"]


def test_doctor_ends_with_a_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    few = ("--steps", 20, "--seconds", 5)
    (tmp_path / "my_own_line.py").write_text("from tests.compat.hostile import Line, BadReward\n")
    assert bbo("doctor", "my_own_line:Line", "--arguments", '{"length": 2}', *few) == 0
    said = capsys.readouterr().out
    assert said.startswith("my_own_line:Line: nothing is wrong with it.\nnote: there is no time limit")
    assert "random episodes  10, of 2 steps" in said
    assert bbo("doctor", "my_own_line:BadReward", *few) == 3
    assert "error: reward is nan at step 1\n    fix: mend the reward" in capsys.readouterr().out
    for arguments, words in [
        (("my_own_line:Line", "--arguments", "[]"), "accepted is a JSON object"),
        (("my_own_line:Line", "--steps", 0), "--steps is 0"),
        (("my_own_line:Line", "--discount", 2), "--discount is 2"),
        (("Pendulun-v1",), "close to it are 'Pendulum-v1'"),
    ]:
        assert bbo("doctor", *arguments) == 2
        assert words in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore:.*latest versioned environment")
def test_doctor_knows_the_papers_prior_scale_also_without_a_version(capsys) -> None:
    assert bbo("doctor", "MountainCarContinuous", "--steps", 20, "--seconds", 5) == 0
    assert "100, the paper's here; random play: " in capsys.readouterr().out
