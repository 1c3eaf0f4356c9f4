"""Logged transitions in Parquet files, read column-wise in bounded memory."""

import fnmatch
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import Float

from bayesbellman.core.types import effective_discount


class Columns(NamedTuple):
    """Which columns hold what. Features are named by patterns (``phi_*``), or by one column of lists."""

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

    def resolve(self, argument: str, patterns: Sequence[str]) -> list[str]:
        """Names of the columns that the patterns match, in the file's order within each pattern."""
        names: list[str] = []
        for pattern in patterns:
            found = [name for name in self.schema.names if fnmatch.fnmatchcase(name, pattern)]
            if not found:
                raise ValueError(
                    f"{argument}: {self.path} has no column {pattern!r}; its columns are {_listing(self.schema.names)}"
                )
            names += [name for name in found if name not in names]
        for name in names:
            kind = self.schema.field(name).type
            if not (_is_number(kind) or (_is_list(kind) and _is_number(kind.value_type))):
                raise TypeError(
                    f"{argument}: column {name!r} of {self.path} holds {kind}; accepted are numbers or lists of them"
                )
        return names

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


class ParquetTransitions:
    """Transitions in one or more Parquet files; `chunks` is what `LinearBBO.fit_stream` takes."""

    def __init__(self, paths: Sequence[Path], columns: Columns, batch_rows: int = 65_536) -> None:
        if batch_rows < 1:
            raise ValueError(f"batch_rows is {batch_rows}; accepted is a number of rows >= 1")
        self.tables = [Table(path) for path in _files(paths)]
        self.columns = columns
        self.batch_rows = batch_rows
        self.feature_names = self._check()

    @property
    def num_rows(self) -> int:
        return sum(table.num_rows for table in self.tables)

    def chunks(self) -> Iterator[tuple]:
        """``(features, rewards, next_features, discounts, weights)``, one batch of rows after another."""
        wanted = self.columns
        for table in self.tables:
            features = table.resolve("--features", wanted.features)
            next_features = table.resolve("--next-features", wanted.next_features)
            single = [n for n in (wanted.reward, wanted.terminated, wanted.discount, wanted.weight) if n is not None]
            for first, batch in table.batches([*features, *next_features, *single], self.batch_rows):
                place = f"{table.path}, rows from {first}"

                def column(name: str, batch: pa.RecordBatch = batch, place: str = place) -> np.ndarray:
                    return _numbers(batch, name, place)

                if wanted.discount is not None:
                    discounts = column(wanted.discount)
                elif wanted.terminated is not None:
                    discounts = effective_discount(wanted.gamma, column(wanted.terminated) != 0)
                else:
                    discounts = np.asarray(wanted.gamma)
                yield (
                    _matrix(batch, features, place),
                    column(wanted.reward),
                    _matrix(batch, next_features, place),
                    discounts,
                    None if wanted.weight is None else column(wanted.weight),
                )

    def _check(self) -> list[str]:
        """Every file has every column, and features pair up with next features; returns a name per feature."""
        names: list[str] = []
        for table in self.tables:
            features = table.resolve("--features", self.columns.features)
            next_features = table.resolve("--next-features", self.columns.next_features)
            overlap = sorted(set(features) & set(next_features))
            if overlap:
                raise ValueError(
                    f"--features and --next-features both match {_listing(overlap)} in {table.path};"
                    " use patterns that differ"
                )
            if len(features) != len(next_features):
                raise ValueError(
                    f"--features matches {len(features)} column(s) of {table.path} ({_listing(features)}), but"
                    f" --next-features {len(next_features)} ({_listing(next_features)}); they must pair up"
                )
            for option in ("reward", "terminated", "discount", "weight"):
                if (name := getattr(self.columns, option)) is not None:
                    table.resolve(f"--{option}", [name])
            if names and names != features:
                raise ValueError(f"{table.path} has other features than {self.tables[0].path}: {_listing(features)}")
            names = features
        return self._names_per_number(names)

    def _names_per_number(self, names: list[str]) -> list[str]:
        """A list column of k numbers is k features, named ``column[0]`` onwards."""
        first = next((batch for table in self.tables for _, batch in table.batches(names, 1)), None)
        expanded: list[str] = []
        for name in names:
            if not _is_list(self.tables[0].schema.field(name).type):
                expanded.append(name)
            elif first is not None:
                expanded += [f"{name}[{i}]" for i in range(len(first.column(name)[0]))]
        return expanded


class ParquetFeatures:
    """The feature columns of a file of queries."""

    def __init__(self, path: Path, patterns: Sequence[str], batch_rows: int) -> None:
        self.table = Table(path)
        self.names = self.table.resolve("--features in the query", patterns)
        self.batch_rows = batch_rows

    def batches(self) -> Iterator[Float[np.ndarray, "rows n"]]:
        """Feature vectors, batch by batch."""
        for first, batch in self.table.batches(self.names, self.batch_rows):
            yield _matrix(batch, self.names, f"{self.table.path}, rows from {first}")


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
