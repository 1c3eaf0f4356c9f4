"""Put measured numbers into the pages, from results/ alone: ``python docs/refresh.py`` rewrites the marked blocks.

A block stands between ``<!-- begin NAME -->`` and ``<!-- end NAME -->``. Nobody types into it; a test compares.
"""

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"


def speed() -> str:
    """The benchmark's contenders against `LinearBBO.fit`."""
    result = json.loads((RESULTS / "benchmarks" / "linear.json").read_text(encoding="utf-8"))
    ours, origin = result["seconds"]["LinearBBO.fit"], result["origin"]
    names = {"recursion": "rank-one recursion, compiled"}
    rows = [
        f"| {names.get(name, name)} | {seconds:.2f} | {seconds / ours:.2f} |"
        for name, seconds in result["seconds"].items()
    ]
    versions = ", ".join(f"{name} {version}" for name, version in origin["peers"].items())
    return "\n".join(
        [
            "| contender | seconds | times `LinearBBO.fit` |",
            "|---|---|---|",
            *rows,
            "",
            f"{versions}; {origin['cpu']}, {origin['machine']}; commit {origin['commit']}. Time is linear in N"
            f" to {100 * result['line']['misfit']:.0f} %; memory beyond the data"
            f" {max(result['memory'].values()):.0f} MiB.",
        ]
    )


def widths() -> str:
    """Coverage of the three widths, as the example printed it."""
    table = (RESULTS / "widths" / "widths.txt").read_text(encoding="utf-8").rstrip()
    origin = json.loads((RESULTS / "widths" / "provenance.json").read_text(encoding="utf-8"))
    return f"```text\n{table}\n```\n\n`{origin['command']}`, commit {origin['commit']}, {origin['machine']}."


BLOCKS = {"speed": (ROOT / "README.md", speed), "widths": (ROOT / "docs" / "linear_evaluation.md", widths)}


def refreshed(name: str) -> tuple[Path, str]:
    """The page that holds the block, and what the page should be."""
    path, content = BLOCKS[name]
    block = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", flags=re.DOTALL)
    text, count = block.subn(lambda m: f"{m[1]}{content()}\n{m[2]}", path.read_text(encoding="utf-8"))
    if count != 1:
        raise ValueError(f"{path} has {count} blocks named {name}; there must be one")
    return path, text


if __name__ == "__main__":
    for name in BLOCKS:
        page, text = refreshed(name)
        page.write_text(text, encoding="utf-8")
