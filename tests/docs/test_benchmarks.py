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


@pytest.fixture(scope="module")
def suite() -> ModuleType:
    spec = importlib.util.spec_from_file_location("suite", ROOT / "benchmarks" / "suite.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
