"""Gymnasium's environments for our agents, and our environments for whoever speaks Gymnasium."""

try:
    import gymnasium as gymnasium
except ModuleNotFoundError as error:
    if error.name != "gymnasium":
        raise
    raise ModuleNotFoundError(
        "Gymnasium environments need gymnasium, which is not installed: pip install 'bayesbellman[gym]'",
        name="gymnasium",
    ) from None

from bayesbellman.compat.gymnasium.adapter import AsGymnasium as AsGymnasium
from bayesbellman.compat.gymnasium.check import check_environment as check_environment
from bayesbellman.compat.gymnasium.faults import EnvironmentFailed as EnvironmentFailed
from bayesbellman.compat.gymnasium.faults import EnvironmentWarning as EnvironmentWarning
from bayesbellman.compat.gymnasium.faults import NotFinite as NotFinite
from bayesbellman.compat.gymnasium.faults import OtherProcess as OtherProcess
from bayesbellman.compat.gymnasium.host import HostEnv as HostEnv
from bayesbellman.compat.gymnasium.host import HostStep as HostStep
from bayesbellman.compat.gymnasium.isolated import Isolated as Isolated
from bayesbellman.compat.gymnasium.make import make_host_env as make_host_env
from bayesbellman.compat.gymnasium.spaces import spaces_of as spaces_of
