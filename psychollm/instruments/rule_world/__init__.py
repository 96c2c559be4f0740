"""Invented rules that test whether a model recognises which questions the rules leave open."""

from psychollm.instruments.rule_world.instrument import RuleWorld, write_items
from psychollm.instruments.rule_world.item import Claim, Item
from psychollm.instruments.rule_world.oracle import Gap, follow
from psychollm.instruments.rule_world.result import RuleWorldScores
from psychollm.instruments.rule_world.scoring import read_reply, score_readings
from psychollm.instruments.rule_world.skins import draw_vocabulary, occurrences

__all__ = [
    "Claim",
    "Gap",
    "Item",
    "RuleWorld",
    "RuleWorldScores",
    "draw_vocabulary",
    "follow",
    "occurrences",
    "read_reply",
    "score_readings",
    "write_items",
]
