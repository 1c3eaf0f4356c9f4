"""`NeuralBBO`: policy evaluation with a neural network and the BBO rules, in `LinearBBO`'s idiom."""

from collections.abc import Callable, Sequence
from functools import partial
from numbers import Integral
from typing import Any, Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from bayesbellman.core.errors import Diverged, NotFittedError
from bayesbellman.doors import checks
from bayesbellman.doors.neural_fit import (
    Data,
    Learnt,
    build,
    checked_data,
    scaling_of,
    side_by_side,
    train_members,
    values,
)
from bayesbellman.doors.params import Parameters
from bayesbellman.evaluation.nonlinear_bbo import NonlinearState, TwoTimescaleBBO
from bayesbellman.nn.priors import WithPrior
from bayesbellman.posterior.map_estimate import MAPState

Posterior = Literal["map", "randomised_prior"]
Rule = Literal["two_timescales", "direct"]
TRAINING = ("lower_rate", "upper_rate", "lower_steps", "batch_size", "steps")
"""Settings of how to train on, and not of the model, which the first call fixes"""
STEPS_A_CALL = 500
"""Training goes on in calls of this many steps; after each it is seen whether it still makes sense."""


class NeuralBBO(Parameters):
    """Bayesian policy evaluation with a network: ``omega`` such that ``Q_omega`` is the posterior's mean operator.

    From transitions ``(x, r, x', gamma, w)``, x being observations or observations and actions side by side. Where
    features are at hand, `LinearBBO` is exact and needs no training; this is for raw observations.

    >>> import numpy as np
    >>> x = np.linspace(-1, 1, 64)[:, None]
    >>> model = NeuralBBO(hidden=(16,), steps=20).fit(x, x[:, 0], 0.5 * x, 0.9)
    >>> values = model.predict(x)

    Parameters
    ----------
    hidden
        Sizes of the hidden layers; ``()`` is linear in the inputs.
    posterior
        ``"map"`` is one network and gives no widths; ``"randomised_prior"`` an ensemble of ``num_members``, each with a
        prior function of its own, whose disagreement is the width.
    rule
        How omega moves. ``"two_timescales"`` (the paper's): towards the posterior's mean, slowly. ``"direct"``: omega
        is the posterior's mean, which ignores that the targets depend on omega (this is TD(0) with a prior).
    prior_weight
        ``lambda`` in ``lambda ||phi - phi_0||^2``, added to the mean loss of each batch, as in the paper.
    prior_scale, num_members, target_noise
        Of the ensemble: size of the prior functions, number of members, and whether each sees targets with noise of its
        own (``N(0, noise_variance)`` for each transition); without it the ensemble is too sure of itself.
    noise_variance
        ``sigma^2``, the variance of a target around its mean.
    lower_rate, upper_rate, lower_steps
        Adam's rates for the posterior and for omega, and how many steps of the first a step of the second waits for.
    batch_size, steps
        Transitions a training step (all, where there are no more), and training steps a `fit` or `partial_fit`.
    activation
        ``"relu"``, as in the paper, or ``"tanh"``.
    scale_inputs
        Bring inputs to mean 0 and deviation 1, by the data of the first call.
    seed
        Of the initial parameters, the batches and the noise.
    proper_policy
        Say True where every episode ends under the policy; discounts of 1 are then accepted.

    Attributes
    ----------
    losses_
        The posterior's loss after each training step, averaged over members.
    steps_, n_features_in_, n_samples_seen_
        Training steps so far, and the size of the data.
    """

    def __init__(
        self,
        hidden: tuple[int, ...] = (256,),
        posterior: str = "map",
        rule: str = "two_timescales",
        prior_weight: float = 1e-5,
        prior_scale: float = 1.0,
        num_members: int = 10,
        target_noise: bool = True,
        noise_variance: float = 1.0,
        lower_rate: float = 1e-3,
        upper_rate: float = 3e-3,
        lower_steps: int = 10,
        batch_size: int = 512,
        steps: int = 2_000,
        activation: str = "relu",
        scale_inputs: bool = True,
        seed: int = 0,
        proper_policy: bool = False,
    ) -> None:
        self.hidden = hidden
        self.posterior = posterior
        self.rule = rule
        self.prior_weight = prior_weight
        self.prior_scale = prior_scale
        self.num_members = num_members
        self.target_noise = target_noise
        self.noise_variance = noise_variance
        self.lower_rate = lower_rate
        self.upper_rate = upper_rate
        self.lower_steps = lower_steps
        self.batch_size = batch_size
        self.steps = steps
        self.activation = activation
        self.scale_inputs = scale_inputs
        self.seed = seed
        self.proper_policy = proper_policy
        self._learnt: Learnt | None = None
        self._check_parameters()

    # ------------------------------------------------------------------------------------------------- learning

    def fit(
        self, observations: Any, rewards: Any, next_observations: Any, discounts: Any, weights: Any = None
    ) -> "NeuralBBO":
        """Evaluate the policy on a whole data set, from new initial parameters.

        Arguments as in `LinearBBO.fit`. A pair ``(observations, actions)`` may stand for the observations; the next
        ones are then a pair too, with actions drawn from the policy in question.
        """
        self._check_parameters()
        self._learnt = self._train(None, (observations, rewards, next_observations, discounts, weights))
        return self

    def partial_fit(
        self, observations: Any, rewards: Any, next_observations: Any, discounts: Any, weights: Any = None
    ) -> "NeuralBBO":
        """Take in more transitions and train on, on all of them together, from where training stands.

        The model is fixed by the first call: `set_params` takes effect at the next `fit`, but for rates, steps and the
        size of batches.
        """
        model = self if self._learnt is None else self._as_begun(self._learnt)
        self._learnt = model._train(self._learnt, (observations, rewards, next_observations, discounts, weights))
        return self

    # ------------------------------------------------------------------------------------------------ answering

    def predict(self, observations: Any, return_std: bool = False) -> Any:
        """Values at the rows; with ``return_std``, a pair of values and deviations over the ensemble's members."""
        learnt = self._fitted()
        if return_std and learnt.num_members == 1:
            raise ValueError(
                "return_std=True needs members that can disagree; use posterior='randomised_prior' and num_members >= 2"
            )
        found = np.asarray(values(learnt.states.omega, self._inputs(learnt, observations)), dtype=np.float64)
        return (found.mean(axis=0), found.std(axis=0)) if return_std else found.mean(axis=0)

    def sample(self, key: Key[Array, ""] | int, n: int = 1) -> Callable[[Any], Float[np.ndarray, "samples rows"]]:
        """Draw ``n`` Bellman operators: a function that gives what each makes of the current values, at given rows."""
        learnt = self._fitted()
        if not isinstance(n, Integral) or n < 0:
            raise ValueError(f"n is {n!r}; accepted is a whole number of samples >= 0")
        typed = jax.random.key(int(key)) if isinstance(key, Integral) else key
        chosen = jax.random.randint(typed, (n,), 0, learnt.num_members)
        drawn = jax.tree.map(lambda x: x[chosen], learnt.states.posterior.phi)
        return lambda observations: np.asarray(values(drawn, self._inputs(learnt, observations)), dtype=np.float64)

    @property
    def losses_(self) -> Float[np.ndarray, " steps"]:
        return self._fitted().losses

    @property
    def steps_(self) -> int:
        return self._fitted().steps

    @property
    def n_features_in_(self) -> int:
        return self._fitted().data.observations.shape[1]

    @property
    def n_samples_seen_(self) -> int:
        return len(self._fitted().data.rewards)

    # ------------------------------------------------------------------------------------------------- the inside

    @property
    def _num_members(self) -> int:
        return self.num_members if self.posterior == "randomised_prior" else 1

    def _fitted(self) -> Learnt:
        if self._learnt is None:
            raise NotFittedError("this NeuralBBO has seen no data; call fit or partial_fit first")
        return self._learnt

    def _check_parameters(self) -> None:
        for name, given, accepted in (
            ("posterior", self.posterior, get_args(Posterior)),
            ("rule", self.rule, get_args(Rule)),
            ("activation", self.activation, ("relu", "tanh")),
        ):
            if given not in accepted:
                raise ValueError(f"{name} is {given!r}; accepted are {', '.join(accepted)}")
        for name in ("num_members", "lower_steps", "batch_size", "steps"):
            given = getattr(self, name)
            if not isinstance(given, Integral) or given < 1:
                raise ValueError(f"{name} is {given!r}; accepted is a whole number >= 1")
        for name in ("noise_variance", "lower_rate", "upper_rate"):
            checks.positive_number(name, getattr(self, name))
        for name in ("prior_weight", "prior_scale"):
            if checks.finite_number(name, getattr(self, name)) < 0:
                raise ValueError(f"{name} is {getattr(self, name)!r}; accepted is a finite number >= 0")
        for name in ("target_noise", "scale_inputs", "proper_policy"):
            checks.yes_or_no(name, getattr(self, name))
        sizes = self.hidden
        if not isinstance(sizes, Sequence | np.ndarray) or not all(
            isinstance(size, Integral) and size >= 1 for size in sizes
        ):
            raise ValueError(f"hidden is {sizes!r}; accepted is a tuple of whole numbers >= 1, () for none")
        if not isinstance(self.seed, Integral) or not 0 <= self.seed < 2**63:
            raise ValueError(f"seed is {self.seed!r}; accepted are whole numbers from 0 to 2**63 - 1")

    def _estimator(self, num_inputs: int) -> TwoTimescaleBBO:
        return build(
            num_inputs,
            tuple(self.hidden),
            self.activation,
            self.rule,
            self.lower_steps,
            float(self.lower_rate),
            float(self.upper_rate),
            float(self.prior_weight),
            float(self.noise_variance),
        )

    def _initial(self, estimator: TwoTimescaleBBO, key: Key[Array, ""]) -> NonlinearState:
        """One member before any data. With a prior function the penalty pulls to 0, else to the initial parameters."""
        network_key, prior_key = jax.random.split(key)
        make = estimator.posterior.network
        ensemble = self.posterior == "randomised_prior"
        prior = make(prior_key) if ensemble else None
        scale = jnp.asarray(self.prior_scale, dtype=jnp.float32)
        omega = WithPrior(make(network_key), prior, scale)
        state = estimator.start(omega)
        if ensemble:
            nothing = WithPrior(jax.tree.map(jnp.zeros_like, omega.network), prior, scale)
            return NonlinearState(MAPState(omega, nothing, state.posterior.optimiser), state.omega, state.slow)
        return state

    def _train(self, before: Learnt | None, given: tuple) -> Learnt:
        """What is known after more data and more steps; nothing of ``self`` changes until it has succeeded."""
        known = None if before is None else before.data.observations.shape[1]
        data = checked_data(given, known, proper_policy=bool(self.proper_policy))
        if before is not None:
            data = before.data.followed_by(data)
        scaling = before.scaling if before is not None else scaling_of(data.observations, self.scale_inputs)
        estimator = self._estimator(data.observations.shape[1])
        root = jax.random.key(int(self.seed))
        init_key, noise_key, train_key = jax.random.split(root, 3)
        done = 0 if before is None else before.steps
        if before is None:
            states = jax.vmap(partial(self._initial, estimator))(jax.random.split(init_key, self._num_members))
        else:
            states = before.states
        transitions, rewards = data.transitions(scaling), self._member_rewards(data, noise_key)
        batch_size = None if self.batch_size >= len(data.rewards) else self.batch_size
        losses = [] if before is None else [before.losses]
        target = done + self.steps
        while done < target:
            size = min(STEPS_A_CALL, target - done)
            keys = jax.random.split(jax.random.fold_in(train_key, done), self._num_members)
            states, loss = train_members(keys, estimator, states, transitions, rewards, size, batch_size)
            losses.append(np.asarray(loss, dtype=np.float64))
            if not np.isfinite(losses[-1]).all():
                step = done + int(np.flatnonzero(~np.isfinite(losses[-1]))[0])
                raise Diverged(
                    f"training diverged at step {step}: the loss is not finite. Lower upper_rate or lower_rate, or"
                    " raise lower_steps or prior_weight; the estimator is as it was before"
                )
            done += size
        return Learnt(self.get_params(), data, scaling, states, done, np.concatenate(losses))

    def _as_begun(self, learnt: Learnt) -> "NeuralBBO":
        """With the settings of the first call, but for those of how to train on."""
        return type(self)(**{**learnt.settings, **{name: getattr(self, name) for name in TRAINING}})

    def _member_rewards(self, data: Data, key: Key[Array, ""]) -> Float[Array, "L N"]:
        """A row of rewards per member: noise on its targets is noise on its rewards.

        It is drawn by member and transition: data that come later change nothing of what earlier ones are seen with,
        else the noise would be averaged away by calls of `partial_fit`.
        """
        count = len(data.rewards)
        rewards = jnp.broadcast_to(jnp.asarray(data.rewards, dtype=jnp.float32), (self._num_members, count))
        if self.posterior == "map" or not self.target_noise:
            return rewards
        counted = data.weights > 0  # what has no weight has no noise either
        spread = np.sqrt(self.noise_variance / np.where(counted, data.weights, 1.0)) * counted
        draw = jax.vmap(lambda key, i: jax.random.normal(jax.random.fold_in(key, i)), in_axes=(None, 0))
        noise = jax.vmap(draw, in_axes=(0, None))(jax.random.split(key, self._num_members), jnp.arange(count))
        return rewards + jnp.asarray(spread, dtype=jnp.float32) * noise.astype(jnp.float32)

    def _inputs(self, learnt: Learnt, observations: Any) -> Float[Array, "rows d"]:
        array = checks.real_array("observations", side_by_side("observations", observations), ndim=(2,))
        known = learnt.data.observations.shape[1]
        if array.shape[1] != known:
            raise ValueError(f"observations has {array.shape[1]} columns; the estimator was fitted on {known}")
        if (found := checks.culprit("observations", np.asarray(array, dtype=np.float64), 0)) is not None:
            raise ValueError(found)
        return jnp.asarray(learnt.scaling(np.asarray(array, dtype=np.float64)))
