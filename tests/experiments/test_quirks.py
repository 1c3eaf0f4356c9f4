"""Quirks by name: none by default, each alone, and how their effects are told."""

import numpy as np
import pytest

from bayesbellman.data.datasets import TASKS, linear_task
from bayesbellman.data.quirks import AS_PUBLISHED, CORRECT, QUIRKS, quirks
from bayesbellman.evaluation.gradient_td import GTD2, TD
from bayesbellman.evaluation.linear_bbo import RecursiveLinearBBO
from bayesbellman.evaluation.lstd import LSTD
from bayesbellman.evaluation.residual import TraceBRM
from bayesbellman.experiments.artefact import Done, Request
from bayesbellman.experiments.linear.methods import DENSITY_FACTOR, estimator
from bayesbellman.experiments.quirks.analysis import effects
from bayesbellman.experiments.quirks.sweep import TOUCHES, plan


def test_names() -> None:
    assert quirks(False) == CORRECT == frozenset()
    assert quirks(True) == AS_PUBLISHED == frozenset(QUIRKS) == frozenset(TOUCHES)
    assert quirks(["float32"]) == {"float32"}
    with pytest.raises(ValueError, match="there is no quirk float16; there are folded-states, "):
        linear_task("boyan").problem(as_published={"float16"})


def test_methods_have_the_quirks_they_are_asked_to_have(x64: None) -> None:
    def made(task: str, method: str, *names: str):
        return estimator(task, method, 40, frozenset(names))

    td, plain_td = made("lqr_imp_offpolicy", "TD", "first-weight"), made("lqr_imp_offpolicy", "TD", "float32")
    assert isinstance(td, TD)
    assert isinstance(plain_td, TD)
    assert (td.as_published, plain_td.as_published) == (True, False)
    lstd, plain_lstd = made("boyan", "LSTD", "successor-weights"), made("boyan", "LSTD")
    assert isinstance(lstd, LSTD)
    assert isinstance(plain_lstd, LSTD)
    assert (lstd.weighting, plain_lstd.weighting) == ("successor", "everything")
    brm = made("lqr_imp_onpolicy", "BRM", "trace-from-one")
    assert isinstance(brm, TraceBRM)
    assert brm.as_published
    for names, variance, dtype in (((), 10.0, "float64"), (("unstated-prior", "float32"), 3.0, "float32")):
        bbo = made("link20_imp_offpolicy", "BBO", *names)
        assert isinstance(bbo, RecursiveLinearBBO)
        assert bbo.model.prior_precision.dtype == dtype
        np.testing.assert_allclose(1 / bbo.model.prior_precision[0, 0], variance, rtol=1e-6)
    with_quirk, without = made("link20_imp_offpolicy", "GTD2", "density-sum"), made("link20_imp_offpolicy", "GTD2")
    assert isinstance(with_quirk, GTD2)
    assert isinstance(without, GTD2)
    np.testing.assert_allclose(with_quirk.step_size / without.step_size, DENSITY_FACTOR)


def test_each_quirk_runs_beside_the_same_runs_without() -> None:
    names = {job.name for job in plan(Request()).jobs}
    assert {name.split(".")[0] for name in names} == {"none", *QUIRKS}
    for name in names:
        _, task, first = name.split(".")
        assert f"none.{task}.{first}" in names
        assert task in TASKS
    only = plan(Request(variants=("trace-from-one",), seeds=2))
    assert [job.name for job in only.jobs] == ["trace-from-one.lqr_imp_onpolicy.00000", "none.lqr_imp_onpolicy.00000"]


def test_effects_are_paired_and_failed_pairs_counted() -> None:
    base, changed = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), np.array([[1.0, 2.5], [3.0, 4.7], [5.0, np.nan]])
    done = Done({"none.boyan.00000": {"BBO": base}, "float32.boyan.00000": {"BBO": changed}}, {})
    final, total = effects(done)
    assert final[:4] == ("float32", "boyan", "BBO", "final")
    np.testing.assert_allclose(final[4:8], (3.0, 3.6, 0.6, 0.1), rtol=1e-9)
    assert final[8:] == (2, 1)
    np.testing.assert_allclose(total[6], 0.6)
    assert effects(Done({"float32.boyan.00000": {"BBO": changed}}, {"none.boyan.00000": "failed"})) == []
