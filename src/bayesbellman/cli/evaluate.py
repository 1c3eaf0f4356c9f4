"""``bbo evaluate``: play what was trained."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from bayesbellman.cli.importing import look_here_too
from bayesbellman.cli.options import Flag, OrNone

if TYPE_CHECKING:
    from bayesbellman.doors.agent import Agent


@dataclass(frozen=True)
class Evaluate:
    """Play a trained agent with the action it believes best, and print the returns of its episodes."""

    run_folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """Folder that bbo train left, or a file of an agent (.bbo)."""
    env: OrNone[str] = None
    """Name of the environment, if the agent's file names none, or for another. [default: the one in the file]"""
    episodes: int = 10
    """How many to play."""
    seed: OrNone[int] = None
    """Of the episodes. [default: as in the evaluations of training]"""
    best: Flag = False
    """The agent as it was at its best evaluation, not at the end."""
    video: OrNone[Path] = None
    """Write the first episode to this file (.gif). [default: none is written]"""
    device: Literal["auto", "cpu", "gpu"] = "auto"
    """Where to compute."""

    def run(self) -> None:
        path = self._agent_file()

        from bayesbellman.doors.agent import Agent

        if self.episodes < 1:
            raise ValueError(f"--episodes is {self.episodes}; accepted is a whole number >= 1")
        look_here_too(self.env)
        with Agent.load(path, env=self.env, device=self.device) as agent:
            self._play(agent, path)

    def _play(self, agent: "Agent", path: Path) -> None:
        from bayesbellman.runs.tables import aligned

        seed = agent.evaluation_seed if self.seed is None else self.seed
        if not 0 <= seed < 2**31:
            raise ValueError(f"--seed is {seed}; accepted is a whole number from 0 to 2^31 - 1")
        if self.video is not None:
            from bayesbellman.experiments.training.video import check_video

            check_video(self.video, agent)
        returns = agent.evaluate(self.episodes, seed=seed)
        number = "1 episode" if self.episodes == 1 else f"{self.episodes} episodes"
        print(f"{type(agent).__name__} on {agent.env_name}, {path}, {number}, seed {seed}")
        spread = float(returns.std(ddof=1)) if len(returns) > 1 else "-"
        row = (float(returns.mean()), spread, float(returns.min()), float(returns.max()))
        print(aligned(("mean", "std", "min", "max"), [row]))
        print("returns: " + ", ".join(f"{value:.6g}" for value in returns.tolist()))
        if self.video is not None:
            from bayesbellman.experiments.training.video import write_video

            gathered = write_video(self.video, agent, self.episodes, seed)
            print(f"Video: {self.video} (return {gathered:.6g})")

    def _agent_file(self) -> Path:
        place, name = self.run_folder, "best.bbo" if self.best else "agent.bbo"
        if place.is_file():
            if self.best:
                raise ValueError(f"--best is for folders of runs, and {place} is a file; leave it out")
            return place
        if not place.is_dir():
            raise FileNotFoundError(f"RUN: there is no {place}; give a folder that bbo train left, or a .bbo file")
        if (place / name).exists():
            return place / name
        seeds = sorted(path.parent.name for path in place.glob(f"seed-*/{name}"))
        if seeds:
            raise ValueError(f"RUN: {place} holds several seeds; name one: {', '.join(str(place / s) for s in seeds)}")
        raise FileNotFoundError(_why_there_is_none(place, name))


def _why_there_is_none(place: Path, name: str) -> str:
    """Of a folder without this agent: how its run stands, what there is to play instead, and how to go on."""
    from bayesbellman.experiments.training.plan import SUMMARY
    from bayesbellman.experiments.training.reading import is_run
    from bayesbellman.runs.lock import is_held

    if not is_run(place):
        return f"RUN: {place} holds no {name}; is it a folder that bbo train left?"
    if name == "agent.bbo":
        why, other, instead = "it was interrupted before its end", "best.bbo", "--best plays the best so far"
    else:
        why, other, instead = "it has no best evaluation yet", "agent.bbo", "without --best its last agent is played"
    further = "bbo train ... --resume goes on with it"
    whole = place.parent if place.name.startswith("seed-") else place
    if is_held(whole):
        why, further = "it is still being trained", "wait for its end"
    elif (whole / SUMMARY).exists():  # which is written when all seeds have ended
        why, further = "it has ended, and the file has been removed since", "the same bbo train makes it again"
    there = (place / other).exists() or any(place.glob(f"seed-*/{other}"))
    return f"RUN: {place} holds no {name}: " + "; ".join([why, instead, further] if there else [why, further])
