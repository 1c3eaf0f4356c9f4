"""Parquet files in and out of order: column names, lists, empty values, damage."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bayesbellman as bb
from bayesbellman.compat.arrow import Columns, ParquetFeatures, ParquetTransitions

COLUMNS = Columns(("phi_*",), ("next_phi_*",), "reward", 0.9)


def arrays(num_rows: int = 100) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {
        "phi_0": rng.normal(size=num_rows),
        "phi_1": rng.normal(size=num_rows),
        "next_phi_0": rng.normal(size=num_rows),
        "next_phi_1": rng.normal(size=num_rows),
        "reward": rng.normal(size=num_rows),
        "terminated": rng.random(num_rows) < 0.2,
        "w": rng.uniform(0.5, 1.5, size=num_rows),
    }


def write(path: Path, columns: dict, **options) -> Path:
    pq.write_table(pa.table(columns), path, **options)
    return path


def fit(paths: list[Path], columns: Columns = COLUMNS, batch_rows: int = 16) -> bb.LinearBBO:
    return bb.LinearBBO().fit_stream(ParquetTransitions(paths, columns, batch_rows).chunks())


def test_rows_come_back_as_they_were(tmp_path: Path) -> None:
    a = arrays()
    path = write(tmp_path / "d.parquet", a, row_group_size=30)
    columns = COLUMNS._replace(terminated="terminated", weight="w")
    transitions = ParquetTransitions([path], columns, batch_rows=16)
    assert transitions.num_rows == 100
    assert transitions.feature_names == ["phi_0", "phi_1"]
    v, r, v_next, gamma, w = (np.concatenate(part) for part in zip(*transitions.chunks(), strict=True))
    np.testing.assert_array_equal(v, np.column_stack([a["phi_0"], a["phi_1"]]))
    np.testing.assert_array_equal(v_next, np.column_stack([a["next_phi_0"], a["next_phi_1"]]))
    np.testing.assert_array_equal(r, a["reward"])
    np.testing.assert_array_equal(gamma, np.where(a["terminated"], 0.0, 0.9))
    np.testing.assert_array_equal(w, a["w"])


def test_many_files_and_folders_are_one_data_set(tmp_path: Path) -> None:
    a = arrays()
    whole = fit([write(tmp_path / "whole.parquet", a)])
    (parts := tmp_path / "parts").mkdir()
    for i, (start, stop) in enumerate([(0, 10), (10, 77), (77, 100)]):
        write(parts / f"{i}.parquet", {name: column[start:stop] for name, column in a.items()})
    for paths in ([parts], sorted(parts.glob("*.parquet"))):
        np.testing.assert_allclose(fit(paths).omega_, whole.omega_, rtol=1e-12)
    with pytest.raises(ValueError, match=r"1\.parquet is there more than once"):  # its rows would count twice
        fit([parts, parts / "1.parquet"])


@pytest.mark.parametrize("kind", ["list", "fixed", "large"])
def test_features_as_one_column_of_lists(tmp_path: Path, kind: str) -> None:
    a = arrays()
    make = {"list": pa.list_(pa.float64()), "fixed": pa.list_(pa.float64(), 2), "large": pa.large_list(pa.float64())}
    lists = {
        name: pa.array(np.column_stack([a[f"{prefix}_0"], a[f"{prefix}_1"]]).tolist(), type=make[kind])
        for name, prefix in (("obs", "phi"), ("next_obs", "next_phi"))
    }
    path = write(tmp_path / "l.parquet", {**lists, "reward": a["reward"]})
    columns = Columns(("obs",), ("next_obs",), "reward", 0.9)
    assert ParquetTransitions([path], columns).feature_names == ["obs[0]", "obs[1]"]
    np.testing.assert_allclose(fit([path], columns).omega_, fit([write(tmp_path / "d.parquet", a)]).omega_)


def test_a_column_of_discounts(tmp_path: Path) -> None:
    a = {**arrays(), "gamma": np.full(100, 0.9)}
    path = write(tmp_path / "d.parquet", a)
    np.testing.assert_allclose(fit([path], COLUMNS._replace(discount="gamma", gamma=0.1)).omega_, fit([path]).omega_)
    flags = write(tmp_path / "f.parquet", {**arrays(), "done": np.zeros(100, bool)})
    with pytest.raises(ValueError, match=r"--discount: column 'done' is true or false; --terminated takes"):
        fit([flags], COLUMNS._replace(discount="done"))


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (
            COLUMNS._replace(features=("psi_*",)),
            r"--features: .* has no column 'psi_\*'; its columns are 'phi_0', 'phi_1'",
        ),
        (COLUMNS._replace(reward="r"), "--reward: .* has no column 'r'"),
        (COLUMNS._replace(reward="rew*"), r"--reward: .* has no column 'rew\*'"),
        (COLUMNS._replace(weight="rho"), "--weight: .* has no column 'rho'"),
        (COLUMNS._replace(next_features=("next_phi_0",)), "do not pair up .*'0', '1' stands for"),
        (COLUMNS._replace(features=("phi_0", "phi_1")), r"--features has 2 name\(s\) .* but --next-features 1"),
        (COLUMNS._replace(features=("*phi_*",)), "has no column"),
        (COLUMNS._replace(next_features=("phi_*",)), "both match 'phi_0', 'phi_1'"),
    ],
)
def test_columns_that_are_not_there(tmp_path: Path, columns: Columns, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ParquetTransitions([write(tmp_path / "d.parquet", arrays())], columns)


def test_columns_are_paired_by_name_wherever_they_stand(tmp_path: Path) -> None:
    """Next features in the opposite order, a second file in yet another: the same answer."""
    a = arrays()
    expected = fit([write(tmp_path / "plain.parquet", a)])
    names = ["next_phi_1", "reward", "phi_0", "next_phi_0", "phi_1"]
    turned = write(tmp_path / "turned.parquet", {name: a[name] for name in names})
    np.testing.assert_allclose(np.sort(fit([turned]).omega_), np.sort(expected.omega_), rtol=1e-12)
    assert ParquetTransitions([turned], COLUMNS).feature_names == ["phi_0", "phi_1"]
    halves = [
        write(tmp_path / "h0.parquet", {name: column[:50] for name, column in a.items()}),
        write(tmp_path / "h1.parquet", {name: a[name][50:] for name in names}),
    ]
    np.testing.assert_allclose(fit(halves).omega_, expected.omega_, rtol=1e-12)


def test_names_in_place_of_patterns(tmp_path: Path) -> None:
    """In the order given; an exact name wins over what could be a pattern or an index."""
    a = arrays()
    path = write(tmp_path / "d.parquet", {"v[0]": a["phi_0"], "v*": a["phi_1"], **a})
    columns = COLUMNS._replace(features=("v[0]", "v*"), next_features=("next_phi_0", "next_phi_1"))
    np.testing.assert_allclose(fit([path], columns).omega_, fit([path]).omega_, rtol=1e-12)


def test_columns_that_are_no_numbers(tmp_path: Path) -> None:
    path = write(tmp_path / "d.parquet", {**arrays(), "reward": ["one"] * 100})
    with pytest.raises(TypeError, match=r"--reward: column 'reward' .* holds string; accepted are numbers"):
        ParquetTransitions([path], COLUMNS)


def test_files_that_differ(tmp_path: Path) -> None:
    first = write(tmp_path / "a.parquet", {**arrays(), "phi_2": np.zeros(100), "next_phi_2": np.zeros(100)})
    second = write(tmp_path / "b.parquet", arrays())
    with pytest.raises(ValueError, match=r"--features: .*b\.parquet has no column 'phi_2'"):
        ParquetTransitions([first, second], COLUMNS)


@pytest.mark.parametrize("bad", [np.nan, 2.0])
def test_a_flag_that_is_none(tmp_path: Path, bad: float) -> None:
    a = {**arrays(), "terminated": np.where(np.arange(100) == 70, bad, 0.0)}
    path = write(tmp_path / "d.parquet", a)
    with pytest.raises(ValueError, match=r"'terminated' \(rows 64 to 79 of .* other than true, false, 1 and 0"):
        fit([path], COLUMNS._replace(terminated="terminated"))


def test_empty_values_are_named(tmp_path: Path) -> None:
    path = write(tmp_path / "d.parquet", {**arrays(), "reward": pa.array([1.0] * 50 + [None] + [1.0] * 49)})
    with pytest.raises(ValueError, match=r"column 'reward' \(rows 48 to 63 of .*\) has 1 empty value"):
        fit([path])


def test_lists_of_different_lengths_are_named(tmp_path: Path) -> None:
    ragged = pa.array([[1.0, 2.0]] * 99 + [[1.0]])
    path = write(tmp_path / "d.parquet", {"obs": ragged, "next_obs": ragged, "reward": np.zeros(100)})
    with pytest.raises(ValueError, match=r"column 'obs' .* has lists of different lengths \[1, 2\]"):
        fit([path], Columns(("obs",), ("next_obs",), "reward", 0.9))


def test_a_damaged_row_group_is_named(tmp_path: Path) -> None:
    """One byte flipped in the third row group; page checksums tell."""
    path = write(tmp_path / "d.parquet", arrays(400), row_group_size=100, write_page_checksum=True)
    place = pq.read_metadata(path).row_group(2).column(0).data_page_offset + 100
    content = bytearray(path.read_bytes())
    content[place] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"d.parquet: row group 2 of 4 \(from row 200\) cannot be read"):
        fit([path])


def test_files_that_are_no_parquet(tmp_path: Path) -> None:
    (tmp_path / "text.parquet").write_text("not parquet")
    (tmp_path / "empty.parquet").write_bytes(b"")
    for name in ("text.parquet", "empty.parquet"):
        with pytest.raises(ValueError, match=f"{name} is not a readable Parquet file"):
            ParquetTransitions([tmp_path / name], COLUMNS)
    with pytest.raises(FileNotFoundError, match=r"gone.parquet does not exist"):
        ParquetTransitions([tmp_path / "gone.parquet"], COLUMNS)
    (tmp_path / "bare").mkdir()
    with pytest.raises(FileNotFoundError, match=r"has no .parquet files"):
        ParquetTransitions([tmp_path / "bare"], COLUMNS)


def test_no_rows_is_the_prior(tmp_path: Path) -> None:
    path = write(tmp_path / "d.parquet", {name: column[:0] for name, column in arrays().items()})
    model = fit([path])
    np.testing.assert_array_equal(model.omega_, np.zeros(2))
    np.testing.assert_allclose(model.posterior_covariance_, 10 * np.eye(2), rtol=1e-12)


def test_an_empty_list_in_the_first_row_is_named(tmp_path: Path) -> None:
    lists = pa.array([None] + [[1.0, 2.0]] * 99)
    path = write(tmp_path / "d.parquet", {"obs": lists, "next_obs": lists, "reward": np.zeros(100)})
    with pytest.raises(ValueError, match=r"column 'obs' \(row 0 of .* has 1 empty value"):
        ParquetTransitions([path], Columns(("obs",), ("next_obs",), "reward", 0.9))


def test_queries_are_read_by_the_names_of_the_data(tmp_path: Path) -> None:
    """Whatever the order of the columns; a missing one is refused at once."""
    a = arrays(10)
    path = write(tmp_path / "q.parquet", {"phi_1": a["phi_1"], "more": a["reward"], "phi_0": a["phi_0"]})
    batches = list(ParquetFeatures(path, ["phi_0", "phi_1"], 4).batches())
    assert [len(batch) for batch in batches] == [4, 4, 2]
    np.testing.assert_array_equal(np.concatenate(batches), np.column_stack([a["phi_0"], a["phi_1"]]))
    with pytest.raises(ValueError, match=r"--query: .*q\.parquet has no column 'phi_2'"):
        ParquetFeatures(path, ["phi_0", "phi_2"], 4)


def test_queries_that_cannot_be_answered_are_found_before_the_data_are_read(tmp_path: Path) -> None:
    a = arrays(10)
    a["phi_1"][7] = np.nan
    query = ParquetFeatures(write(tmp_path / "q.parquet", a), ["phi_0", "phi_1"], 4)
    with pytest.raises(ValueError, match=r"--query: .*q\.parquet has nan in row 7, feature 1; accepted are finite"):
        query.check(2)
    lists = pa.array([[1.0, 2.0]] * 10)
    query = ParquetFeatures(write(tmp_path / "l.parquet", {"obs": lists}), ["obs"], 4)
    query.check(2)
    with pytest.raises(ValueError, match="has 2 numbers in a row, where the data have 3 features"):
        query.check(3)


def test_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    """As joins leave them."""
    a = arrays(10)
    columns = [pa.array(column) for column in a.values()]
    table = pa.table([*columns, columns[4]], names=[*a, "reward"])
    pq.write_table(table, path := tmp_path / "d.parquet")
    with pytest.raises(ValueError, match=r"--reward: .*d\.parquet has 2 columns called 'reward'; rename all but one"):
        ParquetTransitions([path], COLUMNS)
