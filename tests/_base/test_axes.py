"""Declared axes: the tables and the xarray datasets that results become."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from psychollm._base.axes import Axes, Interleaved
from psychollm._base.errors import InputError, MissingPackageError
from psychollm._base.result import Result
from psychollm._base.saving.nodes import saved_fields
from psychollm.calibration.decisions.f_beta import f_beta
from psychollm.calibration.panels.panel import calibration_panel
from psychollm.estimates.null import Null
from psychollm.estimates.reasons import Reason
from psychollm.irt.multidimensional import (
    fit_multidimensional,
    multidimensional_ability,
    multidimensional_information,
)
from psychollm.steering.dose_response import DirectionScan, DoseResponse, LayerScan

xarray = pytest.importorskip("xarray")

# Arrays of three dimensions without a dataset: what stands for one item or pair is in the frame.
WITHOUT = {
    "Forecast": "lower and upper bounds, as columns of the frame",
    "IRTFit": "covariance of the parameters of each item",
    "MultidimensionalIRT": "private covariances of the parameters of each item",
    "PolychoricCorrelation": "private counts of each pair",
}


def response(layer: int = 3, strengths: tuple[float, ...] = (-1.0, 0.0, 2.0)) -> DoseResponse:
    rng = np.random.default_rng(layer)
    shape = (len(strengths), 2)
    return DoseResponse(
        strengths=np.array(strengths),
        doses=np.array(strengths) / 10,
        log_yes=-rng.random(shape),
        log_no=-rng.random(shape),
        base_yes=-rng.random(2),
        base_no=-rng.random(2),
        labels=("a", ("b", 1)),
        layer=layer,
    )


def test_a_sweep_over_layers() -> None:
    scan = LayerScan(responses=(response(3), response(5)))
    found = scan.to_xarray()
    assert found["log_yes"].dims == ("layer", "strength", "question")
    one = found["log_yes"].sel(layer=5, strength=2.0).values
    np.testing.assert_array_equal(one, scan.layer(5).log_yes[2])
    assert found["doses"].dims == ("layer", "strength")
    assert found["question"].values.tolist() == ["a", ("b", 1)]
    assert found.attrs["result"] == "LayerScan"


def test_a_sweep_over_directions() -> None:
    scan = DirectionScan(names=("found", "random"), responses=(response(), response()))
    assert scan.to_xarray()["log_no"].sel(direction="random").shape == (3, 2)
    other = (response(), response(3, (0.0, 1.0, 2.0)))
    with pytest.raises(InputError, match="DirectionScan differ in strengths"):
        DirectionScan(names=("a", "b"), responses=other).to_xarray()
    with pytest.raises(InputError, match="LayerScan is empty"):
        LayerScan(responses=()).to_xarray()


def test_one_sweep() -> None:
    found = response().to_xarray()
    assert dict(found.sizes) == {"strength": 3, "question": 2}
    assert found.attrs["layer"] == 3
    assert found.attrs["positions"] == "prompt_last"


def test_a_panel_holds_the_draws_of_all_metrics() -> None:
    rng = np.random.default_rng(0)
    confidence = rng.random((3, 60))
    panel = calibration_panel(confidence, rng.random((3, 60)) < confidence, bootstrap=20, rng=0)
    found = panel.to_xarray()
    assert found["draws"].dims == ("metric", "resample", "model")
    for name, one in panel.estimates.items():
        held = found.sel(metric=name)
        np.testing.assert_array_equal(held["value"].values, one.value)
        np.testing.assert_array_equal(
            held["interval"].sel(bound="upper").values, one.interval[:, 1]
        )
        if one.draws is not None:
            np.testing.assert_array_equal(held["draws"].values[: len(one.draws)], one.draws)
    single = panel.estimates["brier"].to_xarray()
    assert single["value"].dims == ("model",)


def test_a_curve_by_name_of_dimension() -> None:
    rng = np.random.default_rng(1)
    said, right = rng.integers(0, 2, (2, 2, 50))
    curve = f_beta(said, right, bootstrap=9, rng=0)
    found = curve.to_xarray()
    assert found["interval"].dims == ("model", "beta", "bound")
    np.testing.assert_array_equal(found["beta"].values, curve.betas)
    np.testing.assert_array_equal(found["value"].values, curve.value)
    assert found["bound"].values.tolist() == ["lower", "upper"]


@pytest.mark.parametrize("shape", [(), (4,), (2, 3)])
def test_a_null_of_any_shape(shape: tuple[int, ...]) -> None:
    draws = np.random.default_rng(0).random((9, *shape))
    null = Null(
        observed=draws[0],
        draws=draws,
        p_value=draws[0],
        p_value_se=draws[0],
        n=9,
        scheme="made",
        statistic="made",
        alternative="greater",
    )
    found = null.to_xarray()
    assert found["draws"].shape == draws.shape
    assert found["draws"].dims[0] == "replicate"
    assert found["observed"].dims == found["draws"].dims[1:]


def test_a_dataset_can_be_written_and_read(tmp_path: Path) -> None:
    pytest.importorskip("scipy.io")
    found = response(3).to_xarray().assign_coords(question=["a", "b"])
    found.to_netcdf(tmp_path / "x.nc", engine="scipy")
    with xarray.open_dataset(tmp_path / "x.nc", engine="scipy") as again:
        np.testing.assert_array_equal(again["log_yes"].values, found["log_yes"].values)


def test_a_table_says_that_it_is_one() -> None:
    from psychollm.correlation.spectrum import spectrum

    with pytest.raises(InputError, match="Spectrum has no arrays of more than two"):
        spectrum(np.eye(3)).to_xarray()


def test_without_xarray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "xarray", None)
    with pytest.raises(MissingPackageError, match=r"psychollm\[io\]"):
        response().to_xarray()


def test_what_axes_name_is_there(made: dict[str, list[Result]]) -> None:
    """Dimensions have the labels that are declared, and each label names a dimension or column."""
    for name, results in made.items():
        axes = results[-1]._axes()
        if axes is None:
            continue
        fields = saved_fields(type(results[-1]))
        assert set(axes.variables) <= set(fields), name
        used = {dim for dims in axes.variables.values() for dim in dims}
        templates = " ".join(str(column) for column in axes.columns)
        assert all(one in used or f"{{{one}}}" in templates for one in axes.labels), name


def test_columns_of_each_kind() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True, eq=False)
    class Made(Result):
        _AXES = Axes(
            {"model": "labels"},
            "value",
            "value_{bound}=interval",
            Interleaved("{factor}=loadings", "se_{factor}=errors"),
            "first_{}=loadings",
            "best=parts.best",
            "low=interval.0",
            "absent",
            "flag=flags",
            ("double", lambda made: 2.0 * made.value),
            labels={"factor": "factors"},
        )
        value: np.ndarray
        interval: np.ndarray
        loadings: np.ndarray
        errors: np.ndarray
        factors: tuple[str, ...]
        labels: tuple[Any, ...]
        parts: dict[str, Any]
        flags: tuple[Reason, ...]
        absent: None = None

    made = Made(
        value=np.array([1.0, 2.0]),
        interval=np.array([[0.0, 2.0], [1.0, 3.0]]),
        loadings=np.array([[0.1, 0.2], [0.3, 0.4]]),
        errors=np.array([[0.5, 0.6], [0.7, 0.8]]),
        factors=("f", "g"),
        labels=("a", ("b", 1)),
        parts={"best": np.array([7, 8])},
        flags=(Reason.NONE, Reason.TOO_FEW),
    )
    frame = made.to_frame()
    assert frame.iloc[1].to_dict() == {
        "model": ("b", 1),
        "value": 2.0,
        "value_lower": 1.0,
        "value_upper": 3.0,
        "f": 0.3,
        "se_f": 0.7,
        "g": 0.4,
        "se_g": 0.8,
        "first_1": 0.3,
        "first_2": 0.4,
        "best": 8,
        "low": 1.0,
        "flag": "too few observations",
        "double": 4.0,
    }
    assert list(frame.columns)[:6] == ["model", "value", "value_lower", "value_upper", "f", "se_f"]


@pytest.mark.parametrize(
    ("pairs", "rows"),
    [
        (None, "aa ab ac ba bb bc ca cb cc"),
        ("lower", "ba ca cb"),
        ("upper", "ab ac bc"),
        ("both", "ab ac ba bc ca cb"),
    ],
)
def test_rows_of_two_axes(pairs: Any, rows: str) -> None:
    @dataclass(frozen=True, slots=True, kw_only=True, eq=False)
    class Square(Result):
        _AXES = Axes({"first": "labels", "second": "labels"}, "cell=matrix", "n", pairs=pairs)
        matrix: np.ndarray
        labels: tuple[str, ...]
        n: int = 5

    names = np.array([[a + b for b in "abc"] for a in "abc"])
    frame = Square(matrix=names, labels=("a", "b", "c")).to_frame()
    assert frame["cell"].tolist() == rows.split()
    assert (frame["first"] + frame["second"]).tolist() == rows.split()
    assert frame["n"].tolist() == [5] * len(frame)


def test_one_row_of_numbers() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True, eq=False)
    class Single(Result):
        _AXES = Axes({}, "statistic", "df", "name", "range_{bound}=interval")
        statistic: float
        df: int
        name: str
        interval: np.ndarray

    frame = Single(statistic=1.5, df=2, name="G2", interval=np.array([0.0, 3.0])).to_frame()
    assert frame.to_dict("records") == [
        {"statistic": 1.5, "df": 2, "name": "G2", "range_lower": 0.0, "range_upper": 3.0}
    ]


def test_no_array_of_three_dimensions_is_left_without_names(made: dict[str, list[Result]]) -> None:
    """Every result that holds one can say what its dimensions are."""
    for name, results in made.items():
        result = results[-1]
        arrays = [getattr(result, field) for field in saved_fields(type(result))]
        deep = any(isinstance(one, np.ndarray) and one.ndim > 2 and one.size for one in arrays)
        if deep and name not in WITHOUT:
            found = result.to_xarray()
            assert all(len(set(one.dims)) == one.ndim for one in found.values()), name


def test_covariances_of_several_abilities() -> None:
    rng = np.random.default_rng(2)
    loads = np.arange(8)[:, None] % 2 == np.arange(2)
    odds = 1.0 / (1.0 + np.exp(-rng.normal(size=(400, 2)) @ loads.T))
    answers = (rng.random((400, 8)) < odds).astype(int)
    fit = fit_multidimensional(answers, pd.DataFrame(loads, columns=["law", "maths"]))
    found = multidimensional_ability(fit, answers)
    covariance = found.to_xarray()["covariance"].sel(dimension="law", other="maths")
    np.testing.assert_array_equal(covariance, found.covariance[:, 0, 1])
    at = multidimensional_information(fit, np.zeros((1, 2))).to_xarray()
    assert at["matrix"].dims == ("place", "dimension", "other")
    assert at["items"].sel(item=3).shape == (1,)
