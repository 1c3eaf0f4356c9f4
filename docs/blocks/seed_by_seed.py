"""Of studies of sparse rewards: every run in a table, and what made it."""

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from blocks.reading import Row, facts, head, line, runs_in_a_cell, table_of

from bayesbellman.experiments.artefact import Artefact
from bayesbellman.experiments.checking import judge

ASIDE = re.compile(r" --(overwrite|(out|minutes) \S+|jobs( (?!-)\S+)+)")
"""Of a command: where it wrote, and in which pieces"""


def rows_by_group(*tables: Path) -> dict[str, list[Row]]:
    """Rows of these tables by agent, or whatever their groups are."""
    groups: dict[str, list[Row]] = {}
    for table in tables:
        for row in table_of(table):
            groups.setdefault(row["group"], []).append(row)
    return groups


def run_table(
    what: str,
    groups: Mapping[str, Sequence[Row]],
    steps: Mapping[str, str],
    more: Mapping[str, Mapping[str, str]] | None = None,
) -> list[str]:
    """A line for each group, its runs in the order of their seeds. ``steps``: columns of runs.csv, and their names.
    ``more``: columns by name, and in each a cell for each group."""
    more = more or {}
    lines = head((what, "solved", *steps.values(), *more, "final returns"))
    for group, runs in groups.items():
        cells = [group, f"{sum(run['solved'] == '1' for run in runs)} of {len(runs)}"]
        cells += [runs_in_a_cell(f"{int(run[name]):,}" if run[name] else "-" for run in runs) for name in steps]
        cells += [column[group] for column in more.values()]
        cells += [runs_in_a_cell(_return(float(run["final_return"])) for run in runs)]
        lines.append(line(cells))
    return lines


def study_of(folder: Path) -> str:
    """What made it, in words."""
    made = facts(folder / "provenance.json")
    size = made["settings"]["size"]
    words = f"`{_command(made['command'])}`, seeds 0 to {size['seeds'] - 1}, {size['steps']:,} steps"
    words += f", commit {made['commit']}, {made['machine']}, {made['seconds'] / 60:.1f} minutes."
    return words + (f" Not finished: {', '.join(made['unfinished'])}." if made.get("unfinished") else "")


def _command(given: str) -> str:
    """Without what is aside, and with the quotes that one would type."""
    words = shlex.split(ASIDE.sub("", given))
    return " ".join(word if shlex.quote(word) == word else f'"{word}"' for word in words)


def check_of(artefact: Artefact, folder: Path, claims: str = "the paper") -> str:
    """What its check says, in words."""
    verdicts = judge(artefact.expected(), artefact.cells(folder))
    agree = sum(verdict.ok for verdict in verdicts)
    return f"`bbo check {artefact.name}`: {agree} of {len(verdicts)} agree with {claims}."


def steps_of(folder: Path) -> str:
    return f"{facts(folder / 'provenance.json')['settings']['size']['steps']:,} steps"


def _return(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 1 else f"{value:.1f}"
