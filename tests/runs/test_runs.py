"""Progress, output folders, tables and provenance."""

import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bayesbellman.runs import arrays, folder, progress, provenance, tables


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_plain_lines_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "LINES_EVERY_SECONDS", 0.0)
    stream = io.StringIO()
    with progress.progress("Reading", 1000, "rows", stream) as report:
        report(250, "going well")
        report(1000, "done")
    first, last = stream.getvalue().splitlines()  # what was said last is not said again at the end
    assert first.startswith("Reading: 250/1,000 rows  25 %")
    assert "rows/s  0:00:00 left  going well" in first
    assert last.startswith("Reading: 1,000/1,000 rows 100 %")
    assert "\x1b" not in stream.getvalue()


def test_the_last_line_is_said_at_the_end_if_it_was_not_before() -> None:
    stream = io.StringIO()
    with progress.progress("Reading", 1000, "rows", stream) as report:
        report(250, "going well")
        report(500, "stopped")
    (line,) = stream.getvalue().splitlines()
    assert line.startswith("Reading: 500/1,000 rows  50 %")


def test_what_was_done_before_is_no_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Resumed at 600 of 1,000, then 10 a second for 10 s, then 20 a second: the last half minute counts."""
    clock = [0.0]
    monkeypatch.setattr(progress, "LINES_EVERY_SECONDS", 0.0)
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    stream = io.StringIO()
    with progress.progress("Reading", 10_000, "rows", stream) as report:
        report(600, "", already=True)
        for seconds, done in ((10.0, 700), (40.0, 1_300), (70.0, 1_900), (75.0, 5_000)):
            clock[0] = seconds
            report(done, "", already=done == 5_000)
    begun, slow, mixed, fast, again = stream.getvalue().splitlines()
    assert begun == "Reading: 600/10,000 rows   6 %"
    assert slow.endswith("10 rows/s  0:15:30 left")
    assert mixed.endswith("20 rows/s  0:07:15 left")
    assert fast.endswith("20 rows/s  0:06:45 left")
    assert again == "Reading: 5,000/10,000 rows  50 %"


def test_a_bar_on_a_terminal() -> None:
    stream = Terminal()
    with progress.progress("Reading", 1000, "rows", stream) as report:
        report(250, "going well")
        report(1000, "done")
    for shown in ("1,000/1,000 rows", "rows/s", "\n  done"):
        assert shown in stream.getvalue()
    assert "\x1b" in stream.getvalue()


def test_progress_never_stops_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """A closed stream, no stream at all, and one that breaks half-way."""
    closed = io.StringIO()
    closed.close()

    class Broken(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr(progress, "LINES_EVERY_SECONDS", 0.0)
    for stream in (closed, Broken()):
        with progress.progress("Reading", 10, "rows", stream) as report:
            report(5, "")
    monkeypatch.setattr(sys, "stderr", None)
    with progress.progress("Reading", 10, "rows") as report:
        report(5, "")


def test_the_wall_clock_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that is shown depends on a clock that can jump."""

    def jumps() -> float:
        raise AssertionError("the wall clock was asked")

    monkeypatch.setattr(progress.time, "time", jumps)
    monkeypatch.setattr(progress, "LINES_EVERY_SECONDS", 0.0)
    stream = io.StringIO()
    with progress.progress("Reading", 10, "rows", stream) as report:
        report(5, "")
        report(10, "")
    assert len(stream.getvalue().splitlines()) == 2


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "results with ünïcode and spaces"

    def fail_half_way() -> None:
        with folder.whole_folder(out, overwrite=False) as fresh:
            (fresh / "half.txt").write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_half_way()
    assert not out.exists()
    with folder.whole_folder(out, overwrite=False) as fresh:
        (fresh / "a.txt").write_text("1")
        assert not out.exists()
    assert (out / "a.txt").read_text() == "1"
    assert [p.name for p in out.parent.iterdir()] == [out.name]  # no scratch left


def make(out: Path, name: str, overwrite: bool = False) -> None:
    with folder.whole_folder(out, overwrite=overwrite) as fresh:
        (fresh / name).write_text(name)


def files(out: Path) -> list[str]:
    return sorted(path.name for path in out.iterdir() if path.name != folder.OURS)


def test_an_existing_folder_is_kept_unless_asked(tmp_path: Path) -> None:
    out = tmp_path / "results"
    make(out, "old.txt")
    with pytest.raises(FileExistsError, match="already has files in it; name another folder or add --overwrite"):
        make(out, "new.txt")
    with pytest.raises(RuntimeError), folder.whole_folder(out, overwrite=True):
        raise RuntimeError
    assert files(out) == ["old.txt"]  # a failed run replaces nothing
    make(out, "new.txt", overwrite=True)
    assert files(out) == ["new.txt"]


def test_files_that_we_did_not_write_are_never_replaced(tmp_path: Path) -> None:
    """A folder that was never ours, and one of ours to which somebody added."""
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "log.parquet").write_text("data")
    make(tmp_path / "ours", "table.csv")
    (tmp_path / "ours" / "notes.txt").write_text("notes")
    for name, foreign in (("theirs", "log.parquet"), ("ours", "notes.txt")):
        with pytest.raises(FileExistsError, match=f"has files that bbo did not write \\({foreign}\\)"):
            make(tmp_path / name, "new.txt", overwrite=True)
        assert foreign in files(tmp_path / name)


def test_an_interrupted_swap_brings_the_old_folder_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "results"
    make(out, "old.txt")
    rename = Path.rename

    def interrupted(path: Path, target: Path) -> Path:
        if path.name == "new":
            raise KeyboardInterrupt
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        make(out, "new.txt", overwrite=True)
    assert files(out) == ["old.txt"]
    assert [path.name for path in tmp_path.iterdir()] == ["results"]


def test_a_link_is_followed_and_the_current_folder_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path / "real", "old.txt")
    (tmp_path / "link").symlink_to("real")
    make(tmp_path / "link", "new.txt", overwrite=True)
    assert (tmp_path / "link").is_symlink()
    assert files(tmp_path / "real") == ["new.txt"]
    monkeypatch.chdir(tmp_path)
    for here in (Path(), Path("..")):
        with pytest.raises(FileExistsError, match="is the current folder or above it"):
            folder.refuse_if_unusable(here, overwrite=True)


def test_an_unusable_folder_is_refused_beforehand(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileExistsError, match="is a file; name a folder"):
        folder.refuse_if_unusable(tmp_path / "file", overwrite=True)
    with pytest.raises(NotADirectoryError, match="is a file"):
        folder.refuse_if_unusable(tmp_path / "file" / "below", overwrite=True)


def test_a_read_only_folder_is_refused_beforehand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked of the system rather than tried, since a superuser may write anywhere."""
    monkeypatch.setattr(folder.os, "access", lambda path, mode: False)
    with pytest.raises(PermissionError, match=r"--out .*results cannot be written: .* is read-only"):
        folder.refuse_if_unusable(tmp_path / "results", overwrite=False)


def test_tables(tmp_path: Path) -> None:
    header, rows = ("name", "x"), [("a", 0.1 + 0.2), ("bc", 12345.678)]
    tables.write_csv(tmp_path / "t.csv", header, rows)
    assert (tmp_path / "t.csv").read_text() == "name,x\na,0.30000000000000004\nbc,12345.678\n"
    assert tables.aligned(header, rows) == "name       x\n   a     0.3\n  bc  12,346"
    assert tables.markdown(("a",), [("x|y",)]).endswith("| x\\|y |")
    assert tables.markdown(header, rows) == "| name | x |\n|---|---|\n| a | 0.3 |\n| bc | 12,346 |"


def test_provenance_can_be_written_down() -> None:
    origin = json.loads(json.dumps(provenance.provenance(["bbo", "demo", "--out", "a b"])))
    assert origin["command"] == "bbo demo --out 'a b'"
    assert set(origin["packages"]) == set(provenance.PACKAGES)
    assert origin["commit"] is None or len(origin["commit"].split("+")[0]) == 12


def test_arrays_come_back_as_they_were(tmp_path: Path) -> None:
    written = {"a": np.arange(6.0).reshape(2, 3), "b": np.array([np.nan, 1.0])}
    arrays.write_arrays(tmp_path / "x.npz", written)
    read = arrays.read_arrays(tmp_path / "x.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["x.npz"]
    for name, array in written.items():
        np.testing.assert_array_equal(read[name], array)


def test_a_full_disk_leaves_the_arrays_of_before_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrays.write_arrays(tmp_path / "x.npz", {"a": np.zeros(3)})

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        arrays.write_arrays(tmp_path / "x.npz", {"a": np.ones(3)})
    assert [path.name for path in tmp_path.iterdir()] == ["x.npz"]
    assert arrays.read_arrays(tmp_path / "x.npz")["a"].tolist() == [0.0] * 3


def test_damaged_arrays_are_named_and_nothing_in_them_is_executed(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    arrays.write_arrays(path, {"a": np.zeros(3)})
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(arrays.Damaged, match=r"x\.npz is damaged: its SHA-256 is"):
        arrays.read_arrays(path)
    buffer = io.BytesIO()
    np.savez(buffer, a=np.array([Trap()], dtype=object))
    path.write_bytes(buffer.getvalue() + hashlib.sha256(buffer.getvalue()).digest())
    with pytest.raises(ValueError, match="holds no arrays as we write them"):
        arrays.read_arrays(path)
    assert not Trap.sprung


class Trap:
    """Would be executed if a pickle were loaded."""

    sprung = False

    def __reduce__(self) -> tuple:
        return (setattr, (Trap, "sprung", True))


def test_changes_anywhere_in_the_package_are_told(tmp_path: Path) -> None:
    """In a checkout of its own: a clean tree, a changed file far from this one, a new file."""
    package = tmp_path / "src" / "bayesbellman"
    shutil.copytree(Path(provenance.__file__).parents[1], package, ignore=shutil.ignore_patterns("__pycache__"))

    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=t", "-c", "user.email=t@t"]
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True)

    def told() -> list[str]:
        code = "from bayesbellman.runs.provenance import code_digest, commit; print(commit(), code_digest())"
        environment = {**os.environ, "PYTHONPATH": str(tmp_path / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)
        return done.stdout.split()

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "all")
    clean = told()
    assert len(clean[0]) == 12
    lstd = package / "evaluation" / "lstd.py"
    lstd.write_text(lstd.read_text(encoding="utf-8") + "\n# changed\n", encoding="utf-8")
    changed = told()
    assert changed[0] == clean[0] + "+changes"
    assert changed[1] != clean[1]
    git("checkout", ".")
    assert told() == clean
    (package / "new.py").write_text("", encoding="utf-8")
    assert told()[0].endswith("+changes")
    assert told()[1] != clean[1]
