"""What is said beside a command's result."""

import sys


def say(words: str) -> None:
    print(f"bbo: {words}", file=sys.stderr, flush=True)
