"""Posterior means of abilities from answers that are read in ranges."""

from typing import Literal

import numpy as np

from psychollm._base.errors import LabelError, OptionError
from psychollm._base.replicate import progress_bar, workers
from psychollm._base.types import FloatArray
from psychollm.data.labels import Labels, listed
from psychollm.data.responses import Responses
from psychollm.estimates.reasons import Reason
from psychollm.irt.priors import ItemPopulation
from psychollm.irt.result import IRTFit
from psychollm.irt.streamed.fit import STREAMED, read_margins, sides_of
from psychollm.irt.streamed.posterior import (
    NODES,
    Answers,
    StreamedAbilities,
    enough_nodes,
    start_centres,
)


def posterior_means(
    fit: IRTFit, source: Responses, method: Literal["eap"] | str, n_jobs: int | None = None
) -> tuple[FloatArray, FloatArray, tuple[Reason, ...], Labels]:
    """Return posterior means and SDs (N,) in population SDs, with reasons and labels."""
    if fit.model not in STREAMED or fit.link != "logit" or method != "eap":
        msg = (
            f"method={method!r} of a fit with model={fit.model!r} and link={fit.link!r} needs "
            f"a "
            "dense table: scans and sparse tables support 'eap' for "
            f"{', '.join(map(repr, STREAMED))} with the logit link"
        )
        raise OptionError(msg)
    table, sides = sides_of(source, fit.respondents)
    place = {label: j for j, label in enumerate(fit.labels)}
    unknown = [label for label in sides[1] if label not in place]
    if unknown:
        msg = f"responses have items without estimates in the fit: {listed(unknown)}"
        raise LabelError(msg)
    rows = np.array([place[label] for label in sides[1]])
    keep = fit.estimated[rows]
    who, bar = workers(n_jobs), progress_bar(show=False, total=1, label="")
    read = read_margins(table, sides, who, bar)
    k = enough_nodes(read.answered, read.yes, NODES)
    abilities = StreamedAbilities(
        answers=Answers.of(table, who, bar, k),
        keep=keep,
        centre=start_centres(read.yes, read.answered),
        width=1.0 / np.sqrt(1.0 + 0.2 * read.answered),
        n_nodes=k,
        tied=False,
        lost=np.zeros(int(keep.sum()), dtype=np.bool_),
    )
    parameters = fit.parameters[rows][keep]
    points = parameters[None]
    covariance = fit.covariance[rows][keep]
    variances = np.einsum("jpp->jp", covariance)
    if isinstance(fit.priors, ItemPopulation) and np.isfinite(variances).any(axis=1).all():
        points = fit.family_of(fit.estimated).points(parameters, covariance)
    posterior = abilities.posterior(points)
    reasons = np.array([Reason.NONE] * read.answered.size, dtype=object)
    reasons[read.answered == 0] = Reason.UNSCORED
    return posterior.means, np.sqrt(posterior.variances), tuple(reasons), sides[0]
