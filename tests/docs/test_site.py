"""The site is built without a warning, its links and anchors lead somewhere, it fetches nothing, and no public name is
missing from its reference.
"""

import importlib
import inspect
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import TypeVar
from urllib.parse import unquote, urlsplit

import pytest

import bayesbellman as bb

ROOT = Path(__file__).parents[2]
NO_PROSE = ("code", "pre", "script", "style", "title", "label", "nav")
ROOMS = ("doors", "control", "evaluation", "posterior", "data", "envs", "nn", "core", "compat")


def build(root: Path, out: Path) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(out)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}  # the theme's advertisement of its successor
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    done = build(ROOT, out)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return out


class Page(HTMLParser):
    """What a page points to, what it has the browser load, the anchors in it, and what it says."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.prose = ""
        self._no_prose = 0  # tags around this place that hold no prose
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag in ("script", "img", "iframe", "source", "embed", "video", "audio") and "src" in given:
            self.loads.append(given["src"])
        elif tag == "link" and given.get("rel") not in ("canonical", "next", "prev"):
            self.loads.append(given["href"])
        if "id" in given:
            self.anchors.add(given["id"])
        self._no_prose += tag in NO_PROSE

    def handle_endtag(self, tag: str) -> None:
        self._no_prose -= tag in NO_PROSE

    def handle_data(self, data: str) -> None:
        if not self._no_prose:
            self.prose += data


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    found = {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    assert len(found) > 50
    return found


def test_links_and_anchors_of_the_site_lead_somewhere(site: Path, pages: dict[Path, Page]) -> None:
    for path, page in pages.items():
        if path.name == "404.html":  # its links are absolute, since it may stand for any page
            continue
        for link in [*page.links, *page.loads]:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            assert target.is_file(), f"{path.relative_to(site)}: {link}"
            if parts.fragment and target in pages:
                assert unquote(parts.fragment) in pages[target].anchors, f"{path.relative_to(site)}: {link}"


def test_reading_the_site_fetches_nothing_from_elsewhere(site: Path, pages: dict[Path, Page]) -> None:
    for path, page in pages.items():
        for load in page.loads:
            assert not urlsplit(load).netloc, f"{path.relative_to(site)}: {load}"
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import\s*)['\"]?(https?:)?//", sheet.read_text(encoding="utf-8")), sheet


def test_no_emphasis_is_left_open(site: Path, pages: dict[Path, Page]) -> None:
    """An asterisk that a page shows ends a name, SAC* or ω*; another is Markdown that has gone wrong."""
    for path, page in pages.items():
        stray = re.search(r".{0,40}(?<!\w)\*.{0,40}", page.prose)
        assert stray is None, f"{path.relative_to(site)}: {stray and stray[0]}"


def test_a_broken_link_and_a_broken_anchor_stop_the_build(tmp_path: Path) -> None:
    """With the site's own settings and hooks, on a few pages of nearly nothing."""
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = {
        "mkdocs.yml": re.sub(r"^nav:\n(?:[ #].*\n|\n)*", "", settings, flags=re.MULTILINE),
        "docs/api.py": "def pages():\n    return {}\n",
        "docs/index.md": "# Index\n",
        "docs/design.md": "# Design\n\n## Rooms\n",
        "docs/notation.md": "# Notation\n\n[a page](design.md#rooms) [a result](../results/README.md)\n",
        "results/README.md": "# Results\n",
        "CHANGELOG.md": "# Changelog\n",
        "CONTRIBUTING.md": "# Contributing\n",
    }
    for name, text in pages.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    for name in ("hooks.py", "site.css"):
        shutil.copy(ROOT / "docs" / name, tmp_path / "docs")
    sound = build(tmp_path, tmp_path / "site")
    assert sound.returncode == 0, sound.stderr
    with (tmp_path / "docs" / "notation.md").open("a", encoding="utf-8") as file:
        file.write("\n[no page](none.md) [no anchor](design.md#none) [no result](../results/none.csv)\n")
    done = build(tmp_path, tmp_path / "site")
    assert done.returncode != 0
    for broken in ("'none.md'", "#none", "none.csv"):
        assert broken in done.stderr


def public_names(module: ModuleType) -> set[str]:
    """What a module defines, seen from the inside: classes, functions, and what it assigns."""
    source = inspect.getsource(module)

    def is_ours(name: str, value: object) -> bool:
        if name.startswith("_") or inspect.ismodule(value) or isinstance(value, TypeVar):
            return False
        if (inspect.isclass(value) or inspect.isfunction(value)) and value.__module__ == module.__name__:
            return True
        return re.search(rf"^\s*{name}(: [^=\n]+)? = ", source, flags=re.MULTILINE) is not None

    return {name for name, value in vars(module).items() if is_ours(name, value)}


@pytest.mark.parametrize("room", ROOMS)
def test_no_public_name_is_missing_from_the_reference(room: str, pages: dict[Path, Page], site: Path) -> None:
    package = importlib.import_module(f"bayesbellman.{room}")
    names = [package.__name__, *(m.name for m in pkgutil.walk_packages(package.__path__, f"{package.__name__}."))]
    expected = {f"{name}.{symbol}" for name in names for symbol in public_names(importlib.import_module(name))}
    assert len(expected) > 5
    assert expected - pages[site / "api" / f"{room}.html"].anchors == set()


def test_the_package_s_own_names_are_on_the_first_page_of_the_reference(pages: dict[Path, Page], site: Path) -> None:
    page = pages[site / "api.html"]
    assert {f"bayesbellman.{name}" for name in bb.__all__} <= page.anchors
    for link in ("doors", "control", "compat"):
        assert f"api/{link}.html" in page.links
