"""The demonstration's run and its tables, in process."""

import numpy as np

from bayesbellman.experiments.linear_demo import analysis
from bayesbellman.experiments.linear_demo.sweep import DemoHistory, DemoSettings, run_demo


def run(seed: int, transitions: int = 60) -> tuple[DemoHistory, list[int]]:
    reported: list[int] = []
    history = run_demo(
        DemoSettings(transitions=transitions, seed=seed), lambda done, words, already=False: reported.append(done)
    )
    return history, reported


def test_repeats_itself_and_two_seeds_differ() -> None:
    first, again, other = run(1)[0], run(1)[0], run(2)[0]
    np.testing.assert_array_equal(first.values, again.values)
    assert not np.array_equal(first.values, other.values)


def test_reports_progress_at_every_checkpoint() -> None:
    history, reported = run(0)
    assert reported == history.checkpoints.tolist()
    assert reported[-1] == 60


def test_tables_agree_with_the_history() -> None:
    history, _ = run(0)
    last = analysis.curve_rows(history)[-1]
    error = history.values[-1] - history.truth
    np.testing.assert_allclose(last[1], np.sqrt(np.sum(history.visits * error**2)))
    assert last[4] == int(np.sum(np.abs(error) <= 1.959964 * history.value_std[-1]))
    assert [row[0] for row in analysis.state_rows(history)] == list(range(14))


def test_one_transition_is_enough_for_a_figure() -> None:
    figure = analysis.draw(run(0, transitions=1)[0])
    assert len(figure.axes) == 5
