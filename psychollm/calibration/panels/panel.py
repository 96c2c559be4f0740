"""All metrics of confidence against correctness, for several models.

All metrics and models share the same resamples of questions, so that differences between models
are paired. Undefined values are NaN with a reason.

If the data exceed memory, a few models are processed at a time, with the same resamples.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from psychollm._base.axes import dataset
from psychollm._base.checks import check_generator
from psychollm._base.errors import OptionError
from psychollm._base.numbers import ABSENT, count, percent, with_interval
from psychollm._base.replicate import in_turn, progress_bar, replicate_seeds, workers
from psychollm._base.result import Result, figure_by, view
from psychollm._base.types import AnyArray, FloatArray, RandomState
from psychollm.calibration.metric import Metric, Output, estimate_all
from psychollm.calibration.panels.catalogue import metric_keys, panel_metrics, panel_outputs
from psychollm.calibration.panels.findings import Evidence, verdict_sentences
from psychollm.calibration.panels.panel_curves import PanelCurves, panel_curves
from psychollm.calibration.stated import StatedAnswers, stated_answers
from psychollm.calibration.stated_scan import StatedScan
from psychollm.data.labels import Labels
from psychollm.data.long import pivot_of
from psychollm.data.responses import ResponsesLike
from psychollm.estimates.estimate import Difference, Estimate, joined
from psychollm.estimates.findings import Findings, Study
from psychollm.estimates.resampling import Bootstrap, KeptCounts, Resampling
from psychollm.estimates.verdict import SMALLEST, SmallestEffects

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

DRAWS_BYTES = 256_000_000
ROWS = 10  # number of models in the printed table


def streamed_estimates(
    metrics: Sequence[Metric], scan: StatedScan, options: Resampling
) -> list[Estimate]:
    """Estimate metrics for every model of a scan, as `estimate_all` does for tables."""
    numbers = sum(len(metric.names) for metric in metrics)
    task = partial(
        _of_block,
        metrics=metrics,
        scan=scan,
        counts=KeptCounts(len(scan.questions), scan.clusters, options.n),
        keep=8 * numbers * options.n * len(scan.models) <= DRAWS_BYTES,
    )
    generator = check_generator(options.rng)
    inner = replace(options, n_jobs=1, progress=False)
    pieces = [(block, replace(inner, rng=deepcopy(generator))) for block in scan.blocks()]
    replicate_seeds(0, generator)  # advances the generator as far as a panel in memory does
    bar = progress_bar(show=options.progress, total=len(scan.models), label="models")
    blocks = []
    with closing(in_turn(task, pieces, workers(options.n_jobs), waiting=2)) as results:
        for estimates in results:
            blocks.append(estimates)
            bar.update(len(estimates[0].labels))
    bar.close()
    return [joined(parts) for parts in zip(*blocks, strict=True)]


def _of_block(
    piece: tuple[tuple[int, int], Resampling],
    *,
    metrics: Sequence[Metric],
    scan: StatedScan,
    counts: KeptCounts,
    keep: bool,
) -> list[Estimate]:
    """Estimate metrics for one block of models."""
    (low, high), options = piece
    answers = scan.answers(low, high)
    estimates = estimate_all(metrics, answers, options, counts=counts)
    return estimates if keep else [replace(one, _draws=None) for one in estimates]


# Metrics of the printed summary, if the panel contains them.
_TOLD = ("accuracy", "overconfidence", "auroc", "brier", "ece", "corp_mcb", "aurc_normalised")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CalibrationPanel(Study, Result):
    """Estimates of several metrics for the same models and questions.

    Examples
    --------
    >>> panel = calibration_panel([[0.9, 0.2, 0.7], [0.5, 0.6, 0.5]], [[1, 0, 1], [1, 0, 1]],
    ...                           metrics=["brier", "auroc"], rng=0)
    >>> list(panel), panel["brier"].value.round(3)
    (['brier', 'auroc'], array([0.047, 0.287]))
    >>> round(panel.difference("brier", 0, 1).value, 3)
    -0.24
    """

    estimates: dict[str, Estimate]  # estimates by the key of the metric
    n: FloatArray  # (models,) number of questions with confidence and correctness
    n_bootstrap: int
    level: float
    models: Labels
    _answers: StatedAnswers | StatedScan
    _own: dict[str, Output] = field(default_factory=dict)  # descriptions of user-defined metrics

    def __getitem__(self, metric: str) -> Estimate:
        """Return the estimate of one metric.

        Raises
        ------
        OptionError
            If the panel does not contain the metric.
        """
        if metric not in self.estimates:
            msg = f"{metric!r} is not in this panel: it holds {', '.join(self.estimates)}"
            raise OptionError(msg)
        return self.estimates[metric]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keys of the metrics."""
        return iter(self.estimates)

    def __len__(self) -> int:
        return len(self.estimates)

    def difference(self, metric: str, first: Any, second: Any) -> Difference:
        """Return the paired difference of two models on one metric.

        Parameters
        ----------
        metric : str
            Key of the metric.
        first, second : hashable
            Labels of the two models. The difference is `first` minus `second`.

        Raises
        ------
        OptionError, LabelError
            If the panel does not contain the metric or a model.
        """
        return self[metric].difference(first, second)

    @property
    def answers(self) -> StatedAnswers | StatedScan:
        """Confidence and correctness that the panel was computed from."""
        return self._answers

    @property
    def outputs(self) -> dict[str, Output]:
        """Mapping of each statistic's key to its `Output`."""
        known = panel_outputs() | self._own
        return {key: words for key, words in known.items() if key in self.estimates}

    def curves(
        self,
        *,
        n_draws: int | None = None,
        rng: RandomState = 0,
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> PanelCurves:
        """Return the reliability, risk-coverage and type-2 ROC curves of the panel's data.

        Parameters
        ----------
        n_draws : int, optional
            Number of data sets simulated under calibration, for bands and p-values. By default
            1,000 data sets are simulated, or more if there are more than ten models.
        rng : Generator, int or None
            Random generator or seed. The default is a fixed seed, so that a panel always has the
            same curves.
        n_jobs : int or None
            Number of workers; -1 uses all processors. The result does not depend on the number of
            workers.
        progress : bool
            Whether to show a progress bar.

        Raises
        ------
        OptionError
            If an option is invalid or is out of range.
        ShapeError
            If the panel was computed from a scan that does not fit into memory.

        Examples
        --------
        >>> panel = calibration_panel([0.9, 0.2, 0.7], [1, 0, 1], metrics="brier", bootstrap=20)
        >>> panel.curves(n_draws=20).error.bins.accuracy
        array([0., 1., 1.])
        """
        options = Resampling(
            n=self.n_bootstrap, level=self.level, rng=rng, n_jobs=n_jobs, progress=progress
        )
        answers = self._answers
        if isinstance(answers, StatedScan):
            answers = answers.dense()
        return panel_curves(answers, options, n_draws=n_draws)

    def tables(self) -> "dict[str, pd.DataFrame]":
        """Return the table of metrics; `PanelCurves.tables` returns the tables of curves."""
        return {"metrics": self.to_frame()}

    def findings(
        self, *, smallest: SmallestEffects = SMALLEST, curves: PanelCurves | None = None
    ) -> Findings:
        """Return findings on calibration, ranking, selection and differences between models.

        Parameters
        ----------
        smallest : SmallestEffects
            Smallest effects of interest.
        curves : PanelCurves, optional
            Result of `curves`; if omitted, the curves are computed.

        Returns
        -------
        Findings
            Findings with the methods `text()`, `to_markdown()`, `to_html()`, `to_json()` and
            `to_frame()`.

        Examples
        --------
        >>> panel = calibration_panel([0.9, 0.2, 0.7], [1, 0, 1], metrics="brier", bootstrap=20)
        >>> panel.findings(curves=panel.curves(n_draws=20))["flags"].statement
        'All metric values are defined, and none is flagged.'
        """
        return self.evidence(smallest=smallest, curves=curves).findings()

    def evidence(
        self, *, smallest: SmallestEffects = SMALLEST, curves: PanelCurves | None = None
    ) -> Evidence:
        """Return the basis of the findings: curves, and comparisons of all pairs of models.

        Parameters
        ----------
        smallest : SmallestEffects
            Smallest effects of interest.
        curves : PanelCurves, optional
            Result of `curves`; if omitted, the curves are computed.
        """
        return Evidence.of(self, curves or self.curves(), smallest)

    def summary(self, *, smallest: SmallestEffects = SMALLEST) -> str:
        """Return the numbers of overconfident and of discriminating models, with the main metrics.

        Parameters
        ----------
        smallest : SmallestEffects
            Smallest effects of interest; `share` and `auroc` are used.
        """
        keys = [key for key in (*_TOLD, *self._own) if key in self.estimates]
        keys = keys or list(self)[: len(_TOLD)]
        table = self.table(digits=2)[keys]
        head = ["model", "n", *(self.outputs[key].heading for key in keys)]
        rows = [
            [str(label), f"{n:.0f}", *cells]
            for label, n, cells in zip(table.index, self.n, table.to_numpy(), strict=True)
        ][:ROWS]
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
            for row in (head, *rows)
        ]
        n = f"{count(self.n.min())} to {count(self.n.max())}"
        n = count(self.n.max()) if self.n.min() == self.n.max() else n
        basis = f"{len(self.models)} model{'s' * (len(self.models) > 1)}, {n} questions each"
        basis += f"; {percent(self.level)} intervals."
        left = len(self.models) - len(rows)
        more = [f"... {count(left)} more models; .table() has all models and metrics"] * (left > 0)
        return "\n".join([*verdict_sentences(self.estimates, smallest), basis, "", *lines, *more])

    def __str__(self) -> str:
        return self.summary()

    def plot(self, *, metrics: Sequence[str] | None = None) -> "Figure":
        """Draw metrics side by side, with one row per model; requires the extra ``plot``.

        Parameters
        ----------
        metrics : sequence of str, optional
            Keys of the metrics; by default the main metrics.
        """
        return figure_by("plot_calibration_panel")(self, metrics=metrics)

    def report(
        self,
        path: str | PathLike[str],
        *,
        source: str = "",
        curves: PanelCurves | None = None,
        smallest: SmallestEffects = SMALLEST,
    ) -> Path:
        """Write the panel to a self-contained HTML page; requires the extra ``plot``.

        Parameters
        ----------
        path : str or Path
            File to write.
        source : str
            Python code that creates the panel, shown on the page.
        curves : PanelCurves, optional
            Result of `curves`; if omitted, the curves are computed.
        smallest : SmallestEffects
            Smallest effects of interest, used in the conclusions.

        Returns
        -------
        Path
            Path of the written file.
        """
        write, details = view("reports.study", "write_report"), {"curves": curves}
        written: Path = write(self, path, source=source, smallest=smallest, details=details)
        return written

    def to_frame(self) -> "pd.DataFrame":
        """Return one row per metric and model."""
        import pandas as pd

        tables = {key: estimate.to_frame() for key, estimate in self.estimates.items()}
        table = pd.concat(tables, names=["metric"]).reset_index(level=0)
        return table.reset_index(drop=True)

    def to_xarray(self) -> Any:
        """Return values, standard errors, intervals and draws over metrics and models.

        Draws are NaN for metrics whose intervals are not based on resampling.

        Raises
        ------
        MissingPackageError
            If xarray is not installed.
        """
        held = list(self.estimates.values())
        size = max((0 if one.draws is None else len(one.draws) for one in held), default=0)
        draws = np.full((len(held), size, len(self.models)), np.nan)
        for rows, one in zip(draws, held, strict=True):
            if one.draws is not None:
                rows[: len(one.draws)] = one.draws
        both = ("metric", "model")
        variables: dict[str, tuple[tuple[str, ...], AnyArray | None]] = {
            name: (both, np.array([getattr(one, name) for one in held]))
            for name in ("value", "se", "n")
        }
        variables["interval"] = ((*both, "bound"), np.array([one.interval for one in held]))
        variables["draws"] = (("metric", "resample", "model"), draws if size else None)
        return dataset(variables, {"metric": list(self.estimates), "model": self.models}, of=self)

    def table(self, *, digits: int = 3) -> "pd.DataFrame":
        """Return a table of models by metrics, with cells of the form "value [lower, upper]".

        Parameters
        ----------
        digits : int
            Number of decimals.

        Returns
        -------
        DataFrame
            Undefined values are shown as dashes; ``to_frame()`` gives their reasons.

        Examples
        --------
        >>> panel = calibration_panel([0.9, 0.2, 0.7], [1, 0, 1], metrics=["brier"], rng=0)
        >>> panel.table(digits=1).iloc[0].tolist()
        ['0.0 [0.0, 1.0]']
        """
        import pandas as pd

        columns = {
            key: [
                with_interval(value, bounds, digits, absent=ABSENT)
                for value, bounds in zip(estimate.value, estimate.interval, strict=True)
            ]
            for key, estimate in self.estimates.items()
        }
        return pd.DataFrame(columns, index=pd.Index(self.models, name="model"))


def calibration_panel(
    confidence: ResponsesLike | StatedScan,
    correctness: ResponsesLike | None = None,
    *,
    metrics: Sequence[str | Metric] | None = None,
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> CalibrationPanel:
    """Compute every metric of stated confidence against correctness, with intervals.

    Parameters
    ----------
    confidence : Responses, DataFrame, DataArray, array_like (models, questions) or StatedScan
        Stated probabilities of being correct, inside [0, 1]; yes/no answers are 1 and 0. A vector
        or Series holds the answers of one model, with one value per question. A `StatedScan`
        contains both confidence and correctness; a few of its models are processed at a time.
    correctness : Responses, DataFrame, DataArray or array_like (models, questions)
        Correctness of the answers: 1 = correct, 0 = wrong. Questions
        with missing confidence or correctness are ignored.
    metrics : sequence of str or Metric, optional
        Keys of metrics, as listed by `metric_keys`, or `Metric` objects. By default all listed
        metrics are computed.
    clusters : array_like (questions,), optional
        Cluster of each question, such as its passage; whole clusters are resampled.
    weights : array_like (questions,), optional
        Weight of each question.
    bootstrap : int or Bootstrap
        Number of resamples of questions. All models share the same resamples, so that differences
        between models are paired.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    CalibrationPanel
        One estimate per metric, all from the same resamples of questions.

    Raises
    ------
    OptionError
        If a metric does not exist, or two metrics have the same key.
    CodeError
        If a confidence or a correctness is outside [0, 1].
    ShapeError, LabelError
        If the tables or the clusters do not match in shape or labels.

    Notes
    -----
    Metrics of binary confidence (precision, F1, d', ...) count a stated confidence above one half
    as a yes. For another threshold, pass binary confidence.

    A `StatedScan` gives the same results as tables in memory. Processing a `StatedScan` requires
    about 300 MB per worker, and 8 bytes per resample, model and statistic for the draws. If the
    draws exceed 256 MB, they are discarded and `difference` is unavailable; to avoid this, use
    fewer metrics or models.

    Examples
    --------
    >>> panel = calibration_panel([0.9, 0.2, 0.7, 0.4], [1, 0, 1, 1], bootstrap=50, rng=0)
    >>> panel["accuracy"].value, panel["overconfidence"].value.round(3)
    (array([0.75]), array([-0.2]))
    """
    wanted, own = _wanted(metrics)
    answers = _answers(confidence, correctness, clusters=clusters, weights=weights)
    options = Resampling.of(bootstrap, level, rng)
    used = [
        metric for metric in panel_metrics() if any(one.key in wanted for one in metric.outputs)
    ]
    used += own
    keys = [one.key for metric in used for one in metric.words]
    if isinstance(answers, StatedScan):
        made = streamed_estimates(used, answers, options)
    else:
        made = estimate_all(used, answers, options)
    by_key = dict(zip(keys, made, strict=True))
    return CalibrationPanel(
        estimates={key: by_key[key] for key in wanted},
        n=answers.n,
        n_bootstrap=options.n,
        level=level,
        models=answers.models,
        _answers=answers,
        _own={one.key: one for metric in own for one in metric.words},
    )


def _answers(
    confidence: ResponsesLike | StatedScan,
    correctness: ResponsesLike | None,
    *,
    clusters: ArrayLike | None,
    weights: ArrayLike | None,
) -> StatedAnswers | StatedScan:
    """Return aligned confidence and correctness, from tables in memory or from a scan."""
    if isinstance(confidence, StatedScan):
        if correctness is not None:
            msg = "correctness: the scan already contains it; omit it"
            raise OptionError(msg)
        return confidence.grouped(clusters, weights)
    if correctness is None:
        long = pivot_of(confidence)
        remedy = "pass a second table, or the result of scan_stated(...)"
        if long:
            remedy = f"{long}, once for the confidence and once for the correctness"
        msg = f"correctness is missing: {remedy}"
        raise OptionError(msg)
    return stated_answers(confidence, correctness, clusters=clusters, weights=weights)


def _wanted(
    metrics: Sequence[str | Metric] | None,
) -> tuple[list[str], list[Metric]]:
    """Return the keys of a panel in order, and the user's own metrics."""
    known = metric_keys()
    if metrics is None:
        return known, []
    asked = [metrics] if isinstance(metrics, str | Metric) else list(metrics)
    if not asked:
        msg = "metrics is empty: name some, or omit it for all"
        raise OptionError(msg)
    keys: list[str] = []
    own = list(dict.fromkeys(one for one in asked if isinstance(one, Metric)))
    for one in asked:
        if isinstance(one, Metric):
            keys += [output.key for output in one.words]
        elif isinstance(one, str) and one in known:
            keys.append(one)
        else:
            from difflib import get_close_matches

            close = get_close_matches(str(one), known, n=3) or known
            msg = f"metrics names {one!r}, which does not exist: use {', '.join(close)}"
            raise OptionError(msg)
    taken = known + [output.key for metric in own for output in metric.words]
    for key in keys:
        if taken.count(key) > 1:
            msg = f"metrics: two have the key {key!r}: change yours by outputs="
            raise OptionError(msg)
    return list(dict.fromkeys(keys)), own
