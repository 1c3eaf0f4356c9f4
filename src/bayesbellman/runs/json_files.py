"""JSON files that are whole whenever they are there."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bayesbellman.runs.whole_files import write_text


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """In place of what was there, at once; numbers that are not finite are refused."""
    write_text(path, json.dumps(content, indent=2, allow_nan=False) + "\n")
