r"""PyMC model of the posterior, for Hamiltonian Monte Carlo and for extensions.

In the marginal form, the likelihood is a single operator. A kernel computes the log-likelihood and
its gradient in slopes, intercepts and family means in one pass, so that the sampler does not
differentiate the quadrature. In the explicit form, each ability is a variable. Means of families
and domains are non-centred: they are products of standard normal variables and standard
deviations. Parameters of items in domains are partially centred (`psychollm.irt.bayes.laplace`).
"""

from functools import cache
from typing import Any, Literal, TypeAlias

import numpy as np

from psychollm._base.optional import require
from psychollm._base.types import AnyArray, FloatArray
from psychollm.data.labels import Labels
from psychollm.irt.bayes.target import Target, contrasts
from psychollm.irt.families import Link
from psychollm.kernels.irt_marginal import logit_gradient, probit_gradient

Form: TypeAlias = Literal["marginal", "explicit"]
COMPILED = {"logit": logit_gradient, "probit": probit_gradient}
SHARED = (
    "yes_start",
    "yes_items",
    "gap_start",
    "gap_items",
    "frequency",
    "family_start",
    "nodes",
    "log_weights",
)
PURPOSE = "the PyMC model of bayesian_2pl"


def pymc_model(
    target: Target, centring: dict[str, FloatArray], labels: dict[str, Labels], form: Form
) -> Any:
    """Build the model; `labels` contains the names of items, respondents, families and domains."""
    pm = require("pymc", extra="bayes", purpose=PURPOSE)
    tensor = require("pytensor.tensor", extra="bayes", purpose=PURPOSE)
    pytensor = require("pytensor", extra="bayes", purpose=PURPOSE)
    shared = {name: pytensor.shared(value, name=name) for name, value in named(centring).items()}
    coords = {name: list(given) for name, given in labels.items()}
    with pm.Model(coords=coords) as model:
        first, intercept = _items(pm, tensor, target, shared)
        slope = tensor.exp(first) if target.priors.positive else first
        slope = pm.Deterministic("slope", slope, dims="item")
        intercept = pm.Deterministic("intercept", intercept, dims="item")
        mean = _families(pm, tensor, target)
        if form == "marginal":
            value = marginal_operator(target)(slope, intercept, mean)[0]
            pm.Potential("responses", value)
        else:
            _explicit(pm, tensor, target, slope, intercept, mean)
    return model


def named(centring: dict[str, FloatArray]) -> dict[str, FloatArray]:
    """Return the degrees of centring under the names of the model's shared variables."""
    return {f"centring_{name}": value for name, value in centring.items()}


def _items(pm: Any, tensor: Any, target: Target, shared: dict[str, Any]) -> list[Any]:
    """Return (log) slopes and intercepts with their priors, with or without domains of items."""
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
        of = tensor.as_tensor_variable(target.domains.of)
        # partial centring, as in psychollm.irt.bayes.laplace
        c, centre = shared[f"centring_{kind}"], domain[of]
        own = pm.Normal(f"{kind}_unit", c * centre, within**c, dims="item")
        value = centre + within ** (1.0 - c) * (own - c * centre)
        found.append(pm.Deterministic(name, value, dims="item"))
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


def _explicit(pm: Any, tensor: Any, target: Target, slope: Any, intercept: Any, mean: Any) -> None:
    """Add abilities, and answers conditional on abilities, to the model."""
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
    """Return a function from slopes, intercepts and means to log-likelihood and gradients."""
    # Answers and nodes are shared variables (see `shared_values`), so that one compiled model can
    # be used for all tables with the same model shape.
    pytensor = require("pytensor", extra="bayes", purpose=PURPOSE)
    operator = _operator_class()(target.link)
    shared = [pytensor.shared(value, name=name) for name, value in shared_values(target).items()]
    return lambda slope, intercept, mean: operator(slope, intercept, mean, *shared)


def shared_values(target: Target) -> dict[str, AnyArray]:
    """Return the operator's inputs other than parameters, by name."""
    data, nodes, log_weights, _ = target.grid
    return dict(zip(SHARED, (*data, nodes, log_weights), strict=True))


@cache
def _operator_class() -> Any:
    """Return the operator's class, created once and registered with PyTensor's Numba backend."""
    graph = require("pytensor.graph", extra="bayes", purpose=PURPOSE)
    gradient = require("pytensor.gradient", extra="bayes", purpose=PURPOSE)
    tensor = require("pytensor.tensor", extra="bayes", purpose=PURPOSE)
    dispatch = require("pytensor.link.numba.dispatch.basic", extra="bayes", purpose=PURPOSE)

    class Marginal(graph.Op):  # type: ignore[misc, name-defined]
        """Marginal log-likelihood of the answers with its gradient."""

        __props__ = ("link",)

        def __init__(self, link: Link) -> None:
            self.link = link

        def make_node(self, *inputs: Any) -> Any:
            given = [tensor.as_tensor_variable(value) for value in inputs]
            given[:3] = [value.astype("float64") for value in given[:3]]
            outputs = [tensor.dscalar(), *(tensor.dvector() for _ in range(3))]
            return graph.Apply(self, given, outputs)

        def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
            del node
            found = COMPILED[self.link](*(np.ascontiguousarray(value) for value in inputs))
            for storage, value in zip(output_storage, found, strict=True):
                storage[0] = value

        def connection_pattern(self, node: Any) -> list[list[bool]]:
            return [[place < 3] * 4 for place in range(len(node.inputs))]

        def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> Any:
            used = [isinstance(part.type, gradient.DisconnectedType) for part in cotangents[1:]]
            if not all(used):
                msg = "the gradient of the marginal likelihood cannot be differentiated again"
                raise NotImplementedError(msg)
            rest = [gradient.DisconnectedType()() for _ in inputs[3:]]
            return [*(cotangents[0] * slope for slope in outputs[1:]), *rest]

        def grad(self, inputs: Any, output_gradients: Any) -> Any:
            return self.pullback(inputs, self(*inputs), output_gradients)

    # PyTensor calls the function with the operator, the node and further keywords.
    dispatch.numba_funcify.register(Marginal, lambda op, *_, **__: COMPILED[op.link])
    return Marginal
