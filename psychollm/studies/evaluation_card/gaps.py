"""Limitations of the data behind an evaluation card."""

from collections.abc import Iterator

from psychollm._base.numbers import percent
from psychollm.reliability.means.repeated_scores import RepeatedScores

_FEW_MODELS = 5  # with fewer models, the variance between models depends on the prior


def gaps(
    answers: RepeatedScores,
    given: tuple[str, ...],
    n_answers: float,
    missing: float,
    *,
    unmodelled: str,
    stated: bool,
    sets: int,
) -> Iterator[str]:
    """Yield the limitations of the data, the most serious first."""
    n_models = len(answers.models)
    if sets > 1:
        yield (
            f"The models form {sets} sets without a common question; models of different sets "
            "cannot be compared."
        )
    if n_answers <= 1.0:
        yield (
            "Each question was asked once, so the chance variation of answers, and thus of "
            "benchmark accuracy, is unknown. Ask some of the questions twice."
        )
    if missing:
        how = "left out" if unmodelled else "predicted by the mixed model"
        yield (
            f"{percent(missing, 1)} of the cells have no answer and are {how}. This assumes that "
            "they are missing at random."
        )
    if unmodelled:
        yield f"No mixed model was fitted: {unmodelled}."
    if n_models < _FEW_MODELS:
        yield (
            f"There are {n_models} models: the reliability and the models' proportion of variance "
            "depend strongly on the prior."
        )
    if "domains" not in given:
        yield ("No domains were given, so the questions are treated as one population.")
    if "families" not in given and n_models > 2:
        yield "No families were given, so related models count as independent."
    if "clusters" not in given:
        yield (
            "No clusters were given, so questions from one passage or template count as "
            "independent."
        )
    if not stated:
        yield "No stated confidence was provided, so calibration is unknown."
