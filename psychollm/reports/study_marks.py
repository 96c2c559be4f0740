"""What each figure of the study answers where one points at it."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.numbers import count, number, percent, with_interval
from psychollm.reports.marks import Mark, cells, line, point, row_names, row_of, rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from psychollm.estimates.estimate import Estimate
    from psychollm.studies.shared_confidence.result import SharedConfidence

    Found = Callable[[SharedConfidence, Axes], Iterator[Mark]]

_BETAS = (0.1, 1.0, 10.0)
_LEAST = 10  # disagreements of a pair that is drawn
_Z = 1.96
_SHARES = ((0, "first"), (1, "second"), (2, "third"), (-1, "last"))
_REPLICATES = {"within_model": "shuffled", "one_factor": "one factor"}


def marks_of(study: "SharedConfidence", name: str, ax: "Axes") -> list[Mark]:
    """Return the marks of one figure that was drawn on `ax`; none if it has nothing to answer."""
    marks = _FIGURES.get(name)
    return [] if marks is None else list(marks(study, ax))


def _factor_structure(study: "SharedConfidence", ax: "Axes") -> Iterator[Mark]:
    dimensions, where = study.dimensionality, row_of(study.labels)
    plain, full = dimensions.spectrum, dimensions.one_factor
    reach = _Z * full.se_loadings
    for i, label in enumerate(plain.correlation.labels):
        tau, name = float(plain.correlation.thresholds[i]), str(label)
        at = f"{name}: threshold {number(tau)}"
        first, value = float(plain.first_loadings[i]), float(full.loadings[i])
        bounds = np.clip([value - reach[i], value + reach[i]], -1.0, 1.0)
        yield point(ax, tau, first, f"{at}, first component {number(first)}", where[name])
        text = f"{at}, full information {with_interval(value, bounds)}"
        yield point(ax, tau, value, text, where[name])


def _second_factor(study: "SharedConfidence", ax: "Axes") -> Iterator[Mark]:
    plain, where = study.dimensionality.spectrum, row_of(study.labels)
    for label, tau, value in zip(
        plain.correlation.labels, plain.correlation.thresholds, plain.second_loadings, strict=True
    ):
        text = f"{label}: threshold {number(tau)}, second component {number(value)}"
        yield point(ax, tau, value, text, where[str(label)])


def _scree(study: "SharedConfidence", ax: "Axes") -> Iterator[Mark]:
    plain = study.dimensionality.spectrum
    shown = round(max(ax.get_xticks()))
    nulls = (plain.permutation, plain.one_factor)
    bands = [null.quantile([0.05, 0.5, 0.95]) for null in nulls]
    for k, value in enumerate(plain.eigenvalues[:shown]):
        beside = "; ".join(
            f"{_REPLICATES.get(null.scheme, null.scheme)} "
            f"{with_interval(band[1, k], band[[0, 2], k])}"
            for null, band in zip(nulls, bands, strict=True)
        )
        text = f"component {k + 1}: eigenvalue {number(value)}; {beside}"
        yield point(ax, k + 1, value, text)


def _sensitivity(study: "SharedConfidence", ax: "Axes") -> Iterator[Mark]:
    sensitivity = study.dimensionality.spectrum.sensitivity
    for row, (rule, shares) in enumerate(zip(sensitivity.rules, sensitivity.shares, strict=True)):
        for which, name in _SHARES:
            if which < shares.size:
                text = f"{rule}: {name} {percent(shares[which], 1)}"
                yield point(ax, shares[which], row, text)


def _correlation(study: "SharedConfidence", ax: "Axes") -> Iterator[Mark]:
    yield from cells(ax, "correlation", row_of(study.labels))


def _residuals(study: "SharedConfidence", ax: "Axes") -> Iterator[Mark]:
    yield from cells(ax, "residual in standard errors", row_of(study.labels), digits=1)


def _between(study: "SharedConfidence", ax: "Axes") -> Iterator[Mark]:
    between, where = study.between, row_of(study.labels)
    for label, x, y in zip(between.labels, between.accuracy, between.confidence, strict=True):
        text = f"{label}: accuracy {percent(x, 1)}, yes {percent(y, 1)}"
        yield point(ax, x, y, text, where[str(label)])


def _screen(study: "SharedConfidence", ax: "Axes") -> Iterator[Mark]:
    screen, where = study.screen, row_of(study.labels)
    for i, model in enumerate(screen.models):
        area, name = float(screen.auroc[i]), str(model)
        text = f"{name}: yes {percent(float(screen.yes_rates[i]), 1)}, AUROC {number(area)}"
        text += "; ".join(["", *map(str, screen.reasons[i])])
        whose = (where[name],) if name in where else ()
        y = area if np.isfinite(area) else 0.5
        yield point(ax, float(screen.yes_rates[i]), y, text, *whose)


def _f_beta(study: "SharedConfidence", ax: "Axes") -> Iterator[Mark]:
    sweep, where = study.f_beta, row_of(study.labels)
    at = [int(np.abs(np.log(sweep.betas / beta)).argmin()) for beta in _BETAS]
    for label, value in zip(sweep.labels, sweep.value, strict=True):
        numbers = ", ".join(f"{number(value[i])} at β = {sweep.betas[i]:.3g}" for i in at)
        yield line(ax, sweep.betas, value, f"{label}: F-beta {numbers}", where[str(label)])


def _pairs(study: "SharedConfidence", ax: "Axes") -> Iterator[Mark]:
    pairs, where = study.pairwise, row_of(study.labels)
    shown = (pairs.n >= _LEAST) & np.isfinite(pairs.difference) & np.isfinite(pairs.expected)
    for i, j in zip(*np.nonzero(shown), strict=True):
        who = str(pairs.labels[i]), str(pairs.labels[j])
        text = (
            f"{who[0]} yes, {who[1]} no: observed {number(pairs.difference[i, j], 3)}, expected "
            f"{number(pairs.expected[i, j], 3)}, {count(pairs.n[i, j])} questions"
        )
        x, y = pairs.expected[i, j], pairs.difference[i, j]
        yield point(ax, x, y, text, *(where[name] for name in who))


def forest(
    ax: "Axes",
    series: "Sequence[tuple[str, Estimate]]",
    where: dict[str, int],
    *,
    names: Sequence[str] | None = None,
    digits: int = 2,
) -> list[Mark]:
    """Return the marks of a drawn forest: in each row all its estimates."""
    # `names` are those of the rows from the top, where the axes do not name them.
    shown = row_names(ax) if names is None else list(names)
    texts = []
    for name in shown:
        parts = [f"{what} {_told(one, name, digits)}" for what, one in series]
        texts.append(f"{name}: {'; '.join(parts)}")
    return rows(ax, shown, texts, where)


def _told(estimate: "Estimate", name: str, digits: int) -> str:
    """Return the value of one model with its interval, or why there is none."""
    i = [str(label) for label in estimate.labels].index(name)
    value = float(estimate.value[i])
    known = np.isfinite(value)
    return with_interval(value, estimate.interval[i], digits) if known else str(estimate.flags[i])


def _individuation(study: "SharedConfidence", ax: "Axes") -> Iterator[Mark]:
    own = study.individuation
    series = [("own answer", own.own), ("shared score, cut", own.shared_cut)]
    yield from forest(ax, [*series, ("shared score", own.shared)], row_of(study.labels))


def _private(study: "SharedConfidence", ax: "Axes") -> Iterator[Mark]:
    series = [("correlation", study.private_signal.correlation)]
    yield from forest(ax, series, row_of(study.labels))


def _ensemble(study: "SharedConfidence", ax: "Axes") -> Iterator[Mark]:
    gain = study.ensemble
    if np.isfinite(gain.gain.value).any():
        series: list[tuple[str, Any]] = [("at its yes rate", gain.gain_at_equal_rate)]
        yield from forest(ax, [*series, ("all levels", gain.gain)], row_of(study.labels))


_FIGURES: "dict[str, Found]" = {
    "factor_structure": _factor_structure,
    "second_factor": _second_factor,
    "scree": _scree,
    "sensitivity": _sensitivity,
    "correlation": _correlation,
    "residuals": _residuals,
    "between_models": _between,
    "screen": _screen,
    "f_beta": _f_beta,
    "pairwise_calibration": _pairs,
    "individuation": _individuation,
    "private_signal": _private,
    "ensemble": _ensemble,
}
