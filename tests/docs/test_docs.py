"""The documentation holds: its code runs, its links lead somewhere, its map names things that exist."""

import importlib
import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import jax
import pytest

import bayesbellman as bb
from bayesbellman.doors import agents

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
STATUSES = {"done", "part", "planned", "theory"}
page = pytest.mark.parametrize("path", PAGES, ids=[p.relative_to(ROOT).as_posix() for p in PAGES])


@page
def test_python_on_the_page_runs(path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    namespace: dict = {}
    with jax.numpy_dtype_promotion("standard"):  # as users have it
        for block in blocks:
            exec(compile(block, f"{path.name}", "exec"), namespace)


@page
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
        if not target.startswith(("http:", "https:")):
            assert (path.parent / target).exists(), target


def test_every_public_name_is_documented() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in PAGES)
    for name in set(bb.__all__) - {"__version__"}:
        assert f"`{name}" in text or f"bb.{name}" in text, name


@pytest.mark.parametrize("example", EXAMPLES, ids=[e.stem for e in EXAMPLES])
def test_example_runs(example: Path) -> None:
    strict = {**os.environ, "PYTHONWARNINGS": f"error,{os.environ['PYTHONWARNINGS']}"}
    done = subprocess.run([sys.executable, example], capture_output=True, text=True, check=False, env=strict)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def map_rows() -> list[list[str]]:
    lines = (ROOT / "docs" / "paper_map.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines if line.startswith("|")]
    return [row for row in rows if row[0] != "item" and not set(row[0]) <= set("-: ")]


def test_paper_map_has_six_columns_and_known_statuses() -> None:
    rows = map_rows()
    assert len(rows) > 60
    for row in rows:
        assert len(row) == 6, row
        assert row[4] in STATUSES, row


def test_paper_map_names_code_that_exists() -> None:
    for row in map_rows():
        for name in re.findall(r"`([^`]+)`", row[2]):
            parts = name.split(".")
            for cut in range(len(parts), 0, -1):
                try:
                    found = importlib.import_module(".".join(parts[:cut]))
                except ModuleNotFoundError:
                    continue
                break
            for part in parts[cut:]:
                # A dataclass field without a default is an annotation, not an attribute.
                found = getattr(found, part, None) or found.__annotations__[part]


def test_paper_map_names_tests_that_exist() -> None:
    for row in map_rows():
        for name in re.findall(r"`([^`]+)`", row[3]):
            file, _, test = name.partition("::")
            assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8"), name


def test_what_is_called_done_has_code_and_a_test() -> None:
    for row in map_rows():
        if row[4] == "done":
            assert "`" in row[2], row
            assert "`" in row[3], row


def test_extras_for_users_are_in_the_readme() -> None:
    """Those that are more than a set of others for development and comparisons."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        extras = set(tomllib.load(file)["project"]["optional-dependencies"])
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    named = {name for part in re.findall(r"pip install '\.\[([^]]+)\]'", text) for name in part.split(",")}
    assert named == extras - {"dm-control", "docs", "dev", "sb3", "bsuite", "peers"}


def test_no_file_names_a_registry() -> None:
    """Versions are pinned by plain ``name==version`` lines."""
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        assert re.fullmatch(r"[A-Za-z0-9_.-]+==[A-Za-z0-9_.!+-]+", line), line


UNKNOWN = {"7d2953fb5d0e"}
"""What results name and nobody has; results/README.md says what is meant"""


def test_commits_that_numbers_name_exist() -> None:
    """Of the results, of what they left on the pages, and of the notes. A copy without the history cannot tell."""

    def git(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)

    if not (ROOT / ".git").exists() or git("rev-parse", "--is-shallow-repository").stdout.strip() != "false":
        pytest.skip("no history here")
    notes = [ROOT / "CHANGELOG.md", ROOT / "benchmarks" / "NOTES.md"]
    results = [path for kind in ("*.json", "*.md") for path in sorted((ROOT / "results").rglob(kind))]
    named = {
        (found, path.relative_to(ROOT).as_posix())
        for path in [*PAGES, *notes, *results]
        for found in re.findall(r'\bcommit"?:?\s"?`?([0-9a-f]{7,40})\b', path.read_text(encoding="utf-8"))
    }
    assert len(named) > 30
    for commit, where in sorted(named):
        known = git("merge-base", "--is-ancestor", commit, "HEAD").returncode == 0
        assert known or commit in UNKNOWN, f"{where} names {commit}"


def test_results_are_listed_with_the_command_that_made_them() -> None:
    """But for where it wrote and how it was cut. The levers' command was another then, as their row says."""
    aside = re.compile(r"--(overwrite|(out|minutes|evaluate-every) \S+|jobs( (?!-)\S+)+)")
    seen = 0
    for line in (ROOT / "results" / "README.md").read_text(encoding="utf-8").splitlines():
        row = re.fullmatch(r"\| \[([\w.]+)\]\((.+?)\) \|.*\| `([^`]+)` \|", line)
        if row is None or row[1] == "cartpole_levers_narrow":
            continue
        folder = (ROOT / "results" / row[2]).parent
        files = [folder / name for name in ("provenance.json", "config.json", "scores.json")]
        about = [json.loads(path.read_text(encoding="utf-8")) for path in files if path.exists()]
        if not about or row[3].startswith("make"):
            continue
        made = next(part for part in (about[0].get("origin"), about[0].get("provenance"), about[0]) if part)["command"]
        listed, made = (shlex.split(aside.sub("", command)) for command in (row[3], made))
        assert listed[-len(made) + 1 :] == made[1:], line
        seen += 1
    assert seen > 10


BLOCKS = [
    "speed",
    "widths",
    "intervals",
    "off_policy",
    "linear_quirks",
    "linear_tables",
    "linear_speed",
    "control_demo",
    "pendulum",
    "control_speed",
    "checkpoints",
    "bsuite_scores",
    "discrete_speed",
    "control_gpu",
    "mountain_car",
    "mountain_car_paper_rate",
    "mountain_car_sensitivity",
    "mountain_car_sensitivity_narrow",
    "deep_sea",
    "nonlinear",
    "nonlinear_tuning",
    "where_it_helps",
    "step_costs",
    "sparse_tasks",
    "acrobot_starts",
    "cartpole_stock",
    "cartpole",
    "cartpole_steadiness",
    "cartpole_sensitivity",
    "cartpole_levers",
    "cartpole_levers_ours",
    "cartpole_levers_narrow",
    "tsitsiklis",
    "randomised_prior",
    "nonlinear_speed",
]


@pytest.mark.parametrize("name", BLOCKS)
def test_numbers_on_the_pages_are_those_of_the_results(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No number is typed: `docs/refresh.py` puts them in, and would change nothing now."""
    monkeypatch.syspath_prepend(ROOT / "docs")  # as for a script
    spec = importlib.util.spec_from_file_location("refresh", ROOT / "docs" / "refresh.py")
    assert spec is not None
    assert spec.loader is not None
    refresh = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(refresh)
    assert set(refresh.BLOCKS) == set(BLOCKS)
    path, text = refresh.refreshed(name)
    assert path.read_text(encoding="utf-8") == text


def test_the_page_on_priors_has_the_scales_that_are_taken() -> None:
    text = (ROOT / "docs" / "guides" / "own_prior.md").read_text(encoding="utf-8")
    (row,) = re.findall(r"^\| `prior_scale` \|.*$", text, flags=re.MULTILINE)
    for env, scale in agents.PRIOR_SCALES.items():
        assert re.search(rf"{scale:g} in [^:;]*`{env}`", row), env
    assert f"; {agents.OTHER_PRIOR_SCALE:g} elsewhere" in row
