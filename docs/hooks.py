"""What MkDocs is told beyond its settings: pages are written for the repository, and the site is made to fit them.

Links from ``docs/`` to ``results/``, ``examples/`` and the repository's own pages work where the repository is read. In
the site these files lie beside the pages, and links are bent to them. The API reference is made from the source.
"""

import importlib.util
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files, InclusionLevel

ROOT = Path(__file__).parents[1]
BESIDE = ("CHANGELOG.md", "CONTRIBUTING.md")
"""Pages of the repository that are in the site too"""
LINK = re.compile(r"(?<=\]\()(?P<target>[^)\s#]+)(?P<anchor>#[^)\s]*)?(?=\))")


def _api() -> Any:
    spec = importlib.util.spec_from_file_location("bayesbellman_api_reference", Path(__file__).with_name("api.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


api = _api()


def on_files(files: Files, config: Any) -> Files:
    """Add what does not lie in ``docs/``."""
    hidden = InclusionLevel.NOT_IN_NAV  # reached by links; the menu need not list it
    for name, text in api.pages().items():
        if name != "api.md":
            files.append(File.generated(config, name, content=text))
    for path in sorted((ROOT / "results").rglob("*")):
        if path.is_file() and not path.name.startswith("."):
            name = path.relative_to(ROOT).as_posix()
            files.append(File.generated(config, name, abs_src_path=str(path), inclusion=hidden))
    for name in BESIDE:
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    for path in sorted((ROOT / "examples").glob("*.py")):
        text = f"# {path.stem.replace('_', ' ').capitalize()}\n\n```python\n{path.read_text(encoding='utf-8')}```\n"
        files.append(File.generated(config, f"examples/{path.stem}.md", content=text, inclusion=hidden))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Complete the page and bend its links."""
    name = page.file.src_uri
    if name == "api.md":
        markdown = markdown.replace("<!-- api -->", api.pages()["api.md"])
    # the marks of docs/refresh.py: a table must not follow a comment without a line between them
    markdown = re.sub(r"^<!-- (?:begin|end) \w+ -->$", "", markdown, flags=re.MULTILINE)
    # in a table's code GitHub wants a bar escaped, and Python-Markdown does not
    markdown = re.sub(r"^\|.*\|$", _with_plain_bars, markdown, flags=re.MULTILINE)
    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.DOTALL | re.MULTILINE)
    return "".join(part if part.startswith("```") else bent(part, name) for part in parts)


def _with_plain_bars(row: re.Match) -> str:
    return re.sub(r"`[^`]+`", lambda code: code[0].replace(r"\|", "|"), row[0])


def bent(markdown: str, name: str) -> str:
    """Links of a page of the site, from where its file lies in the repository to where the target lies in the site."""
    folder = posixpath.dirname(in_repository(name))

    def one(match: re.Match) -> str:
        target, anchor = match["target"], match["anchor"] or ""
        if re.match(r"[a-z]+:", target):
            return match[0]
        there = in_site(posixpath.normpath(posixpath.join(folder, target)))
        return posixpath.relpath(there, posixpath.dirname(name) or ".") + anchor

    return LINK.sub(one, markdown)


def in_repository(name: str) -> str:
    """Where a page of the site lies in the repository."""
    beside = name in BESIDE or name.startswith(("results/", "examples/"))
    return name if beside else f"docs/{name}"


def in_site(path: str) -> str:
    """Where a file of the repository lies in the site."""
    if path.startswith("examples/"):
        return path.removesuffix(".py") + ".md"
    return path.removeprefix("docs/")
