"""Runs against each other: who is one contender, at which step, and what stands for what is missing."""

import csv
import os
from pathlib import Path

import numpy as np
import pytest
from tests.experiments.run_folders import make_run

from bayesbellman.control.bbac import RECIPES
from bayesbellman.experiments.comparing.analysis import pairs, table, write_comparison
from bayesbellman.experiments.comparing.grouping import read_contenders
from bayesbellman.experiments.comparing.values import Settled, settle

FINISHED = {0: "finished", 1: "finished"}


def line(*values: float) -> dict[int, float]:
    """Evaluations after 100, 200, ... steps."""
    return {100 * (k + 1): value for k, value in enumerate(values)}


def settled(*folders: Path, **rules) -> Settled:
    return settle(read_contenders(folders), **rules)


def finals(found: Settled, label: str) -> list[float]:
    return np.concatenate(found.strata(label, "final")).tolist()


@pytest.fixture
def bbac(tmp_path: Path) -> Path:
    return make_run(tmp_path / "bbac", {0: line(0, 2, 4, 4), 1: line(2, 4, 6, 8)}, FINISHED)


@pytest.fixture
def sac(tmp_path: Path) -> Path:
    return make_run(tmp_path / "sac", {0: line(1, 1, 1), 1: line(0, 0, 6)}, {0: "stopped"}, agent="SAC", number=3)


def test_all_are_compared_at_the_last_step_that_all_have(bbac: Path, sac: Path) -> None:
    found = settled(bbac, sac)
    assert found.spans["E-v0"].steps.tolist() == [100, 200, 300]
    assert finals(found, "BBAC") == [4.0, 6.0]
    assert found.strata("BBAC", "area")[0].tolist() == [2.0, 4.0]
    assert found.strata("SAC", "area")[0].tolist() == [1.0, 1.5]
    (missing,) = found.missing["SAC"]
    assert (missing.seed.seed, missing.why) == (2, "not begun, without an evaluation")
    rows = {row[0]: row for row in table(found)}
    assert (rows["BBAC"][2], rows["SAC"][2]) == ("2 of 2", "2 of 3")
    assert (rows["BBAC"][3], rows["SAC"][3]) == (5.0, 3.5)
    better = {(pair.label, pair.other): pair.found.value for pair in pairs(found)}
    assert better == {("BBAC", "SAC"): (1 + 0 + 1 + 0.5) / 4, ("SAC", "BBAC"): 1.5 / 4}


def test_one_seed_has_no_interval(tmp_path: Path, sac: Path) -> None:
    one = make_run(tmp_path / "one", {0: line(0, 2, 4)}, {0: "finished"})
    found = settled(one, sac)
    rows = {row[0]: row for row in table(found)}
    assert rows["BBAC"][4] == "-"
    assert rows["SAC"][4] != "-"
    assert [pair.found.ends for pair in pairs(found)] == ["-", "-"]
    assert "nan" not in write_comparison(read_contenders([one, sac]), found, tmp_path)


def test_another_step_leaves_out_who_did_not_get_there(bbac: Path, sac: Path) -> None:
    with pytest.raises(
        ValueError, match=r"SAC has no seed to compare on E-v0 .*stopped, last evaluated after 300 steps"
    ):
        settled(bbac, sac, at=400)
    assert settled(bbac, sac, at=250).why_last == "as asked for"
    assert finals(settled(bbac, sac, at=250), "BBAC") == [3.0, 5.0]  # on the line between 200 and 300


def test_other_intervals_between_evaluations(bbac: Path, tmp_path: Path) -> None:
    other = make_run(tmp_path / "other", {0: {150: 1.0, 350: 3.0}}, {0: "finished"}, agent="SAC")
    found = settled(bbac, other)
    assert found.spans["E-v0"].steps.tolist() == [150, 200, 300, 350]
    assert finals(found, "SAC") == [3.0]
    assert found.strata("SAC", "area")[0].tolist() == [2.0]
    late = make_run(tmp_path / "late", {0: {900: 1.0}}, {0: "finished"}, agent="SAC")
    with pytest.raises(ValueError, match=r"no step at which all can be compared on E-v0: seed 0 in .*late was first"):
        settled(bbac, late)


@pytest.mark.parametrize(
    ("rule", "expected", "missing"),
    [("worst", [4.0, -3.0, -3.0], 0), ("last", [4.0, 9.0], 1), ("drop", [4.0], 2)],
)
def test_a_seed_that_broke_counts_by_the_rule(tmp_path: Path, rule, expected: list[float], missing: int) -> None:
    """It does not cut the others short; it is named."""
    ended = {0: "finished", 1: "diverged", 2: "failed"}
    run = make_run(tmp_path / "run", {0: line(-3, 2, 4), 1: line(9), 2: {}}, ended)
    found = settled(run, failed=rule)
    assert found.spans["E-v0"].last == 300
    assert finals(found, "BBAC") == expected
    assert len(found.missing["BBAC"]) == missing
    said = write_comparison(read_contenders([run]), found, tmp_path)
    assert "seed 2" in said
    if rule == "worst":
        assert "seed 1 diverged after 100 steps: then counts as -3" in said
        assert found.scored["BBAC"]["E-v0"][1].curve.tolist() == [9.0, -3.0, -3.0]


def test_a_solved_seed_keeps_its_last_evaluation_and_nan_is_the_worst(tmp_path: Path) -> None:
    ended = {0: "solved", 1: "finished", 2: "finished"}
    run = make_run(tmp_path / "run", {0: line(1, 95), 1: line(1, 2, 3), 2: line(1, 2, np.nan)}, ended)
    found = settled(run)
    assert finals(found, "BBAC") == [95.0, 3.0, 1.0]
    solved, _, bad = found.scored["BBAC"]["E-v0"]
    assert solved.remark == "solved after 200 steps: then counts as 95"
    assert bad.remark == "evaluations that are not finite count as 1"


def test_contenders_are_told_apart_by_the_settings_that_differ(tmp_path: Path) -> None:
    seeds, ended = {0: line(1)}, {0: "finished"}
    plain = make_run(tmp_path / "a", seeds, ended, settings={"prior_scale": 30.0})
    car = make_run(tmp_path / "b", seeds, ended, settings={"prior_scale": 100.0}, env="MountainCarContinuous-v0")
    more = make_run(tmp_path / "c", {5: line(2)}, {5: "finished"}, settings={"prior_scale": 30.0})
    wide = make_run(tmp_path / "d", seeds, ended, settings={"prior_scale": 30.0, "hidden": [64, 64]})
    again = make_run(tmp_path / "e", seeds, ended, settings={"prior_scale": 30.0, "hidden": [64, 64]})
    found = read_contenders([plain, car, more, wide])
    assert [contender.label for contender in found.contenders] == ["BBAC, hidden 8", "BBAC, hidden 64x64"]
    assert found.contenders[0].folders == (plain, car, more)  # each prior scale is its environment's default
    assert found.envs == ("E-v0",)
    assert "MountainCarContinuous-v0 is left out: not all were trained on it" in found.remarks
    labels = [contender.label for contender in read_contenders([wide, again]).contenders]
    assert labels == ["BBAC (d)", "BBAC (e)"]  # the same seeds twice are not pooled


def test_environments_are_strata_and_normalised_if_asked(tmp_path: Path) -> None:
    folders = [
        make_run(
            tmp_path / f"{agent}-{env}",
            {0: line(scale * value), 1: line(scale * value)},
            FINISHED,
            agent=agent,
            env=env,
        )
        for agent, value in (("BBAC", 1.0), ("SAC", 0.5))
        for env, scale in (("small", 1.0), ("large", 1000.0))
    ]
    found = settled(*folders)
    assert any("not normalised" in rule for rule in found.rules)
    rows = {row[:2]: row for row in table(found)}
    assert rows["BBAC", "all"][2:5] == ("4 of 4", 500.5, "500.5 to 500.5")  # strata: two of each, always
    assert rows["SAC", "large"][3] == 500.0
    bounds = {"small": (0.0, 1.0), "large": (-1000.0, 1000.0)}
    found = settled(*folders, bounds=bounds)
    rows = {row[:2]: row for row in table(found)}
    assert (rows["BBAC", "all"][3], rows["SAC", "large"][3], rows["SAC", "small"][3]) == (1.0, 0.75, 0.5)
    with pytest.raises(ValueError, match="--normalise has no bounds of large; add large=MIN:MAX"):
        settled(*folders, bounds={"small": (0.0, 1.0)})
    with pytest.raises(ValueError, match="no environment that all of them"):
        read_contenders([folders[0], folders[3]])


def test_the_folder_holds_tables_figure_and_report(bbac: Path, sac: Path, tmp_path: Path) -> None:
    comparison = read_contenders([bbac, sac])
    write_comparison(comparison, settle(comparison), tmp_path)
    with (tmp_path / "seeds.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["run"], row["seed"], row["final"]) for row in rows] == [
        ("BBAC", "0", "4.0"), ("BBAC", "1", "6.0"), ("SAC", "0", "1.0"), ("SAC", "1", "6.0"), ("SAC", "2", ""),
    ]  # fmt: skip
    report = (tmp_path / "report.md").read_text()
    assert "E-v0: compared from 100 to 300 steps" in report
    assert "left out: not begun" in report
    assert (tmp_path / "comparison.png").read_bytes().startswith(b"\x89PNG")


def test_folders_whose_names_are_no_utf8(tmp_path: Path) -> None:
    """As those of an old archive; their names are shown as far as they can be."""
    runs = [tmp_path / os.fsdecode(name) for name in (b"caf\xe9", "λ".encode())]
    comparison = read_contenders([make_run(run, {0: line(1), 1: line(2)}, FINISHED) for run in runs])
    write_comparison(comparison, settle(comparison), tmp_path)
    assert [contender.label for contender in comparison.contenders] == ["BBAC (caf\ufffd)", "BBAC (λ)"]
    assert "caf\ufffd" in (tmp_path / "seeds.csv").read_text(encoding="utf-8")


def test_what_cannot_be_compared_is_said(bbac: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="more than once"):
        read_contenders([bbac, bbac])
    with pytest.raises(ValueError, match="is one seed of a run; give the run's folder"):
        read_contenders([bbac / "seed-0000"])
    with pytest.raises(FileNotFoundError, match=r"holds no config\.json"):
        read_contenders([tmp_path])
    with pytest.raises(ValueError, match="BBAC has no seed to compare"):
        settled(make_run(tmp_path / "new", {0: {}}))
    with pytest.raises(ValueError, match="no evaluation on E-v0 up to 100 steps is finite"):
        settled(make_run(tmp_path / "nan", {0: line(np.nan)}, {0: "finished"}))


def test_only_a_prior_scale_that_is_the_environments_is_called_default(tmp_path: Path) -> None:
    """BootDQN's does not depend on the environment, and 30 is none of its defaults."""
    folders = [
        make_run(tmp_path / f"{scale}", {0: line(1)}, {0: "finished"}, agent="BootDQN", settings={"prior_scale": scale})
        for scale in (3.0, 30.0)
    ]
    labels = [contender.label for contender in read_contenders(folders).contenders]
    assert labels == ["BootDQN, prior_scale 3.0", "BootDQN, prior_scale 30.0"]


def test_what_follows_from_a_recipe_is_not_said_beside_it(tmp_path: Path) -> None:
    ours, papers = ({"recipe": recipe, **RECIPES[recipe]} for recipe in ("ours", "paper"))
    chosen = {
        "ours": ours,
        "paper": papers,
        "slow": {**ours, "learning_rate": papers["learning_rate"]},
        "fast": {**papers, "learning_rate": ours["learning_rate"]},
    }
    made = {
        name: make_run(tmp_path / name, {0: line(1)}, {0: "finished"}, settings=settings)
        for name, settings in chosen.items()
    }

    def labels(*names: str) -> list[str]:
        return [contender.label for contender in read_contenders([made[name] for name in names]).contenders]

    assert labels("ours", "paper") == ["BBAC, recipe ours", "BBAC, recipe paper"]
    assert labels("ours", "fast") == ["BBAC, recipe ours", "BBAC, recipe paper, learning_rate 0.001"]
    assert labels("paper", "slow") == ["BBAC, recipe paper", "BBAC, recipe ours, learning_rate 0.0003"]
    assert labels("ours", "slow") == ["BBAC, learning_rate 0.001", "BBAC, learning_rate 0.0003"]  # of one recipe
    assert len(set(labels(*made))) == 4
