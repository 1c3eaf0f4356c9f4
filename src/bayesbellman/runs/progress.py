"""Live progress: a bar on a terminal, plain lines elsewhere, silence where nobody can read it.

Times are taken from the monotonic clock, so a jump of the wall clock changes nothing.
"""

import contextlib
import sys
import time
from collections import deque
from collections.abc import Iterator
from typing import Protocol, TextIO, runtime_checkable

LINES_EVERY_SECONDS = 5.0
RATE_OVER_SECONDS = 30.0
"""Long enough for a steady rate, short enough that compiling at the start is soon forgotten"""


@runtime_checkable
class Report(Protocol):
    def __call__(self, done: int, words: str, already: bool = False) -> None:
        """Units done so far, and a few words on how it stands. ``already``: they were done before; time begins here."""
        ...


class _Pace:
    """How fast it goes: over the last reports, and nothing that was done before."""

    def __init__(self, total: int, unit: str) -> None:
        self._total, self._unit = total, unit
        self._reports = deque([(time.monotonic(), 0)])

    def add(self, done: int, already: bool) -> None:
        now = time.monotonic()
        if already:
            self._reports.clear()
        self._reports.append((now, done))
        while len(self._reports) > 2 and now - self._reports[1][0] >= RATE_OVER_SECONDS:
            self._reports.popleft()

    @property
    def _rate(self) -> float:
        """Units a second; 0 if nothing has been done yet."""
        (since, before), (now, done) = self._reports[0], self._reports[-1]
        return max(done - before, 0) / max(now - since, 1e-9)

    @property
    def rate(self) -> str:
        return f"{self._rate:,.0f} {self._unit}/s" if self._rate else ""

    @property
    def left(self) -> str:
        """Of a task that is not at its end."""
        rest = self._total - self._reports[-1][1]
        return f"{_clock(rest / self._rate)} left" if self._rate and rest > 0 else ""


@contextlib.contextmanager
def progress(title: str, total: int, unit: str, stream: TextIO | None = None) -> Iterator[Report]:
    """Report progress towards ``total`` units while the body runs.

    On a terminal this is a bar that follows the terminal's width; elsewhere a line now and then, and one at the end.
    A closed or broken output never stops the work.
    """
    out = sys.stderr if stream is None else stream
    if out is None or out.closed:  # a process without a standard error
        yield _silent
        return
    with (_bar if out.isatty() else _lines)(title, total, unit, out) as report:
        yield report


@contextlib.contextmanager
def _bar(title: str, total: int, unit: str, stream: TextIO) -> Iterator[Report]:
    from rich.console import Console, RenderableType
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
    from rich.text import Text

    class WithWords(Progress):
        """The words have a line of their own: beside the bar they would leave no room for it on a narrow terminal."""

        words = ""

        def get_renderables(self) -> Iterator[RenderableType]:
            yield from super().get_renderables()
            if self.words:
                yield Text(f"  {self.words}", no_wrap=True, overflow="ellipsis")

    console = Console(file=stream)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        TaskProgressColumn(),
        TextColumn("{task.completed:,.0f}/{task.total:,.0f} " + unit),
        TextColumn("{task.fields[rate]}"),
        TextColumn("{task.fields[left]}"),
    )
    with WithWords(*columns, console=console) as bar:
        task, pace = bar.add_task(title, total=total, rate="", left=""), _Pace(total, unit)

        def report(done: int, words: str, already: bool = False) -> None:
            pace.add(done, already)
            bar.words = words
            bar.update(task, completed=done, rate=pace.rate, left=pace.left)

        yield report


@contextlib.contextmanager
def _lines(title: str, total: int, unit: str, stream: TextIO) -> Iterator[Report]:
    shown = time.monotonic()
    last, written, pace = (0, ""), None, _Pace(total, unit)

    def write(done: int, words: str) -> None:
        nonlocal written
        written = (done, words)
        share = f"{100 * done / total:3.0f} %" if total else ""
        parts = (f"{title}: {done:,}/{total:,} {unit} {share}", pace.rate, pace.left, words)
        with contextlib.suppress(OSError, ValueError):
            stream.write("  ".join(part for part in parts if part) + "\n")
            stream.flush()

    def report(done: int, words: str, already: bool = False) -> None:
        nonlocal shown, last
        pace.add(done, already)
        last = (done, words)
        if time.monotonic() - shown >= LINES_EVERY_SECONDS:
            shown = time.monotonic()
            write(done, words)

    yield report
    if written != last:
        write(*last)


def _silent(done: int, words: str, already: bool = False) -> None:
    pass


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
