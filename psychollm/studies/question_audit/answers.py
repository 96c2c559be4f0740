"""Codes for the tables of an audit: the option that each model chose, and the key."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from psychollm._base.checks import is_missing_value, plain_array
from psychollm._base.errors import CodeError, LabelError, ShapeError
from psychollm._base.frames import in_pandas, labelled
from psychollm._base.types import FloatArray, IntArray
from psychollm.data.labels import Labels, as_labels, index_of, listed, numbered, unit_labels
from psychollm.data.long import is_long_frame
from psychollm.data.responses import Responses, as_responses
from psychollm.data.table import as_table
from psychollm.studies.question_audit.evidence import OPEN_ALPHA, Picked

_LETTERS = 26  # with more distinct labels, options are texts that differ between questions
OPEN_OPTIONS = 10  # number of options assumed for binary scores


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """Chosen options as codes, and the labels of the codes."""

    codes: IntArray  # (questions, models), -1 without an answer; if binary, 0 right and 1 wrong
    key: IntArray  # (questions,) zeros if binary
    options: tuple[Labels, ...]  # (questions,) labels by code, empty if binary
    n_options: int
    binary: bool
    models: Labels
    questions: Labels

    @property
    def right(self) -> FloatArray:
        """Scores (questions, models): 1 for right, 0 for wrong, and NaN if there is no answer."""
        right = (self.codes == self.key[:, None]).astype(np.float64)
        return np.where(self.codes < 0, np.nan, right)

    def picked(self, weights: FloatArray) -> Picked:
        """Return the chosen options, with the key as the first option."""
        if self.binary:
            return Picked(place=self.codes, n_options=self.n_options, binary=True, weights=weights)
        return Picked.of(self.codes, self.key, self.n_options, weights)

    def flipped(self, which: IntArray, generator: np.random.Generator) -> "Answers":
        """Replace some keys by one of the other options, drawn with equal probability."""
        codes, key = self.codes.copy(), self.key.copy()
        if self.binary:
            # Right answers become wrong; an error becomes right if it equals the new key.
            others = max(self.n_options - 2, 0.01)
            share = generator.beta(OPEN_ALPHA, OPEN_ALPHA * others, size=(len(which), 1))
            drawn = generator.random((len(which), codes.shape[1])) < share
            own = codes[which]
            codes[which] = np.where(own < 0, -1, np.where((own == 1) & drawn, 0, 1))
        else:
            step = generator.integers(1, self.n_options, size=len(which))
            key[which] = (key[which] + step) % self.n_options
        return Answers(
            codes=codes,
            key=key,
            options=self.options,
            n_options=self.n_options,
            binary=self.binary,
            models=self.models,
            questions=self.questions,
        )


def answers_of(choices: Any, key: Any, n_options: int | None) -> Answers:
    """Return the chosen options, or binary scores without a key."""
    if key is None:
        table = as_responses(choices, argument="responses")
        if not table.is_binary:
            msg = (
                "without key=, the table must hold scores, 1 = right and 0 = wrong: pass key= if "
                "it holds the options that models chose"
            )
            raise CodeError(msg)
        return Answers(
            codes=np.where(table.missing, -1, 1 - table.codes).T.astype(np.int64),
            key=np.zeros(table.n_questions, dtype=np.int64),
            options=(),
            n_options=n_options or OPEN_OPTIONS,
            binary=True,
            models=table.models,
            questions=table.questions,
        )
    cells, models, questions = _cells(choices)
    if _is_transposed(key, models, questions):
        cells, models, questions = list(map(list, zip(*cells, strict=True))), questions, models
    keys = _keys(key, questions)
    return _coded(cells, keys, models, questions, n_options)


def _cells(choices: Any) -> tuple[list[list[str]], Labels, Labels]:
    """Return the option of each model on each question as text, "" if there is no answer."""
    if isinstance(choices, Responses):
        values, models, questions = choices.values.T, choices.models, choices.questions
    elif is_long_frame(choices := in_pandas(choices)):
        table = as_table(choices, argument="choices")
        values, models, questions = table.values.T, table.models, table.questions
    else:
        choices = labelled(choices)
        values = plain_array(choices, "choices")
        if values.ndim != 2 or not values.size:
            msg = f"choices must be a table, questions x models, got shape {values.shape}"
            raise ShapeError(msg)
        named = hasattr(choices, "iloc")
        questions = as_labels("question", choices.index if named else None, len(values))
        models = as_labels("model", choices.columns if named else None, values.shape[1])
    if values.dtype.kind in "iuf":  # each of the few distinct numbers is converted once
        numbers, which = np.unique(values, return_inverse=True)
        texts = np.array([_text(one) for one in numbers.tolist()], dtype=object)
        return texts[which.reshape(values.shape)].tolist(), models, questions
    return [[_text(cell) for cell in row] for row in values.tolist()], models, questions


def _text(cell: Any) -> str:
    """Return the label of an option as text; 1.0 and 1 give the same text."""
    if is_missing_value(cell):
        return ""
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    return str(cell).strip()


def _is_transposed(key: Any, models: Labels, questions: Labels) -> bool:
    """Return whether the labels passed for models are in fact the key's question labels."""
    key = in_pandas(key)
    labels = tuple(key) if isinstance(key, Mapping) else index_of(key)
    if labels is None or labels == tuple(range(len(labels))):
        return False
    known = set(labels)
    return known.isdisjoint(questions) and known.issuperset(models)


def _keys(key: Any, questions: Labels) -> list[str]:
    key = in_pandas(key)
    labels = tuple(key) if isinstance(key, Mapping) else index_of(key)
    if labels is None or (len(labels) == len(questions) and labels == tuple(range(len(labels)))):
        values = plain_array(list(key.values()) if isinstance(key, Mapping) else key, "key")
        if values.shape != (len(questions),):
            msg = f"key holds {values.shape} labels for {len(questions)} questions: pass one each"
            raise ShapeError(msg)
        known = dict(zip(questions, values.tolist(), strict=True))
    else:
        given = list(key.values()) if isinstance(key, Mapping) else key.tolist()
        known = dict(zip(labels, given, strict=True))
        if len(known) < len(labels):
            msg = "key names a question twice: keep one entry for each"
            raise LabelError(msg)
    absent = [one for one in questions if one not in known]
    if absent:
        msg = (
            f"key has no entry for {listed(absent)}: pass choices as questions x models, and key "
            "with the right option of each question"
        )
        raise LabelError(msg)
    found = [_text(known[one]) for one in questions]
    empty = [one for one, text in zip(questions, found, strict=True) if not text]
    if empty:
        msg = f"key is empty for {listed(empty)}: fill it, or leave the questions out"
        raise LabelError(msg)
    return found


def _coded(
    cells: list[list[str]], keys: list[str], models: Labels, questions: Labels, n: int | None
) -> Answers:
    everywhere = {text for row in cells for text in row if text} | set(keys)
    shared = tuple(sorted(everywhere)) if len(everywhere) <= _LETTERS else None
    options: list[Labels] = []
    codes = np.full((len(questions), len(models)), -1, dtype=np.int64)
    for q, row in enumerate(cells):
        own = shared or (keys[q], *sorted({text for text in row if text} - {keys[q]}))
        place: dict[Hashable, int] = {text: code for code, text in enumerate(own)}
        codes[q] = [place.get(text, -1) for text in row]
        options.append(own)
    most = max(2, max(map(len, options)))
    if n is not None and n < most:
        msg = f"n_options={n}, but a question has {most} different options: raise n_options"
        raise ShapeError(msg)
    key = np.array([own.index(one) for own, one in zip(options, keys, strict=True)])
    if not (codes == key[:, None]).any():
        msg = (
            f"no model chose the key of any question (choices hold {listed(sorted(everywhere))}, "
            f"key {listed(sorted(set(keys)))}): use the same labels in both"
        )
        raise LabelError(msg)
    return Answers(
        codes=codes,
        key=key,
        options=tuple(options),
        n_options=n or most,
        binary=False,
        models=models,
        questions=questions,
    )


def groups_of(groups: Any, questions: Labels) -> tuple[IntArray, Labels]:
    """Return the group of each question, as passed or as its label up to the last slash."""
    if groups is None:
        parts = [
            str(one).rpartition("/") if isinstance(one, str) else ("", "", "") for one in questions
        ]
        groups = [before if slash else "" for before, slash, _ in parts]
        if not all(slash for _, slash, _ in parts):
            groups = [""] * len(questions)
    member, names = numbered(unit_labels(groups, questions, argument="groups"))
    return member, names


def family_weights(families: Any, answers: Answers) -> FloatArray:
    """Return the weight of each model, which is 1 for independent models (models,).

    n models of one family count as n / (1 + (n - 1) rho) models, where rho is the excess agreement
    within families, relative to the disagreement between them.
    """
    weights = np.ones(len(answers.models))
    if families is None:
        return weights
    member, _ = numbered(unit_labels(families, answers.models, argument="families", kind="model"))
    read = answers.codes >= 0
    low = np.where(read, answers.codes, np.iinfo(np.int64).max).min(axis=1)
    disputed = (read & (answers.codes != low[:, None])).any(axis=1)
    codes = answers.codes[disputed]
    inside, outside = [np.zeros(2), np.zeros(2)]
    for i in range(len(weights)):
        for j in range(i):
            both = (codes[:, i] >= 0) & (codes[:, j] >= 0)
            same = float((codes[both, i] == codes[both, j]).sum())
            counted = inside if member[i] == member[j] else outside
            counted += (same, float(both.sum()))
    if not inside[1] or not outside[1] or inside[0] == 0.0:
        return weights
    within, between = inside[0] / inside[1], outside[0] / outside[1]
    rho = float(np.clip((within - between) / max(1.0 - between, 1e-9), 0.0, 1.0))
    return np.asarray(1.0 / (1.0 + (np.bincount(member)[member] - 1) * rho))
