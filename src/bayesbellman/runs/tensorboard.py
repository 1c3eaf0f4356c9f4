"""Curves for TensorBoard, if asked for. Training never stops for them: what fails is said once."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

Say = Callable[[str], None]


class TensorBoard:
    """Scalars by name and step. ``after``: what an earlier run wrote beyond this step no longer counts."""

    def __init__(self, folder: Path, say: Say, after: int = 0) -> None:
        self._say = say
        self._writer: Any = None
        try:
            from tensorboardX import SummaryWriter  # pyright: ignore[reportMissingImports]

            self._writer = SummaryWriter(str(folder), purge_step=after + 1 if after else None)
        except ImportError:
            say("--tensorboard: this needs tensorboardX: pip install 'bayesbellman[tensorboard]'; training goes on")
        except Exception as error:  # whatever it is, it is not worth a run
            self._give_up(error)

    def write(self, step: int, scalars: Mapping[str, float]) -> None:
        if self._writer is None:
            return
        try:
            for name, value in scalars.items():
                self._writer.add_scalar(name, value, step)
            self._writer.flush()
        except Exception as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        self._writer = None
        self._say(f"--tensorboard: nothing more is written ({type(error).__name__}: {error}); training goes on")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._writer is not None:
            try:
                self._writer.close()
            except Exception as failure:
                self._give_up(failure)
