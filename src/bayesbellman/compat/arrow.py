"""Logged transitions in Parquet files, read column-wise in bounded memory."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import Float

from bayesbellman.core.types import effective_discount


class Columns(NamedTuple):
    """Which columns hold what. Features are named by patterns with one ``*``, by names, or by one column of lists."""

    features: Sequence[str]
    next_features: Sequence[str]
    reward: str
    gamma: float
    terminated: str | None = None
    """A column that is true where the transition ended the episode; its discount is then 0."""
    discount: str | None = None
    """A column of discounts, in place of ``gamma`` and ``terminated``."""
    weight: str | None = None


class Table:
    """One Parquet file, checked before its rows are read: it opens, and it has the columns asked for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.exists():
            raise FileNotFoundError(f"{path} does not exist")
        try:
            self.file = pq.ParquetFile(path, memory_map=True, pre_buffer=False, page_checksum_verification=True)
        except (pa.ArrowException, OSError) as error:
            raise ValueError(f"{path} is not a readable Parquet file: {error}") from None
        self.schema = self.file.schema_arrow
        self.num_rows: int = self.file.metadata.num_rows

    def column(self, argument: str, name: str) -> str:
        """A column by its exact name, holding numbers or lists of numbers."""
        if name not in self.schema.names:
            raise ValueError(
                f"{argument}: {self.path} has no column {name!r}; its columns are {_listing(self.schema.names)}"
            )
        if (times := self.schema.names.count(name)) > 1:
            raise ValueError(
                f"{argument}: {self.path} has {times} columns called {name!r}; rename all but one, or drop them"
            )
        kind = self.schema.field(name).type
        if not (_is_number(kind) or (_is_list(kind) and _is_number(kind.value_type))):
            raise TypeError(
                f"{argument}: column {name!r} of {self.path} holds {kind}; accepted are numbers or lists of them"
            )
        return name

    def matching(self, argument: str, pattern: str) -> dict[str, str]:
        """What ``*`` stands for -> the column's name, in the file's order; an exact name has nothing to stand for."""
        if pattern in self.schema.names:
            return {"": self.column(argument, pattern)}
        if pattern.count("*") != 1:
            self.column(argument, pattern)  # not there: says what is
        before, after = pattern.split("*")
        found = {
            name[len(before) : len(name) - len(after)]: self.column(argument, name)
            for name in self.schema.names
            if name.startswith(before) and name.endswith(after) and len(name) >= len(before) + len(after)
        }
        return found or {"": self.column(argument, pattern)}

    def batches(self, columns: Sequence[str], batch_rows: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Batches with the number of their first row. A row group that cannot be read is named."""
        first = 0
        for group in range(self.file.num_row_groups):
            reader = self.file.iter_batches(batch_rows, row_groups=[group], columns=list(columns), use_threads=True)
            while True:
                try:
                    batch = next(reader, None)
                except (pa.ArrowException, OSError) as error:
                    raise ValueError(
                        f"{self.path}: row group {group} of {self.file.num_row_groups} (from row {first})"
                        f" cannot be read: {error}"
                    ) from None
                if batch is None:
                    break
                yield first, batch
                first += batch.num_rows


def pair_columns(table: Table, features: Sequence[str], next_features: Sequence[str]) -> list[tuple[str, str]]:
    """Each feature's column with its successor's: pattern by pattern, and within patterns by what ``*`` stands for.

    So ``phi_*`` and ``next_phi_*`` pair ``phi_7`` with ``next_phi_7``, wherever the two stand in the file.
    """
    if len(features) != len(next_features):
        raise ValueError(
            f"--features has {len(features)} name(s) or pattern(s), but --next-features {len(next_features)};"
            " they must pair up"
        )
    pairs: list[tuple[str, str]] = []
    for pattern, next_pattern in zip(features, next_features, strict=True):
        now = table.matching("--features", pattern)
        later = table.matching("--next-features", next_pattern)
        if "*" not in next_pattern or next_pattern in table.schema.names:
            later = dict(zip(now, later.values(), strict=False)) if len(now) == 1 else later
        unpaired = sorted(set(now) ^ set(later))
        if unpaired:
            raise ValueError(
                f"--features {pattern!r} and --next-features {next_pattern!r} do not pair up in {table.path}:"
                f" {_listing(unpaired)} stands for * in one of them only"
            )
        pairs += [(name, later[text]) for text, name in now.items()]
    names = [name for pair in pairs for name in pair]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(
            f"--features and --next-features both match {_listing(twice)} in {table.path}; use patterns that differ"
        )
    return pairs


class ParquetTransitions:
    """Transitions in one or more Parquet files; `chunks` is what `LinearBBO.fit_stream` takes."""

    def __init__(self, paths: Sequence[Path], columns: Columns, batch_rows: int = 65_536) -> None:
        if batch_rows < 1:
            raise ValueError(f"batch_rows is {batch_rows}; accepted is a number of rows >= 1")
        self.tables = [Table(path) for path in _files(paths)]
        self.columns = columns
        self.batch_rows = batch_rows
        self.place = ""
        """Which rows of which file the last chunk was: for messages."""
        pairs = pair_columns(self.tables[0], columns.features, columns.next_features)
        self.feature_columns, self.next_columns = map(list, zip(*pairs, strict=True))
        self._check()
        self.feature_names = self._names_per_number()

    @property
    def num_rows(self) -> int:
        return sum(table.num_rows for table in self.tables)

    def chunks(self) -> Iterator[tuple]:
        """``(features, rewards, next_features, discounts, weights)`` a batch; one empty batch if there are no rows."""
        wanted = self.columns
        single = [n for n in (wanted.reward, wanted.terminated, wanted.discount, wanted.weight) if n is not None]
        names = list(dict.fromkeys([*self.feature_columns, *self.next_columns, *single]))
        for table in self.tables:
            for first, batch in table.batches(names, self.batch_rows):
                self.place = f"rows {first} to {first + batch.num_rows - 1} of {table.path}"
                yield self._chunk(batch)
        if self.num_rows == 0:
            empty = np.empty((0, len(self.feature_names)))
            yield empty, np.empty(0), empty, np.empty(0), None

    def _chunk(self, batch: pa.RecordBatch) -> tuple:
        wanted = self.columns
        if wanted.discount is not None:
            if pa.types.is_boolean(batch.column(wanted.discount).type):
                raise ValueError(
                    f"--discount: column {wanted.discount!r} is true or false; --terminated takes such a column"
                )
            discounts = _numbers(batch, wanted.discount, self.place)
        elif wanted.terminated is not None:
            flags = _numbers(batch, wanted.terminated, self.place)
            if not np.isin(flags, (0, 1)).all():
                raise ValueError(
                    f"column {wanted.terminated!r} ({self.place}) has values other than true, false, 1 and 0"
                )
            discounts = effective_discount(wanted.gamma, flags != 0)
        else:
            discounts = np.asarray(wanted.gamma)
        return (
            _matrix(batch, self.feature_columns, self.place),
            _numbers(batch, wanted.reward, self.place),
            _matrix(batch, self.next_columns, self.place),
            discounts,
            None if wanted.weight is None else _numbers(batch, wanted.weight, self.place),
        )

    def _check(self) -> None:
        """Every file has every column."""
        for table in self.tables:
            for name in self.feature_columns:
                table.column("--features", name)
            for name in self.next_columns:
                table.column("--next-features", name)
            for option in ("reward", "terminated", "discount", "weight"):
                if (name := getattr(self.columns, option)) is not None:
                    table.column(f"--{option}", name)

    def _names_per_number(self) -> list[str]:
        """A list column of k numbers is k features, named ``column[0]`` onwards."""
        table = next((table for table in self.tables if table.num_rows), None)
        if table is None:
            return self.feature_columns
        first, batch = next(table.batches(self.feature_columns, 1))
        names: list[str] = []
        for name in self.feature_columns:
            numbers = _numbers(batch, name, f"row {first} of {table.path}")
            names += [name] if numbers.ndim == 1 else [f"{name}[{i}]" for i in range(numbers.shape[1])]
        return names


class ParquetFeatures:
    """The feature columns of a file of queries, by the names they have in the data."""

    def __init__(self, path: Path, names: Sequence[str], batch_rows: int) -> None:
        self.table = Table(path)
        self.names = [self.table.column("--query", name) for name in names]
        self.batch_rows = batch_rows

    def batches(self) -> Iterator[Float[np.ndarray, "rows n"]]:
        """Feature vectors, batch by batch."""
        for first, batch in self.table.batches(self.names, self.batch_rows):
            yield _matrix(batch, self.names, f"rows from {first} of {self.table.path}")

    def check(self, num_features: int) -> None:
        """All of it can be answered: to be found out before the data are gone through, not after."""
        row = 0
        for features in self.batches():
            if features.shape[1] != num_features:
                raise ValueError(
                    f"--query: {self.table.path} has {features.shape[1]} numbers in a row, where the data have"
                    f" {num_features} features"
                )
            bad = np.argwhere(~np.isfinite(features))
            if len(bad):
                at, column = bad[0]
                raise ValueError(
                    f"--query: {self.table.path} has {features[at, column]} in row {row + at}, feature {column};"
                    " accepted are finite numbers"
                )
            row += len(features)


def _files(paths: Sequence[Path]) -> list[Path]:
    """Files as given; a folder stands for the Parquet files in it."""
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(path.glob("*.parquet"))
            if not inside:
                raise FileNotFoundError(f"the folder {path} has no .parquet files")
            files += inside
        else:
            files.append(path)
    seen: set[Path] = set()
    for path in files:
        if path.resolve() in seen:
            raise ValueError(f"{path} is there more than once, and its transitions would count as often; name it once")
        seen.add(path.resolve())
    if not files:
        raise ValueError("no data: name at least one Parquet file")
    return files


def _matrix(batch: pa.RecordBatch, names: Sequence[str], place: str) -> Float[np.ndarray, "rows n"]:
    parts = [_numbers(batch, name, place) for name in names]
    widths = [part.shape[1] if part.ndim == 2 else 1 for part in parts]
    matrix = np.empty((batch.num_rows, sum(widths)))
    start = 0
    for part, width in zip(parts, widths, strict=True):
        matrix[:, start : start + width] = part.reshape(batch.num_rows, width)
        start += width
    return matrix


def _numbers(batch: pa.RecordBatch, name: str, place: str) -> np.ndarray:
    """A column as (rows,), or a column of equally long lists as (rows, length)."""
    column = batch.column(name)
    if column.null_count:
        raise ValueError(f"column {name!r} ({place}) has {column.null_count} empty value(s); fill or drop such rows")
    if not _is_list(column.type):
        return column.to_numpy(zero_copy_only=False)
    flat = column.flatten()
    if flat.null_count:
        raise ValueError(f"column {name!r} ({place}) has empty values inside its lists; fill or drop such rows")
    lengths = set(column.value_lengths().to_pylist())
    if len(lengths) != 1:
        raise ValueError(
            f"column {name!r} ({place}) has lists of different lengths {sorted(lengths)}; they must be equal"
        )
    return flat.to_numpy(zero_copy_only=False).reshape(len(column), -1)


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)


def _is_list(kind: pa.DataType) -> bool:
    return pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)


def _listing(names: Sequence[str], most: int = 12) -> str:
    shown = ", ".join(map(repr, names[:most]))
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
