"""``python -m bayesbellman.cli`` is ``bbo``."""

from bayesbellman.cli.main import main

main()
