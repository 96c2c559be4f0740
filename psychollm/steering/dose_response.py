"""A model's answers at each steering strength, for estimating steering effects."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.axes import Axes, dataset
from psychollm._base.errors import InputError, LabelError
from psychollm._base.ranks import midranks
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DoseResponse(Result):
    """Probabilities of yes and no for each strength and question.

    A strength is `collapsed` if the mean probability of answering yes or no is below `min_mass`
    times its value without steering. At a collapsed strength, the model no longer answers the
    questions, and its margins are meaningless.

    Examples
    --------
    >>> logs = np.log([[0.2, 0.1], [0.5, 0.6], [0.01, 0.01]])
    >>> found = DoseResponse(strengths=[-1.0, 0.0, 4.0], doses=[-1.0, 0.0, 4.0], log_yes=logs,
    ...                      log_no=logs[::-1], base_yes=logs[1], base_no=logs[1],
    ...                      labels=("a", "b"), layer=15)
    >>> found.yes_rates.tolist(), found.collapsed.tolist()
    ([1.0, 0.0, 0.0], [True, False, True])
    """

    strengths: FloatArray  # (strengths,) ascending
    doses: FloatArray  # (strengths,) in units of the mean norm of the state
    log_yes: FloatArray  # (strengths, questions)
    log_no: FloatArray  # (strengths, questions)
    base_yes: FloatArray  # (questions,) log_yes without steering
    base_no: FloatArray  # (questions,) log_no without steering
    labels: tuple[Any, ...]  # (questions,) labels of the questions
    layer: int
    positions: str = "prompt_last"
    kind: str = ""  # method of construction of the direction
    model: str = ""
    engine: str = ""  # method of computation
    max_error: float = float("nan")  # largest difference from full forward passes, if checked
    min_mass: float = 0.5

    _AXES = Axes(
        {"strength": "strengths", "question": "labels"},
        ("dose", lambda response: response.doses[:, None]),
        "log_yes",
        "log_no",
        "margin",
        "mass",
        "says_yes",
        ("collapsed", lambda response: response.collapsed[:, None]),
        arrays={
            "strength question": "log_yes log_no",
            "strength": "doses",
            "question": "base_yes base_no",
        },
    )

    def to_frame(self) -> "pd.DataFrame":
        """Return a data frame with one row per strength and question."""
        frame = Result.to_frame(self)
        frame.insert(1, "dose", frame.pop("dose"))
        return frame

    def __post_init__(self) -> None:
        for name in ("strengths", "doses", "log_yes", "log_no", "base_yes", "base_no"):
            object.__setattr__(self, name, np.array(getattr(self, name), dtype=np.float64))
        Result.__post_init__(self)

    @property
    def margin(self) -> FloatArray:
        """Log odds of yes versus no (strengths, questions)."""
        return np.asarray(self.log_yes - self.log_no)

    @property
    def base_margin(self) -> FloatArray:
        """Log odds of yes versus no without steering (questions,)."""
        return np.asarray(self.base_yes - self.base_no)

    @property
    def mass(self) -> FloatArray:
        """Probability of answering yes or no (strengths, questions)."""
        return np.asarray(np.exp(self.log_yes) + np.exp(self.log_no))

    @property
    def says_yes(self) -> BoolArray:
        """Whether yes is more probable than no (strengths, questions)."""
        return np.asarray(self.margin > 0, dtype=np.bool_)

    @property
    def yes_rates(self) -> FloatArray:
        """Proportion of questions answered yes (strengths,)."""
        return np.asarray(self.says_yes.mean(axis=1), dtype=np.float64)

    @property
    def collapsed(self) -> BoolArray:
        """Whether the model no longer answers yes or no at each strength (strengths,)."""
        base = (np.exp(self.base_yes) + np.exp(self.base_no)).mean()
        return np.asarray(~(self.mass.mean(axis=1) >= self.min_mass * base), dtype=np.bool_)

    def usable(self) -> "DoseResponse":
        """Return the results without collapsed strengths.

        Raises
        ------
        InputError
            If all strengths have collapsed.
        """
        kept = ~self.collapsed
        if not kept.any():
            msg = (
                f"layer {self.layer}: the model answers neither yes nor no at any strength; "
                "use smaller ones (doses within 0.3 are rarely too large)"
            )
            raise InputError(msg)
        return replace(
            self,
            strengths=self.strengths[kept],
            doses=self.doses[kept],
            log_yes=self.log_yes[kept],
            log_no=self.log_no[kept],
        )

    def by_strength(self) -> "pd.DataFrame":
        """Return one row per strength with yes rate, probability mass and ``order``.

        ``order`` is Spearman's correlation of the margins with the unsteered model's margins.
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "strength": self.strengths,
                "dose": self.doses,
                "yes_rate": self.yes_rates,
                "margin": self.margin.mean(axis=1),
                "mass": self.mass.mean(axis=1),
                "order": [rank_correlation(row, self.base_margin) for row in self.margin],
                "collapsed": self.collapsed,
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LayerScan(Result):
    """Sweeps of one direction over several layers.

    Examples
    --------
    >>> LayerScan(responses=()).layers
    ()
    """

    responses: tuple[DoseResponse, ...]  # one result per layer

    @property
    def layers(self) -> tuple[int, ...]:
        """Indices of the layers."""
        return tuple(one.layer for one in self.responses)

    def layer(self, layer: int) -> DoseResponse:
        """Return the results of one layer.

        Raises
        ------
        InputError
            If the layer is not in the scan.
        """
        if layer not in self.layers:
            msg = f"layer {layer} was not swept: choose from {self.layers}"
            raise InputError(msg)
        return self.responses[self.layers.index(layer)]

    def to_xarray(self) -> Any:
        """Return all sweeps as one dataset whose first dimension is "layer".

        Raises
        ------
        InputError
            If the layers were swept over different strengths or questions.
        MissingPackageError
            If xarray is not installed.
        """
        return _stacked(self, "layer", self.layers, self.responses)

    def to_frame(self) -> "pd.DataFrame":
        """Return a table with one row per layer; collapsed strengths are excluded.

        ``slope`` is the slope in the regression of the mean margin on the dose, and ``monotone``
        is Kendall's correlation of dose and yes rate. ``order`` is the minimum, over strengths, of
        Spearman's correlation of the margins with the unsteered margins.
        """
        import pandas as pd

        return pd.DataFrame([_summary(one) for one in self.responses])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DirectionScan(Result):
    """Sweeps of several directions over one layer.

    Examples
    --------
    >>> DirectionScan(names=(), responses=()).to_dict()
    {'names': [], 'responses': []}
    """

    names: tuple[str, ...]
    responses: tuple[DoseResponse, ...]  # one result per direction

    def __getitem__(self, name: str) -> DoseResponse:
        if name not in self.names:
            msg = f"{name!r} was not swept: choose from {self.names}"
            raise LabelError(msg)
        return self.responses[self.names.index(name)]

    def besides(self, name: str) -> dict[str, DoseResponse]:
        """Return the results of all other directions by name, as controls for the given direction.

        Raises
        ------
        LabelError
            If no direction has this name.
        """
        chosen = self[name]
        pairs = zip(self.names, self.responses, strict=True)
        return {other: fit for other, fit in pairs if fit is not chosen}

    def to_xarray(self) -> Any:
        """Return all sweeps as one dataset whose first dimension is "direction".

        Raises
        ------
        InputError
            If the directions were swept over different strengths or questions.
        MissingPackageError
            If xarray is not installed.
        """
        return _stacked(self, "direction", self.names, self.responses)

    def to_frame(self) -> "pd.DataFrame":
        """Return one row per direction, with the columns of `LayerScan.to_frame`."""
        import pandas as pd

        frame = pd.DataFrame([_summary(one) for one in self.responses])
        frame.insert(0, "direction", list(self.names))
        return frame


def _stacked(
    scan: Result, dim: str, labels: Sequence[Any], responses: Sequence[DoseResponse]
) -> Any:
    """Combine several sweeps into one dataset."""
    if not responses:
        msg = f"this {type(scan).__name__} is empty"
        raise InputError(msg)
    first = responses[0]
    for one in responses[1:]:
        if not np.array_equal(one.strengths, first.strengths) or one.labels != first.labels:
            msg = f"the sweeps of this {type(scan).__name__} differ in strengths or questions"
            raise InputError(msg)
    variables = {
        name: ((dim, *dims), np.array([getattr(one, name) for one in responses]))
        for name, dims in DoseResponse._AXES.variables.items()
    }
    coords = {dim: labels, "strength": first.strengths, "question": first.labels}
    return dataset(variables, coords, of=scan)


def _summary(response: DoseResponse) -> dict[str, Any]:
    """Return a summary of one layer's response to steering."""
    kept = ~response.collapsed
    row: dict[str, Any] = {"layer": response.layer, "usable": int(kept.sum())}
    names = ("dose_low", "dose_high", "yes_low", "yes_high", "slope", "monotone", "order", "mass")
    if kept.sum() < 2:
        return row | dict.fromkeys(names, float("nan"))
    doses, margins = response.doses[kept], response.margin[kept].mean(axis=1)
    rates = response.yes_rates[kept]
    centred = doses - doses.mean()
    base = response.base_margin
    values = (
        doses.min(),
        doses.max(),
        rates.min(),
        rates.max(),
        centred @ margins / (centred @ centred),
        _kendall(doses, rates),
        min(rank_correlation(row, base) for row in response.margin[kept]),
        response.mass[kept].mean(axis=1).min(),
    )
    return row | dict(zip(names, map(float, values), strict=True))


def rank_correlation(a: FloatArray, b: FloatArray) -> float:
    """Return Spearman's correlation; NaN if one of the variables has no variance."""
    ranks = [midranks(values) for values in (a, b)]
    x, y = (values - values.mean() for values in ranks)
    scale = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / scale if scale > 0 else float("nan")


def _kendall(a: FloatArray, b: Sequence[float] | FloatArray) -> float:
    """Return Kendall's tau-b."""
    signs = [np.sign(np.subtract.outer(values, values)) for values in (a, np.asarray(b))]
    scale = float(np.sqrt((signs[0] ** 2).sum() * (signs[1] ** 2).sum()))
    return float((signs[0] * signs[1]).sum()) / scale if scale > 0 else float("nan")
