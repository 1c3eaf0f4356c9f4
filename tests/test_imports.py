"""What importing costs and needs."""

import subprocess
import sys

import pytest

# Refuses every import that the core must do without, as if it were not installed.
BLOCKER = """
import sys
from importlib.abc import MetaPathFinder
class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {missing}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
"""
EXTRAS = {"tyro", "rich", "matplotlib", "pyarrow", "pandas", "sklearn", "gymnasium", "beartype", "hypothesis", "pytest"}


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_the_library_needs_only_its_core_dependencies() -> None:
    code = BLOCKER.format(missing=EXTRAS) + (
        "import numpy as np, bayesbellman as bb\n"
        "v = np.eye(2)\n"
        "print(bb.LinearBBO().fit(v, [1.0, 2.0], v, 0.5).sample(0, 3).shape)\n"
    )
    done = python(code)
    assert done.stdout == "(3, 2)\n", done.stderr


def test_import_is_light() -> None:
    """Importing the package imports nothing heavy; a name does when it is used."""
    done = python("import sys, bayesbellman; print(sorted({'jax', 'numpy', 'equinox'} & set(sys.modules)))")
    assert done.stdout == "[]\n", done.stderr


def test_every_public_name_exists_and_an_unknown_one_lists_them() -> None:
    import bayesbellman as bb

    for name in bb.__all__:
        assert getattr(bb, name) is not None
    assert set(dir(bb)) == set(bb.__all__)
    with pytest.raises(AttributeError, match=r"no attribute 'LSTD'; it has .*LinearBBO"):
        bb.LSTD  # pyright: ignore[reportAttributeAccessIssue] # noqa: B018


def test_a_missing_extra_is_named() -> None:
    code = BLOCKER.format(missing={"pyarrow"}) + (
        "from bayesbellman.cli.main import main\nmain(['evaluate-linear', 'x.parquet', '--out', 'y'])\n"
    )
    done = python(code)
    assert done.returncode == 2
    assert "needs pyarrow, which is not installed: pip install 'bayesbellman[arrow]'" in done.stderr
    code = BLOCKER.format(missing={"tyro"}) + "from bayesbellman.cli.main import main\nmain(['--help'])\n"
    assert "pip install 'bayesbellman[cli]'" in python(code).stderr
