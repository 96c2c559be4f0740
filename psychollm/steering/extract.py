r"""Estimators of steering directions: difference of means, discriminant, component and probe.

Let :math:`\mu_1` and :math:`\mu_0` be the mean states of prompts answered yes and no, in d
dimensions. Let :math:`S` be the pooled covariance of the states within the two groups, with mean
variance :math:`s = \mathrm{tr}(S) / d`. The directions are

.. math::
    v = \mu_1 - \mu_0,                                                              \tag{1}

.. math::
    v_\gamma = \left[(1 - \gamma) S + \gamma s I\right]^{-1} (\mu_1 - \mu_0).     \tag{2}

Equation (1) is the difference in means between prompts answered yes and prompts answered no.
Equation (2) is a linear discriminant whose covariance is shrunk towards a multiple of the
identity. If the variance of states differs between directions, the linear discriminant separates
the two classes of prompts better than equation (1) does. With :math:`\gamma = 1`, equation (2) is
proportional to equation (1).

References
----------
N. Rimsky et al. (2024). Steering Llama 2 via contrastive activation addition. ACL.
S. Marks, M. Tegmark (2024). The geometry of truth. COLM.
O. Ledoit, M. Wolf (2004). A well-conditioned estimator for large-dimensional covariance matrices.
Journal of Multivariate Analysis 88, 365-411.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from psychollm._base.checks import check_count, check_fraction, check_generator, float_array
from psychollm._base.errors import InputError, OptionError, ShapeError
from psychollm._base.optional import require
from psychollm._base.types import AnyArray, BoolArray, FloatArray, RandomState
from psychollm.steering.direction import Direction
from psychollm.steering.states import HiddenStates, as_states


def difference_of_means(
    states: HiddenStates | AnyArray,
    response: Any = None,
    *,
    quantile: float | None = None,
    shrinkage: float | None = None,
    min_class: int = 10,
) -> Direction:
    """Return the direction from the mean state of prompts answered no to prompts answered yes.

    Parameters
    ----------
    states : HiddenStates or ndarray (prompts, layers, hidden)
        Hidden states at one token of each prompt.
    response : array_like (prompts,), optional
        Answer to each prompt: 1 for yes, 0 for no, NaN for neither; with `quantile`, any score.
        The default is the model's own answers or, with `quantile`, its margin (log odds of yes
        against no).
    quantile : float, optional
        Proportion of prompts in each class. The prompts with the highest scores count as yes, and
        the prompts with the lowest scores count as no. Use `quantile` for models that almost
        always give the same answer.
    shrinkage : float, optional
        Shrinkage parameter gamma in equation (2), above 0 and at most 1. None gives the difference
        of means, equation (1).
    min_class : int
        Minimum number of prompts in each of the two classes.

    Returns
    -------
    Direction
        Direction of length one in every layer; ``about`` contains the lengths before scaling and
        the numbers of prompts in the two classes.

    Raises
    ------
    InputError
        If too few prompts are answered yes or too few are answered no, or if no response is given.
    OptionError, ShapeError
        If an option or a shape is invalid.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> yes = np.arange(40) % 2
    >>> states = rng.normal(size=(40, 1, 3)) + yes[:, None, None] * [9.0, 0.0, 0.0]
    >>> bool(difference_of_means(states, yes).vectors[0, 0] > 0.99)
    True
    """
    if shrinkage is not None and shrinkage != 1:
        check_fraction("shrinkage", shrinkage)

    def vector(x: FloatArray, yes: BoolArray) -> FloatArray:
        difference = _gap(x, yes)
        return difference if shrinkage is None else _whitened(x, yes, difference, shrinkage)

    kind = "difference of means" if shrinkage is None else "shrunk discriminant"
    return _made(states, response, vector, kind, quantile=quantile, min_class=min_class)


def principal_component(
    states: HiddenStates | AnyArray,
    response: Any = None,
    *,
    quantile: float | None = None,
    min_class: int = 10,
) -> Direction:
    """Return the first principal component of the states, oriented towards yes.

    Parameters
    ----------
    states : HiddenStates or ndarray (prompts, layers, hidden)
        Hidden states at one token of each prompt.
    response : array_like (prompts,), optional
        Answer to each prompt: 1 for yes, 0 for no, NaN for neither; with `quantile`, any score.
        The default is the model's own answers. The response determines only the sign of the
        direction and the selection of prompts.
    quantile : float, optional
        Proportion of prompts in each class: the prompts with the highest scores count as yes, and
        the prompts with the lowest scores count as no. Use `quantile` for models that almost
        always give the same answer.
    min_class : int
        Minimum number of prompts in each of the two classes.

    Returns
    -------
    Direction
        Direction of length one in every layer.

    Raises
    ------
    InputError
        If too few prompts are answered yes or too few are answered no, or if no response is given.
    OptionError, ShapeError
        If an option or a shape is invalid.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> yes = np.arange(40) % 2
    >>> states = rng.normal(size=(40, 1, 3)) + yes[:, None, None] * [99.0, 0.0, 0.0]
    >>> bool(principal_component(states, yes).vectors[0, 0] > 0.99)
    True
    """

    def vector(x: FloatArray, yes: BoolArray) -> FloatArray:
        first = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)[2][0]
        towards = _gap(x, yes) @ first
        return np.asarray(first if towards >= 0 else -first)

    return _made(
        states, response, vector, "principal component", quantile=quantile, min_class=min_class
    )


def logistic_probe(
    states: HiddenStates | AnyArray,
    response: Any = None,
    *,
    quantile: float | None = None,
    penalty: float = 1.0,
    min_class: int = 10,
) -> Direction:
    """Return the coefficients of a logistic regression that predicts yes from the states.

    Parameters
    ----------
    states : HiddenStates or ndarray (prompts, layers, hidden)
        Hidden states at one token of each prompt.
    response : array_like (prompts,), optional
        Answer to each prompt: 1 for yes, 0 for no, NaN for neither; with `quantile`, any score.
        The default is the model's own answers or, with `quantile`, its margin (log odds of yes
        against no).
    quantile : float, optional
        Proportion of prompts in each class: the prompts with the highest scores count as yes, and
        the prompts with the lowest scores count as no. Use `quantile` for models that almost
        always give the same answer.
    penalty : float
        Penalty on the squared coefficients, with states in units of their mean norm.
    min_class : int
        Minimum number of prompts in each of the two classes.

    Returns
    -------
    Direction
        Direction of length one in every layer.

    Raises
    ------
    InputError
        If too few prompts are answered yes or too few are answered no, or if no response is given.
    OptionError, ShapeError
        If an option or a shape is invalid.
    MissingPackageError
        If scikit-learn is not installed.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> yes = np.arange(40) % 2
    >>> states = rng.normal(size=(40, 1, 3)) + yes[:, None, None] * [9.0, 0.0, 0.0]
    >>> bool(logistic_probe(states, yes).vectors[0, 0] > 0.95)
    True
    """
    linear = require("sklearn.linear_model", extra="text", purpose="a logistic probe")
    if not penalty > 0:
        msg = f"penalty={penalty!r} must be above zero"
        raise OptionError(msg)

    def vector(x: FloatArray, yes: BoolArray) -> FloatArray:
        scale = np.linalg.norm(x, axis=1).mean() or 1.0
        probe = linear.LogisticRegression(C=1.0 / penalty, max_iter=2000)
        return np.asarray(probe.fit((x - x.mean(axis=0)) / scale, yes).coef_[0])

    return _made(
        states, response, vector, "logistic probe", quantile=quantile, min_class=min_class
    )


def shuffled_direction(
    states: HiddenStates | AnyArray,
    response: Any = None,
    *,
    quantile: float | None = None,
    min_class: int = 10,
    rng: RandomState = None,
) -> Direction:
    """Return the difference of means after permuting the answers among the prompts.

    This control direction is estimated from the same states with the same method, but does not
    depend on the answers.

    Parameters
    ----------
    states : HiddenStates or ndarray (prompts, layers, hidden)
        Hidden states at one token of each prompt.
    response : array_like (prompts,), optional
        Answer to each prompt: 1 for yes, 0 for no, NaN for neither; with `quantile`, any score.
        The default is the model's own answers or, with `quantile`, its margin (log odds of yes
        against no).
    quantile : float, optional
        Proportion of prompts in each class: the prompts with the highest scores count as yes, and
        the prompts with the lowest scores count as no. Use `quantile` for models that almost
        always give the same answer.
    min_class : int
        Minimum number of prompts in each of the two classes.
    rng : Generator or int, optional
        Random generator or seed of the permutation.

    Returns
    -------
    Direction
        Direction of length one in every layer.

    Raises
    ------
    InputError
        If too few prompts are answered yes or too few are answered no, or if no response is given.
    OptionError, ShapeError
        If an option or a shape is invalid.

    Examples
    --------
    >>> states = np.random.default_rng(1).normal(size=(40, 1, 3))
    >>> shuffled_direction(states, np.arange(40) % 2, rng=0).kind
    'shuffled answers'
    """
    generator = check_generator(rng)

    return _made(
        states,
        response,
        _gap,
        "shuffled answers",
        quantile=quantile,
        min_class=min_class,
        order=generator,
    )


def random_direction(like: Direction | HiddenStates, *, rng: RandomState = None) -> Direction:
    """Return a random direction, uniformly distributed on the sphere.

    The random direction is a control with the same doses as `like`, and does not depend on the
    model's answers.

    Parameters
    ----------
    like : Direction or HiddenStates
        Object that determines the layers, the hidden size and the unit of dose. If the object is a
        direction, the object also determines the length.
    rng : Generator or int, optional
        Random generator or seed of the direction.

    Returns
    -------
    Direction
        Direction drawn independently for each layer.

    Examples
    --------
    >>> made = Direction(vectors=[[0.0, 2.0]], hidden_norms=[9.0], layers=(4,), kind="made")
    >>> random_direction(made, rng=0).doses.round(6).tolist()
    [2.0]
    """
    n_layers = len(like.layers)
    if isinstance(like, Direction):
        width, doses = like.hidden_size, like.doses
    else:
        width, doses = like.states.shape[2], np.ones(n_layers)
    drawn = check_generator(rng).normal(size=(n_layers, width))
    drawn *= (doses / np.linalg.norm(drawn, axis=1))[:, None]
    return Direction(
        vectors=drawn,
        hidden_norms=like.hidden_norms,
        layers=like.layers,
        kind="random",
        model=like.model,
    )


def _gap(x: FloatArray, yes: BoolArray) -> FloatArray:
    return np.asarray(x[yes].mean(axis=0) - x[~yes].mean(axis=0))


def _made(
    states: HiddenStates | AnyArray,
    response: Any,
    vector: Callable[[FloatArray, BoolArray], FloatArray],
    kind: str,
    *,
    quantile: float | None,
    min_class: int,
    order: np.random.Generator | None = None,
) -> Direction:
    """Return a direction, with the vector that `vector` estimates from each layer's states."""
    known = as_states(states)
    answers = _answers(known, response, scored=quantile is not None)
    kept, yes = _split(answers, quantile, check_count("min_class", min_class))
    if order is not None:
        yes = order.permutation(yes)
    vectors = np.array(
        [vector(known.states[kept, i].astype(np.float64), yes) for i in range(len(known.layers))]
    )
    lengths = np.linalg.norm(vectors, axis=1)
    norms = known.hidden_norms
    return Direction(
        vectors=vectors / np.where(lengths > 0, lengths, 1.0)[:, None],
        hidden_norms=norms,
        layers=known.layers,
        kind=kind,
        model=known.model,
        about={
            "n_yes": int(yes.sum()),
            "n_no": int((~yes).sum()),
            "quantile": quantile,
            "token": known.token,
            "lengths": [float(length) for length in lengths],
        },
    )


def _answers(states: HiddenStates, response: Any, *, scored: bool) -> FloatArray:
    """Return the answer or score of each prompt, or NaN if it is missing."""
    if response is None:
        if states.answers is None:
            msg = "these states have no answers of the model: pass response=, one per prompt"
            raise InputError(msg)
        own = states.answers
        return own.margin if scored else own.says_yes.astype(np.float64)
    answers = float_array(response, "response")
    if answers.shape != (len(states.states),):
        msg = (
            f"response must hold one answer per prompt ({len(states.states)}), "
            f"got shape {answers.shape}"
        )
        raise ShapeError(msg)
    odd = answers[np.isfinite(answers) & (answers != 0) & (answers != 1)]
    if odd.size and not scored:
        msg = f"response holds {odd[0]:g}: use 1 for yes, 0 for no; or split scores with quantile="
        raise InputError(msg)
    return answers


def _split(
    answers: FloatArray, quantile: float | None, min_class: int
) -> tuple[AnyArray, BoolArray]:
    """Return the indices of the selected prompts, and a mask of the prompts that count as yes."""
    known = np.flatnonzero(np.isfinite(answers))
    if quantile is None:
        yes = answers[known] > 0
    else:
        check_fraction("quantile", quantile, high=0.5 + 1e-9)
        n = int(quantile * known.size)
        ranked = known[np.argsort(answers[known], kind="stable")]
        known = np.concatenate([ranked[:n], ranked[known.size - n :]])
        yes = np.arange(2 * n) >= n
    counts = {"yes": int(yes.sum()), "no": int((~yes).sum())}
    rare = min(counts, key=lambda answer: counts[answer])
    if counts[rare] < min_class:
        remedy = (
            "pass quantile=0.3, which contrasts the prompts with the highest margin with those "
            "with the lowest; or use a few-shot form, where the model gives both answers"
        )
        msg = (
            f"{rare} was answered {counts[rare]} times in {len(yes)}, but min_class={min_class}: "
            f"{remedy if quantile is None else 'use more prompts, or lower min_class'}"
        )
        raise InputError(msg)
    return known, yes


def _whitened(x: FloatArray, yes: BoolArray, difference: FloatArray, gamma: float) -> FloatArray:
    """Return equation (2): the difference of means times the inverse shrunk covariance."""
    within = np.concatenate([x[group] - x[group].mean(axis=0) for group in (yes, ~yes)])
    n, width = len(within), x.shape[1]
    sphere = gamma * (within**2).sum() / (n * width)
    if sphere == 0:
        return difference
    # With fewer prompts than dimensions, the Woodbury identity requires only the inverse of a
    # smaller matrix.
    scaled = within * np.sqrt((1 - gamma) / n)
    inner = np.linalg.solve(sphere * np.eye(n) + scaled @ scaled.T, scaled @ difference)
    return np.asarray((difference - scaled.T @ inner) / sphere)
