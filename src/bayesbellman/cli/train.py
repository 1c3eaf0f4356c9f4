"""``bbo train``: train an agent, and leave it with its learning curve."""

import shlex
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from bayesbellman.cli.importing import look_here_too
from bayesbellman.cli.options import Flag, OrNone, Widths, YesOrNo
from bayesbellman.cli.saying import say

if TYPE_CHECKING:
    from bayesbellman.doors.agent import Agent

AGENTS = {
    "bbac": "BBAC", "bac": "BAC", "sac": "SAC", "sac-star": "SACStar", "boot-dqn": "BootDQN", "dqn": "DQN",
}  # fmt: skip

ENV = (
    "With continuous actions MountainCarContinuous-v0, cartpole-swingup-sparse, cartpole-swingup-sparse-dm,"
    " pendulum-swingup-sparse, acrobot-swingup-sparse; with discrete ones deep-sea-N, deep-sea-stochastic-N,"
    " CartPole-v1, MountainCar-v0, bsuite-cartpole-swingup-N (all these are compiled); or Gymnasium's id,"
    " module:Name-v0 where a module of yours registers it."
)
AGENT = (
    "For continuous actions bbac: with randomised priors; bac: the same without target critics; sac, sac-star: soft"
    " actor-critics. For discrete actions boot-dqn: with randomised priors; dqn: deep Q-learning. [default: bbac or"
    " boot-dqn, by the environment's actions]"
)


@dataclass(frozen=True)
class AgentSettings:
    """What is left out, the agent chooses itself."""

    learning_rate: OrNone[float] = None
    """Of all networks, and of the temperature where there is one (Adam).
    [default: 1e-3 for bbac, bac, boot-dqn and dqn; 3e-4 for sac and sac-star]"""
    discount: OrNone[float] = None
    """Of rewards, gamma. [default: 0.99]"""
    hidden: Widths = None
    """Widths of the networks' hidden layers.
    [default: 256 256 for bbac, bac, sac and sac-star; 64 64 for boot-dqn and dqn]"""
    activation: OrNone[str] = None
    """Of the hidden layers: relu, tanh, elu or silu. [default: relu]"""
    batch_size: OrNone[int] = None
    """Transitions of an update. [default: 256 for bbac, bac, sac and sac-star; 128 for boot-dqn and dqn]"""
    buffer_size: OrNone[int] = None
    """Transitions that replay holds. [default: 1000000 for bbac, bac, sac and sac-star; 100000 for boot-dqn and dqn]"""
    warmup: OrNone[int] = None
    """Steps with random actions before the first update.
    [default: 1000 for bbac, bac, sac and sac-star; 128 for boot-dqn and dqn]"""
    target_smoothing: OrNone[float] = None
    """How far target networks go towards the trained ones in each update. Not for bac.
    [default: 5e-3 for bbac, sac and sac-star; 0.05 for boot-dqn and dqn]"""
    target_entropy: OrNone[float] = None
    """Entropy at which the temperature holds the policy. Not for boot-dqn and dqn.
    [default: minus the number of actions]"""
    scale_observations: YesOrNo = None
    """Bring bounded observations to [-1, 1]. [default: True]"""
    num_envs: OrNone[int] = None
    """Gymnasium environments that play side by side. [default: 1]"""
    bad_values: OrNone[Literal["raise", "drop", "clip"]] = None
    """What to do with nan and infinity from a Gymnasium environment. [default: raise]"""
    on_env_error: OrNone[Literal["raise", "restart"]] = None
    """What to do when a Gymnasium environment raises, hangs or dies; restart cuts the episode and begins a new one.
    [default: raise]"""
    env_restarts: OrNone[int] = None
    """How often it is restarted before that is an error. [default: 3]"""
    env_timeout: OrNone[float] = None
    """Seconds that a step of a Gymnasium environment may take; it then runs in a process of its own.
    [default: any time, in this process]"""
    device: OrNone[Literal["auto", "cpu", "gpu"]] = None
    """Where to compute. [default: auto]"""
    ensemble_size: OrNone[int] = None
    """Members, each with a prior function of its own. For bbac, bac and boot-dqn.
    [default: 8 for bbac and bac; 20 for boot-dqn]"""
    prior_scale: OrNone[float] = None
    """Factor of the prior functions: of the size of returns that seem possible. For bbac, bac and boot-dqn.
    [default: for bbac and bac 100 on MountainCar, 32 on the sparse cart-pole, 30 elsewhere; 3 for boot-dqn]"""
    prior_weight: OrNone[float] = None
    """Weight of the prior on parameters. Not for sac and sac-star.
    [default: 3e-5 for bbac and bac; 0 for boot-dqn and dqn]"""
    recipe: OrNone[Literal["ours", "paper"]] = None
    """Learning rate 1e-3 and an entropy bonus for exploring actors (ours); 3e-4 and none (paper). For bbac and bac.
    [default: ours]"""
    exploration_entropy: OrNone[float] = None
    """Share of the entropy that exploring actors are rewarded with. For bbac and bac. [default: 1]"""
    exploration_noise: OrNone[float] = None
    """Of exploring actors' actions, in units of their own deviation; 0: their mean action. For bbac and bac.
    [default: 1]"""
    target_period: OrNone[int] = None
    """Updates from one step of the target networks to the next. For boot-dqn and dqn. [default: 1]"""
    double: YesOrNo = None
    """The trained network chooses the next action, the target network values it. For boot-dqn and dqn.
    [default: False]"""
    epsilon: OrNone[float] = None
    """Probability of a random action. For boot-dqn and dqn. [default: 0 for boot-dqn; 0.05 for dqn]"""
    target_noise: OrNone[float] = None
    """Deviation of the noise on each member's targets. Not for sac and sac-star. [default: 0]"""
    bootstrap: OrNone[float] = None
    """Probability with which a transition is used by a member. Not for sac and sac-star. [default: 1]"""
    num_critics: OrNone[int] = None
    """Critics of which the least is believed. For sac. [default: 2]"""

    def given(self) -> dict[str, Any]:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True)
class Train:
    """Train an agent, and leave it with its curve, its metrics and a report.

    Ctrl-C keeps what was learnt, and --resume goes on. `bbo evaluate` plays the agent.
    """

    env: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="ENV", help=ENV)]
    agent: Annotated[
        OrNone[Literal["bbac", "bac", "sac", "sac-star", "boot-dqn", "dqn"]], tyro.conf.arg(help=AGENT)
    ] = None
    steps: int = 20_000
    """Of the environment, for each seed."""
    seed: int = 0
    """The first one."""
    seeds: int = 1
    """How many: seed, seed + 1, ... In compiled environments they train side by side, on all devices of a kind."""
    side_by_side: OrNone[int] = None
    """At most so many seeds at a time, where memory is short. [default: all, or as many as fit a GPU]"""
    out: OrNone[Path] = None
    """Folder for the run. [default: trained/ENV-AGENT]"""
    overwrite: Flag = False
    """Replace the folder if it exists."""
    resume: Flag = False
    """Go on with what the folder holds, from its last checkpoint; begin if it holds nothing."""
    force_migrate: Flag = False
    """With --resume: go on also from a checkpoint of another version of this package."""
    checkpoint_every: OrNone[int] = None
    """Steps from one checkpoint to the next. [default: a minute, or more where that is over 2 % of the time]"""
    keep_checkpoints: int = 2
    """How many of the last checkpoints stay."""
    tensorboard: Flag = False
    """Write curves for TensorBoard too."""
    evaluate_every: int = 1_000
    """Steps from one evaluation to the next."""
    episodes: int = 10
    """Of an evaluation."""
    solved: OrNone[float] = None
    """Stop when the mean of an evaluation is at least this. [default: never]"""
    settings: AgentSettings = AgentSettings()

    def run(self) -> None:
        from bayesbellman.core.errors import Diverged
        from bayesbellman.doors import agents
        from bayesbellman.experiments.training.plan import Plan
        from bayesbellman.experiments.training.sweep import train

        look_here_too(self.env)
        name = self.agent or self._agent_for_actions()
        kind: type[Agent] = agents.AGENTS[AGENTS[name]]
        settings = self._settings_for(kind, name)
        if self.overwrite and self.resume:
            raise ValueError("--overwrite and --resume exclude each other: begin anew, or go on")
        if self.force_migrate and not self.resume:
            raise ValueError("--force-migrate goes with --resume")
        names = ("steps", "seed", "seeds", "evaluate_every", "episodes", "solved")
        names += ("checkpoint_every", "keep_checkpoints", "tensorboard", "side_by_side")
        plan = Plan(self.env, kind, settings, **{name: getattr(self, name) for name in names})
        default = Path("trained") / f"{self.env}-{name}".replace("/", "-").replace(":", "-")
        out = self.out if self.out is not None else default
        outcome = train(
            plan,
            out,
            overwrite=self.overwrite,
            resume=self.resume,
            other_version=self.force_migrate,
            resume_command=_resume_command(sys.argv[1:]),
            say=say,
        )
        print(outcome.text)
        env = f" --env {self.env}" if ":" in self.env else ""  # it imports code, which no file makes `bbo evaluate` do
        print(f"Run: {out}   Report: {out / 'report.md'}   Play: bbo evaluate {plan.folder_of(out, self.seed)}{env}")
        diverged = {seed: end.words for seed, end in outcome.ended.items() if end.how == "diverged"}
        if diverged:
            raise Diverged("; ".join(f"seed {seed}: {words}" for seed, words in diverged.items()))

    def _agent_for_actions(self) -> str:
        """The agent with randomised priors for this environment's actions."""
        from bayesbellman.doors.environments import actions_of
        from bayesbellman.envs.spaces import Discrete

        discrete = actions_of(self.env) is Discrete
        name = "boot-dqn" if discrete else "bbac"
        say(f"--agent {name}, as actions are {'discrete' if discrete else 'continuous'}")
        return name

    def _settings_for(self, kind: "type[Agent]", agent: str) -> dict[str, Any]:
        from bayesbellman.doors.settings import setting_names

        given = self.settings.given()
        known = setting_names(kind)
        for name in given:
            if name not in known:
                options = ", ".join(_option(field.name) for field in fields(self.settings) if field.name in known)
                raise ValueError(f"{_option(name)} is no setting of --agent {agent}; it has {options}")
        return given


def _resume_command(arguments: list[str]) -> str:
    """What was typed, to go on."""
    kept = [word for word in arguments if word not in ("--overwrite", "--resume")]
    return shlex.join(["bbo", *kept, "--resume"])


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")
