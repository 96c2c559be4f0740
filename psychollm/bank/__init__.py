"""Floor 5: banks of calibrated questions, from which a full score is estimated by few answers."""

from psychollm._base.entry import entries
from psychollm.bank.full_score import FullScore
from psychollm.bank.item_bank import ItemBank, item_bank
from psychollm.bank.plan import Plan
from psychollm.bank.replay import Replay, replay
from psychollm.bank.session import Session

__all__ = ["FullScore", "ItemBank", "Plan", "Replay", "Session", "item_bank", "replay"]

entries(globals())
