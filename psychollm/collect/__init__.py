"""Annex: asking models over the network, and keeping every word they say.

One TOML plan (`read_plan`) names endpoints, models and prompts; `collect` asks; the store
(`Store`), one SQLite file, keeps each request and each raw reply. Interrupted at any moment, the
same call goes on where it stopped. `readings` hands the replies to the instruments that asked.
Asking needs httpx: ``pip install "psychollm[collect]"``; reading what is there does not.
"""

from psychollm._base.entry import entries
from psychollm.collect.adaptive import Adaptive
from psychollm.collect.client import Collection, collect
from psychollm.collect.costs import costs
from psychollm.collect.drawing import bank_scores
from psychollm.collect.errors import StoreError
from psychollm.collect.eval_records import every_eval_ever
from psychollm.collect.export import export, replied, replies, to_frame
from psychollm.collect.plan import Plan, read_plan, read_prompts
from psychollm.collect.preview import Preview, preview
from psychollm.collect.progress import ModelProgress
from psychollm.collect.readings import Readings, arms_in, instruments_in, readings
from psychollm.collect.roster import Endpoint, Model, Prices
from psychollm.collect.score_log import read_store
from psychollm.collect.staged import StagedPlan, Step
from psychollm.collect.store import Store
from psychollm.collect.verdicts import verdict_probabilities

__all__ = [
    "Adaptive",
    "Collection",
    "Endpoint",
    "Model",
    "ModelProgress",
    "Plan",
    "Preview",
    "Prices",
    "Readings",
    "StagedPlan",
    "Step",
    "Store",
    "StoreError",
    "arms_in",
    "bank_scores",
    "collect",
    "costs",
    "every_eval_ever",
    "export",
    "instruments_in",
    "preview",
    "read_plan",
    "read_prompts",
    "read_store",
    "readings",
    "replied",
    "replies",
    "to_frame",
    "verdict_probabilities",
]

entries(globals())
