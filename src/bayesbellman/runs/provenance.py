"""Where a result comes from: command, versions, machine. Written beside every result."""

import hashlib
import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from bayesbellman._version import __version__

PACKAGES = ("jax", "equinox", "optax", "numpy")


def provenance(command: list[str] | None = None, more_packages: Sequence[str] = ()) -> dict[str, object]:
    """What it takes to make a result again. ``more_packages``: which it needs besides `PACKAGES`."""
    return {
        "command": shlex.join(command if command is not None else [_program(), *sys.argv[1:]]),
        "bayesbellman": __version__,
        "commit": commit(),
        "python": platform.python_version(),
        "packages": {name: metadata.version(name) for name in (*PACKAGES, *more_packages)},
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores{_accelerator()}",
    }


def _program() -> str:
    name = Path(sys.argv[0]).name
    return "bbo" if name == "__main__.py" else name  # python -m bayesbellman.cli


def _accelerator() -> str:
    """What JAX computed on, if it was used and it is not the CPU."""
    jax = sys.modules.get("jax")
    device = None if jax is None else jax.devices()[0]
    return "" if device is None or device.platform == "cpu" else f", {device.device_kind}"


def code_digest() -> str:
    """A digest of the package's source files: the same code, whatever its version says."""
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def commit() -> str | None:
    """What ``$BBO_COMMIT`` says (for code that was copied to another machine), or the checkout's commit.

    With ``+changes`` if the tree differs from it; None outside a checkout.
    """
    if os.environ.get("BBO_COMMIT"):
        return os.environ["BBO_COMMIT"]
    here = Path(__file__).parents[1]  # the package

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=here, capture_output=True, text=True, timeout=10, check=True)
        return done.stdout.strip()

    try:
        git("ls-files", "--error-unmatch", "__init__.py")  # not ours if we are merely installed inside a checkout
        changed = git("status", "--porcelain", "--untracked-files=all", "--", str(here))
        return git("rev-parse", "--short=12", "HEAD") + ("+changes" if changed else "")
    except (OSError, subprocess.SubprocessError):
        return None


if __name__ == "__main__":
    # python -m bayesbellman.runs.provenance COMMAND...: what to keep beside the output of that command
    print(json.dumps(provenance(sys.argv[1:]), indent=2))
