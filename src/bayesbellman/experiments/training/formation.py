"""Which seeds train side by side, on which devices, and what that takes."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from bayesbellman.control.side_by_side import Layout, Size, devices_like, lay_out, most_that_fit, size_of
from bayesbellman.doors.agent import Agent
from bayesbellman.doors.settings import chosen_device
from bayesbellman.experiments.training.plan import Plan


class Formation(NamedTuple):
    """Groups of seeds, one group after the other, and words on it for the user."""

    groups: list[range]
    words: list[str]

    @property
    def side_by_side(self) -> int:
        return max(len(group) for group in self.groups)

    def layout(self, group: range, agent: Agent) -> Layout:
        return lay_out(len(group), devices_like(chosen_device(agent.device)))


def form(plan: Plan, agent: Agent, begun: Mapping[str, Any] | None) -> Formation:
    """As many side by side as are asked for, or as a run that is gone on with had, if there is memory for them.

    ``begun``: the configuration of that run. One of before this choice was there had its seeds one after the other.
    """
    training = agent.training
    if training is None:
        words = ["seeds one after the other: this environment is stepped in Python"] if plan.seeds > 1 else []
        return Formation([range(seed, seed + 1) for seed in plan.all_seeds()], words)
    before = None if begun is None else int(begun.get("run", {}).get("side_by_side", 1))
    wanted = min(plan.seeds, plan.side_by_side or before or plan.seeds)
    devices = devices_like(chosen_device(agent.device))
    size = size_of(training)
    fit = most_that_fit(size, devices)
    number = wanted if fit is None else max(1, min(wanted, fit))
    number = -(-plan.seeds // -(-plan.seeds // number))  # groups of one size, as far as that goes: compiled once
    seeds = plan.all_seeds()
    groups = [seeds[start : start + number] for start in range(0, plan.seeds, number)]
    words = []
    if plan.seeds > 1:
        words.append(side_by_side_words(plan.seeds, lay_out(number, devices), size))
    if fit is not None and wanted > fit:
        words.append(f"no more than {number} at a time: a run takes {memory(size.whole)} on a device")
    if before is not None and number != min(before, plan.seeds):
        words.append(f"it was begun with {before} side by side: bits may differ from here on")
    return Formation(groups, words)


def side_by_side_words(seeds: int, layout: Layout, size: Size) -> str:
    """What is used, and what it takes."""
    device = layout.devices[0]
    name = device.device_kind if device.platform != device.device_kind else device.platform
    number = len(layout.devices)
    groups = f"{seeds} seeds" if seeds == layout.number else f"{seeds} seeds, {layout.number} at a time"
    taken = f"replay {memory(layout.each * size.replay)} and states {memory(layout.each * size.state)}"
    if number == 1:
        return f"{groups} side by side on 1 device ({name}); {taken}"
    return f"{groups} side by side on {number} devices ({name}), {layout.each} each; {taken} on each device"


def memory(number: int) -> str:
    for unit, factor in (("GB", 10**9), ("MB", 10**6)):
        if number >= factor:
            return f"{number / factor:.3g} {unit}"
    return f"{number / 1000:.3g} kB"
