"""Difficulty of questions from their text, and a gate that answers or abstains by it."""

from psychollm.studies.difficulty.gate import Gate
from psychollm.studies.difficulty.gating import GateFit, fit_gate
from psychollm.studies.difficulty.study import Difficulty, difficulty

__all__ = ["Difficulty", "Gate", "GateFit", "difficulty", "fit_gate"]
