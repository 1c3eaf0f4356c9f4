"""What a run writes while it goes on: metrics line by line, in a folder that is held; and work that can be stopped."""

import json
import math
import threading
from pathlib import Path

import numpy as np
import pytest

from bayesbellman.runs.folder import OURS
from bayesbellman.runs.json_files import write_json
from bayesbellman.runs.live_folder import list_as_ours, live_folder, refuse_if_unusable_or_in_use
from bayesbellman.runs.lock import LOCK, InUse, is_held, locked
from bayesbellman.runs.metrics import MetricsFile, read_metrics
from bayesbellman.runs.stopping import beside


def test_metrics_are_json_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    with MetricsFile(path) as file:
        file.write({"steps": 1, "loss": math.nan, "returns": np.array([1.5, np.inf]), "inner": {"x": (np.float32(2),)}})
        assert json.loads(path.read_text()) == {"steps": 1, "loss": None, "returns": [1.5, None], "inner": {"x": [2.0]}}
        file.write({"steps": 2})
    with path.open("a") as broken:
        broken.write('{"steps": 3, "los')  # killed here
    assert [record["steps"] for record in read_metrics(path)] == [1, 2]
    assert read_metrics(tmp_path / "nothing") == []


@pytest.mark.parametrize("line", [b"garbage", b"null", b"[1]", b'{"returns": []}', b'{"steps": "many"}', b"\xff\x00"])
def test_a_damaged_line_of_metrics_is_named_with_its_file(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"steps": 1}\n' + line + b'\n{"steps": 3}\n')
    for read in (read_metrics, lambda path: MetricsFile(path, until=3)):
        with pytest.raises(ValueError, match=r"metrics\.jsonl is damaged: line 2 is no record of ours"):
            read(path)


WRITERS = {
    "config.json": lambda path: write_json(path, {"a": 1}),
    "metrics.jsonl": MetricsFile,
    OURS: lambda path: list_as_ours(path.parent, ["a"]),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_leaves_what_was_there_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A file with another name would make the folder one that has not only files of ours, and is not replaced."""

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / name
    path.write_text("before")
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        WRITERS[name](path)
    assert [found.name for found in tmp_path.iterdir()] == [name]
    assert path.read_text() == "before"


def test_half_a_list_of_ours_is_removed_with_the_next_start(tmp_path: Path) -> None:
    """A process may be killed also while it writes the list."""
    list_as_ours(tmp_path, ["a", LOCK])
    for name in (LOCK, f".{OURS}.123.tmp", ".a.123.tmp", ".theirs.123.tmp"):
        (tmp_path / name).write_text("")
    refuse_if_unusable_or_in_use(tmp_path, overwrite=False, resume=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == [OURS, LOCK, ".theirs.123.tmp"]


def test_a_live_folder_is_kept_when_the_run_fails(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "run"

    def fail_half_way() -> None:
        with live_folder(out, ["a"], overwrite=False):
            (out / "a").write_text("1")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_half_way()
    assert sorted(path.name for path in out.iterdir()) == [OURS, "a"]
    with pytest.raises(FileExistsError, match="already has files"), live_folder(out, ["a"], overwrite=False):
        pass
    with live_folder(out, ["b", "inner"], overwrite=True):
        assert sorted(path.name for path in out.iterdir()) == [OURS, LOCK]
        with pytest.raises(InUse, match="is in use by process"):
            refuse_if_unusable_or_in_use(out, overwrite=True)


def test_a_folder_of_ours_is_gone_on_with_whatever_others_put_there(tmp_path: Path) -> None:
    run, theirs = tmp_path / "run", tmp_path / "theirs"
    with live_folder(run, ["a", "inner"], overwrite=False):
        (run / "a").write_text("1")
        (run / "inner").mkdir()
    for folder in (run, run / "inner", theirs):
        folder.mkdir(exist_ok=True)
        (folder / "notes.txt").write_text("mine")
    with live_folder(run, ["a", "inner"], overwrite=False, resume=True):
        assert (run / "a").read_text() == "1"
    for folder in (run, run / "inner"):
        assert (folder / "notes.txt").read_text() == "mine"
    with (
        pytest.raises(FileExistsError, match="theirs already has files in it; name another folder"),
        live_folder(theirs, ["a"], overwrite=False, resume=True),
    ):
        pass


def test_a_folder_is_filled_also_where_the_one_above_is_not_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A volume of a container, say. One that may not be written itself is refused beforehand."""
    run = tmp_path / "run"
    run.mkdir()
    monkeypatch.setattr("os.access", lambda path, mode: Path(path) == run)
    with live_folder(run, ["a"], overwrite=False):
        (run / "a").write_text("1")
    refuse_if_unusable_or_in_use(run, overwrite=False, resume=True)
    monkeypatch.setattr("os.access", lambda path, mode: Path(path) != run)
    with pytest.raises(PermissionError, match="run is read-only for this user"):
        refuse_if_unusable_or_in_use(run, overwrite=False, resume=True)


def test_what_we_did_not_write_is_not_removed_with_a_folder_of_ours(tmp_path: Path) -> None:
    with live_folder(tmp_path / "run", ["inner"], overwrite=False) as out:
        (out / "inner").mkdir()
        (out / "inner" / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match=r"notes\.txt"), live_folder(out, ["inner"], overwrite=True):
        pass
    assert (out / "inner" / "notes.txt").exists()


def test_work_beside_gives_its_result_or_its_error() -> None:
    assert beside(threading.current_thread) is not threading.current_thread()
    with pytest.raises(ZeroDivisionError):
        beside(lambda: 1 / 0)


def test_a_lock_that_its_holder_has_removed_is_not_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who had opened the file before it was removed would hold a lock that nobody else can see."""
    opened, wait = Path.open, []

    def late(path: Path, *arguments: object, **more: object) -> object:
        file = opened(path, *arguments, **more)  # pyright: ignore[reportArgumentType, reportCallIssue]
        if not wait and path.name == LOCK:
            wait.append(path)
            path.unlink()  # by the holder, who has ended
        return file

    monkeypatch.setattr(Path, "open", late)
    with locked(tmp_path):
        assert wait
        assert is_held(tmp_path)
        with pytest.raises(InUse), locked(tmp_path):
            pass
    assert not is_held(tmp_path)
