r"""Two-choice answers with confidence ratings, simulated from the meta-d' model.

The answer to a question of class s in {0, 1} is 1 where evidence :math:`N((s - 1/2) d', 1)`
exceeds the criterion c. Its rating comes from other evidence, :math:`N((s - 1/2) M d', 1)` on the
same side of the criterion k: how many of the distances :math:`\delta_1 < \delta_2 < \dots` from k
it exceeds, plus one. M is the ratio meta-d'/d', and :math:`k = M c` ("scaled") or :math:`k = c`
("fixed").

References
----------
Maniscalco, B., & Lau, H. (2012). A signal detection theoretic approach for estimating
metacognitive sensitivity from confidence ratings. Consciousness and Cognition, 21, 422-430.
https://doi.org/10.1016/j.concog.2011.09.021
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

from psychollm._base.arrays import float_array
from psychollm._base.checks import check_choice, check_count, check_generator
from psychollm._base.errors import OptionError, ShapeError
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray, IntArray, RandomState

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

MetaCriterion: TypeAlias = Literal["scaled", "fixed"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SimulatedRatings(Result):
    """Simulated answers with ratings, and the parameters that made them."""

    stimulus: IntArray  # (questions,) the right answer, 0 or 1
    response: IntArray  # (models, questions) the answer given, 0 or 1
    rating: IntArray  # (models, questions) 1 = least confident
    d_prime: FloatArray  # (models,)
    criterion: FloatArray  # (models,)
    m_ratio: FloatArray  # (models,)

    @property
    def correct(self) -> IntArray:
        """1 where the answer is right (models, questions)."""
        return np.asarray(self.response == self.stimulus, dtype=np.int64)


def simulate_meta_d(
    *,
    d_prime: "ArrayLike",
    m_ratio: "ArrayLike" = 1.0,
    criterion: "ArrayLike" = 0.0,
    distances: "ArrayLike" = (0.5, 1.0, 1.5),
    n_questions: int,
    meta_c: MetaCriterion = "scaled",
    rng: RandomState = None,
) -> SimulatedRatings:
    """Simulate two-choice answers and ratings of models with given meta-d'.

    Parameters
    ----------
    d_prime : array (models,)
        Sensitivity of the answers.
    m_ratio, criterion : float or array (models,)
        Ratio meta-d'/d', and criterion c of the answers (positive: rather 0 than 1).
    distances : array (ratings - 1,)
        Distances of the confidence criteria from the criterion, positive and increasing.
    n_questions : int
        Number of questions, half of each class, in random order.
    meta_c : {"scaled", "fixed"}
        Where the criterion lies for the confidence: at M c or at c.
    rng : Generator, int or None
        Randomness; a seed makes the answers repeatable.

    Raises
    ------
    OptionError
        If distances are not positive and increasing.
    ShapeError
        If the parameters of the models differ in length.

    Examples
    --------
    >>> made = simulate_meta_d(d_prime=[1.5, 1.0], m_ratio=0.8, n_questions=400, rng=0)
    >>> made.rating.shape, made.correct.mean(axis=1).round(2)
    ((2, 400), array([0.75, 0.71]))
    """
    check_choice("meta_c", meta_c, MetaCriterion)
    steps = _distances(distances)
    d, ratio, c = _parameters(d_prime, m_ratio, criterion)
    n = check_count("n_questions", n_questions, low=2)
    generator = check_generator(rng)
    stimulus = generator.permutation(np.arange(n) % 2)
    side = stimulus - 0.5
    response = generator.standard_normal((d.size, n)) + side * d[:, None] > c[:, None]
    edge = (ratio if meta_c == "scaled" else np.ones(d.size)) * c
    strength = _strength(side * (ratio * d)[:, None], edge[:, None], response, generator)
    return SimulatedRatings(
        stimulus=stimulus.astype(np.int64),
        response=response.astype(np.int64),
        rating=1 + np.searchsorted(steps, strength, side="left").astype(np.int64),
        d_prime=d,
        criterion=c,
        m_ratio=ratio,
    )


def _strength(
    mean: FloatArray, edge: FloatArray, response: BoolArray, generator: np.random.Generator
) -> FloatArray:
    """Distance from `edge` of normal evidence on the side of the response (models, questions)."""
    sign = np.where(response, 1.0, -1.0)
    # Seen from its own side, the evidence's upper tail is uniform below the edge's.
    near = sign * (edge - mean)
    tail = log_ndtr(-near) + np.log1p(-generator.random(mean.shape))
    return np.asarray(np.maximum(-ndtri_exp(tail) - near, 0.0), dtype=np.float64)


def _parameters(*given: "ArrayLike") -> tuple[FloatArray, ...]:
    names = ("d_prime", "m_ratio", "criterion")
    arrays = [
        np.atleast_1d(float_array(values, name)) for name, values in zip(names, given, strict=True)
    ]
    sizes = {array.size for array in arrays} - {1}
    if len(sizes) > 1 or any(array.ndim != 1 for array in arrays):
        shapes = ", ".join(str(array.shape) for array in arrays)
        msg = f"d_prime, m_ratio and criterion have shapes {shapes}: give one value per model"
        raise ShapeError(msg)
    n = max(array.size for array in arrays)
    return tuple(np.array(np.broadcast_to(array, n)) for array in arrays)


def _distances(distances: "ArrayLike") -> FloatArray:
    steps = np.atleast_1d(float_array(distances, "distances"))
    if steps.ndim != 1 or not steps.size or not (np.diff(steps, prepend=0.0) > 0).all():
        msg = (
            f"distances={steps.tolist()} must be positive and increasing: the distances of the "
            "confidence criteria from the criterion"
        )
        raise OptionError(msg)
    return steps
