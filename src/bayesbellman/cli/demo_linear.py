"""``bbo demo-linear``: a first look at policy evaluation, in seconds."""

from dataclasses import dataclass
from pathlib import Path

from bayesbellman.cli.options import Flag


@dataclass(frozen=True)
class DemoLinear:
    """Evaluate a policy on the Boyan chain, transition by transition, and leave a report with a figure and a table."""

    out: Path = Path("demo-linear-report")
    """Folder for the report."""
    transitions: int = 2000
    """How many transitions to learn from."""
    seed: int = 0
    """Seed of the data."""
    overwrite: Flag = False
    """Replace the report folder if it exists."""

    def run(self) -> None:
        from bayesbellman.experiments.linear_demo.analysis import write_report
        from bayesbellman.experiments.linear_demo.sweep import DemoSettings, run_demo
        from bayesbellman.runs.folder import refuse_if_unusable, whole_folder
        from bayesbellman.runs.progress import progress

        settings = DemoSettings(transitions=self.transitions, seed=self.seed)
        refuse_if_unusable(self.out, overwrite=self.overwrite)
        with progress("Boyan chain", settings.transitions, "transitions") as report:
            history = run_demo(settings, report)
        with whole_folder(self.out, overwrite=self.overwrite) as folder:
            text = write_report(history, folder)
        print(text)
        print(f"Report: {self.out / 'report.md'}   Figure: {self.out / 'boyan.png'}")
