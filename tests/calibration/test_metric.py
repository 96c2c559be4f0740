"""A metric of one's own: called like `brier`, and in a panel like those of the library."""

from pathlib import Path

import numpy as np
import pytest

import psychollm as psy
from psychollm._base.errors import OptionError, ShapeError
from psychollm.calibration import Metric, Output, brier, calibration_panel
from psychollm.estimates import Reason

RNG = np.random.default_rng(5)
SAID = np.round(RNG.beta(4, 2, size=(3, 90)), 1)
RIGHT = (RNG.uniform(size=SAID.shape) < SAID).astype(int)
CLUSTERS = np.repeat(np.arange(30), 3)


def squares(confidence: np.ndarray, correct: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    loss = correct @ (1.0 - confidence) ** 2 + wrong @ confidence**2
    return (loss / (correct + wrong).sum(axis=1))[:, None]


def sure_errors(confidence: np.ndarray, correct: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    sure = confidence > 0.95
    with np.errstate(invalid="ignore"):
        errors = wrong[:, sure].sum(axis=1)
        return (errors / (errors + correct[:, sure].sum(axis=1)))[:, None]


SQUARES = Metric(
    names=("mean square",),
    compute=squares,
    outputs=(Output("mean_square", "mean square", "my own Brier score", better="lower"),),
)


@pytest.mark.parametrize("clusters", [None, CLUSTERS])
def test_it_is_called_as_brier_is_and_draws_what_brier_draws(clusters: np.ndarray | None) -> None:
    options = {"clusters": clusters, "weights": np.arange(1.0, 91.0), "bootstrap": 60, "rng": 2}
    own, known = SQUARES(SAID, RIGHT, **options), brier(SAID, RIGHT, **options)
    assert np.allclose(own.value, known.value, atol=1e-14)
    assert np.allclose(own.draws, known.draws, atol=1e-14)
    assert own.labels == known.labels
    assert own.name == "mean square"


def test_a_panel_pairs_it_with_the_metrics_of_the_library() -> None:
    panel = calibration_panel(
        SAID, RIGHT, metrics=[SQUARES, "auroc"], clusters=CLUSTERS, bootstrap=60, rng=2
    )
    assert list(panel) == ["mean_square", "auroc"]
    both = calibration_panel(SAID, RIGHT, metrics="brier", clusters=CLUSTERS, bootstrap=60, rng=2)
    own, known = panel.difference("mean_square", 0, 1), both.difference("brier", 0, 1)
    assert own.value == pytest.approx(known.value, abs=1e-14)
    assert own.se == pytest.approx(known.se, abs=1e-14)
    assert "mean square" in panel.summary()
    found = panel.findings(curves=panel.curves(n_draws=20))
    assert "AUROC" in found["comparisons"].rows[0]


def test_pages_figures_and_files_hold_what_it_says_of_itself(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    panel = calibration_panel(SAID, RIGHT, metrics=["brier", SQUARES], bootstrap=60, rng=2)
    panel.save(tmp_path / "panel.npz")
    again = psy.load(tmp_path / "panel.npz")
    assert again.outputs == panel.outputs
    page = again.report(tmp_path / "page.html", curves=panel.curves(n_draws=20))
    assert "my own Brier score" in page.read_text(encoding="utf-8")


def test_without_outputs_a_name_is_all_that_is_said() -> None:
    metric = Metric(names=("Mean square",), compute=squares)
    panel = calibration_panel(SAID, RIGHT, metrics=metric, bootstrap=40, rng=2)
    assert panel.outputs == {"mean_square": Output("mean_square", "Mean square")}


def test_no_value_has_a_reason() -> None:
    metric = Metric(names=("sure errors",), compute=sure_errors)
    found = metric([[0.9, 0.2, 0.4], [1.0, 0.2, 1.0]], [[1, 0, 1], [1, 0, 0]], bootstrap=20, rng=0)
    assert np.isnan(found.value[0])
    assert found.flags[0] is Reason.NO_VALUE
    assert found.value[1] == 0.5


def test_what_cannot_be_used_is_named_with_its_remedy() -> None:
    with pytest.raises(ShapeError, match=r"'flat' returned the shape \(2,\): return \(2, 1\)"):
        Metric(names=("flat",), compute=lambda f, c, w: squares(f, c, w)[:, 0])(
            SAID[:, :2], RIGHT[:, :2], bootstrap=2, rng=0
        )
    with pytest.raises(OptionError, match="outputs: 1 for 2 names"):
        Metric(names=("a", "b"), compute=squares, outputs=(Output("a", "a"),))
    with pytest.raises(OptionError, match=r"pass it to calibration_panel\(metrics="):
        Metric(names=("a", "b"), compute=squares)(SAID, RIGHT)
    clash = Metric(names=("Brier",), compute=squares)
    with pytest.raises(OptionError, match="two have the key 'brier'"):
        calibration_panel(SAID, RIGHT, metrics=[clash])
    with pytest.raises(OptionError, match="does not exist: use"):
        calibration_panel(SAID, RIGHT, metrics=[brier])
