"""Live progress: a bar on a terminal, plain lines elsewhere, silence where nobody can read it.

Times are taken from the monotonic clock, so a jump of the wall clock changes nothing.
"""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import TextIO

Report = Callable[[int, str], None]
"""``(units done so far, a few words on how it stands)``"""

LINES_EVERY_SECONDS = 5.0


@contextlib.contextmanager
def progress(title: str, total: int, unit: str, stream: TextIO | None = None) -> Iterator[Report]:
    """Report progress towards ``total`` units while the body runs.

    On a terminal this is a bar that follows the terminal's width; elsewhere a line now and then, and one at the end.
    A closed or broken output never stops the work.
    """
    out = sys.stderr if stream is None else stream
    if out is None or out.closed:  # a process without a standard error
        yield lambda done, words: None
        return
    with (_bar if out.isatty() else _lines)(title, total, unit, out) as report:
        yield report


@contextlib.contextmanager
def _bar(title: str, total: int, unit: str, stream: TextIO) -> Iterator[Report]:
    from rich.console import Console, RenderableType
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
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
        TimeRemainingColumn(compact=True, elapsed_when_finished=True),
    )
    with WithWords(*columns, console=console) as bar:
        started, task = time.monotonic(), bar.add_task(title, total=total, rate="")

        def report(done: int, words: str) -> None:
            rate = done / max(time.monotonic() - started, 1e-9)
            bar.words = words
            bar.update(task, completed=done, rate=f"{rate:,.0f} {unit}/s")

        yield report


@contextlib.contextmanager
def _lines(title: str, total: int, unit: str, stream: TextIO) -> Iterator[Report]:
    started = shown = time.monotonic()
    last, written = (0, ""), None

    def write(done: int, words: str) -> None:
        nonlocal written
        written = (done, words)
        taken = max(time.monotonic() - started, 1e-9)
        share = f"{100 * done / total:3.0f} %" if total else ""
        left = f"{_clock(taken * (total - done) / done)} left  " if 0 < done < total else ""
        with contextlib.suppress(OSError, ValueError):
            stream.write(f"{title}: {done:,}/{total:,} {unit} {share}  {done / taken:,.0f} {unit}/s  {left}{words}\n")
            stream.flush()

    def report(done: int, words: str) -> None:
        nonlocal shown, last
        last = (done, words)
        if time.monotonic() - shown >= LINES_EVERY_SECONDS:
            shown = time.monotonic()
            write(done, words)

    yield report
    if written != last:
        write(*last)


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
