"""The study of Deep Sea: when an agent has learnt, what is run together, what grows how, and which claims hold."""

import csv
import json
from pathlib import Path

import jax
import numpy as np
import pytest

from bayesbellman.experiments.artefact import Done, Request
from bayesbellman.experiments.checking import judge
from bayesbellman.experiments.deep_sea import ARTEFACT
from bayesbellman.experiments.deep_sea.analysis import Group, growth
from bayesbellman.experiments.deep_sea.runs import learning_times
from bayesbellman.experiments.deep_sea.sweep import (
    ABLATIONS,
    BASELINE,
    FULL_AGENT,
    QUICK,
    SIZES,
    agent,
    numbers_of,
    plan,
    run_agents,
    sizes_of,
)
from bayesbellman.experiments.registry import TITLES


def test_an_agent_has_learnt_when_one_episode_in_ten_found_the_treasure() -> None:
    found = np.zeros((4, 40), bool)
    found[0, 19:] = True  # after 19 misses: 2 of 21 are not enough, 3 of 22 are
    found[1, [4, 9]] = True  # 1 of 5 is
    found[2, 30] = True  # 1 of 31 is not
    np.testing.assert_array_equal(learning_times(found), [22, 5, np.inf, np.inf])


@pytest.mark.slow
def test_a_run_is_the_same_beside_others() -> None:
    size = QUICK
    with jax.numpy_dtype_promotion("standard"):  # inside optax's Adam
        alone = run_agents(["prior scale 10"], 4, 8, size)
        beside = run_agents(["no prior", "prior scale 10"], 4, 8, size)
    np.testing.assert_array_equal(alone["found"], beside["found"][size.seeds :])
    assert beside["agent"].tolist() == ["no prior"] * 2 + ["prior scale 10"] * 2


def test_agents_are_what_their_names_say() -> None:
    def made(name: str):
        return agent(name, QUICK, numbers_of(name))

    assert made(FULL_AGENT).ensemble_size == QUICK.ensemble_size
    assert (made(BASELINE).ensemble_size, made(BASELINE).prior, made(BASELINE).epsilon) == (1, "none", 0.05)
    assert made("5 members").ensemble_size == 5
    assert made("no prior").prior_scale == 0
    assert made("no target parameters").target_smoothing == 1


def test_what_is_asked_for_is_planned() -> None:
    assert len(plan(Request()).jobs) == len(SIZES) + 5 + 1 + 4 + 1
    assert [job.name for job in plan(Request(methods=(FULL_AGENT,), sizes=("10..20",))).jobs] == [
        "boot-dqn.10",
        "boot-dqn.15",
        "boot-dqn.20",
    ]
    harder = plan(Request(methods=("no prior", "1 member"), sizes=("30", "40"))).jobs
    assert [job.name for job in harder] == ["numbers.30", "members.1.30", "numbers.40", "members.1.40"]
    assert sizes_of(("20", "10..12", "11")) == (10, 11, 20)
    for bad in ("x", "1", "30..20", "101"):
        with pytest.raises(ValueError, match="--sizes"):
            sizes_of((bad,))
    with pytest.raises(ValueError, match="--seeds is 0"):
        plan(Request(seeds=0))
    with pytest.raises(ValueError, match="no tasks to choose from"):
        plan(Request(tasks=("a",)))


def test_growth_is_the_exponent() -> None:
    def group(size: int) -> Group:
        return Group(FULL_AGENT, size, [0, 1, 2], size**2 * np.array([0.1, 0.2, np.inf]), 10_000)

    fitted = growth([group(size) for size in (100, 200, 400)])
    assert fitted is not None
    assert abs(fitted[0] - 2) < 1e-9
    assert growth([group(100), group(200)]) is None


def test_results_are_written_and_judged(tmp_path: Path) -> None:
    asked = plan(Request(quick=True))
    found = np.zeros((2, 60), bool)
    found[0, 5:] = True

    def result(name: str, grid: int) -> dict[str, np.ndarray]:
        return {
            "agent": np.array([name] * 2),
            "seed": np.arange(2),
            "grid": np.array(grid),
            "found": found,
            "finite": np.ones(2, bool),
        }

    results = {f"boot-dqn.{grid}": result(FULL_AGENT, grid) for grid in (10, 20, 30)}
    results |= {"dqn.30": result(BASELINE, 30), "members.1.20": result(ABLATIONS[-4], 20)}
    results |= {"numbers.30": {**result("no prior", 30), "found": np.zeros((2, 60), bool)}}
    text = ARTEFACT.analyse(asked, Done(results, {"dqn.20": "out of memory"}), tmp_path)
    assert "Job dqn.20 failed: out of memory" in text
    with (tmp_path / "runs.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["learning_time"] for row in rows[:2]] == ["6", ""]
    verdicts = {verdict.address: verdict.ok for verdict in judge(ARTEFACT.expected(), ARTEFACT.cells(tmp_path))}
    assert not verdicts[FULL_AGENT, "10"]  # one of two
    assert not verdicts[BASELINE, "30"]
    assert not verdicts["1 member", "20"]
    assert verdicts["no prior", "30"]
    (tmp_path / "growth.json").write_text(json.dumps({"exponent": "?"}))
    with pytest.raises(ValueError, match="is damaged"):
        ARTEFACT.cells(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"holds no runs\.csv"):
        ARTEFACT.cells(tmp_path / "nowhere")


def test_its_claims_are_not_called_the_paper_s() -> None:
    """The paper has no experiment with it."""
    assert ARTEFACT.source == "claims"
    assert "not in the paper" in TITLES["deep-sea"]
