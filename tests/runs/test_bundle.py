"""Bundles: what was written comes back, what was changed is noticed, what is hostile is refused."""

import hashlib
import io
import json
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

from bayesbellman.runs import bundle
from bayesbellman.runs.arrays import Damaged, read_arrays
from bayesbellman.runs.bundle import MAGIC, Corrupt, read_bundle, read_facts, write_bundle

ARRAYS = {
    "weights": np.arange(12, dtype=np.float32).reshape(3, 4).T,  # not contiguous
    "flag": np.array(True),
    "none": np.zeros((0, 5), np.int64),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_bundle(tmp_path / "a.bbo", ARRAYS, {"step": 7})
    return tmp_path / "a.bbo"


def forge(path: Path, manifest: object, data: bytes = b"") -> Path:
    """A file whose manifest is whole, and says what an attacker wants."""
    text = manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode()
    path.write_bytes(MAGIC + len(text).to_bytes(8, "little") + text + hashlib.sha256(text).digest() + data)
    return path


def test_what_was_written_comes_back(path: Path) -> None:
    arrays, facts = read_bundle(path)
    assert facts == read_facts(path) == {"step": 7}
    assert list(arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], array)
        assert (arrays[name].dtype, arrays[name].shape) == (array.dtype, array.shape)
    assert [one.name for one in path.parent.iterdir()] == ["a.bbo"]


def test_a_changed_byte_is_noticed_wherever_it_is(path: Path) -> None:
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(Corrupt, match=r"a\.bbo"):
            read_bundle(path)


def test_the_hashes_are_named(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + b"\xff")
    with pytest.raises(Corrupt, match=r"SHA-256 of array flag is [0-9a-f]{64}, expected [0-9a-f]{64}"):
        read_bundle(path)


@pytest.mark.parametrize("length", [0, 4, 20, 200, -1])
def test_what_was_cut_is_noticed(path: Path, length: int) -> None:
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(Corrupt):
        read_bundle(path)


def test_a_failed_write_leaves_what_was_there(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(bundle, "flush_to_disk", full)
    with pytest.raises(OSError, match="No space left"):
        write_bundle(path, {"x": np.zeros(3)}, {})
    assert [one.name for one in path.parent.iterdir()] == ["a.bbo"]
    assert read_facts(path) == {"step": 7}


class Payload:
    """Would make a file when it is unpickled."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple:
        return (Path.touch, (self.target,))


def entry(**changes: object) -> dict:
    said = {"dtype": "<f4", "shape": [2], "start": 0, "sha256": hashlib.sha256(b"\0" * 8).hexdigest()}
    return {"arrays": {"x": {**said, **changes}}, "facts": {}}


HOSTILE = {
    "object arrays": entry(dtype="|O"),
    "a type with fields": entry(dtype=[["a", "<f4"]]),
    "a terabyte": entry(shape=[2**38]),
    "more than there are numbers": entry(shape=[2**62, 2**62]),
    "a negative size": entry(shape=[-2]),
    "a size that is no number": entry(shape=["2"]),
    "a place before the file": entry(start=-8),
    "too many axes": entry(shape=[1] * 40),
    "no arrays": {"facts": {}},
    "arrays in a list": {"arrays": [], "facts": {}},
    "a tag of YAML": b"!!python/object/apply:os.system ['true']",
    "too deep": b"[" * 100_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_manifest_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(Corrupt):
        read_bundle(forge(tmp_path / "h.bbo", HOSTILE[name], b"\0" * 8))


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    target = tmp_path / "ran"
    (tmp_path / "p.bbo").write_bytes(pickle.dumps(Payload(target)))
    with pytest.raises(Corrupt, match="no file of ours"):
        read_bundle(tmp_path / "p.bbo")
    np.savez(tmp_path / "o.npz", x=np.array([Payload(target)], object))
    content = (tmp_path / "o.npz").read_bytes()
    (tmp_path / "o.bbo").write_bytes(content + hashlib.sha256(content).digest())
    with pytest.raises(Damaged, match="holds no arrays as we write them"):
        read_arrays(tmp_path / "o.bbo")
    assert not target.exists()


def test_links_are_not_followed(path: Path) -> None:
    (path.parent / "link.bbo").symlink_to(path)
    with pytest.raises(Corrupt, match="not a plain file"):
        read_bundle(path.parent / "link.bbo")


def archive(path: Path, shape: tuple[int, ...], compression: int) -> Path:
    """One array of zeros that is said to have this shape, with sixteen bytes of data."""
    inner = io.BytesIO()
    np.lib.format.write_array_header_1_0(inner, {"descr": "<f4", "fortran_order": False, "shape": shape})
    outer = io.BytesIO()
    with zipfile.ZipFile(outer, "w", compression) as file:
        file.writestr("x.npy", inner.getvalue() + b"\0" * 16)
    path.write_bytes(outer.getvalue() + hashlib.sha256(outer.getvalue()).digest())
    return path


def test_an_archive_that_asks_for_more_than_it_holds_is_refused(tmp_path: Path) -> None:
    assert read_arrays(archive(tmp_path / "a.bbo", (4,), zipfile.ZIP_STORED))["x"].shape == (4,)
    with pytest.raises(Damaged, match=r"x\.npy is float32\[274877906944\], in 144 bytes"):
        read_arrays(archive(tmp_path / "a.bbo", (2**38,), zipfile.ZIP_STORED))
    with pytest.raises(Damaged, match="is compressed"):
        read_arrays(archive(tmp_path / "a.bbo", (4,), zipfile.ZIP_DEFLATED))
