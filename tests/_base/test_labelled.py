"""Results as xarray datasets: dimensions, labels, and which classes have them."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from psychollm._base.errors import InputError, MissingPackageError
from psychollm._base.result import Result
from psychollm._base.saving.nodes import saved_fields
from psychollm.calibration.decisions.f_beta import f_beta
from psychollm.calibration.panels.panel import calibration_panel
from psychollm.estimates.null import Null
from psychollm.irt.multidimensional import (
    fit_multidimensional,
    multidimensional_ability,
    multidimensional_information,
)
from psychollm.steering.dose_response import DirectionScan, DoseResponse, LayerScan
from tests._base.every_result import every_class

# One worker makes all results.
pytestmark = pytest.mark.xdist_group("results")

xarray = pytest.importorskip("xarray")

# Arrays of three dimensions without a dataset: what stands for one item or pair is in the frame.
WITHOUT = {
    "IRTFit": "covariance of the parameters of each item",
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
    with pytest.raises(InputError, match="DirectionScan have other strengths"):
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
    panel = calibration_panel(confidence, rng.random((3, 60)) < confidence, n_bootstrap=20, rng=0)
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
    curve = f_beta(said, right, n_bootstrap=9, rng=0)
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


def test_declared_dimensions_are_those_of_fields() -> None:
    for kind in every_class().values():
        dims: dict[str, Any] = getattr(kind, "_DIMS", {})
        held: dict[str, str] = getattr(kind, "_COORDS", {})
        fields = saved_fields(kind)
        assert set(dims) <= set(fields), kind
        assert {name.partition(".")[0] for name in held.values()} <= set(fields), kind
        assert set(held) <= {dim for one in dims.values() for dim in one}, kind


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
