"""Work split among cores: complete, in order, and whole where it cannot be split."""

import builtins
import threading
from itertools import chain

import pytest

from bayesbellman.core import threads


@pytest.fixture
def four_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "cores", lambda: 4)


def test_ranges_cover_everything_once_and_in_order(four_cores: None) -> None:
    ranges = threads.split_among_cores(lambda start, stop: list(range(start, stop)), 1003, enough=100)
    assert list(chain.from_iterable(ranges)) == list(range(1003))
    assert len(ranges) == 10
    assert min(map(len, ranges)) >= 100


def test_workers_are_threads_of_their_own(four_cores: None) -> None:
    names = threads.split_among_cores(lambda start, stop: threading.current_thread().name, 1000, enough=10)
    assert threading.main_thread().name not in names


@pytest.mark.parametrize(("num_items", "enough"), [(0, 10), (19, 10), (1, 1)])
def test_little_work_is_not_split(four_cores: None, num_items: int, enough: int) -> None:
    assert threads.split_among_cores(lambda start, stop: (start, stop), num_items, enough) == [(0, num_items)]


def test_one_core_or_no_threadpoolctl_is_one_range(four_cores: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def without_threadpoolctl(name: str, *rest):
        if name == "threadpoolctl":
            raise ModuleNotFoundError(name)
        return original(name, *rest)

    original = builtins.__import__
    with monkeypatch.context() as patch:
        patch.setattr(builtins, "__import__", without_threadpoolctl)
        assert threads.split_among_cores(lambda start, stop: (start, stop), 1000, 10) == [(0, 1000)]
    monkeypatch.setattr(threads, "cores", lambda: 1)
    assert threads.split_among_cores(lambda start, stop: (start, stop), 1000, 10) == [(0, 1000)]


def test_the_first_error_in_order_is_the_one_raised(four_cores: None) -> None:
    def fails(start: int, stop: int) -> None:
        raise ValueError(f"at {start}")

    with pytest.raises(ValueError, match="at 0"):
        threads.split_among_cores(fails, 1000, 10)
