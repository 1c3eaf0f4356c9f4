"""``bbo runs``: what was trained, what is being trained, and how far it is."""

import json
import time
from dataclasses import dataclass
from pathlib import Path

from bayesbellman.cli.options import AnyFolders, Flag
from bayesbellman.cli.saying import say


@dataclass(frozen=True)
class Runs:
    """List the training runs and unfinished studies below folders: status, progress, last evaluation, when written."""

    folders: AnyFolders = ()
    """Where to look, a few levels deep. [default: trained and the current folder]"""
    json: Flag = False
    """Print a JSON list instead of a table."""

    def run(self) -> None:
        from bayesbellman.experiments.listing.finding import DEPTH, MOST_FOLDERS, Search
        from bayesbellman.experiments.listing.states import HEADER, state_of
        from bayesbellman.runs.tables import aligned

        for folder in self.folders:
            if not folder.is_dir():
                raise FileNotFoundError(f"DIR: there is no folder {folder}")
        places = self.folders or tuple(place for place in (Path("trained"), Path()) if place.is_dir())
        search = Search(places)
        states = sorted((state_of(found) for found in search), key=lambda state: -state.written)
        if self.json:
            print(json.dumps([state.as_json() for state in states], indent=2, allow_nan=False))
        elif states:
            print(aligned(HEADER, [state.row(time.time()) for state in states]))
            for state in states:
                if state.reason:
                    print(f"{state.folder} is unreadable: {state.reason}")
        else:
            where = ", ".join(str(place) for place in places)
            print(f"No runs within {DEPTH} levels below {where}. bbo train makes one.")
        for folder in search.closed:
            say(f"{folder} cannot be looked into")
        if search.cut:
            say(f"only the first {MOST_FOLDERS:,} folders were looked into; name the folder that holds the runs")
