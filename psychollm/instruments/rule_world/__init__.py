"""Invented rules: does a model know what follows from them, and what does not?."""

from psychollm.instruments.rule_world.instrument import RuleWorld, item_records, write_items
from psychollm.instruments.rule_world.item import Claim, Item, Statement
from psychollm.instruments.rule_world.oracle import Course, Gap, Kind, Unit, World, follow
from psychollm.instruments.rule_world.result import RuleWorldScores
from psychollm.instruments.rule_world.scoring import Reaction, read_reply, score_readings
from psychollm.instruments.rule_world.skins import Vocabulary, draw_vocabulary, occurrences

__all__ = [
    "Claim",
    "Course",
    "Gap",
    "Item",
    "Kind",
    "Reaction",
    "RuleWorld",
    "RuleWorldScores",
    "Statement",
    "Unit",
    "Vocabulary",
    "World",
    "draw_vocabulary",
    "follow",
    "item_records",
    "occurrences",
    "read_reply",
    "score_readings",
    "write_items",
]
