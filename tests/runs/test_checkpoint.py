"""Folders of checkpoints: replay in pieces, the last few kept, a damaged one passed over."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayesbellman.runs import checkpoint
from bayesbellman.runs.bundle import Corrupt
from bayesbellman.runs.checkpoint import CheckpointFolder, Snapshot, ring_of
from bayesbellman.runs.trees import Mismatch


def ring_after(stored: int, capacity: int) -> dict[str, np.ndarray]:
    """A ring in which transition i is the number i + 1."""
    ring = np.zeros((capacity, 2), np.float32)
    for i in range(stored):
        ring[i % capacity] = i + 1
    return {"x": ring, "y": ring[:, 0].astype(np.int32)}


def snapshot(stored: int, capacity: int = 10, **facts: object) -> Snapshot:
    return Snapshot({"w": np.full(3, stored, np.float32)}, ring_after(stored, capacity), stored, facts)


RING = ring_of(ring_after(0, 10))


@given(
    capacity=st.integers(1, 12),
    more=st.lists(st.integers(0, 30), min_size=1, max_size=8),
    most=st.integers(1, 4),
    again=st.booleans(),
)
@settings(deadline=None, max_examples=60)
def test_replay_comes_back_however_it_was_cut(
    tmp_path_factory: pytest.TempPathFactory, capacity: int, more: list[int], most: int, again: bool
) -> None:
    folder = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoint, "MOST_PIECES", most)
        files, stored = CheckpointFolder(folder), 0
        for step, extra in enumerate(more):
            stored += extra
            files.write(step, snapshot(stored, capacity))
            if again:  # as a process that goes on
                files = CheckpointFolder(folder)
                assert files.latest(ring_of(ring_after(0, capacity))) is not None
        found = CheckpointFolder(folder).latest(ring_of(ring_after(0, capacity)))
    assert found is not None
    assert found.stored == stored
    for name, array in ring_after(stored, capacity).items():
        np.testing.assert_array_equal(found.ring[name], array)
    assert len(list(folder.glob("step-*"))) <= 2


def test_only_what_is_new_is_written(tmp_path: Path) -> None:
    files = CheckpointFolder(tmp_path, keep=3)
    for step in (4, 8, 9):
        files.write(step, snapshot(step, capacity=100))
    names = sorted(path.name for path in tmp_path.iterdir())
    assert [name for name in names if name.startswith("replay")] == [
        f"replay-{start:015d}-{stop:015d}.bbo" for start, stop in ((0, 4), (4, 8), (8, 9))
    ]


def test_a_whole_one_is_not_removed_for_the_sake_of_damaged_ones(tmp_path: Path) -> None:
    """Whoever keeps fewer than before learns which are whole before any is removed."""
    files = CheckpointFolder(tmp_path, keep=5)
    for step in (4, 8, 9):
        files.write(step, snapshot(step))
    for step in (8, 9):
        path = tmp_path / f"step-{step:012d}.bbo"
        path.write_bytes(path.read_bytes()[:-1])
    (tmp_path / ".step-000000000010.bbo.7.tmp").touch()
    fewer = CheckpointFolder(tmp_path, keep=1)
    fewer.drop_scratch()
    found = fewer.latest(RING)
    assert found is not None
    assert found.stored == 4
    fewer.collect()
    assert sorted(path.name for path in tmp_path.glob("*step*")) == [
        f"step-{step:012d}.bbo{end}" for step, end in ((4, ""), (8, ".damaged"), (9, ".damaged"))
    ]


def test_a_checkpoint_that_finds_no_room_leaves_no_replay_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = CheckpointFolder(tmp_path)
    files.write(4, snapshot(4))
    before = sorted(tmp_path.iterdir())
    write = checkpoint.write_bundle

    def full(path: Path, *parts: object) -> None:
        if path.name.startswith("step"):
            raise OSError(28, "No space left on device")
        write(path, *parts)  # pyright: ignore[reportArgumentType]

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "write_bundle", full)
        with pytest.raises(OSError, match="No space"):
            files.write(8, snapshot(8))
    assert sorted(tmp_path.iterdir()) == before
    files.write(9, snapshot(9))
    found = CheckpointFolder(tmp_path).latest(RING)
    assert found is not None
    np.testing.assert_array_equal(found.ring["x"], snapshot(9).ring["x"])


def test_pieces_that_others_removed_are_written_again(tmp_path: Path) -> None:
    """By a cleaner of old files, say: what is written now is whole all the same."""
    files = CheckpointFolder(tmp_path)
    for step in (4, 8):
        files.write(step, snapshot(step))
    (tmp_path / f"replay-{0:015d}-{4:015d}.bbo").unlink()
    files.write(9, snapshot(9))
    found = CheckpointFolder(tmp_path).latest(RING)
    assert found is not None
    np.testing.assert_array_equal(found.ring["x"], snapshot(9).ring["x"])


def test_the_last_are_kept_with_what_they_need(tmp_path: Path) -> None:
    files = CheckpointFolder(tmp_path, keep=2)
    (tmp_path / ".step-000000000001.bbo.99.tmp").write_text("half")
    (tmp_path / "notes.txt").write_text("a user's")
    for step in range(1, 6):
        files.write(step, snapshot(4 * step, tag=step))
    assert files.steps() == [4, 5]
    pieces = sorted(path.name for path in tmp_path.glob("replay-*"))
    assert pieces == [f"replay-{start:015d}-{start + 4:015d}.bbo" for start in (4, 8, 12, 16)]
    assert (tmp_path / "notes.txt").exists()
    assert not list(tmp_path.glob(".*"))


def test_a_damaged_one_is_passed_over_and_named(tmp_path: Path) -> None:
    files, said = CheckpointFolder(tmp_path), []
    for step in (1, 2):
        files.write(step, snapshot(5 * step, tag=step))
    last = tmp_path / "step-000000000002.bbo"
    last.write_bytes(last.read_bytes()[:-1] + b"?")
    found = CheckpointFolder(tmp_path).latest(RING, said.append)
    assert found is not None
    assert found.facts == {"tag": 1}
    assert "step-000000000002.bbo is damaged" in said[0]
    assert "going on from step 1" in said[0]
    assert last.with_name(last.name + ".damaged").exists()


@pytest.mark.parametrize("harm", ["delete", "empty", "swap"])
def test_damage_to_a_piece_of_replay_is_noticed(tmp_path: Path, harm: str) -> None:
    files = CheckpointFolder(tmp_path)
    files.write(1, snapshot(3))
    files.write(2, snapshot(7))
    piece = tmp_path / f"replay-{3:015d}-{7:015d}.bbo"
    if harm == "delete":
        piece.unlink()
    elif harm == "empty":
        piece.write_bytes(b"")
    else:
        piece.write_bytes((tmp_path / f"replay-{0:015d}-{3:015d}.bbo").read_bytes())
    with pytest.raises(Corrupt, match="replay-"):
        files.read(2, RING)
    found = CheckpointFolder(tmp_path).latest(RING)
    assert found is not None
    assert found.stored == 3


def test_nothing_whole_is_an_error_and_nothing_at_all_is_not(tmp_path: Path) -> None:
    assert CheckpointFolder(tmp_path / "none").latest(RING) is None
    CheckpointFolder(tmp_path).write(1, snapshot(3))
    (tmp_path / "step-000000000001.bbo").write_bytes(b"")
    with pytest.raises(Corrupt, match=r"no checkpoint in .* is whole"):
        CheckpointFolder(tmp_path).latest(RING)


def test_replay_of_another_shape_is_refused_before_memory_is_asked_for(tmp_path: Path) -> None:
    files = CheckpointFolder(tmp_path)
    files.write(1, snapshot(3, capacity=5))
    with pytest.raises(Mismatch, match=r"x is .*5.* not .*10"):
        files.latest(RING)


def test_a_replay_that_is_begun_anew_is_not_mixed_with_the_one_before(tmp_path: Path) -> None:
    """Also while a checkpoint with the old one is still there, whose pieces begin and end at the same numbers."""

    def of_another(stored: int) -> Snapshot:
        ring = {name: -array for name, array in ring_after(stored, 10).items()}
        return Snapshot({"w": np.zeros(3, np.float32)}, ring, stored, {})

    files = CheckpointFolder(tmp_path, keep=2)
    files.write(4, snapshot(4))
    files.begin_anew()
    for step, stored in ((8, 4), (12, 8)):
        files.write(step, of_another(stored))
        for name, array in of_another(stored).ring.items():
            np.testing.assert_array_equal(CheckpointFolder(tmp_path).read(step, RING).ring[name], array)
        if step == 8:
            np.testing.assert_array_equal(CheckpointFolder(tmp_path).read(4, RING).ring["x"], ring_after(4, 10)["x"])
    assert sorted(path.name for path in tmp_path.glob("replay-*")) == [
        f"replay-{start:015d}-{start + 4:015d}-1.bbo" for start in (0, 4)
    ]


def test_checkpoints_of_another_run_are_neither_dropped_nor_written_over(tmp_path: Path) -> None:
    CheckpointFolder(tmp_path).write(8, snapshot(8))
    with pytest.raises(FileExistsError, match=r"holds checkpoints of another run, the last of step 8; go on from them"):
        CheckpointFolder(tmp_path).write(4, snapshot(4))
    found = CheckpointFolder(tmp_path).latest(RING)
    assert found is not None
    assert found.stored == 8
