"""``bbo demo``: the main job, in a minute or two."""

import sys
from dataclasses import dataclass
from pathlib import Path

from bayesbellman.cli.options import Flag
from bayesbellman.cli.saying import say


@dataclass(frozen=True)
class Demo:
    """Train RP-BBAC on sparse MountainCar until it is solved, and SAC beside it; leave a report with pictures."""

    out: Path = Path("demo-report")
    """Folder for the report."""
    preset: str = "small"
    """Size of the networks: small (64 x 64, for a CPU) or paper (256 x 256, for a GPU)."""
    seed: int = 0
    """Seed of both agents."""
    most_steps: int = 30_000
    """Give up after so many steps."""
    overwrite: Flag = False
    """Replace the report folder if it exists."""

    def run(self) -> None:
        from bayesbellman.experiments.control_demo.analysis import write_report
        from bayesbellman.experiments.control_demo.sweep import DemoHistory, DemoSettings, run_bbac, run_sac
        from bayesbellman.runs.folder import refuse_if_unusable, whole_folder
        from bayesbellman.runs.progress import progress

        settings = DemoSettings(preset=self.preset, seed=self.seed, most_steps=self.most_steps)
        refuse_if_unusable(self.out, overwrite=self.overwrite)
        print(f"RP-BBAC on sparse MountainCar until solved, preset {settings.preset!r} (hidden {settings.hidden})")
        with progress("RP-BBAC", settings.most_steps, "steps") as report:
            bbac = run_bbac(settings, report)
        print("SAC for as many steps")
        with progress("SAC", int(bbac.steps[-1]), "steps") as report:
            sac = run_sac(settings, int(bbac.steps[-1]), report)
        with whole_folder(self.out, overwrite=self.overwrite) as folder:
            text = write_report(DemoHistory(settings, bbac, sac), folder)
        print(text)
        print(f"Report: {self.out / 'report.md'}   Agent: {self.out / 'rp-bbac.bbo'}")
        if bbac.solved_at is None:
            say(f"RP-BBAC has not solved it within {settings.most_steps:,} steps")
            sys.exit(3)
