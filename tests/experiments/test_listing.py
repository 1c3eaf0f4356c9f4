"""What is listed of runs and studies in every state, and of folders that are broken."""

import json
import time
from pathlib import Path

import pytest
from tests.experiments import toy
from tests.experiments.run_folders import make_run

from bayesbellman.experiments.artefact import Request
from bayesbellman.experiments.listing.finding import Search
from bayesbellman.experiments.listing.states import State, state_of
from bayesbellman.experiments.work_folder import open_work
from bayesbellman.runs.lock import locked


def listed(*folders: Path, **limits: int) -> dict[str, State]:
    return {found.folder.name: state_of(found) for found in Search(folders, **limits)}


def test_each_status_with_progress_and_last_evaluation(tmp_path: Path) -> None:
    make_run(tmp_path / "one", {0: {100: 1.0, 400: 3.0}}, {0: "finished"})
    seeds = {3: {200: 1.0}, 4: {400: 5.0}, 5: {100: 9.0}}
    make_run(tmp_path / "many", seeds, {3: "diverged", 4: "solved", 5: "stopped"}, number=4)
    make_run(tmp_path / "killed", {0: {100: -2.0}})
    held = make_run(tmp_path / "held", {0: {}})
    with locked(held):
        found = listed(tmp_path)
    assert {name: state.status for name, state in found.items()} == {
        "one": "finished",
        "many": "diverged",
        "killed": "interrupted",
        "held": "running",
    }
    assert found["many"].counts == {"diverged": 1, "solved": 1, "stopped": 1, "not begun": 1}
    assert (found["many"].done, found["many"].total, found["many"].last) == (700, 1600, 5.0)
    assert found["one"].row(time.time())[:4] == (
        "BBAC on E-v0", "finished", "400 of 400 steps, 100 %", "evaluation 3",
    )  # fmt: skip
    assert "1 diverged, 1 stopped, 1 not begun, 1 solved" in found["many"].row(time.time())
    assert found["held"].last is None
    as_json = json.loads(json.dumps(found["many"].as_json(), allow_nan=False))
    assert (as_json["share"], as_json["status"]) == (0.4375, "diverged")


def test_the_last_return_stands_in_for_an_evaluation(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", {0: {}})
    (run / "metrics.jsonl").write_text(json.dumps({"steps": 9, "seconds": 1, "returns": [1, 7], "metrics": {}}) + "\n")
    assert listed(tmp_path)["run"].row(0.0)[3] == "return 7"


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("config.json", "{", "config.json cannot be read"),
        ("config.json", '{"agent": "BBAC"}', "config.json cannot be read (KeyError('run'))"),
        ("metrics.jsonl", "\x00\n", "line 1 is no record of ours"),
        ("metrics.jsonl", "[]\n", "line 1 is no record of ours"),
        ("summary.csv", "seed\nx\n", "invalid literal"),
    ],
)
def test_what_is_broken_is_listed_with_the_reason(tmp_path: Path, name: str, content: str, reason: str) -> None:
    run = make_run(tmp_path / "run", {0: {100: 1.0}}, {0: "finished"})
    (run / name).write_text(content)
    found = listed(tmp_path)["run"]
    assert found.status == "unreadable"
    assert reason in found.reason
    assert found.row(time.time())[1] == "unreadable"
    assert str(tmp_path) not in found.reason


def test_a_run_without_its_config_is_known_by_what_it_was_to_write(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".bbo-files").write_text("config.json\nmetrics.jsonl\n")
    assert "holds no config.json" in listed(tmp_path)["run"].reason


def test_what_is_not_ours_is_passed_over(tmp_path: Path) -> None:
    for place, content in [
        ("theirs", '{"agents": 1}'),
        ("broken", "{"),
        ("none", "null"),
        (".hidden/run", '{"agent": 1}'),
    ]:
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "config.json").write_text(content)
    elsewhere = make_run(tmp_path / "away" / "a" / "run", {0: {}})
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "link").symlink_to(elsewhere)
    assert listed(tmp_path / "here") == {}
    assert list(listed(tmp_path)) == ["run"]
    assert list(listed(tmp_path, tmp_path / "away")) == ["run"]  # once
    assert listed(tmp_path, depth=2) == {}
    search = Search([tmp_path], most=2)
    assert list(search) == []
    assert search.cut


def test_it_is_quick_among_many_files(tmp_path: Path) -> None:
    """No file is opened but ours: 5,000 others in 50 folders take well under a second."""
    for k in range(50):
        (tmp_path / f"{k}").mkdir()
        for n in range(100):
            (tmp_path / f"{k}" / f"{n}.txt").touch()
    make_run(tmp_path / "7" / "run", {0: {}})
    before = time.process_time()
    assert list(listed(tmp_path)) == ["run"]
    assert time.process_time() - before < 1


def test_a_study_that_was_broken_off(tmp_path: Path) -> None:
    work = tmp_path / "linear.part"
    work.mkdir()
    plan = toy.TOY.plan(Request())
    open_work(work, plan, overwrite=False)
    (work / f"{plan.jobs[0].name}.npz").touch()
    found = listed(tmp_path)["linear.part"]
    assert (found.kind, found.status, found.title) == ("study", "interrupted", "study linear")
    assert (found.done, found.total) == (1, len(plan.jobs))
    (work / "settings.json").write_text('{"size": 1}')  # of an older version, which did not say how many
    assert listed(tmp_path)["linear.part"].row(0.0)[2] == "1 jobs"
    with locked(work):
        assert listed(tmp_path)["linear.part"].status == "running"
    (work / "settings.json").write_text("[]")
    assert listed(tmp_path)["linear.part"].status == "unreadable"
