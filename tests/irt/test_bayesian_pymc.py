"""The PyMC model and its sampler beside the normal approximation; needs the extra bayes."""

import numpy as np
import pytest

pytest.importorskip("pymc")
arviz = pytest.importorskip("arviz")

from psychollm.irt.bayes.bayesian import bayesian_2pl, build_model  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    families = np.arange(150) % 2
    ability = rng.normal(size=150) + np.array([-0.6, 0.6])[families]
    z = np.outer(ability, np.exp(rng.normal(0.0, 0.3, 6))) + rng.normal(size=6)
    return (rng.random(z.shape) < 1.0 / (1.0 + np.exp(-z))).astype(int), [
        f"f{k}" for k in families
    ]


def test_operator_and_gradient(data):
    from pytensor import function
    from pytensor.gradient import verify_grad

    from psychollm.irt.bayes.pymc_model import marginal_operator
    from tests.irt.test_bayesian import target_of

    target = target_of(data[0], families=data[1])
    operator = marginal_operator(target)
    rng = np.random.default_rng(0)
    point = [rng.uniform(0.5, 1.5, 6), rng.normal(size=6), np.array([-0.4, 0.4])]
    verify_grad(lambda *inputs: operator(*inputs)[0], point, rng=rng)
    from pytensor import tensor

    inputs = [tensor.dvector() for _ in range(3)]
    value = function(inputs, operator(*inputs)[0])(*point)
    x = np.concatenate([np.log(point[0]), point[1], [-0.4 * np.sqrt(2.0)]])
    assert np.isclose(abs(value), abs(target.log_likelihood(x[None])[0]), rtol=1e-12)


def test_both_forms_have_their_variables(data):
    names = {variable.name for variable in build_model(data[0], families=data[1]).unobserved_RVs}
    assert {"slope", "intercept", "family_mean", "sd_families"} <= names
    explicit = build_model(data[0], form="explicit", link="probit")
    assert explicit.dim_lengths["respondent"].eval() == 150


def test_chains_agree_with_the_normal_approximation(data):
    options = {"families": data[1], "rng": 1}
    quick = bayesian_2pl(data[0], n_draws=2_000, **options)
    chains = bayesian_2pl(data[0], method="nuts", n_draws=800, chains=2, tune=400, **options)
    assert chains.n_chains == 2
    assert np.nanmax(chains.r_hat) < 1.05
    for name in ("slope", "intercept", "family", "ability"):
        one, other = getattr(quick, name), getattr(chains, name)
        assert (np.abs(one.value - other.value) < 0.25 * one.se).all(), name
        assert (np.abs(np.log(one.se / other.se)) < 0.25).all(), name
    assert abs(quick.loo.elpd - chains.loo.elpd) < 1.0


def test_inference_data_has_labels_and_the_same_leave_one_out(data):
    found = bayesian_2pl(data[0], families=data[1], n_draws=1_000, rng=0)
    groups = found.to_arviz()
    assert list(groups["posterior"]["family_mean"].coords["family"].values) == ["f0", "f1"]
    assert groups["posterior"]["ability"].shape == (1, 1_000, 150)
    assert groups["prior_predictive"]["replicated"].shape[-2:] == (150, 6)
    loo = arviz.loo(groups)
    elpd = loo.elpd if hasattr(loo, "elpd") else loo.elpd_loo
    # ArviZ sizes the Pareto tail a little differently.
    assert abs(float(elpd) - found.loo.elpd) < 0.01


def test_a_compiled_model_serves_the_next_table(data, monkeypatch):
    nutpie = pytest.importorskip("nutpie")
    from psychollm.irt.bayes import nuts

    monkeypatch.setattr(nuts, "_compiled", {})
    compiled = []
    compile_model = nutpie.compile_pymc_model

    def counted(model):
        compiled.append(model)
        return compile_model(model)

    monkeypatch.setattr(nutpie, "compile_pymc_model", counted)
    options = {"method": "nuts", "n_draws": 400, "chains": 1, "tune": 300}
    options["domains"] = ["x", "y"] * (data[0].shape[1] // 2)
    one = bayesian_2pl(data[0], rng=1, **options)
    other = bayesian_2pl(1 - data[0][:90], rng=1, **options)
    again = bayesian_2pl(data[0], rng=1, **options)
    assert len(compiled) == 1
    assert np.array_equal(one.slope.draws, again.slope.draws)
    assert np.corrcoef(one.intercept.value, other.intercept.value)[0, 1] < -0.8


def test_the_gradient_is_not_differentiated_again(data):
    from pytensor import gradient, tensor

    from psychollm.irt.bayes.pymc_model import marginal_operator
    from tests.irt.test_bayesian import target_of

    inputs = [tensor.dvector() for _ in range(3)]
    value = marginal_operator(target_of(data[0]))(*inputs)[0]
    slope = gradient.grad(value, inputs[0])
    with pytest.raises(NotImplementedError, match="differentiated again"):
        gradient.grad(slope.sum(), inputs[0])
