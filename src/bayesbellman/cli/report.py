"""``bbo report``: training runs as one page."""

from dataclasses import dataclass
from pathlib import Path

from bayesbellman.cli.options import Flag, OrNone, RunFolders
from bayesbellman.cli.saying import say


@dataclass(frozen=True)
class Report:
    """Write one HTML page on training runs: verdicts, curves, disagreement, calibration, and what the agents believed.

    The page needs no network and no other file. With --live it is served to this machine while training goes on.
    """

    runs: RunFolders
    """Folders that bbo train left, or is filling."""
    out: OrNone[Path] = None
    """File to write. [default: report.html]"""
    live: Flag = False
    """Serve the page and keep it up to date, until Ctrl-C; no file is written."""
    port: int = 8765
    """Of the live page; 0 takes a free one."""
    overwrite: Flag = False
    """Replace the file, if it is a page of bbo report."""

    def run(self) -> None:
        if not self.runs:
            raise ValueError("RUN: name one folder that bbo train left, or several")
        for place, folder in enumerate(self.runs):
            if folder.resolve() in [other.resolve() for other in self.runs[:place]]:
                raise ValueError(f"RUN: {folder} is named twice")
            if not folder.is_dir():
                raise FileNotFoundError(f"RUN: there is no folder {folder}; give one that bbo train left")
        if self.live and self.out is not None:
            raise ValueError("--out is not written with --live; leave one of them out")

        from bayesbellman.experiments.report.collect import collect

        if self.live:
            from bayesbellman.experiments.report.live import serve

            serve(lambda: collect(self.runs), self.port, say)
            return

        from bayesbellman.experiments.report.page import refuse_if_not_writable, render, write_page

        out = self.out if self.out is not None else Path("report.html")
        refuse_if_not_writable(out, overwrite=self.overwrite)
        data = collect(self.runs)
        write_page(out, render(data))
        for run in data["runs"]:
            print(f"{run['title']} ({run['label']}): {run['verdict']}")
            for remark in run["remarks"]:
                print(f"  {remark}")
        print(f"Page: {out}")
