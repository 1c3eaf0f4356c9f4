"""The report's page from runs that went well, were broken off, are old, or mean harm."""

import json
import os
import re
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from tests.experiments.synthetic_runs import SETTINGS, moment, write_run

from bayesbellman.experiments.report import collect as collecting
from bayesbellman.experiments.report.collect import collect, middle
from bayesbellman.experiments.report.live import make_server
from bayesbellman.experiments.report.page import MARK, as_script_data, refuse_if_not_writable, render, write_page
from bayesbellman.experiments.training.diagnostics import recorded
from bayesbellman.experiments.training.reading import read_run
from bayesbellman.runs.arrays import write_arrays
from bayesbellman.runs.lock import locked

HOSTILE = (
    "<!--<script </script><script>alert(1)</script><img src=x onerror=alert(2)>'\"`&@DATA@ \u2028 名前" + "x" * 300
)


class Elements(HTMLParser):
    """What a browser makes of a page, as far as it matters here."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self.text.append("")

    def handle_data(self, data: str) -> None:
        if self.text:
            self.text[-1] += data


def test_the_verdict_names_every_seed_that_did_not_end_well(tmp_path: Path) -> None:
    hows = {3: "solved", 4: "solved", 5: "diverged", 6: "", 7: "", 8: "failed"}
    folder = write_run(tmp_path / "run", seeds=hows, cut={5: 2000, 6: 3000, 7: 0, 8: 0}, solved=90.0)
    (run,) = collect([folder])["runs"]
    assert run["verdict"].startswith("solved on 2 of 6 seeds (an evaluation of at least 90); last evaluation: median ")
    assert run["verdict"].endswith("(n = 4 seeds of 6)")
    assert run["remarks"] == [
        "seed 5 diverged after 2,000 of 5,000 steps",
        "seed 6 was interrupted after 3,000 of 5,000 steps",
        "seed 7 has not begun",
        "seed 8 failed after 0 of 5,000 steps",
    ]
    assert run["median"]["x"] == [1000, 2000, 3000, 4000, 5000]
    assert run["median"]["n"] == [4, 4, 3, 2, 2]
    assert run["median"]["of"] == 4
    with locked(folder):
        assert "still running: seed 6 at 3,000 steps" in collect([folder])["runs"][0]["verdict"]


def test_one_seed_and_none() -> None:
    assert middle([]) == {"x": [], "y": [], "n": [], "of": 0}
    lines = [{"x": [1, 2], "y": [None, 4.0]}, {"x": [2, 3], "y": [8.0, 1.0]}, {"x": [], "y": []}]
    assert middle(lines) == {"x": [2, 3], "y": [6.0, 1.0], "n": [2, 1], "of": 2}


def test_numbers_that_were_not_finite_are_no_numbers(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", steps=2000)
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    lines[0]["evaluation"]["mean"], lines[1]["metrics"] = None, {"disagreement": None}
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (seed,) = collect([folder])["runs"][0]["seeds"]
    assert (seed["evaluated"], seed["not_finite"], seed["best_at"]) == (2, 1, 2000)
    assert seed["evaluations"]["y"][0] is None
    assert seed["disagreement"]["x"] == [1000]


def test_runs_that_are_old_empty_or_damaged_still_have_a_page(tmp_path: Path) -> None:
    old = write_run(tmp_path / "old", diagnostics=False)
    empty = write_run(tmp_path / "empty", seeds={0: "", 1: ""}, cut={0: 0, 1: 0})
    damaged = write_run(tmp_path / "damaged")
    first, second = recorded(damaged / "diagnostics")[:2]
    first.write_bytes(first.read_bytes()[:-50])
    write_arrays(second, {"members": np.asarray(2)})
    data = collect([old, empty, damaged])
    assert [len(run["seeds"][0]["moments"]) for run in data["runs"]] == [0, 0, 3]
    assert data["runs"][1]["verdict"] == "finished on 0 of 2 seeds; no evaluation"
    assert [words.split(" is left out")[0] for words in data["runs"][2]["remarks"]] == [
        f"seed 0: diagnostics/{path.name}" for path in (first, second)
    ]
    assert "No diagnostics are recorded here" in render(data)


def test_maps_of_cells_leave_out_what_is_not_there(tmp_path: Path) -> None:
    """Scales are of the cells that there are, and of all actions; a map of choices says what it is."""
    there, values = np.tri(3, dtype=bool), np.arange(9.0).reshape(3, 3)
    arrays = moment(np.random.default_rng(5), 2, maps=False) | {
        "num_actions": np.asarray(2),
        "grid_there": there,
        "grid_goes_right": np.asarray(True),
        "grid_visits": np.tri(3).astype(np.uint32),
        "grid_members": np.stack([np.where(there, values, 1e3), np.where(there, values + 1, -1e3)]).astype(np.float16),
        "grid_mean": (values + 0.5).astype(np.float16),
        "grid_std": np.where(there, 0.5, 70.0).astype(np.float16),
        "grid_action": np.stack([there, there / 2]).astype(np.float16),
    }
    write_arrays(tmp_path / "steps-00000001.npz", arrays)
    grid = collecting._moment(tmp_path / "steps-00000001.npz", 0)["grid"]
    assert [(each["low"], each["high"]) for each in (*grid["members"], grid["mean"], grid["std"])] == [
        (0, 9), (0, 9), (0, 9), (0.5, 0.5),
    ]  # fmt: skip
    assert [(each["name"], each["signed"], each["low"], each["high"]) for each in grid["action"]] == [
        ("goes right, by the members' mean", False, 0, 1),
        ("share of members that go right", False, 0, 1),
    ]
    shown = np.frombuffer(collecting.base64.b64decode(grid["there"]), np.uint8)
    np.testing.assert_array_equal(shown, there.ravel())
    other = collecting._actions({**arrays, "num_actions": np.asarray(4), "grid_goes_right": np.asarray(False)})
    assert [(each["low"], each["high"]) for each in other] == [(0, 3), (0, 1)]


def test_maps_are_what_was_recorded(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", steps=1000)
    arrays = moment(np.random.default_rng(5), 3, maps=True)
    write_arrays(recorded(folder / "diagnostics")[0], arrays)
    (told,) = collect([folder])["runs"][0]["seeds"][0]["moments"]
    assert told["steps"] == 1000
    for k, member in enumerate(told["grid"]["members"]):
        shades = np.frombuffer(collecting.base64.b64decode(member["data"]), np.uint8).reshape(32, 32)
        values = member["low"] + shades / 255 * (member["high"] - member["low"])
        np.testing.assert_allclose(values, arrays["grid_members"][k].astype(float), atol=(values.max() + 4) / 255)
    visits = np.frombuffer(collecting.base64.b64decode(told["grid"]["visits"]["data"]), np.uint8)
    np.testing.assert_array_equal(visits == 0, arrays["grid_visits"].ravel() == 0)
    np.testing.assert_allclose(told["start"]["mean"], arrays["start_mean"], rtol=1e-5)


def test_nothing_in_a_run_becomes_markup(tmp_path: Path) -> None:
    settings = {**SETTINGS, HOSTILE: HOSTILE}
    provenance = {"command": HOSTILE, HOSTILE: HOSTILE}
    name = "run <b>&amp; 名前" + "x" * 150
    folder = write_run(tmp_path / name, env=HOSTILE, agent=HOSTILE, settings=settings, provenance=provenance)
    data = collect([folder])
    page = render(data)
    assert "<" not in as_script_data(data)
    elements = Elements(page)
    expected = Elements(render({**data, "runs": []}))
    assert [tag for tag, _ in elements.found] == [tag for tag, _ in expected.found]
    where = next(place for place, (_, attributes) in enumerate(elements.found) if attributes.get("id") == "data")
    assert json.loads(elements.text[where]) == json.loads(json.dumps(data))  # all of it is there, as data
    assert sum(tag == "script" for tag, _ in elements.found) == 2


def test_the_page_asks_nothing_of_anybody(tmp_path: Path) -> None:
    page = render(collect([write_run(tmp_path / "run")]))
    assert page.startswith(f"<!doctype html>{MARK}\n")
    addresses = set(re.findall(r"https?://[^\s\"'`<>)]+", page))
    assert addresses == {"http://www.w3.org/2000/svg"}  # a name, not an address
    for tag, attributes in Elements(page).found:
        assert not attributes.keys() & {"src", "srcset", "data", "action"}, tag
        assert str(attributes.get("href", "#"))[:5] in ("#", "data:") or attributes["href"].startswith("#")
    policy = next(a["content"] for t, a in Elements(page).found if a.get("http-equiv") == "Content-Security-Policy")
    assert str(policy).startswith("default-src 'none'; style-src 'sha256-")
    assert "connect-src" not in str(policy)
    assert "unsafe" not in str(policy)


def test_runs_of_the_same_name_are_told_apart(tmp_path: Path) -> None:
    folders = [write_run(tmp_path / name / "run", diagnostics=False) for name in ("a", "b")]
    assert [run["label"] for run in collect(folders)["runs"]] == [str(folder) for folder in folders]


def test_size_and_time(tmp_path: Path) -> None:
    """Five runs of 100 evaluations and 12 moments: less than 5 MiB, in less than 20 s (it takes some 0.3 s)."""
    folders = [write_run(tmp_path / f"run-{k}", steps=100_000) for k in range(5)]
    assert all(len(recorded(folder / "diagnostics")) == 12 for folder in folders)
    started = time.monotonic()
    page = render(collect(folders))
    assert time.monotonic() - started < 20
    assert len(page.encode()) < 5 * 2**20


def test_a_page_of_many_seeds_shows_fewer_moments(tmp_path: Path, monkeypatch) -> None:
    folder = write_run(tmp_path / "run", seeds={0: "finished", 1: "finished"}, steps=10_000)
    whole = collect([folder])
    monkeypatch.setattr(collecting, "MOMENTS_BUDGET", 120_000)
    data = collect([folder])
    assert (whole["thinned"], data["thinned"]) == (False, True)
    for seed, before in zip(data["runs"][0]["seeds"], whole["runs"][0]["seeds"], strict=True):
        assert 1 < len(seed["moments"]) < len(before["moments"])
        assert seed["moments"][0] == before["moments"][0]
        assert seed["moments"][-1] == before["moments"][-1]
    assert sum(len(json.dumps(m)) for s in data["runs"][0]["seeds"] for m in s["moments"]) <= 120_000


def test_long_curves_keep_their_last_point(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", steps=1000, every=1, diagnostics=False)
    (seed,) = collect([folder])["runs"][0]["seeds"]
    assert len(seed["evaluations"]["x"]) == 400
    assert seed["evaluations"]["x"][-1] == 1000
    assert seed["evaluated"] == 1000


def test_only_a_page_of_ours_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    refuse_if_not_writable(path, overwrite=False)
    write_page(path, f"<!doctype html>{MARK}\n")
    with pytest.raises(FileExistsError, match="add --overwrite"):
        refuse_if_not_writable(path, overwrite=False)
    refuse_if_not_writable(path, overwrite=True)
    path.write_text("my thesis")
    with pytest.raises(FileExistsError, match="no page of bbo report"):
        refuse_if_not_writable(path, overwrite=True)
    with pytest.raises(IsADirectoryError, match="name a file in it"):
        refuse_if_not_writable(tmp_path, overwrite=True)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        refuse_if_not_writable(tmp_path / "no" / "report.html", overwrite=True)
    assert os.listdir(tmp_path) == ["report.html"]  # noqa: PTH208


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    folder = write_run(tmp_path / "run", steps=2000)
    with make_server(partial(collect, [folder]), 0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", folder
        finally:
            server.shutdown()
            thread.join()


def get(address: str, **headers: str) -> tuple[int, bytes, str | None]:
    request = urllib.request.Request(address, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.read(), answer.headers.get("ETag")
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read(), None


def test_live_gives_the_page_and_what_is_new(served: tuple[str, Path]) -> None:
    address, folder = served
    status, page, _ = get(address + "/")
    assert status == 200
    assert b'data-live="true"' in page
    status, content, tag = get(address + "/data.json")
    assert json.loads(content)["runs"][0]["seeds"][0]["steps"] == 2000
    assert tag is not None
    assert get(address + "/data.json", **{"If-None-Match": tag})[0] == 304
    with (folder / "metrics.jsonl").open("a") as file:
        file.write(json.dumps({"steps": 2500, "seconds": 30.0, "returns": [], "metrics": {}}) + "\n")
    status, content, _ = get(address + "/data.json", **{"If-None-Match": tag})
    assert json.loads(content)["runs"][0]["seeds"][0]["steps"] == 2500
    assert get(address + "/config.json")[0] == 404
    assert get(address + "/", Host="elsewhere.example")[0] == 403
    (folder / "config.json").write_text("{")
    assert get(address + "/data.json")[0] == 503


def test_a_busy_port_is_named(served: tuple[str, Path]) -> None:
    port = int(served[0].rsplit(":", 1)[1])
    with pytest.raises(OSError, match=f"--port {port} is in use; name another"):
        make_server(dict, port)
    with pytest.raises(ValueError, match="--port is 70000"):
        make_server(dict, 70000)


def test_the_synthetic_runs_are_runs(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path / "run", seeds={0: "finished", 1: ""}, cut={1: 1000}))
    assert [(seed.how, seed.steps) for seed in run.seeds] == [("finished", 5000), ("interrupted", 1000)]
