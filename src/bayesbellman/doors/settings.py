"""Settings of agents: their names, values that JSON can hold, and the device that is asked for."""

import inspect
from typing import Any

import jax
import numpy as np

from bayesbellman.doors.other_names import CALLED_HERE, INSTEAD


def setting_names(kind: type) -> list[str]:
    """What an agent's constructor takes beside the environment: its own settings first, then those that all share."""
    names = [name for each in kind.__mro__ if "__init__" in vars(each) for name in _arguments(each)]
    return list(dict.fromkeys(names))


def _arguments(kind: type) -> list[str]:
    parameters = inspect.signature(kind.__init__).parameters.values()
    return [p.name for p in parameters if p.kind == p.KEYWORD_ONLY]


def chosen_device(device: str) -> Any:
    """The device asked for; never another one in its place."""
    if device not in ("auto", "cpu", "gpu"):
        raise ValueError(f"device is {device!r}; accepted are 'auto', 'cpu' and 'gpu'")
    if device == "auto":
        return jax.devices()[0]
    try:
        return jax.devices(device)[0]
    except RuntimeError as error:
        there = ", ".join(sorted({d.platform for d in jax.devices()}))
        raise RuntimeError(
            f"device is 'gpu', but JAX finds none (it finds: {there}); for NVIDIA's: pip install 'jax[cuda13]'"
        ) from error


def check_shared(kind: type, given: dict[str, Any]) -> None:
    known = setting_names(kind)
    for name in given:
        if name not in known:
            raise TypeError(f"{kind.__name__} has no setting {name!r}; {_fix(name, known)}")


def _fix(name: str, known: list[str]) -> str:
    """What to write for a name that is no setting: ours for another library's, or what there is."""
    if (ours := CALLED_HERE.get(name)) in known:
        return f"it is called {ours} here"
    return INSTEAD.get(name) or f"it has {', '.join(sorted(known))}"


def plain(value: Any) -> Any:
    """As JSON can hold it."""
    if isinstance(value, tuple):
        return [plain(part) for part in value]
    return value.item() if isinstance(value, np.generic) else value
