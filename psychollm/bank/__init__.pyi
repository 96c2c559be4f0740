from psychollm.bank.full_score import FullScore as FullScore
from psychollm.bank.item_bank import ItemBank as ItemBank
from psychollm.bank.item_bank import item_bank as item_bank
from psychollm.bank.plan import Plan as Plan
from psychollm.bank.replay import Replay as Replay
from psychollm.bank.replay import replay as replay
from psychollm.bank.session import Session as Session
from psychollm.bank.watch import Watch as Watch
