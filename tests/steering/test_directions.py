"""Directions: reference values, arithmetic, files, and splits that are too thin."""

import json
from pathlib import Path

import numpy as np
import pytest

from psychollm._base.errors import InputError, LabelError, OptionError, ShapeError
from psychollm.steering import (
    AnswerLogits,
    AnswerTokens,
    Direction,
    HiddenStates,
    difference_of_means,
    logistic_probe,
    principal_component,
    random_direction,
    shuffled_direction,
)

YES = np.repeat([0.0, 1.0], 40)
TOWARDS = np.array([3.0, 0.0, 4.0]) / 5


def clouds(
    *, gap: float = 6.0, spread: tuple[float, ...] = (1, 1, 1), seed: int = 0
) -> np.ndarray:
    """Return states of two layers: answered no, then answered yes, `gap` apart."""
    rng = np.random.default_rng(0)
    drawn = rng.normal(size=(80, 2, 3)) * np.array(spread)
    return drawn + gap * YES[:, None, None] * TOWARDS + 10.0


@pytest.mark.parametrize("case", ["steering_a", "steering_b"])
def test_reference_values(golden: Path, case: str) -> None:
    folder = golden / "metacognition"
    table = np.loadtxt(folder / f"{case.replace('_', '_acts_')}.csv", delimiter=",", skiprows=1)
    (block,) = json.loads((folder / f"{case}.expected.json").read_text())["blocks"]
    expected, tolerance = block["values"], 1e-6  # vectors are float32
    yes, states = table[:, 0], table[:, 1:]
    found = difference_of_means(states, yes)
    length = found.about["lengths"][0]
    np.testing.assert_allclose(
        found.vectors[0] * length, expected["mean_diff_vector"], atol=tolerance
    )
    assert length == pytest.approx(expected["mean_diff_norm"], abs=tolerance)
    along = states @ found.vectors[0]
    wins = np.sign(np.subtract.outer(along[yes == 1], along[yes == 0]))
    assert (wins.mean() + 1) / 2 == pytest.approx(expected["projection_auc"], abs=tolerance)


@pytest.mark.parametrize("make", [difference_of_means, principal_component, logistic_probe])
def test_each_way_finds_the_direction(make: object) -> None:
    if make is logistic_probe:
        pytest.importorskip("sklearn")
    found = make(clouds(gap=20.0), YES)  # type: ignore[operator]
    np.testing.assert_allclose(found.doses, 1.0, atol=1e-6)
    assert (found.vectors @ TOWARDS > 0.97).all()
    assert found.about["n_yes"] == found.about["n_no"] == 40


def test_shrinkage_looks_away_from_noise() -> None:
    states = clouds(gap=3.0, spread=(5.0, 1.0, 0.2))
    plain, shrunk, sphere = (
        difference_of_means(states, YES, shrinkage=gamma) for gamma in (None, 0.01, 1.0)
    )
    np.testing.assert_allclose(sphere.vectors, plain.vectors, atol=1e-5)
    assert (shrunk.vectors[:, 2] > 0.99).all()
    pooled = np.cov(
        np.concatenate([states[k == YES, 0] - states[k == YES, 0].mean(0) for k in (0, 1)]).T,
        bias=True,
    )
    by_hand = np.linalg.solve(
        0.99 * pooled + 0.01 * np.trace(pooled) / 3 * np.eye(3),
        states[YES == 1, 0].mean(0) - states[YES == 0, 0].mean(0),
    )
    np.testing.assert_allclose(shrunk.vectors[0], by_hand / np.linalg.norm(by_hand), atol=1e-5)


def test_controls_know_nothing() -> None:
    states = clouds()
    found = difference_of_means(states, YES)
    drawn = np.array([random_direction(2 * found, rng=i).vectors[0] for i in range(400)])
    np.testing.assert_allclose(np.linalg.norm(drawn, axis=1), 2.0, atol=1e-5)
    np.testing.assert_allclose(drawn.mean(axis=0), 0.0, atol=0.25)  # four standard errors
    shuffled = [shuffled_direction(states, YES, rng=i) for i in range(50)]
    lengths = [one.about["lengths"][0] for one in shuffled]
    assert np.mean(lengths) < 0.4 * found.about["lengths"][0]
    assert {one.kind for one in shuffled} == {"shuffled answers"}
    same = [shuffled_direction(states, YES, rng=3).vectors for _ in range(2)]
    np.testing.assert_array_equal(*same)
    of_states = random_direction(HiddenStates(states=states.astype(np.float32), layers=(3, 4)))
    assert of_states.layers == (3, 4)


def test_directions_form_a_vector_space() -> None:
    a = difference_of_means(clouds(), YES)
    b = random_direction(a, rng=1)
    np.testing.assert_allclose((a + b - b).vectors, a.vectors, atol=1e-6)
    np.testing.assert_allclose((2 * a - a / 2).vectors, 1.5 * a.vectors, atol=1e-6)
    np.testing.assert_allclose((-a).vectors, -a.vectors)
    assert isinstance(np.float64(0.5) * a, Direction)
    np.testing.assert_allclose((np.float64(0.5) * a).doses, 0.5, atol=1e-6)
    np.testing.assert_allclose((3 * a).unit().vectors, a.vectors, atol=1e-6)
    np.testing.assert_allclose((0 * a).unit().vectors, 0.0)
    np.testing.assert_allclose(a.cosine(-2 * a), -1.0, atol=1e-6)
    np.testing.assert_allclose(a.displacement(1), a.vectors[1] * a.hidden_norms[1], rtol=1e-6)
    assert a.only(1).layers == (1,)
    with pytest.raises(ValueError, match="read-only"):
        a.vectors[0, 0] = 1.0


def test_arithmetic_that_makes_no_sense() -> None:
    a = difference_of_means(clouds(), YES)
    with pytest.raises(TypeError):
        a * a
    with pytest.raises(TypeError):
        a + 1  # type: ignore[operator]
    with pytest.raises(TypeError):
        a - 1  # type: ignore[operator]
    with pytest.raises(OptionError, match="finite"):
        a * np.inf
    with pytest.raises(OptionError, match="zero"):
        a / 0
    with pytest.raises(LabelError, match="only"):
        a + a.only(1)
    with pytest.raises(OptionError, match="no vector for layer 7"):
        a.displacement(7)
    narrow = Direction(vectors=np.ones((2, 2)), hidden_norms=[1, 1], layers=(0, 1), kind="made")
    with pytest.raises(ShapeError, match="3 and 2 components"):
        a.cosine(narrow)
    other = Direction(vectors=np.ones((2, 3)), hidden_norms=[1, 1], layers=(0, 1), kind="made")
    with pytest.raises(OptionError, match="different state norms"):
        a + other
    with pytest.raises(ShapeError, match="vectors must be"):
        Direction(vectors=np.ones(3), hidden_norms=[1], layers=(0,), kind="made")
    with pytest.raises(InputError, match="NaN"):
        Direction(vectors=[[np.nan]], hidden_norms=[1], layers=(0,), kind="made")


def test_saved_and_loaded(tmp_path: Path) -> None:
    found = 0.3 * difference_of_means(clouds(), YES)
    again = Direction.load(found.save(tmp_path / "found.psy"))
    np.testing.assert_array_equal(again.vectors, found.vectors)
    np.testing.assert_array_equal(again.hidden_norms, found.hidden_norms)
    assert (again.layers, again.kind, again.about) == (found.layers, found.kind, found.about)


def test_exported_as_safetensors(tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors")
    found = 0.3 * difference_of_means(clouds(), YES)
    found.export_safetensors(tmp_path / "found.safetensors")
    with safetensors.safe_open(tmp_path / "found.safetensors", framework="numpy") as held:
        np.testing.assert_array_equal(held.get_tensor("vectors"), found.vectors)
        np.testing.assert_array_equal(held.get_tensor("hidden_norms"), found.hidden_norms)
        assert json.loads(held.metadata()["direction"])["layers"] == list(found.layers)


def test_exported_as_a_control_vector(tmp_path: Path) -> None:
    gguf = pytest.importorskip("gguf")
    found = difference_of_means(clouds(), YES)
    found.export_gguf(tmp_path / "found.gguf", model_type="llama")
    held = gguf.GGUFReader(tmp_path / "found.gguf")
    assert bytes(held.get_field("general.architecture").parts[-1]) == b"controlvector"
    assert bytes(held.get_field("controlvector.model_hint").parts[-1]) == b"llama"
    assert int(held.get_field("controlvector.layer_count").parts[-1][0]) == 1
    (tensor,) = held.tensors  # layer 0 cannot be held
    assert tensor.name == "direction.1"
    np.testing.assert_allclose(tensor.data, found.displacement(1))
    with pytest.raises(OptionError, match="cannot hold layer 0"):
        found.only(0).export_gguf(tmp_path / "none.gguf", model_type="llama")


@pytest.mark.parametrize(("n_yes", "rare"), [(0, "yes"), (3, "yes"), (80, "no")])
def test_thin_splits_name_the_remedies(n_yes: int, rare: str) -> None:
    answers = np.arange(80) < n_yes
    with pytest.raises(InputError, match=f"{rare} was answered") as caught:
        difference_of_means(clouds(), answers)
    assert "quantile=0.3" in str(caught.value)
    assert "few-shot form" in str(caught.value)


def test_a_model_that_never_says_yes_is_split_by_its_margin() -> None:
    states = clouds(gap=8.0)
    margins = YES - 5.0 + np.random.default_rng(0).normal(0, 0.1, 80)
    own = AnswerLogits(
        log_yes=margins,
        log_no=np.zeros(80),
        labels=tuple(range(80)),
        n_tokens=np.full(80, 9),
        tokens=AnswerTokens((1,), (2,)),
    )
    known = HiddenStates(states=states.astype(np.float32), layers=(0, 1), answers=own)
    with pytest.raises(InputError, match="yes was answered 0 times in 80"):
        difference_of_means(known)
    found = difference_of_means(known, quantile=0.3)
    assert found.about["n_yes"] == found.about["n_no"] == 24
    assert (found.vectors @ TOWARDS > 0.9).all()
    half = known.take(np.arange(80) % 2 == 0)
    assert half.answers is not None
    assert half.answers.labels == tuple(range(0, 80, 2))


def test_missing_answers_take_no_part() -> None:
    answers = YES.copy()
    answers[::4] = np.nan
    known = difference_of_means(clouds(), answers)
    kept = np.isfinite(answers)
    np.testing.assert_allclose(
        known.vectors, difference_of_means(clouds()[kept], YES[kept]).vectors, atol=1e-6
    )


def test_what_cannot_be_split() -> None:
    with pytest.raises(InputError, match="response="):
        difference_of_means(clouds())
    with pytest.raises(ShapeError, match="one answer per prompt"):
        difference_of_means(clouds(), YES[:-1])
    with pytest.raises(InputError, match="quantile="):
        difference_of_means(clouds(), YES * 0.7)
    with pytest.raises(OptionError, match="quantile"):
        difference_of_means(clouds(), YES, quantile=0.6)
    with pytest.raises(InputError, match="lower min_class"):
        difference_of_means(clouds(), YES, quantile=0.1)
    with pytest.raises(OptionError, match="shrinkage"):
        difference_of_means(clouds(), YES, shrinkage=2.0)
    with pytest.raises(ShapeError, match="prompts, layers, hidden"):
        difference_of_means(np.ones(5), YES)
    broken = clouds()
    broken[7, 1, 2] = np.nan
    with pytest.raises(InputError, match="prompt 7, layer 1"):
        difference_of_means(broken, YES)
    with pytest.raises(LabelError, match="layer 9 are not included"):
        HiddenStates(states=clouds().astype(np.float32), layers=(0, 1)).layer(9)


def test_a_probe_needs_a_penalty() -> None:
    pytest.importorskip("sklearn")
    with pytest.raises(OptionError, match="penalty"):
        logistic_probe(clouds(), YES, penalty=0.0)
