"""``bbo train``: train an agent, and leave it with its learning curve."""

import shlex
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from bayesbellman.cli.saying import say

if TYPE_CHECKING:
    from bayesbellman.doors.agent import Agent

AGENTS = {
    "bbac": "BBAC", "bac": "BAC", "sac": "SAC", "sac-star": "SACStar", "boot-dqn": "BootDQN", "dqn": "DQN",
}  # fmt: skip

ENV = (
    "With continuous actions MountainCarContinuous-v0, cartpole-swingup-sparse, cartpole-swingup-sparse-dm,"
    " pendulum-swingup-sparse, acrobot-swingup-sparse; with discrete ones deep-sea-N, deep-sea-stochastic-N,"
    " CartPole-v1, MountainCar-v0, bsuite-cartpole-swingup-N (all these are compiled); or Gymnasium's id."
)
AGENT = (
    "For continuous actions bbac: with randomised priors; bac: the same without target critics; sac, sac-star: soft"
    " actor-critics. For discrete actions boot-dqn: with randomised priors; dqn: deep Q-learning. [default: bbac or"
    " boot-dqn, by the environment's actions]"
)


@dataclass(frozen=True)
class AgentSettings:
    """What is left out, the agent chooses itself."""

    learning_rate: float | None = None
    """Of all networks, and of the temperature where there is one (Adam)."""
    discount: float | None = None
    """Of rewards, gamma."""
    hidden: tuple[int, ...] | None = None
    """Widths of the networks' hidden layers."""
    activation: str | None = None
    """Of the hidden layers: relu, tanh, elu or silu."""
    batch_size: int | None = None
    """Transitions of an update."""
    buffer_size: int | None = None
    """Transitions that replay holds."""
    warmup: int | None = None
    """Steps with random actions before the first update."""
    target_smoothing: float | None = None
    """How far target networks go towards the trained ones in each update. Not for bac."""
    target_entropy: float | None = None
    """Entropy at which the temperature holds the policy. Not for boot-dqn and dqn."""
    scale_observations: bool | None = None
    """Bring bounded observations to [-1, 1]."""
    num_envs: int | None = None
    """Gymnasium environments that play side by side."""
    bad_values: Literal["raise", "drop", "clip"] | None = None
    """What to do with nan and infinity from a Gymnasium environment."""
    on_env_error: Literal["raise", "restart"] | None = None
    """What to do when a Gymnasium environment raises, hangs or dies; restart cuts the episode and begins a new one."""
    env_restarts: int | None = None
    """How often it is restarted before that is an error."""
    env_timeout: float | None = None
    """Seconds that a step of a Gymnasium environment may take; it then runs in a process of its own."""
    device: Literal["auto", "cpu", "gpu"] | None = None
    """Where to compute."""
    ensemble_size: int | None = None
    """Members, each with a prior function of its own. For bbac, bac and boot-dqn."""
    prior_scale: float | None = None
    """Factor of the prior functions: of the size of returns that seem possible. For bbac, bac and boot-dqn."""
    prior_weight: float | None = None
    """Weight of the prior on parameters. Not for sac and sac-star."""
    recipe: Literal["ours", "paper"] | None = None
    """Learning rate 1e-3 and an entropy bonus for exploring actors (ours); 3e-4 and none (paper). For bbac and bac."""
    exploration_entropy: float | None = None
    """Share of the entropy that exploring actors are rewarded with. For bbac and bac."""
    exploration_noise: float | None = None
    """Of exploring actors' actions, in units of their own deviation; 0: their mean action. For bbac and bac."""
    target_period: int | None = None
    """Updates from one step of the target networks to the next. For boot-dqn and dqn."""
    double: bool | None = None
    """The trained network chooses the next action, the target network values it. For boot-dqn and dqn."""
    epsilon: float | None = None
    """Probability of a random action. For boot-dqn and dqn."""
    target_noise: float | None = None
    """Deviation of the noise on each member's targets. Not for sac and sac-star."""
    bootstrap: float | None = None
    """Probability with which a transition is used by a member. Not for sac and sac-star."""
    num_critics: int | None = None
    """Critics of which the least is believed. For sac."""

    def given(self) -> dict[str, Any]:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True)
class Train:
    """Train an agent, and leave it with its curve, its metrics and a report.

    Ctrl-C keeps what was learnt, and --resume goes on. `bbo evaluate` plays the agent.
    """

    env: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="ENV", help=ENV)]
    agent: Annotated[Literal["bbac", "bac", "sac", "sac-star", "boot-dqn", "dqn"] | None, tyro.conf.arg(help=AGENT)] = (
        None
    )
    steps: int = 20_000
    """Of the environment, for each seed."""
    seed: int = 0
    """The first one."""
    seeds: int = 1
    """How many: seed, seed + 1, ... In compiled environments they train side by side, on all devices of a kind."""
    side_by_side: int | None = None
    """At most so many seeds at a time, where memory is short. [default: all, or as many as fit a GPU]"""
    out: Path | None = None
    """Folder for the run. [default: trained/ENV-AGENT]"""
    overwrite: bool = False
    """Replace the folder if it exists."""
    resume: bool = False
    """Go on with what the folder holds, from its last checkpoint; begin if it holds nothing."""
    force_migrate: bool = False
    """With --resume: go on also from a checkpoint of another version of this package."""
    checkpoint_every: int | None = None
    """Steps from one checkpoint to the next. [default: a minute, or more where that is over 2 % of the time]"""
    keep_checkpoints: int = 2
    """How many of the last checkpoints stay."""
    tensorboard: bool = False
    """Write curves for TensorBoard too."""
    evaluate_every: int = 1_000
    """Steps from one evaluation to the next."""
    episodes: int = 10
    """Of an evaluation."""
    solved: float | None = None
    """Stop when the mean of an evaluation is at least this."""
    settings: AgentSettings = AgentSettings()

    def run(self) -> None:
        from bayesbellman.core.errors import Diverged
        from bayesbellman.doors import agents
        from bayesbellman.experiments.training.plan import Plan
        from bayesbellman.experiments.training.sweep import train

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
        print(f"Run: {out}   Report: {out / 'report.md'}   Play: bbo evaluate {plan.folder_of(out, self.seed)}")
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
