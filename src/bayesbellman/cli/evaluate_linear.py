"""``bbo evaluate-linear``: evaluate a policy from logged transitions in Parquet files."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from bayesbellman.cli.options import DataFiles, Flag, OrNone
from bayesbellman.cli.saying import say

if TYPE_CHECKING:
    from bayesbellman.compat.arrow import ParquetFeatures, ParquetTransitions
    from bayesbellman.doors.linear import LinearBBO

MOST_ROWS_SHOWN = 20
VALUE_HEADER = ("row", "value", "std_operator", "std_value", "std_predictive")

Columns = Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME [NAME ...]")]


@dataclass(frozen=True)
class EvaluateLinear:
    """Evaluate a policy from logged transitions in Parquet files, column-wise and in bounded memory.

    Leaves coefficients.csv (omega with standard deviations), values.csv (with --query), summary.json and report.md.
    """

    data: DataFiles
    """Parquet files, or folders of them."""
    out: Path
    """Folder for the results."""
    features: Columns = ("phi_*",)
    """Columns of the features v: names, patterns, or one column of lists."""
    next_features: Columns = ("next_phi_*",)
    """Columns of the successor's features v', in the same order."""
    reward: str = "reward"
    """Column of rewards."""
    gamma: float = 0.99
    """Discount of transitions that did not end the episode."""
    terminated: OrNone[str] = None
    """Column that is true where the episode terminated (not where a time limit cut it). [default: nowhere]"""
    discount: OrNone[str] = None
    """Column of discounts, in place of --gamma and --terminated. [default: none]"""
    weight: OrNone[str] = None
    """Column of importance weights pi(a|s) / pi_e(a|s). [default: all are 1]"""
    query: OrNone[Path] = None
    """Parquet file with feature columns at which to report values. [default: none are reported]"""
    prior_variance: float = 10.0
    """Prior variance of each coefficient; inf for none (LSTD)."""
    noise_variance: float = 1.0
    """Variance of a Bellman target around its mean."""
    proper_policy: Flag = False
    """Every episode ends under the policy: allows discounts of 1."""
    batch_rows: int = 65_536
    """Rows held at a time."""
    overwrite: Flag = False
    """Replace the results folder if it exists."""

    def run(self) -> None:
        from bayesbellman.compat.arrow import Columns, ParquetFeatures, ParquetTransitions
        from bayesbellman.doors.linear import LinearBBO
        from bayesbellman.runs.folder import refuse_if_unusable, whole_folder

        if self.discount is not None and self.terminated is not None:
            raise ValueError(
                "--discount and --terminated were both given; a column of discounts already holds 0 at the ends"
            )
        model = LinearBBO(
            prior_variance=self.prior_variance,
            noise_variance=self.noise_variance,
            proper_policy=self.proper_policy,
        )
        refuse_if_unusable(self.out, overwrite=self.overwrite)
        columns = Columns(
            self.features,
            self.next_features,
            self.reward,
            self.gamma,
            self.terminated,
            self.discount,
            self.weight,
        )
        transitions = ParquetTransitions(self.data, columns, self.batch_rows)
        self._say_what_is_not_used(transitions.tables[0].schema.names)
        query = None
        if self.query is not None:
            query = ParquetFeatures(self.query, transitions.feature_columns, self.batch_rows)
            query.check(len(transitions.feature_names))
        try:
            model.fit_stream(_with_progress(transitions))
        except (TypeError, ValueError) as error:
            place = f" (that chunk is {transitions.place})" if str(error).startswith("chunk ") else ""
            raise ValueError(f"{error}{place}") from error
        with whole_folder(self.out, overwrite=self.overwrite) as folder:
            text = self._write(model, transitions, query, folder)
        print(text)
        print(f"Results: {self.out}")

    def _say_what_is_not_used(self, names: list[str]) -> None:
        """A column whose name says that it matters: values beyond an end that is passed over would be wrong."""
        ends = self.terminated is not None or self.discount is not None
        for option, used in (("terminated", ends), ("discount", ends), ("weight", self.weight is not None)):
            if option in names and not used:
                say(f"warning: the column {option!r} is not used; --{option} {option} takes it")

    def _write(
        self,
        model: "LinearBBO",
        transitions: "ParquetTransitions",
        query: "ParquetFeatures | None",
        folder: Path,
    ) -> str:
        """All result files; returns what to print."""
        from bayesbellman.runs.tables import aligned, markdown, write_csv

        header, rows = _coefficients(model, transitions.feature_names)
        write_csv(folder / "coefficients.csv", header, rows)
        if query is not None:
            write_csv(folder / "values.csv", VALUE_HEADER, _values(model, query))
        summary = self._summary(model)
        (folder / "summary.json").write_text(
            json.dumps(summary, indent=2, default=str, allow_nan=False) + "\n", encoding="utf-8"
        )
        facts = [(name, value) for name, value in summary["fit"].items()]
        report = f"# Linear policy evaluation\n\n{markdown(('quantity', 'value'), facts)}\n\n{markdown(header, rows)}\n"
        (folder / "report.md").write_text(report, encoding="utf-8")
        shown = aligned(header, rows[:MOST_ROWS_SHOWN])
        more = f"\n... {len(rows) - MOST_ROWS_SHOWN} more in coefficients.csv" if len(rows) > MOST_ROWS_SHOWN else ""
        return f"{aligned(('quantity', 'value'), facts)}\n\n{shown}{more}"

    def _summary(self, model: "LinearBBO") -> dict[str, Any]:
        from bayesbellman.runs.provenance import provenance

        fit = {
            "transitions": model.n_samples_seen_,
            "effective sample size": model.effective_sample_size_,
            "features": model.n_features_in_,
            "rank": model.rank_,
            "condition number": model.condition_number_ if model.rank_ == model.n_features_in_ else "infinite",
            "spectral radius": model.spectral_radius_,
        }
        return {
            "fit": fit,
            "settings": {**asdict(self), "prior_variance": str(self.prior_variance)},
            "provenance": provenance(),
        }


def _with_progress(transitions: "ParquetTransitions") -> Iterator[tuple]:
    """The chunks, with a report after each has been taken in."""
    from bayesbellman.runs.progress import progress

    with progress("Reading", transitions.num_rows, "rows") as report:
        done = 0
        for chunk in transitions.chunks():
            yield chunk
            done += len(chunk[1])
            report(done, "")


def _coefficients(model: "LinearBBO", names: list[str]) -> tuple[tuple[str, ...], list[tuple]]:
    """A coefficient is the value at a unit vector, so its deviations are those of `predict` there."""
    import numpy as np

    units = np.eye(model.n_features_in_)
    omega, operator = model.predict(units, return_std=True)
    _, value = model.predict(units, return_std="value")
    header = ("feature", "omega", "std_operator", "std_value")
    return header, list(zip(names, omega.tolist(), operator.tolist(), value.tolist(), strict=True))


def _values(model: "LinearBBO", query: "ParquetFeatures") -> Iterator[tuple]:
    """One row per query: its number, the value, and the three deviations."""
    import numpy as np

    row = 0
    for features in query.batches():
        values, operator = model.predict(features, return_std=True)
        _, value = model.predict(features, return_std="value")
        _, predictive = model.predict(features, return_std="predictive")
        for numbers in np.column_stack([values, operator, value, predictive]).tolist():
            yield (row, *numbers)
            row += 1
