"""Side information about models and questions, as numeric features.

Numeric columns of a table are standardised. Positive numbers that span more than a factor of
twenty are log-transformed first. Dates are converted to days, and words that occur at least twice
are converted to indicators. A missing number is replaced by the mean, and a column with several
missing numbers gets an additional indicator of missingness.

Labels are represented by principal components of their letter n-grams (two to four letters),
because names of one family or of one source share n-grams. Missing data are represented by
principal components of the pattern of answered cells, because questions answered by the same
models tend to have one source.
"""

import re
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_array

from psychollm._base.errors import LabelError, OptionError
from psychollm._base.types import BoolArray, FloatArray
from psychollm.data.labels import Labels, listed

_SPAN = 20.0  # ratio of the largest to the smallest positive number above which logs are taken
_RUNS = 2000  # number of n-grams; the most frequent ones are used
_LABEL_COMPONENTS = 20
_GAP_COMPONENTS = 6
FULL = 0.95  # proportion of answered cells above which the pattern is ignored

Kind = Literal["models", "questions"]


def side_table(table: Any, kind: Kind) -> Any:
    """Return a validated table about models or questions, or None."""
    import pandas as pd

    if table is None:
        return None
    if isinstance(table, pd.Series):
        table = table.to_frame()
    if not isinstance(table, pd.DataFrame):
        msg = f"{kind} must be a DataFrame indexed by the {kind}, not {type(table).__name__}"
        raise OptionError(msg)
    if table.index.has_duplicates:
        twice = table.index[table.index.duplicated()][0]
        msg = f"{kind}: {twice!r} has several rows: keep one"
        raise LabelError(msg)
    return table


def further(table: Any, known: Labels, kind: Kind) -> Labels:
    """Return the labels in a table of side information that have no answers."""
    if table is None:
        return ()
    seen = set(known)
    if not seen & set(table.index):
        msg = (
            f"{kind}: its index ({listed(list(table.index))}) has none of the {kind} of the "
            f"answers ({listed(known)}): use set_index with their labels"
        )
        raise LabelError(msg)
    return tuple(label for label in table.index if label not in seen)


def table_features(table: Any, labels: Labels) -> FloatArray:
    """Return the columns of a table as numbers, with one row per label (labels, features)."""
    import pandas as pd

    if table is None:
        return np.empty((len(labels), 0))
    ordered = table.reindex(pd.Index(labels, tupleize_cols=False))
    columns = [_column(ordered[name]) for name in ordered.columns]
    return np.hstack([np.empty((len(labels), 0)), *columns])


def _column(values: Any) -> FloatArray:
    """Return one column of a table as features (n, any number)."""
    import pandas as pd

    if pd.api.types.is_datetime64_any_dtype(values):
        numbers = np.asarray((values - values.min()).dt.total_seconds() / 86400.0, dtype=float)
    elif pd.api.types.is_numeric_dtype(values):
        numbers = values.to_numpy(dtype=float, na_value=np.nan)
    else:
        counts = values.value_counts()
        kept = [one for one, count in counts.items() if 2 <= count < len(values)]
        return np.array([values == one for one in kept], dtype=float).reshape(len(kept), -1).T
    known = np.isfinite(numbers)
    if not known.any():
        return np.empty((len(numbers), 0))
    low, high = numbers[known].min(), numbers[known].max()
    if low > 0.0 and high > _SPAN * low:
        numbers = np.log(numbers)
    spread = numbers[known].std()
    if spread == 0.0:
        return np.empty((len(numbers), 0))
    numbers = np.where(known, (numbers - numbers[known].mean()) / spread, 0.0)
    gaps = [(~known).astype(float)] if (~known).sum() > 1 else []
    return np.column_stack([numbers, *gaps])


def label_features(labels: Labels) -> FloatArray:
    """Return principal components of the weighted n-grams of labels (labels, features)."""
    if not all(isinstance(label, str) for label in labels):
        return np.empty((len(labels), 0))
    runs = [_runs(str(label)) for label in labels]
    counts: dict[str, int] = {}
    for own in runs:
        for run in own:
            counts[run] = counts.get(run, 0) + 1
    shared = [run for run, count in counts.items() if 1 < count < len(labels)]
    shared.sort(key=lambda run: (-counts[run], run))
    place = {run: k for k, run in enumerate(shared[:_RUNS])}
    pairs = [(i, place[run]) for i, own in enumerate(runs) for run in own if run in place]
    if not pairs:
        return np.empty((len(labels), 0))
    rows, columns = np.array(pairs).T
    rarity = np.log(len(labels) / np.array([counts[run] for run in place])) + 1.0
    weights = rarity[columns]
    length = np.sqrt(np.bincount(rows, weights**2, minlength=len(labels)))
    matrix = csr_array((weights / length[rows], (rows, columns)), (len(labels), len(place)))
    return _components(matrix, _LABEL_COMPONENTS)


def _runs(label: str) -> list[str]:
    """Return the distinct n-grams of two to four letters, with blanks at word ends."""
    words = [f" {word} " for word in re.findall(r"[a-z]+", label.lower())]
    return sorted(
        {word[k : k + size] for word in words for size in (2, 3, 4) for k in range(len(word) - 1)}
    )


def gap_features(answered: BoolArray, kind: Kind) -> FloatArray:
    """Return principal components of the answer pattern (models or questions, features)."""
    matrix = csr_array((answered if kind == "models" else answered.T).astype(float))
    length = np.sqrt(np.maximum(matrix.sum(axis=1), 1.0))
    return _components(csr_array(matrix / length[:, None]), _GAP_COMPONENTS)


def _components(matrix: csr_array, most: int) -> FloatArray:
    """Return the first components of centred rows, scaled to a mean square norm of one."""
    n, size = matrix.shape
    rank = min(most, n - 1, size)
    if rank < 1:
        return np.empty((n, 0))
    centre = np.asarray(matrix.mean(axis=0))
    if size <= n:
        moments = (matrix.T @ matrix).toarray() - n * np.outer(centre, centre)
        _, vectors = eigh(moments, subset_by_index=(size - rank, size - 1))
        scores = matrix @ vectors - centre @ vectors
    else:
        products = (matrix @ matrix.T).toarray()
        products -= products.mean(axis=0)
        products -= products.mean(axis=1, keepdims=True)
        values, vectors = eigh(products, subset_by_index=(n - rank, n - 1))
        scores = vectors * np.sqrt(np.maximum(values, 0.0))
    square = float((scores**2).sum() / n)
    return np.asarray(scores / np.sqrt(square)) if square > 1e-12 else np.empty((n, 0))


def joined(blocks: Sequence[FloatArray]) -> FloatArray | None:
    """Return concatenated features, or None if there are none."""
    features = np.hstack(blocks)
    return np.ascontiguousarray(features) if features.shape[1] else None
