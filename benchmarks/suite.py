"""All benchmarks in one command; what they found is appended to a history.

    python benchmarks/suite.py [--parts linear control ...] [--gpu] [--record] [--out results/benchmarks]

Each part is a script of its own, run in the virtual environment that has its peers (``make bench`` makes them); on a
GPU, those that run there, without peers. From the results that a part leaves, the suite takes what is worth following
over time (ratios to peers, shares of the physical limit, microseconds), prints it, and appends it with commit, machine
and versions to history.csv, once for each measurement. ``--record`` runs nothing and appends what lies in the folder.
"""

import argparse
import csv
import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
HISTORY = "history.csv"
COLUMNS: tuple[str, ...] = ("part", "what", "value", "commit", "machine", "jax", "peers", "command")
Found = Iterator[tuple[str, float]]


def of_linear(result: dict[str, Any]) -> Found:
    yield from result["reached"].items()
    yield "share of the limit", result["limit"]["limit, s"] / result["seconds"]["LinearBBO.fit"]


def of_linear_suite(result: dict[str, Any]) -> Found:
    yield "times a NumPy loop, least of the tasks", min(row["ratio"] for row in result["rows"])
    yield "times a NumPy loop, median of the tasks", statistics.median(row["ratio"] for row in result["rows"])
    yield "share of the limit, most of the tasks", max(row["share of the limit"] for row in result["rows"])


def of_nonlinear(result: dict[str, Any]) -> Found:
    for row in result["rows"]:
        yield f"{row['method']}, {row['seeds']} seeds: us a step and seed", row["us a step and seed"]
        yield f"{row['method']}, {row['seeds']} seeds: share of the matrix rate", row["share of the matrix rate"]
    yield "TDC over TD(0)", result["origin"]["tdc_over_td"]


def of_control(result: dict[str, Any]) -> Found:
    rows = {(row["contender"], row["runs"]): row for row in result["rows"]}
    for (name, runs), row in rows.items():
        if not name.startswith("SBX"):
            yield f"{name}, {runs} runs: us a step and run", row["us a step and run"]
            yield f"{name}, {runs} runs: share of the matrix rate", row["share of the matrix rate"]
            if "times the floor" in row:
                yield f"{name}, {runs} runs: times the floor", row["times the floor"]
    share = "share of the matrix rate"  # around the time of each: contenders do not have the machine at the same time
    for ours, peer in (("RP-BBAC, L = 8", "SBX SAC, 8 critics"), ("SAC", "SBX SAC")):
        if (peer, 1) in rows:
            yield f"{ours} over {peer}, {share}", rows[ours, 1][share] / rows[peer, 1][share]


def of_discrete(result: dict[str, Any]) -> Found:
    for row in result["rows"]:
        if row["contender"].startswith("ours"):
            yield f"{row['contender']}, size {row['size']}: times bsuite's", row["times bsuite's"]
            yield f"{row['contender']}, size {row['size']}: share of the matrix rate", row["share of the matrix rate"]


class Part(NamedTuple):
    """A script, where its peers are, what it is given on a CPU and (if it runs there) on a GPU, what it leaves."""

    script: str
    environment: str
    on_cpu: tuple[str, ...]
    on_gpu: tuple[str, ...] | None
    leaves: tuple[str, ...]
    read: Callable[[dict[str, Any]], Found]


PARTS = {
    "linear": Part("linear.py", ".venv-peers", (), None, ("linear.json",), of_linear),
    "linear-suite": Part("linear_suite.py", ".venv-peers", (), None, ("linear_suite.json",), of_linear_suite),
    "nonlinear": Part(
        "nonlinear.py",
        ".venv-peers",
        ("--steps", "300", "--repeats", "3"),
        (),
        ("nonlinear_cpu.json", "nonlinear_cpu_full.json", "nonlinear_gpu.json"),
        of_nonlinear,
    ),
    "control": Part(
        "control.py",
        ".venv-sb3",
        ("--peers", "--steps", "60"),
        ("--sweep", "--steps", "1000"),
        ("control_cpu.json", "control_gpu.json"),
        of_control,
    ),
    "discrete": Part("discrete.py", ".venv-bsuite", ("--rounds", "10"), None, ("discrete_cpu.json",), of_discrete),
}


def run(part: Part, out: Path, gpu: bool) -> None:
    arguments = part.on_gpu if gpu else part.on_cpu
    if arguments is None:
        return
    python = Path(sys.executable) if gpu else HERE.parent / part.environment / "bin" / "python"
    if not python.exists():
        raise SystemExit(
            f"{part.script} needs its peers in {part.environment}, which is not there: make bench makes it"
        )
    root = HERE.parent.resolve()
    inside = out.resolve().is_relative_to(root)  # results name the folder: as it is in everybody's copy
    place = out.resolve().relative_to(root) if inside else out.resolve()
    subprocess.run([python, "-W", "ignore", HERE / part.script, *arguments, "--out", place], check=True, cwd=root)


def measured(name: str, part: Part, out: Path) -> Iterator[dict[str, str]]:
    """Rows of the history, from what the part left."""
    for path in (out / file for file in part.leaves):
        if not path.exists():
            continue
        result = json.loads(path.read_text(encoding="utf-8"))
        origin = result["origin"]
        peers = " ".join(f"{peer} {version}" for peer, version in origin.get("peers", {}).items())
        made = (origin["commit"], origin["machine"], origin["packages"]["jax"], peers, origin["command"])
        for what, value in part.read(result):
            yield dict(zip(COLUMNS, (name, what, f"{value:.4g}", *made), strict=True))


def append(rows: list[dict[str, str]], path: Path) -> list[dict[str, str]]:
    """Those that are not there yet, which are returned."""
    old: list[dict[str, str]] = []
    if path.exists():
        with path.open(encoding="utf-8", newline="") as file:
            old = list(csv.DictReader(file))
    new = [row for row in rows if row not in old]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows([*old, *new])
    return new


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=[*PARTS], default=[*PARTS], metavar="PART")
    parser.add_argument("--record", action="store_true", help="run nothing")
    parser.add_argument("--gpu", action="store_true", help="what runs on a GPU, which JAX must find")
    parser.add_argument("--out", type=Path, default=HERE.parent / "results" / "benchmarks")
    arguments = parser.parse_args()
    chosen = {name: PARTS[name] for name in arguments.parts}
    if not arguments.record:
        for part in chosen.values():
            run(part, arguments.out, arguments.gpu)
    rows = [row for name, part in chosen.items() for row in measured(name, part, arguments.out)]
    new = append(rows, arguments.out / HISTORY)
    for row in new:
        peers = f" ({row['peers']})" if row["peers"] else ""
        print(f"{row['part']:12s} {row['value']:>9s}  {row['what']}{peers}")
    print(f"{len(new)} of {len(rows)} numbers are new in {arguments.out / HISTORY}")


if __name__ == "__main__":
    main()
