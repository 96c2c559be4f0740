"""Steering matched to targets: best strengths, what they reproduce, and the controls."""

from psychollm.studies.steering_match.best_strengths import BestStrengths
from psychollm.studies.steering_match.evidence import Control
from psychollm.studies.steering_match.match import steering_match
from psychollm.studies.steering_match.reconstruction import Reconstruction
from psychollm.studies.steering_match.result import SteeringMatch
from psychollm.studies.steering_match.steered_answers import SteeredAnswers

__all__ = [
    "BestStrengths",
    "Control",
    "Reconstruction",
    "SteeredAnswers",
    "SteeringMatch",
    "steering_match",
]
