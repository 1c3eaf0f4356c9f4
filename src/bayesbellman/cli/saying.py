"""What is said beside a command's result."""

import contextlib
import sys


def say(words: str) -> None:
    """To standard error, if anybody reads it: that a reader has gone (``2>&1 | head``) stops no work."""
    with contextlib.suppress(OSError, ValueError):
        print(f"bbo: {words}", file=sys.stderr, flush=True)
