"""A long look at an environment: what it does wrong, and what one should know before training in it."""

import contextlib
import copy
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import gymnasium
import jax
import numpy as np

from bayesbellman.compat.gymnasium.adapter import AsGymnasium
from bayesbellman.compat.gymnasium.check import SEVERITIES, Finding, find_faults, random_actions
from bayesbellman.compat.gymnasium.faults import EnvironmentFailed, OtherProcess
from bayesbellman.compat.gymnasium.host import HostEnv
from bayesbellman.compat.gymnasium.isolated import Isolated
from bayesbellman.compat.gymnasium.spaces import ActionScale, name_of, raw_spaces
from bayesbellman.envs.spaces import Discrete

COMPILED = 10_000
"""Steps by which the rate of a compiled environment is measured"""
COPIED = 20
"""Steps that a copy must go together with its original"""
TIMELY = "wrap it in gymnasium.wrappers.TimeLimit(env, max_episode_steps=1000), or another number of steps"
AGENTS = {gymnasium.spaces.Box: "bbac, bac, sac, sac-star", gymnasium.spaces.Discrete: "boot-dqn, dqn"}
"""As ``bbo train --agent`` calls them, by the kind of actions that they choose"""


class Play(NamedTuple):
    """What random actions brought."""

    steps: int
    seconds: float
    rewards: np.ndarray
    returns: np.ndarray
    """Of whole episodes"""
    discounted: np.ndarray
    """The same, discounted"""
    lengths: np.ndarray
    truncated: int
    """How many of them were cut"""


class Diagnosis(NamedTuple):
    """What was found, the worst first, and facts by name."""

    name: str
    findings: list[Finding]
    facts: dict[str, str]

    @property
    def healthy(self) -> bool:
        return all(finding.severity == "note" for finding in self.findings)


def examine(
    make: Callable[[], gymnasium.Env],
    *,
    seed: int = 0,
    trial: int = 200,
    steps: int = 5_000,
    seconds: float = 10.0,
    discount: float = 0.99,
    timeout: float = 30.0,
    apart: bool = False,
) -> Diagnosis:
    """Try an environment out: for ``trial`` steps look for faults, then play on for at most so many steps or seconds.

    ``timeout``: seconds that one call may take before that is a finding. It is stopped by a signal, which reaches it
    only in Python code of the main thread. ``apart``: play it first in a process of its own, if it can be made there,
    and go no further if that dies or hangs.
    """

    def watched() -> gymnasium.Env:
        return Watched(made(), timeout)

    def made() -> gymnasium.Env:
        env = make()
        if not isinstance(env, gymnasium.Env):
            raise TypeError(f"it made {type(env).__name__}, not a gymnasium.Env")
        return env

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if apart and (lost := _lost(make, seed, steps, seconds, timeout)):
            return lost
        try:
            with contextlib.closing(made()) as env:
                name, facts = (
                    name_of(env),
                    {"observations": _shown(env, "observation"), "actions": _shown(env, "action")},
                )
                facts |= _agents_for(env)
                limit = _limit_of(env)
        except Exception as error:
            what = f"making it raised {type(error).__name__}: {error}"
            return Diagnosis("environment", [Finding("error", what, "mend that; --arguments passes some")], {})
        findings = find_faults(watched, seed, trial)
        if not _broken(findings):
            findings += _before_reset(watched, seed)
            with contextlib.closing(watched()) as env:
                try:
                    play = played(HostEnv(env, seed=seed, bad_values="clip"), steps, seconds, discount)
                    more, known = _about(play, limit, discount)
                except EnvironmentFailed as error:  # later than the trial
                    more, known = [Finding("error", str(error), "mend that")], {}
            findings, facts = findings + more, facts | known
        if not _broken(findings):
            for look in (_copying, _returning, _compiled):
                more, known = look(watched, seed)
                findings, facts = findings + more, facts | known
    findings = list(dict.fromkeys(findings))
    return Diagnosis(name, sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity)), facts)


def _lost(make: Callable[[], gymnasium.Env], seed: int, steps: int, seconds: float, timeout: float) -> Diagnosis | None:
    """What is to be said of an environment that would take us with it."""
    fix = "mend that; agents survive it with env_timeout and on_env_error='restart'"
    try:
        with contextlib.closing(Isolated(make, timeout)) as env:
            played(HostEnv(env, seed=seed, bad_values="clip"), steps, seconds, 1.0)
    except EnvironmentFailed as error:
        if isinstance(error.__cause__, OtherProcess) and error.__cause__.gone:
            return Diagnosis(error.place.name, [Finding("error", str(error), fix)], {})
    except OtherProcess as error:
        if error.gone:
            return Diagnosis("environment", [Finding("error", f"making it {error}", fix)], {})
    except (TypeError, ValueError):  # it cannot be made there, or its spaces are none for us: seen in a moment
        pass
    return None


def _agents_for(env: gymnasium.Env) -> dict[str, str]:
    try:
        action = raw_spaces(env).action
    except TypeError:  # none can use its spaces, which is a finding
        return {}
    kinds = [words for kind, words in AGENTS.items() if isinstance(action, kind)]
    return {"agents": f"{kinds[0]} (bbo train --agent)"} if kinds else {}


def _broken(findings: list[Finding]) -> bool:
    return any(finding.severity == "error" and "bad_values" not in finding.fix for finding in findings)


class Watched(gymnasium.Wrapper):
    """Raises TimeoutError in a call that takes too long, where signals can do that."""

    def __init__(self, env: gymnasium.Env, timeout: float) -> None:
        super().__init__(env)
        self.timeout = timeout

    def reset(self, **given: Any) -> Any:
        with _alarm(self.timeout):
            return self.env.reset(**given)

    def step(self, action: Any) -> Any:
        with _alarm(self.timeout):
            return self.env.step(action)


@contextlib.contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(signum: int, frame: object) -> None:
        raise TimeoutError(f"no answer within {seconds:g} s; env_timeout of an agent would end such a step")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def played(host: HostEnv, steps: int, seconds: float, discount: float) -> Play:
    """Random actions in one environment."""
    actions = random_actions(host.first, 1, host.seed + 1, steps)
    host.reset()
    rewards, returns, discounted, lengths, truncated = [], [], [], [], 0
    gathered = worth = lasted = 0.0
    started = time.perf_counter()
    for action in actions:
        step = host.step(action)
        reward = float(step.reward[0])
        rewards.append(reward)
        gathered, worth, lasted = gathered + reward, worth + discount**lasted * reward, lasted + 1
        if step.terminated[0] or step.truncated[0]:
            returns.append(gathered)
            discounted.append(worth)
            lengths.append(lasted)
            truncated += int(step.truncated[0])
            gathered = worth = lasted = 0.0
        if time.perf_counter() - started > seconds:
            break
    took = time.perf_counter() - started
    return Play(
        steps=len(rewards),
        seconds=took,
        rewards=np.array(rewards, float),
        returns=np.array(returns, float),
        discounted=np.array(discounted, float),
        lengths=np.array(lengths, float),
        truncated=truncated,
    )


def _about(play: Play, limit: int | None, discount: float) -> tuple[list[Finding], dict[str, str]]:
    findings = []
    facts = {"step rate": f"{play.steps / play.seconds:,.0f} steps/s, random actions included ({play.steps:,} steps)"}
    if limit is not None:
        facts["time limit"] = f"{limit:,} steps" if limit else "none: its episodes end by themselves"
    elif play.truncated:
        facts["time limit"] = f"its own: {play.truncated} of {len(play.returns)} random episodes were cut"
    else:
        facts["time limit"] = "none seen"
        if not len(play.returns):
            what = f"no episode ended within {play.steps:,} random steps, and there is no time limit"
            findings.append(Finding("warning", what, TIMELY))
        else:
            what = "there is no time limit; an episode that a trained agent does not end goes on"
            findings.append(Finding("note", what, TIMELY))
    facts["rewards"] = f"{_range(play.rewards)}; {np.mean(play.rewards == 0):.0%} are 0"
    if not len(play.returns):
        facts["random episodes"] = f"none ended within {play.steps:,} steps"
    else:
        facts["random episodes"] = (
            f"{len(play.returns)}, of {_range(play.lengths)} steps; returns {_range(play.returns)};"
            f" discounted by {discount:g}: {_range(play.discounted)}"
        )
    facts["prior_scale"] = _prior_scale(play)
    return findings, facts


def _prior_scale(play: Play) -> str:
    """A suggestion, and what it stands on."""
    seen = float(np.max(np.abs(play.discounted), initial=0.0))
    if not len(play.returns):
        return "no suggestion: no random episode ended"
    if seen == 0:
        return "no suggestion: random actions met no reward; take the size of the returns that seem possible"
    return (
        f"about {_rounded(seen):g}, the largest discounted return, without its sign, of {len(play.returns)} random"
        " episodes; what counts is the size of the returns that seem possible, of which random actions may see little"
    )


def _rounded(value: float) -> float:
    """To one leading digit and a half: 1, 1.5, 2, 3, 5, 7 times a power of ten."""
    power = 10.0 ** np.floor(np.log10(value))
    steps = np.array([1, 1.5, 2, 3, 5, 7, 10])
    return float(steps[np.argmin(np.abs(np.log(steps * power / value)))] * power)


def _before_reset(make: Callable[[], gymnasium.Env], seed: int) -> list[Finding]:
    with contextlib.closing(make()) as env:
        action = ActionScale(raw_spaces(env).action)(random_actions(env, 1, seed, 1)[0], 1)[0]
        try:
            env.step(action)
        except Exception:
            return []
    fix = "raise gymnasium.error.ResetNeeded there, or wrap it in gymnasium.wrappers.OrderEnforcing"
    return [Finding("warning", "a step before the first reset() is answered as if an episode had begun", fix)]


def _copying(make: Callable[[], gymnasium.Env], seed: int) -> tuple[list[Finding], dict[str, str]]:
    """Whether a copy of the bare environment goes where the original goes."""
    with contextlib.closing(make()) as wrapped:
        wrapped.reset(seed=seed)
        env = wrapped.unwrapped
        scale = ActionScale(raw_spaces(env).action)
        actions = [scale(action, 1)[0] for action in random_actions(env, 1, seed, COPIED + 1)]
        wrapped.step(actions[0].copy())
        try:
            twin = copy.deepcopy(env)
        except Exception as error:
            return [], {"state": f"cannot be copied ({type(error).__name__}: {error})"}
        for number, action in enumerate(actions[1:]):
            try:
                one, other = (each.step(action.copy()) for each in (env, twin))
            except Exception as error:
                return [], {"state": f"a copy of it cannot be played ({type(error).__name__}: {error})"}
            if not all(_same(a, b) for a, b in zip(one[:4], other[:4], strict=True)):
                return [], {"state": f"a copy of it goes elsewhere, after {number + 1} steps"}
            if one[2] or one[3]:
                break
    return [], {"state": "can be copied: a copy goes the same way"}


def _same(one: Any, other: Any) -> bool:
    return np.array_equal(np.asarray(one, float), np.asarray(other, float), equal_nan=True)


def _returning(make: Callable[[], gymnasium.Env], seed: int) -> tuple[list[Finding], dict[str, str]]:
    """Whether seed and actions lead back into an episode: what a resumed run stands on."""
    with contextlib.closing(make()) as first, contextlib.closing(make()) as second:
        host = HostEnv(first, seed=seed, bad_values="clip")
        host.reset()
        for action in random_actions(first, 1, seed, COPIED):
            host.step(action)
        kept = host.snapshot()
        assert kept is not None
        try:
            HostEnv(second, seed=seed, bad_values="clip").restore(kept)
        except EnvironmentFailed:
            what = "the same seed and actions do not lead back to where an episode was: a resumed run is not bit-exact"
            fix = "let reset(seed=seed) decide everything that follows"
            return [Finding("warning", what, fix)], {"resuming": "not bit-exact"}
    return [], {"resuming": "bit-exact: seed and actions lead back to where an episode was"}


def _compiled(make: Callable[[], gymnasium.Env], seed: int) -> tuple[list[Finding], dict[str, str]]:
    """Of our own environments, how fast they are without Python: as agents train in them."""
    ours = make().unwrapped
    if not isinstance(ours, AsGymnasium):
        return [], {}
    env, space = ours.env, ours.env.spaces.action

    def any_action(key: Any) -> Any:
        if isinstance(space, Discrete):
            return jax.random.randint(key, (), 0, space.number)
        return jax.random.uniform(key, space.low.shape, minval=space.low, maxval=space.high)

    def advance(state: Any, key: Any) -> tuple[Any, Any]:
        action_key, step_key = jax.random.split(key)
        outcome = env.step(step_key, state, any_action(action_key))
        return outcome.state, outcome.reward

    @jax.jit
    def play(key: Any) -> Any:
        return jax.lax.scan(advance, env.reset(key), jax.random.split(key, COMPILED))

    jax.block_until_ready(play(jax.random.key(seed)))
    started = time.perf_counter()
    jax.block_until_ready(play(jax.random.key(seed)))
    rate = COMPILED / (time.perf_counter() - started)
    return [], {"compiled": f"{rate:,.0f} steps/s, as agents train in it, without their share"}


def _limit_of(env: gymnasium.Env) -> int | None:
    """From a wrapper, as it was registered, or of ours; 0: it is ours and needs none."""
    inner: Any = env
    while isinstance(inner, gymnasium.Wrapper):
        if isinstance(inner, gymnasium.wrappers.TimeLimit):
            return int(inner._max_episode_steps)
        inner = inner.env
    return getattr(inner.env, "time_limit", None) if isinstance(inner, AsGymnasium) else None


def _shown(env: gymnasium.Env, which: str) -> str:
    space = getattr(env, f"{which}_space", None)
    if isinstance(space, gymnasium.spaces.Box):
        bounded = np.isfinite(space.low).all() and np.isfinite(space.high).all()
        bounds = f"from {space.low.min():g} to {space.high.max():g}" if bounded else "some without bounds"
        return f"Box of shape {space.shape} and {space.dtype}, {bounds}"
    return str(space)


def _range(values: np.ndarray) -> str:
    low, high = float(values.min()), float(values.max())
    return f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g} (median {float(np.median(values)):.4g})"
