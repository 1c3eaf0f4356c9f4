"""What is read of a run that ended, goes on, or was broken off."""

import json
from pathlib import Path

import pytest
from tests.experiments.run_folders import make_run

from bayesbellman.experiments.training.analysis import read_curve
from bayesbellman.experiments.training.reading import is_run, read_run
from bayesbellman.runs.lock import locked

CONFIG = {"agent": "BBAC", "env": "E-v0", "settings": {}, "run": {"seed": 3, "seeds": 2, "steps": 100}}
LINE = json.dumps({"steps": 50, "seconds": 1.0, "returns": [], "metrics": {}}) + "\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "seed-0003").mkdir()
    (tmp_path / "seed-0003" / "metrics.jsonl").write_text(LINE + '{"steps": 10')  # cut by a kill
    return tmp_path


def test_a_run_that_was_broken_off_and_one_that_goes_on(folder: Path) -> None:
    run = read_run(folder)
    assert [(seed.seed, seed.how, seed.steps) for seed in run.seeds] == [(3, "interrupted", 50), (4, "not begun", 0)]
    assert run.title == "BBAC on E-v0"
    with locked(folder):
        assert read_run(folder).seeds[0].how == "running"


def test_a_run_that_ended(folder: Path) -> None:
    (folder / "summary.csv").write_text("seed,ended\n3,solved\n4,diverged\n")
    assert [seed.how for seed in read_run(folder).seeds] == ["solved", "diverged"]
    (folder / "summary.csv").write_text("x,y\n3,solved\n")
    with pytest.raises(ValueError, match=r"summary\.csv is damaged"):
        read_run(folder)


def test_what_is_no_run_is_said(tmp_path: Path) -> None:
    assert not is_run(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"holds no config\.json"):
        read_run(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    assert not is_run(tmp_path)
    with pytest.raises(ValueError, match=r"config\.json cannot be read"):
        read_run(tmp_path)
    (tmp_path / "config.json").write_bytes(b'{"agent": "' + b"\xff" + b"x" * 1_000)
    with pytest.raises(ValueError, match=r"config\.json cannot be read") as told:
        read_run(tmp_path)
    assert len(str(told.value)) < 300  # not all that it holds


@pytest.mark.parametrize("lost", ["returns", "seconds", "mean"])
def test_a_record_with_a_damaged_name_is_told_with_its_step(tmp_path: Path, lost: str) -> None:
    folder = make_run(tmp_path / "run", {0: {100: 1.0, 200: 2.0}})
    first, second = (folder / "metrics.jsonl").read_text().splitlines()
    name = f'"{lost}"'
    (folder / "metrics.jsonl").write_text(first + "\n" + second.replace(name, name.replace("e", "f"), 1) + "\n")
    with pytest.raises(ValueError, match=r"metrics\.jsonl is damaged: what it says of step 200 is no record of ours"):
        read_run(folder)
    with pytest.raises(ValueError, match=r"metrics\.jsonl is damaged: what it says of step 200 is no record of ours"):
        read_curve(0, folder)
