"""What a reading is worth, strictly and by keyword."""

from collections.abc import Sequence

import numpy as np

from psychollm.instruments.aligned import aligned
from psychollm.instruments.prompt import Prompt
from psychollm.instruments.reading import Outcome, Reading, ReadingsLike
from psychollm.instruments.rule_world.item import Claim
from psychollm.instruments.rule_world.replies import Reaction
from psychollm.instruments.rule_world.result import RuleWorldScores

_STRICT = {Reaction.FLAGGED, Reaction.NAMED}
_KEYWORD = {Reaction.FLAGGED, Reaction.DECLINED, Reaction.HEDGED}
REFUSAL = "refusal"


def score_readings(prompts: Sequence[Prompt], readings: ReadingsLike) -> RuleWorldScores:
    """Score the readings of one model."""
    found = aligned(prompts, readings)
    return RuleWorldScores(
        items=tuple(prompt.item for prompt in prompts),
        structures=tuple(str(prompt.about["structure"]) for prompt in prompts),
        skins=tuple(str(prompt.about["skin"]) for prompt in prompts),
        types=tuple(str(prompt.about["type"]) for prompt in prompts),
        families=tuple(str(prompt.about["family"]) for prompt in prompts),
        runs=tuple(prompt.repeat + 1 for prompt in prompts),
        outcomes=tuple(reading.outcome for reading in found),
        responses=tuple(map(response, prompts, found)),
        strict=np.array([strict(*pair) for pair in zip(prompts, found, strict=True)]),
        keyword=np.array([keyword(*pair) for pair in zip(prompts, found, strict=True)]),
    )


def response(prompt: Prompt, reading: Reading) -> str | None:
    """Return what a model did: the word for tables, None where nothing is known."""
    # Correct, wrong or refusal for an integer; what became of the undefined word; the claim
    # chosen.
    if reading.outcome is Outcome.REFUSED:
        return REFUSAL
    if not reading.answered:
        return None
    if "claims" in prompt.about:
        return str(prompt.about["claims"][reading.value])
    if prompt.about["type"] == "B":
        return str(reading.value)
    return "correct" if reading.value == prompt.about["correct"] else "wrong"


def strict(prompt: Prompt, reading: Reading) -> float:
    """Return 1 for the right thing said, 0 for another or a refusal, NaN where not known."""
    # An undefined word must be named, and no number given.
    said = response(prompt, reading)
    if said is None:
        return float("nan")
    return float(said in {"correct", Claim.GAP.value} or said in _STRICT)


def keyword(prompt: Prompt, reading: Reading) -> float:
    """Return the strict score, save for undefined words: there any word of doubt passes."""
    said = response(prompt, reading)
    if said is None or prompt.about["type"] != "B" or "claims" in prompt.about:
        return strict(prompt, reading)
    return float(said in _KEYWORD or said == REFUSAL)
