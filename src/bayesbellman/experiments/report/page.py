"""The page: one HTML file with its style, its script and its data inside, which asks nothing of anybody."""

import base64
import hashlib
import html
import json
import os
from importlib import resources
from pathlib import Path
from typing import Any

MARK = "<!-- made by bbo report -->"
"""In the first line of each page: what has it may be replaced"""


def render(data: dict[str, Any], *, live: bool = False) -> str:
    """``data``: what `collect` gives. A live page asks its own server for news, and nobody else."""
    style, script = _part("report.css"), _part("report.js")
    titles = ", ".join(run["title"] for run in data["runs"])
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; img-src data:;"
        f" base-uri 'none'; form-action 'none'" + ("; connect-src 'self'" if live else "")
    )
    parts = {
        "@MARK@": MARK,
        "@POLICY@": policy,
        "@TITLE@": html.escape(titles[:200]),
        "@STYLE@": style,
        "@LIVE@": "true" if live else "false",
        "@DATA@": as_script_data(data),
        "@SCRIPT@": script,
    }
    page = _part("report.html")
    pieces = []
    for name, content in parts.items():  # in the template's order, each once: nothing that is put in is searched again
        before, page = page.split(name)
        pieces += [before, content]
    return "".join([*pieces, page])


def as_script_data(data: Any) -> str:
    """JSON in which nothing can end the element that it stands in."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def write_page(path: Path, page: str) -> None:
    """Whole or not at all."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        scratch.write_text(page, encoding="utf-8")
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)


def refuse_if_not_writable(path: Path, *, overwrite: bool) -> None:
    """Say before the work that the page could not be written."""
    if path.is_dir():
        raise IsADirectoryError(f"--out {path} is a folder; name a file in it, such as {path / 'report.html'}")
    if path.exists():
        if not overwrite:
            raise FileExistsError(f"--out {path} exists; name another file or add --overwrite")
        with path.open("rb") as file:
            if MARK.encode() not in file.read(200):
                raise FileExistsError(f"--out {path} is no page of bbo report, and is not replaced; name another file")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"--out {path}: there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise PermissionError(f"--out {path} cannot be written: {path.parent} is read-only for this user")


def _part(name: str) -> str:
    return (resources.files("bayesbellman.experiments.report") / name).read_text(encoding="utf-8")


def _digest(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
