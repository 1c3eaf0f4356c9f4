"""The agents by name: ``bb.BBAC("MountainCarContinuous-v0")``, ``bb.BootDQN("deep-sea-10")``.

Each is its settings, what they may be, and the pure agent that is made of them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from bayesbellman.control.base import AbstractAgent
from bayesbellman.control.bbac import BBAC as PureBBAC
from bayesbellman.control.bbac import RECIPES
from bayesbellman.control.boot_dqn import BootDQN as PureBootDQN
from bayesbellman.control.sac import SAC as PureSAC
from bayesbellman.doors.agent import Agent
from bayesbellman.doors.checks import finite_number, whole_number, yes_or_no
from bayesbellman.doors.settings import check_shared
from bayesbellman.envs.spaces import Discrete

PRIOR_SCALES = {"MountainCarContinuous-v0": 100.0, "cartpole-swingup-sparse": 32.0, "cartpole-swingup-sparse-dm": 32.0}
"""The paper's, where it has one for the environment"""
OTHER_PRIOR_SCALE = 30.0
"""For environments that the paper does not have: near its cart-pole's"""


class ActorCritic(Agent):
    """What agents for continuous actions share.

    Parameters
    ----------
    target_entropy
        At which the temperature holds the policy; None is minus the number of actions.
    shared
        Those of `Agent`.
    """

    def __init__(self, env: Any, *, target_entropy: float | None = None, **shared: Any) -> None:
        self.target_entropy = None if target_entropy is None else finite_number("target_entropy", target_entropy)
        super().__init__(env, **shared)

    def _shared(self) -> dict[str, Any]:
        return {**super()._shared(), "target_entropy": self.target_entropy}


class BBAC(ActorCritic):
    """The Bayesian Bellman actor-critic with randomised priors (RP-BBAC): deep exploration for continuous actions.

    Parameters
    ----------
    ensemble_size
        Members, each a critic and an exploring actor with a prior function of its own.
    prior_scale
        Factor of the prior functions, whose values should be of the size of returns that seem possible. None takes the
        paper's for its environments (MountainCar 100, sparse cart-pole 32), also where Gymnasium has made them with
        arguments or wrappers, and 30 for others.
    prior_weight
        Of the penalty on the trained parameters.
    recipe
        ``"paper"`` is the paper to the letter; ``"ours"`` learns faster (a larger ``learning_rate``) and has an entropy
        bonus for exploring actors (``exploration_entropy``).
    learning_rate
        Of Adam, for every network and the temperature. None takes the recipe's: 1e-3, or the paper's 3e-4.
    exploration_entropy
        Entropy bonus of the exploring actors, in units of the temperature. None takes the recipe's: 1, or none, 0.
    exploration_noise
        Of the exploring actors' actions, in units of the deviation that they have learnt; 0 plays their mean action.
    target_noise
        Deviation of the noise that each member sees on each transition's target.
    bootstrap
        Probability with which a member is shown a transition, and the share of ``prior_weight`` that goes with it.
    shared
        Those of `ActorCritic` and `Agent`.
    """

    chosen_later = ("target_entropy", "prior_scale")

    def __init__(
        self,
        env: Any,
        *,
        ensemble_size: int = 8,
        prior_scale: float | None = None,
        prior_weight: float = 3e-5,
        recipe: str = "ours",
        learning_rate: float | None = None,
        exploration_entropy: float | None = None,
        exploration_noise: float = 1.0,
        target_noise: float = 0.0,
        bootstrap: float = 1.0,
        **shared: Any,
    ) -> None:
        self.ensemble_size = whole_number("ensemble_size", ensemble_size)
        self.prior_weight, self.prior_scale = prior_weight, prior_scale
        if recipe not in RECIPES:
            raise ValueError(f"recipe is {recipe!r}; accepted are {', '.join(map(repr, RECIPES))}")
        self.recipe = recipe
        given = {"learning_rate": learning_rate, "exploration_entropy": exploration_entropy}
        taken = {**RECIPES[recipe], **{name: value for name, value in given.items() if value is not None}}
        self.exploration_entropy = taken["exploration_entropy"]
        self.exploration_noise, self.target_noise, self.bootstrap = exploration_noise, target_noise, bootstrap
        check_shared(type(self), shared)
        super().__init__(env, learning_rate=taken["learning_rate"], **shared)
        if prior_scale is None:
            self.prior_scale = PRIOR_SCALES.get(self.env_id or "", OTHER_PRIOR_SCALE)

    @classmethod
    def changed(cls, settings: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
        """Another recipe brings what it stands for."""
        own = RECIPES["paper"] if "recipe" in changes else {}
        return super().changed({name: value for name, value in settings.items() if name not in own}, changes)

    def _pure(self) -> AbstractAgent:
        return PureBBAC(
            ensemble_size=self.ensemble_size,
            prior_scale=float(self.prior_scale or 0.0),
            prior_weight=self.prior_weight,
            exploration_entropy=self.exploration_entropy,
            exploration_noise=float(self.exploration_noise),
            target_noise=float(self.target_noise),
            bootstrap=self.bootstrap,
            **self._shared(),
        )


class BAC(BBAC):
    """`BBAC` without target critics (omega := psi): what the paper shows to be unstable."""

    def __init__(self, env: Any, **settings: Any) -> None:
        if settings.get("target_smoothing", 1.0) != 1.0:
            raise ValueError("target_smoothing: BAC has no target critics to smooth; leave it out, or use BBAC")
        super().__init__(env, **{**settings, "target_smoothing": 1.0})


class SAC(ActorCritic):
    """Soft actor-critic, the baseline.

    Parameters
    ----------
    num_critics
        The least of them is believed.
    shared
        Those of `ActorCritic` and `Agent`.
    """

    def __init__(self, env: Any, *, num_critics: int = 2, **shared: Any) -> None:
        self.num_critics = whole_number("num_critics", num_critics)
        check_shared(type(self), shared)
        super().__init__(env, **shared)

    def _pure(self) -> AbstractAgent:
        return PureSAC(num_critics=self.num_critics, **self._shared())


class SACStar(SAC):
    """SAC with one critic and no minimum, the paper's SAC*."""

    def __init__(self, env: Any, **settings: Any) -> None:
        if settings.get("num_critics", 1) != 1:
            raise ValueError("num_critics: SAC* has one critic; leave it out, or use SAC")
        super().__init__(env, **{**settings, "num_critics": 1})


class BootDQN(Agent):
    """BootDQN with randomised priors: the posterior of `BBAC` for discrete actions.

    Parameters
    ----------
    ensemble_size
        Members, each with a prior function of its own; one is drawn for each episode, and acts greedily.
    prior_scale
        Factor of the prior functions, whose values should be of the size of returns that seem possible; 0: none.
    prior_weight
        Of the penalty on the trained parameters.
    target_period
        Updates from one step of the target parameters to the next; with ``target_smoothing=1`` each is a copy.
    double
        Double Q-learning: the next action is the trained network's choice, its value the target's.
    epsilon
        Probability of a random action.
    target_noise
        Deviation of the noise that each member sees on each transition's target.
    bootstrap
        Probability with which a member is shown a transition, and the share of ``prior_weight`` that goes with it.
    shared
        Those of `Agent`; defaults are for small networks.
    """

    actions = Discrete

    def __init__(
        self,
        env: Any,
        *,
        ensemble_size: int = 20,
        prior_scale: float = 3.0,
        prior_weight: float = 0.0,
        target_period: int = 1,
        double: bool = False,
        epsilon: float = 0.0,
        target_noise: float = 0.0,
        bootstrap: float = 1.0,
        learning_rate: float = 1e-3,
        hidden: Sequence[int] = (64, 64),
        batch_size: int = 128,
        buffer_size: int = 100_000,
        warmup: int = 128,
        target_smoothing: float = 0.05,
        **shared: Any,
    ) -> None:
        self.ensemble_size = whole_number("ensemble_size", ensemble_size)
        self.prior_scale, self.prior_weight = prior_scale, prior_weight
        self.target_period = whole_number("target_period", target_period)
        self.double, self.epsilon = double, epsilon
        self.target_noise, self.bootstrap = target_noise, bootstrap
        check_shared(type(self), shared)
        sizes = {"hidden": hidden, "batch_size": batch_size, "buffer_size": buffer_size, "warmup": warmup}
        super().__init__(env, learning_rate=learning_rate, target_smoothing=target_smoothing, **sizes, **shared)

    def _check(self) -> None:
        super()._check()
        yes_or_no("double", self.double)

    def _pure(self) -> AbstractAgent:
        return PureBootDQN(
            ensemble_size=self.ensemble_size,
            prior_scale=float(self.prior_scale),
            prior="function" if self.prior_scale > 0 else "none",
            prior_weight=self.prior_weight,
            target_period=self.target_period,
            double=self.double,
            epsilon=float(self.epsilon),
            target_noise=float(self.target_noise),
            bootstrap=self.bootstrap,
            **self._shared(),
        )


class DQN(BootDQN):
    """Deep Q-learning with epsilon-greedy exploration, the baseline: `BootDQN` with one member and no prior."""

    def __init__(self, env: Any, *, epsilon: float = 0.05, **settings: Any) -> None:
        for name, only in (("ensemble_size", 1), ("prior_scale", 0.0)):
            if settings.get(name, only) != only:
                raise ValueError(f"{name}: DQN is one network without a prior; leave it out, or use BootDQN")
        super().__init__(env, epsilon=epsilon, **{**settings, "ensemble_size": 1, "prior_scale": 0.0})


AGENTS: dict[str, type[Agent]] = {kind.__name__: kind for kind in (BBAC, BAC, SAC, SACStar, BootDQN, DQN)}
