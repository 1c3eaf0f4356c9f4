"""Curves for TensorBoard, if asked for. Training never stops for them: what fails is said once.

Events are written here and now. tensorboardX would hand them to a thread of its own through a short queue; if that
thread dies, of a full disk or of a clock that is set back by weeks, whoever writes waits for it for ever.
"""

import contextlib
import time
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
            from tensorboardX import event_file_writer, summary  # pyright: ignore[reportMissingImports]
            from tensorboardX.proto import event_pb2  # pyright: ignore[reportMissingImports]

            self._proto: Any = event_pb2
            self._scalar = summary.scalar
            folder.mkdir(parents=True, exist_ok=True)
            self._writer = event_file_writer.EventsWriter(str(folder / "events"), f".{after}" if after else "")
            if after:
                self._add(after + 1, session_log=self._proto.SessionLog(status=self._proto.SessionLog.START))
        except ImportError:
            say("--tensorboard: this needs tensorboardX: pip install 'bayesbellman[tensorboard]'; training goes on")
        except Exception as error:  # whatever it is, it is not worth a run
            self._give_up(error)

    def write(self, step: int, scalars: Mapping[str, float]) -> None:
        if self._writer is None:
            return
        try:
            for name, value in scalars.items():
                self._add(step, summary=self._scalar(name, value))
            self._writer.flush()
        except Exception as error:
            self._give_up(error)

    def _add(self, step: int, **content: Any) -> None:
        self._writer.write_event(self._proto.Event(step=step, wall_time=time.time(), **content))

    def _give_up(self, error: Exception) -> None:
        with contextlib.suppress(Exception):
            self._writer.close()
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
