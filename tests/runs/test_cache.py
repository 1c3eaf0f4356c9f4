"""The cache: it saves making, and never stands in the way."""

from pathlib import Path

import numpy as np
import pytest

from bayesbellman.runs.cache import cache_folder, cached_arrays


def count_making(monkeypatch: pytest.MonkeyPatch, folder: str) -> tuple:
    monkeypatch.setenv("BBO_CACHE", folder)
    made = []

    def make() -> dict[str, np.ndarray]:
        made.append(1)
        return {"values": np.arange(3.0)}

    return made, lambda content: cached_arrays("truth", content, make)["values"].tolist()


def test_same_content_is_made_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made, get = count_making(monkeypatch, str(tmp_path / "new" / "folder"))
    assert get({"a": 1}) == get({"a": 1}) == [0, 1, 2]
    assert len(made) == 1
    get({"a": 2})
    assert len(made) == 2


def test_damage_is_made_good(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made, get = count_making(monkeypatch, str(tmp_path))
    get({"a": 1})
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-40])
    assert get({"a": 1}) == [0, 1, 2]
    assert len(made) == 2
    get({"a": 1})
    assert len(made) == 2


def test_without_a_place_to_write_it_is_made_each_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    made, get = count_making(monkeypatch, str(tmp_path / "file" / "below"))
    assert get({}) == get({}) == [0, 1, 2]
    assert len(made) == 2
    monkeypatch.setenv("BBO_CACHE", "")
    assert cache_folder() is None
    assert get({}) == [0, 1, 2]


def test_the_user_s_cache_folder_is_the_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("BBO_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "bayesbellman"
