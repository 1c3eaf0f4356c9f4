"""The history of benchmarks: what is measured gets there once, and what is committed is there."""

import importlib.util
import json
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results" / "benchmarks"


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def suite() -> ModuleType:
    return script("suite")


def test_every_committed_measurement_is_in_the_history(suite: ModuleType) -> None:
    history = (RESULTS / suite.HISTORY).read_text(encoding="utf-8")
    for name, part in suite.PARTS.items():
        rows = list(suite.measured(name, part, RESULTS))
        assert len(rows) > 2
        for row in rows:
            assert row["what"].replace('"', '""') in history, f"python benchmarks/suite.py --record ({name})"
            assert row["commit"] in history, f"python benchmarks/suite.py --record ({name})"


def test_a_measurement_is_appended_once_and_a_later_one_beside_it(
    suite: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    kept = RESULTS / "control_gpu.json"
    shutil.copy(kept, tmp_path)
    command = ["suite.py", "--record", "--parts", "control", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", command)
    suite.main()
    first = (tmp_path / suite.HISTORY).read_text(encoding="utf-8").splitlines()
    suite.main()
    assert (tmp_path / suite.HISTORY).read_text(encoding="utf-8").splitlines() == first
    assert f"0 of {len(first) - 1} numbers are new" in capsys.readouterr().out
    later = json.loads(kept.read_text(encoding="utf-8"))
    later["origin"]["commit"] = "0" * 12
    (tmp_path / kept.name).write_text(json.dumps(later), encoding="utf-8")
    suite.main()
    both = (tmp_path / suite.HISTORY).read_text(encoding="utf-8").splitlines()
    assert both[: len(first)] == first
    assert len(both) == 2 * len(first) - 1


def test_a_part_whose_peers_are_missing_says_how_to_get_them(suite: ModuleType, tmp_path: Path) -> None:
    part = suite.PARTS["discrete"]._replace(environment=".venv-that-is-not-there")
    with pytest.raises(SystemExit, match="make bench makes it"):
        suite.run(part, tmp_path, False)


def test_what_the_profiler_of_kernels_wrote_is_read_in_one_unit() -> None:
    kernels = script("kernels")
    said = """==PROF== Profiling "two_hidden_forward": 100%
"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"
"0","two_hidden_forward","gpu__time_duration.sum","nsecond","24,800"
"0","two_hidden_forward","launch__registers_per_thread","register/thread","220"
"0","two_hidden_forward","something else","%","1"
"""
    assert kernels.measured(said) == {"microseconds": pytest.approx(24.8), "registers a thread": 220.0}
    with pytest.raises(ValueError, match=r"ncu measured nothing: .*no permission"):
        kernels.measured("==ERROR== no permission")
    assert kernels.useful_flop("forward", 20) == 2 * 160 * 256 * 2 * 256**2
