"""Expected answers, computed by a method of all item response and factor models."""

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, TypeAlias

import numpy as np

from psychollm._base.result import view
from psychollm._base.types import FloatArray
from psychollm.data.labels import Labels, positions

# Expected answers (models, questions), and the labels of models and of questions.
Expected: TypeAlias = tuple[FloatArray, Labels, Labels]


class Expects:
    """Mixin of fits that can predict the expected answer of every model to every question."""

    __slots__ = ()

    _EXPECTED: ClassVar[tuple[str, str]]  # module and name of the function that predicts

    def predict(
        self,
        responses: Any,
        *,
        models: Iterable[Any] | None = None,
        questions: Iterable[Any] | None = None,
    ) -> FloatArray:
        """Return the expected answers of models to questions, whether answered or not.

        Expected answers are averaged over the posterior distribution of abilities (or factors). A
        model without answers has the expected answers of the population, or NaN in conditional
        Rasch fits.

        Parameters
        ----------
        responses : Responses or table (models, questions)
            Answers from which abilities are estimated: the answers of the fit, or other answers to
            the same items.
        models, questions : sequence of labels, optional
            Models and questions to return, by default all.

        Returns
        -------
        ndarray of shape (models, questions)
            Probability of a yes, or the expected answer scaled from 0 (lowest category) to 1
            (highest); NaN for items without estimates.

        Raises
        ------
        LabelError
            If a model or question is unknown.
        ShapeError
            If the items differ from the items of the fit.

        Examples
        --------
        >>> import psychollm as psy
        >>> answers = np.random.default_rng(3).random((600, 5)) < [0.2, 0.4, 0.5, 0.6, 0.8]
        >>> psy.fit_irt(answers, model="rasch").predict(answers, models=[0]).shape
        (1, 5)
        """
        function: Callable[..., Expected] = view(*self._EXPECTED)
        expected, ours, theirs = function(self, responses)
        rows = positions("model", ours, models)
        columns = positions("question", theirs, questions)
        return np.ascontiguousarray(expected[np.ix_(rows, columns)])
