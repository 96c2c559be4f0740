"""What the table of a card cannot show."""

from collections.abc import Iterator

from psychollm._base.numbers import percent
from psychollm.reliability.means.repeated_scores import RepeatedScores

_FEW_MODELS = 5  # with fewer, variances between models are hardly known


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
    """Say what the table cannot show, the gravest first."""
    n_models = len(answers.models)
    if sets > 1:
        yield (
            f"The models fall into {sets} sets without a common question: between sets nothing "
            "compares."
        )
    if n_answers <= 1.0:
        yield (
            "Each question was asked once: how far answers to it vary by chance, and so how far "
            "benchmark accuracy would come out otherwise, cannot be seen. Ask a part of the "
            "questions twice."
        )
    if missing:
        how = "left out" if unmodelled else "predicted by the mixed model"
        yield (
            f"{percent(missing, 1)} of the cells have no answer and are {how}, as if they were "
            "missing for no reason that has to do with them."
        )
    if unmodelled:
        yield f"There is no mixed model: {unmodelled}."
    if n_models < _FEW_MODELS:
        yield (
            f"{n_models} models say little about how much models differ: reliability and the "
            "share of models rest on the prior."
        )
    if "domains" not in given:
        yield (
            "No domains were given: questions like these are taken as one heap, and no interval "
            "allows for models that are good at one subject."
        )
    if "families" not in given and n_models > 2:
        yield "No families were given: models made from one another count as independent."
    if "clusters" not in given:
        yield (
            "No clusters were given: questions made from one passage or template would count as "
            "many."
        )
    if not stated:
        yield "No confidences were given: nothing is known of calibration."
