"""JSON files that are whole whenever they are there."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """In place of what was there, at once; numbers that are not finite are refused."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    scratch.write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    scratch.replace(path)
