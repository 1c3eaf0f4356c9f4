"""``bbo`` as a user runs it: in a process of its own, but for what it refuses."""

import csv
import json
import os
import pty
import re
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.compat.test_arrow import arrays, write

import bayesbellman as bb
from bayesbellman._version import __version__
from bayesbellman.cli.main import main

BBO = [sys.executable, "-m", "bayesbellman.cli"]


def compiling() -> dict[str, str]:
    """What the environment says of compiling (tests/conftest.py), for a process that is given one of its own."""
    return {name: value for name, value in os.environ.items() if name.startswith(("JAX_", "XLA_"))}


def bbo(*arguments: object, **options) -> subprocess.CompletedProcess[str]:
    options = {"capture_output": True, "text": True, "check": False, **options}
    return subprocess.run([*BBO, *map(str, arguments)], **options)


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """What it says when it refuses; in this process, where the imports need not be done again."""
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    assert end.value.code == 2
    return capsys.readouterr().err


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write(tmp_path / "log.parquet", arrays(500), row_group_size=200)


def test_help_is_there_at_once() -> None:
    """Under 0.5 s of processor time, by the best of five: wall time would measure who else is using the machine."""
    times = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = bbo("--help")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
        assert done.returncode == 0
        assert "evaluate-linear" in done.stdout
    assert min(times) < 0.5


def test_help_imports_nothing_heavy() -> None:
    code = "import sys; from bayesbellman.cli.main import main\ntry: main(['--help'])\n"
    code += "finally: sys.exit(bool({'jax', 'numpy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=False).returncode == 0


COMMANDS = ["demo", "demo-linear", "evaluate-linear", "train", "evaluate", "runs"]
COMMANDS += ["compare", "doctor", "report", "reproduce", "check", "tune"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_says_no_default_that_is_none(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What stands for an option that is left out is said in words, and its value is no Python."""
    with pytest.raises(SystemExit) as end:
        main([command, "--help"])
    assert end.value.code == 0
    said = capsys.readouterr().out
    assert "--help" in said
    for word in ("None", "(default: )", "(default: False)", "[["):
        assert word not in said


def test_version() -> None:
    assert bbo("--version").stdout == f"bayesbellman {__version__}\n"


def test_an_unknown_command_lists_what_exists() -> None:
    done = bbo("evaluate-liner")
    assert done.returncode == 2
    assert "evaluate-linear" in done.stderr


def test_evaluate_linear(log: Path, tmp_path: Path) -> None:
    """The files hold what `LinearBBO` says of the same data."""
    query = write(tmp_path / "query.parquet", {"phi_0": [1.0, 0.0], "phi_1": [0.0, 2.0]})
    out = tmp_path / "results"
    done = bbo(
        "evaluate-linear", log, "--out", out, "--gamma", 0.9, "--terminated", "terminated", "--weight", "w",
        "--query", query, "--batch-rows", 64, "--noise-variance", 0.5,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    a = arrays(500)
    v, v_next = (np.column_stack([a[f"{p}_0"], a[f"{p}_1"]]) for p in ("phi", "next_phi"))
    model = bb.LinearBBO(noise_variance=0.5).fit(v, a["reward"], v_next, np.where(a["terminated"], 0, 0.9), a["w"])
    rows = read_csv(out / "coefficients.csv")
    assert [row["feature"] for row in rows] == ["phi_0", "phi_1"]
    np.testing.assert_allclose([float(row["omega"]) for row in rows], model.omega_, rtol=1e-12)
    deviations = np.sqrt(np.diag(model.posterior_covariance_))
    np.testing.assert_allclose([float(row["std_operator"]) for row in rows], deviations, rtol=1e-12)
    deviations = np.sqrt(np.diag(model.value_covariance_))
    np.testing.assert_allclose([float(row["std_value"]) for row in rows], deviations, rtol=1e-12)
    values = read_csv(out / "values.csv")
    np.testing.assert_allclose([float(row["value"]) for row in values], model.predict([[1.0, 0.0], [0.0, 2.0]]))
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    assert summary["fit"]["transitions"] == 500
    assert summary["fit"]["effective sample size"] == pytest.approx(model.effective_sample_size_)
    assert summary["settings"]["gamma"] == 0.9
    assert "effective sample size" in done.stdout
    assert "500/500 rows" in done.stderr
    assert "phi_0" in (out / "report.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (["--reward", "gain"], "--reward: .* has no column 'gain'; its columns are"),
        (["--gamma", "1.5"], r"discounts range from 1.5 to 1.5; accepted are numbers in \[0, 1\)"),
        (["--noise-variance", "0"], r"noise_variance is 0.0; accepted is a positive number"),
        (["--discount", "w", "--terminated", "terminated"], "--discount and --terminated were both given"),
        (["--query", "nowhere.parquet"], "nowhere.parquet does not exist"),
        (["--batch-rows", "0"], "batch_rows is 0"),
    ],
)
def test_bad_settings_cost_one_line_and_leave_nothing(
    log: Path, tmp_path: Path, capsys, changes: list[str], words: str
) -> None:
    said = refused(capsys, "evaluate-linear", log, "--out", tmp_path / "results", *changes)
    last = said.strip().splitlines()[-1]
    assert last.startswith("bbo: error: ")
    assert re.search(words, last), last
    assert "Traceback" not in said
    assert sorted(p.name for p in tmp_path.iterdir()) == ["log.parquet"]


def test_existing_results_are_kept(log: Path, tmp_path: Path, capsys) -> None:
    out = tmp_path / "results"
    assert bbo("evaluate-linear", log, "--out", out).returncode == 0
    before = (out / "summary.json").read_bytes()
    said = refused(capsys, "evaluate-linear", log, "--out", out, "--gamma", 0.5)
    assert "already has files in it; name another folder or add --overwrite" in said
    assert (out / "summary.json").read_bytes() == before
    assert bbo("evaluate-linear", log, "--out", out, "--gamma", 0.5, "--overwrite").returncode == 0
    assert (out / "summary.json").read_bytes() != before


def test_a_damaged_file_leaves_nothing_behind(tmp_path: Path, capsys) -> None:
    path = write(tmp_path / "log.parquet", arrays(400), row_group_size=100, write_page_checksum=True)
    place = pq.read_metadata(path).row_group(3).column(0).data_page_offset + 100
    content = bytearray(path.read_bytes())
    content[place] ^= 0xFF
    path.write_bytes(content)
    said = refused(capsys, "evaluate-linear", path, "--out", tmp_path / "results")
    assert "row group 3 of 4 (from row 300) cannot be read" in said
    assert not (tmp_path / "results").exists()


def test_warnings_are_one_line_and_deviations_infinite(tmp_path: Path) -> None:
    a = {**arrays(), "phi_1": np.zeros(100), "next_phi_1": np.zeros(100)}
    path = write(tmp_path / "log.parquet", a)
    done = bbo("evaluate-linear", path, "--out", tmp_path / "results", "--prior-variance", "inf")
    assert done.returncode == 0
    assert "bbo: warning: the data determine 1 of 2 directions of omega" in done.stderr
    assert read_csv(tmp_path / "results" / "coefficients.csv")[1]["std_operator"] == "inf"
    summary = (tmp_path / "results" / "summary.json").read_text()
    assert "Infinity" not in summary  # which is no JSON
    assert json.loads(summary)["fit"]["condition number"] == "infinite"


def test_columns_that_matter_and_are_not_used_are_told_of(tmp_path: Path, capsys) -> None:
    """Ends that are passed over are bootstrapped across, and nothing in the numbers would show it."""
    a = arrays()
    path = write(tmp_path / "log.parquet", {**a, "weight": a.pop("w")})
    words = "warning: the column '{0}' is not used; --{0} {0} takes it"
    main(["evaluate-linear", str(path), "--out", str(tmp_path / "without")])
    said = capsys.readouterr().err
    assert words.format("terminated") in said
    assert words.format("weight") in said
    assert "discount" not in said
    used = ["--terminated", "terminated", "--weight", "weight"]
    main(["evaluate-linear", str(path), "--out", str(tmp_path / "with"), *used])
    assert "is not used" not in capsys.readouterr().err


def test_a_bad_number_is_named_with_its_rows_and_file(tmp_path: Path, capsys) -> None:
    a = arrays()
    a["phi_0"][40] = np.nan
    path = write(tmp_path / "log.parquet", a)
    said = refused(capsys, "evaluate-linear", path, "--out", tmp_path / "results", "--batch-rows", 16)
    assert "chunk 2: features has 1 value(s) that are not finite" in said
    assert f"(that chunk is rows 32 to 47 of {path})" in said


def test_the_input_is_never_overwritten(log: Path, capsys) -> None:
    said = refused(capsys, "evaluate-linear", log, "--out", log.parent, "--overwrite")
    assert "has files that bbo did not write (log.parquet)" in said
    assert log.exists()


# ------------------------------------------------------------------------------- where and how it may be started


def test_paths_with_spaces_and_unicode(tmp_path: Path) -> None:
    (folder := tmp_path / "daten für Übung 1").mkdir()
    log = write(folder / "lög datei.parquet", arrays())
    out = folder / "ergebnis ✓"
    done = bbo("evaluate-linear", log, "--out", out)
    assert done.returncode == 0, done.stderr
    assert (out / "summary.json").exists()


def test_ascii_locale_without_home(log: Path, tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "POSIX", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    environment |= compiling()
    done = bbo("evaluate-linear", log, "--out", tmp_path / "ergebnis ü", env=environment)
    assert done.returncode == 0, done.stderr
    assert bbo("demo-linear", "--out", tmp_path / "demo ü", "--transitions", 30, env=environment).returncode == 0


def test_a_name_too_long_is_an_error_in_words(log: Path, tmp_path: Path) -> None:
    """In a process of its own, for all refusals: its exit code, and no traceback."""
    done = bbo("evaluate-linear", log, "--out", tmp_path / ("x" * 300))
    assert done.returncode == 2
    assert "File name too long" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_reader_that_goes_away(log: Path, tmp_path: Path) -> None:
    """``bbo ... | head -0``: the results are written all the same, nothing is said of a broken pipe."""
    command = [*BBO, "evaluate-linear", str(log), "--out", str(tmp_path / "results")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        errors = process.stderr.read()
    assert process.returncode == 1
    assert "Traceback" not in errors
    assert "BrokenPipe" not in errors
    assert (tmp_path / "results" / "summary.json").exists()


def test_closed_standard_streams(log: Path, tmp_path: Path) -> None:
    """Started by something that gives it neither output nor error."""
    command = " ".join([*BBO, "evaluate-linear", str(log), "--out", str(tmp_path / "results")])
    done = subprocess.run(["sh", "-c", f"{command} >&- 2>&-"], check=False)
    assert done.returncode == 0
    assert (tmp_path / "results" / "summary.json").exists()


def test_a_terminal_that_shrinks_while_it_runs(tmp_path: Path) -> None:
    """On a terminal a bar is drawn; resizing it under the running command does no harm."""
    import fcntl
    import struct
    import termios

    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    command = [*BBO, "demo-linear", "--out", str(tmp_path / "report")]
    with subprocess.Popen(command, stdout=follower, stderr=follower) as process:
        os.close(follower)
        seen = b""
        while True:
            try:
                piece = os.read(leader, 4096)
            except OSError:  # the terminal's other end has closed
                break
            if not piece:
                break
            seen += piece
            if b"Boyan" in seen:
                fcntl.ioctl(leader, termios.TIOCSWINSZ, struct.pack("HHHH", 10, 20, 0, 0))
    os.close(leader)
    assert process.returncode == 0, seen[-2000:]
    assert b"Traceback" not in seen
    assert (tmp_path / "report" / "report.md").exists()


# --------------------------------------------------------------------------------------------------------- the demo


def test_linear_demo_leaves_a_report(tmp_path: Path) -> None:
    out = tmp_path / "report"
    done = bbo("demo-linear", "--out", out, "--transitions", 300, "--seed", 3)
    assert done.returncode == 0, done.stderr
    assert sorted(p.name for p in out.iterdir()) == [
        ".bbo-files",
        "boyan.png",
        "curve.csv",
        "provenance.json",
        "report.md",
        "states.csv",
    ]
    curve = read_csv(out / "curve.csv")
    assert int(curve[-1]["transitions"]) == 300
    assert float(curve[-1]["mean_std_value"]) < 0.5 * float(curve[0]["mean_std_value"])  # the band closes
    assert float(curve[-1]["rmse"]) < 2.0  # on a truth that ranges over 21
    assert len(read_csv(out / "states.csv")) == 14
    assert (out / "boyan.png").read_bytes().startswith(b"\x89PNG")
    assert "300/300 transitions" in done.stderr
    origin = json.loads((out / "provenance.json").read_text(encoding="utf-8"))
    assert origin["settings"]["seed"] == 3


@pytest.mark.parametrize(("option", "value"), [("--transitions", 0), ("--seed", -1)])
def test_linear_demo_refuses_bad_settings(tmp_path: Path, capsys, option: str, value: int) -> None:
    said = refused(capsys, "demo-linear", "--out", tmp_path / "report", option, value)
    assert f"{option} is {value}; accepted" in said


@pytest.mark.parametrize("row_group", [50_000, 800_000])
def test_a_large_log_is_read_in_bounded_memory(tmp_path: Path, row_group: int) -> None:
    """200 MiB of Parquet (800,000 rows x 33 columns), in many row groups or one, read with 128 MiB of data memory.

    The limit (RLIMIT_DATA: private writable memory, so not the mapped file) is set after a first small run in the same
    process, at what that took plus 128 MiB. That it bites is checked by asking for 200 MiB at the end.
    """
    path, rng = tmp_path / "large.parquet", np.random.default_rng(0)
    names = [f"phi_{i}" for i in range(16)] + [f"next_phi_{i}" for i in range(16)] + ["reward"]
    table = pa.table({name: rng.normal(size=800_000) for name in names})
    pq.write_table(table, path, compression="none", use_dictionary=False, row_group_size=row_group)
    small = write(tmp_path / "small.parquet", {name: np.ones(10) for name in names})
    code = f"""
import re, resource
from pathlib import Path
import numpy as np
from bayesbellman.cli.main import main
main(["evaluate-linear", {str(small)!r}, "--out", {str(tmp_path / "a")!r}])
data = 1024 * int(re.search(r"VmData:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
resource.setrlimit(resource.RLIMIT_DATA, (data + 128 * 2**20,) * 2)
main(["evaluate-linear", {str(path)!r}, "--out", {str(tmp_path / "b")!r}, "--batch-rows", "16384"])
try:
    np.ones(200 * 2**17)
except MemoryError:
    print("the limit bites")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.endswith("the limit bites\n")
    assert json.loads((tmp_path / "b" / "summary.json").read_text())["fit"]["transitions"] == 800_000
