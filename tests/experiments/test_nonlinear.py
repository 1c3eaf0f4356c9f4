"""The study of networks: what is run together, how a diverged trial counts, which claims hold, and the search."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from bayesbellman.experiments.artefact import Arrays, Done, Request
from bayesbellman.experiments.checking import judge
from bayesbellman.experiments.nonlinear import ARTEFACT, sweep
from bayesbellman.experiments.nonlinear.methods import BBO, DIRECT, METHODS, NO_PRIOR, PAPER, TD, TDC, Setting
from bayesbellman.experiments.nonlinear.summary import curves, share_below
from bayesbellman.experiments.nonlinear.sweep import Program, Size, arrange, plan, run_job
from bayesbellman.experiments.nonlinear.tuned import TUNED
from bayesbellman.experiments.nonlinear_tuning import ARTEFACT as TUNING
from bayesbellman.experiments.nonlinear_tuning import sweep as tuning_sweep
from bayesbellman.experiments.nonlinear_tuning.analysis import chosen
from bayesbellman.experiments.nonlinear_tuning.search import PRIORS, RATES, Tried, search
from bayesbellman.experiments.registry import artefact

RESULTS = Path(__file__).parents[2] / "results"
PAIR = {"upper": 3e-3, "lower": 1e-2}
SMALL = Size(seeds=2, steps=4, every=2, batch_size=8, hidden=4, rollouts=1, transitions=40)


def faked(method: str, final: list[float], diverged: list[int], task: str = "mountain-car") -> Arrays:
    """Results of one method as a job leaves them: three checkpoints."""
    errors = np.stack([np.full(len(final), 9.0), np.full(len(final), 5.0), np.array(final)])[..., None]
    return {
        "task": np.array(task),
        "variant": np.array(["paper"]),
        "method": np.array([method]),
        "steps": np.array([0, 10, 20]),
        "errors": errors,
        "diverged": np.array(diverged)[:, None],
        "values": np.zeros((len(final), 1, 625), np.float32),
        "true_values": np.arange(625.0),
        "true_stderr": np.zeros(625),
    }


def test_every_task_and_method_of_the_paper_has_a_setting_with_its_numbers() -> None:
    assert set(PAPER) == {(task, method) for task in sweep.PROBLEMS for method in METHODS}
    for (_, method), setting in PAPER.items():
        assert tuple(sorted(setting.numbers)) == tuple(sorted(METHODS[method].numbers))


def test_methods_of_one_estimator_share_a_program() -> None:
    programs = arrange(["mountain-car"], list(METHODS), ["paper"])
    assert [list(one.rows) for one in programs] == [
        [("paper", DIRECT)],
        [("paper", TD)],
        [("paper", TDC)],
        [("paper", BBO), ("paper", NO_PRIOR)],
    ]
    assert len(plan(Request(variants=("paper",))).jobs) == 12


def test_without_a_prior_is_a_prior_of_weight_zero(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A method run beside another, or alone, gives the same curve."""
    monkeypatch.setenv("BBO_CACHE", str(tmp_path))
    numbers = {"upper": 1e-2, "lower": 1e-2}
    both = run_job(
        Program("mountain-car", 2, {("paper", BBO): {**numbers, "prior": 0.1}, ("paper", NO_PRIOR): numbers}), SMALL
    )
    alone = run_job(Program("mountain-car", 2, {("paper", NO_PRIOR): numbers}), SMALL)
    np.testing.assert_allclose(both["errors"][..., 1], alone["errors"][..., 0], rtol=1e-4)
    assert not np.allclose(both["errors"][-1, :, 0], both["errors"][-1, :, 1], rtol=1e-6)
    assert len(list(tmp_path.iterdir())) == 1  # the true values, made once


def test_a_diverged_trial_counts_as_infinitely_wrong_and_is_named(tmp_path: Path) -> None:
    done = Done(
        {
            "a": faked(BBO, [1.0, 2.0, np.nan, 3.0], [-1, -1, 13, -1]),
            "b": faked(TD, [2.0, 1.0, 8.0, np.nan], [-1, -1, -1, 4]),
        },
        {"c": "ValueError: no"},
    )
    bbo, _ = curves(done)
    np.testing.assert_array_equal(bbo.final, [1.0, 2.0, np.inf, 3.0])
    assert bbo.errors[1].tolist() == [5.0] * 4  # its curve up to then is kept
    text = ARTEFACT.analyse(plan(Request(quick=True)), done, tmp_path)
    assert "Diverged, BBO on mountain-car (paper settings): seed 2 at step 13." in text
    assert "Job c failed: ValueError: no." in text
    with (tmp_path / "final.csv").open(newline="") as file:
        rows = {(row["method"], row["seed"]): row for row in csv.DictReader(file)}
    assert rows[BBO, "2"]["diverged_at"] == "13"
    cell = ARTEFACT.cells(tmp_path)["the paper's", "mountain-car", "BBO below TD(0)"]
    assert (cell.mean, cell.runs) == (0.5, 4)  # lower on 0 and 3; diverged on 2 is not lower
    assert json.loads((tmp_path / "provenance.json").read_text())["failures"] == {"c": "ValueError: no"}


def test_claims_hold_only_with_an_interval_above_one_half() -> None:
    assert share_below(np.zeros(24), np.ones(24))[0] == 24
    below, low, high = share_below(np.zeros(24), np.array([1.0] * 18 + [-1.0] * 6))
    assert below == 18
    assert (round(low, 2), round(high, 2)) == (0.55, 0.88)
    addresses = list(ARTEFACT.expected())
    assert len([a for a in addresses if a[0] == "the paper's"]) == 12


def test_committed_results_are_judged(tmp_path: Path) -> None:
    verdicts = judge(ARTEFACT.expected(), ARTEFACT.cells(RESULTS / "nonlinear"))
    assert sum(verdict.ok for verdict in verdicts) >= 10
    with pytest.raises(FileNotFoundError, match=r"holds no final\.csv"):
        ARTEFACT.cells(tmp_path)
    (tmp_path / "final.csv").write_text("settings,task\n1,2\n")
    with pytest.raises(ValueError, match="is damaged"):
        ARTEFACT.cells(tmp_path)


def test_bad_requests_are_named() -> None:
    with pytest.raises(ValueError, match="--seeds is 0; accepted is a number >= 1"):
        plan(Request(seeds=0))
    with pytest.raises(ValueError, match="--methods: there is no 'SARSA'"):
        plan(Request(methods=("SARSA",)))
    with pytest.raises(ValueError, match="--variants: tuning has none"):
        tuning_sweep.plan(Request(variants=("paper",)))


def test_the_grids_are_the_papers() -> None:
    assert len(RATES) == 13
    assert (RATES[0], RATES[1], RATES[-2], RATES[-1]) == (1e-6, 3e-6, 0.3, 1.0)
    assert (PRIORS[0], PRIORS[-1], len(PRIORS)) == (1e-4, 1.0, 9)


@pytest.mark.parametrize(("family", "tried", "wanted"), [
    ("td", 13 + 1, {TD: {"rate": 3e-3}}),
    ("tdc", 169 + 1, {TDC: {"slow": 3e-3, "fast": 1e-2}}),
    ("direct", 7 + 3 + 9 + 1, {DIRECT: {"rate": 3e-3, "prior": 3e-4}}),
    ("gradient", 49 + 9 + 3 + 36 + 13 + 2, {NO_PRIOR: PAIR, BBO: {**PAIR, "prior": 3e-4}}),
])  # fmt: skip
def test_the_search_finds_a_bowl_s_bottom_stage_by_stage(family: str, tried: int, wanted: dict) -> None:
    """Scores fall towards known numbers in each logarithm; without a prior they are as if it were far too small."""
    bottom = {"rate": 3e-3, "slow": 3e-3, "fast": 1e-2, "upper": 3e-3, "lower": 1e-2, "prior": 3e-4}

    def attempt(method: str, stage: str, settings: list[Setting]) -> list[Tried]:
        def score(setting: Setting) -> float:
            far = sum(abs(np.log(max(number, 1e-9) / bottom[name])) for name, number in setting.numbers.items())
            return 1 + far + abs(setting.lower_steps - 10) / 100

        return [Tried(method, stage, one, np.full(3, score(one)), np.full(3, -1)) for one in settings]

    found = search("puddle-world", family, attempt)
    assert len(found) == tried
    for method, numbers in wanted.items():
        ours = min((one for one in found if one.method == method and one.stage != "paper"), key=lambda one: one.score)
        assert ours.setting.numbers == numbers
    assert {one.method for one in found if one.stage == "paper"} == set(wanted)


def test_a_search_is_written_down_with_the_papers_setting_beside_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BBO_CACHE", "")
    request = Request(quick=True, tasks=("mountain-car",), methods=(TD,))
    planned = artefact("nonlinear_tuning").plan(request)
    done = Done({job.name: job.run() for job in planned.jobs}, {})
    text = TUNING.analyse(planned, done, tmp_path)
    assert "TD(0)" in text
    best = json.loads((tmp_path / "best.json").read_text())["mountain-car | TD(0)"]
    with (tmp_path / "tried.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 14
    assert min(float(row["median"]) for row in rows if row["stage"] != "paper") == pytest.approx(best["mse"], rel=1e-5)


def test_tuned_settings_are_those_that_the_committed_search_chose() -> None:
    tried: dict[str, list[Tried]] = {}
    with (RESULTS / "nonlinear_tuning" / "tried.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            numbers = {name: float(row[name]) for name in METHODS[row["method"]].numbers}
            setting = Setting(numbers, int(row["lower_steps"]))
            errors = np.array([float(error) for error in row["errors"].split()])
            one = Tried(row["method"], row["stage"], setting, errors, np.full(len(errors), -1))
            tried.setdefault(row["task"], []).append(one)
    found = {(task, method): one.setting for task in tried for method, one in chosen(tried[task]).items()}
    assert found == TUNED
