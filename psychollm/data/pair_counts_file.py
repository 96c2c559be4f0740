"""Long Parquet files of any length to counts or to a table.

A file of a hundred million answers takes gigabytes as a frame and 25 MB as bits. So it is read in
batches, each answer sets two bits, and the counts are taken from the bits. Memory: one batch, and
``rows x columns / 4`` bytes. Several workers read row groups side by side, and the answers are set
in the order of the file: the same counts, the same labels, the same complaints.
"""

import numpy as np

from psychollm._base.checks import check_choice, check_count
from psychollm._base.types import Axis
from psychollm.data.labels import as_labels
from psychollm.data.pair_counts import MAX_ROWS, PairCounts
from psychollm.data.pair_counts_bits import BATCH, Paths, Rule, Source, count_bits, read_bits
from psychollm.data.responses import Responses
from psychollm.kernels.pair_counts import unpack_rows


def read_pair_counts(
    paths: Paths,
    *,
    model: str = "model",
    question: str = "question",
    value: str = "value",
    of: Axis = "models",
    threshold: float | None = None,
    strict: bool = True,
    batch: int = BATCH,
    n_jobs: int | None = None,
    progress: bool = False,
) -> PairCounts:
    """Count pairs in long Parquet files that need not fit into memory.

    Parameters
    ----------
    paths : path or iterable of paths
        Parquet files with a row per answer, in any order.
    model, question, value : str
        Columns that hold the model, the question, and the answer: 1, 0, true, false, or null.
    of : {"models", "questions"}
        What is paired.
    threshold, strict : optional
        If given, an answer is yes above it (or not below it).
    batch : int
        Rows to read at a time.
    n_jobs : int or None
        Workers that read row groups; each holds a few batches. Files whose row groups are longer
        than 16 batches are read by one.
    progress : bool
        Whether to show a bar.

    Returns
    -------
    PairCounts
        As `PairCounts.count` gives for the same table; labels are in the order in which they
        first occur.

    Raises
    ------
    MissingPackageError
        If pyarrow is not installed.
    InputError
        If a file is damaged, lacks a column or holds no answers.
    LabelError
        If a model answers a question twice, or a label is missing.
    CodeError
        If an answer is neither 0 nor 1, and there is no threshold.

    Examples
    --------
    >>> import pandas as pd
    >>> path = getfixture("tmp_path") / "a.parquet"
    >>> long = pd.DataFrame({"model": list("aabb"), "question": [1, 2, 1, 2]})
    >>> long.assign(value=[1, 0, 1, 1]).to_parquet(path)
    >>> read_pair_counts(path).joint.tolist()
    [[1.0, 1.0], [1.0, 2.0]]
    """
    check_choice("of", of, Axis)
    names = (model, question) if of == "models" else (question, model)
    rule = Rule(threshold, strict=strict)
    source = Source((*names, value), rule, check_count("batch", batch))
    bits = read_bits(paths, source, most=MAX_ROWS, n_jobs=n_jobs, progress=progress)
    joint, own, both = count_bits(bits)
    labels = as_labels(of[:-1], bits.rows.labels, len(joint))
    return PairCounts(joint=joint, yes=own, n=both, squares=both.copy(), labels=labels, of=of)


def stream_responses(
    paths: Paths,
    *,
    model: str = "model",
    question: str = "question",
    value: str = "value",
    threshold: float | None = None,
    strict: bool = True,
    batch: int = BATCH,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Responses:
    """Read long Parquet files as a table in little more memory than the table takes.

    Parameters and errors as in `read_pair_counts`; three bytes per cell, and one batch.

    Examples
    --------
    >>> import pandas as pd
    >>> path = getfixture("tmp_path") / "a.parquet"
    >>> long = pd.DataFrame({"model": list("aab"), "question": [1, 2, 1], "value": [1, 0, 1]})
    >>> long.to_parquet(path)
    >>> stream_responses(path).values.tolist()
    [[1.0, 0.0], [1.0, nan]]
    """
    rule = Rule(threshold, strict=strict)
    source = Source((model, question, value), rule, check_count("batch", batch))
    bits = read_bits(paths, source, most=None, n_jobs=n_jobs, progress=progress)
    n = len(bits.columns.labels)
    return Responses(
        codes=unpack_rows(bits.yes, n).astype(np.int16),
        missing=~unpack_rows(bits.answered, n),
        models=as_labels("model", bits.rows.labels, len(bits.rows.labels)),
        questions=as_labels("question", bits.columns.labels, n),
        coding=rule.coding,
    )
