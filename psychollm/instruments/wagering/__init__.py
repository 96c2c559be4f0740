"""Points staked on an answer once it is given: does a model bet on what it gets right?."""

from psychollm.instruments.wagering.instrument import Wagering
from psychollm.instruments.wagering.replies import read_reply
from psychollm.instruments.wagering.scoring import WageringScores, score_readings, tables

__all__ = ["Wagering", "WageringScores", "read_reply", "score_readings", "tables"]
