"""Progress, output folders, tables and provenance."""

import io
import json
import sys
from pathlib import Path

import pytest

from bayesbellman.runs import folder, progress, provenance, tables


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_plain_lines_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "LINES_EVERY_SECONDS", 0.0)
    stream = io.StringIO()
    with progress.progress("Reading", 1000, "rows", stream) as report:
        report(250, "going well")
    first, last = stream.getvalue().splitlines()
    assert first.startswith("Reading: 250/1,000 rows  25 %")
    assert first.endswith("going well")
    assert last.startswith("Reading: 250/1,000 rows")
    assert "\x1b" not in stream.getvalue()


def test_a_bar_on_a_terminal() -> None:
    stream = Terminal()
    with progress.progress("Reading", 1000, "rows", stream) as report:
        report(250, "going well")
        report(1000, "done")
    assert "1,000/1,000 rows" in stream.getvalue()
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


def test_a_jump_of_the_wall_clock_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setattr(time, "time", lambda: -1e9)
    stream = io.StringIO()
    with progress.progress("Reading", 10, "rows", stream) as report:
        report(10, "")
    assert "-" not in stream.getvalue()


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


def test_an_existing_folder_is_kept_unless_asked(tmp_path: Path) -> None:
    out = tmp_path / "results"
    out.mkdir()
    (out / "old.txt").write_text("old")
    with pytest.raises(FileExistsError, match="already has files in it; name another folder or add --overwrite"):
        folder.refuse_if_unusable(out, overwrite=False)
    with pytest.raises(RuntimeError), folder.whole_folder(out, overwrite=True):
        raise RuntimeError
    assert (out / "old.txt").read_text() == "old"  # a failed run replaces nothing
    with folder.whole_folder(out, overwrite=True) as fresh:
        (fresh / "new.txt").write_text("new")
    assert [p.name for p in out.iterdir()] == ["new.txt"]


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
    assert tables.markdown(header, rows) == "| name | x |\n|---|---|\n| a | 0.3 |\n| bc | 12,346 |"


def test_provenance_can_be_written_down() -> None:
    origin = json.loads(json.dumps(provenance.provenance(["bbo", "demo", "--out", "a b"])))
    assert origin["command"] == "bbo demo --out 'a b'"
    assert set(origin["packages"]) == set(provenance.PACKAGES)
    assert origin["commit"] is None or len(origin["commit"].split("+")[0]) == 12
