r"""The same posterior as a PyMC model, for sampling by Hamiltonian Monte Carlo and for extending.

The marginal form is one operator: log-likelihood and gradient by slopes, intercepts and families'
means come out of one pass of a kernel, so that the sampler never differentiates through the
quadrature. The explicit form has every ability as a variable. Both are not centred: groups enter
as standard normal variables times their standard deviations.
"""

from typing import Any, Literal, TypeAlias

import numpy as np

from psychollm._base.optional import require
from psychollm.irt.bayes.target import Grid, Target, contrasts
from psychollm.kernels.irt_marginal import marginal_gradient

Form: TypeAlias = Literal["marginal", "explicit"]
PURPOSE = "the PyMC model of bayesian_2pl"


def pymc_model(target: Target, labels: dict[str, tuple[Any, ...]], form: Form) -> Any:
    """Build the model; `labels` holds those of item, respondent, family and domain."""
    pm = require("pymc", extra="bayes", purpose=PURPOSE)
    tensor = require("pytensor.tensor", extra="bayes", purpose=PURPOSE)
    coords = {name: list(given) for name, given in labels.items()}
    with pm.Model(coords=coords) as model:
        first, intercept = _items(pm, tensor, target)
        slope = tensor.exp(first) if target.priors.positive else first
        slope = pm.Deterministic("slope", slope, dims="item")
        intercept = pm.Deterministic("intercept", intercept, dims="item")
        mean = _families(pm, tensor, target)
        if form == "marginal":
            value = marginal_operator(target)(slope, intercept, mean)[0]
            pm.Potential("responses", value)
        else:
            _explicit(pm, tensor, target, (slope, intercept, mean))
    return model


def _items(pm: Any, tensor: Any, target: Target) -> list[Any]:
    """Return (log) slopes and intercepts under their priors, with domains or without."""
    found = []
    names = ("log_slope" if target.priors.positive else "slope_raw", "intercept_raw")
    kinds = zip(names, target.priors.scaled(target.link), ("slope", "intercept"), strict=True)
    for name, (mean, sd), kind in kinds:
        if target.domains.n < 2:
            found.append(pm.Normal(name, mean, sd, dims="item"))
            continue
        grand = pm.Normal(f"grand_{kind}", mean, sd)
        between = pm.HalfNormal(f"sd_{kind}_between", sd)
        within = pm.HalfNormal(f"sd_{kind}_within", sd)
        unit = pm.Normal(f"domain_{kind}_unit", 0.0, 1.0, dims="domain")
        domain = pm.Deterministic(f"domain_{kind}", grand + between * unit, dims="domain")
        own = pm.Normal(f"{kind}_unit", 0.0, 1.0, dims="item")
        of = tensor.as_tensor_variable(target.domains.of)
        found.append(pm.Deterministic(name, domain[of] + within * own, dims="item"))
    return found


def _families(pm: Any, tensor: Any, target: Target) -> Any:
    """Return the families' mean abilities, which sum to zero."""
    n = target.families.n
    if n < 2:
        return tensor.zeros(1)
    width = pm.HalfNormal("sd_families", target.priors.families)
    unit = pm.Normal("family_unit", 0.0, 1.0, shape=n - 1)
    basis = tensor.as_tensor_variable(contrasts(n))
    return pm.Deterministic("family_mean", width * tensor.dot(basis, unit), dims="family")


def _explicit(pm: Any, tensor: Any, target: Target, parts: tuple[Any, Any, Any]) -> None:
    """Add abilities and the answers given them."""
    slope, intercept, mean = parts
    of = tensor.as_tensor_variable(target.families.of)
    theta = pm.Normal("ability_unit", 0.0, 1.0, dims="respondent")
    ability = pm.Deterministic("ability", theta + mean[of], dims="respondent")
    codes = target.answers.codes[target.answers.of_respondent]
    rows, columns = np.nonzero(codes >= 0)
    z = ability[rows] * slope[columns] + intercept[columns]
    observed = codes[rows, columns]
    if target.link == "logit":
        pm.Bernoulli("responses", logit_p=z, observed=observed)
    else:
        pm.Bernoulli("responses", p=pm.math.invprobit(z), observed=observed)


def marginal_operator(target: Target) -> Any:
    """Return the operator (slopes, intercepts, means) -> (log-likelihood, its three gradients)."""
    graph = require("pytensor.graph", extra="bayes", purpose=PURPOSE)
    tensor = require("pytensor.tensor", extra="bayes", purpose=PURPOSE)
    grid = target.grid

    class Marginal(graph.Op):  # type: ignore[misc, name-defined]
        """Marginal log-likelihood of the answers with its gradient."""

        __props__ = ()

        def make_node(self, *inputs: Any) -> Any:
            given = [tensor.as_tensor_variable(value).astype("float64") for value in inputs]
            outputs = [tensor.dscalar(), *(tensor.dvector() for _ in range(3))]
            return graph.Apply(self, given, outputs)

        def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
            del node
            slope, intercept, mean = (np.ascontiguousarray(value) for value in inputs)
            filled = [np.empty_like(value) for value in (slope, intercept, mean)]
            value = marginal_gradient(slope, intercept, mean, grid, *filled)
            for storage, found in zip(output_storage, (np.asarray(value), *filled), strict=True):
                storage[0] = found

        def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> Any:
            return [cotangents[0] * slope for slope in outputs[1:]]

        def grad(self, inputs: Any, output_gradients: Any) -> Any:
            return [output_gradients[0] * slope for slope in self(*inputs)[1:]]

    _register(Marginal, grid)
    return Marginal()


def _register(operator: Any, grid: Grid) -> None:
    """Tell PyTensor's Numba backend, which nutpie uses, how to run the operator."""
    dispatch = require("pytensor.link.numba.dispatch.basic", extra="bayes", purpose=PURPOSE)
    from psychollm.kernels.irt_marginal import closed_gradient

    function = closed_gradient(*grid)
    # PyTensor passes the node and further keywords of its own, of which none is needed.
    dispatch.numba_funcify.register(operator, lambda *_, **__: function)
