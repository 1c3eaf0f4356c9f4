"""The report in a browser: it can be used, it says nothing on the console, and it asks nobody for anything."""

import json
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from tests.browser import chromium
from tests.experiments.synthetic_runs import square_moment, write_run
from tests.experiments.test_report import HOSTILE

from bayesbellman.experiments.report.collect import collect
from bayesbellman.experiments.report.live import make_server
from bayesbellman.experiments.report.page import render, write_page
from bayesbellman.experiments.training.diagnostics import recorded
from bayesbellman.runs.arrays import write_arrays

PROGRAM = chromium.find()
pytestmark = pytest.mark.skipif(
    PROGRAM is None, reason="no Chromium is installed here (Debian: apt-get install chromium); the page is not tried"
)
LAPTOP, PHONE = (1366, 768), (390, 844)
PICTURE = "document.querySelectorAll('canvas.map')[0].toDataURL()"


@pytest.fixture(scope="module")
def browser() -> Iterator[chromium.Tab]:
    assert PROGRAM is not None
    with chromium.tab(PROGRAM) as tab:
        yield tab


@pytest.fixture
def tab(browser: chromium.Tab) -> chromium.Tab:
    """The browser, with nothing said yet."""
    browser.open("about:blank")
    browser.events.clear()
    browser.look(*LAPTOP)
    return browser


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs, of MountainCar with a seed that diverged and one that never began, and of Pendulum."""
    folder = tmp_path_factory.mktemp("page")
    hows = {0: "solved", 1: "diverged", 2: "", 3: "finished"}
    car = write_run(folder / "car", seeds=hows, cut={1: 2000, 2: 0}, solved=80.0)
    pendulum = write_run(folder / "pendulum", maps=False, members=3)
    write_page(folder / "report.html", render(collect([car, pendulum])))
    return folder / "report.html"


def lines(tab: chromium.Tab, chart: str = "curves-chart") -> set[str]:
    return set(tab.js(f"[...document.querySelectorAll('#{chart} path[data-line]')].map((each) => each.dataset.line)"))


def set_range(tab: chromium.Tab, name: str, place: int) -> None:
    tab.js(f"(() => {{ const s = document.getElementById('{name}'); s.value = {place};"
           " s.dispatchEvent(new Event('input', {bubbles: true})); })()")  # fmt: skip


def test_no_complaint_and_no_request(tab: chromium.Tab, page: Path) -> None:
    tab.open(page.as_uri())
    assert tab.js("document.getElementById('title').textContent") == "2 training runs"
    text = tab.js("document.getElementById('summary').innerText")
    assert "Solved on 1 of 4 seeds" in text
    assert "seed 1 diverged after 2,000 of 5,000 steps" in text
    assert "seed 2 has not begun" in text
    for x in range(200, 1200, 100):
        tab.point(x, 400)
    assert tab.complaints() == []
    assert set(tab.requests()) == {page.as_uri()}


def test_seeds_and_runs_are_switched(tab: chromium.Tab, page: Path) -> None:
    tab.open(page.as_uri())
    assert lines(tab) == {"r0s0", "r0s1", "r0s3", "r0", "r1s0"}
    tab.js("document.getElementById('curves-toggles-r0s1').click()")
    assert lines(tab) == lines(tab, "disagreement-chart") == {"r0s0", "r0s3", "r0", "r1s0"}
    assert tab.js("document.getElementById('disagreement-toggles-r0s1').checked") is False
    dots = tab.js("document.querySelectorAll('circle.dot').length")
    tab.js("document.getElementById('disagreement-toggles-r0').click()")
    assert lines(tab) == {"r1s0"}
    assert tab.js("document.querySelectorAll('circle.dot').length") < dots
    tab.js("document.getElementById('curves-toggles-r0').click()")
    assert lines(tab) == {"r0s0", "r0s3", "r0", "r1s0"}
    assert tab.complaints() == []


def test_cells_of_deep_sea_go_down_and_some_are_empty(tab: chromium.Tab, tmp_path: Path) -> None:
    run = write_run(tmp_path / "sea", maps=False, members=3, env="deep-sea-5", agent="BootDQN")
    for place, path in enumerate(recorded(run / "diagnostics")):
        write_arrays(path, square_moment(np.random.default_rng(place), 3, 5))
    write_page(tmp_path / "sea.html", render(collect([run])))
    tab.open((tmp_path / "sea.html").as_uri())
    assert tab.js("document.querySelectorAll('canvas.map').length") == 3 + 3 + 2  # members, wholes, choices
    visits = "[...document.querySelectorAll('canvas.map')[3].getContext('2d').getImageData(0, 0, 5, 5).data]"
    opaque = np.reshape(tab.js(visits), (5, 5, 4))[..., 3] == 255
    np.testing.assert_array_equal(opaque, np.tri(5, dtype=bool))  # rows go down, columns across
    before = tab.js(PICTURE)
    set_range(tab, "beliefs-moment", 0)
    assert tab.js(PICTURE) != before
    tab.js("document.querySelector('.panels').focus()")
    for _ in range(2):
        tab.press("ArrowLeft")
    text = "document.getElementById('reading').textContent"
    assert tab.js(text).startswith("row 3, column 1: members ")
    assert "share of members that go right 0." in tab.js(text)
    for _ in range(3):
        tab.press("ArrowUp")
    for _ in range(2):
        tab.press("ArrowRight")
    assert tab.js(text) == "row 1, column 3: it cannot be reached."
    for width, phone in (LAPTOP[0], False), (PHONE[0], True):
        tab.look(width, 800, phone=phone)
        assert tab.js("document.documentElement.scrollWidth <= window.innerWidth")
    assert tab.complaints() == []


def test_the_slider_changes_the_picture(tab: chromium.Tab, page: Path) -> None:
    tab.open(page.as_uri())
    assert tab.js("document.querySelectorAll('.members canvas').length") == 8
    assert tab.js("document.querySelector('#beliefs-controls output').textContent") == "5,000 steps"
    last = tab.js(PICTURE)
    set_range(tab, "beliefs-moment", 0)
    assert tab.js("document.querySelector('#beliefs-controls output').textContent") == "1,000 steps"
    first = tab.js(PICTURE)
    assert first != last
    tab.js("document.getElementById('beliefs-moment').focus()")
    for _ in range(4):
        tab.press("ArrowRight")
    assert tab.js(PICTURE) == last
    tab.js("document.getElementById('same-scale').click()")
    assert tab.js("document.querySelector('.ends').textContent")
    choose = (
        "(() => {{ const s = document.getElementById('{}'); s.value = '{}'; s.dispatchEvent(new Event('change')); }})()"
    )
    tab.js(choose.format("choose-seed", "r0s2"))
    assert "No diagnostics are recorded here" in tab.js("document.getElementById('beliefs-maps').innerText")
    tab.js(choose.format("choose-run", "r1"))  # without maps: along episodes
    assert tab.js("document.querySelectorAll('canvas.map').length") == 0
    path = "document.querySelector('#beliefs-episodes path.bold').getAttribute('d')"
    before = tab.js(path)
    set_range(tab, "beliefs-moment", 0)
    assert tab.js(path) != before
    set_range(tab, "calibration-moment", 0)
    assert tab.js("document.querySelector('#calibration-body output').textContent") == "1,000 steps"
    assert tab.complaints() == []


def test_values_are_read_by_mouse_and_by_keys(tab: chromium.Tab, page: Path) -> None:
    tab.open(page.as_uri())
    box = "document.querySelector('#curves-chart .chart')"
    tab.js(f"{box}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
    frame = tab.js(f"(({{x, y, width, height}}) => ({{x, y, width, height}}))({box}.getBoundingClientRect())")
    tab.point(frame["x"] + frame["width"] - 16, frame["y"] + 100)
    tip = tab.js(f"{box}.querySelector('.tip').innerText")
    assert "after 5,000 steps" in tip
    assert "car, median (n = 2 of 3)" in tip
    tab.point(5, 5)
    assert tab.js(f"{box}.querySelector('.tip').hidden")
    tab.js(f"{box}.focus()")
    tab.press("Home")
    assert tab.js(f"{box}.getAttribute('aria-valuetext')").startswith("steps 1,000: car, seed 0 ")
    tab.press("ArrowRight")
    assert tab.js(f"{box}.getAttribute('aria-valuenow')") == "2000"
    assert tab.js(f"getComputedStyle({box}).outlineStyle") == "solid"
    tab.press("Escape")
    assert tab.js(f"{box}.querySelector('.tip').hidden")
    tab.js("document.querySelector('.panels').focus()")
    tab.press("ArrowRight")
    assert tab.js("document.getElementById('reading').textContent").startswith("position ")
    unnamed = """[...document.querySelectorAll('input, select, [tabindex], button')].filter((each) =>
        !each.getAttribute('aria-label') && !(each.labels && each.labels.length)).map((each) => each.outerHTML)"""
    assert tab.js(unnamed) == []
    assert tab.complaints() == []


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("size", [LAPTOP, PHONE])
def test_it_fits_the_screen(tab: chromium.Tab, page: Path, size: tuple[int, int], dark: bool) -> None:
    tab.look(*size, dark=dark, phone=size == PHONE)
    tab.open(page.as_uri())
    assert tab.js("document.documentElement.scrollWidth") <= size[0]
    back = tab.js("getComputedStyle(document.body).backgroundColor")
    assert (back == "rgb(255, 255, 255)") == (not dark)
    assert tab.js("document.querySelector('#curves-chart svg').clientWidth") <= size[0]


def test_names_that_mean_harm_are_text(tab: chromium.Tab, tmp_path: Path) -> None:
    folder = write_run(
        tmp_path / "<img src=x onerror=alert(1)>", env=HOSTILE, agent=HOSTILE, settings={HOSTILE: HOSTILE}
    )
    data = collect([folder, write_run(tmp_path / "other", seeds={0: "", 1: ""}, cut={0: 0, 1: 0})])
    write_page(tmp_path / "report.html", render(data))
    for size in (LAPTOP, PHONE):
        tab.look(*size, phone=size == PHONE)
        tab.open((tmp_path / "report.html").as_uri())
        assert tab.js("document.documentElement.scrollWidth") <= size[0]
    assert tab.js("document.querySelectorAll('img, script').length") == 2
    assert "alert(1)" in tab.js("document.getElementById('summary').innerText")
    assert tab.complaints() == []


def test_live_it_follows_and_keeps_what_was_chosen(tab: chromium.Tab, tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", seeds={0: "finished", 1: ""}, cut={1: 2000})
    with make_server(partial(collect, [folder]), 0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            address = f"http://127.0.0.1:{server.server_address[1]}/"
            tab.open(address)
            tab.until(lambda: "Nothing is running" in tab.js("document.getElementById('live').textContent"))
            tab.js("document.getElementById('curves-toggles-r0s0').click()")
            set_range(tab, "beliefs-moment", 1)
            tab.js("window.scrollTo({top: 600, behavior: 'instant'})")
            with (folder / "seed-0001" / "metrics.jsonl").open("a") as file:
                evaluation = {"mean": 50.0, "returns": [50.0]}
                record = {"steps": 3000, "seconds": 40.0, "returns": [], "metrics": {}, "evaluation": evaluation}
                file.write(json.dumps(record) + "\n")
            tab.until(lambda: "after 3,000 of" in tab.js("document.getElementById('summary').innerText"))
            assert lines(tab) == {"r0s1", "r0"}
            assert tab.js("document.getElementById('beliefs-moment').value") == "1"
            assert tab.js("window.scrollY") == 600
            assert tab.complaints() == []
            assert all(request.startswith((address, "data:")) for request in tab.requests())
            folder.rename(tmp_path / "moved")
            words = f"Not live: RUN: {folder} holds no config.json; is it a folder that bbo train left? (What is shown"
            tab.until(lambda: words in tab.js("document.getElementById('live').textContent"))
            (tmp_path / "moved").rename(folder)
            tab.until(lambda: "Live. Nothing is running" in tab.js("document.getElementById('live').textContent"))
        finally:
            server.shutdown()
            thread.join()
    tab.until(lambda: "the server does not answer" in tab.js("document.getElementById('live').textContent"))
