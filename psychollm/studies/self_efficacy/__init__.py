"""Self-efficacy: what models say they can do, and whether it holds."""

from psychollm.studies.self_efficacy.effects import DifficultyEffect, FactorEffect, Revision
from psychollm.studies.self_efficacy.links import EfficacyLink, HumanNorm, NormComparison
from psychollm.studies.self_efficacy.study import ResponseStyle, SelfEfficacyStudy, self_efficacy

__all__ = [
    "DifficultyEffect",
    "EfficacyLink",
    "FactorEffect",
    "HumanNorm",
    "NormComparison",
    "ResponseStyle",
    "Revision",
    "SelfEfficacyStudy",
    "self_efficacy",
]
