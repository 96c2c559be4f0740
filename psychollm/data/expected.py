"""What expects answers: one method of every item response and factor model."""

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, TypeAlias

import numpy as np

from psychollm._base.result import view
from psychollm._base.types import FloatArray
from psychollm.data.labels import Labels, positions

# Expected answers (models, questions), and the labels of both.
Expected: TypeAlias = tuple[FloatArray, Labels, Labels]


class Expects:
    """A fit that knows how to expect an answer of every model to every question."""

    __slots__ = ()

    _EXPECTED: ClassVar[tuple[str, str]]  # module and function of the fit and responses

    def predict(
        self,
        responses: Any,
        *,
        models: Iterable[Any] | None = None,
        questions: Iterable[Any] | None = None,
    ) -> FloatArray:
        """Return the expected answers of models to questions, whether they gave them or not.

        Averaged over what is not known of abilities (or factors) given the answers. Who answered
        nothing is expected as the population is; conditional Rasch fits have none and say NaN.

        Parameters
        ----------
        responses : Responses or table (models, questions)
            Answers that tell what the abilities are: those that were fitted, or others to the
            same items.
        models, questions : sequence of labels, optional
            Whose answers, and to what; all by default.

        Returns
        -------
        ndarray of shape (models, questions)
            Chances of a yes, or the expected answer from 0 for an item's lowest to 1 for its
            highest; NaN for items without estimates.

        Raises
        ------
        LabelError
            If a model or question is unknown.
        ShapeError
            If the items are not those of the fit.

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
