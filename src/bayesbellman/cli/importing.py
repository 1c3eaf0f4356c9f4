"""Modules of the user's own, which an environment's name may ask for."""

import sys
from pathlib import Path


def look_here_too(name: str | None) -> None:
    """Let the module of ``module:Name`` be one in the current folder, where an installed command does not look."""
    if name is not None and ":" in name:
        sys.path.insert(0, str(Path.cwd()))
