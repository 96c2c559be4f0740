"""What each figure of the study answers where one points at it."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.numbers import count, number, percent, with_interval
from psychollm.reports.marks import Mark, cells, line, places, point, row_names, rows

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
    found = _FIGURES.get(name)
    return [] if found is None else list(found(study, ax))


def _factor_structure(study: "SharedConfidence", ax: "Axes") -> Iterator[Mark]:
    found, where = study.dimensionality, places(study.labels)
    plain, full = found.spectrum, found.full_information
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
    plain, where = study.dimensionality.spectrum, places(study.labels)
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
    for place, value in enumerate(plain.eigenvalues[:shown]):
        beside = "; ".join(
            f"{_REPLICATES.get(null.scheme, null.scheme)} "
            f"{with_interval(band[1, place], band[[0, 2], place])}"
            for null, band in zip(nulls, bands, strict=True)
        )
        text = f"component {place + 1}: eigenvalue {number(value)}; {beside}"
        yield point(ax, place + 1, value, text)


def _sensitivity(study: "SharedConfidence", ax: "Axes") -> Iterator[Mark]:
    found = study.dimensionality.spectrum.sensitivity
    for row, (rule, shares) in enumerate(zip(found.rules, found.shares, strict=True)):
        for which, name in _SHARES:
            if which < shares.size:
                text = f"{rule}: {name} {percent(shares[which], 1)}"
                yield point(ax, shares[which], row, text)


def _correlation(study: "SharedConfidence", ax: "Axes") -> Iterator[Mark]:
    yield from cells(ax, "correlation", places(study.labels))


def _residuals(study: "SharedConfidence", ax: "Axes") -> Iterator[Mark]:
    yield from cells(ax, "residual in standard errors", places(study.labels), digits=1)


def _between(study: "SharedConfidence", ax: "Axes") -> Iterator[Mark]:
    found, where = study.between, places(study.labels)
    for label, x, y in zip(found.labels, found.accuracy, found.confidence, strict=True):
        text = f"{label}: accuracy {percent(x, 1)}, yes {percent(y, 1)}"
        yield point(ax, x, y, text, where[str(label)])


def _screen(study: "SharedConfidence", ax: "Axes") -> Iterator[Mark]:
    found, where = study.screen, places(study.labels)
    for i, model in enumerate(found.models):
        area, name = float(found.auroc[i]), str(model)
        text = f"{name}: yes {percent(float(found.yes_rates[i]), 1)}, AUROC {number(area)}"
        text += "; ".join(["", *map(str, found.reasons[i])])
        whose = (where[name],) if name in where else ()
        y = area if np.isfinite(area) else 0.5
        yield point(ax, float(found.yes_rates[i]), y, text, *whose)


def _f_beta(study: "SharedConfidence", ax: "Axes") -> Iterator[Mark]:
    found, where = study.f_beta, places(study.labels)
    at = [int(np.abs(np.log(found.betas / beta)).argmin()) for beta in _BETAS]
    for label, value in zip(found.labels, found.value, strict=True):
        numbers = ", ".join(f"{number(value[i])} at β = {found.betas[i]:.3g}" for i in at)
        yield line(ax, found.betas, value, f"{label}: F-beta {numbers}", where[str(label)])


def _pairs(study: "SharedConfidence", ax: "Axes") -> Iterator[Mark]:
    found, where = study.pairwise, places(study.labels)
    shown = (found.n >= _LEAST) & np.isfinite(found.difference) & np.isfinite(found.expected)
    for i, j in zip(*np.nonzero(shown), strict=True):
        who = str(found.labels[i]), str(found.labels[j])
        text = (
            f"{who[0]} yes, {who[1]} no: observed {number(found.difference[i, j], 3)}, expected "
            f"{number(found.expected[i, j], 3)}, {count(found.n[i, j])} questions"
        )
        x, y = found.expected[i, j], found.difference[i, j]
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


def _told(found: "Estimate", name: str, digits: int) -> str:
    """Return the value of one model with its interval, or why there is none."""
    i = [str(label) for label in found.labels].index(name)
    value = float(found.value[i])
    known = np.isfinite(value)
    return with_interval(value, found.interval[i], digits) if known else str(found.flags[i])


def _individuation(study: "SharedConfidence", ax: "Axes") -> Iterator[Mark]:
    found = study.individuation
    series = [("own answer", found.own), ("shared score, cut", found.shared_cut)]
    yield from forest(ax, [*series, ("shared score", found.shared)], places(study.labels))


def _private(study: "SharedConfidence", ax: "Axes") -> Iterator[Mark]:
    series = [("correlation", study.private_signal.correlation)]
    yield from forest(ax, series, places(study.labels))


def _ensemble(study: "SharedConfidence", ax: "Axes") -> Iterator[Mark]:
    gain = study.ensemble
    if np.isfinite(gain.gain.value).any():
        series: list[tuple[str, Any]] = [("at its yes rate", gain.gain_at_equal_rate)]
        yield from forest(ax, [*series, ("all levels", gain.gain)], places(study.labels))


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
