"""``bbo doctor``: what is wrong with an environment."""

import json
import sys
from dataclasses import dataclass
from typing import Annotated

import tyro

from bayesbellman.cli.importing import look_here_too


@dataclass(frozen=True)
class Doctor:
    """Examine an environment: print what is wrong with it, with the fix, the worst first, and what is good to know.

    Exit code 3 if something is wrong.
    """

    env: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="ENV")]
    """One of ours, Gymnasium's id, or module:Class of your own, which is imported (also from the current folder)."""
    arguments: str = "{}"
    """What to pass to it when it is made, as JSON: '{"size": 3}'."""
    seed: int = 0
    """Of its episodes."""
    steps: int = 5_000
    """To play with random actions, at most."""
    seconds: float = 10.0
    """To play for, at most."""
    timeout: float = 30.0
    """Seconds that one call may take."""
    discount: float = 0.99
    """Of the returns for which a prior scale is suggested."""

    def run(self) -> None:
        try:
            arguments = json.loads(self.arguments)
        except ValueError:
            arguments = None
        if not isinstance(arguments, dict):
            raise ValueError(f"--arguments is {self.arguments}; accepted is a JSON object, such as '{{\"size\": 3}}'")
        for name in ("steps", "seconds", "timeout"):
            if not getattr(self, name) > 0:
                raise ValueError(f"--{name} is {getattr(self, name)}; it must be > 0")
        if not 0 <= self.discount <= 1:
            raise ValueError(f"--discount is {self.discount}; it must be from 0 to 1")

        from bayesbellman.compat.gymnasium.doctor import examine
        from bayesbellman.compat.gymnasium.naming import named
        from bayesbellman.doors.agents import PRIOR_SCALES
        from bayesbellman.doors.environments import full_name

        look_here_too(self.env)
        found = examine(
            named(self.env, arguments),
            seed=self.seed,
            steps=self.steps,
            seconds=self.seconds,
            discount=self.discount,
            timeout=self.timeout,
            apart=True,
        )
        papers = PRIOR_SCALES.get(full_name(self.env))
        if papers is not None and "prior_scale" in found.facts:
            found.facts["prior_scale"] = f"{papers:g}, the paper's here; random play: {found.facts['prior_scale']}"
        print(f"{self.env}: " + ("nothing is wrong with it." if found.healthy else "something is wrong with it."))
        for finding in found.findings:
            print(f"{finding.severity}: {finding.what}\n    fix: {finding.fix}")
        width = max((len(name) for name in found.facts), default=0)
        for name, words in found.facts.items():
            print(f"{name.ljust(width)}  {words}")
        if not found.healthy:
            sys.exit(3)
