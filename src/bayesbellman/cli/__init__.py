"""The command ``bbo``. One file per command; heavy imports happen when a command runs, not when it is parsed."""
